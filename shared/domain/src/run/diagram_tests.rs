//! The diagram of a run's states in `docs/run-states.md` is walked out of the table, so that it cannot say anything else.
//!
//! `MINUTEHAND_WRITE_DOCS=1 cargo test -p minutehand-domain run_states` writes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;

use super::super::ErrorCode;
use super::*;
use crate::access::SecretHash;
use crate::id::{JobId, RunKey, Tenant, Worker};
use crate::order::Delivery;
use crate::priority::Priority;
use crate::retry::RetryPolicy;
use crate::run::TaskRun;
use crate::workflow::WorkflowId;

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/run-states.md");
const DUE: Moment = Moment::from_secs(1_800_000_000);
const BY: Claimant = Claimant { worker: Worker(1), exclusive_store: false };
const TAKER: Taker =
    Taker { worker: Worker(2), token: SecretHash::from_bytes([7; 32]), lease: Duration::from_secs(60) };
/// Longer than any lease and any backoff.
const LONG: Duration = Duration::from_secs(2 * BACKOFF_SECONDS);
/// Three lost leases after the first claim are the longest way to any end.
const STEPS: u32 = 5;

/// Terms under which everything that the table knows of happens within a few steps.
fn all_terms() -> [Terms; 3] {
    let least_once = Terms::default();
    let broken = RetryPolicy { max_retries: 0, break_after_instant_failures: Some(1), ..RetryPolicy::default() };
    [
        Terms { delivery: Delivery::AtMostOnce, ..least_once.clone() },
        Terms { retry: broken, ..least_once.clone() },
        least_once,
    ]
}

fn outcomes() -> [(&'static str, Outcome); 4] {
    let failed = |code: ErrorCode| Outcome::Failed { error: code.error("it failed"), retry_after: None };
    [
        ("finish succeeded", Outcome::Succeeded { result: Body::Empty }),
        ("finish failed", failed(ErrorCode::Http5xx)),
        ("finish failed", failed(ErrorCode::Http4xx)),
        ("finish timed out", Outcome::TimedOut),
    ]
}

fn graph() -> Graph {
    Graph {
        workflow: WorkflowId::from_bytes([1; 16]),
        version: 1,
        each: None,
        given: Body::Empty,
        parts: 1,
        expires_at: Moment::END,
        slot: None,
    }
}

fn tendings() -> [(&'static str, Tending); 7] {
    let failed = TasksEnded::Failed { why: Failure::Task, told: None };
    [
        ("stop", Tending::Stop(Stop::Failed)),
        ("begin finally", Tending::Finally { outcome: None, deadline: Moment::END }),
        ("end succeeded", Tending::End(TasksEnded::Succeeded { result: Body::Empty })),
        ("end failed", Tending::End(failed)),
        ("end cancelled", Tending::End(TasksEnded::Cancelled)),
        ("end timed out", Tending::End(TasksEnded::TimedOut)),
        ("nobody answered", Tending::Unanswered(NoAnswer::Fail)),
    ]
}

fn judgements() -> [Judgement; 6] {
    Word::ALL.map(|word| Judgement { word, by: By::host(), at: DUE, note: None, result: Body::Empty })
}

/// All that an event may speak of.
struct World {
    terms: Terms,
    outcomes: Vec<(&'static str, Outcome)>,
    graph: Graph,
    tendings: Vec<(&'static str, Tending)>,
    judgements: Vec<Judgement>,
}

impl World {
    fn new(terms: Terms) -> Self {
        let (outcomes, tendings, judgements) = (outcomes().into(), tendings().into(), judgements().into());
        Self { terms, outcomes, graph: graph(), tendings, judgements }
    }

    /// One of each kind, for the table.
    fn sample() -> Self {
        let mut world = Self::new(Terms::default());
        world.outcomes = vec![("finish", Outcome::Succeeded { result: Body::Empty })];
        world.tendings.retain(|(word, _)| ["stop", "begin finally", "end succeeded", "nobody answered"].contains(word));
        world.judgements.retain(|judgement| [Word::Approve, Word::Retry].contains(&judgement.word));
        world
    }

    /// Every event that the holder of `fence`, or anybody, may bring; and its word.
    fn events(&self, fence: u32, now: Moment) -> Vec<(&'static str, Event<'_>)> {
        let terms = &self.terms;
        let mut events = vec![
            ("claim", Event::Claim { by: BY, terms }),
            ("offer", Event::Offer { by: BY, terms }),
            ("take", Event::Take { by: BY, taker: &TAKER, terms }),
            ("heartbeat", Event::Heartbeat { fence, until: now + terms.lease() }),
            ("veto", Event::Veto { fence, told: "not today" }),
            ("hand back", Event::HandBack { fence, terms }),
            ("not called", Event::NotCalled { fence }),
            ("entrust", Event::Entrust { fence, token: TAKER.token, terms }),
            ("cancel", Event::Cancel { by: None }),
        ];
        events.extend(self.outcomes.iter().map(|(word, outcome)| (*word, Event::Finish { fence, outcome, terms })));
        events.extend([
            ("unfold", Event::Unfold { graph: &self.graph, deadline: Moment::END }),
            ("ask", Event::Ask { until: now + 2 * LONG }),
            ("await a place", Event::AwaitSlot),
            ("yield", Event::Yield("run 1 of its job is under way")),
            ("postpone", Event::Postpone { until: now + LONG }),
            ("make up", Event::MakeUp { turn: now + LONG, per_minute: 600 }),
            ("cannot be made", Event::Unmake("there is no such thing")),
        ]);
        events.extend(self.tendings.iter().map(|(word, tending)| (*word, Event::Tend(tending))));
        events.extend(self.judgements.iter().map(|judgement| (judgement.word.as_str(), Event::Judge(judgement))));
        events
    }
}

fn unborn() -> Run {
    let key = RunKey::occurrence(JobId::from_bytes([1; 16]), DUE);
    let task = Some(TaskRun::new(key, 1, false));
    Run { task, ..Run::new(Tenant::new("t").unwrap(), key, Priority::Normal) }
}

/// `queued` is no state: it is `scheduled` whose time has come.
fn state(run: &Run) -> &'static str {
    run.status(Moment::EPOCH)
}

type Edges = BTreeMap<(&'static str, &'static str), BTreeSet<String>>;

fn walk(run: &Run, world: &World, now: Moment, steps: u32, edges: &mut Edges) {
    if steps == 0 {
        return;
    }
    // A question whose time is up by the next step, beside one that lasts.
    let brief = ("ask", Event::Ask { until: now });
    for (word, event) in world.events(run.fence, now).into_iter().chain([brief]) {
        let Ok(next) = run.after(&event, now) else { continue };
        let asked = run.lease().is_some_and(|lease| lease.cancelled && next.is_finished());
        let lost = run.lease().is_some_and(|_| ["claim", "offer", "take"].contains(&word));
        let whole = match (lost, asked) {
            (true, true) => format!("{word} (lease lost, cancel asked)"),
            (true, false) => format!("{word} (lease lost)"),
            (false, true) => format!("{word} (cancel asked)"),
            (false, false) => word.to_owned(),
        };
        edges.entry((state(run), state(&next))).or_default().insert(whole);
        walk(&next, world, now + LONG, steps - 1, edges);
    }
}

fn diagram() -> String {
    let mut edges = Edges::new();
    for terms in all_terms() {
        walk(&unborn(), &World::new(terms), DUE, STEPS, &mut edges);
    }
    let mut diagram = String::from("stateDiagram-v2\n    [*] --> scheduled\n    [*] --> skipped: does not fire\n");
    for ((from, to), words) in edges {
        // Its success is recorded as such whether or not somebody asked to cancel.
        let words: Vec<_> =
            words.iter().filter(|word| to != "succeeded" || !word.contains("asked")).map(String::as_str).collect();
        writeln!(diagram, "    {from} --> {to}: {}", words.join("<br/>")).unwrap();
    }
    for end in ["succeeded", "failed", "timed_out", "cancelled", "skipped"] {
        writeln!(diagram, "    {end} --> [*]").unwrap();
    }
    diagram
}

/// What each state answers to each event.
fn table() -> String {
    let world = World::sample();
    let after = |run: &Run, word: &str| {
        let (_, event) = world.events(run.fence, DUE).into_iter().find(|(other, _)| *other == word).unwrap();
        run.after(&event, DUE).unwrap()
    };
    let (running, failed) = (after(&unborn(), "claim"), unborn().in_state(State::TimedOut { at: DUE }));
    let tasks = after(&unborn(), "unfold");
    let rows = vec![
        ("scheduled, not yet due", unborn(), 0, DUE.just_before()),
        ("queued", unborn(), 0, DUE),
        ("waiting for a place", after(&unborn(), "await a place"), 0, DUE),
        ("waiting for its tasks", tasks.clone(), 1, DUE),
        ("the same, being stopped", after(&tasks, "stop"), 1, DUE),
        ("waiting for an answer", after(&unborn(), "ask"), 1, DUE),
        ("the same, its time is up", after(&unborn(), "ask"), 1, DUE + 2 * LONG),
        ("running, its lease lasts", running.clone(), 1, DUE),
        ("running, its lease is over", running.clone(), 1, DUE + LONG),
        ("running, by an older fence", running.clone(), 0, DUE),
        ("finished", after(&running, "finish"), 1, DUE),
        ("a task's, failed or timed out", failed.clone(), 1, DUE),
        ("the same, with a verdict", after(&failed, "retry"), 1, DUE),
    ];
    let heads: Vec<_> = world.events(0, DUE).into_iter().map(|(word, _)| word).collect();
    let mut table = format!("| a run that is | {} |\n|---{}|\n", heads.join(" | "), "|---".repeat(heads.len()));
    for (name, run, fence, now) in rows {
        let answers: Vec<_> = world
            .events(fence, now)
            .into_iter()
            .map(|(_, event)| match run.after(&event, now) {
                Ok(next) => format!("{}{}", state(&next), if next.fence > run.fence { ", next fence" } else { "" }),
                Err(refusal) => format!("*{}*", refusal_name(refusal)),
            })
            .collect();
        writeln!(table, "| {name} | {} |", answers.join(" | ")).unwrap();
    }
    table
}

fn refusal_name(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::TooEarly { .. } => "too early",
        Refusal::Held { .. } => "held",
        Refusal::Fenced { .. } => "fenced",
        Refusal::NotHeld => "not held",
        Refusal::Finished => "finished",
        Refusal::Waiting => "waiting",
        Refusal::NotWaiting => "not waiting",
        Refusal::Stopping => "stopping",
        Refusal::NotAsked => "not asked",
        Refusal::Decided => "decided",
    }
}

#[test]
fn the_page_of_run_states_shows_the_table() {
    let (diagram, table) = (diagram(), table());
    let page = format!(
        "# The states of a run\n\n\
         Walked out of the table `Run::after` (`shared/domain/src/run/transitions.rs`) by a test, which fails while this page\n\
         says anything else. `MINUTEHAND_WRITE_DOCS=1 cargo test -p minutehand-domain run_states` writes it anew.\n\n\
         `queued` is no state: it is `scheduled` whose time has come and which nobody has claimed.\n\n\
         ```mermaid\n{diagram}```\n\n\
         What each answers to an event; a refusal is in italics and changes nothing. A finish leads to what its outcome and the\n\
         order's terms say, see above; here it is a success.\n\n{table}"
    );
    if std::env::var_os("MINUTEHAND_WRITE_DOCS").is_some() {
        fs::write(PAGE, &page).expect("docs can be written");
    }

    let there = fs::read_to_string(PAGE).unwrap_or_default();

    assert_eq!(there, page, "write it anew: MINUTEHAND_WRITE_DOCS=1 cargo test -p minutehand-domain run_states");
}
