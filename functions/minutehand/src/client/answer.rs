//! An answer: what a server said to a request that it carried out.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use super::trouble::Trouble;

#[derive(Clone, Debug)]
pub(crate) struct Answer {
    /// JSON, or empty.
    pub(crate) text: String,
    /// It answers an earlier request with the same idempotency key.
    pub(crate) replayed: bool,
    /// Who said so, for those who cannot make sense of it.
    pub(crate) server: String,
}

/// A page of a list, whose items are kept as they were written.
#[derive(Debug, Default, Deserialize, Serialize)]
pub(crate) struct Page {
    pub(crate) items: Vec<Box<RawValue>>,
    pub(crate) next_cursor: Option<String>,
}

impl Answer {
    pub(crate) fn read<T: DeserializeOwned>(&self) -> Result<T, Trouble> {
        self.understood(&self.text)
    }

    /// The items of a page, each in its shape.
    pub(crate) fn items<T: DeserializeOwned>(&self, page: &Page) -> Result<Vec<T>, Trouble> {
        page.items.iter().map(|item| self.understood(item.get())).collect()
    }

    fn understood<T: DeserializeOwned>(&self, text: &str) -> Result<T, Trouble> {
        serde_json::from_str(text)
            .map_err(|error| Trouble::Strange { server: self.server.clone(), why: error.to_string() })
    }
}
