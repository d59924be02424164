//! Failures of a measurement: each ends it, with one sentence.

use std::io;

use thiserror::Error;

#[derive(Debug, Error)]
pub enum Failure {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[error(transparent)]
    Store(#[from] minutehand_io::Fault),
    #[error(transparent)]
    Open(#[from] minutehand_io::store::embedded::OpenError),
    #[error("{0}")]
    Said(String),
}

pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub fn said<T>(what: impl Into<String>) -> Outcome<T> {
        Err(Self::Said(what.into()))
    }
}

/// Checks a condition without which a figure means nothing.
pub fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Outcome<()> {
    if holds { Ok(()) } else { Failure::said(otherwise()) }
}
