//! Draining: first nothing new is begun, then what runs may finish, then it is handed back.

use std::time::Duration;

use tokio::sync::watch;

/// How far the process has come in going away.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Working,
    /// No new claims, no new connections.
    Draining,
    /// What still runs is handed back.
    Leaving,
}

/// Says when to go.
pub(crate) struct Signal(watch::Sender<Stage>);

/// Hears when to go.
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
        let mut heard = self.0.clone();
        // A signal that was dropped is a process that is going down anyway.
        let _reached_or_gone = heard.wait_for(|now| *now >= stage).await.is_ok();
    }
}
