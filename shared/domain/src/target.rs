//! A target: what an attempt calls.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Http(HttpTarget),
    /// Does nothing and succeeds: for trying schedules out, and for measuring everything but the target.
    Noop,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpTarget {
    pub url: String,
    pub method: Method,
    pub headers: BTreeMap<String, String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    Get,
    #[default]
    Post,
    Put,
    Patch,
    Delete,
}

impl Method {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}
