//! Drawing graphs: workflows in the judge's own form, each kind of step and edge of them, mostly small.

use std::collections::BTreeSet;

use minutehand_judge::graph::{Does, Each, Flow, Given, On, Over, Params, Policy, Rule, Step, Tolerate, When};

use crate::dice::Dice;

const MINUTE: i64 = 60_000;
const DAY: i64 = 1440 * MINUTE;
/// Runs of tasks that one run of a drawn workflow may have, all below it.
const MOST_RUNS: usize = 90;

/// The workflows of a history: each may carry out those behind it.
pub(super) fn flows(dice: &mut Dice) -> Vec<Flow> {
    let count = dice.pick(&[1, 1, 2, 2, 3, 4]);
    let mut flows: Vec<Flow> = Vec::new();
    for at in (0..count).rev() {
        let inner: Vec<(usize, usize)> =
            (1..).zip(&flows).map(|(behind, flow)| (at + behind, runs_of(flow, at + behind, &flows, at + 1))).collect();
        flows.insert(0, flow(dice, at == 0, &inner));
    }
    flows
}

/// What the first of these workflows is replaced by: it may carry out the others.
pub(super) fn replacement(dice: &mut Dice, flows: &[Flow]) -> Flow {
    let inner: Vec<(usize, usize)> = (1..flows.len()).map(|at| (at, runs_of(&flows[at], at, flows, 0))).collect();
    flow(dice, true, &inner)
}

/// Runs of tasks below one run of a workflow. `first`: the number of the first of these.
fn runs_of(flow: &Flow, _number: usize, flows: &[Flow], first: usize) -> usize {
    let of = |step: &Step| {
        let each = step.each.as_ref().map_or(1, |_| 6);
        let inside =
            if let Does::Flow(inner) = step.does { runs_of(&flows[inner - first], inner, flows, first) } else { 0 };
        1 + each * (1 + inside)
    };
    flow.steps.iter().map(of).sum()
}

fn flow(dice: &mut Dice, is_first: bool, inner: &[(usize, usize)]) -> Flow {
    let main = if is_first && dice.chance(0.04) { dice.within(12..52) } else { dice.within(1..8) };
    let finally = if dice.chance(0.3) { dice.within(1..4) } else { 0 };
    let (main, finally) = (usize::try_from(main).unwrap_or(1), usize::try_from(finally).unwrap_or(0));
    let defaults = Params { n: dice.within(0..10), list: list(dice) };
    let mut drawing = Drawing { dice, main, steps: Vec::new(), known: Vec::new(), inner, left: MOST_RUNS };
    for at in 0..main + finally {
        drawing.step(at);
    }
    let steps = drawing.steps;
    let is_call = |at: &usize| steps[*at].does == Does::Call && steps[*at].each.is_none();
    let answering: Vec<usize> = (0..main).filter(is_call).collect();
    let output = (!answering.is_empty() && dice.chance(0.4)).then(|| dice.pick(&answering));
    Flow {
        steps,
        main,
        policy: dice.pick(&[Policy::FailFast, Policy::Continue, Policy::Continue, Policy::Hold]),
        output,
        at_once: dice.chance(0.2).then(|| if dice.chance(0.7) { 1 } else { 2 }),
        timeout: if dice.chance(0.15) { dice.within(1..20) * MINUTE } else { DAY },
        finally_timeout: if dice.chance(0.1) { 3 * MINUTE } else { 60 * MINUTE },
        defaults,
    }
}

struct Drawing<'a> {
    dice: &'a mut Dice,
    main: usize,
    steps: Vec<Step>,
    /// Of each step, those that are surely over when it starts.
    known: Vec<BTreeSet<usize>>,
    inner: &'a [(usize, usize)],
    left: usize,
}

impl Drawing<'_> {
    fn step(&mut self, at: usize) {
        let in_finally = at >= self.main;
        let first = if in_finally { self.main } else { 0 };
        let edges = self.edges(first, at);
        let rule = self.rule(&edges);
        let known = self.known_before(&edges, rule, in_finally);
        let each = self.dice.chance(0.18).then(|| self.each(&known));
        let does = self.does(each.is_some());
        let given = self.given(does, each.is_some(), in_finally, &known);
        let when = self.dice.chance(0.18).then(|| self.when(&known));
        self.left = self.left.saturating_sub(if each.is_some() { 7 } else { 1 });
        let (allow_failure, at_most_once) = (self.dice.chance(0.12), self.dice.chance(0.1));
        let retries = self.dice.pick(&[0, 0, 1, 2]);
        let takes = self.dice.pick(&[50, 200, 200, 2_000, 20_000, 45_000]);
        let fails = self.dice.pick(&[0, 0, 0, 0, 20, 60, 100]);
        let timeout = Some(self.dice.pick(&[10_000, 30_000, 60_000, 60_000]));
        let step =
            Step { does, edges, rule, when, each, given, allow_failure, at_most_once, retries, takes, fails, timeout };
        self.steps.push(step);
        self.known.push(known);
    }

    fn edges(&mut self, first: usize, at: usize) -> Vec<(usize, On)> {
        let before = i64::try_from(at - first).unwrap_or(0);
        let count = self.dice.pick(&[0, 1, 1, 1, 2, 2, 3, 5]).min(before);
        let mut from = BTreeSet::new();
        for _ in 0..count {
            let near =
                if self.dice.chance(0.7) { self.dice.within(0..before.min(5)) } else { self.dice.within(0..before) };
            from.insert(at - 1 - usize::try_from(near).unwrap_or(0));
        }
        let on = |dice: &mut Dice| dice.pick(&[On::Success, On::Success, On::Success, On::Failure, On::Finished]);
        from.into_iter().map(|from| (from, on(self.dice))).collect()
    }

    fn rule(&mut self, edges: &[(usize, On)]) -> Rule {
        let rule = self.dice.pick(&[Rule::All, Rule::All, Rule::All, Rule::Any, Rule::NoneFailed]);
        let asks_for_a_failure = edges.iter().any(|(_, on)| *on == On::Failure);
        if edges.is_empty() || rule == Rule::NoneFailed && asks_for_a_failure { Rule::All } else { rule }
    }

    /// A step that starts at its first edge knows only what all of its edges know.
    fn known_before(&self, edges: &[(usize, On)], rule: Rule, in_finally: bool) -> BTreeSet<usize> {
        let through = |from: usize| self.known[from].iter().copied().chain([from]).collect::<BTreeSet<_>>();
        let mut all = edges.iter().map(|(from, _)| through(*from));
        let first = all.next().unwrap_or_default();
        let before = if in_finally { (0..self.main).collect() } else { BTreeSet::new() };
        let known: BTreeSet<usize> = match rule {
            Rule::Any => all.fold(first, |known, other| known.intersection(&other).copied().collect()),
            Rule::All | Rule::NoneFailed => all.fold(first, |known, other| known.union(&other).copied().collect()),
        };
        known.union(&before).copied().collect()
    }

    fn each(&mut self, known: &BTreeSet<usize>) -> Each {
        let lists: Vec<usize> = self.calls(known).into_iter().filter(|at| self.steps[*at].does == Does::Call).collect();
        let eaches: Vec<usize> = known.iter().copied().filter(|at| self.steps[*at].each.is_some()).collect();
        let over = match self.dice.within(0..4) {
            0 => Over::Params,
            1 if !lists.is_empty() => Over::ListOf(self.dice.pick(&lists)),
            2 if !eaches.is_empty() => Over::ResultsOf(self.dice.pick(&eaches)),
            _ => Over::List(list(self.dice)),
        };
        let lanes = self.dice.pick(&[None, None, Some(1), Some(2), Some(3)]);
        let tolerate = if self.dice.chance(0.3) {
            Tolerate::Percent(self.dice.pick(&[0, 20, 34, 50, 100]))
        } else {
            Tolerate::Branches(self.dice.pick(&[0, 0, 0, 1, 2]))
        };
        Each { over, lanes, tolerate }
    }

    fn does(&mut self, is_each: bool) -> Does {
        let times = if is_each { 6 } else { 1 };
        let fitting: Vec<_> = self.inner.iter().filter(|(_, runs)| runs * times < self.left).copied().collect();
        let roll = self.dice.within(0..100);
        if roll < 10 {
            let in_time = self.dice.pick(&[MINUTE, 10 * MINUTE, DAY]);
            return Does::Ask { in_time, default: self.dice.pick(&["succeeded", "failed", "timed_out"]) };
        }
        if roll < if is_each { 45 } else { 25 } && !fitting.is_empty() {
            let (flow, runs) = self.dice.pick(&fitting);
            self.left = self.left.saturating_sub(runs * times);
            return Does::Flow(flow);
        }
        Does::Call
    }

    /// A workflow is given a number, or nothing; a question nothing.
    fn given(&mut self, does: Does, is_each: bool, in_finally: bool, known: &BTreeSet<usize>) -> Vec<Given> {
        let most = match does {
            Does::Call => self.dice.pick(&[0, 1, 1, 2, 3]),
            Does::Flow(_) => self.dice.pick(&[0, 1]),
            Does::Ask { .. } => 0,
        };
        let answering = self.calls(known);
        (0..most)
            .map(|_| match self.dice.within(0..10) {
                0..=3 if is_each => self.dice.pick(&[Given::Item, Given::Index]),
                0..=4 if !answering.is_empty() => Given::Number(self.dice.pick(&answering)),
                5 | 6 if !known.is_empty() && does == Does::Call => Given::Status(self.one_of(known)),
                7 if in_finally && does == Does::Call => Given::Outcome,
                _ => Given::Param,
            })
            .collect()
    }

    fn when(&mut self, known: &BTreeSet<usize>) -> When {
        let answering = self.calls(known);
        match self.dice.within(0..3) {
            0 if !known.is_empty() => {
                When::StatusIs(self.one_of(known), self.dice.pick(&["succeeded", "succeeded", "failed", "skipped"]))
            }
            1 if !answering.is_empty() => When::ResultAtLeast(self.dice.pick(&answering), self.dice.within(0..8)),
            _ => When::ParamAtLeast(self.dice.within(0..6)),
        }
    }

    fn one_of(&mut self, known: &BTreeSet<usize>) -> usize {
        let known: Vec<usize> = known.iter().copied().collect();
        self.dice.pick(&known)
    }

    /// Those that answer with a number, unless they fail.
    fn calls(&self, known: &BTreeSet<usize>) -> Vec<usize> {
        let answers = |at: &usize| self.steps[*at].each.is_none() && !matches!(self.steps[*at].does, Does::Flow(_));
        known.iter().copied().filter(answers).collect()
    }
}

fn list(dice: &mut Dice) -> Vec<i64> {
    (0..dice.pick(&[0, 1, 2, 3, 5, 6])).map(|_| dice.within(0..10)).collect()
}
