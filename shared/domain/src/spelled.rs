//! Spelling: in a human-readable format (JSON, the attributes of an item) an id or an instant is the text of the wire; in a
//! binary format it is its bytes. A text of its own kind is the same in both.

/// For types that derive serde with `#[serde(remote = "Self")]`, which gives the binary form, and that implement `Display`
/// and `FromStr`, which give the readable form.
macro_rules! spelled_for_people {
    ($type:ty) => {
        impl serde::Serialize for $type {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    <$type>::serialize(self, serializer)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if deserializer.is_human_readable() {
                    let text = <std::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(deserializer)?;
                    text.parse().map_err(serde::de::Error::custom)
                } else {
                    <$type>::deserialize(deserializer)
                }
            }
        }
    };
}

/// For a text of its own kind, `struct T(String)`, that implements `FromStr`, which says what it may be: it is read from a text and
/// shown as one.
macro_rules! spelled_as_text {
    ($type:ty) => {
        impl $type {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $type {
            type Error = <$type as std::str::FromStr>::Err;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                text.parse()
            }
        }

        impl From<$type> for String {
            fn from(text: $type) -> Self {
                text.0
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

pub(crate) use {spelled_as_text, spelled_for_people};
