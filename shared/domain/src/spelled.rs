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

/// A span of time: `90s`, or `1500ms` where it is no whole number of seconds. Used as `#[serde(with = "spelled::span")]`.
pub(crate) mod span {
    use std::borrow::Cow;
    use std::time::Duration;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&spell(*span))
        } else {
            span.serialize(serializer)
        }
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        if !deserializer.is_human_readable() {
            return Duration::deserialize(deserializer);
        }
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        read(&text).ok_or_else(|| D::Error::custom("this is not a span of time like 90s or 1500ms"))
    }

    fn spell(span: Duration) -> String {
        if span.subsec_nanos() == 0 { format!("{}s", span.as_secs()) } else { format!("{}ms", span.as_millis()) }
    }

    fn read(text: &str) -> Option<Duration> {
        let digits = |number: &str| number.parse::<u64>().ok();
        match text.strip_suffix("ms") {
            Some(millis) => digits(millis).map(Duration::from_millis),
            None => digits(text.strip_suffix('s')?).map(Duration::from_secs),
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_span_reads_back_as_it_was_spelled() {
            for (millis, text) in [(0, "0s"), (90_000, "90s"), (1_500, "1500ms"), (1, "1ms")] {
                let span = Duration::from_millis(millis);
                assert_eq!((spell(span).as_str(), read(text)), (text, Some(span)));
            }
            for text in ["", "s", "90", "-1s", "1.5s", "ms", "9 s"] {
                assert_eq!(read(text), None, "{text}");
            }
        }
    }
}

/// The same for an optional span. Used with `#[serde(default)]`, since items leave out absent fields.
pub(crate) mod maybe_span {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Span(#[serde(with = "super::span")] Duration);

    #[expect(clippy::ref_option, reason = "serde hands the field itself")]
    pub(crate) fn serialize<S: Serializer>(span: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        span.map(Span).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Span>::deserialize(deserializer)?.map(|span| span.0))
    }
}
