//! A fault: the world broke. Neither the domain said no (a refusal) nor was someone faster (a conflict): let it be
//! retried.

use thiserror::Error;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// It may work the next time.
    #[error("{door} is unavailable: {why}")]
    Unavailable { door: &'static str, why: String },
    /// What was read is not what was written, or comes from a later version.
    #[error("{door} holds what cannot be read: {why}")]
    Unreadable { door: &'static str, why: String },
    /// The world would not take it: a bound that the domain must keep was not kept. Trying again changes nothing.
    #[error("{door} does not take this: {why}")]
    Illegal { door: &'static str, why: String },
}

impl Fault {
    pub fn unavailable(door: &'static str, why: impl Into<String>) -> Self {
        Self::Unavailable { door, why: why.into() }
    }

    pub fn illegal(door: &'static str, why: impl Into<String>) -> Self {
        Self::Illegal { door, why: why.into() }
    }

    pub fn unreadable(door: &'static str, why: impl Into<String>) -> Self {
        Self::Unreadable { door, why: why.into() }
    }
}
