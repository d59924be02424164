//! Documents: what is found by its name and read seldom. On DynamoDB a document lies in one attribute of its own: whatever
//! it calls its fields, none of them is the item's key or version.

use serde::{Deserialize, Serialize};

/// The name of the only one of its kind, after the last one seen and so on: what documents have in common.
#[derive(Serialize, Deserialize)]
pub struct Filed<T> {
    pub document: T,
}
