//! What exports, in a binary that was built without it: it is asked for in the same words, and never there.

use std::sync::Arc;

use minutehand_io::metrics::Measure;
use minutehand_io::spans::Spans;

use crate::{ExportError, Identity, Settings};

#[derive(Debug)]
pub enum Exporter {}

#[derive(Debug)]
pub enum Exporting {}

#[derive(Debug)]
pub enum Flusher {}

impl Exporter {
    pub fn new(_settings: Settings, _identity: Identity, _dropped: Arc<dyn Measure>) -> Result<Self, ExportError> {
        Err(ExportError::Unbuilt)
    }

    pub fn spans(&self) -> Arc<dyn Spans> {
        match *self {}
    }

    pub fn start<R>(self, _reading: R) -> Exporting {
        match self {}
    }
}

impl Exporting {
    #[expect(clippy::unused_async, reason = "as the one that is there")]
    pub async fn stop(self) {
        match self {}
    }
}

impl Flusher {
    pub fn new(_settings: &Settings, _identity: Identity, _other: Arc<dyn Measure>) -> Result<Self, ExportError> {
        Err(ExportError::Unbuilt)
    }

    pub fn spans(&self) -> Arc<dyn Spans> {
        match *self {}
    }

    pub fn sink(&self) -> Arc<dyn Measure> {
        match *self {}
    }

    #[expect(clippy::unused_async, reason = "as the one that is there")]
    pub async fn flush(&self) {
        match *self {}
    }
}
