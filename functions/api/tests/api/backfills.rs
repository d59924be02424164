//! Backfills: what is made up for, what is not made twice, what cannot be asked for, and how a backfill is watched and ended.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::Origin;
use minutehand_domain::run::ErrorCode;
use serde_json::{Value, json};

use crate::world::{Answer, START, World, at, failed, succeeded};

const HOUR: u64 = 3600;

fn ago(seconds: u64) -> String {
    (START - Duration::from_secs(seconds)).to_string()
}

/// A job of each hour, made a second after the eighth of the day.
async fn hourly(world: &World) -> String {
    world.pass(1);
    world.job(json!({"cron": "0 * * * *"})).await
}

async fn asked(world: &World, job: &str, body: Value) -> Answer {
    world.post(&format!("/v1/jobs/{job}/backfill"), body).await
}

async fn begun(world: &World, job: &str, body: Value) -> Answer {
    let answer = asked(world, job, body).await;
    assert_eq!(answer.status, 202, "{}", answer.text);
    answer
}

async fn operation(world: &World, backfill: &Answer) -> Answer {
    world.get(&format!("/v1/operations/{}", backfill.word("/backfill_id"))).await
}

/// The runs of a job that came to be so, newest first.
async fn of_origin(world: &World, job: &str, origin: &str) -> Vec<Value> {
    let page = world.get(&format!("/v1/jobs/{job}/runs?from=2020-01-01T00:00:00Z&limit=1000")).await;
    let mut runs = page.field("/items").as_array().unwrap().clone();
    runs.retain(|run| run["origin"] == origin);
    runs
}

fn said(run: &Value, field: &str) -> String {
    run[field].as_str().unwrap().to_owned()
}

/// The backfilled runs of a job, oldest first: each with its instant and status.
async fn made(world: &World, job: &str) -> Vec<(String, String)> {
    let backfilled = of_origin(world, job, "backfill").await;
    let mut instants: Vec<_> = backfilled.iter().map(|run| (said(run, "scheduled_at"), said(run, "status"))).collect();
    instants.sort();
    instants
}

async fn carry_on(world: &World, looks: usize) {
    for _ in 0..looks {
        world.pass(6);
        world.work(|_job, _run| succeeded()).await;
    }
}

#[tokio::test]
async fn what_was_due_before_the_job_was_made_is_made_up_for() {
    let world = World::new();
    let job = hourly(&world).await;

    let answer = begun(&world, &job, json!({"from": ago(5 * HOUR), "to": ago(0), "note": "before we had it"})).await;
    let watched = operation(&world, &answer).await;
    world.work(|_job, _run| succeeded()).await;

    assert_eq!(
        (answer.field("/runs"), answer.field("/already"), answer.field("/next_from")),
        (json!(5), json!(0), Value::Null)
    );
    assert_eq!((answer.word("/priority"), answer.field("/dry_run")), ("low".to_owned(), json!(false)));
    let fires: Vec<_> = answer.field("/fires").as_array().unwrap().iter().map(|fire| fire["at"].clone()).collect();
    assert_eq!(fires, [5, 4, 3, 2, 1].map(|hours| json!(ago(hours * HOUR))));
    assert_eq!((watched.word("/state"), watched.word("/kind")), ("done".to_owned(), "backfill".to_owned()));
    assert_eq!((watched.field("/progress/expected"), watched.field("/progress/done")), (json!(5), json!(5)));
    assert_eq!(watched.field("/backfill/job_id"), json!(job));
    let expected: Vec<_> = [5, 4, 3, 2, 1].map(|hours| (ago(hours * HOUR), "succeeded".to_owned())).into();
    assert_eq!(made(&world, &job).await, expected);
    let listed = world.get("/v1/operations?kind=backfill").await;
    assert_eq!(listed.items("operation_id"), [answer.field("/backfill_id")]);
}

#[tokio::test]
async fn a_run_of_it_says_what_made_it_and_when_it_could_begin() {
    let world = World::new();
    world.pass(1);
    let job = world.job_of(json!({"schedule": {"cron": "0 * * * *"}, "sla_seconds": 60})).await;
    let answer = begun(&world, &job, json!({"from": ago(HOUR), "to": ago(0), "priority": "high"})).await;
    world.pass(2);
    world.work(|_job, _run| succeeded()).await;

    let runs = world.get(&format!("/v1/jobs/{job}/runs")).await;
    let run = runs.field("/items/0");
    let id = run["run_id"].as_str().unwrap();
    let why = world.get(&format!("/v1/runs/{id}/why")).await;
    let events = world.get(&format!("/v1/runs/{id}/events")).await;
    let stats = world.get("/v1/stats?minutes=1440").await;

    assert_eq!(
        (&run["origin"], &run["priority"], &run["operation_id"]),
        (&json!("backfill"), &json!("high"), &answer.field("/backfill_id"))
    );
    assert_eq!((why.field("/lag_seconds"), why.field("/due_at")), (json!(2.0), json!(at(1))), "{}", why.text);
    assert_eq!(
        (events.field("/items/0/type"), events.field("/items/0/by")),
        (json!("backfilled"), json!("deployment"))
    );
    assert_eq!(run["sla"]["due_by"], json!(at(61)));
    assert_eq!(run["sla"]["missed_at"], Value::Null);
    assert_eq!(stats.field("/lag_ms/max"), 2000, "it is not hours late: {}", stats.text);
}

/// What ran by the schedule is not run again, nor what another backfill made.
///
/// Removed: the look at the occurrence's own record. The hours that had run were run again.
#[tokio::test]
async fn no_occurrence_is_run_twice() {
    let world = World::new();
    let job = hourly(&world).await;
    for _ in 0..3 {
        world.pass(HOUR);
        world.work(|_job, _run| succeeded()).await;
    }
    let span = json!({"from": ago(2 * HOUR), "to": world.now().to_string()});

    let first = begun(&world, &job, span.clone()).await;
    world.work(|_job, _run| failed(ErrorCode::Http4xx)).await;
    let second = begun(&world, &job, span).await;
    carry_on(&world, 2).await;

    assert_eq!((first.field("/runs"), first.field("/already")), (json!(6), json!(3)), "{}", first.text);
    assert_eq!(operation(&world, &first).await.field("/progress/done"), 3);
    assert_eq!(operation(&world, &first).await.field("/progress/already"), 3);
    assert_eq!(second.field("/already"), 6);
    assert_eq!(operation(&world, &second).await.field("/progress/already"), 6);
    assert_eq!(made(&world, &job).await.len(), 3, "what failed is retried, not made again");
}

#[tokio::test]
async fn what_a_pause_took_is_made_up_for_and_told_of() {
    let world = World::new();
    let job = hourly(&world).await;
    world.tell(&format!("/v1/jobs/{job}/pause")).await;
    world.pass(3 * HOUR + 1800);

    let in_the_pause = begun(&world, &job, json!({"from": ago(0), "to": world.now().to_string()})).await;
    world.work(|_job, _run| succeeded()).await;

    assert_eq!(in_the_pause.field("/runs"), 4);
    let watched = operation(&world, &in_the_pause).await;
    assert_eq!(
        (watched.word("/state"), watched.field("/progress/done")),
        ("done".to_owned(), json!(4)),
        "{}",
        watched.text
    );
    assert_eq!(made(&world, &job).await.len(), 4);
    assert_eq!(made(&world, &job).await[1].1, "succeeded", "a paused job's runs are made as those that are asked for");
    let hour = START + Duration::from_secs(HOUR);
    let why = world.get(&format!("/v1/jobs/{job}/why?at={hour}")).await;
    assert_eq!(why.word("/verdict"), "skipped", "{}", why.text);
    assert!(why.word("/detail").contains("run_"), "it says which run makes up for it: {}", why.text);
    world.tell(&format!("/v1/jobs/{job}/resume")).await;
    world.pass(HOUR);
    world.work(|_job, _run| succeeded()).await;
    let next = world.get(&format!("/v1/jobs/{job}/runs?limit=1")).await;
    assert_eq!(
        (next.items("origin"), next.items("status")),
        (vec![json!("schedule")], vec![json!("succeeded")]),
        "the chain goes on"
    );
}

/// An outage in which one run stood for many: those that it covered may be made, and the one that ran is not.
#[tokio::test]
async fn what_an_outage_coalesced_is_made_up_for() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    world.pass(30 * 60 + 40);
    world.work(|_job, _run| succeeded()).await;
    let now = world.now().to_string();

    let answer = begun(&world, &job, json!({"from": ago(0), "to": now})).await;
    carry_on(&world, 8).await;

    let watched = operation(&world, &answer).await;
    assert_eq!(watched.word("/state"), "done", "{}", watched.text);
    let all = world.get(&format!("/v1/jobs/{job}/runs?limit=1000&status=succeeded&from={}&to={now}", ago(HOUR))).await;
    let mut instants: Vec<_> = all.items("scheduled_at").into_iter().map(|at| at.to_string()).collect();
    let count = instants.len();
    instants.sort();
    instants.dedup();
    assert_eq!((instants.len(), count), (30, 30), "each once: {}", watched.text);
}

#[tokio::test]
async fn a_dry_run_counts_and_shows_the_first_twenty_and_makes_nothing() {
    let world = World::new();
    let job = world.job(json!({"cron": "* * * * *"})).await;

    let answer = asked(&world, &job, json!({"from": ago(2 * HOUR), "to": ago(0), "dry_run": true})).await;

    assert_eq!(
        (answer.status.as_u16(), answer.field("/runs"), answer.field("/backfill_id")),
        (200, json!(120), Value::Null)
    );
    assert_eq!(answer.field("/fires").as_array().unwrap().len(), 20);
    assert!(made(&world, &job).await.is_empty());
    assert_eq!(world.get("/v1/operations").await.field("/items"), json!([]));
}

/// Every second of a year: counted to the cap, and answered at once.
#[tokio::test]
async fn a_span_of_any_length_is_bounded() {
    let world = World::new();
    let job = world.job(json!({"cron": "* * * * * *"})).await;
    let year = json!({"from": ago(365 * 24 * HOUR), "to": ago(0), "max_runs": 10_000, "dry_run": true});

    let begin = std::time::Instant::now();
    let answer = asked(&world, &job, year).await;

    assert_eq!(answer.field("/runs"), 10_000, "{}", answer.text);
    assert_eq!(answer.word("/next_from"), ago(365 * 24 * HOUR - 10_000), "where another goes on");
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
    let usual = asked(&world, &job, json!({"from": ago(365 * 24 * HOUR), "to": ago(0), "dry_run": true})).await;
    assert_eq!(usual.field("/runs"), 1000);
    let few = asked(&world, &job, json!({"from": ago(HOUR), "to": ago(0), "max_runs": 3, "dry_run": true})).await;
    assert_eq!((few.field("/runs"), few.word("/next_from")), (json!(3), ago(HOUR - 3)));
}

#[tokio::test]
async fn what_cannot_be_made_up_for_is_refused() {
    let world = World::new();
    let hourly = hourly(&world).await;
    let on_demand = world.job(json!({"on_demand": true})).await;
    let later = world.job(json!({"at": (START + Duration::from_secs(60)).to_string()})).await;
    let deleted = world.job(json!({"cron": "0 * * * *"})).await;
    world.delete(&format!("/v1/jobs/{deleted}")).await;
    let span = json!({"from": ago(5 * HOUR), "to": ago(0)});

    for (job, body, status, pointers) in [
        (&hourly, json!({"from": ago(0), "to": ago(HOUR)}), 422, vec!["/from"]),
        (&hourly, json!({"from": ago(HOUR), "to": ago(HOUR)}), 422, vec!["/from"]),
        (&hourly, json!({"from": ago(HOUR), "to": (START + Duration::from_secs(60)).to_string()}), 422, vec!["/to"]),
        (&hourly, json!({"from": ago(HOUR), "to": ago(0), "max_runs": 0}), 422, vec!["/max_runs"]),
        (&hourly, json!({"from": ago(HOUR), "to": ago(0), "max_runs": 10_001}), 422, vec!["/max_runs"]),
        (&hourly, json!({"from": ago(HOUR)}), 422, vec!["/to"]),
        (&hourly, json!({"from": ago(HOUR), "to": ago(0), "untill": 1}), 422, vec!["/untill"]),
        (&hourly, json!({"from": ago(HOUR - 60), "to": ago(60)}), 409, vec![]),
        (&on_demand, span.clone(), 409, vec![]),
        (&later, span.clone(), 409, vec![]),
        (&deleted, span.clone(), 409, vec![]),
    ] {
        let answer = asked(&world, job, body.clone()).await;
        assert_eq!(
            answer.problem(status, if status == 409 { "conflict" } else { "invalid" }),
            pointers,
            "{body}: {}",
            answer.text
        );
    }
    asked(&world, "job_00000000000000000000000000", span).await.problem(404, "not-found");
}

/// A job that fires once and was skipped.
#[tokio::test]
async fn the_one_occurrence_of_a_job_is_made_up_for_where_it_did_not_run() {
    let world = World::new();
    let ran = world.job(json!({"after_seconds": 10})).await;
    let paused = world.job(json!({"after_seconds": 10})).await;
    world.tell(&format!("/v1/jobs/{paused}/pause")).await;
    world.pass(60);
    world.work(|_job, _run| succeeded()).await;
    let span = json!({"from": ago(0), "to": world.now().to_string()});

    let [of_ran, of_paused] = [begun(&world, &ran, span.clone()).await, begun(&world, &paused, span).await];
    world.work(|_job, _run| succeeded()).await;

    assert_eq!(operation(&world, &of_ran).await.field("/progress/already"), 1);
    assert_eq!(operation(&world, &of_paused).await.field("/progress/done"), 1);
    assert_eq!((made(&world, &ran).await.len(), made(&world, &paused).await.len()), (0, 1));
}

/// The hour that a clock skips, and the one it has twice, are the schedule's to say.
#[tokio::test]
async fn turns_of_the_clock_are_made_up_for_as_the_schedule_says() {
    let world = World::new();
    let nightly = |gap: &str, overlap: &str| json!({"cron": "30 2 * * *", "timezone": "America/New_York", "dst_gap": gap, "dst_overlap": overlap});
    for (schedule, from, to, instants) in [
        (nightly("skip", "both"), "2026-03-08T00:00:00-05:00", "2026-03-09T00:00:00-04:00", vec![]),
        (
            nightly("next_valid", "both"),
            "2026-03-08T00:00:00-05:00",
            "2026-03-09T00:00:00-04:00",
            vec!["2026-03-08T07:00:00.000Z"],
        ),
        (
            json!({"cron": "30 1 * * *", "timezone": "America/New_York", "dst_overlap": "both"}),
            "2026-11-01T00:00:00-04:00",
            "2026-11-02T00:00:00-05:00",
            vec!["2026-11-01T05:30:00.000Z", "2026-11-01T06:30:00.000Z"],
        ),
    ] {
        let job = world.job(schedule).await;
        let answer = asked(&world, &job, json!({"from": from, "to": to})).await;
        if instants.is_empty() {
            answer.problem(409, "conflict");
        }
        world.work(|_job, _run| succeeded()).await;

        let found: Vec<_> = made(&world, &job).await.into_iter().map(|(at, _)| at).collect();
        assert_eq!(found, instants);
    }
}

/// Its runs are at the instants to which jitter moves them, and are named by those that were meant.
#[tokio::test]
async fn jitter_moves_what_is_made_up_for_as_it_moves_the_rest() {
    let world = World::new();
    let job = world.job(json!({"cron": "0 * * * *", "jitter_seconds": 600})).await;

    let answer = begun(&world, &job, json!({"from": ago(3 * HOUR), "to": ago(0)})).await;
    world.work(|_job, _run| succeeded()).await;

    let runs = world.get(&format!("/v1/jobs/{job}/runs")).await;
    for (run, hours) in runs.field("/items").as_array().unwrap().iter().zip([1, 2, 3]) {
        let [nominal, effective] =
            ["scheduled_at", "effective_at"].map(|field| Moment::parse(run[field].as_str().unwrap()).unwrap());
        assert_eq!(nominal.to_string(), ago(hours * HOUR));
        assert!((1..=600).contains(&effective.since(nominal).as_secs()), "{effective}");
    }
    assert_eq!(answer.field("/runs"), 3);
}

/// Made at their pace: fifty at once, and six hundred a minute. Cancelled, those that nobody has begun are cancelled too.
#[tokio::test]
async fn a_backfill_is_made_at_its_pace_and_cancelled_as_one() {
    let world = World::new();
    let job = world.job(json!({"cron": "* * * * *"})).await;
    let answer = begun(&world, &job, json!({"from": ago(10 * HOUR), "to": ago(0)})).await;
    let id = answer.word("/backfill_id");
    let done = async |world: &World| {
        world.get(&format!("/v1/operations/{id}")).await.field("/progress/done").as_u64().unwrap()
    };

    assert_eq!(answer.field("/runs"), 600);
    let at_once = done(&world).await;
    assert!(at_once <= 50, "{at_once} at once");
    world.pass(10);
    world.work_if(|_job, _run| None).await;
    let then = done(&world).await;
    assert!((100..=200).contains(&then), "{then} after ten seconds");
    assert_eq!(world.tell(&format!("/v1/operations/{id}/pause")).await.word("/state"), "paused");
    let cancelled = world.tell(&format!("/v1/operations/{id}/cancel")).await;
    assert_eq!(cancelled.word("/state"), "cancelled", "{}", cancelled.text);
    assert_eq!(cancelled.field("/progress/withdrawn"), 0, "all that was made has begun");
    assert!(made(&world, &job).await.iter().all(|(_, status)| status == "running"));
}

/// Removed: who cancels a page counts only what nobody had cancelled. Of two who did at once the wrong one was heard.
#[tokio::test]
async fn what_is_cancelled_before_it_began_may_be_made_anew() {
    let world = World::new();
    let job = world.job(json!({"cron": "* * * * *"})).await;
    let answer = begun(&world, &job, json!({"from": ago(10 * HOUR), "to": ago(0)})).await;

    let one = world.get(&format!("/v1/jobs/{job}/runs?limit=1")).await.word("/items/0/run_id");
    world.tell(&format!("/v1/runs/{one}/cancel")).await; // as somebody else who cancels the same page

    let cancelled = world.tell(&format!("/v1/operations/{}/cancel", answer.word("/backfill_id"))).await;
    world.work_if(|_job, run| (run.key.origin != Origin::Backfill).then(succeeded)).await;

    assert_eq!((cancelled.word("/state"), cancelled.field("/progress/withdrawn")), ("cancelled".to_owned(), json!(50)));
    assert_eq!(made(&world, &job).await.iter().filter(|(_, status)| status == "cancelled").count(), 50);
    let again = begun(&world, &job, json!({"from": ago(10 * HOUR), "to": ago(9 * HOUR)})).await;
    carry_on(&world, 4).await;
    let again = operation(&world, &again).await;
    assert_eq!((again.word("/state"), again.field("/progress/done")), ("done".to_owned(), json!(60)), "{}", again.text);
    assert_eq!(made(&world, &job).await.iter().filter(|(_, status)| status == "succeeded").count(), 60);
}

/// Two hours of a pause, and a backfill whose runs are cancelled. Of the first hour that run is tried again by hand, of the second the record that says
/// that it did not fire. Of each state the table stands in the domain, with `has_run` and `never_begins`.
#[tokio::test]
async fn what_somebody_has_tried_again_by_hand_is_not_made_up_for() {
    let world = World::new();
    let job = hourly(&world).await;
    world.tell(&format!("/v1/jobs/{job}/pause")).await;
    world.pass(2 * HOUR + 60);
    let span = json!({"from": (START + Duration::from_secs(1800)).to_string(), "to": world.now().to_string()});
    begun(&world, &job, span.clone()).await;
    let (made, records) = (of_origin(&world, &job, "backfill").await, of_origin(&world, &job, "schedule").await);
    for run in &made {
        world.tell(&format!("/v1/runs/{}/cancel", said(run, "run_id"))).await;
    }

    // Newest first.
    for run in [&made[1], &records[0]] {
        assert_eq!(world.tell(&format!("/v1/runs/{}/retry", said(run, "run_id"))).await.status, 202);
    }
    let again = begun(&world, &job, span).await;
    carry_on(&world, 2).await;

    assert_eq!((again.field("/runs"), again.field("/already")), (json!(2), json!(2)), "{}", again.text);
    let again = operation(&world, &again).await;
    assert_eq!(
        (again.field("/progress/done"), again.field("/progress/already")),
        (json!(0), json!(2)),
        "{}",
        again.text
    );
}

/// It waits for its place, whatever the others of its job do.
#[tokio::test]
async fn runs_of_a_backfill_wait_where_others_would_be_skipped() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"cron": "0 * * * *"}, "overlap": {"policy": "skip"}})).await;

    begun(&world, &job, json!({"from": ago(4 * HOUR), "to": ago(0)})).await;
    for _ in 0..8 {
        world.work(|_job, _run| succeeded()).await;
        world.pass(5);
    }

    let statuses: Vec<_> = made(&world, &job).await.into_iter().map(|(_, status)| status).collect();
    assert_eq!(statuses, ["succeeded"; 4]);
}

#[tokio::test]
async fn a_backfill_of_a_job_that_is_deleted_ends() {
    let world = World::new();
    let job = world.job(json!({"cron": "* * * * *"})).await;
    let answer = begun(&world, &job, json!({"from": ago(10 * HOUR), "to": ago(0)})).await;
    world.delete(&format!("/v1/jobs/{job}")).await;

    carry_on(&world, 3).await;

    let ended = operation(&world, &answer).await;
    assert_eq!(ended.word("/state"), "cancelled", "{}", ended.text);
    assert_eq!(ended.field("/progress/reasons/0/detail"), "its job was deleted");
    assert!(made(&world, &job).await.iter().all(|(_, status)| status == "cancelled"));
}

#[tokio::test]
async fn one_request_begins_one_backfill() {
    let world = World::new();
    let job = hourly(&world).await;
    let span = json!({"from": ago(3 * HOUR), "to": ago(0), "idempotency_key": "k"});

    let first = begun(&world, &job, span.clone()).await;
    world.patch(&format!("/v1/jobs/{job}"), json!({"schedule": {"cron": "*/30 * * * *"}})).await;
    let again = asked(&world, &job, span).await;

    assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"));
    assert_eq!(
        (again.field("/backfill_id"), again.field("/runs")),
        (first.field("/backfill_id"), first.field("/runs"))
    );
}

async fn keyed(world: &World, job: &str, key: &str, body: &Value) -> Answer {
    world.with(("idempotency-key", key), "POST", &format!("/v1/jobs/{job}/backfill"), Some(body.clone())).await
}

/// Removed: who asks again is answered though nothing can be begun any more. It was 409, as of who asks for the first time.
#[tokio::test]
async fn one_request_is_answered_again_when_its_job_is_deleted_or_fires_at_no_instant_any_more() {
    for is_deleted in [true, false] {
        let world = World::new();
        let job = hourly(&world).await;
        let span = json!({"from": ago(5 * HOUR), "to": ago(0), "max_runs": 3});
        let first = keyed(&world, &job, "k", &span).await;
        let (path, on_demand) = (format!("/v1/jobs/{job}"), json!({"schedule": {"on_demand": true}}));
        let changed = if is_deleted { world.delete(&path).await } else { world.patch(&path, on_demand).await };
        assert!(changed.status.is_success(), "{}", changed.text);

        let again = keyed(&world, &job, "k", &span).await;
        let otherwise = keyed(&world, &job, "k", &json!({"from": ago(4 * HOUR), "to": ago(0)})).await;
        let anew = keyed(&world, &job, "l", &span).await;
        let dry = keyed(&world, &job, "k", &json!({"from": ago(5 * HOUR), "to": ago(0), "dry_run": true})).await;

        assert_eq!((first.status.as_u16(), first.word("/next_from")), (202, ago(2 * HOUR)), "{}", first.text);
        assert_eq!((again.status.as_u16(), again.header("idempotency-replayed")), (200, "true"), "{}", again.text);
        for field in ["/backfill_id", "/job_id", "/runs", "/fires", "/next_from", "/priority"] {
            assert_eq!(again.field(field), first.field(field), "{field}");
        }
        assert_eq!(otherwise.problem(422, "idempotency-key-reused"), ["/idempotency_key"]);
        for refused in [anew, dry] {
            refused.problem(409, "conflict");
        }
        assert_eq!(world.get("/v1/operations").await.items("operation_id"), [first.field("/backfill_id")]);
    }
}

/// Removed: what the calendars say that its schedule is pinned to is looked up. In a release it was counted as if they took nothing.
#[tokio::test]
async fn one_request_is_answered_again_with_what_its_calendars_left() {
    let world = World::new();
    let rules = json!({"timezone": "UTC", "excluded_times": [{"from": "05:00", "to": "06:00"}]});
    assert_eq!(world.put("/v1/calendars/lunch", rules).await.status, 201);
    let job = world.job(json!({"cron": "0 * * * *", "calendars": ["lunch"], "on_excluded": "skip"})).await;
    let span = json!({"from": ago(5 * HOUR), "to": ago(0)});

    let first = keyed(&world, &job, "k", &span).await;
    let again = keyed(&world, &job, "k", &span).await;

    assert_eq!((first.status.as_u16(), first.field("/runs")), (202, json!(4)), "{}", first.text);
    assert_eq!((again.status.as_u16(), again.field("/runs")), (200, json!(4)), "{}", again.text);
    assert_eq!(again.field("/fires"), first.field("/fires"));
}
