//! A span of time as people write it: `90s`, `5m`, `1h30m`, `1d`; a bare number means seconds.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use thiserror::Error;

const UNITS: [(char, u64); 4] = [('d', 86_400), ('h', 3_600), ('m', 60), ('s', 1)];

/// Whole seconds: the API knows nothing shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) u64);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("write a span as 90s, 5m, 2h, 1d or 1h30m, in whole seconds")]
pub(crate) struct NotASpan;

impl FromStr for Span {
    type Err = NotASpan;

    fn from_str(text: &str) -> Result<Self, NotASpan> {
        if let Ok(seconds) = text.parse() {
            return Ok(Self(seconds));
        }
        let (mut rest, mut seconds, mut units) = (text, 0_u64, UNITS.as_slice());
        while !rest.is_empty() {
            let end = rest.find(|c: char| !c.is_ascii_digit()).ok_or(NotASpan)?;
            let unit = rest[end..].chars().next().ok_or(NotASpan)?;
            let index = units.iter().position(|(name, _)| *name == unit).ok_or(NotASpan)?;
            let count: u64 = rest[..end].parse().map_err(|_| NotASpan)?;
            seconds = count.checked_mul(units[index].1).and_then(|part| seconds.checked_add(part)).ok_or(NotASpan)?;
            // From large to small, each at most once: `1m1h` is a typo.
            (rest, units) = (&rest[end + 1..], &units[index + 1..]);
        }
        if text.is_empty() { Err(NotASpan) } else { Ok(Self(seconds)) }
    }
}

/// All of it, as it can be written again.
impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 == 0 {
            return f.write_str("0s");
        }
        let mut rest = self.0;
        for (name, seconds) in UNITS {
            if rest >= seconds {
                write!(f, "{}{name}", rest / seconds)?;
                rest %= seconds;
            }
        }
        Ok(())
    }
}

/// How long something took or is away: the two units that matter.
pub(crate) fn roughly(span: Duration) -> String {
    let (seconds, millis) = (span.as_secs(), span.subsec_millis());
    match seconds {
        0 => format!("{millis}ms"),
        1..=9 if millis >= 100 => format!("{seconds}.{}s", millis / 100),
        1..60 => format!("{seconds}s"),
        60..3_600 => Span(seconds).to_string(),
        3_600..86_400 => Span(seconds - seconds % 60).to_string(),
        _ => Span(seconds - seconds % 3_600).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_is_read_as_people_write_it_and_shown_so_again() {
        let cases = [
            ("90s", 90, "1m30s"),
            ("90", 90, "1m30s"),
            ("5m", 300, "5m"),
            ("2h", 7_200, "2h"),
            ("1d", 86_400, "1d"),
            ("1h30m", 5_400, "1h30m"),
            ("1d2h3m4s", 93_784, "1d2h3m4s"),
            ("0s", 0, "0s"),
        ];
        for (text, seconds, shown) in cases {
            assert_eq!(text.parse(), Ok(Span(seconds)), "{text}");
            assert_eq!(Span(seconds).to_string(), shown);
        }
    }

    #[test]
    fn what_is_no_span_is_refused() {
        for text in ["", "s", "5x", "1m1h", "1h1h", "-5s", "1.5h", "500ms", "5 m", "5m3", "é", "99999999999999999999s"]
        {
            assert_eq!(text.parse::<Span>(), Err(NotASpan), "{text}");
        }
        assert!("213503982334602d".parse::<Span>().is_err(), "more seconds than a number holds");
    }

    #[test]
    fn what_took_long_is_told_roughly() {
        let cases = [
            (0, "0ms"),
            (15, "15ms"),
            (1_000, "1s"),
            (1_099, "1s"),
            (1_949, "1.9s"),
            (9_999, "9.9s"),
            (59_999, "59s"),
            (61_000, "1m1s"),
            (3_725_000, "1h2m"),
            (90_061_000, "1d1h"),
        ];
        for (millis, told) in cases {
            assert_eq!(roughly(Duration::from_millis(millis)), told, "{millis}");
        }
    }
}
