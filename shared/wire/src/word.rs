//! A word of the API: one of those that this version knows, or one that a later server has, kept as it is. So a client can
//! read an answer that says more than the client's own version knows of.

use std::fmt::{self, Display};

use serde::de::value::{Error as Unknown, StrDeserializer};
use serde::de::{DeserializeOwned, IntoDeserializer as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::field_errors::FieldErrors;
use crate::suggestion::in_words;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Word<T> {
    Known(T),
    Other(String),
}

impl<T: DeserializeOwned> Word<T> {
    pub fn read(text: &str) -> Self {
        known(text).map_or_else(|_| Self::Other(text.to_owned()), Self::Known)
    }
}

impl FieldErrors {
    /// A request's word. What is not known is noted.
    pub(crate) fn word<T: Copy + DeserializeOwned>(&mut self, pointer: &str, word: Option<&Word<T>>) -> Option<T> {
        match word? {
            Word::Known(word) => Some(*word),
            Word::Other(text) => known(text).map_err(|why| self.add(pointer, in_words(&why.to_string()))).ok(),
        }
    }
}

fn known<T: DeserializeOwned>(text: &str) -> Result<T, Unknown> {
    let text: StrDeserializer<'_, Unknown> = text.into_deserializer();
    T::deserialize(text)
}

impl<T> From<T> for Word<T> {
    fn from(word: T) -> Self {
        Self::Known(word)
    }
}

impl<T: PartialEq> PartialEq<T> for Word<T> {
    fn eq(&self, other: &T) -> bool {
        matches!(self, Self::Known(word) if word == other)
    }
}

/// As it is spelled on the wire.
impl<T: Serialize> Display for Word<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(word) => word.serialize(f),
            Self::Other(text) => f.write_str(text),
        }
    }
}

impl<T: Serialize> Serialize for Word<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(word) => word.serialize(serializer),
            Self::Other(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de, T: DeserializeOwned> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Self::read(&text))
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::retry::Backoff;

    use super::*;

    #[test]
    fn a_word_of_a_later_server_is_kept_as_it_is() {
        let word: Word<Backoff> = serde_json::from_str(r#""fibonacci""#).unwrap();

        assert_eq!(word.to_string(), "fibonacci");
        assert_eq!(serde_json::to_string(&word).unwrap(), r#""fibonacci""#);
    }

    #[test]
    fn a_word_that_is_not_known_is_refused_where_it_is_asked_for() {
        let mut errors = FieldErrors::default();

        let word = errors.word("/retry/backoff", Some(&Word::<Backoff>::read("fibonacci")));

        assert_eq!(word, None);
        let refused = errors.settle(Some(())).unwrap_err();
        let said = "must be one of `fixed`, `linear`, `exponential`, not `fibonacci`";
        assert_eq!((refused.errors[0].pointer.as_str(), refused.errors[0].detail.as_str()), ("/retry/backoff", said));
    }
}
