//! A page of a list.

use serde::Serialize;

#[derive(Serialize)]
pub(crate) struct Page<T> {
    pub items: Vec<T>,
    /// Null on the last page.
    pub next_cursor: Option<String>,
}
