//! Asking for runs: of a job now, and another try at one that came to nothing.

use std::sync::Arc;

use minutehand_domain::body::Body;
use minutehand_domain::id::RunKey;
use minutehand_domain::idempotency::{Asked, AskedName, Fingerprint};
use minutehand_domain::run::{ErrorCode, Outcome, Run, Skip, SkippedSpan};
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{Answer, OTHER_KEY, START, World, acme, at, failed, succeeded};

async fn on_demand(world: &World) -> String {
    world.job(json!({"on_demand": true})).await
}

/// A run that came to nothing, of a job that does not try again.
async fn lost_run(world: &World, given: Value) -> (String, String) {
    let fields = json!({"schedule": {"on_demand": true}, "retry": {"max_retries": 0}, "payload": {"of": "job"}});
    let job = world.job_of(fields).await;
    let run = world.post(&format!("/v1/jobs/{job}/run"), given).await.word("/run_id");
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;
    (job, run)
}

async fn keyed(world: &World, path: &str, key: &str, body: Option<Value>) -> Answer {
    world.with(("idempotency-key", key), "POST", path, body).await
}

async fn runs_of(world: &World, job: &str) -> usize {
    world.get(&format!("/v1/jobs/{job}/runs?from={}", at(0))).await.items("run_id").len()
}

#[tokio::test]
async fn without_a_key_two_askings_are_two_runs() {
    let world = World::new();
    let job = on_demand(&world).await;

    let (one, two) = (world.run_of(&job).await, world.run_of(&job).await);

    assert_ne!(one, two);
    assert_eq!(runs_of(&world, &job).await, 2);
}

#[tokio::test]
async fn the_same_key_and_request_again_is_the_same_run() {
    let world = World::new();
    let job = on_demand(&world).await;
    let path = format!("/v1/jobs/{job}/run");
    let first = keyed(&world, &path, "k", Some(json!({"payload": [1]}))).await;
    world.pass(100);

    let again = keyed(&world, &path, "k", Some(json!({"payload": [1]}))).await;
    let in_body = world.post(&path, json!({"idempotency_key": "k", "payload": [1]})).await;
    let both = keyed(&world, &path, "k", Some(json!({"payload": [1], "idempotency_key": "k"}))).await;

    assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (202, ""));
    for replay in [again, in_body, both] {
        assert_eq!((replay.status.as_u16(), replay.header("idempotency-replayed")), (200, "true"));
        assert_eq!((replay.header("location"), &replay.text), ("", &first.text));
    }
    assert_eq!(runs_of(&world, &job).await, 1);
}

#[tokio::test]
async fn a_replay_shows_the_run_as_it_has_become() {
    let world = World::new();
    let job = on_demand(&world).await;
    let path = format!("/v1/jobs/{job}/run");
    let first = keyed(&world, &path, "k", None).await;
    world.work(|_, _| succeeded()).await;
    world.delete(&format!("/v1/jobs/{job}")).await;

    let again = keyed(&world, &path, "k", None).await;

    assert_eq!((again.status.as_u16(), again.field("/status")), (200, json!("succeeded")));
    assert_eq!(again.field("/run_id"), first.field("/run_id"));
    keyed(&world, &path, "l", None).await.problem(409, "conflict");
}

#[tokio::test]
async fn the_same_key_for_anything_else_is_refused() {
    let world = World::new();
    let (job, run) = lost_run(&world, json!({})).await;
    let other = on_demand(&world).await;
    let path = format!("/v1/jobs/{job}/run");
    keyed(&world, &path, "k", Some(json!({"payload": 1}))).await;

    for (path, body) in [
        (path.clone(), Some(json!({"payload": 2}))),
        (path.clone(), Some(json!({}))),
        (path, None),
        (format!("/v1/jobs/{other}/run"), Some(json!({"payload": 1}))),
        (format!("/v1/runs/{run}/retry"), Some(json!({"payload": 1}))),
    ] {
        let answer = keyed(&world, &path, "k", body.clone()).await;

        assert_eq!(answer.problem(422, "idempotency-key-reused"), ["/idempotency_key"], "{path} {body:?}");
    }
    assert_eq!((runs_of(&world, &job).await, runs_of(&world, &other).await), (2, 0));
}

#[tokio::test]
async fn a_key_of_a_run_is_none_of_a_job_or_of_another_tenant() {
    let world = World::new();
    let job = on_demand(&world).await;
    let create = json!({"target": {"noop": {}}, "schedule": {"on_demand": true}, "idempotency_key": "k"});
    let theirs = world.by(OTHER_KEY, "POST", "/v1/jobs", Some(create.clone())).await.word("/job_id");
    let body = json!({"idempotency_key": "k"});

    let ours = world.post(&format!("/v1/jobs/{job}/run"), body.clone()).await;
    let made = world.post("/v1/jobs", create).await;
    let theirs = world.by(OTHER_KEY, "POST", &format!("/v1/jobs/{theirs}/run"), Some(body)).await;

    assert_eq!([&ours, &made, &theirs].map(|answer| answer.status.as_u16()), [202, 201, 202]);
}

#[tokio::test]
async fn a_key_has_bounds_and_header_and_field_agree() {
    let world = World::new();
    let job = on_demand(&world).await;
    let path = format!("/v1/jobs/{job}/run");

    for answer in [
        keyed(&world, &path, "", None).await,
        keyed(&world, &path, &"k".repeat(256), None).await,
        keyed(&world, &path, "k", Some(json!({"idempotency_key": "l"}))).await,
        world.post(&path, json!({"idempotency_key": "a\nb"})).await,
    ] {
        assert_eq!(answer.problem(422, "invalid"), ["/idempotency_key"]);
    }
    assert_eq!(runs_of(&world, &job).await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_24_racing_askings_with_one_key_one_makes_the_run() {
    let world = Arc::new(World::new());
    let (job, run) = lost_run(&world, json!({})).await;
    for path in [format!("/v1/jobs/{job}/run"), format!("/v1/runs/{run}/retry")] {
        let before = runs_of(&world, &job).await;
        let racing: Vec<_> = (0..24)
            .map(|_| {
                let (world, path) = (Arc::clone(&world), path.clone());
                tokio::spawn(async move { keyed(&world, &path, &path, Some(json!({"payload": 7}))).await })
            })
            .collect();

        let (mut made, mut runs) = (0, Vec::new());
        for each in racing {
            let answer = each.await.unwrap();
            made += u32::from(answer.status == 202);
            assert!(answer.status == 202 || answer.header("idempotency-replayed") == "true", "{}", answer.text);
            runs.push(answer.word("/run_id"));
        }

        runs.dedup();
        assert_eq!((made, runs.len(), runs_of(&world, &job).await), (1, 1, before + 1), "{path}");
    }
}

/// A key is answered with a run that is yet to be made.
async fn name(world: &World, key: &str, path: &str, body: &str, run: RunKey) {
    let fingerprint = Fingerprint::of(&format!("POST {path}"), body, "idempotency_key").unwrap();
    let asked = Asked { name: AskedName::of(key), fingerprint, run, until: None };
    assert!(world.ports.store().put(&acme(), asked.name, &asked, Guard::Absent).await.unwrap().is_written());
}

/// The crash comes between the answer that the key names and the run: a repeated request makes just that run.
#[tokio::test]
async fn who_asks_again_after_a_crash_makes_the_run_that_was_named() {
    let world = World::new();
    let (job, run) = lost_run(&world, json!({})).await;
    let id = job.parse().unwrap();
    for (path, named) in [
        (format!("/v1/jobs/{job}/run"), RunKey::manual(id, START, 7)),
        (format!("/v1/runs/{run}/retry"), RunKey::redrive(id, START, 8)),
    ] {
        let body = json!({"payload": 1});
        name(&world, &path, &path, &body.to_string(), named).await;
        world.pass(30);

        let first = keyed(&world, &path, &path, Some(body.clone())).await;
        let again = keyed(&world, &path, &path, Some(body)).await;

        assert_eq!((first.status.as_u16(), first.field("/run_id")), (202, json!(named.to_string())), "{}", first.text);
        assert_eq!((again.status.as_u16(), again.field("/run_id")), (200, json!(named.to_string())));
        world.work(|_, _| succeeded()).await;
        assert_eq!(world.get(&format!("/v1/runs/{named}")).await.field("/status"), "succeeded");
    }
}

/// The run that a key named was over and has expired. Removed: it is made once more under the id that it had, and an archive has two runs of one id.
#[tokio::test]
async fn a_key_whose_run_has_expired_names_another() {
    let world = World::new();
    let job = on_demand(&world).await;
    let path = format!("/v1/jobs/{job}/run");
    let gone = RunKey::manual(job.parse().unwrap(), START, 7);
    name(&world, "k", &path, "{}", gone).await;
    world.pass(4 * 86_400);

    let first = keyed(&world, &path, "k", None).await;
    let again = keyed(&world, &path, "k", None).await;

    assert_eq!((first.status.as_u16(), again.status.as_u16()), (202, 200));
    assert_ne!(first.word("/run_id"), gone.to_string());
    assert_eq!(first.word("/run_id"), again.word("/run_id"));
}

/// Whoever named the run is about to make it, and the clock of whoever asks next is two days ahead: or that run was kept for a day, and has gone.
/// Removed: a run that is named and found nowhere is held for one that has expired as soon as a run may. It was made twice.
#[tokio::test]
async fn a_clock_that_is_days_ahead_makes_no_other_run_than_was_named() {
    let world = World::new();
    let job = on_demand(&world).await;
    let path = format!("/v1/jobs/{job}/run");
    let named = RunKey::manual(job.parse().unwrap(), START, 7);
    name(&world, "k", &path, "{}", named).await;
    world.pass(2 * 86_400);

    let answer = keyed(&world, &path, "k", None).await;

    assert_eq!(answer.problem(409, "conflict"), Vec::<String>::new());
    assert_eq!(runs_of(&world, &job).await, 0);
}

/// A promise whose asker slept too long ends as a record; the key is not lost to it.
#[tokio::test]
async fn a_key_whose_run_was_given_up_names_another() {
    let world = World::new();
    let job = on_demand(&world).await;
    let path = format!("/v1/jobs/{job}/run");
    let given_up = RunKey::manual(job.parse().unwrap(), START, 7);
    name(&world, "k", &path, "{}", given_up).await;
    put(
        &world,
        &Run::new(acme(), given_up, minutehand_domain::priority::Priority::Normal).skipped(
            Skip::Abandoned,
            None,
            START,
        ),
    )
    .await;

    let first = keyed(&world, &path, "k", None).await;
    let again = keyed(&world, &path, "k", None).await;

    assert_eq!((first.status.as_u16(), again.status.as_u16()), (202, 200));
    assert_ne!(first.field("/run_id"), json!(given_up.to_string()));
    assert_eq!(first.field("/run_id"), again.field("/run_id"));
}

#[tokio::test]
async fn a_run_is_carried_out_with_the_payload_it_was_given() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "payload": {"of": "job"}})).await;
    let path = format!("/v1/jobs/{job}/run");
    let large = "x".repeat(3000);

    for (body, payload) in [
        (json!({}), json!({"of": "job"})),
        (json!({"payload": null}), json!({"of": "job"})),
        (json!({"payload": {"of": "run"}}), json!({"of": "run"})),
        (json!({"payload": large}), json!(large)),
        (json!({"payload": false}), json!(false)),
    ] {
        let answer = world.post(&path, body.clone()).await;

        assert_eq!((answer.status.as_u16(), answer.field("/payload")), (202, payload.clone()), "{body}");
        assert_eq!(world.get(answer.header("location")).await.field("/payload"), payload);
    }
    let too_large = world.post(&path, json!({"payload": "x".repeat(256 * 1024)})).await;
    assert_eq!(too_large.problem(413, "too-large"), ["/payload"]);
}

#[tokio::test]
async fn a_paused_job_may_be_asked_and_a_deleted_one_not() {
    let world = World::new();
    let (job, run) = lost_run(&world, json!({})).await;
    world.tell(&format!("/v1/jobs/{job}/pause")).await;

    let asked = world.run_of(&job).await;
    let again = world.tell(&format!("/v1/runs/{run}/retry")).await.word("/run_id");
    world.work(|_, _| succeeded()).await;
    world.delete(&format!("/v1/jobs/{job}")).await;

    for id in [asked, again] {
        assert_eq!(world.get(&format!("/v1/runs/{id}")).await.field("/status"), "succeeded");
    }
    world.tell(&format!("/v1/jobs/{job}/run")).await.problem(409, "conflict");
    world.tell(&format!("/v1/runs/{run}/retry")).await.problem(409, "conflict");
}

#[tokio::test]
async fn a_retry_is_a_run_that_names_the_one_it_is_another_try_at() {
    let world = World::new();
    let (job, run) = lost_run(&world, json!({"payload": {"of": "run"}})).await;
    world.pass(50);

    let answer = world.tell(&format!("/v1/runs/{run}/retry")).await;

    assert_eq!(answer.status, 202, "{}", answer.text);
    let id = answer.word("/run_id");
    assert_eq!(answer.header("location"), format!("/v1/runs/{id}"));
    assert_eq!(
        answer.json(),
        json!({
            "run_id": id, "job_id": job, "status": "queued", "reason": null, "scheduled_at": at(50),
            "effective_at": at(50), "started_at": null, "finished_at": null, "priority": "normal",
            "payload": {"of": "run"}, "result": null, "progress": null, "attempts": [], "origin": "redrive",
            "redrive_of": run, "workflow_run_id": null, "task_key": null,
            "trace": {"trace_id": answer.field("/trace/trace_id"), "sampled": true},
        })
    );
    world.work(|_, _| succeeded()).await;
    assert_eq!(world.get(&format!("/v1/runs/{id}")).await.field("/status"), "succeeded");
    let before = world.get(&format!("/v1/runs/{run}")).await;
    assert_eq!((before.field("/status"), before.field("/redrive_of")), (json!("failed"), Value::Null));
}

#[tokio::test]
async fn a_retry_is_given_what_its_run_was_given_or_something_else() {
    let world = World::new();
    let large = json!("x".repeat(3000));
    for (given, edited, payload) in [
        (json!({}), None, json!({"of": "job"})),
        (json!({"payload": 1}), None, json!(1)),
        (json!({"payload": large}), None, large.clone()),
        (json!({"payload": 1}), Some(json!({"payload": {"edited": true}})), json!({"edited": true})),
        (json!({}), Some(json!({"payload": large})), large.clone()),
        (json!({"payload": 1}), Some(json!({"payload": null})), json!(1)),
    ] {
        let (_, run) = lost_run(&world, given.clone()).await;

        let answer = match edited.clone() {
            Some(body) => world.post(&format!("/v1/runs/{run}/retry"), body).await,
            None => world.tell(&format!("/v1/runs/{run}/retry")).await,
        };

        assert_eq!((answer.status.as_u16(), answer.field("/payload")), (202, payload), "{given} {edited:?}");
    }
}

#[tokio::test]
async fn a_retry_of_a_retry_names_the_retry() {
    let world = World::new();
    let (_, first) = lost_run(&world, json!({})).await;
    let second = world.tell(&format!("/v1/runs/{first}/retry")).await.word("/run_id");
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;

    let third = world.tell(&format!("/v1/runs/{second}/retry")).await;

    assert_eq!(third.field("/redrive_of"), json!(second));
}

#[tokio::test]
async fn what_came_to_nothing_can_be_tried_again() {
    let world = World::new();
    let fields = json!({"schedule": {"on_demand": true}, "retry": {"max_retries": 0}});
    let job = world.job_of(fields).await;
    let failed_run = world.run_of(&job).await;
    world.work(|_, _| failed(ErrorCode::Http4xx)).await;
    let timed_out = world.run_of(&job).await;
    world.work(|_, _| Outcome::TimedOut).await;
    let cancelled = world.run_of(&job).await;
    world.tell(&format!("/v1/runs/{cancelled}/cancel")).await;
    let skipped = RunKey::occurrence(job.parse().unwrap(), START);
    let span = SkippedSpan { until: START, count: Some(1) };
    put(
        &world,
        &Run::new(acme(), skipped, minutehand_domain::priority::Priority::Normal).skipped(
            Skip::Paused,
            Some(span),
            START,
        ),
    )
    .await;

    for (run, status) in
        [(failed_run, "failed"), (timed_out, "timed_out"), (cancelled, "cancelled"), (skipped.to_string(), "skipped")]
    {
        assert_eq!(world.get(&format!("/v1/runs/{run}")).await.field("/status"), status);

        let answer = world.tell(&format!("/v1/runs/{run}/retry")).await;

        assert_eq!((answer.status.as_u16(), answer.field("/redrive_of")), (202, json!(run)), "{status}");
        assert!(answer.json().get("count").is_none(), "it stands for itself alone");
    }
}

#[tokio::test]
async fn what_is_under_way_or_succeeded_is_not_tried_again() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"every_seconds": 60}})).await;
    let ahead = world.get(&format!("/v1/jobs/{job}")).await.word("/next_run_id");
    let queued = world.run_of(&job).await;
    world.tell(&format!("/v1/runs/{queued}/retry")).await.problem(409, "conflict");

    world.work(|_, _| failed(ErrorCode::Http5xx)).await;
    assert_eq!(world.get(&format!("/v1/runs/{queued}")).await.field("/status"), "scheduled", "it waits out a backoff");
    world.tell(&format!("/v1/runs/{queued}/retry")).await.problem(409, "conflict");

    let good = world.run_of(&job).await;
    world.work(|_, _| succeeded()).await;
    world.tell(&format!("/v1/runs/{good}/retry")).await.problem(409, "conflict");

    // Nobody has claimed it, so that there is no record of it; but whoever may read it is told why not.
    world.tell(&format!("/v1/runs/{ahead}/retry")).await.problem(409, "conflict");
}

/// It is shown as skipped, by the record that speaks for it: what is shown can be tried again.
#[tokio::test]
async fn an_occurrence_that_another_record_speaks_for_can_be_tried_again() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let id = job.parse().unwrap();
    let minute = |n: u64| START + std::time::Duration::from_secs(60 * n);
    world.pass(600);
    let span = SkippedSpan { until: minute(10), count: Some(9) };
    put(
        &world,
        &Run::new(acme(), RunKey::occurrence(id, minute(1)), minutehand_domain::priority::Priority::Normal).skipped(
            Skip::Coalesced,
            Some(span),
            minute(10),
        ),
    )
    .await;
    let covered = RunKey::occurrence(id, minute(2));
    assert_eq!(world.get(&format!("/v1/runs/{covered}")).await.field("/status"), "skipped");

    let answer = world.tell(&format!("/v1/runs/{covered}/retry")).await;

    assert_eq!((answer.status.as_u16(), answer.field("/redrive_of")), (202, json!(covered.to_string())));
}

#[tokio::test]
async fn what_is_no_run_is_not_tried_again() {
    let world = World::new();
    let (job, run) = lost_run(&world, json!({})).await;
    let nowhere = RunKey::manual(job.parse().unwrap(), START, 99);

    for id in ["run_x", "run_00000000000000000000000000000000000000", &nowhere.to_string()] {
        world.tell(&format!("/v1/runs/{id}/retry")).await.problem(404, "not-found");
    }
    world.by(OTHER_KEY, "POST", &format!("/v1/runs/{run}/retry"), None).await.problem(404, "not-found");
    let unknown = world.post(&format!("/v1/runs/{run}/retry"), json!({"payloat": 1})).await;
    assert_eq!(unknown.problem(422, "invalid"), ["/payloat"]);
    assert_eq!(runs_of(&world, &job).await, 1);
}

#[tokio::test]
async fn a_large_payload_of_a_run_is_kept_apart() {
    let world = World::new();
    let job = on_demand(&world).await;

    let answer = world.post(&format!("/v1/jobs/{job}/run"), json!({"payload": "x".repeat(1000)})).await;

    let run = world.stored_run(&answer.word("/run_id")).await.unwrap();
    assert!(matches!(run.payload, Some(Body::Apart(_))));
    let listed = world.get(&format!("/v1/jobs/{job}/runs")).await;
    assert!(listed.field("/items/0").get("payload").is_none(), "a list reads no body that is kept apart");
}

async fn put(world: &World, run: &Run) {
    assert!(world.ports.store().put(&run.tenant, run.key, run, Guard::Absent).await.unwrap().is_written());
}

/// Nor does it run at once, as a job that says nothing of when it fires does.
#[tokio::test]
async fn a_job_that_is_not_on_demand_must_say_when_it_fires() {
    let world = World::new();
    let waiting = world.job(json!({"on_demand": true})).await;

    let made = world.post("/v1/jobs", json!({"schedule": {"on_demand": false}, "target": {"noop": {}}})).await;
    let changed = world.patch(&format!("/v1/jobs/{waiting}"), json!({"schedule": {"on_demand": false}})).await;
    let again = world.patch(&format!("/v1/jobs/{waiting}"), json!({"schedule": {"every_seconds": 60}})).await;

    for refused in [made, changed] {
        assert_eq!(refused.problem(422, "invalid"), ["/schedule/on_demand"], "{}", refused.text);
    }
    assert_eq!(again.field("/schedule"), json!({"every_seconds": 60}), "{}", again.text);
}

/// Tried: with the fingerprint of what was sent, which for nothing is another.
#[tokio::test]
async fn no_body_is_the_same_request_as_an_empty_one() {
    let world = World::new();
    let path = format!("/v1/jobs/{}/run", world.job(json!({"on_demand": true})).await);

    let first = keyed(&world, &path, "k", None).await;
    let again = keyed(&world, &path, "k", Some(json!({}))).await;

    assert_eq!((first.status.as_u16(), again.status.as_u16()), (202, 200), "{}", again.text);
    assert_eq!(again.word("/run_id"), first.word("/run_id"));
}
