//! The judge of graphs, shown one small history that is right and then, one at a time, each thing that would be wrong with it.

use super::*;

const LATER: i64 = 10_000_000;

/// Two calls, one after the other; the second is given what the first one answered.
fn chain() -> Flow {
    let second = Step { edges: vec![(0, On::Success)], given: vec![Given::Number(0)], ..Step::default() };
    Flow { steps: vec![Step::default(), second], main: 2, output: Some(1), at_once: Some(1), ..Flow::default() }
}

fn place(step: usize) -> Place {
    Place { parent: "whole".to_owned(), step, branch: None, turn: 1 }
}

fn done(step: usize) -> Run {
    let result = Some(format!("{{\"list\":[],\"n\":{}}}", step + 4));
    Run { place: Some(place(step)), status: "succeeded".to_owned(), fence: 1, result, ..Run::default() }
}

fn write(at: i64, run: &str, stands: Stands, fence: u32) -> Write {
    Write { at, run: run.to_owned(), stands, fence, verdict: None }
}

fn tasks(stop: Option<&'static str>) -> Stands {
    Stands::Tasks { finally: false, stop, deadline: LATER }
}

fn over() -> Stands {
    Stands::Over("succeeded".to_owned())
}

fn call(run: &str, step: usize, given: &str) -> Call {
    let answer = Some(Answer::Succeeded(Answered { n: i64::try_from(step).unwrap_or(0) + 4, list: vec![] }));
    let given = format!("{{\"given\":[{given}]}}");
    Call { run: run.to_owned(), fence: 1, flow: 0, step, at: 3, lease_until: LATER, ended_at: Some(4), given, answer }
}

/// What happened, where all went well.
fn right() -> Account {
    let whole = Run {
        flow: Some(0),
        status: "succeeded".to_owned(),
        fence: 1,
        unfolded: true,
        result: Some("{\"n\":5}".to_owned()),
        ..Run::default()
    };
    let runs = [("whole", whole), ("first", done(0)), ("second", done(1))];
    let running = || Stands::Running { until: LATER };
    Account {
        flows: vec![chain()],
        runs: runs.into_iter().map(|(id, run)| (id.to_owned(), run)).collect(),
        writes: vec![
            write(1, "whole", tasks(None), 1),
            write(2, "first", Stands::Scheduled, 0),
            write(3, "first", running(), 1),
            write(4, "first", over(), 1),
            write(5, "second", Stands::Scheduled, 0),
            write(6, "second", running(), 1),
            write(7, "second", over(), 1),
            write(8, "whole", over(), 1),
        ],
        calls: vec![call("first", 0, ""), call("second", 1, "4")],
        told: vec!["whole".to_owned()],
        end: LATER,
        ..Account::default()
    }
}

fn run<'a>(account: &'a mut Account, id: &str) -> &'a mut Run {
    account.runs.get_mut(id).expect("a run of that name")
}

fn ends(account: &mut Account, id: &str, status: &str, reason: Option<&str>) {
    let run = run(account, id);
    (run.status, run.reason) = (status.to_owned(), reason.map(str::to_owned));
}

#[test]
fn what_is_right_breaks_no_rule() {
    assert_eq!(right().judge(), []);
}

type Mutation = fn(&mut Account);

#[test]
fn each_rule_notices_what_breaks_it() {
    let rows: &[(&str, Mutation)] = &[
        ("a workflow ends as its tasks say", |all| ends(all, "whole", "failed", Some("task"))),
        ("a result is what its tasks answered", |all| run(all, "whole").result = Some("{\"n\":6}".to_owned())),
        ("what must run has a record", |all| drop(all.runs.remove("second"))),
        ("a task does what its edges say", |all| ends(all, "first", "cancelled", None)),
        ("a task does what its edges say", |all| ends(all, "second", "skipped", Some("upstream"))),
        ("a task ends as its target answered", |all| all.calls[0].answer = Some(Answer::Failed)),
        ("a task ends as its target answered", |all| {
            run(all, "first").result = Some("{\"list\":[],\"n\":9}".to_owned());
        }),
        ("a task is given what it asks for", |all| all.calls[1].given = "{\"given\":[3]}".to_owned()),
        ("a task calls its own target", |all| all.calls[1].step = 0),
        ("one call a claim", |all| all.calls.push(all.calls[0].clone())),
        ("one live call of a task", |all| {
            all.calls[0].ended_at = None;
            let again = Call { fence: 2, at: 5, ..all.calls[0].clone() };
            all.calls.push(again);
        }),
        ("at most once is at most once", |all| {
            all.flows[0].steps[0].at_most_once = true;
            let again = Call { fence: 2, at: 5, ..all.calls[0].clone() };
            all.calls.push(again);
        }),
        ("a run ends once", |all| all.writes.push(write(9, "first", Stands::Scheduled, 1))),
        ("nothing starts before what it depends on", |all| all.writes.swap(3, 4)),
        ("what is given up cannot begin", |all| {
            ends(all, "second", "cancelled", None);
            all.writes.retain(|write| write.run != "second");
            all.writes.insert(4, write(5, "second", Stands::Over("cancelled".to_owned()), 0));
        }),
        ("nothing starts below what is over", |all| {
            let end = all.writes.pop().expect("an end");
            all.writes.insert(5, end);
        }),
        ("a run ends after its tasks", |all| all.writes.swap(6, 7)),
        ("a run is stopped for a reason", |all| all.writes.insert(2, write(2, "whole", tasks(Some("cancelled")), 1))),
        ("a run is stopped for a reason", |all| all.writes.insert(2, write(2, "whole", tasks(Some("failed")), 1))),
        ("a run is stopped for a reason", |all| all.writes.insert(2, write(2, "whole", tasks(Some("timed_out")), 1))),
        ("no more runs at once than may be", |all| {
            all.runs.insert("other".to_owned(), all.runs["whole"].clone());
            all.writes.insert(1, write(1, "other", tasks(None), 1));
        }),
        ("every run of a graph comes to its end", |all| ends(all, "whole", "waiting", None)),
        ("a task has a parent", |all| drop(all.runs.remove("whole"))),
        ("a run that was told of is there", |all| all.told.push("another".to_owned())),
        ("no timer of a run that is over is left", |all| {
            all.timers.push(Timer { due: 8, run: "whole".to_owned(), put_at: 8 });
        }),
        ("whoever holds a place is there", |all| all.holders.push("another".to_owned())),
        ("a place is given back", |all| (all.calm, all.holders) = (true, vec!["whole".to_owned()])),
        ("nobody is left in a line", |all| (all.calm, all.waiters) = (true, vec!["whole".to_owned()])),
        ("finally runs whatever happened", |all| all.flows[0].steps.push(Step::default())),
        ("finally comes last", |all| all.flows[0].main = 1),
        ("what was decided stands", |all| {
            all.acts.push(Act { run: "first".to_owned(), word: "skip".to_owned() });
        }),
        ("a question ends as it was answered", |all| {
            all.flows[0].steps[0].does = Does::Ask { in_time: LATER, default: "failed" };
        }),
        ("only a verdict makes another try", |all| {
            let place = Place { turn: 2, ..place(0) };
            all.runs.insert("again".to_owned(), Run { place: Some(place), ..done(0) });
        }),
        ("a retry is made", |all| run(all, "first").verdict = Some("retry".to_owned())),
        ("what was done before is not done again", |all| run(all, "first").reused = Some("another".to_owned())),
        ("a run is gone on with once", |all| {
            for id in ["one", "two"] {
                let again = Run { resumes: Some("whole".to_owned()), ..Run::default() };
                all.runs.insert(id.to_owned(), again);
            }
        }),
        ("a failure is told", |all| ends(all, "first", "failed", Some("error"))),
        ("a for_each has a list", |all| {
            all.flows[0].steps[0].each =
                Some(Each { over: Over::ListOf(1), lanes: None, tolerate: Tolerate::default() });
            (run(all, "first").unfolded, run(all, "second").status) = (true, "failed".to_owned());
        }),
        ("a for_each has a branch for each item", |all| with_branches(all, 3, None)),
        ("a for_each ends as its branches say", |all| {
            with_branches(all, 2, None);
            ends(all, "branch 1", "failed", Some("error"));
        }),
        ("a branch waits for its lane", |all| with_branches(all, 2, Some(1))),
        ("no more branches at once than lanes", |all| with_branches(all, 2, Some(1))),
    ];
    for (rule, mutation) in rows {
        let mut account = right();
        mutation(&mut account);
        let broken: Vec<_> = account.judge().into_iter().map(|broken| broken.rule).collect();
        assert!(broken.contains(rule), "{rule}: only {broken:?}");
    }
}

/// The first step becomes a `for_each` of two branches, which says that it has so many.
fn with_branches(account: &mut Account, says: usize, lanes: Option<usize>) {
    account.flows[0].steps[0].each = Some(Each { over: Over::List(vec![1, 2]), lanes, tolerate: Tolerate::default() });
    let each = run(account, "first");
    (each.unfolded, each.branches, each.result) = (true, Some(says), None);
    for (nth, id) in ["branch 0", "branch 1"].into_iter().enumerate() {
        let place = Place { parent: "first".to_owned(), step: 0, branch: Some(nth), turn: 1 };
        account.runs.insert(id.to_owned(), Run { place: Some(place), ..done(0) });
        account.writes.insert(3, write(3, id, Stands::Running { until: LATER }, 1));
    }
}

/// An operator lets a failure pass with a number. A `for_each` over the list of that step has none, and cannot be made.
#[test]
fn what_an_operator_answers_has_no_list() {
    let mut account = right();
    account.flows[0].policy = Policy::Hold;
    account.flows[0].steps[1].each = Some(Each { over: Over::ListOf(0), lanes: None, tolerate: Tolerate::default() });
    ends(&mut account, "first", "failed", Some("error"));
    run(&mut account, "first").verdict = Some("succeed".to_owned());
    run(&mut account, "first").result = Some("{\"n\":7}".to_owned());
    account.calls[0].answer = Some(Answer::Failed);

    ends(&mut account, "second", "failed", Some("unmade"));

    let broken: Vec<_> = account.judge().into_iter().map(|broken| broken.rule).collect();
    assert!(!broken.contains(&"a task does what its edges say"), "{broken:?}");
}

#[test]
fn a_run_is_of_no_version_that_was_replaced_long_ago_or_is_not_there_yet() {
    let broken_by = |replaced| Account { replaced: vec![replaced], ..right() }.judge().len();

    assert_eq!(broken_by(Replaced { flow: 0, by: 1, asked: -LATER, told: Some(-LATER) }), 1, "long ago");
    assert_eq!(broken_by(Replaced { flow: 1, by: 0, asked: 2, told: None }), 1, "it began before that was asked for");
    assert_eq!(
        broken_by(Replaced { flow: 0, by: 1, asked: 0, told: Some(0) }),
        0,
        "whoever began it had read it before"
    );
}

/// Whoever put it had slept, and died before he looked at his clock: nothing follows from it.
#[test]
fn a_timer_that_was_put_into_a_minute_long_gone_is_nobodys() {
    let left = |put_at| Account { timers: vec![Timer { due: 8, run: "whole".to_owned(), put_at }], ..right() };

    assert_eq!(left(110_000).judge().len(), 1, "its minute was still looked at");
    assert_eq!(left(130_000).judge(), []);
}
