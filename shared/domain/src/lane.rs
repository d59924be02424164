//! Lane: which queue a hint travels on. One for each priority, and apart from it one for the long calls of that priority: where
//! a hand takes several hints at once and is free when the slowest has ended, a long call would hold up the others.

use crate::order::Terms;
use crate::priority::Priority;

/// How long a call may take, by its time-out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Length {
    #[default]
    Short,
    Long,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Lane {
    pub priority: Priority,
    pub length: Length,
    /// Nobody is called: what a worker takes, a workflow unfolds or somebody approves is only looked at, and no limit of calls counts it.
    pub is_look: bool,
}

impl Length {
    pub fn of(terms: &Terms) -> Self {
        if terms.before + terms.timeout > Terms::LONGEST_SHORT_CALL { Self::Long } else { Self::Short }
    }
}

impl Lane {
    /// The most urgent first, and short calls before long ones.
    pub const ALL: [Self; 2 * Priority::ALL.len()] = {
        let mut all = [Self::short(Priority::Critical); 2 * Priority::ALL.len()];
        let mut index = 0;
        while index < Priority::ALL.len() {
            all[2 * index] = Self::short(Priority::ALL[index]);
            all[2 * index + 1] = Self::long(Priority::ALL[index]);
            index += 1;
        }
        all
    };

    pub const fn short(priority: Priority) -> Self {
        Self { priority, length: Length::Short, is_look: false }
    }

    pub const fn look(priority: Priority) -> Self {
        Self { is_look: true, ..Self::short(priority) }
    }

    pub const fn long(priority: Priority) -> Self {
        Self { priority, length: Length::Long, is_look: false }
    }

    /// Of a call of this priority on these terms.
    pub fn of(priority: Priority, terms: &Terms) -> Self {
        Self { priority, length: Length::of(terms), is_look: false }
    }

    /// Its place in `ALL`.
    pub const fn index(self) -> usize {
        2 * self.priority.index() + self.length as usize
    }

    pub const fn as_str(self) -> &'static str {
        match (self.priority, self.length) {
            (priority, Length::Short) => priority.as_str(),
            (Priority::Critical, Length::Long) => "critical-long",
            (Priority::High, Length::Long) => "high-long",
            (Priority::Normal, Length::Long) => "normal-long",
            (Priority::Low, Length::Long) => "low-long",
        }
    }
}

/// Of short calls.
impl From<Priority> for Lane {
    fn from(priority: Priority) -> Self {
        Self::short(priority)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn each_lane_stands_at_its_index_under_a_name_of_its_own() {
        let mut names: Vec<_> = Lane::ALL.iter().map(|lane| lane.as_str()).collect();
        for (index, lane) in Lane::ALL.into_iter().enumerate() {
            assert_eq!(lane.index(), index);
        }
        names.dedup();
        assert_eq!(names.len(), Lane::ALL.len());
    }

    #[test]
    fn a_call_is_long_whose_time_out_is_more_than_a_minute() {
        for (seconds, length) in [(1, Length::Short), (60, Length::Short), (61, Length::Long), (840, Length::Long)] {
            let terms = Terms { timeout: Duration::from_secs(seconds), ..Terms::default() };
            assert_eq!(Length::of(&terms), length, "{seconds}");
        }
        assert_eq!(Length::of(&Terms::default()), Length::Short, "what is not said is not long");
    }

    #[test]
    fn a_hook_before_a_call_is_part_of_how_long_it_may_take() {
        for (before, timeout, length) in [(30, 30, Length::Short), (40, 30, Length::Long), (0, 60, Length::Short)] {
            let (before, timeout) = (Duration::from_secs(before), Duration::from_secs(timeout));
            let terms = Terms { timeout, before, ..Terms::default() };
            assert_eq!(Length::of(&terms), length, "{before:?} and {timeout:?}");
        }
    }
}
