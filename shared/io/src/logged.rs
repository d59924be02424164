//! What is logged while a test runs.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tracing::Subscriber;
use tracing::subscriber::DefaultGuard;

#[derive(Clone, Default)]
pub(crate) struct Logged(Arc<Mutex<Vec<u8>>>);

impl io::Write for Logged {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Logged {
    /// What is logged meanwhile.
    pub(crate) fn see(&self, act: impl FnOnce()) {
        tracing::subscriber::with_default(self.subscriber(), act);
    }

    /// What this thread logs until the guard is dropped.
    pub(crate) fn see_on(&self) -> DefaultGuard {
        tracing::subscriber::set_default(self.subscriber())
    }

    fn subscriber(&self) -> impl Subscriber + Send + Sync + use<> {
        let writer = self.clone();
        tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(move || writer.clone()).finish()
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}
