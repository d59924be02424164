//! The zones by their names, and suggestions for a name that is nearly right.

use chrono_tz::{TZ_VARIANTS, Tz};

use super::CronError;

/// Which edition of the IANA time zones is compiled in.
pub const EDITION: &str = chrono_tz::IANA_TZDB_VERSION;

/// No zone's name is longer than 32 bytes; a longer text is not searched for, and quoted only up to a bound.
const MAX_NAME: usize = 64;

pub fn zone(name: &str) -> Result<Tz, CronError> {
    if name.len() > MAX_NAME {
        let name = name.chars().take(MAX_NAME).chain(['…']).collect();
        return Err(CronError::UnknownZone { name, suggestion: None });
    }
    name.parse().map_err(|_| CronError::UnknownZone { name: name.to_owned(), suggestion: suggestion_for(name) })
}

/// The zone whose name, or whose city, has the same letters and digits in any case and with any punctuation.
fn suggestion_for(name: &str) -> Option<Tz> {
    let whole = TZ_VARIANTS.iter().find(|zone| is_similar(zone.name(), name));
    whole.or_else(|| TZ_VARIANTS.iter().find(|zone| is_similar(city(zone.name()), name))).copied()
}

fn city(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

fn is_similar(one: &str, other: &str) -> bool {
    fn letters(name: &str) -> impl Iterator<Item = u8> {
        name.bytes().filter(u8::is_ascii_alphanumeric).map(|byte| byte.to_ascii_lowercase())
    }
    letters(one).eq(letters(other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_zone_is_known_by_its_own_name() {
        for known in TZ_VARIANTS {
            assert_eq!(zone(known.name()), Ok(known));
        }
    }

    #[test]
    fn a_name_that_is_nearly_right_gets_a_suggestion() {
        for near in ["america/new_york", "America/New York", "AMERICA/NEWYORK", "new york", "New_York"] {
            let error = zone(near).unwrap_err().to_string();
            assert_eq!(error, format!("{near:?} is not an IANA time zone: did you mean America/New_York?"));
        }
    }

    #[test]
    fn an_unknown_name_gets_no_suggestion() {
        for wrong in ["", "/", "Mars/Olympus_Mons", "+02:00", "\u{0}"] {
            let refused = zone(wrong);
            assert_eq!(refused, Err(CronError::UnknownZone { name: wrong.to_owned(), suggestion: None }));
        }
    }

    #[test]
    fn a_very_long_name_is_quoted_only_up_to_a_bound() {
        let error = zone(&"é".repeat(10_000)).unwrap_err().to_string();
        assert!(error.len() < 300, "{error}");
    }
}
