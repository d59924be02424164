//! A task's key: its name in its workflow.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::id::NotAnId;
use crate::limits::WORD_CHARS;

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TaskKey(String);

impl TaskKey {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for TaskKey {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let legal = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if text.is_empty() || text.len() > WORD_CHARS || !text.chars().all(legal) {
            return Err(NotAnId::of("a task's key (1 to 64 of A-Z, a-z, 0-9, _ and -)"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Debug for TaskKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_a_word() {
        for good in ["a", "A-1_b", &"x".repeat(64)] {
            assert_eq!(good.parse::<TaskKey>().unwrap().as_str(), good);
        }
        for bad in ["", "a b", "a.b", "ä", "a#b", &"x".repeat(65)] {
            assert!(bad.parse::<TaskKey>().is_err(), "{bad}");
        }
    }
}
