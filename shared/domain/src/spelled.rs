//! Spelling: in a human-readable format (JSON, the attributes of an item) an id or an instant is the text of the wire; in a
//! binary format it is its bytes.

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

pub(crate) use spelled_for_people;
