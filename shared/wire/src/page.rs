//! A page of a list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::texts::CursorText;

/// How many items a page has where nobody says how many.
pub const DEFAULT_LIMIT: usize = 100;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "{T}Page")]
pub struct Page<T> {
    pub items: Vec<T>,
    /// Null on the last page.
    #[schemars(with = "Option<CursorText>")]
    pub next_cursor: Option<String>,
}
