//! A fault: a port failed. It is neither the domain's no (a refusal) nor a lost race (a conflict), and the caller retries.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// A retry may succeed.
    #[error("{port} is unavailable: {why}")]
    Unavailable { port: &'static str, why: String },
    /// Stored bytes are damaged: nobody will read them.
    #[error("{port} holds what cannot be read: {why}")]
    Unreadable { port: &'static str, why: String },
    /// A later release wrote it: it is not this one's to read, nor to touch.
    #[error("{port} holds what a later release wrote: {why}")]
    Later { port: &'static str, why: String },
    /// The port refuses the request: it breaks a bound that the domain must keep. A retry fails too.
    #[error("{port} does not take this: {why}")]
    Illegal { port: &'static str, why: String },
}

impl Fault {
    pub fn unavailable(port: &'static str, why: impl Into<String>) -> Self {
        Self::Unavailable { port, why: why.into() }
    }

    pub fn illegal(port: &'static str, why: impl Into<String>) -> Self {
        Self::Illegal { port, why: why.into() }
    }

    pub fn unreadable(port: &'static str, why: impl Into<String>) -> Self {
        Self::Unreadable { port, why: why.into() }
    }

    pub fn later(port: &'static str, why: impl Into<String>) -> Self {
        Self::Later { port, why: why.into() }
    }

    /// Whether it is about one item, and about no other: what lies beside that item can be read.
    pub fn is_of_an_item(&self) -> bool {
        matches!(self, Self::Unreadable { .. } | Self::Later { .. })
    }
}
