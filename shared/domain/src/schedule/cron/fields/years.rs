//! The years of an expression: every year, or those of a list.

/// The years that a list can name, as `EventBridge` has them.
pub(in super::super) const FIRST_YEAR: u16 = 1970;
pub(in super::super) const LAST_YEAR: u16 = 2199;

const BASE: i32 = FIRST_YEAR as i32;

/// Bit 0 of the first number is 1970; none of them set means every year, also those that a list cannot name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Years(pub [u64; 4]);

impl Years {
    pub(in super::super) const EVERY: Self = Self([0; 4]);

    pub(in super::super) fn of(years: impl IntoIterator<Item = u16>) -> Self {
        let mut these = Self::EVERY;
        for year in years {
            let place = usize::from(year.saturating_sub(FIRST_YEAR));
            if let Some(word) = these.0.get_mut(place / 64) {
                *word |= 1 << (place % 64);
            }
        }
        these
    }

    pub(super) fn hold(&self, year: i32) -> bool {
        *self == Self::EVERY || self.is_listed(year)
    }

    /// The first of them from `year` on.
    pub(super) fn from(&self, year: i32) -> Option<i32> {
        if *self == Self::EVERY {
            return Some(year);
        }
        (year.max(BASE)..=i32::from(LAST_YEAR)).find(|year| self.is_listed(*year))
    }

    /// The years of a list; none where it is every year.
    pub(in super::super) fn listed(&self) -> Option<impl Iterator<Item = i32> + '_> {
        let years = BASE..=i32::from(LAST_YEAR);
        (*self != Self::EVERY).then(|| years.filter(|year| self.is_listed(*year)))
    }

    fn is_listed(&self, year: i32) -> bool {
        let Ok(place) = usize::try_from(year - BASE) else { return false };
        self.0.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 == 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_years_are_found_from_any_year_on() {
        let years = Years::of([1970, 2027, 2199]);
        assert_eq!(
            [1900, 1970, 1971, 2027, 2028].map(|year| years.from(year)),
            [1970, 1970, 2027, 2027, 2199].map(Some)
        );
        assert_eq!(years.from(2200), None);
        assert!(years.hold(2027) && !years.hold(2026) && !years.hold(1969) && !years.hold(9999));
        assert_eq!(years.listed().unwrap().collect::<Vec<_>>(), [1970, 2027, 2199]);
    }

    #[test]
    fn every_year_is_also_one_that_a_list_cannot_name() {
        assert_eq!(Years::EVERY.from(9999), Some(9999));
        assert!(Years::EVERY.hold(1969) && Years::EVERY.listed().is_none());
    }
}
