//! Why: what an instant of a job came to, asked of histories; and where the time of a run went.

use std::time::Duration;

use minutehand_domain::head::Head;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::{ErrorCode, Skip};
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{Answer, OTHER_KEY, START, World, acme, at, failed, succeeded};

const DAY: u64 = 86_400;

async fn why(world: &World, job: &str, instant: &str) -> Answer {
    let answer = world.get(&format!("/v1/jobs/{job}/why?at={instant}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer
}

/// Verdict and rule.
async fn words(world: &World, job: &str, instant: &str) -> [String; 2] {
    let answer = why(world, job, instant).await;
    [answer.word("/verdict"), answer.word("/rule")]
}

async fn live(world: &World, minutes: u64) {
    for _ in 0..minutes {
        world.pass(60);
        world.work(|_, _| succeeded()).await;
    }
}

/// Stages, with the seconds that each took.
fn stages(answer: &Answer) -> Vec<(String, f64)> {
    let stages = answer.field("/stages");
    let told = |stage: &Value| (stage["stage"].as_str().unwrap().to_owned(), stage["seconds"].as_f64().unwrap());
    stages.as_array().unwrap().iter().map(told).collect()
}

fn took(stages: &[(&str, f64)]) -> Vec<(String, f64)> {
    stages.iter().map(|(stage, seconds)| ((*stage).to_owned(), *seconds)).collect()
}

#[tokio::test]
async fn an_instant_is_told_of_before_it_comes_while_it_runs_and_when_it_is_over() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 3600})).await;

    let ahead = why(&world, &job, &at(3600)).await;
    world.pass(3600);
    let due = words(&world, &job, &at(3600)).await;
    world.pass(5);
    world.work_if(|_, _| None).await;
    let running = words(&world, &job, &at(3600)).await;
    world.pass(600);
    world.work(|_, _| succeeded()).await;
    let fired = why(&world, &job, &at(3600)).await;

    assert_eq!([ahead.word("/verdict"), ahead.word("/rule")], ["will_fire", "schedule"]);
    assert_eq!((ahead.word("/scheduled_at"), ahead.field("/run_id")), (at(3600), Value::Null));
    assert_eq!(due, ["waiting", "claim"]);
    assert_eq!(running, ["running", "schedule"]);
    assert_eq!([fired.word("/verdict"), fired.word("/rule")], ["fired", "schedule"]);
    assert_eq!(fired.field("/lag_seconds"), json!(5.0));
    let run = world.get(&format!("/v1/jobs/{job}/runs")).await.items("run_id")[0].clone();
    assert_eq!(fired.field("/run_id"), run);
    assert_eq!(
        fired.word("/detail"),
        format!("fired as {}, 5.000 s after it was due, and succeeded", run.as_str().unwrap())
    );
}

#[tokio::test]
async fn what_a_pause_kept_from_firing_is_told_while_it_lasts_and_after_it() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 600})).await;
    world.pass(30);
    world.tell(&format!("/v1/jobs/{job}/pause")).await;

    let ahead = words(&world, &job, &at(600)).await;
    live(&world, 40).await;
    let recorded = why(&world, &job, &at(600)).await;
    let later = words(&world, &job, &at(1200)).await;
    world.tell(&format!("/v1/jobs/{job}/resume")).await;
    let kept = words(&world, &job, &at(600)).await;
    let forgotten = why(&world, &job, &at(1200)).await;

    assert_eq!(ahead, ["will_not_fire", "paused"]);
    assert_eq!([recorded.word("/verdict"), recorded.word("/rule")], ["skipped", "paused"]);
    assert!(recorded.field("/run_id").is_string(), "{}", recorded.text);
    assert_eq!((later, kept), (["skipped", "paused"].map(str::to_owned), ["skipped", "paused"].map(str::to_owned)));
    assert_eq!([forgotten.word("/verdict"), forgotten.word("/rule")], ["unknown", "schedule_change"]);
    assert_eq!(forgotten.field("/run_id"), recorded.field("/run_id"));
    assert!(forgotten.word("/detail").ends_with("is skipped, for the reason paused"), "{}", forgotten.text);
}

/// Removed: what ran is looked for by the kind of schedule that the job has today. A run that had succeeded was waiting to be claimed, and what had run behind
/// another's end was no occurrence.
#[tokio::test]
async fn a_run_is_told_of_whatever_kind_of_schedule_its_job_has_since() {
    let world = World::new();
    let front = world.job(json!({"every_seconds": 600})).await;
    let job = world.job(json!({"every_seconds": 3600})).await;
    let behind = world.job(json!({"after": {"job": front}})).await;
    live(&world, 62).await;
    let followed = world.get(&format!("/v1/jobs/{behind}/runs")).await.items("scheduled_at")[0].clone();

    for (job, schedule) in [(&job, json!({"after": {"job": front}})), (&behind, json!({"cron": "0 0 1 1 *"}))] {
        let patched = world.patch(&format!("/v1/jobs/{job}"), json!({ "schedule": schedule })).await;
        assert_eq!(patched.status, 200, "{}", patched.text);
    }

    for (job, instant) in [(&job, at(3600)), (&behind, followed.as_str().unwrap().to_owned())] {
        let fired = why(&world, job, &instant).await;
        assert_eq!(fired.word("/verdict"), "fired", "{}", fired.text);
        assert!(fired.field("/run_id").is_string(), "{}", fired.text);
    }
}

/// Removed: `reached_limit` is not asked. Nothing said why it waits: its queue keeps it back, and no record knows.
#[tokio::test]
async fn what_waits_for_its_tenants_quota_in_a_queue_says_so() {
    let world = World::new();
    world.put("/v1/quotas/acme", json!({"max_concurrent_runs": 2})).await;
    let called = world.job(json!({"every_seconds": 3600})).await;
    let pulled = json!({"schedule": {"every_seconds": 3600}, "target": {"worker": {"pool": "hands", "handler": "h"}}});
    let pulled = world.post("/v1/jobs", pulled).await.word("/job_id");
    let path = format!("/v1/runs/{}", RunKey::occurrence(called.parse().unwrap(), START + Duration::from_secs(3600)));

    let early = world.get(&path).await;
    world.pass(3600);
    let late = world.get(&path).await;
    let why_late = why(&world, &called, &at(3600)).await;

    assert_eq!((early.word("/status"), early.json().get("waiting_for")), ("scheduled".into(), None));
    let waits = late.word("/waiting_for");
    assert!(
        waits.starts_with("waits for a place of its tenant's quota since") && waits.ends_with(": 2 of 2 taken"),
        "{waits}"
    );
    assert_eq!([why_late.word("/verdict"), why_late.word("/rule")], ["waiting", "quota"]);
    assert!(why_late.word("/detail").contains("2 of 2 taken"), "{why_late:?}");
    assert_eq!(words(&world, &pulled, &at(3600)).await, ["waiting", "claim"], "a worker comes for it");
}

#[tokio::test]
async fn what_an_outage_coalesced_is_told_by_one_record() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 600})).await;
    world.pass(3630);
    live(&world, 10).await;

    let (head, other) = (why(&world, &job, &at(600)).await, why(&world, &job, &at(1800)).await);

    assert_eq!([head.word("/verdict"), head.word("/rule")], ["skipped", "catch_up"]);
    assert_eq!([other.word("/verdict"), other.word("/rule")], ["covered", "catch_up"]);
    assert_eq!((other.field("/run_id"), other.field("/count")), (head.field("/run_id"), json!(5)));
    assert_eq!((other.word("/covers_until"), other.word("/scheduled_at")), (at(3600), at(1800)));
    assert_eq!(words(&world, &job, &at(3600)).await, ["fired", "schedule"]);
    assert_eq!(words(&world, &job, &at(1801)).await, ["not_an_occurrence", "schedule"]);
}

/// Two a minute: the first begins, and the next waits for its turn.
#[tokio::test]
async fn what_waits_for_its_turn_in_catching_up_says_so() {
    let world = World::new();
    let catch_up = json!({"policy": "all", "rate_per_minute": 2});
    let job = world.job_of(json!({"schedule": {"every_seconds": 600}, "catch_up": catch_up})).await;
    world.pass(3630);
    live(&world, 1).await;

    let waits = why(&world, &job, &at(3000)).await;
    let run = world.get(&format!("/v1/runs/{}", waits.word("/run_id"))).await;
    world.pass(5);
    let lag = world.get(&format!("/v1/runs/{}/why", waits.word("/run_id"))).await;

    assert_eq!([waits.word("/verdict"), waits.word("/rule")], ["waiting", "catch_up"], "{}", waits.text);
    let sentence = "is late: waits for its turn in catching up (2 a minute), at ";
    assert!(waits.word("/detail").contains(sentence), "{}", waits.text);
    assert!(run.word("/status") == "scheduled" && run.word("/waiting_for").starts_with(sentence), "{}", run.text);
    assert!(stages(&lag).iter().any(|(stage, _)| stage == "catch_up"), "{}", lag.text);
    live(&world, 4).await;
    assert_eq!(words(&world, &job, &at(3000)).await, ["fired", "schedule"]);
}

#[tokio::test]
async fn what_nobody_will_begin_any_more_is_told_before_its_record_is_written() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"at": at(60)}, "catch_up": {"policy": "none"}})).await;
    world.pass(DAY);

    assert_eq!(words(&world, &job, &at(60)).await, ["skipped", "catch_up"]);
    live(&world, 2).await;
    let recorded = why(&world, &job, &at(60)).await;
    assert_eq!([recorded.word("/verdict"), recorded.word("/rule")], ["skipped", "catch_up"]);
    assert!(recorded.field("/run_id").is_string(), "{}", recorded.text);
}

#[tokio::test]
async fn an_instant_that_is_no_occurrence_names_those_around_it() {
    let world = World::new();
    let job = world.job(json!({"cron": "0 9 * * *", "end_at": at(10 * DAY)})).await;

    let beside = why(&world, &job, "2027-01-16T09:00:07Z").await;
    let later = why(&world, &job, "2027-02-16T09:00:00Z").await;
    let before = words(&world, &job, "2027-01-14T09:00:00Z").await;

    assert_eq!(beside.word("/verdict"), "not_an_occurrence");
    assert_eq!(beside.word("/previous/scheduled_at"), "2027-01-16T09:00:00.000Z");
    assert_eq!(beside.word("/next/scheduled_at"), "2027-01-17T09:00:00.000Z");
    assert!(
        beside.word("/detail").ends_with("the nearest, in the same minute, is at 2027-01-16T09:00:00.000Z"),
        "{}",
        beside.text
    );
    assert_eq!((later.word("/rule"), later.field("/next")), ("end_at".to_owned(), Value::Null));
    assert_eq!(later.word("/previous/scheduled_at"), "2027-01-24T09:00:00.000Z");
    assert_eq!(before, ["not_an_occurrence", "before_creation"]);
}

/// A job that is spread, the instant that it names next, and when it fires for that.
async fn spread(world: &World) -> (String, String, String) {
    let job = world.job(json!({"cron": "*/10 * * * *", "jitter_seconds": 300})).await;
    let fire = world.get(&format!("/v1/jobs/{job}/next?count=1")).await;
    let (named, effective) = (fire.word("/fires/0/at"), fire.word("/fires/0/effective_at"));
    (job, named, effective)
}

#[tokio::test]
async fn with_jitter_both_instants_are_the_same_occurrence() {
    let world = World::new();
    let (job, named, effective) = spread(&world).await;

    for past in [false, true] {
        if past {
            live(&world, 20).await;
        }
        for instant in [&named, &effective] {
            let answer = why(&world, &job, instant).await;
            assert_eq!(answer.word("/verdict"), if past { "fired" } else { "will_fire" });
            assert_eq!(
                (answer.word("/scheduled_at"), answer.word("/effective_at")),
                (named.clone(), effective.clone())
            );
        }
    }
}

/// By a clock that was ahead a schedule may have passed over an instant to which the next one spreads what it names.
///
/// Removed: a record is its own only where it is about what was asked. It was too late for the occurrence, as if nothing were on record.
#[tokio::test]
async fn what_another_schedule_left_in_the_place_of_an_occurrence_is_what_became_of_it() {
    let world = World::new();
    let (job, named, effective) = spread(&world).await;
    let head = world.ports.store().get::<Head>(&acme(), job.parse().unwrap()).await.unwrap().unwrap();
    let mut before = head.item.into_job().unwrap();
    before.schedule.jitter = None;
    let left =
        before.run(RunKey::occurrence(before.id, effective.parse().unwrap())).skipped(Skip::Superseded, None, START);
    assert!(world.ports.store().put(&acme(), left.key, &left, Guard::Absent).await.unwrap().is_written());

    for past in [false, true] {
        if past {
            live(&world, 20).await;
        }
        for instant in [&named, &effective] {
            let answer = why(&world, &job, instant).await;
            assert_eq!(
                [answer.word("/verdict"), answer.word("/rule")],
                ["skipped", "schedule_change"],
                "{}",
                answer.text
            );
            assert_eq!(answer.word("/run_id"), left.key.to_string());
        }
    }
}

#[tokio::test]
async fn who_waits_for_a_place_says_of_which_limit() {
    let world = World::new();
    let limited = |at: u64| json!({"schedule": {"at": self::at(at)}, "concurrency": {"key": "billing", "limit": 1}});
    let (first, second) = (world.job_of(limited(60)).await, world.job_of(limited(61)).await);
    world.pass(61);
    world.work_if(|_, _| None).await;
    world.pass(3);

    let jobs = [words(&world, &first, &at(60)).await, words(&world, &second, &at(61)).await];
    let (run, instant) = if jobs[0][0] == "waiting" { (&first, 60) } else { (&second, 61) };
    let answer = why(&world, run, &at(instant)).await;
    let lag = world.get(&format!("/v1/runs/{}/why", answer.word("/run_id"))).await;

    assert_eq!([answer.word("/verdict"), answer.word("/rule")], ["waiting", "concurrency"], "{}", answer.text);
    assert!(answer.word("/detail").contains("of key \"billing\""), "{}", answer.text);
    let stages = stages(&lag);
    assert_eq!(stages.last(), Some(&("place".to_owned(), 3.0)), "{}", lag.text);
    let sum: f64 = stages.iter().map(|(_, seconds)| seconds).sum();
    assert!((sum - lag.field("/lag_seconds").as_f64().unwrap()).abs() < 1e-9);
}

#[tokio::test]
async fn the_time_of_a_run_is_told_in_stages() {
    let world = World::new();
    let retry = json!({"max_retries": 3, "backoff": "fixed", "initial_delay_seconds": 10, "jitter": "none"});
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "retry": retry})).await;
    let run = world.run_of(&job).await;
    let path = format!("/v1/runs/{run}/why");
    world.pass(2);
    let queued = world.get(&path).await;
    for outcome in [failed(ErrorCode::Http5xx), succeeded()] {
        world.work(|_, _| outcome.clone()).await;
        world.pass(10);
    }
    let over = world.get(&path).await;

    assert_eq!(stages(&queued), took(&[("queued", 2.0)]));
    assert_eq!(queued.field("/status"), "queued");
    assert_eq!(
        stages(&over),
        took(&[("queued", 2.0), ("attempt", 0.0), ("backoff", 10.0), ("attempt", 0.0)]),
        "{}",
        over.text
    );
    assert_eq!((over.field("/lag_seconds"), over.field("/total_seconds")), (json!(2.0), json!(12.0)));
    assert_eq!((over.word("/due_at"), over.word("/started_at")), (at(0), at(2)));
}

#[tokio::test]
async fn nobody_is_told_of_anothers_and_a_bad_question_is_refused() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 600})).await;
    let run = world.run_of(&job).await;
    let of_job = format!("/v1/jobs/{job}/why");

    for path in [format!("{of_job}?at={}", at(600)), format!("/v1/runs/{run}/why")] {
        world.by(OTHER_KEY, "GET", &path, None).await.problem(404, "not-found");
    }
    let nobodys = "job_00000000000000000000000000";
    world.get(&format!("/v1/jobs/{nobodys}/why?at={}", at(0))).await.problem(404, "not-found");
    assert_eq!(world.get(&of_job).await.problem(422, "invalid"), ["?at"]);
    assert_eq!(world.get(&format!("{of_job}?at=noon")).await.problem(422, "invalid"), ["?at"]);
    assert_eq!(world.get(&format!("{of_job}?at={}&of=1", at(0))).await.problem(422, "invalid"), ["?of"]);
    for extreme in ["1970-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"] {
        why(&world, &job, extreme).await;
    }
}
