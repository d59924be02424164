//! Graphs: workflows carried out by the real handlers and the real queues of one machine, under the virtual clock. Nothing fails here
//! but what a test says: what a graph comes to, task by task.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::access::{By, Role};
use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::{RunKey, Tenant, Worker};
use minutehand_domain::order::Terms;
use minutehand_domain::retry::RetryPolicy;
use minutehand_domain::run::{AttemptError, Claimant, Judgement, Run, TaskPlace, Word};
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::target::{Target, WorkflowTarget};
use minutehand_domain::workflow::definition::{
    Approval, Definition, Does, Edge, ForEach, OnFailure, Over, Policy, Task, Tolerate,
};
use minutehand_domain::workflow::edge::{On, Rule};
use minutehand_domain::workflow::expression::Expression;
use minutehand_domain::workflow::params::ParamsSchema;
use minutehand_domain::workflow::template::Template;
use minutehand_domain::workflow::{WorkflowId, parts};
use minutehand_executor::execute;
use minutehand_io::Ports;
use minutehand_io::chance::Chance;
use minutehand_io::clock::Clock;
use minutehand_io::events::Log;
use minutehand_io::plans::Plans;
use minutehand_io::queues::Inbox as _;
use minutehand_io::queues::embedded::EmbeddedQueues;
use minutehand_io::quotas::Quotas;
use minutehand_io::rules::Rules;
use minutehand_io::store::embedded::MemoryStore;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::targets::{Answer, Call, Targets};
use minutehand_io::vault::NoVault;
use minutehand_protocol::graph::judge::{Judged, Resumed, judge, resume};
use minutehand_protocol::run::cancel::cancel;
use minutehand_protocol::run::on_demand::{Answered, RunRequest, run_now};
use minutehand_protocol::workflow::{About, Created, NewWorkflow, create};
use minutehand_simulation::engine::Sim;
use minutehand_simulation::fate::Fates;
use minutehand_sweeper::tick;
use serde_json::{Value, json};

const BEGIN: i64 = 1_800_000_000_000;
const HANDS: u32 = 64;

#[test]
fn a_diamond_runs_in_its_order_and_hands_results_on() {
    let world = World::new();
    let join = Task {
        payload: template(&json!({"l": "{{tasks.left.result.echo}}", "sum": "{{tasks.right.result.echo.n}}"})),
        ..task("join", &["left", "right"])
    };
    let output = template(&json!({"joined": "{{tasks.join.result.echo}}", "day": "{{params.day}}"}));
    let tasks = vec![
        Task { payload: template(&json!({"day": "{{params.day}}"})), ..task("load", &[]) },
        Task { payload: template(&json!("{{tasks.load.result.echo.day}}")), ..task("left", &["load"]) },
        Task { payload: template(&json!({"n": 3})), ..task("right", &["load"]) },
        join,
    ];
    let policy = Policy { output, ..Policy::default() };
    world.create(1, Definition { policy, ..Definition::new(tasks) });

    let run = world.run(1, &json!({"day": "Monday"}));
    world.play(Duration::from_secs(10));

    assert_eq!(
        world.statuses(run),
        [("join", "succeeded"), ("left", "succeeded"), ("load", "succeeded"), ("right", "succeeded")].map(owned).into()
    );
    assert_eq!(world.result(run), json!({"joined": {"l": "Monday", "sum": 3}, "day": "Monday"}));
    assert_eq!(world.called(), ["load", "left", "right", "join"].len());
}

#[test]
fn edges_and_rules_decide_who_runs() {
    let world = World::new();
    let on = |key: &str, edges: &[(&str, On)], rule| Task {
        depends_on: edges.iter().map(|(task, on)| Edge { task: task.parse().unwrap(), on: *on }).collect(),
        rule,
        ..task(key, &[])
    };
    let tasks = vec![
        failing("bad", &[]),
        task("good", &[]),
        on("mend", &[("bad", On::Failure)], Rule::All),
        on("after_bad", &[("bad", On::Success)], Rule::All),
        on("either", &[("bad", On::Success), ("good", On::Success)], Rule::Any),
        on("none_failed", &[("bad", On::Finished), ("good", On::Success)], Rule::NoneFailed),
        on("join", &[("after_bad", On::Success), ("good", On::Success)], Rule::NoneFailed),
        on("tidy", &[("bad", On::Finished), ("after_bad", On::Finished)], Rule::All),
    ];
    let policy = Policy { failure: OnFailure::Continue, ..Policy::default() };
    world.create(1, Definition { policy, ..Definition::new(tasks) });

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(30));

    let expected = [
        ("bad", "failed"),
        ("good", "succeeded"),
        ("mend", "succeeded"),
        ("after_bad", "skipped"),
        ("either", "succeeded"),
        ("none_failed", "skipped"),
        ("join", "succeeded"),
        ("tidy", "succeeded"),
    ];
    assert_eq!(world.statuses(run), expected.map(owned).into());
    assert_eq!(world.status(run), "failed", "a failure lies there, though everything after it was mended");
}

#[test]
fn a_branch_for_each_item_in_lanes_and_its_results_in_order() {
    let world = World::new();
    let each = ForEach {
        over: Over::Expression(Expression::new("params.list.filter(i, i > 0)").unwrap()),
        max_concurrent: Some(3),
        tolerate: Tolerate::default(),
    };
    let tasks = vec![
        Task {
            for_each: Some(each),
            payload: template(&json!({"i": "{{item}}", "at": "{{index}}", "takes": 5})),
            ..task("each", &[])
        },
        Task { payload: template(&json!("{{tasks.each.results}}")), ..task("sum", &["each"]) },
    ];
    world.create(1, Definition::new(tasks));

    let list: Vec<i64> = (-5..200).collect();
    let run = world.run(1, &json!({"list": list}));
    world.play(Duration::from_secs(600));

    assert_eq!(world.status(run), "succeeded");
    let sum = world.task(run, "sum");
    let results = world.json(&sum, sum.result());
    let results = results["echo"].as_array().unwrap();
    assert_eq!(results.len(), 199);
    assert!(results.iter().enumerate().all(|(at, result)| result["echo"]["at"] == at && result["echo"]["i"] == at + 1));
    assert_eq!(world.most_at_once(), 3);
}

#[test]
fn an_empty_list_has_succeeded() {
    let world = World::new();
    let each = ForEach { over: Over::List(vec![]), max_concurrent: None, tolerate: Tolerate::default() };
    world
        .create(1, Definition::new(vec![Task { for_each: Some(each), ..task("each", &[]) }, task("after", &["each"])]));

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(10));

    assert_eq!((world.status(run), world.called()), ("succeeded", 1));
}

/// Removed: the record of what cannot begin any more, before `finally` is told of it. Whoever had decided on it and slept recorded it as
/// skipped, minutes after `finally` was told that it was cancelled.
#[test]
fn the_first_failure_stops_a_fail_fast_run_and_finally_runs_all_the_same() {
    let world = World::new();
    let slow = Task { payload: template(&json!({"takes": 20})), ..task("slow", &[]) };
    let outcome = Task {
        payload: template(&json!({"outcome": "{{outcome}}", "late": "{{tasks.late.status}}"})),
        ..task("tell", &[])
    };
    let finally = vec![outcome];
    let bad = Task { payload: template(&json!({"name": "bad", "fails_until": 99, "takes": 5})), ..task("bad", &[]) };
    let tasks = vec![bad, slow, task("late", &["slow"])];
    world.create(1, Definition { finally, ..Definition::new(tasks) });

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(240));

    assert_eq!(
        world.statuses(run),
        [("bad", "failed"), ("late", "cancelled"), ("slow", "succeeded"), ("tell", "succeeded")].map(owned).into()
    );
    assert_eq!(world.status(run), "failed");
    let tell = world.task(run, "tell");
    assert_eq!(world.json(&tell, tell.result())["echo"], json!({"outcome": "failed", "late": "cancelled"}));
}

#[test]
fn a_for_each_in_finally_runs_its_branches() {
    let world = World::new();
    let each =
        ForEach { over: Over::List(vec![Json::null(); 3]), max_concurrent: Some(2), tolerate: Tolerate::default() };
    let finally = vec![Task { for_each: Some(each), ..task("tidy", &[]) }];
    world.create(1, Definition { finally, ..Definition::new(vec![failing("bad", &[])]) });

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(240));

    assert_eq!(world.statuses(run), [("bad", "failed"), ("tidy", "succeeded")].map(owned).into());
    assert_eq!((world.status(run), world.called()), ("failed", 1 + 3));
}

#[test]
fn a_failure_that_is_held_goes_on_as_an_operator_says() {
    let world = World::new();
    let policy = Policy { failure: OnFailure::Hold, ..Policy::default() };
    let tasks = vec![failing_until("shaky", &[], 2), failing("hopeless", &[]), task("after", &["shaky", "hopeless"])];
    world.create(1, Definition { policy, ..Definition::new(tasks) });

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(10));
    let held = world.status(run);
    world.judge(run, "shaky", Word::Retry);
    world.judge(run, "hopeless", Word::Succeed);
    world.play(Duration::from_secs(10));

    assert_eq!(held, "waiting");
    assert_eq!(
        world.statuses(run),
        [("after", "succeeded"), ("hopeless", "failed"), ("shaky", "succeeded")].map(owned).into()
    );
    assert_eq!(world.status(run), "succeeded");
}

#[test]
fn an_approval_waits_for_an_answer_and_ends_without_one() {
    let world = World::new();
    let timeout = Duration::from_secs(600);
    let ask = |key: &str| Task::new(key.parse().unwrap(), Does::Ask(Approval { timeout, ..Approval::default() }));
    let policy = Policy { failure: OnFailure::Continue, ..Policy::default() };
    let pay = Task { payload: template(&json!("{{tasks.first.result.limit}}")), ..task("pay", &["first"]) };
    let tasks = vec![ask("first"), ask("second"), pay, task("never", &["second"])];
    world.create(1, Definition { policy, ..Definition::new(tasks) });

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(10));
    world.approve(run, "first", &json!({"limit": 100}));
    world.play(Duration::from_secs(900));

    let expected = [("first", "succeeded"), ("second", "timed_out"), ("pay", "succeeded"), ("never", "skipped")];
    assert_eq!(world.statuses(run), expected.map(owned).into());
    let pay = world.task(run, "pay");
    assert_eq!(world.json(&pay, pay.result())["echo"], json!(100));
}

#[test]
fn what_cannot_be_made_fails_and_says_why() {
    let world = World::new();
    let policy = Policy { failure: OnFailure::Continue, ..Policy::default() };
    let each = |source| {
        Some(ForEach {
            over: Over::Expression(Expression::new(source).unwrap()),
            max_concurrent: None,
            tolerate: Tolerate::default(),
        })
    };
    let tasks = vec![
        Task { payload: template(&json!("{{params.nothing}}")), ..task("template", &[]) },
        Task { when: Some(Expression::new("params.nothing > 1").unwrap()), ..task("when", &[]) },
        Task { for_each: each("params.n"), ..task("each", &[]) },
        Task { when: Some(Expression::new("params.n > 100").unwrap()), ..task("not", &[]) },
    ];
    world.create(1, Definition { policy, ..Definition::new(tasks) });

    let run = world.run(1, &json!({"n": 3}));
    world.play(Duration::from_secs(10));

    let expected = [("template", "failed"), ("when", "failed"), ("each", "failed"), ("not", "skipped")];
    assert_eq!(world.statuses(run), expected.map(owned).into());
    let told = |key| world.task(run, key).told.unwrap();
    assert_eq!(told("template"), "payload: there is no `params.nothing`");
    assert!(told("when").starts_with("when: "), "{}", told("when"));
    assert_eq!(told("each"), "for_each: it says a number, which is no list");
}

#[test]
fn parameters_that_are_not_what_the_schema_asks_for_fail_the_run() {
    let world = World::new();
    let params =
        Some(ParamsSchema::new(Json::of(&json!({"required": ["day"], "properties": {"n": {"default": 7}}}))).unwrap());
    let policy = Policy { params, output: template(&json!("{{params.n}}")), ..Policy::default() };
    world.create(1, Definition { policy, ..Definition::new(vec![task("a", &[])]) });

    let (bad, good) = (world.run(1, &json!({})), world.run(1, &json!({"day": 1})));
    world.play(Duration::from_secs(10));

    assert_eq!((world.status(bad), world.status(good)), ("failed", "succeeded"));
    assert!(world.read(bad).told.unwrap().contains("day"));
    assert_eq!(world.result(good), json!(7));
}

#[test]
fn a_task_may_be_a_workflow_and_its_output_is_its_result() {
    let world = World::new();
    let policy = Policy {
        output: template(&json!({"twice": "{{tasks.a.result.echo.n}}{{tasks.a.result.echo.n}}"})),
        ..Policy::default()
    };
    let inner = vec![Task { payload: template(&json!({"n": "{{params.n}}"})), ..task("a", &[]) }];
    world.create(2, Definition { policy, ..Definition::new(inner) });
    let target = Target::Workflow(WorkflowTarget { id: workflow(2), version: None });
    let terms = Terms { timeout: Duration::from_secs(3600), ..Terms::default() };
    let call = Task {
        payload: template(&json!({"n": "{{params.n}}"})),
        ..Task::new("call".parse().unwrap(), Does::Call { target, terms })
    };
    let policy = Policy { output: template(&json!("{{tasks.call.result.twice}}")), ..Policy::default() };
    world.create(1, Definition { policy, ..Definition::new(vec![call]) });

    let run = world.run(1, &json!({"n": 4}));
    world.play(Duration::from_secs(10));

    assert_eq!((world.status(run), world.result(run)), ("succeeded", json!("44")));
}

#[test]
fn a_cancelled_run_ends_what_runs_and_begins_nothing_more() {
    let world = World::new();
    let slow = |key: &str, on: &[&str]| Task { payload: template(&json!({"takes": 40})), ..task(key, on) };
    world.create(1, Definition::new(vec![slow("a", &[]), slow("b", &["a"])]));

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(10));
    world.cancel(run);
    world.play(Duration::from_secs(300));

    assert_eq!((world.status(run), world.statuses(run)), ("cancelled", [("a", "succeeded")].map(owned).into()));
}

#[test]
fn what_succeeded_is_not_done_again_by_a_run_that_goes_on() {
    let world = World::new();
    let tasks = vec![task("first", &[]), failing_until("shaky", &["first"], 2), task("last", &["shaky"])];
    world.create(1, Definition::new(tasks));

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(60));
    let failed = world.status(run);
    let again = world.resume(run);
    let twice = world.resume(run);
    world.play(Duration::from_secs(60));

    assert_eq!((failed, again), ("failed", twice));
    assert_eq!(
        world.statuses(again),
        [("first", "succeeded"), ("shaky", "succeeded"), ("last", "succeeded")].map(owned).into()
    );
    assert_eq!(world.task(again, "first").task.unwrap().reused, Some(world.task(run, "first").key));
    assert_eq!(world.calls_of("first"), 1);
}

/// Removed: the results of a `for_each` are looked for below its own run, though that was reused. There were none.
#[test]
fn a_run_that_goes_on_has_the_results_of_a_for_each_that_was_done_before() {
    let world = World::new();
    let each = ForEach {
        over: Over::Expression(Expression::new("[1, 2]").unwrap()),
        max_concurrent: None,
        tolerate: Tolerate::default(),
    };
    let each = Task { for_each: Some(each), payload: template(&json!("{{item}}")), ..task("each", &[]) };
    let payload = template(&json!({"name": "sum", "fails_until": 2, "of": "{{tasks.each.results}}"}));
    world.create(1, Definition::new(vec![each, Task { payload, ..task("sum", &["each"]) }]));

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(60));
    let again = world.resume(run);
    world.play(Duration::from_secs(60));

    let sum = world.task(again, "sum");
    assert_eq!((world.status(run), world.status(again)), ("failed", "succeeded"));
    assert_eq!(world.json(&sum, sum.result())["echo"]["of"], json!([{"echo": 1}, {"echo": 2}]));
}

/// Removed: a branch is the same where it has the same number. The one for `c` was not called: the one for `a` had been.
#[test]
fn a_run_that_goes_on_does_a_branch_again_that_is_for_another_item() {
    let world = World::new();
    let list = |first: &str| {
        format!("[{{\"name\": \"{first}\", \"fails_until\": 1}}, {{\"name\": \"b\", \"fails_until\": 2}}]")
    };
    let list = format!("tasks[\"shaky\"].status == \"failed\" ? {} : {}", list("a"), list("c"));
    let over = Over::Expression(Expression::new(&list).unwrap());
    let each = Task {
        for_each: Some(ForEach { over, max_concurrent: None, tolerate: Tolerate::default() }),
        depends_on: vec![Edge { task: "shaky".parse().unwrap(), on: On::Finished }],
        payload: template(&json!("{{item}}")),
        ..task("each", &[])
    };
    let policy = Policy { failure: OnFailure::Continue, ..Policy::default() };
    world.create(1, Definition { policy, ..Definition::new(vec![failing_until("shaky", &[], 2), each]) });

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(60));
    let again = world.resume(run);
    world.play(Duration::from_secs(60));

    assert_eq!((world.status(run), world.status(again)), ("failed", "succeeded"));
    assert_eq!(
        world.called_by_name(),
        [("a", 1), ("b", 2), ("c", 1), ("shaky", 2)].map(|(n, c)| (n.to_owned(), c)).into()
    );
}

/// Removed: what is too much is left out of the list. Ten of thirty branches that had succeeded were null.
#[test]
fn results_that_are_too_much_together_are_said_to_be() {
    let world = World::new();
    let over = Over::Expression(Expression::new("params.list").unwrap());
    let each = ForEach { over, max_concurrent: None, tolerate: Tolerate::default() };
    let each = Task { for_each: Some(each), payload: template(&json!("{{params.pad}}")), ..task("each", &[]) };
    let policy = Policy { output: template(&json!("{{tasks.each.results.0}}")), ..Policy::default() };
    world.create(1, Definition { policy, ..Definition::new(vec![each]) });

    let run = world.run(1, &json!({"list": vec![0; 30], "pad": "x".repeat(200_000)}));
    world.play(Duration::from_secs(30));

    assert_eq!(world.status(run), "failed");
    assert_eq!(world.read(run).told.unwrap(), "output: what it speaks of is too much to be read at once");
}

/// Removed: a task of `finally` is reused like any other. The resumed run tidied nothing, and said what the one before had.
#[test]
fn a_run_that_goes_on_tidies_up_again_and_cleans_up_after_its_own_failures() {
    let world = World::new();
    let on_failure = vec![Edge { task: "shaky".parse().unwrap(), on: On::Failure }];
    let named = |key: &str| Task { payload: template(&json!({"name": key, "fails_until": 1})), ..task(key, &[]) };
    let clean = Task { depends_on: on_failure, ..named("clean") };
    let policy = Policy { failure: OnFailure::Continue, ..Policy::default() };
    let tasks = vec![named("first"), failing_until("shaky", &[], 3), clean];
    world.create(1, Definition { policy, finally: vec![named("tidy")], ..Definition::new(tasks) });

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(60));
    let again = world.resume(run);
    world.play(Duration::from_secs(60));

    assert_eq!((world.status(run), world.status(again)), ("failed", "failed"));
    let called = [("clean", 2), ("first", 1), ("shaky", 2), ("tidy", 2)].map(|(name, count)| (name.to_owned(), count));
    assert_eq!(world.called_by_name(), called.into());
}

/// Removed: only the sweep looks at a run whose time is up. It took up to a minute and a half.
#[test]
fn a_run_is_stopped_when_its_time_is_up_and_over_when_what_ran_is() {
    let world = World::new();
    let policy = Policy { timeout: Duration::from_secs(2), ..Policy::default() };
    let slow = |key: &str, on: &[&str]| Task { payload: template(&json!({"takes": 3})), ..task(key, on) };
    world.create(1, Definition { policy, ..Definition::new(vec![slow("a", &[]), slow("b", &["a"])]) });

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(4));

    assert_eq!((world.status(run), world.statuses(run)), ("timed_out", [("a", "succeeded")].map(owned).into()));
}

/// Removed: lists are counted each by itself. Both unfolded, into 14,000 runs.
#[test]
fn lists_that_are_too_long_together_fail_where_it_is_found() {
    let world = World::new();
    let each = |key: &str| {
        let over = Over::Expression(Expression::new("params.list").unwrap());
        let each = ForEach { over, max_concurrent: Some(1), tolerate: Tolerate::default() };
        Task { for_each: Some(each), payload: template(&json!({"takes": 1})), ..task(key, &[]) }
    };
    world.create(1, Definition::new(vec![each("a"), each("b")]));

    let run = world.run(1, &json!({"list": vec![0; 7000]}));
    world.play(Duration::from_secs(30));

    let told = world.children(run).into_iter().find_map(|(_, each)| each.told);
    assert_eq!(world.status(run), "failed");
    assert_eq!(told.unwrap(), "a run has at most 12000 runs of tasks, and this one's lists ask for 14002");
}

/// Removed: each run is bounded by itself. All of the inner lists unfolded.
#[test]
fn lists_of_workflows_with_lists_are_bounded_together() {
    let world = World::new();
    let each = |does: Task, branches: usize| {
        let over = Over::List(vec![Json::null(); branches]);
        let each = ForEach { over, max_concurrent: Some(1), tolerate: Tolerate::default() };
        Task { for_each: Some(each), ..does }
    };
    let target = Target::Workflow(WorkflowTarget { id: workflow(2), version: None });
    let call = Task::new("call".parse().unwrap(), Does::Call { target, terms: Terms::default() });
    world.create(2, Definition::new(vec![each(task("inner", &[]), 500)]));
    world.create(1, Definition::new(vec![each(call, 600)]));

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(30));

    let below = |run: &Run| world.children(run.key).into_iter().next().unwrap().1;
    let branch = below(&below(&world.read(run)));
    assert_eq!((world.status(run), world.called()), ("failed", 0));
    assert_eq!(
        below(&branch).told.unwrap(),
        "all workflows of a run together have at most 250000 runs of tasks: this is one of 600, and asks for 501"
    );
}

/// Removed: the look that finds something open promises no other. The run was ended by the sweep, a minute later.
#[test]
fn a_cancelled_run_is_over_soon_after_what_ran() {
    let world = World::new();
    let slow = Task { payload: template(&json!({"takes": 12})), ..task("slow", &[]) };
    world.create(1, Definition::new(vec![slow]));

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(1));
    world.cancel(run);
    world.play(Duration::from_secs(16));

    assert_eq!((world.status(run), world.statuses(run)), ("cancelled", [("slow", "succeeded")].map(owned).into()));
}

#[test]
fn a_workflow_has_no_more_runs_under_way_than_it_may() {
    let world = World::new();
    let policy = Policy { max_concurrent_runs: Some(2), ..Policy::default() };
    let slow = Task { payload: template(&json!({"takes": 10})), ..task("slow", &[]) };
    world.create(1, Definition { policy, ..Definition::new(vec![slow]) });

    let runs: Vec<_> = (0..7).map(|_| world.run(1, &Value::Null)).collect();
    world.play(Duration::from_secs(120));

    assert_eq!(runs.iter().map(|run| world.status(*run)).collect::<Vec<_>>(), ["succeeded"; 7]);
    assert_eq!(world.most_at_once(), 2);
}

#[test]
fn a_run_that_takes_too_long_is_stopped() {
    let world = World::new();
    let policy = Policy { timeout: Duration::from_secs(60), ..Policy::default() };
    let ask = Task::new("ask".parse().unwrap(), Does::Ask(Approval::default()));
    world.create(1, Definition { policy, ..Definition::new(vec![ask]) });

    let run = world.run(1, &Value::Null);
    world.play(Duration::from_secs(300));

    assert_eq!((world.status(run), world.statuses(run)), ("timed_out", [("ask", "cancelled")].map(owned).into()));
}

fn owned((key, status): (&str, &'static str)) -> (String, &'static str) {
    (key.to_owned(), status)
}

fn workflow(number: u8) -> WorkflowId {
    WorkflowId::from_bytes([number; 16])
}

#[expect(clippy::unnecessary_wraps, reason = "as a task's field is")]
fn template(value: &Value) -> Option<Template> {
    Some(Template::new(Json::of(value)).unwrap())
}

/// A call that answers with what it was given; by its key the target knows it.
fn task(key: &str, depends_on: &[&str]) -> Task {
    let retry = RetryPolicy { max_retries: 0, ..RetryPolicy::default() };
    let does = Does::Call { target: Target::Noop, terms: Terms { retry, ..Terms::default() } };
    let depends_on = depends_on.iter().map(|on| Edge { task: on.parse().unwrap(), on: On::Success }).collect();
    Task { depends_on, ..Task::new(key.parse().unwrap(), does) }
}

fn failing(key: &str, depends_on: &[&str]) -> Task {
    failing_until(key, depends_on, u64::MAX)
}

/// Its first calls fail.
fn failing_until(key: &str, depends_on: &[&str], call: u64) -> Task {
    Task { payload: template(&json!({"name": key, "fails_until": call})), ..task(key, depends_on) }
}

/// One machine and one tenant: a store in memory, the queues of `minutehand serve`, a target that does as its payload says.
#[derive(Clone)]
struct World(Arc<Inside>);

struct Inside {
    sim: Sim,
    store: MemoryStore,
    queues: EmbeddedQueues<SimClock>,
    clock: SimClock,
    drawn: AtomicU64,
    plans: Plans,
    quotas: Quotas,
    rules: Rules,
    calls: Mutex<BTreeMap<RunKey, Value>>,
    named: Mutex<BTreeMap<String, u64>>,
    under_way: Mutex<(usize, usize)>,
}

#[derive(Clone)]
struct SimClock(Sim);

impl World {
    fn new() -> Self {
        let sim = Sim::new(7, BEGIN, Fates::script(Vec::new()));
        let clock = SimClock(sim.clone());
        let queues = EmbeddedQueues::new(clock.clone());
        let inside = Inside {
            sim: sim.clone(),
            store: MemoryStore::in_memory(),
            queues,
            clock,
            drawn: AtomicU64::new(1),
            plans: Plans::default(),
            quotas: Quotas::default(),
            rules: Rules::default(),
            calls: Mutex::default(),
            named: Mutex::default(),
            under_way: Mutex::default(),
        };
        let world = Self(Arc::new(inside));
        let process = sim.process("machine", 0);
        sim.spawn(&process, world.clone().sweeping());
        world.0.queues.set_concurrency(HANDS);
        for _ in 0..HANDS {
            let world = world.clone();
            sim.spawn(&process, async move {
                loop {
                    for delivery in world.queues().receive(1).await {
                        execute(&world, &delivery, std::future::pending()).await.unwrap();
                        world.queues().done(&delivery.receipt);
                    }
                }
            });
        }
        world
    }

    async fn sweeping(self) {
        loop {
            tick(&self).await.unwrap();
            self.clock().sleep_until(self.clock().now() + Duration::from_secs(60)).await;
        }
    }

    fn play(&self, time: Duration) {
        let until = self.clock().now() + time;
        self.0.sim.run_until(until.millis());
    }

    /// Does something at once.
    fn now<T: Send + 'static>(&self, act: impl Future<Output = T> + Send + 'static) -> T {
        let done = Arc::new(Mutex::new(None));
        let told = Arc::clone(&done);
        let process = self.0.sim.process("client", 0);
        self.0.sim.spawn(&process, async move { *told.lock().unwrap() = Some(act.await) });
        self.0.sim.run_until(self.clock().now().millis());
        done.lock().unwrap().take().expect("nothing in this world takes time but calls")
    }

    fn create(&self, number: u8, definition: Definition) {
        let (world, now) = (self.clone(), self.clock().now());
        let schedule = Schedule::new(&Plan { on_demand: true, ..Plan::default() }, now).unwrap();
        let id = workflow(number);
        let (tenant, name, by) = (tenant(), format!("workflow {number}"), By::host());
        let new = NewWorkflow {
            tenant,
            id,
            name,
            definition,
            schedule,
            about: About::default(),
            fingerprint: None,
            trace: None,
            by,
            now,
        };
        let created = self.now(async move { create(&world, new).await.unwrap() });
        assert!(matches!(created, Created::New(_)), "{created:?}");
    }

    fn run(&self, number: u8, params: &Value) -> RunKey {
        let (world, payload) = (self.clone(), (!params.is_null()).then(|| Json::of(params)));
        let request = RunRequest { payload, by: By::host(), note: None, trace: None, once: None };
        let answered =
            self.now(async move { run_now(&world, &tenant(), workflow(number).job(), request).await.unwrap() });
        let Answered::Queued(run) = answered else { panic!("{answered:?}") };
        run.key
    }

    fn read(&self, key: RunKey) -> Run {
        let world = self.clone();
        self.now(async move { world.0.store.get::<Run>(&tenant(), key).await.unwrap().expect("a run").item })
    }

    fn status(&self, key: RunKey) -> &'static str {
        self.read(key).status(self.clock().now())
    }

    fn children(&self, key: RunKey) -> Vec<(String, Run)> {
        let (world, run) = (self.clone(), self.read(key));
        self.now(async move {
            let graph = run.graph.as_ref().expect("it has unfolded");
            let plan = world
                .plans()
                .of(&world.0.store, &tenant(), graph.workflow, graph.version, world.clock().now())
                .await
                .unwrap()
                .unwrap();
            let mut children = Vec::new();
            for job in parts::places(key, graph.parts) {
                let within = RunsOf { job, window: Moment::EPOCH..Moment::END };
                for run in world.0.store.list::<Run>(&tenant(), within, None, 1000).await.unwrap().items {
                    let node = TaskPlace::of(run.key).unwrap().node;
                    children.push((plan.node(node).unwrap().task.key.to_string(), run));
                }
            }
            children.sort_by_key(|(_, run)| run.key);
            children
        })
    }

    /// Each task by the last try at it.
    fn statuses(&self, key: RunKey) -> BTreeMap<String, &'static str> {
        let now = self.clock().now();
        self.children(key).into_iter().map(|(key, run)| (key, run.status(now))).collect()
    }

    fn task(&self, key: RunKey, task: &str) -> Run {
        self.children(key).into_iter().rfind(|(key, _)| key == task).expect("a task's run").1
    }

    fn json(&self, run: &Run, body: &Body) -> Value {
        let (world, run, body) = (self.clone(), run.clone(), body.clone());
        let json = self.now(async move { minutehand_protocol::bodies::fetch_of(&world, &run, &body).await.unwrap() });
        json.map_or(Value::Null, |json| serde_json::from_str(json.as_str()).unwrap())
    }

    fn result(&self, key: RunKey) -> Value {
        let run = self.read(key);
        self.json(&run, run.result())
    }

    fn judge(&self, key: RunKey, task: &str, word: Word) {
        self.decide(key, task, word, Body::Empty);
    }

    fn approve(&self, key: RunKey, task: &str, result: &Value) {
        self.decide(key, task, Word::Approve, Body::Inside(Json::of(result)));
    }

    fn decide(&self, key: RunKey, task: &str, word: Word, result: Body) {
        let (machine, asked) = (self.clone(), self.task(key, task).key);
        let judgement = Judgement { word, by: By::host(), at: self.clock().now(), note: None, result };
        let judged =
            self.now(async move { judge(&machine, &tenant(), asked, &judgement, Role::Operator).await.unwrap() });
        assert!(matches!(judged, Judged::Done(_)), "{judged:?}");
    }

    fn cancel(&self, key: RunKey) {
        let world = self.clone();
        self.now(async move { cancel(&world, &tenant(), key, &By::host()).await.unwrap() });
    }

    fn resume(&self, key: RunKey) -> RunKey {
        let world = self.clone();
        match self.now(async move { resume(&world, &tenant(), key, &By::host(), None).await.unwrap() }) {
            Resumed::Queued(run) | Resumed::Already(run) => run.key,
            other => panic!("{other:?}"),
        }
    }

    fn called(&self) -> usize {
        self.0.calls.lock().unwrap().len()
    }

    fn calls_of(&self, task: &str) -> usize {
        let keys: Vec<_> = self.0.calls.lock().unwrap().keys().copied().collect();
        let named = |key: &RunKey| {
            let parent = self.read(*key).task.unwrap().parent;
            self.children(parent).iter().any(|(name, run)| name == task && run.key == *key)
        };
        keys.iter().filter(|key| named(key)).count()
    }

    /// How often each call was made that has a name.
    fn called_by_name(&self) -> BTreeMap<String, u64> {
        self.0.named.lock().unwrap().clone()
    }

    fn most_at_once(&self) -> usize {
        self.0.under_way.lock().unwrap().1
    }
}

fn tenant() -> Tenant {
    Tenant::new("acme").unwrap()
}

impl Targets for World {
    async fn call(&self, call: Call<'_>) -> Answer {
        let payload = call.payload.map_or(Value::Null, |json| serde_json::from_str(json.as_str()).unwrap());
        self.0.calls.lock().unwrap_or_else(PoisonError::into_inner).insert(call.run, payload.clone());
        if let Some(seconds) = payload["takes"].as_u64() {
            {
                let mut under_way = self.0.under_way.lock().unwrap();
                under_way.0 += 1;
                under_way.1 = under_way.1.max(under_way.0);
            }
            self.clock().sleep_until(call.now + Duration::from_secs(seconds)).await;
            self.0.under_way.lock().unwrap().0 -= 1;
        }
        if let (Some(name), Some(until)) = (payload["name"].as_str(), payload["fails_until"].as_u64()) {
            let mut named = self.0.named.lock().unwrap();
            let count = named.entry(name.to_owned()).or_default();
            *count += 1;
            if *count < until {
                let error = AttemptError::new("http_500", "the target answered 500");
                return Answer::Failed { error, retry_after: None };
            }
        }
        Answer::Succeeded { result: Some(Json::of(&json!({"echo": payload}))) }
    }
}

impl Ports for World {
    type Store = MemoryStore;
    type Queues = EmbeddedQueues<SimClock>;
    type Targets = Self;
    type Vault = NoVault;
    type Events = Log;
    type Clock = SimClock;
    type Chance = Self;

    fn store(&self) -> &MemoryStore {
        &self.0.store
    }

    fn queues(&self) -> &EmbeddedQueues<SimClock> {
        &self.0.queues
    }

    fn targets(&self) -> &Self {
        self
    }

    fn vault(&self) -> &NoVault {
        &NoVault
    }

    fn events(&self) -> &Log {
        &Log
    }

    fn clock(&self) -> &SimClock {
        &self.0.clock
    }

    fn chance(&self) -> &Self {
        self
    }

    fn plans(&self) -> &Plans {
        &self.0.plans
    }

    fn quotas(&self) -> &Quotas {
        &self.0.quotas
    }

    fn rules(&self) -> &Rules {
        &self.0.rules
    }

    fn me(&self) -> Claimant {
        Claimant { worker: Worker(1), exclusive_store: true }
    }
}

impl Chance for World {
    fn bytes(&self) -> [u8; 16] {
        (u128::from(self.0.drawn.fetch_add(1, Ordering::Relaxed)) << 64).to_be_bytes()
    }
}

impl Clock for SimClock {
    fn now(&self) -> Moment {
        Moment::from_millis(self.0.now())
    }

    async fn sleep_until(&self, moment: Moment) {
        self.0.sleep_until(moment.millis()).await;
    }
}

impl fmt::Debug for World {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("World")
    }
}
