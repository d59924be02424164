//! Instants: as they are given on the command line, and as people read them.

use std::str::FromStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use minutehand_domain::Moment;
use thiserror::Error;

use super::failure::Failure;
use super::span::{Span, roughly};

/// Nearer than this nobody sees a difference.
const NOW: Duration = Duration::from_secs(1);

/// An instant, or how long ago it was: the window of a history is asked for in either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Since {
    At(Moment),
    Ago(Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("write an instant as 2026-11-20T12:30:00Z, or how long ago it was as 90s, 5m, 2h or 1d")]
pub(crate) struct NotSince;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("write an instant as RFC 3339 does: 2026-11-20T12:30:00Z, or with an offset: 2026-11-20T13:30:00+01:00")]
pub(crate) struct NotAnInstant;

impl FromStr for Since {
    type Err = NotSince;

    fn from_str(text: &str) -> Result<Self, NotSince> {
        let ago = || text.parse().map(Self::Ago).map_err(|_| NotSince);
        Moment::parse(text).map(Self::At).map_or_else(ago, Ok)
    }
}

impl Since {
    pub(crate) const NOW: Self = Self::Ago(Span(0));

    /// Refuses the ends of a span for a request with an idempotency key, where one of them is another instant when the request is sent again.
    pub(crate) fn same_again(key: Option<&str>, ends: &[(&str, Self)], now: Moment) -> Result<(), Failure> {
        if key.is_none() || ends.iter().all(|(_, end)| matches!(end, Self::At(_))) {
            return Ok(());
        }
        let instants: Vec<_> = ends.iter().map(|(flag, end)| format!("{flag} {}", end.seen_from(now))).collect();
        Err(Failure::Usage(format!(
            "with --idempotency-key, say instants, which are the same when it is asked again: {}",
            instants.join(" ")
        )))
    }

    pub(crate) fn seen_from(self, now: Moment) -> Moment {
        match self {
            Self::At(at) => at,
            Self::Ago(Span(seconds)) => {
                let millis = i64::try_from(seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
                Moment::from_millis(now.millis().saturating_sub(millis))
            }
        }
    }
}

/// An instant, or how far ahead it is: a forecast is asked for in either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ahead {
    At(Moment),
    In(Span),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("write an instant as 2026-11-20T12:30:00Z, or how far ahead it is as 90s, 5m, 2h or 1d")]
pub(crate) struct NotAhead;

impl FromStr for Ahead {
    type Err = NotAhead;

    fn from_str(text: &str) -> Result<Self, NotAhead> {
        let ahead = || text.parse().map(Self::In).map_err(|_| NotAhead);
        Moment::parse(text).map(Self::At).map_or_else(ahead, Ok)
    }
}

impl Ahead {
    pub(crate) fn seen_from(self, now: Moment) -> Moment {
        match self {
            Self::At(at) => at,
            Self::In(Span(seconds)) => now + Duration::from_secs(seconds),
        }
    }
}

/// For clap.
pub(crate) fn instant(text: &str) -> Result<Moment, NotAnInstant> {
    Moment::parse(text).ok_or(NotAnInstant)
}

pub(crate) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Moment::from_millis(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

/// To the second, for a column: `2026-11-20 12:30:00Z`.
pub(crate) fn short(at: Moment) -> String {
    let text = at.to_string();
    let (date, time) = text.split_once('T').unwrap_or((&text, ""));
    format!("{date} {}Z", time.split('.').next().unwrap_or_default())
}

/// To the millisecond, for a column: `2026-11-20 12:30:00.123Z`.
pub(crate) fn precise(at: Moment) -> String {
    at.to_string().replacen('T', " ", 1)
}

/// The time of day alone, to the millisecond, for a line that was written just now: `12:30:00.123`.
pub(crate) fn of_day(at: Moment) -> String {
    let text = at.to_string();
    let time = text.split_once('T').map_or("", |(_, time)| time);
    time.trim_end_matches('Z').to_owned()
}

/// As it can be pasted, and how far away it is.
pub(crate) fn long(at: Moment, now: Moment) -> String {
    format!("{at} ({})", away(at, now))
}

/// `in 5m`, `2h ago`, `now`.
pub(crate) fn away(at: Moment, now: Moment) -> String {
    match (at.since(now), now.since(at)) {
        (ahead, ago) if ahead.max(ago) < NOW => "now".to_owned(),
        (Duration::ZERO, ago) => format!("{} ago", roughly(ago)),
        (ahead, _) => format!("in {}", roughly(ahead)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: &str = "2026-11-20T12:00:00.000Z";

    fn noon() -> Moment {
        Moment::parse(NOON).unwrap()
    }

    #[test]
    fn since_is_an_instant_or_how_long_ago() {
        let cases = [
            ("2026-11-20T11:00:00Z", Some("2026-11-20T11:00:00.000Z")),
            ("2026-11-20T13:00:00+02:00", Some("2026-11-20T11:00:00.000Z")),
            ("2h", Some("2026-11-20T10:00:00.000Z")),
            ("1h30m", Some("2026-11-20T10:30:00.000Z")),
            ("999999999999d", Some("1970-01-01T00:00:00.000Z")),
            ("yesterday", None),
            ("2026-11-20", None),
            ("2026-11-20T25:00:00Z", None),
        ];
        for (text, meant) in cases {
            let understood = text.parse::<Since>().ok().map(|since| since.seen_from(noon()).to_string());
            assert_eq!(understood.as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn ahead_is_an_instant_or_how_far_it_is() {
        let cases = [
            ("2026-11-20T11:00:00Z", Some("2026-11-20T11:00:00.000Z")),
            ("2h", Some("2026-11-20T14:00:00.000Z")),
            ("999999999999d", Some("9999-12-31T23:59:59.999Z")),
            ("tomorrow", None),
        ];
        for (text, meant) in cases {
            let understood = text.parse::<Ahead>().ok().map(|ahead| ahead.seen_from(noon()).to_string());
            assert_eq!(understood.as_deref(), meant, "{text}");
        }
    }

    #[test]
    fn an_instant_is_told_in_four_lengths() {
        let at = Moment::parse("2026-11-20T12:05:00.250Z").unwrap();

        assert_eq!(short(at), "2026-11-20 12:05:00Z");
        assert_eq!(precise(at), "2026-11-20 12:05:00.250Z");
        assert_eq!(of_day(at), "12:05:00.250");
        assert_eq!(long(at, noon()), "2026-11-20T12:05:00.250Z (in 5m)");
    }

    #[test]
    fn what_is_away_is_ahead_or_behind() {
        let cases =
            [(0, "now"), (999, "now"), (-999, "now"), (2_000, "in 2s"), (-90_000, "1m30s ago"), (86_400_000, "in 1d")];
        for (millis, told) in cases {
            assert_eq!(away(Moment::from_millis(noon().millis() + millis), noon()), told);
        }
    }
}
