//! Dead letters: they are listed, grouped, tried again and dismissed; and notes, wherever somebody leaves one.

use minutehand_domain::job::Job;
use minutehand_domain::run::{AttemptError, ErrorCode, Outcome, Run};
use serde_json::{Value, json};

use crate::roles::keys;
use crate::world::{Answer, OTHER_KEY, World, failed, pages, succeeded};

fn died(code: ErrorCode, message: &str) -> Outcome {
    let error = AttemptError { retryable: false, ..code.error(message) };
    Outcome::Failed { error, retry_after: None }
}

/// A job that is run on demand, each of whose runs fails for good.
async fn job(world: &World, more: &Value) -> String {
    let mut fields = json!({"schedule": {"on_demand": true}, "retry": {"max_retries": 0}});
    for (name, value) in more.as_object().unwrap() {
        fields[name] = value.clone();
    }
    world.job_of(fields).await
}

/// A run of it that has failed by now.
async fn letter(world: &World, job: &str) -> String {
    let run = world.run_of(job).await;
    world.work(|_, _| died(ErrorCode::Http5xx, "503 Busy")).await;
    world.pass(1);
    run
}

async fn letters(world: &World, query: &str) -> Vec<Value> {
    let answer = world.get(&format!("/v1/dead-letters{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.items("run_id")
}

async fn redrive(world: &World, run: &str, body: Value) -> Answer {
    world.post(&format!("/v1/dead-letters/{run}/redrive"), body).await
}

#[tokio::test]
async fn a_run_that_failed_for_good_is_listed_until_it_is_tried_again_or_dismissed() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let (first, second, third) = (letter(&world, &job).await, letter(&world, &job).await, letter(&world, &job).await);
    let fine = world.run_of(&job).await;
    world.work(|_, _| succeeded()).await;
    assert_eq!(letters(&world, "").await, [&*third, &second, &first]);

    let again = redrive(&world, &first, json!({"note": "the disk is free"})).await;
    let dismissed = world.post(&format!("/v1/dead-letters/{second}/dismiss"), json!({"note": "by hand"})).await;

    assert_eq!((again.status.as_u16(), again.word("/redrive_of")), (202, first.clone()));
    assert_eq!(again.header("location"), format!("/v1/runs/{}", again.word("/run_id")));
    assert_eq!(again.word("/remarks/0/note"), "the disk is free");
    assert_eq!((dismissed.status.as_u16(), dismissed.word("/remarks/0/what")), (200, "dismissed".to_owned()));
    assert_eq!(letters(&world, "").await, [&*third]);
    let old = world.get(&format!("/v1/runs/{first}")).await;
    assert_eq!(old.word("/redriven_as"), again.word("/run_id"));
    let dismissed = world.get(&format!("/v1/runs/{second}")).await;
    assert_eq!((dismissed.word("/status"), dismissed.field("/dismissed_at").is_string()), ("failed".to_owned(), true));
    assert_eq!(world.get("/v1/runs?status=failed").await.items("run_id"), [&*third, &second, &first], "they stay runs");
    redrive(&world, &fine, json!({})).await.problem(409, "conflict");
}

#[tokio::test]
async fn a_second_redrive_is_answered_with_the_first_ones_run_and_a_retry_makes_another() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let run = letter(&world, &job).await;

    let first = redrive(&world, &run, json!({"note": "one"})).await;
    let second = redrive(&world, &run, json!({"note": "two"})).await;
    let third = world.post(&format!("/v1/runs/{run}/retry"), json!({"note": "three"})).await;

    assert_eq!((first.status.as_u16(), second.status.as_u16(), third.status.as_u16()), (202, 200, 202));
    assert_eq!(second.header("idempotency-replayed"), "true");
    assert_eq!(second.word("/run_id"), first.word("/run_id"));
    assert_ne!(third.word("/run_id"), first.word("/run_id"));
    let events = world.get(&format!("/v1/runs/{run}/events")).await;
    let told: Vec<_> = events.items("type").into_iter().zip(events.items("note")).collect();
    assert!(told.contains(&("redriven".into(), "one".into())) && told.contains(&("redriven".into(), "three".into())));
    assert!(!told.iter().any(|(_, note)| note == "two"), "{told:?}");
    assert_eq!(world.get(&format!("/v1/runs/{run}")).await.word("/redriven_as"), third.word("/run_id"));
}

#[tokio::test]
async fn a_second_redrive_with_something_else_is_refused_and_with_the_same_or_nothing_answered() {
    let world = World::new();
    let job = job(&world, &json!({"payload": {"to": "a"}})).await;
    let (edited, plain) = (letter(&world, &job).await, letter(&world, &job).await);
    let to = |to: &str| json!({"patch": [{"op": "replace", "path": "/to", "value": to}]});
    let large = json!({"payload": {"x": "y".repeat(60_000)}});
    let other = redrive(&world, &edited, to("b")).await.word("/run_id");
    redrive(&world, &plain, json!({})).await;
    let many = letter(&world, &job).await;
    redrive(&world, &many, large.clone()).await;

    for same in [json!({}), to("b"), json!({"payload": {"to": "b"}})] {
        let again = redrive(&world, &edited, same.clone()).await;
        assert_eq!((again.status.as_u16(), again.word("/run_id")), (200, other.clone()), "{same}");
    }
    assert_eq!(redrive(&world, &many, large.clone()).await.status, 200, "also what is kept apart");
    let misfit = json!({"patch": [{"op": "remove", "path": "/nowhere"}]});
    for (run, asked) in [(&edited, to("c")), (&edited, misfit), (&plain, to("b")), (&many, to("b")), (&edited, large)] {
        let refused = redrive(&world, run, asked).await;
        assert!(refused.word("/detail").contains("was given something else"), "{}", refused.text);
        refused.problem(409, "conflict");
    }
}

#[tokio::test]
async fn who_dismisses_first_stands_and_of_two_acts_one_is_done() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let (dismissed, redriven) = (letter(&world, &job).await, letter(&world, &job).await);
    let dismiss = async |run: &str, note: &str| {
        world.post(&format!("/v1/dead-letters/{run}/dismiss"), json!({"note": note})).await
    };
    assert_eq!(dismiss(&dismissed, "one").await.status, 200);
    assert_eq!(redrive(&world, &redriven, json!({})).await.status, 202);

    let again = dismiss(&dismissed, "two").await;

    assert_eq!((again.status.as_u16(), again.word("/remarks/0/note")), (200, "one".to_owned()));
    let no = redrive(&world, &dismissed, json!({})).await;
    assert!(no.word("/detail").contains("dismissed"), "{}", no.text);
    no.problem(409, "conflict");
    let no = dismiss(&redriven, "three").await;
    assert!(no.word("/detail").contains("tried again as run_"), "{}", no.text);
    no.problem(409, "conflict");
    assert_eq!(world.tell(&format!("/v1/runs/{dismissed}/retry")).await.status, 202, "asked for anew");
    assert!(world.get(&format!("/v1/runs/{dismissed}")).await.json().get("dismissed_at").is_none());
}

#[tokio::test]
async fn what_fails_again_is_a_letter_of_its_own() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let run = letter(&world, &job).await;
    let again = redrive(&world, &run, json!({})).await.word("/run_id");
    world.work(|_, _| died(ErrorCode::Http5xx, "503 Busy")).await;

    let listed = world.get("/v1/dead-letters?origin=redrive").await;

    assert_eq!((listed.items("run_id"), listed.items("redrive_of")), (vec![again.into()], vec![run.into()]));
}

#[tokio::test]
async fn a_redrive_may_edit_what_the_run_was_given() {
    let world = World::new();
    let payload = json!({"to": "a", "amount": 12_345_678_901_234_567_u64, "lines": [1, 2]});
    let job = job(&world, &json!({"payload": payload})).await;
    let (one, two, three) = (letter(&world, &job).await, letter(&world, &job).await, letter(&world, &job).await);
    let patch = json!([
        {"op": "test", "path": "/to", "value": "a"},
        {"op": "replace", "path": "/to", "value": "b"},
        {"op": "add", "path": "/lines/-", "value": null}
    ]);

    let patched = redrive(&world, &one, json!({"patch": patch})).await;
    let replaced = redrive(&world, &two, json!({"payload": {"x": "y".repeat(1000)}})).await;
    let misfit = redrive(&world, &three, json!({"patch": [{"op": "remove", "path": "/nowhere"}]})).await;

    let given = json!({"to": "b", "amount": 12_345_678_901_234_567_u64, "lines": [1, 2, null]});
    assert_eq!((patched.status.as_u16(), patched.field("/payload")), (202, given.clone()));
    assert_eq!(replaced.field("/payload/x"), "y".repeat(1000));
    assert_eq!(misfit.problem(422, "invalid"), ["/patch"]);
    assert_eq!(letters(&world, "").await, [&*three], "what was not done leaves it as it was");
    // And so is what the target receives.
    world.work_on(|_, _| None, |_| succeeded()).await;
    let stored = world.stored_run(&patched.word("/run_id")).await.unwrap();
    assert!(stored.payload.is_some() && stored.fence == 1);
}

#[tokio::test]
async fn a_redrive_that_says_nothing_sensible_is_refused_field_by_field() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let run = letter(&world, &job).await;
    for (body, pointers) in [
        (json!({"payload": 1, "patch": [{"op": "remove", "path": "/a"}]}), &["/patch"][..]),
        (json!({"patch": []}), &["/patch"]),
        (json!({"patch": [{"op": "add", "path": "a", "value": 1}]}), &["/patch/0/path"]),
        (json!({"patch": [{"op": "add", "path": "/a"}]}), &["/patch/0/value"]),
        (json!({"patch": [{"op": "swap", "path": "/a"}]}), &["/patch/0/op"]),
        (json!({"note": "a\nb"}), &["/note"]),
        (json!({"note": "x".repeat(1001)}), &["/note"]),
        (json!({"nota": "x"}), &["/nota"]),
        (json!({"payload": {"secret": "none such"}}), &["/payload"]),
    ] {
        assert_eq!(redrive(&world, &run, body.clone()).await.problem(422, "invalid"), pointers, "{body}");
    }
    for (body, pointer) in [
        (json!({"payload": {"secret": "absent"}}), "/payload"),
        (json!({"patch": [{"op": "add", "path": "", "value": {"secret": "absent"}}]}), "/patch/0/value"),
    ] {
        assert_eq!(redrive(&world, &run, body.clone()).await.problem(422, "invalid"), [pointer], "{body}");
    }
    redrive(&world, &run, json!({"payload": "x".repeat(300_000)})).await.problem(413, "too-large");
    redrive(&world, "run_00", json!({})).await.problem(404, "not-found");
    assert_eq!(letters(&world, "").await, [&*run]);
    assert_eq!(redrive(&world, &run, json!({"note": "x".repeat(1000)})).await.status, 202);
}

#[tokio::test]
async fn a_letter_of_a_deleted_job_is_dismissed_and_not_tried_again() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let run = letter(&world, &job).await;
    assert_eq!(world.delete(&format!("/v1/jobs/{job}?note=old")).await.status, 204);

    redrive(&world, &run, json!({})).await.problem(409, "conflict");
    let dismissed = world.tell(&format!("/v1/dead-letters/{run}/dismiss")).await;

    assert_eq!((dismissed.status.as_u16(), letters(&world, "").await.len()), (200, 0));
    assert_eq!(world.get(&format!("/v1/jobs/{job}")).await.word("/last_change/note"), "old");
}

#[tokio::test]
async fn letters_are_filtered() {
    let world = World::new();
    let one = job(&world, &json!({"tags": ["billing"], "priority": "high"})).await;
    let two = job(&world, &json!({})).await;
    let (a, b) = (world.run_of(&one).await, world.run_of(&two).await);
    let ends = |job: &Job, _: &Run| {
        if job.definition.tags.is_empty() { Outcome::TimedOut } else { died(ErrorCode::Dns, "no address") }
    };
    world.work(ends).await;
    world.pass(1);
    let from = "2027-01-15T08:00:00.000Z";

    for (query, found) in [
        ("?tag=billing".to_owned(), vec![&a]),
        ("?tag=nothing".to_owned(), vec![]),
        (format!("?job_id={two}"), vec![&b]),
        ("?error=dns".to_owned(), vec![&a]),
        ("?error=timeout_total&status=timed_out".to_owned(), vec![&b]),
        ("?status=failed".to_owned(), vec![&a]),
        ("?priority=high".to_owned(), vec![&a]),
        ("?origin=schedule".to_owned(), vec![]),
        (format!("?to={from}"), vec![]),
        (format!("?from={from}&status=failed"), vec![&a]),
    ] {
        let found: Vec<Value> = found.into_iter().map(|run| run.as_str().into()).collect();
        assert_eq!(letters(&world, &query).await, found, "{query}");
    }
    for (query, pointer) in [
        ("?job_id=x", "?job_id"),
        ("?status=succeeded", "?status"),
        ("?tag=", "?tag"),
        ("?limit=0", "?limit"),
        ("?from=2027-01-15T08:00:00Z&to=2027-01-15T07:00:00Z", "?from"),
        ("?reason=x", "?reason"),
    ] {
        assert_eq!(world.get(&format!("/v1/dead-letters{query}")).await.problem(422, "invalid"), [pointer], "{query}");
    }
}

#[tokio::test]
async fn pages_hold_each_letter_once_and_a_cursor_is_good_for_its_query_alone() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let mut runs = Vec::new();
    for _ in 0..7 {
        runs.push(Value::from(letter(&world, &job).await));
    }
    runs.reverse();

    let read = pages(&world, "/v1/dead-letters?limit=3", "run_id", async || {}).await;

    assert_eq!(read.concat(), runs);
    let cursor = world.get("/v1/dead-letters?limit=3").await.word("/next_cursor");
    let foreign = world.get(&format!("/v1/dead-letters?status=failed&cursor={cursor}")).await;
    assert_eq!(foreign.problem(422, "invalid"), ["?cursor"]);
    let others = world.by(OTHER_KEY, "GET", &format!("/v1/dead-letters?limit=3&cursor={cursor}"), None).await;
    assert_eq!(others.problem(422, "invalid"), ["?cursor"]);
}

#[tokio::test]
async fn letters_that_died_of_the_same_are_one_group() {
    let world = World::new();
    let one = job(&world, &json!({})).await;
    let two = job(&world, &json!({})).await;
    let mut samples = Vec::new();
    for (number, job) in [(1, &one), (2, &one), (3, &two)] {
        let run = world.run_of(job).await;
        world.work(|_, _| died(ErrorCode::Http5xx, &format!("503 order {number}: \"top secret\""))).await;
        world.pass(10);
        samples.push(run);
    }

    let groups = world.get("/v1/dead-letters/groups").await;

    assert_eq!(groups.items("count"), [2, 1]);
    assert_eq!(
        (groups.word("/items/0/error"), groups.word("/items/0/message")),
        ("http_5xx".to_owned(), "# order #: \"#\"".to_owned())
    );
    assert_eq!((groups.word("/items/0/job_id"), groups.word("/items/0/sample_run_id")), (one, samples[1].clone()));
    assert!(groups.word("/items/0/first_at") < groups.word("/items/0/last_at"));
    assert_eq!((groups.field("/letters"), groups.field("/complete")), (3.into(), true.into()));
    assert!(!groups.text.contains("top secret"), "{}", groups.text);
    let cut = world.get("/v1/dead-letters/groups?limit=1").await;
    assert_eq!((cut.items("count"), cut.field("/complete")), (vec![2.into()], false.into()));
    assert_eq!(world.get("/v1/dead-letters/groups?error=dns").await.field("/letters"), 0);
}

/// Neither what a run was given nor a secret stands in a group.
#[tokio::test]
async fn a_group_shows_no_payload_and_no_secret() {
    let world = World::new();
    world.put("/v1/secrets/token", json!({"value": "hunter2"})).await;
    let job = job(&world, &json!({"payload": {"card": "4111111111111111", "auth": {"secret": "token"}}})).await;
    letter(&world, &job).await;

    let groups = world.get("/v1/dead-letters/groups").await;

    for hidden in ["4111", "hunter2", "token", "card"] {
        assert!(!groups.text.contains(hidden), "{hidden}: {}", groups.text);
    }
}

/// Each is answered within an answer that is 200.
///
/// Removed: who tells of what stands within an answer. Neither what was refused was counted, nor what had been done before.
#[tokio::test]
async fn what_is_refused_or_was_done_of_many_is_counted() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let ids = [letter(&world, &job).await, letter(&world, &job).await, letter(&world, &job).await];
    world.put("/v1/quotas/acme", json!({"max_fires_per_minute": 1})).await;

    let asked = world.post("/v1/dead-letters/redrive", json!({"run_ids": ids})).await;
    let refused = world.counted("quota_refusals runs");
    world.pass(600);
    world.put("/v1/quotas/acme", json!({})).await;
    let again = world.post("/v1/dead-letters/redrive", json!({"run_ids": ids})).await;

    let statuses = |answer: &Answer| -> Vec<u64> {
        let results = answer.field("/results");
        results.as_array().unwrap().iter().map(|result| result["status"].as_u64().unwrap()).collect()
    };
    let count = |answer: &Answer, status| statuses(answer).into_iter().filter(|it| *it == status).count();
    assert_eq!((count(&asked, 202), count(&asked, 429), refused), (1, 2, 2), "{}", asked.text);
    assert_eq!((count(&again, 202), count(&again, 200)), (2, 1), "{}", again.text);
    assert_eq!(world.counted("duplicates_prevented idempotency_key"), 1);
}

#[tokio::test]
async fn many_are_done_in_one_request_each_on_its_own() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let (one, two) = (letter(&world, &job).await, letter(&world, &job).await);
    let ids = json!([one, "run_00", two, one]);

    let redriven = world.post("/v1/dead-letters/redrive", json!({"run_ids": ids, "note": "all of them"})).await;
    let again = world.post("/v1/dead-letters/redrive", json!({"run_ids": ids})).await;
    let dismissed = world.post("/v1/dead-letters/dismiss", json!({"run_ids": ids})).await;

    let told = |answer: &Answer| {
        let results = answer.field("/results").as_array().unwrap().clone();
        results.iter().map(|result| (result["run_id"].clone(), result["status"].clone())).collect::<Vec<_>>()
    };
    let ids = [one.as_str(), "run_00", two.as_str()];
    let statuses = |all: [u16; 3]| ids.iter().map(|id| Value::from(*id)).zip(all.map(Value::from)).collect::<Vec<_>>();
    assert_eq!(redriven.status, 200, "{}", redriven.text);
    assert_eq!(told(&redriven), statuses([202, 404, 202]));
    assert_eq!(told(&again), statuses([200, 404, 200]));
    assert_eq!(told(&dismissed), statuses([409, 404, 409]));
    assert_eq!(redriven.word("/results/0/run/redrive_of"), one);
    assert_eq!(redriven.word("/results/1/problem/type"), "/problems/not-found");
    assert_eq!(again.word("/results/2/run/run_id"), redriven.word("/results/2/run/run_id"));
}

#[tokio::test]
async fn a_filter_finds_a_hundred_at_a_time() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    for _ in 0..103 {
        world.run_of(&job).await;
    }
    world.work(|_, _| died(ErrorCode::Dns, "no address")).await;
    world.pass(1);
    let filter = json!({"job_id": job, "error": "dns"});

    let first = world.post("/v1/dead-letters/dismiss", json!({"filter": filter, "note": "gone"})).await;
    let cursor = first.word("/next_cursor");
    let second = world.post("/v1/dead-letters/dismiss", json!({"filter": filter, "cursor": cursor})).await;

    let count = |answer: &Answer| answer.field("/results").as_array().unwrap().len();
    assert_eq!((count(&first), count(&second), second.field("/next_cursor")), (100, 3, Value::Null));
    assert_eq!(letters(&world, "").await.len(), 0);
    assert_eq!(world.post("/v1/dead-letters/dismiss", json!({"filter": {}})).await.field("/results"), json!([]));
    for (body, pointer) in [
        (json!({}), ""),
        (json!({"run_ids": []}), "/run_ids"),
        (json!({"run_ids": vec!["run_00"; 101]}), "/run_ids"),
        (json!({"run_ids": ["run_00"], "filter": {}}), "/filter"),
        (json!({"filter": {"tag": ""}}), "/filter/tag"),
        (json!({"filter": {"tags": "a"}}), "/filter/tags"),
        (json!({"filter": {}, "cursor": "0"}), "?cursor"),
    ] {
        let refused = world.post("/v1/dead-letters/dismiss", body.clone()).await;
        assert_eq!(refused.problem(422, "invalid"), [pointer], "{body}");
    }
}

#[tokio::test]
async fn another_tenants_letters_are_nobodys() {
    let world = World::new();
    let job = job(&world, &json!({})).await;
    let run = letter(&world, &job).await;

    let by_other = async |method: &str, path: &str, body: Option<Value>| world.by(OTHER_KEY, method, path, body).await;

    assert_eq!(by_other("GET", "/v1/dead-letters", None).await.items("run_id"), [Value::Null; 0]);
    assert_eq!(by_other("GET", "/v1/dead-letters/groups", None).await.field("/letters"), 0);
    by_other("POST", &format!("/v1/dead-letters/{run}/redrive"), None).await.problem(404, "not-found");
    by_other("POST", &format!("/v1/dead-letters/{run}/dismiss"), None).await.problem(404, "not-found");
    for what in ["redrive", "dismiss"] {
        let named = json!({"run_ids": [run]});
        let answer = by_other("POST", &format!("/v1/dead-letters/{what}"), Some(named)).await;
        assert_eq!(answer.field("/results/0/status"), 404);
        let found = by_other("POST", &format!("/v1/dead-letters/{what}"), Some(json!({"filter": {}}))).await;
        assert_eq!(found.field("/results"), json!([]));
    }
    assert_eq!(letters(&world, "").await, [&*run]);
}

/// A task's failure is its workflow's; a run that failed and is gone on with has been seen to.
#[tokio::test]
async fn what_is_cancelled_skipped_or_under_way_is_no_letter() {
    let world = World::new();
    let job = job(&world, &json!({"retry": {"max_retries": 3}})).await;
    let (cancelled, waits) = (world.run_of(&job).await, world.run_of(&job).await);
    world.tell(&format!("/v1/runs/{cancelled}/cancel")).await;
    world.work(|_, _| failed(ErrorCode::Connect)).await;

    assert_eq!(letters(&world, "").await.len(), 0, "it is tried again");
    for run in [cancelled, waits] {
        redrive(&world, &run, json!({})).await.problem(409, "conflict");
        world.tell(&format!("/v1/dead-letters/{run}/dismiss")).await.problem(409, "conflict");
    }
}

/// Each act has its record, with the note; what was refused says so.
#[tokio::test]
async fn notes_are_kept_with_who_and_when_and_stand_in_the_audit() {
    let world = World::new();
    let [_, operator, ..] = keys(&world).await;
    let by = operator.split('_').nth(2).unwrap().to_owned();
    let job = job(&world, &json!({})).await;
    let run = letter(&world, &job).await;
    let waits = world.run_of(&job).await;
    let act = async |method: &str, path: String, note: Option<&str>| {
        let answer = world.by(&operator, method, &path, note.map(|note| json!({"note": note}))).await;
        assert!(answer.status.is_success(), "{path}: {}", answer.text);
        world.pass(1);
        answer
    };

    let paused = act("POST", format!("/v1/jobs/{job}/pause"), Some("until Monday")).await;
    let twice = act("POST", format!("/v1/jobs/{job}/pause"), Some("too late")).await;
    let resumed = act("POST", format!("/v1/jobs/{job}/resume"), None).await;
    let cancelled = act("POST", format!("/v1/runs/{waits}/cancel"), Some("wrong day")).await;
    let retried = act("POST", format!("/v1/runs/{run}/retry"), Some("the disk is free")).await;
    act("DELETE", format!("/v1/jobs/{job}?note=nobody%20needs%20it"), None).await;

    assert_eq!(
        (paused.word("/last_change/note"), twice.word("/last_change/note")),
        ("until Monday".to_owned(), "until Monday".to_owned())
    );
    assert!(paused.word("/last_change/by").contains(&by) && paused.field("/last_change/at").is_string());
    assert!(resumed.json().get("last_change").is_none());
    assert_eq!(cancelled.word("/remarks/0/note"), "wrong day");
    assert_eq!(retried.word("/remarks/0/what"), "asked_again");
    let events = world.get(&format!("/v1/runs/{}/events", retried.word("/run_id"))).await;
    assert_eq!(events.field("/items/0/note"), "the disk is free");
    let audit = world.get("/v1/audit").await;
    let told: Vec<_> = audit.items("deed").into_iter().zip(audit.items("note")).take(6).collect();
    let wanted = [
        ("job.delete", json!("nobody needs it")),
        ("run.retry", json!("the disk is free")),
        ("run.cancel", json!("wrong day")),
        ("job.resume", Value::Null),
        ("job.pause", json!("too late")),
        ("job.pause", json!("until Monday")),
    ];
    assert_eq!(told, wanted.map(|(deed, note)| (deed.into(), note)));
    world.post(&format!("/v1/jobs/{job}/pause"), json!({"note": ""})).await.problem(422, "invalid");
    assert_eq!(world.delete(&format!("/v1/jobs/{job}?nota=x")).await.problem(422, "invalid"), ["?nota"]);
}
