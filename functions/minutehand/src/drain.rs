//! Draining: no new work is begun, running attempts may finish, and after a while they are given back.

use std::time::Duration;

use tokio::sync::watch;

/// The stages of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Working,
    /// No new claims, no new connections.
    Draining,
    /// Attempts that still run are given back.
    Leaving,
}

/// Starts the drain.
pub(crate) struct Signal(watch::Sender<Stage>);

/// Observes the drain.
#[derive(Clone)]
pub(crate) struct Drain(watch::Receiver<Stage>);

pub(crate) fn signal() -> (Signal, Drain) {
    let (sender, receiver) = watch::channel(Stage::Working);
    (Signal(sender), Drain(receiver))
}

impl Signal {
    /// Drains now, and leaves after `patience`.
    pub(crate) fn go(self, patience: Duration) {
        self.0.send_replace(Stage::Draining);
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            self.0.send_replace(Stage::Leaving);
            self.0.closed().await;
        });
    }
}

impl Drain {
    pub(crate) async fn draining(&self) {
        self.reached(Stage::Draining).await;
    }

    pub(crate) async fn leaving(&self) {
        self.reached(Stage::Leaving).await;
    }

    async fn reached(&self, stage: Stage) {
        let mut stage_seen = self.0.clone();
        // A dropped signal means that the process is going down anyway.
        let _reached_or_gone = stage_seen.wait_for(|now| *now >= stage).await.is_ok();
    }
}
