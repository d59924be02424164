//! A span of time: `90s` or `1500ms` for people, seconds and nanoseconds in bytes.

use std::borrow::Cow;
use std::time::Duration;

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

use super::Shape;

pub(crate) struct SpanV1;

impl Shape<Duration> for SpanV1 {
    fn serialize<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() {
            serializer.serialize_str(&spell(*span))
        } else {
            span.serialize(serializer)
        }
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
        if !deserializer.is_human_readable() {
            return Duration::deserialize(deserializer);
        }
        let text = Cow::<'de, str>::deserialize(deserializer)?;
        read(&text).ok_or_else(|| D::Error::custom("this is not a span of time like 90s or 1500ms"))
    }
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
