//! Draining: no new work is begun, running attempts may finish, and after a while they are given back.

use std::time::Duration;

use tokio::sync::watch;

/// The stages of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Working,
    /// No new claims by this process; workers may still take what they carry out elsewhere.
    Draining,
    /// No attempt of this process runs any more.
    Idle,
    /// Attempts that still run are given back.
    Leaving,
}

/// Starts the drain.
pub(crate) struct Signal(watch::Sender<Stage>);

/// Observes the drain.
#[derive(Clone)]
pub(crate) struct Drain {
    stage: watch::Receiver<Stage>,
    told: watch::Sender<Stage>,
}

pub(crate) fn signal() -> (Signal, Drain) {
    let (told, stage) = watch::channel(Stage::Working);
    (Signal(told.clone()), Drain { stage, told })
}

impl Signal {
    /// Drains now, and leaves after `patience`.
    pub(crate) fn go(self, patience: Duration) {
        self.0.send_replace(Stage::Draining);
        tokio::spawn(async move {
            tokio::time::sleep(patience).await;
            self.0.send_replace(Stage::Leaving);
        });
    }
}

impl Drain {
    pub(crate) async fn draining(&self) {
        self.reached(Stage::Draining).await;
    }

    /// All attempts have ended, or are given back.
    pub(crate) fn all_have_ended(&self) {
        self.told.send_if_modified(|stage| {
            let waits = *stage == Stage::Draining;
            *stage = if waits { Stage::Idle } else { *stage };
            waits
        });
    }

    /// Nobody who is called has anything more to ask, or what still runs is given back.
    pub(crate) async fn closing(&self) {
        self.reached(Stage::Idle).await;
    }

    pub(crate) async fn leaving(&self) {
        self.reached(Stage::Leaving).await;
    }

    async fn reached(&self, stage: Stage) {
        let mut stage_seen = self.stage.clone();
        let _reached = stage_seen.wait_for(|now| *now >= stage).await.is_ok();
    }
}
