//! A fault: the world broke. Neither the domain said no (a refusal) nor was someone faster (a conflict): let it be
//! retried.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It may work the next time.
    #[error("{port} is unavailable: {why}")]
    Unavailable { port: &'static str, why: String },
    /// What was read is not what was written, or comes from a later version.
    #[error("{port} holds what cannot be read: {why}")]
    Unreadable { port: &'static str, why: String },
    /// The world would not take it: a bound that the domain must keep was not kept. Trying again changes nothing.
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
}
