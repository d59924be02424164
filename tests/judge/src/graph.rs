//! Graphs: a plain topological executor. It reads workflows in the form in which a history drew them, what their targets answered and
//! what people decided, and works out for each task whether it had to run, could not or must not, what it had to be given, and what
//! the whole had to come to. Beside that it reads each writing of a run in the order of the table: what may not be even for a moment.
//!
//! It shares nothing with the product: no plan, no table of edges, no templates.

mod execution;
mod moments;
mod values;

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::SKEW;

/// A workflow as it was drawn. A step depends only on steps before it; those of `finally` come behind the others, and depend
/// only on each other.
#[derive(Clone, Debug, Default)]
pub struct Flow {
    pub steps: Vec<Step>,
    /// How many of the steps are not `finally`'s.
    pub main: usize,
    pub policy: Policy,
    /// Which step's number is the number of the whole.
    pub output: Option<usize>,
    pub at_once: Option<usize>,
    /// Milliseconds.
    pub timeout: i64,
    pub finally_timeout: i64,
    /// What it is given where nobody says.
    pub defaults: Params,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Policy {
    #[default]
    FailFast,
    Continue,
    Hold,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Params {
    pub n: i64,
    pub list: Vec<i64>,
}

#[derive(Clone, Debug, Default)]
pub struct Step {
    pub does: Does,
    pub edges: Vec<(usize, On)>,
    pub rule: Rule,
    pub when: Option<When>,
    pub each: Option<Each>,
    pub given: Vec<Given>,
    pub allow_failure: bool,
    pub at_most_once: bool,
    pub retries: u16,
    /// How its target behaves: milliseconds that a call takes, and how many of a hundred fail.
    pub takes: i64,
    pub fails: i64,
    /// How long it may take; a minute where nobody says.
    pub timeout: Option<i64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Does {
    #[default]
    Call,
    /// Asks people, and ends so where nobody answers: succeeded, failed, timed out.
    Ask { in_time: i64, default: &'static str },
    /// Carries out another workflow: which.
    Flow(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    Success,
    Failure,
    Finished,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rule {
    #[default]
    All,
    Any,
    NoneFailed,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    StatusIs(usize, &'static str),
    ResultAtLeast(usize, i64),
    ParamAtLeast(i64),
}

#[derive(Clone, Debug)]
pub struct Each {
    pub over: Over,
    pub lanes: Option<usize>,
    pub tolerate: Tolerate,
}

/// How many branches may fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tolerate {
    Branches(usize),
    /// Of a hundred.
    Percent(usize),
}

impl Default for Tolerate {
    fn default() -> Self {
        Self::Branches(0)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Over {
    List(Vec<i64>),
    Params,
    /// The list in a step's result.
    ListOf(usize),
    /// What the branches of a step answered, but for those that did not.
    ResultsOf(usize),
}

/// What a call is given, or a workflow as its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Given {
    Param,
    /// The number that a step answered.
    Number(usize),
    /// What became of it.
    Status(usize),
    /// Of a branch: its item's number, and its own.
    Item,
    Index,
    /// In `finally`: how the others ended, all together.
    Outcome,
}

/// What a call answered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answered {
    pub n: i64,
    pub list: Vec<i64>,
}

/// Everything that a history of graphs left behind.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub flows: Vec<Flow>,
    pub runs: BTreeMap<String, Run>,
    /// Each writing of a run, in the order of the table.
    pub writes: Vec<Write>,
    pub calls: Vec<Call>,
    pub acts: Vec<Act>,
    /// Runs that somebody was told of.
    pub told: Vec<String>,
    /// Those that were left at the end.
    pub timers: Vec<Timer>,
    /// Whoever holds a place at the end, and whoever stands in a line.
    pub holders: Vec<String>,
    pub waiters: Vec<String>,
    pub end: i64,
    /// Nothing went wrong in the whole of it.
    pub calm: bool,
    /// Versions that workflows got while runs of them were under way.
    pub replaced: Vec<Replaced>,
    /// By how much clocks were wrong at worst: deadlines and leases are read from them.
    pub wrong_by: i64,
}

/// A run as the table has it at the end.
#[derive(Clone, Debug, Default)]
pub struct Run {
    /// Which workflow's run it is, where it was asked for or fell due.
    pub flow: Option<usize>,
    pub params: Params,
    /// Where it stands, where it is a task's.
    pub place: Option<Place>,
    /// The run that it goes on with.
    pub resumes: Option<String>,
    /// The one that did this already.
    pub reused: Option<String>,
    pub status: String,
    pub reason: Option<String>,
    pub fence: u32,
    /// Whether it had begun as a workflow or a `for_each`; the branches of that.
    pub unfolded: bool,
    pub branches: Option<usize>,
    /// As JSON.
    pub result: Option<String>,
    /// What people made of it, and what they answered: as JSON.
    pub verdict: Option<String>,
    pub answer: Option<String>,
    pub cancel_asked: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub parent: String,
    pub step: usize,
    pub branch: Option<usize>,
    /// From 1.
    pub turn: u32,
}

#[derive(Clone, Debug)]
pub struct Write {
    pub at: i64,
    pub run: String,
    pub stands: Stands,
    pub fence: u32,
    pub verdict: Option<String>,
}

/// How a writing leaves a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stands {
    Scheduled,
    /// Until then, by the true clock.
    Running {
        until: i64,
    },
    /// Until then.
    Asking {
        until: i64,
    },
    Queueing,
    Tasks {
        finally: bool,
        stop: Option<&'static str>,
        deadline: i64,
    },
    Over(String),
}

#[derive(Clone, Debug)]
pub struct Call {
    pub run: String,
    pub fence: u32,
    /// Which step's target was called, of which flow.
    pub flow: usize,
    pub step: usize,
    pub at: i64,
    pub lease_until: i64,
    pub ended_at: Option<i64>,
    /// As JSON.
    pub given: String,
    pub answer: Option<Answer>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Succeeded(Answered),
    Failed,
    TimedOut,
}

/// What somebody decided, and was told that it holds.
#[derive(Clone, Debug)]
pub struct Act {
    pub run: String,
    pub word: String,
}

/// The definition of a workflow was replaced: which workflow's, since it was made, and of which flow its runs are from then on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Replaced {
    pub flow: usize,
    pub by: usize,
    /// When it was asked for, and when whoever asked was told that it is so; none where nobody was told.
    pub asked: i64,
    pub told: Option<i64>,
}

/// A timer that was left at the end: when it is due, of which run it is, and when it was put there the last time.
#[derive(Clone, Debug)]
pub struct Timer {
    pub due: i64,
    pub run: String,
    pub put_at: i64,
}

/// A rule that a history of graphs broke.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Broken {
    pub rule: &'static str,
    pub run: String,
    pub detail: String,
}

/// How a step ended, as those see it who wait for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ended {
    Succeeded,
    Failed,
    Skipped,
    Cancelled,
}

impl Account {
    /// All rules that this history broke.
    pub fn judge(&self) -> Vec<Broken> {
        let bench = Bench::of(self);
        bench.moments();
        bench.executions();
        bench.leaves();
        bench.leftovers();
        let mut broken = bench.broken.into_inner();
        broken.sort();
        broken.dedup();
        broken
    }

    /// The workflow that a step belongs to.
    pub fn flow_above(&self, place: &Place) -> Option<usize> {
        Bench::of(self).flow_above(place)
    }
}

/// The account, and what can be looked up in it.
struct Bench<'a> {
    account: &'a Account,
    /// What lies below a run.
    below: BTreeMap<&'a str, Vec<(&'a Place, &'a str)>>,
    /// The first writing of a run that says it is over, or that a verdict on it stands.
    first: BTreeMap<&'a str, usize>,
    over: BTreeMap<&'a str, usize>,
    settled: BTreeMap<&'a str, usize>,
    calls: BTreeMap<&'a str, Vec<&'a Call>>,
    broken: RefCell<Vec<Broken>>,
}

impl<'a> Bench<'a> {
    fn of(account: &'a Account) -> Self {
        let mut bench = Self {
            account,
            below: BTreeMap::new(),
            first: BTreeMap::new(),
            over: BTreeMap::new(),
            settled: BTreeMap::new(),
            calls: BTreeMap::new(),
            broken: RefCell::default(),
        };
        for (id, run) in &account.runs {
            if let Some(place) = &run.place {
                bench.below.entry(place.parent.as_str()).or_default().push((place, id));
            }
        }
        for (nth, write) in account.writes.iter().enumerate() {
            bench.first.entry(&write.run).or_insert(nth);
            if matches!(write.stands, Stands::Over(_)) {
                bench.over.entry(&write.run).or_insert(nth);
                if write.verdict.is_some() || !bench.is_held(&write.run) {
                    bench.settled.entry(&write.run).or_insert(nth);
                }
            }
        }
        for call in &account.calls {
            bench.calls.entry(&call.run).or_default().push(call);
        }
        bench
    }

    fn report(&self, rule: &'static str, run: &str, detail: impl Into<String>) {
        self.broken.borrow_mut().push(Broken { rule, run: run.to_owned(), detail: detail.into() });
    }

    fn run(&self, id: &str) -> Option<&'a Run> {
        self.account.runs.get(id)
    }

    /// The workflow whose step a run is, and its step there.
    fn step_of(&self, id: &str) -> Option<(&'a Flow, &'a Step, &'a Place)> {
        let place = self.run(id)?.place.as_ref()?;
        let flow = &self.account.flows[self.flow_above(place)?];
        Some((flow, flow.steps.get(place.step)?, place))
    }

    /// The workflow that a step belongs to: its parent's, or that of the `for_each` above it.
    fn flow_above(&self, place: &Place) -> Option<usize> {
        let parent = self.run(&place.parent)?;
        match (&parent.place, place.branch) {
            (Some(above), Some(_)) => self.flow_above(above),
            _ => self.flow_of(&place.parent),
        }
    }

    /// The workflow that a run carries out as a whole.
    fn flow_of(&self, id: &str) -> Option<usize> {
        let run = self.run(id)?;
        match &run.place {
            None => run.flow,
            Some(place) => match self.account.flows[self.flow_above(place)?].steps.get(place.step)?.does {
                Does::Flow(flow) => Some(flow),
                Does::Call | Does::Ask { .. } => None,
            },
        }
    }

    /// Whether a run is a `for_each` as a whole.
    fn is_each(&self, id: &str) -> bool {
        self.step_of(id).is_some_and(|(_, step, place)| step.each.is_some() && place.branch.is_none())
    }

    /// Whether a failure of this run waits for a verdict.
    fn is_held(&self, id: &str) -> bool {
        let Some((flow, step, place)) = self.step_of(id) else { return false };
        let failed = self.run(id).is_some_and(|run| run.status == "failed" || run.status == "timed_out");
        failed && flow.policy == Policy::Hold && place.step < flow.main && !step.allow_failure && !self.is_each(id)
    }

    /// How a run counts for those who wait for it; none while it goes on, or while nobody has decided.
    fn ended(&self, id: &str) -> Option<Ended> {
        let run = self.run(id)?;
        match run.status.as_str() {
            "succeeded" => Some(Ended::Succeeded),
            "skipped" => Some(Ended::Skipped),
            "cancelled" => Some(Ended::Cancelled),
            "failed" | "timed_out" if !self.is_held(id) => Some(Ended::Failed),
            "failed" | "timed_out" => match run.verdict.as_deref()? {
                "skip" => Some(Ended::Skipped),
                "succeed" => Some(Ended::Succeeded),
                "fail" => Some(Ended::Failed),
                _ => None,
            },
            _ => None,
        }
    }

    /// The last try at a step below a run.
    fn last_try(&self, parent: &str, step: usize, branch: Option<usize>) -> Option<&'a str> {
        let tries = self.below.get(parent)?.iter().filter(|(place, _)| place.step == step && place.branch == branch);
        tries.max_by_key(|(place, _)| place.turn).map(|(_, id)| *id)
    }

    /// The word that stopped a run in one of its phases, and which writing said it.
    fn stopped(&self, id: &str, in_finally: bool) -> Option<(&'static str, usize)> {
        self.account.writes.iter().enumerate().find_map(|(nth, write)| match write.stands {
            Stands::Tasks { finally, stop: Some(stop), .. } if write.run == id && finally == in_finally => {
                Some((stop, nth))
            }
            _ => None,
        })
    }

    /// Whether its record was made as one of what could not begin any more, for whoever is told of it.
    fn never_began(&self, id: &str) -> bool {
        let first = self.account.writes.iter().find(|write| write.run == id);
        first.is_some_and(|write| write.stands == given_up())
    }

    /// Which writing began `finally`.
    fn began_finally(&self, id: &str) -> Option<usize> {
        let begins = |write: &Write| write.run == id && matches!(write.stands, Stands::Tasks { finally: true, .. });
        self.account.writes.iter().position(begins)
    }
}

/// How what could not begin any more is recorded.
fn given_up() -> Stands {
    Stands::Over("cancelled".to_owned())
}

#[cfg(test)]
#[path = "graph_tests.rs"]
mod tests;
