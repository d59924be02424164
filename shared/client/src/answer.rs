//! An answer: what a server said to a request that it carried out.

use std::marker::PhantomData;

use minutehand_wire::Json;
use serde::de::DeserializeOwned;

use crate::error::ClientError;

#[derive(Clone, Debug)]
pub struct Answer<T> {
    text: String,
    replayed: bool,
    server: String,
    reads_as: PhantomData<fn() -> T>,
}

impl<T> Answer<T> {
    pub(crate) fn new(text: String, replayed: bool, server: String) -> Self {
        Self { text, replayed, server, reads_as: PhantomData }
    }

    /// JSON as the server wrote it, or empty.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// It answers an earlier request with the same idempotency key.
    pub fn replayed(&self) -> bool {
        self.replayed
    }

    /// In another shape than that of the call.
    pub fn read_as<U: DeserializeOwned>(&self) -> Result<U, ClientError> {
        self.part(&self.text)
    }

    /// Of an answer whose parts were kept as they were written: each of them.
    pub fn read_parts<U: DeserializeOwned>(&self, parts: &[Json]) -> Result<Vec<U>, ClientError> {
        parts.iter().map(|part| self.part(part.text())).collect()
    }

    fn part<U: DeserializeOwned>(&self, text: &str) -> Result<U, ClientError> {
        let unreadable = |why: serde_json::Error| ClientError::unreadable(&self.server, &why.to_string());
        serde_json::from_str(text).map_err(unreadable)
    }
}

impl<T: DeserializeOwned> Answer<T> {
    pub fn read(&self) -> Result<T, ClientError> {
        self.read_as()
    }
}
