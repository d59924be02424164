//! Leaving: the process ends, and nothing is waited for any more but what is under way.

use tokio::sync::watch;

/// Who says so.
#[derive(Debug)]
pub(crate) struct Leave(watch::Sender<bool>);

/// Who is told.
#[derive(Clone, Debug)]
pub(crate) struct Leaving(watch::Receiver<bool>);

pub(crate) fn leaving() -> (Leave, Leaving) {
    let (leave, leaving) = watch::channel(false);
    (Leave(leave), Leaving(leaving))
}

impl Leave {
    pub(crate) fn now(&self) {
        self.0.send_replace(true);
    }
}

impl Leaving {
    /// Waits until it is said, or who could say it is gone.
    pub(crate) async fn told(&self) {
        let mut seen = self.0.clone();
        let _told_or_gone = seen.wait_for(|leaving| *leaving).await.is_ok();
    }
}
