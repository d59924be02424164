//! How far the chains of a pass were followed. Each look at a run makes sure that its chain goes on, and walks along all that is on record behind it:
//! one that goes on where the walk before stopped reads only what is new since, and what an outage or many long runs leave costs a pass what
//! they are, not the square of it.
//!
//! Records stay, so what was on record once need not be read again in the same pass.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::lock::Mutex as AsyncMutex;
use minutehand_domain::Moment;
use minutehand_domain::id::JobId;
use minutehand_domain::job::Job;

/// Of each job, by its schedule of one generation, how far its chain was followed, and what will not fire any more. Of walks along one chain the second
/// begins when the first has ended: side by side each would read the same.
#[derive(Debug, Default)]
pub struct Followed(Mutex<HashMap<(JobId, u64, Walk), Along>>);

/// Which instants are walked along.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Walk {
    /// Those of the schedule that is in force.
    Schedule,
    /// Those that were to fire and cannot any more.
    Forgone,
}

/// How far a chain was followed; the look that walks along it has this locked.
type Along = Arc<AsyncMutex<Walked>>;

impl Followed {
    pub(crate) fn along(&self, job: &Job, walk: Walk) -> Along {
        let mut walks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(walks.entry((job.id, job.generation, walk)).or_default())
    }
}

/// The span in which something on record stands for each instant of a chain.
#[derive(Debug, Default)]
pub(crate) struct Walked(Option<(Moment, Moment)>);

impl Walked {
    /// From where a walk that has come to `t` goes on.
    pub(crate) fn behind(&self, t: Moment) -> Moment {
        self.0.filter(|(from, to)| *from <= t && t < *to).map_or(t, |(_, to)| to)
    }

    /// From `from` on all is on record up to `to`, behind which nothing is known yet. Of two spans that are apart the later one stays: more is to come there.
    pub(crate) fn add(&mut self, from: Moment, to: Moment) {
        let both = match self.0 {
            Some((first, last)) if first <= to && from <= last => (first.min(from), last.max(to)),
            Some(span) if to < span.0 => span,
            _ => (from, to),
        };
        self.0 = Some(both);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span((from, to): (i64, i64)) -> (Moment, Moment) {
        (Moment::from_millis(from), Moment::from_millis(to))
    }

    #[test]
    fn spans_that_touch_are_one_and_of_others_the_later_stays() {
        let table = [
            ((10, 20), (20, 30), (10, 30)),
            ((20, 30), (10, 20), (10, 30)),
            ((10, 40), (20, 30), (10, 40)),
            ((10, 20), (21, 30), (21, 30)),
            ((21, 30), (10, 20), (21, 30)),
        ];
        for (one, other, both) in table {
            let mut walked = Walked(Some(span(one)));
            walked.add(span(other).0, span(other).1);
            assert_eq!(walked.0, Some(span(both)), "{one:?} and {other:?}");
        }
    }

    #[test]
    fn a_walk_goes_on_behind_what_was_walked() {
        let walked = Walked(Some(span((10, 20))));
        for (at, on) in [(9, 9), (10, 20), (19, 20), (20, 20), (21, 21)] {
            assert_eq!(walked.behind(Moment::from_millis(at)).millis(), on, "from {at}");
        }
        assert_eq!(Walked::default().behind(Moment::from_millis(7)).millis(), 7);
    }
}
