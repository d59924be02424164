//! A page of a list.

use schemars::JsonSchema;
use serde::Serialize;

use super::texts::CursorText;

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub(crate) struct Page<T> {
    pub items: Vec<T>,
    /// Null on the last page.
    #[schemars(with = "Option<CursorText>")]
    pub next_cursor: Option<String>,
}
