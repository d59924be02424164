//! What may not be for a moment, writing by writing; and what may not be left at the end.

use std::collections::{BTreeMap, BTreeSet};

use super::execution::is_over;
use super::{Bench, Ended, Rule, Stands, Timer, given_up};
use crate::SKEW;

const MINUTE: i64 = 60_000;

/// A timer may stand so long behind a run that is over: a look is due, a pass was missed.
const LEFT: i64 = 20 * 60_000;

/// The longest that somebody sleeps between what he read and what he writes.
const SLEPT: i64 = 30 * 60_000;

impl Bench<'_> {
    pub(super) fn moments(&self) {
        let mut last: BTreeMap<&str, (&Stands, u32)> = BTreeMap::new();
        for nth in 0..self.account.writes.len() {
            let write = &self.account.writes[nth];
            let before = last.insert(&write.run, (&write.stands, write.fence));
            self.ends_once(nth, before.map(|(stands, _)| stands));
            if before.is_none() {
                self.is_born_in_its_turn(nth);
            }
            let begins = write.fence > before.map_or(0, |(_, fence)| fence);
            match &write.stands {
                Stands::Over(_) => self.ends_alone(nth, &last),
                _ if begins => self.begins_in_its_turn(nth, &last),
                _ => {}
            }
            self.is_stopped_rightly(nth, before.map(|(stands, _)| stands));
            if matches!(write.stands, Stands::Tasks { .. }) && !matches!(before, Some((Stands::Tasks { .. }, _))) {
                self.is_of_the_newest_version(nth);
            }
            self.enters_finally_alone(nth, before.map(|(stands, _)| stands), &last);
        }
    }

    /// Which version a run is of is decided when it begins: the newest by then, as far as whoever began it could know.
    fn is_of_the_newest_version(&self, nth: usize) {
        let write = &self.account.writes[nth];
        let Some(flow) = self.run(&write.run).filter(|run| run.place.is_none()).and_then(|run| run.flow) else {
            return;
        };
        for replaced in &self.account.replaced {
            let is_late = replaced.told.is_some_and(|told| told + SLEPT < write.at);
            if flow == replaced.flow && is_late || flow == replaced.by && write.at < replaced.asked {
                self.report("a run is of the newest version", &write.run, format!("of flow {flow}, {replaced:?}"));
            }
        }
    }

    fn ends_once(&self, nth: usize, before: Option<&Stands>) {
        let write = &self.account.writes[nth];
        if let Some(Stands::Over(word)) = before
            && write.stands != Stands::Over(word.clone())
        {
            self.report("a run ends once", &write.run, format!("{word}, then {:?}", write.stands));
        }
    }

    /// A task is made when those it waits for are over, a branch when its lane is free.
    fn is_born_in_its_turn(&self, nth: usize) {
        let write = &self.account.writes[nth];
        let Some((flow, step, place)) = self.step_of(&write.run) else { return };
        if write.stands == given_up() {
            let stopped = self.stopped(&place.parent, place.branch.is_none() && place.step >= flow.main);
            if stopped.is_none_or(|(_, at)| at > nth) {
                self.report("what is given up cannot begin", &write.run, format!("step {}", place.step));
            }
            return;
        }
        let settled_before = |id: Option<&str>| id.is_some_and(|id| self.settled.get(id).is_some_and(|at| *at < nth));
        if place.turn > 1 {
            return; // a verdict's, which another rule asks for
        }
        if let Some(branch) = place.branch {
            let lanes = step.each.as_ref().and_then(|each| each.lanes).unwrap_or(usize::MAX);
            let ahead = branch.checked_sub(lanes).map(|ahead| self.last_try(&place.parent, place.step, Some(ahead)));
            if ahead.is_some_and(|ahead| !settled_before(ahead)) {
                self.report("a branch waits for its lane", &write.run, format!("branch {branch} of {lanes} lanes"));
            }
            return;
        }
        if place.step >= flow.main && self.began_finally(&place.parent).is_none_or(|at| at > nth) {
            self.report("finally comes last", &write.run, format!("step {}", place.step));
        }
        let open: Vec<_> = step
            .edges
            .iter()
            .map(|(from, _)| *from)
            .filter(|from| !settled_before(self.last_try(&place.parent, *from, None)))
            .collect();
        let enough = step.rule == Rule::Any && open.len() < step.edges.len();
        if !open.is_empty() && !enough {
            self.report("nothing starts before what it depends on", &write.run, format!("{open:?} are open"));
        }
    }

    fn begins_in_its_turn(&self, nth: usize, last: &BTreeMap<&str, (&Stands, u32)>) {
        let write = &self.account.writes[nth];
        let run = self.run(&write.run);
        if let Some(place) = run.and_then(|run| run.place.as_ref()) {
            if let Some((Stands::Over(word), _)) = last.get(place.parent.as_str()) {
                self.report("nothing starts below what is over", &write.run, format!("its parent is {word}"));
            }
            self.has_a_lane(nth, last);
        }
        let slot = self.flow_of(&write.run).and_then(|flow| Some((flow, self.account.flows[flow].at_once?)));
        if let Some((flow, at_once)) = slot {
            let under_way = last.iter().filter(|(id, (stands, _))| {
                matches!(stands, Stands::Tasks { .. }) && !self.is_each(id) && self.flow_of(id) == Some(flow)
            });
            let under_way = under_way.count();
            if under_way > at_once {
                self.report("no more runs at once than may be", &write.run, format!("{under_way} of {at_once}"));
            }
        }
    }

    fn has_a_lane(&self, nth: usize, last: &BTreeMap<&str, (&Stands, u32)>) {
        let write = &self.account.writes[nth];
        let Some((_, step, place)) = self.step_of(&write.run) else { return };
        let Some(lanes) = step.each.as_ref().and_then(|each| each.lanes).filter(|_| place.branch.is_some()) else {
            return;
        };
        let under_way =
            |id: &&str| last.get(*id).is_some_and(|(stands, fence)| *fence > 0 && !matches!(stands, Stands::Over(_)));
        let mates = self.below.get(place.parent.as_str()).into_iter().flatten();
        let count = mates.filter(|(mate, _)| mate.branch.is_some()).filter(|(_, id)| under_way(id)).count();
        if count > lanes {
            self.report("no more branches at once than lanes", &write.run, format!("{count} of {lanes}"));
        }
    }

    /// Nothing of it is under way when a run ends.
    fn ends_alone(&self, nth: usize, last: &BTreeMap<&str, (&Stands, u32)>) {
        let write = &self.account.writes[nth];
        let below = self.below.get(write.run.as_str()).cloned().unwrap_or_default();
        for (_, child) in below {
            if let Some((stands, fence)) = last.get(child)
                && *fence > 0
                && !matches!(stands, Stands::Over(_))
            {
                self.report("a run ends after its tasks", &write.run, format!("{child} is {stands:?}"));
            }
        }
    }

    /// And nothing but `finally` goes on in `finally`.
    fn enters_finally_alone(&self, nth: usize, before: Option<&Stands>, last: &BTreeMap<&str, (&Stands, u32)>) {
        let write = &self.account.writes[nth];
        let enters = matches!(write.stands, Stands::Tasks { finally: true, .. });
        if enters && matches!(before, Some(Stands::Tasks { finally: false, .. })) {
            self.ends_alone(nth, last);
        }
    }

    fn is_stopped_rightly(&self, nth: usize, before: Option<&Stands>) {
        let write = &self.account.writes[nth];
        let Stands::Tasks { finally, stop: Some(word), deadline } = write.stands else { return };
        let is_first = !matches!(before, Some(Stands::Tasks { stop: Some(_), finally: was, .. }) if *was == finally);
        if is_first && !self.is_right_to_stop(&write.run, word, nth, finally, deadline) {
            self.report("a run is stopped for a reason", &write.run, format!("{word}, in finally: {finally}"));
        }
    }

    pub(super) fn leftovers(&self) {
        let account = self.account;
        for (id, run) in &account.runs {
            if !is_over(&run.status) {
                self.report("every run of a graph comes to its end", id, run.status.clone());
            }
            if let Some(place) = &run.place
                && self.run(&place.parent).is_none()
            {
                self.report("a task has a parent", id, place.parent.clone());
            }
        }
        for told in account.told.iter().filter(|told| !account.runs.contains_key(*told)) {
            self.report("a run that was told of is there", told, "no record");
        }
        let mut resumed = BTreeSet::new();
        for (id, run) in &account.runs {
            if let Some(before) = &run.resumes
                && !resumed.insert(before)
            {
                self.report("a run is gone on with once", id, before.clone());
            }
        }
        for timer in account.timers.iter().filter(|timer| timer.due < account.end - LEFT && !self.was_put_late(timer)) {
            if self.run(&timer.run).is_some_and(|run| is_over(&run.status)) {
                self.report("no timer of a run that is over is left", &timer.run, format!("due at {}", timer.due));
            }
        }
        for id in &account.holders {
            if self.run(id).is_none() {
                self.report("whoever holds a place is there", id, "no record");
            } else if account.calm {
                self.report("a place is given back", id, "in a history in which nothing went wrong");
            }
        }
        for id in account.waiters.iter().filter(|_| account.calm) {
            self.report("nobody is left in a line", id, "in a history in which nothing went wrong");
        }
        self.fails_fast();
    }

    /// Whether a timer was put where nobody may look any more. Whoever does that, having slept for minutes, looks at his clock and puts
    /// it again before anything else; if he died before that nothing follows from it, and what a table's client repeated minutes
    /// later says nothing new. Any other is looked at for as long as it stands.
    fn was_put_late(&self, timer: &Timer) -> bool {
        timer.put_at > (timer.due / MINUTE + 2) * MINUTE - SKEW - self.account.wrong_by
    }

    /// A failure that nobody allowed ends a `fail_fast` run.
    fn fails_fast(&self) {
        for (id, run) in &self.account.runs {
            let flow = self.flow_of(id).filter(|_| !self.is_each(id)).map(|flow| &self.account.flows[flow]);
            let Some(flow) = flow else { continue };
            let is_fast = flow.policy == super::Policy::FailFast && run.unfolded && is_over(&run.status);
            let failed = (0..flow.main)
                .any(|step| !flow.steps[step].allow_failure && self.counts(id, step, None) == Some(Ended::Failed));
            if is_fast && failed && run.status == "succeeded" {
                self.report("a failure is told", id, run.status.clone());
            }
        }
    }
}
