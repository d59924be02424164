//! What people do: answers, verdicts, cancels, resumes; each once, each on record, each refused in words where it means nothing.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread;

use futures_util::FutureExt as _;
use minutehand_domain::access::Role;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::{ErrorCode, Outcome, Run, TaskPlace};
use minutehand_domain::workflow::definition::{Definition, OnFailure};
use serde_json::{Value, json};
use tokio::runtime::Handle;

use crate::graphs::{approval, as_it_is_called, each, on_failure, sub_workflow, task};
use crate::roles::keys;
use crate::world::{ACME_KEY, Answer, OTHER_KEY, World, at, failed, succeeded};

async fn act(world: &World, run: &str, act: &str, body: Value) -> Answer {
    world.post(&format!("/v1/workflow-runs/{run}/{act}"), body).await
}

fn told(answer: &Answer) -> String {
    answer.problem(409, "conflict");
    answer.word("/detail")
}

#[tokio::test]
async fn an_approval_is_answered_once_with_a_result_and_a_note() {
    let world = World::new();
    let run = world.begun(Definition::new(vec![approval("ok", &[], &[Role::Operator]), task("pay", &["ok"])])).await;
    let yes = json!({"note": "up to the limit", "result": {"limit": 100}});

    let approved = act(&world, &run, "tasks/ok/approve", yes.clone()).await;
    world.pass(5);
    let again = act(&world, &run, "tasks/ok/approve", yes).await;
    let otherwise = act(&world, &run, "tasks/ok/reject", json!({})).await;
    world.carry_on().await;

    assert_eq!(approved.status, 200, "{}", approved.text);
    let decision = json!({
        "word": "approve", "by": "deployment", "by_name": null, "at": at(0), "note": "up to the limit"
    });
    assert_eq!((approved.field("/state"), approved.field("/decision")), (json!("succeeded"), decision.clone()));
    assert_eq!((again.status.as_u16(), again.json()), (200, approved.json()));
    assert_eq!(told(&otherwise), format!("`ok` was approved by deployment at {}", at(0)));
    let ok = world.task(&run, "ok").await;
    assert_eq!((&ok["approval"]["answer"], &ok["result"]), (&decision, &json!({"limit": 100})));
    assert_eq!(world.watch(&run).await["status"], "succeeded");
    let audit = world.get("/v1/audit").await;
    assert_eq!(audit.items("deed"), ["task.approve"], "who is answered again does nothing");
    assert_eq!(audit.field("/items/0/subject"), format!("{run}/tasks/ok"));
}

#[tokio::test]
async fn a_rejected_approval_has_failed() {
    let world = World::new();
    let run = world.begun(Definition::new(vec![approval("ok", &[], &[Role::Operator]), task("pay", &["ok"])])).await;

    let rejected = act(&world, &run, "tasks/ok/reject", json!({"note": "too much"})).await;
    world.carry_on().await;

    assert_eq!((rejected.status.as_u16(), rejected.field("/state")), (200, json!("failed")));
    let ok = world.task(&run, "ok").await;
    assert_eq!((&ok["state"], &ok["reason"]), (&json!("failed"), &json!("rejected")));
    assert_eq!(world.watch(&run).await["status"], "failed");
}

#[tokio::test]
async fn where_failures_are_held_a_rejected_approval_is_held_too() {
    let world = World::new();
    let run = world.begun(on_failure(OnFailure::Hold, vec![approval("ok", &[], &[Role::Operator])])).await;

    let rejected = act(&world, &run, "tasks/ok/reject", json!({})).await;
    let skipped = act(&world, &run, "tasks/ok/skip", json!({"note": "go on all the same"})).await;

    assert_eq!((rejected.field("/state"), skipped.status.as_u16()), (json!("held"), 200), "{}", skipped.text);
    assert_eq!(skipped.field("/decision/word"), "skip");
    assert_eq!(world.watch(&run).await["status"], "succeeded");
}

/// Its default counts from then on, though nobody has looked yet. Tried: by answering while it waits, however late; the answer was taken.
#[tokio::test]
async fn an_approval_whose_time_is_up_is_not_answered_any_more() {
    let world = World::new();
    let run = world.begun(Definition::new(vec![approval("ok", &[], &[Role::Operator])])).await;
    world.pass(8 * 86_400);

    let late = act(&world, &run, "tasks/ok/approve", json!({})).await;

    assert_eq!(told(&late), "the run asks nothing of anybody");
}

/// The guard is `may_answer`, here and in the protocol.
#[tokio::test]
async fn who_may_answer_an_approval_it_says_itself() {
    let world = World::new();
    let [viewer, operator, admin, _host] = keys(&world).await;
    let tasks = vec![approval("admins", &[], &[Role::Admin]), approval("all", &[], &[Role::Viewer])];
    let run = world.begun(Definition::new(tasks)).await;
    let approve = async |key: &str, task: &str| {
        world.by(key, "POST", &format!("/v1/workflow-runs/{run}/tasks/{task}/approve"), Some(json!({}))).await
    };

    for key in [&viewer, &operator] {
        approve(key, "admins").await.problem(403, "forbidden");
    }
    assert!(approve(&operator, "admins").await.word("/detail").contains("admin"));
    assert_eq!(approve(&viewer, "all").await.status, 200);
    assert_eq!(approve(&admin, "admins").await.status, 200);
    world
        .by(&viewer, "POST", &format!("/v1/workflow-runs/{run}/tasks/all/retry"), None)
        .await
        .problem(403, "forbidden");
}

/// The guard is `may_answer_beneath`. Removed: an approval says who answers it on its own level alone. An operator let the whole workflow pass in which an
/// admin had rejected.
#[tokio::test]
async fn whoever_lets_a_workflow_pass_may_answer_what_was_rejected_in_it() {
    let world = World::new();
    let [_viewer, operator, admin, _host] = keys(&world).await;
    let inner = world.workflow(2, Definition::new(vec![approval("ask", &[], &[Role::Admin])])).await;
    let run = world.begun(on_failure(OnFailure::Hold, vec![sub_workflow("gate", inner)])).await;
    let gate = world.task(&run, "gate").await["run_id"].as_str().expect("it has begun").to_owned();
    act(&world, &gate, "tasks/ask/reject", json!({})).await;
    world.carry_on().await;
    assert_eq!(world.task(&run, "gate").await["state"], "held");

    let verdict = async |key: &str, word: &str| {
        world.by(key, "POST", &format!("/v1/workflow-runs/{run}/tasks/gate/{word}"), Some(json!({}))).await
    };
    for word in ["succeed", "skip"] {
        verdict(&operator, word).await.problem(403, "forbidden");
    }
    assert_eq!(verdict(&admin, "succeed").await.status, 200);
}

#[tokio::test]
async fn a_held_failure_goes_on_as_its_verdict_says() {
    for (verdict, state, after, whole) in [
        ("skip", "skipped", "skipped", "succeeded"),
        ("succeed", "succeeded", "succeeded", "succeeded"),
        ("fail", "failed", "skipped", "failed"),
    ] {
        let world = World::new();
        let tasks = vec![task("bad", &[]), task("after", &["bad"])];
        let run = world.begun(on_failure(OnFailure::Hold, tasks)).await;
        let held = world.task(&run, "bad").await;
        assert_eq!(
            (&held["state"], &held["waiting_for"]),
            (&json!("held"), &json!("waits for a verdict: retry, skip, succeed or fail"))
        );

        let body = if verdict == "succeed" { json!({"note": "n", "result": 7}) } else { json!({"note": "n"}) };
        let judged = act(&world, &run, &format!("tasks/bad/{verdict}"), body.clone()).await;
        let again = act(&world, &run, &format!("tasks/bad/{verdict}"), body).await;
        let otherwise = act(&world, &run, "tasks/bad/retry", json!({})).await;
        world.carry_on().await;

        assert_eq!(judged.status, 200, "{}", judged.text);
        assert_eq!(judged.field("/state"), state);
        assert_eq!((again.status.as_u16(), again.field("/decision")), (200, judged.field("/decision")));
        assert_eq!(told(&otherwise), format!("`bad` was given the verdict `{verdict}` by deployment at {}", at(0)));
        assert_eq!(
            (world.task(&run, "bad").await["state"].clone(), world.task(&run, "after").await["state"].clone()),
            (json!(state), json!(after)),
            "{verdict}"
        );
        assert_eq!(world.watch(&run).await["status"], whole);
    }
}

#[tokio::test]
async fn a_retry_is_another_try_at_the_same_task_and_asking_twice_is_one() {
    let world = World::new();
    let run = world.begun(on_failure(OnFailure::Hold, vec![task("bad", &[])])).await;
    let first = world.task(&run, "bad").await;

    let judged = act(&world, &run, "tasks/bad/retry", json!({"note": "the disk is free"})).await;
    let again = act(&world, &run, "tasks/bad/retry", json!({"note": "the disk is free"})).await;
    let other = act(&world, &run, "tasks/bad/retry", json!({"note": "once more"})).await;
    world.work_tasks(|_, _| Some(succeeded())).await;

    assert_eq!((judged.status.as_u16(), again.status.as_u16()), (200, 200), "{}", again.text);
    assert_eq!(again.field("/run_id"), judged.field("/run_id"));
    assert_eq!(told(&other), "`bad` is queued: only a failure that is held takes a verdict");
    let second = world.task(&run, "bad").await;
    assert_eq!((&second["state"], &second["tries"]), (&json!("succeeded"), &json!(2)));
    assert_ne!(first["run_id"], second["run_id"]);
    assert_eq!(world.watch(&run).await["status"], "succeeded");
    let events = world.get(&format!("/v1/workflow-runs/{run}/events")).await;
    let verdict =
        events.field("/items").as_array().unwrap().iter().find(|it| it["type"] == "verdict_retry").cloned().unwrap();
    assert_eq!((&verdict["note"], &verdict["by"]), (&json!("the disk is free"), &json!("deployment")));
}

/// Nobody waits for a store in memory, and what is read side by side only gives way.
fn to_its_end<T>(doing: impl Future<Output = T>) -> T {
    let mut doing = pin!(doing);
    (0..1_000).find_map(|_| doing.as_mut().now_or_never()).expect("a store in memory lets nobody wait")
}

/// Two acts that are asked for at once: the slower one has been looked at when the faster one is done, and is done after it.
async fn at_once(world: &Arc<World>, run: &str, faster: (&str, Value), slower: (&str, Value)) -> [Answer; 2] {
    let (its_world, its_run, path, body) = (Arc::clone(world), run.to_owned(), faster.0.to_owned(), faster.1);
    overtaking(world, run, move || to_its_end(act(&its_world, &its_run, &path, body)), slower).await
}

/// The same, where the faster one does this: on a stack of its own, as two requests within each other need more than one has.
async fn overtaking(
    world: &World,
    run: &str,
    faster: impl FnOnce() -> Answer + Send + 'static,
    slower: (&str, Value),
) -> [Answer; 2] {
    let (answers, answered) = mpsc::channel();
    let runtime = Handle::current();
    let apart = move || {
        let _within = runtime.enter();
        faster()
    };
    world.ports.chance.before_the_next_act(move || {
        answers.send(thread::spawn(apart).join().expect("it answers")).expect("it is awaited");
    });
    let slower = act(world, run, slower.0, slower.1).await;
    [answered.try_recv().expect("the slower one came as far as its act"), slower]
}

/// A run that asks for this decision: an approval is to be answered, or a failure is held. It has no other task.
async fn asking_for(world: &World, decision: &str) -> (String, String) {
    let (key, task) = match decision {
        "approve" | "reject" => ("ok", approval("ok", &[], &[Role::Operator])),
        _verdict => ("bad", task("bad", &[])),
    };
    (world.begun(on_failure(OnFailure::Hold, vec![task])).await, key.to_owned())
}

/// Removed: a request that was overtaken looks at what stands. The second one was 409: "the run is finished; finished is final" of an approval,
/// "somebody has decided already" of a retry, "the run asks nothing of anybody" of a verdict with which its workflow's run ended.
#[tokio::test]
async fn the_same_decision_sent_twice_at_once_is_answered_twice_as_the_first_time() {
    for word in ["approve", "reject", "retry", "skip", "succeed", "fail"] {
        let world = Arc::new(World::new());
        let (run, task) = asking_for(&world, word).await;
        let (path, body) = (format!("tasks/{task}/{word}"), json!({"note": "n"}));

        let [first, second] = at_once(&world, &run, (&path, body.clone()), (&path, body)).await;

        assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200), "{word}: {}", second.text);
        assert_eq!(second.json(), first.json(), "{word}");
        let audit = world.get("/v1/audit").await;
        assert_eq!(audit.items("deed"), [format!("task.{word}"), format!("task.{word}")]);
        let outcomes = audit.items("outcome");
        assert!(outcomes.contains(&json!("done")) && outcomes.contains(&json!("not_done")), "{word}: {outcomes:?}");
    }
}

/// Removed: a request that was overtaken looks at what stands. The words were those of the write that came to nothing, and named nobody.
#[tokio::test]
async fn another_decision_at_the_same_time_is_told_what_stands() {
    let (approved, rejected) = ("`ok` was approved by deployment at", "`ok` was rejected by deployment at");
    let given = |word: &str| format!("`bad` was given the verdict `{word}` by deployment at");
    let rows = [
        (("approve", json!({"note": "n"})), ("approve", json!({"note": "m"})), approved.to_owned()),
        (("approve", json!({"result": 1})), ("approve", json!({"result": 2})), approved.to_owned()),
        (("approve", json!({})), ("reject", json!({})), approved.to_owned()),
        (("reject", json!({})), ("approve", json!({})), rejected.to_owned()),
        (("skip", json!({})), ("retry", json!({})), given("skip")),
        (("succeed", json!({"result": 1})), ("succeed", json!({"result": 2})), given("succeed")),
        (("retry", json!({"note": "n"})), ("retry", json!({"note": "m"})), given("retry")),
        (("fail", json!({})), ("skip", json!({})), given("fail")),
    ];
    for ((first, its), (second, other), stands) in rows {
        let world = Arc::new(World::new());
        let (run, task) = asking_for(&world, first).await;
        let path = |word: &str| format!("tasks/{task}/{word}");

        let [done, refused] = at_once(&world, &run, (&path(first), its), (&path(second), other)).await;

        assert_eq!(done.status, 200, "{first}: {}", done.text);
        assert_eq!(told(&refused), format!("{stands} {}", at(0)), "{first}, {second}");
    }
}

/// Of two at once the second one is about the failure that both saw, also where the try which the first one asked for has failed by then.
///
/// Removed: whoever was overtaken looks at the try that was to be decided about, and not at the last one. It was 409: "somebody has decided already".
#[tokio::test]
async fn a_retry_that_is_sent_twice_at_once_is_one_though_that_try_fails_at_once() {
    let world = Arc::new(World::new());
    let (run, _bad) = asking_for(&world, "retry").await;
    let (its_world, its_run) = (Arc::clone(&world), run.clone());
    let retried_in_vain = move || {
        to_its_end(async {
            let answer = act(&its_world, &its_run, "tasks/bad/retry", json!({})).await;
            its_world.carry_on().await;
            answer
        })
    };

    let [first, second] = overtaking(&world, &run, retried_in_vain, ("tasks/bad/retry", json!({}))).await;
    world.carry_on().await;

    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200), "{}", second.text);
    assert_eq!(second.field("/run_id"), first.field("/run_id"));
    let bad = world.task(&run, "bad").await;
    assert_eq!((&bad["state"], &bad["tries"]), (&json!("held"), &json!(2)));
}

/// Removed: the whole is read again by whoever was overtaken. The words were "the run asks nothing of anybody".
#[tokio::test]
async fn a_verdict_on_what_is_cancelled_at_the_same_time_says_that_it_is_not_held() {
    let world = Arc::new(World::new());
    let (run, _bad) = asking_for(&world, "skip").await;

    let [cancelled, refused] = at_once(&world, &run, ("cancel", json!({})), ("tasks/bad/skip", json!({}))).await;

    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    let words = told(&refused);
    assert!(words.starts_with("`bad` is failed, and is not held: a verdict is asked for where"), "{words}");
}

/// An operation knows nobody's role: whoever may not answer an approval would end it so. Lists have no tasks, but their ids say what to ask for.
#[tokio::test]
async fn an_approval_is_no_part_of_what_is_cancelled_at_once() {
    let world = World::new();
    let run = world.begun(Definition::new(vec![approval("ok", &[], &[Role::Admin])])).await;
    let ok = world.task(&run, "ok").await["run_id"].as_str().expect("it has begun").to_owned();
    let [_viewer, operator, ..] = keys(&world).await;
    let its_own = ok.parse::<RunKey>().expect("a run's id").job;
    let asked = json!({"act": "cancel", "runs": {"job_id": its_own, "status": "waiting"}});
    world.pass(1);

    let by_itself = world.by(&operator, "POST", &format!("/v1/runs/{ok}/cancel"), None).await;
    let at_once = world.by(&operator, "POST", "/v1/operations", Some(asked)).await;

    by_itself.problem(403, "forbidden");
    assert_eq!(at_once.status, 202, "{}", at_once.text);
    let reasons = at_once.field("/progress/reasons");
    let why = json!({"subject": ok, "detail": "it asks somebody: it is answered, or cancelled by itself"});
    assert!(reasons.as_array().unwrap().contains(&why), "{}", at_once.text);
    assert_eq!(world.task(&run, "ok").await["state"], "waiting");
}

#[tokio::test]
async fn a_branch_is_named_in_the_query() {
    let world = World::new();
    let run = world.begun(on_failure(OnFailure::Hold, vec![each(task("bad", &[]), 3)])).await;

    let none = act(&world, &run, "tasks/bad/skip", json!({})).await;
    let beyond = act(&world, &run, "tasks/bad/skip?branch=3", json!({})).await;
    let one = act(&world, &run, "tasks/bad/skip?branch=1", json!({})).await;

    assert_eq!(none.problem(422, "invalid"), ["?branch"]);
    beyond.problem(404, "not-found");
    assert_eq!((one.status.as_u16(), one.field("/branch"), one.field("/state")), (200, json!(1), json!("skipped")));
    let branches = world.get(&format!("/v1/workflow-runs/{run}/tasks/bad/branches")).await;
    assert_eq!(branches.items("state"), ["held", "skipped", "held"]);
    assert_eq!(branches.field("/items/1/verdict/word"), "skip");
    for branch in [0, 2] {
        assert_eq!(act(&world, &run, &format!("tasks/bad/skip?branch={branch}"), json!({})).await.status, 200);
    }
    world.carry_on().await;
    assert_eq!(world.watch(&run).await["status"], "succeeded");
}

#[tokio::test]
async fn what_means_nothing_is_refused_with_the_state_it_is_in() {
    let world = World::new();
    let tasks = vec![task("slow", &[]), task("good", &[]), approval("ok", &["slow"], &[Role::Operator])];
    let run = world.begun(Definition::new(tasks)).await;
    for (what, words) in [
        ("tasks/slow/approve", "`slow` asks nobody: only an approval is approved or rejected"),
        ("tasks/ok/approve", "`ok` is pending: it has not begun"),
        ("tasks/good/retry", "`good` is succeeded: only a failure that is held takes a verdict"),
        ("tasks/slow/skip", "`slow` is running: only a failure that is held takes a verdict"),
        ("resume", "the run is waiting: it goes on by itself"),
    ] {
        assert_eq!(told(&act(&world, &run, what, json!({})).await), words, "{what}");
    }
    act(&world, &run, "tasks/none/retry", json!({})).await.problem(404, "not-found");
    assert_eq!(act(&world, &run, "tasks/slow/retry?branch=0", json!({})).await.problem(422, "invalid"), ["?branch"]);
    assert_eq!(act(&world, &run, "tasks/ok/approve", json!({"note": ""})).await.problem(422, "invalid"), ["/note"]);
    assert_eq!(act(&world, &run, "tasks/ok/reject", json!({"result": 1})).await.problem(422, "invalid"), ["/result"]);
    act(&world, &run, "tasks/ok/approve", json!({"result": "x".repeat(256 * 1024)})).await.problem(413, "too-large");
    for what in ["cancel", "resume", "tasks/slow/retry", "tasks/ok/approve"] {
        let answer = world.by(OTHER_KEY, "POST", &format!("/v1/workflow-runs/{run}/{what}"), None).await;
        answer.problem(404, "not-found");
    }
    let queued = world.start(crate::graphs::workflow_id(1)).await;
    assert_eq!(
        told(&act(&world, &queued, "tasks/slow/skip", json!({})).await),
        "the run is queued, and none of its tasks has begun"
    );
}

#[tokio::test]
async fn a_failure_that_is_not_held_says_so() {
    let world = World::new();
    let run = world.begun(on_failure(OnFailure::Continue, vec![task("bad", &[]), task("slow", &[])])).await;

    let words = told(&act(&world, &run, "tasks/bad/skip", json!({})).await);

    assert!(
        words.starts_with("`bad` is failed, and is not held: a verdict is asked for where `on_failure` is `hold`"),
        "{words}"
    );
}

/// Every seventh branch of these fails, as long as it is not tried again.
async fn held_branches(world: &World, branches: usize, again: bool) -> String {
    let definition = on_failure(OnFailure::Hold, vec![each(task("load", &[]), branches)]);
    let run = world.start(world.workflow(1, definition).await).await;
    branches_fail(world, again).await;
    run
}

async fn branches_fail(world: &World, again: bool) {
    world
        .work_tasks(|_, run| {
            let place = TaskPlace::of(run.key)?;
            let is_bad = place.branch? % 7 == 3 && (again || place.turn == 1);
            Some(if is_bad { as_it_is_called("bad") } else { succeeded() })
        })
        .await;
}

#[tokio::test]
async fn all_branches_that_are_held_are_given_a_verdict_each_once_and_so_many_a_request() {
    let world = World::new();
    let run = held_branches(&world, 1000, false).await;
    let held = json!((0..1000).filter(|branch| branch % 7 == 3).collect::<Vec<u16>>());

    let first = act(&world, &run, "tasks/load/branches/held", json!({"verdict": "retry", "note": "mended"})).await;
    let next = first.field("/next_from");
    let second = act(&world, &run, "tasks/load/branches/held", json!({"verdict": "retry", "from": next})).await;
    branches_fail(&world, false).await;
    let again = act(&world, &run, "tasks/load/branches/held", json!({"verdict": "retry"})).await;

    assert_eq!((first.status.as_u16(), second.status.as_u16()), (200, 200), "{}{}", first.text, second.text);
    let decided = |answer: &Answer| answer.field("/decided").as_array().unwrap().clone();
    assert_eq!(decided(&first).len(), 100);
    assert_eq!(Value::from([decided(&first), decided(&second)].concat()), held);
    assert_eq!(second.field("/next_from"), Value::Null);
    assert_eq!((decided(&again).len(), again.field("/next_from")), (0, Value::Null), "nothing is held any more");
    world.carry_on().await;
    assert_eq!(world.watch(&run).await["status"], "succeeded");
    let audit = world.get("/v1/audit").await;
    assert_eq!(audit.items("deed"), ["task.retry", "task.retry", "task.retry"]);
    assert_eq!(audit.field("/items/0/subject"), format!("{run}/tasks/load/branches"));
}

/// One that is tried again and fails again meanwhile is not met a second time by who follows `next_from`. Removed: `from` is where a
/// request begins. It came to no end.
#[tokio::test]
async fn who_follows_to_the_end_meets_each_branch_once() {
    let world = World::new();
    let run = held_branches(&world, 900, true).await;
    let (mut from, mut met) = (json!(0), Vec::new());
    while !from.is_null() {
        let answer = act(&world, &run, "tasks/load/branches/held", json!({"verdict": "retry", "from": from})).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        branches_fail(&world, true).await;
        met.extend(answer.field("/decided").as_array().unwrap().clone());
        assert!(met.len() <= 900, "it comes to no end");
        from = answer.field("/next_from");
    }

    let held: Vec<Value> = (0..900_u16).filter(|branch| branch % 7 == 3).map(Value::from).collect();
    assert_eq!(met, held);
    let load = world.task(&run, "load").await;
    assert_eq!(load["waiting_for"], "129 of its 900 branches are held: retry, skip, succeed or fail them");
}

#[tokio::test]
async fn a_verdict_on_held_branches_is_refused_where_it_means_nothing() {
    let world = World::new();
    let definition = on_failure(OnFailure::Hold, vec![task("bad", &[]), each(task("load", &["bad"]), 3)]);
    let run = world.begun(definition).await;
    let skip = json!({"verdict": "skip"});

    assert_eq!(
        told(&act(&world, &run, "tasks/bad/branches/held", skip.clone()).await),
        "`bad` is no for_each: it has no branches"
    );
    act(&world, &run, "tasks/none/branches/held", skip.clone()).await.problem(404, "not-found");
    for (body, place) in [
        (json!({"verdict": "approve"}), "/verdict"),
        (json!({}), "/verdict"),
        (json!({"verdict": "skip", "from": 10_001}), "/from"),
        (json!({"verdict": "skip", "note": ""}), "/note"),
    ] {
        let refused = act(&world, &run, "tasks/load/branches/held", body.clone()).await;
        assert_eq!(refused.problem(422, "invalid"), [place], "{body}");
    }
    let unborn = act(&world, &run, "tasks/load/branches/held", skip).await;
    assert_eq!((unborn.field("/decided"), unborn.field("/next_from")), (json!([]), Value::Null));
}

#[tokio::test]
async fn a_cancelled_run_runs_its_finally_and_a_second_cancel_stops_that_too() {
    let world = World::new();
    let definition = Definition {
        finally: vec![approval("bye", &[], &[Role::Operator])],
        ..Definition::new(vec![approval("ok", &[], &[Role::Operator])])
    };
    let run = world.begun(definition).await;

    let first = act(&world, &run, "cancel", json!({"note": "not today"})).await;
    world.carry_on().await;
    let in_finally = world.watch(&run).await;
    world.pass(7);
    let second = act(&world, &run, "cancel", json!({"note": "nor tomorrow"})).await;
    world.carry_on().await;
    let third = act(&world, &run, "cancel", json!({})).await;

    assert_eq!(first.status, 200, "{}", first.text);
    assert_eq!((&in_finally["status"], &in_finally["in_finally"]), (&json!("waiting"), &json!(true)));
    assert_eq!(in_finally["tasks"][1]["state"], "waiting");
    assert_eq!(second.status, 200, "{}", second.text);
    let over = world.watch(&run).await;
    assert_eq!((&over["status"], words(&over)), (&json!("cancelled"), vec!["cancelled", "cancelled"]));
    assert_eq!(told(&third), "the run is over: it is cancelled");
    let events = world.get(&format!("/v1/workflow-runs/{run}/events")).await;
    let cancels: Vec<_> = events
        .field("/items")
        .as_array()
        .unwrap()
        .iter()
        .filter(|it| it["type"] == "cancel_asked")
        .map(|it| (it["at"].clone(), it["note"].clone()))
        .collect();
    assert_eq!(cancels, [(json!(at(0)), json!("not today")), (json!(at(7)), json!("nor tomorrow"))]);
}

fn words(run: &Value) -> Vec<&str> {
    run["tasks"].as_array().unwrap().iter().map(|task| task["state"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn who_cancels_what_is_being_cancelled_is_answered_as_the_first() {
    let world = World::new();
    let run = world.begun(Definition::new(vec![task("slow", &[])])).await;

    let (first, second) = (act(&world, &run, "cancel", json!({})).await, act(&world, &run, "cancel", json!({})).await);

    assert_eq!((first.status.as_u16(), first.field("/stopping")), (200, json!("cancelled")));
    assert_eq!((second.status.as_u16(), second.json()), (200, first.json()));
    assert_eq!(first.field("/waiting_for"), "is being cancelled, when what is under way has ended: slow is running");
}

/// Given what its job says by then, the first half of it would be of one day and the second of another.
#[tokio::test]
async fn a_run_of_a_job_goes_on_with_what_it_was_given_whatever_the_job_says_by_then() {
    let world = World::new();
    let id = world.workflow(1, on_failure(OnFailure::FailFast, vec![task("good", &[]), task("bad", &["good"])])).await;
    let target = json!({"workflow": {"id": id}});
    let job = json!({"name": "daily", "schedule": {"on_demand": true}, "target": target, "payload": {"day": 1}});
    let job = world.job_of(job).await;
    let run = world.run_of(&job).await;
    world.carry_on().await;
    assert_eq!(world.patch(&format!("/v1/jobs/{job}"), json!({"payload": {"day": 2}})).await.status, 200);

    let resumed = act(&world, &run, "resume", json!({})).await.word("/workflow_run_id");
    world.work_tasks(|_, _| Some(succeeded())).await;

    let done = world.watch(&resumed).await;
    assert_eq!((&done["status"], &done["params"]), (&json!("succeeded"), &json!({"day": 1})), "{done}");
}

/// A called workflow is tried twice: the second try comes further than the first, or is cancelled before it begins.
///
/// Removed: what goes on with it goes on with the last try that unfolded. It went on with the first, and `flaky` was called once more though it had succeeded.
#[tokio::test]
async fn what_succeeded_in_the_last_try_of_a_called_workflow_is_not_done_again() {
    for (comes_further, left) in [(true, vec!["bad"]), (false, vec!["flaky", "bad"])] {
        let (world, called) = (World::new(), RefCell::new(Vec::new()));
        let tasks = vec![task("first", &[]), task("flaky", &["first"]), task("bad", &["flaky"])];
        let inner = world.workflow(2, Definition::new(tasks)).await;
        let outer = on_failure(OnFailure::Hold, vec![sub_workflow("sub", inner)]);
        let run = world.begun_as(outer, fails_but(&called, &[])).await;
        assert_eq!(called.take(), ["first", "flaky"]);

        act(&world, &run, "tasks/sub/retry", json!({})).await;
        if comes_further {
            world.work_tasks(fails_but(&called, &["flaky"])).await;
            assert_eq!(called.take(), ["first", "flaky", "bad"]);
        }
        act(&world, &run, "cancel", json!({})).await;
        world.work_tasks(fails_but(&called, &[])).await;
        let resumed = act(&world, &run, "resume", json!({})).await.word("/workflow_run_id");
        world.work_tasks(fails_but(&called, &["flaky", "bad"])).await;

        assert_eq!(called.take(), left);
        assert_eq!(world.watch(&resumed).await["status"], "succeeded");
    }
}

/// What is called is put down; `flaky` and `bad` fail, but for these.
fn fails_but(called: &RefCell<Vec<String>>, well: &[&str]) -> impl Fn(&str, &Run) -> Option<Outcome> {
    move |key, _| {
        called.borrow_mut().push(key.to_owned());
        let fails = ["flaky", "bad"].contains(&key) && !well.contains(&key);
        Some(if fails { failed(ErrorCode::Http5xx) } else { succeeded() })
    }
}

#[tokio::test]
async fn a_failed_run_is_resumed_once_and_both_say_so() {
    let world = World::new();
    let run = world.begun(on_failure(OnFailure::FailFast, vec![task("good", &[]), task("bad", &["good"])])).await;

    let resumed = act(&world, &run, "resume", json!({"note": "mended"})).await;
    let again = act(&world, &run, "resume", json!({"note": "mended"})).await;
    let new = resumed.word("/workflow_run_id");
    world.work_tasks(|_, _| Some(succeeded())).await;

    assert_eq!(resumed.status, 202, "{}", resumed.text);
    assert_eq!(resumed.header("location"), format!("/v1/workflow-runs/{new}"));
    assert_eq!(
        (again.status.as_u16(), again.header("idempotency-replayed"), again.word("/workflow_run_id")),
        (200, "true", new.clone())
    );
    let (old, done) = (world.watch(&run).await, world.watch(&new).await);
    assert_eq!((&old["resumed_by"], &done["resumes"]), (&json!(new), &json!(run)));
    assert_eq!((&done["status"], &done["origin"]), (&json!("succeeded"), &json!("resume")));
    assert_eq!(world.task(&new, "good").await["reused"], world.task(&run, "good").await["run_id"]);
    let events = world.get(&format!("/v1/workflow-runs/{new}/events")).await;
    assert_eq!((events.field("/items/0/type"), events.field("/items/0/note")), (json!("resumed"), json!("mended")));
    assert_eq!(
        told(&act(&world, &new, "resume", json!({})).await),
        "the run is succeeded: only one that failed, timed out or was cancelled is resumed"
    );
    let task = world.task(&run, "bad").await["run_id"].as_str().unwrap().to_owned();
    world.by(ACME_KEY, "POST", &format!("/v1/workflow-runs/{task}/resume"), None).await.problem(404, "not-found");
}

/// What was done before is answered also when the quota is used up; and a run of which there is another try is not resumed by that. Removed: that a run is
/// gone on with is not asked before the quota.
#[tokio::test]
async fn who_asks_again_to_resume_is_answered_whatever_is_left_of_the_quota() {
    let world = World::new();
    let run = world.begun(on_failure(OnFailure::FailFast, vec![task("bad", &[])])).await;
    let other = world.start(world.workflow(2, on_failure(OnFailure::FailFast, vec![task("bad", &[])])).await).await;
    world.carry_on().await;
    assert_eq!(world.tell(&format!("/v1/runs/{other}/retry")).await.status, 202);
    world.pass(60);
    world.put("/v1/quotas/acme", json!({"max_fires_per_minute": 1})).await;

    let resumed = act(&world, &run, "resume", json!({})).await;
    let again = act(&world, &run, "resume", json!({})).await;

    assert_eq!((resumed.status.as_u16(), again.status.as_u16()), (202, 200), "{}", again.text);
    assert_eq!(again.word("/workflow_run_id"), resumed.word("/workflow_run_id"));
    assert_eq!(act(&world, &other, "resume", json!({})).await.status, 429);
}

/// Removed, one after the other: whether its job was deleted, and whether its workflow was, is not asked (`still_carries_it_out`). The dead letter went, and
/// the new run was cancelled by nobody; or the tasks of a deleted workflow ran.
#[tokio::test]
async fn nothing_of_what_was_deleted_is_resumed() {
    let world = World::new();
    let definition = || on_failure(OnFailure::FailFast, vec![task("good", &[]), task("bad", &["good"])]);
    let of_another_job = async |number| {
        let id = world.workflow(number, definition()).await;
        let target = json!({"workflow": {"id": id}});
        let job = world.job_of(json!({"name": "j", "schedule": {"on_demand": true}, "target": target})).await;
        let run = world.run_of(&job).await;
        world.carry_on().await;
        (id, job, run)
    };
    let (_, deleted_job, of_the_job) = of_another_job(1).await;
    let (deleted_workflow, _, of_the_workflow) = of_another_job(2).await;
    let (_, later_deleted, resumed_before) = of_another_job(3).await;
    let first = act(&world, &resumed_before, "resume", json!({})).await;
    world.carry_on().await;
    for path in
        [format!("jobs/{deleted_job}"), format!("workflows/{deleted_workflow}"), format!("jobs/{later_deleted}")]
    {
        assert_eq!(world.delete(&format!("/v1/{path}")).await.status, 204);
    }

    for run in [&of_the_job, &of_the_workflow] {
        assert_eq!(
            told(&act(&world, run, "resume", json!({})).await),
            "the run is failed, and its job carries out something else by now, or that or its workflow was deleted"
        );
        assert_eq!(world.watch(run).await["resumed_by"], json!(null), "nothing is marked");
    }
    let again = act(&world, &resumed_before, "resume", json!({})).await;
    assert_eq!((again.status.as_u16(), again.word("/workflow_run_id")), (200, first.word("/workflow_run_id")));
}

/// Removed: whether what goes on with another run may begin is not asked of its workflow (`version_of`). Its tasks ran, of a workflow that was deleted.
#[tokio::test]
async fn a_resumed_run_calls_no_deleted_workflow() {
    let (world, called) = (World::new(), RefCell::new(Vec::new()));
    let inner = world.workflow(2, Definition::new(vec![task("good", &[]), task("bad", &["good"])])).await;
    let outer = on_failure(OnFailure::FailFast, vec![sub_workflow("sub", inner)]);
    let run = world.begun_as(outer, fails_but(&called, &[])).await;
    assert_eq!(called.take(), ["good", "bad"]);
    assert_eq!(world.delete(&format!("/v1/workflows/{inner}")).await.status, 204);

    let resumed = act(&world, &run, "resume", json!({})).await.word("/workflow_run_id");
    world.work_tasks(fails_but(&called, &["bad"])).await;

    assert_eq!(called.take(), [""; 0]);
    assert_eq!(world.watch(&resumed).await["status"], "failed");
}
