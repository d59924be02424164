//! The executor: workflow by workflow, step by step in their order.

use super::values::Unmade;
use super::{Account, Answer, Bench, Does, Ended, Flow, On, Place, Policy, Rule, Stands, Step, Tolerate};

/// What must become of a step.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Must {
    /// Nothing yet: what it waits for is not over.
    Wait,
    Skip(&'static str),
    /// It cannot be made.
    Fail,
    Run,
}

impl<'a> Bench<'a> {
    pub(super) fn executions(&self) {
        for (id, run) in &self.account.runs {
            if !run.unfolded || run.reused.is_some() {
                continue;
            }
            if self.is_each(id) {
                self.each(id);
            } else if let Some(flow) = self.flow_of(id) {
                self.whole(id, &self.account.flows[flow]);
            }
        }
    }

    /// A workflow's run.
    fn whole(&self, id: &str, flow: &'a Flow) {
        for (at, step) in flow.steps.iter().enumerate() {
            let must = self.must(id, flow, step, at);
            let tries = self.tries(id, at, None);
            let may_be_missing = self.may_be_missing(id, at >= flow.main);
            self.kept(id, (at, None), &must, &tries, may_be_missing);
        }
        let Some(run) = self.run(id) else { return };
        if !is_over(&run.status) {
            return; // said by another rule
        }
        if flow.steps.len() > flow.main && self.began_finally(id).is_none() {
            self.report("finally runs whatever happened", id, format!("it ended {} without", run.status));
        }
        let expected = self.outcome(id, flow);
        if expected != run.status {
            self.report("a workflow ends as its tasks say", id, format!("{} instead of {expected}", run.status));
        }
        let n = flow
            .output
            .filter(|_| run.status == "succeeded")
            .and_then(|of| self.answer_of(self.last_try(id, of, None)?));
        let result = n.map(|answered| format!("{{\"n\":{}}}", answered.n));
        if run.status == "succeeded" && result != run.result {
            self.report("a result is what its tasks answered", id, format!("{:?} instead of {result:?}", run.result));
        }
    }

    /// The run of a `for_each`.
    fn each(&self, id: &str) {
        let (Some(run), Some((flow, step, _)), Some(top)) = (self.run(id), self.step_of(id), self.top_of(id)) else {
            return;
        };
        let (Some(each), Ok(items)) = (&step.each, self.items(flow, step, top)) else {
            return self.report("a for_each has a list", id, "there is none");
        };
        if run.branches != Some(items.len()) {
            self.report("a for_each has a branch for each item", id, format!("{:?} of {}", run.branches, items.len()));
        }
        let at = run.place.as_ref().map_or(0, |place| place.step);
        let stopped = self.stopped(id, false).is_some();
        for branch in 0..items.len() {
            let done = self.done_before(id, at, Some(branch)).is_some();
            let made = done || self.given(flow, step, top, Some(branch)).is_ok();
            let must = if made { Must::Run } else { Must::Fail };
            let tries = self.tries(id, at, Some(branch));
            self.kept(id, (at, Some(branch)), &must, &tries, stopped);
        }
        if !is_over(&run.status) {
            return;
        }
        let failed =
            (0..items.len()).filter(|branch| self.counts(id, at, Some(*branch)) == Some(Ended::Failed)).count();
        let word = self.stopped(id, false).map(|(word, _)| word);
        let tolerated = match each.tolerate {
            Tolerate::Branches(most) => failed <= most,
            Tolerate::Percent(most) => 100 * failed <= most * items.len(),
        };
        let expected = word.unwrap_or(if tolerated { "succeeded" } else { "failed" });
        if run.status != expected {
            let detail = format!("{} instead of {expected}: {failed} of {} failed", run.status, items.len());
            self.report("a for_each ends as its branches say", id, detail);
        }
    }

    /// What its edges, its condition and what it is given say of a step.
    fn must(&self, id: &str, flow: &Flow, step: &Step, at: usize) -> Must {
        match self.decided(id, step) {
            None => Must::Wait,
            Some(false) => Must::Skip("upstream"),
            Some(true) if self.done_before(id, at, None).is_some() => Must::Run,
            Some(true) => match step.when.map_or(Ok(true), |when| self.when(when, id)) {
                Ok(false) => Must::Skip("condition"),
                Err(Unmade) => Must::Fail,
                Ok(true) if step.each.is_some() => {
                    if self.items(flow, step, id).is_ok() {
                        Must::Run
                    } else {
                        Must::Fail
                    }
                }
                Ok(true) => {
                    if self.given(flow, step, id, None).is_ok() {
                        Must::Run
                    } else {
                        Must::Fail
                    }
                }
            },
        }
    }

    /// Whether the edges of a step say that it starts; none where they say nothing yet.
    fn decided(&self, id: &str, step: &Step) -> Option<bool> {
        let ends: Vec<_> = step.edges.iter().map(|(from, on)| (*on, self.counts(id, *from, None))).collect();
        let any_holds = ends.iter().any(|(on, ended)| ended.is_some_and(|ended| holds(*on, ended)));
        if step.rule == Rule::Any && any_holds {
            return Some(true);
        }
        let all: Vec<_> = ends.iter().map(|(on, ended)| ended.map(|ended| (*on, ended))).collect::<Option<_>>()?;
        Some(match step.rule {
            _ if all.is_empty() => true,
            Rule::All => all.iter().all(|(on, ended)| holds(*on, *ended)),
            Rule::Any => false,
            Rule::NoneFailed => {
                let some = |what| all.iter().any(|(_, ended)| *ended == what);
                some(Ended::Succeeded) && !some(Ended::Failed) && !some(Ended::Cancelled)
            }
        })
    }

    /// How a step counts, by the last try at it.
    pub(super) fn counts(&self, parent: &str, step: usize, branch: Option<usize>) -> Option<Ended> {
        self.ended(self.last_try(parent, step, branch)?)
    }

    fn tries(&self, parent: &str, step: usize, branch: Option<usize>) -> Vec<&'a str> {
        let below = self.below.get(parent).into_iter().flatten();
        let its = below.filter(|(place, _)| place.step == step && place.branch == branch);
        let mut tries: Vec<_> = its.map(|(place, id)| (place.turn, *id)).collect();
        tries.sort_unstable();
        tries.into_iter().map(|(_, id)| id).collect()
    }

    /// Whether a step of a run may have no record: it was stopped, or that phase never began.
    fn may_be_missing(&self, id: &str, is_finally: bool) -> bool {
        self.stopped(id, is_finally).is_some() || is_finally && self.began_finally(id).is_none()
    }

    /// Whether the tries at a step are what must be.
    fn kept(&self, id: &str, at: (usize, Option<usize>), must: &Must, tries: &[&str], may_be_missing: bool) {
        let what = format!("step {at:?}");
        let Some(first) = tries.first() else {
            if *must != Must::Wait && !may_be_missing && self.run(id).is_some_and(|run| is_over(&run.status)) {
                self.report("what must run has a record", id, format!("{what}: {must:?}"));
            }
            return;
        };
        for (nth, turn) in tries.iter().enumerate() {
            let Some(run) = self.run(turn) else { continue };
            let (status, reason) = (run.status.as_str(), run.reason.as_deref());
            let as_it_must = match must {
                _ if may_be_missing && self.never_began(turn) => true,
                Must::Wait => false,
                Must::Skip(why) => status == "skipped" && reason == Some(*why),
                Must::Fail => status == "failed" && reason == Some("unmade") || run.fence == 0 && status == "cancelled",
                Must::Run => {
                    status != "skipped" && (reason != Some("unmade") || run.fence > 0 || self.is_sub_flow(turn))
                }
            };
            if !as_it_must {
                self.report("a task does what its edges say", turn, format!("{what}: {status} {reason:?}, {must:?}"));
            }
            let again = run.verdict.as_deref() == Some("retry");
            if nth + 1 < tries.len() && !again {
                self.report("only a verdict makes another try", turn, what.clone());
            }
            if nth + 1 == tries.len() && again && !may_be_missing {
                self.report("a retry is made", turn, what.clone());
            }
        }
        self.reuse(id, at, first, must);
    }

    fn is_sub_flow(&self, id: &str) -> bool {
        self.flow_of(id).is_some()
    }

    /// What a run goes on with was done there, and is not done again.
    fn reuse(&self, parent: &str, (step, branch): (usize, Option<usize>), first: &str, must: &Must) {
        let done = self.done_before(parent, step, branch);
        let Some(run) = self.run(first) else { return };
        let reused = run.reused.as_deref().map(|reused| self.doer(reused));
        let expected = done.filter(|_| *must == Must::Run).map(|done| self.doer(done));
        if reused != expected && run.status != "cancelled" {
            self.report("what was done before is not done again", first, format!("{:?}, {done:?}", run.reused));
        }
    }

    /// The run that did it, behind those that stand for it. Which of these is named may be another by the end: who slept over the end of a run still puts
    /// down in it what had been done before it.
    fn doer<'b>(&'b self, id: &'b str) -> &'b str {
        let mut id = id;
        while let Some(reused) = self.run(id).and_then(|run| run.reused.as_deref()) {
            id = reused;
        }
        id
    }

    /// The same step in the run that this one goes on with, or in the last before that which came to it, where that succeeded there.
    fn done_before(&self, parent: &str, step: usize, branch: Option<usize>) -> Option<&'a str> {
        let mut old = self.before(parent)?;
        loop {
            if let Some(last) = self.last_try(&old, step, branch) {
                let is_the_same = match branch {
                    Some(branch) => self.is_the_same_item(parent, &old, branch),
                    None => self.still_holds(parent, &old, step),
                };
                return (is_the_same && self.ended(last) == Some(Ended::Succeeded)).then_some(last);
            }
            // That one ended before it came to it.
            old = self.before(&old)?;
        }
    }

    /// The run that one goes on with, or the one that stands there at the same place.
    fn before(&self, id: &str) -> Option<String> {
        let run = self.run(id)?;
        let Some(place) = &run.place else { return run.resumes.clone() };
        let mut parent = self.before(&place.parent)?;
        loop {
            let tries = self.tries(&parent, place.step, place.branch);
            let has_unfolded = |id: &&&str| self.run(id).is_some_and(|run| run.unfolded);
            // Each try does anew what the one before it did.
            if let Some(id) = tries.iter().rfind(has_unfolded).or(tries.first()) {
                let is_the_same = match place.branch {
                    Some(branch) => self.is_the_same_item(&place.parent, &parent, branch),
                    None => self.still_holds(&place.parent, &parent, place.step),
                };
                return is_the_same.then(|| (*id).to_owned());
            }
            parent = self.before(&parent)?;
        }
    }

    /// Whether what a step did in `old` is what it would do now: not in `finally`, and not after what failed there, over however many steps.
    fn still_holds(&self, parent: &str, old: &str, step: usize) -> bool {
        let flow = self.flow_of(parent).map(|flow| &self.account.flows[flow]);
        let Some(flow) = flow.filter(|flow| step < flow.main) else { return false };
        flow.steps[step].edges.iter().all(|(from, on)| match self.counts(old, *from, None) {
            Some(Ended::Succeeded) => self.still_holds(parent, old, *from),
            _ => *on == On::Success,
        })
    }

    /// Whether a branch of two `for_each` is for the same.
    fn is_the_same_item(&self, each: &str, other: &str, branch: usize) -> bool {
        let item = |each: &str| {
            let (flow, step, _) = self.step_of(each)?;
            self.items(flow, step, self.top_of(each)?).ok()?.get(branch).copied()
        };
        item(each).is_some_and(|here| item(other) == Some(here))
    }

    /// How the tasks before `finally` ended together, where not well.
    pub(super) fn outcome_of_main(&self, id: &str) -> Option<&'static str> {
        let flow = &self.account.flows[self.flow_of(id)?];
        let stopped = self.stopped(id, false).map(|(word, _)| word);
        stopped.or_else(|| self.any_failed(id, flow, 0..flow.main).then_some("failed"))
    }

    fn any_failed(&self, id: &str, flow: &Flow, steps: std::ops::Range<usize>) -> bool {
        let mut steps = steps.filter(|step| !flow.steps[*step].allow_failure);
        steps.any(|step| self.counts(id, step, None) == Some(Ended::Failed))
    }

    fn outcome(&self, id: &str, flow: &Flow) -> &'static str {
        if let Some(word) = self.outcome_of_main(id) {
            return word;
        }
        if let Some((word, _)) = self.stopped(id, true) {
            return word;
        }
        let failed = self.any_failed(id, flow, flow.main..flow.steps.len());
        let output =
            flow.output.is_none_or(|of| self.last_try(id, of, None).and_then(|id| self.answer_of(id)).is_some());
        if failed || !output { "failed" } else { "succeeded" }
    }

    /// Calls and questions: what they came to is what was answered.
    pub(super) fn leaves(&self) {
        let account: &Account = self.account;
        for (id, run) in &account.runs {
            let Some((flow, step, place)) = self.step_of(id) else { continue };
            if run.unfolded || run.reused.is_some() || self.is_each(id) {
                continue;
            }
            match step.does {
                Does::Call => self.call(id, flow, step, place),
                Does::Ask { default, .. } => self.question(id, default),
                Does::Flow(_) => {}
            }
        }
        for act in &account.acts {
            let run = self.run(&act.run);
            let is_answer = act.word == "approve" || act.word == "reject";
            let stands = run.and_then(|run| if is_answer { run.answer.as_ref() } else { run.verdict.as_ref() });
            if stands != Some(&act.word) {
                self.report("what was decided stands", &act.run, format!("{} became {stands:?}", act.word));
            }
        }
    }

    fn call(&self, id: &str, flow: &Flow, step: &Step, place: &Place) {
        let Some(run) = self.run(id) else { return };
        let calls = self.calls.get(id).cloned().unwrap_or_default();
        let last = calls.iter().find(|call| call.fence == run.fence).and_then(|call| call.answer.clone());
        let fits = match (run.status.as_str(), run.reason.as_deref(), &last) {
            ("succeeded", _, Some(Answer::Succeeded(answered))) => run.result == Some(said(answered)),
            ("succeeded", ..) => false,
            ("timed_out", _, answer) => *answer == Some(Answer::TimedOut),
            ("failed", Some("error"), answer) => *answer == Some(Answer::Failed),
            _ => true,
        };
        if !fits {
            self.report(
                "a task ends as its target answered",
                id,
                format!("{} {:?} after {last:?}", run.status, run.reason),
            );
        }
        let top = self.top_of(id).map(str::to_owned).unwrap_or_default();
        let given =
            self.given(flow, step, &top, place.branch).ok().map(|given| format!("{{\"given\":[{}]}}", given.join(",")));
        for (nth, call) in calls.iter().enumerate() {
            if Some(&call.given) != given.as_ref() {
                self.report("a task is given what it asks for", id, format!("{} instead of {given:?}", call.given));
            }
            if (call.flow, call.step) != (self.flow_above(place).unwrap_or(usize::MAX), place.step) {
                self.report("a task calls its own target", id, format!("{} of {}", call.step, call.flow));
            }
            if calls[..nth].iter().any(|before| before.fence == call.fence) {
                self.report("one call a claim", id, format!("fence {}", call.fence));
            }
            let alive = |before: &&&super::Call| {
                let held_until = before.lease_until - 2 * super::SKEW - self.account.wrong_by;
                before.ended_at.is_none_or(|ended| ended > call.at) && held_until > call.at
            };
            if calls[..nth].iter().any(|before| alive(&before)) {
                self.report("one live call of a task", id, format!("fence {}", call.fence));
            }
        }
        if step.at_most_once && calls.len() > 1 {
            self.report("at most once is at most once", id, format!("{} calls", calls.len()));
        }
    }

    fn question(&self, id: &str, default: &str) {
        let Some(run) = self.run(id) else { return };
        let asked = self.account.writes.iter().find_map(|write| match write.stands {
            Stands::Asking { until } if write.run == id => Some(until),
            _ => None,
        });
        let over = self.over.get(id).map(|nth| self.account.writes[*nth].at);
        let late = asked.zip(over).is_some_and(|(until, over)| over >= until - 4 * super::SKEW - self.account.wrong_by);
        let fits = match (run.status.as_str(), run.answer.as_deref()) {
            ("succeeded", Some("approve")) | ("failed", Some("reject")) => true,
            ("failed", None) if run.reason.as_deref() == Some("unmade") => run.fence == 0,
            ("succeeded" | "failed" | "timed_out", None) => run.status == default && late,
            (_, answer) => answer.is_none(),
        };
        if !fits {
            self.report(
                "a question ends as it was answered",
                id,
                format!("{} {:?} {:?}", run.status, run.reason, run.answer),
            );
        }
    }

    /// Why a run was stopped.
    pub(super) fn is_right_to_stop(&self, id: &str, word: &str, nth: usize, finally: bool, deadline: i64) -> bool {
        let Some(run) = self.run(id) else { return false };
        let write = &self.account.writes[nth];
        let above = run.place.as_ref().map(|place| place.parent.as_str());
        let above_is_stopped = || above.is_some_and(|above| self.was_stopped_by(above, nth));
        match word {
            "timed_out" => write.at >= deadline - 4 * super::SKEW - self.account.wrong_by,
            // Whoever stops a workflow leaves what is in its `finally` alone.
            "cancelled" => run.cancel_asked || !finally && above_is_stopped(),
            "failed" => !finally && self.has_failed_by(id, nth),
            _ => false,
        }
    }

    /// Whether a run had been stopped, in any phase, or was over.
    fn was_stopped_by(&self, id: &str, nth: usize) -> bool {
        let stopped = [false, true].into_iter().filter_map(|finally| self.stopped(id, finally)).any(|(_, at)| at < nth);
        stopped || self.over.get(id).is_some_and(|at| *at < nth)
    }

    /// Whether a failure had come that ends all of a `fail_fast` run.
    fn has_failed_by(&self, id: &str, nth: usize) -> bool {
        let flow = match self.step_of(id) {
            Some((flow, ..)) if self.is_each(id) => flow,
            _ => match self.flow_of(id) {
                Some(flow) => &self.account.flows[flow],
                None => return false,
            },
        };
        let below = self.below.get(id).into_iter().flatten();
        let mut failed = below.filter(|(_, child)| {
            self.ended(child) == Some(Ended::Failed) && self.over.get(child).is_some_and(|at| *at < nth)
        });
        flow.policy == Policy::FailFast && failed.any(|(place, _)| !flow.steps[place.step].allow_failure)
    }
}

pub(super) fn is_over(status: &str) -> bool {
    ["succeeded", "failed", "timed_out", "cancelled", "skipped"].contains(&status)
}

fn holds(on: On, ended: Ended) -> bool {
    match on {
        On::Success => ended == Ended::Succeeded,
        On::Failure => ended == Ended::Failed,
        On::Finished => true,
    }
}

/// What a target answered, as JSON.
fn said(answered: &super::Answered) -> String {
    let items: Vec<_> = answered.list.iter().map(|n| format!("{{\"n\":{n}}}")).collect();
    format!("{{\"list\":[{}],\"n\":{}}}", items.join(","), answered.n)
}
