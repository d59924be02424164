//! Runs of all jobs in one list, newest first.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{ErrorCode, Failure, Outcome, Run, Skip, State};
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{OTHER_KEY, START, World, acme, at, failed, other, pages, succeeded};

const HOUR: u64 = 3600;

fn seconds(n: u64) -> Moment {
    START + Duration::from_secs(n)
}

/// A run of this job that was asked for at `t` and succeeded, put as it is.
async fn put(world: &World, tenant: &Tenant, job: &str, t: Moment, number: u64) -> String {
    put_as(world, tenant, job, t, number, State::Succeeded { at: t, result: minutehand_domain::body::Body::Empty })
        .await
}

async fn put_as(world: &World, tenant: &Tenant, job: &str, t: Moment, number: u64, state: State) -> String {
    let job: JobId = job.parse().unwrap();
    let run = Run::new(tenant.clone(), RunKey::manual(job, t, number), Priority::Normal);
    let run = Run { state, ..run };
    assert!(world.ports.store().put(&run.tenant, run.key, &run, Guard::Absent).await.unwrap().is_written());
    run.key.to_string()
}

async fn list(world: &World, query: &str) -> Vec<Value> {
    let answer = world.get(&format!("/v1/runs?{query}")).await;
    assert_eq!(answer.status, 200, "{query}: {}", answer.text);
    answer.items("run_id")
}

#[tokio::test]
async fn where_nothing_ran_the_list_is_empty() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;

    for path in ["/v1/runs".to_owned(), format!("/v1/runs?job_id={job}"), "/v1/runs?status=failed".to_owned()] {
        assert_eq!(world.get(&path).await.json(), json!({"items": [], "next_cursor": null}), "{path}");
    }
}

#[tokio::test]
async fn the_runs_of_all_jobs_come_newest_first() {
    let world = World::new();
    let jobs = [world.job(json!({"on_demand": true})).await, world.job(json!({"on_demand": true})).await];
    let mut made = Vec::new();
    for n in 0..6 {
        made.insert(0, json!(world.run_of(&jobs[n % 2]).await));
        world.pass(1800);
    }

    let answer = world.get("/v1/runs").await;

    assert_eq!((answer.items("run_id"), answer.field("/next_cursor")), (made.clone(), Value::Null));
    for (number, job) in jobs.iter().enumerate() {
        let own: Vec<_> = made.iter().skip(1 - number).step_by(2).cloned().collect();
        assert_eq!(list(&world, &format!("job_id={job}")).await, own);
        assert_eq!(world.get(&format!("/v1/jobs/{job}/runs")).await.items("run_id"), own);
    }
    let one = world.get(&format!("/v1/runs/{}", made[0].as_str().unwrap())).await.json();
    let mut listed = answer.field("/items/0");
    // It is the job's, which a list does not read.
    listed.as_object_mut().unwrap().insert("payload".to_owned(), Value::Null);
    assert_eq!(listed, one);
}

#[tokio::test]
async fn runs_of_one_instant_are_all_listed_in_one_order() {
    let world = World::new();
    let mut made = Vec::new();
    for _ in 0..7 {
        let job = world.job(json!({"on_demand": true})).await;
        made.push(json!(world.run_of(&job).await));
    }

    let whole = list(&world, "").await;
    let paged = pages(&world, "/v1/runs?limit=2", "run_id", async || {}).await;

    assert_eq!(paged.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 2, 1]);
    assert_eq!(paged.concat(), whole);
    let mut sorted = whole;
    sorted.sort_unstable_by_key(Value::to_string);
    made.sort_unstable_by_key(Value::to_string);
    assert_eq!(sorted, made);
}

#[tokio::test]
async fn the_last_day_is_shown_unless_a_window_is_asked_for() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let first = json!(world.run_of(&job).await);
    world.pass(24 * HOUR + 60);
    let second = json!(world.run_of(&job).await);

    for (query, expected) in [
        (String::new(), vec![second.clone()]),
        (format!("from={}", at(0)), vec![second.clone(), first.clone()]),
        (format!("from={}&to={}", at(0), at(24 * HOUR + 60)), vec![first.clone()]),
        (format!("from={}&to={}", at(1), at(24 * HOUR + 60)), vec![]),
        (format!("to={}", at(1)), vec![first.clone()]),
        (format!("from=2027-01-15T10:00:00%2B02:00&to={}", at(1)), vec![first.clone()]),
        ("from=1970-01-01T00:00:00Z&to=1970-01-02T00:00:00Z".to_owned(), vec![]),
    ] {
        assert_eq!(list(&world, &query).await, expected, "{query}");
        assert_eq!(list(&world, &format!("{query}&job_id={job}")).await, expected, "{query}, of the job");
    }
}

#[tokio::test]
async fn each_status_is_found_as_it_is_by_now() {
    let world = World::new();
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "retry": {"max_retries": 0}})).await;
    let patient = world.job(json!({"on_demand": true})).await;
    let mut expected = Vec::new();
    for (status, outcome) in [
        ("succeeded", Some(succeeded())),
        ("failed", Some(failed(ErrorCode::Dns))),
        ("timed_out", Some(Outcome::TimedOut)),
    ] {
        expected.push((status, world.run_of(&job).await));
        world.work(|_, _| outcome.clone().unwrap()).await;
    }
    let backing_off = world.run_of(&patient).await;
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;
    expected.push(("scheduled", backing_off));
    let cancelled = world.run_of(&job).await;
    world.tell(&format!("/v1/runs/{cancelled}/cancel")).await;
    expected.push(("cancelled", cancelled));
    let running = State::Running(minutehand_domain::run::Lease {
        holder: minutehand_domain::run::Holder::Process(minutehand_domain::id::Worker(7)),
        until: seconds(9000),
        cancelled: false,
        token: None,
    });
    expected.push(("running", put_as(&world, &acme(), &job, START, 98, running).await));
    let skipped = State::Skipped { at: START, why: Skip::Paused, span: None };
    expected.push(("skipped", put_as(&world, &acme(), &job, START, 99, skipped).await));
    expected.push(("queued", world.run_of(&job).await));

    for (status, id) in &expected {
        let answer = world.get(&format!("/v1/runs?status={status}")).await;
        assert_eq!(
            (answer.items("run_id"), answer.items("status")),
            (vec![json!(id)], vec![json!(status)]),
            "{status}"
        );
        let job = if *status == "scheduled" { &patient } else { &job };
        let of_job = world.get(&format!("/v1/jobs/{job}/runs?status={status}")).await;
        assert_eq!(of_job.items("run_id"), [json!(id)], "{status}, of the job");
        let both = world.get(&format!("/v1/runs?job_id={job}&status={status}")).await;
        assert_eq!(both.items("run_id"), [json!(id)], "{status} and the job");
    }
    assert_eq!(list(&world, "status=waiting").await, Vec::<Value>::new());
    assert_eq!(list(&world, "").await.len(), expected.len());
}

#[tokio::test]
async fn a_list_goes_through_hours_of_silence() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let mut made = Vec::new();
    for (number, hours) in (1..).zip([0, 1, 50, 200, 201, 500]) {
        made.insert(0, json!(put(&world, &acme(), &job, seconds(hours * HOUR), number).await));
    }
    world.pass(700 * HOUR);

    let answered = pages(&world, &format!("/v1/runs?from={}", at(0)), "run_id", async || {}).await;
    let filtered = pages(&world, &format!("/v1/runs?from={}&status=succeeded", at(0)), "run_id", async || {}).await;

    assert_eq!((answered.concat(), filtered.concat()), (made.clone(), made));
    assert!((9..=12).contains(&answered.len()), "three days of silence are enough for one request: {}", answered.len());
}

#[tokio::test]
async fn paging_loses_and_doubles_nothing_while_runs_are_born_and_end() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    for n in 0..40 {
        world.run_of(&job).await;
        world.pass(if n % 7 == 0 { 4000 } else { 0 });
    }
    let made = list(&world, &format!("from={}", at(0))).await;

    for path in [format!("/v1/runs?limit=3&from={}", at(0)), format!("/v1/jobs/{job}/runs?limit=3&from={}", at(0))] {
        let paged = pages(&world, &path, "run_id", async || {
            // Born inside the window and after it, older and newer than where the list stands.
            let number = world.ports.chance.fresh();
            put(&world, &acme(), &job, seconds(number % 30_000), number).await;
            world.run_of(&job).await;
            world.work(|_, _| succeeded()).await;
            world.pass(1);
        })
        .await
        .concat();

        let mut once = paged.clone();
        once.sort_unstable_by_key(Value::to_string);
        once.dedup();
        assert_eq!(once.len(), paged.len(), "{path}: none twice");
        let of_the_first: Vec<_> = paged.into_iter().filter(|id| made.contains(id)).collect();
        assert_eq!(of_the_first, made, "{path}: all that were there, in their order");
    }
}

#[tokio::test]
async fn a_window_stays_where_the_first_page_put_it() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let mut made = Vec::new();
    for _ in 0..5 {
        made.insert(0, json!(world.run_of(&job).await));
        world.pass(10);
    }

    let paged = pages(&world, "/v1/runs?limit=2", "run_id", async || world.pass(20 * HOUR)).await;

    assert_eq!(paged.concat(), made);
}

#[tokio::test]
async fn a_filter_looks_through_many_runs_and_may_find_few() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let rare = put_as(&world, &acme(), &job, START, 1, State::Cancelled { at: START }).await;
    for n in 2..10_050 {
        put(&world, &acme(), &job, START, n).await;
    }

    for path in ["/v1/runs?status=cancelled".to_owned(), format!("/v1/jobs/{job}/runs?status=cancelled")] {
        let found = pages(&world, &path, "run_id", async || {}).await;

        assert_eq!(found, [vec![], vec![json!(rare)]], "{path}: ten thousand were enough for one request");
    }
}

#[tokio::test]
async fn what_failed_is_found_among_many_that_did_not() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let why = Failure::Error;
    let failed = put_as(&world, &acme(), &job, START, 1, State::Failed { at: START, why }).await;
    let timed_out = put_as(&world, &acme(), &job, START, 2, State::TimedOut { at: START }).await;
    for n in 3..500 {
        put(&world, &acme(), &job, START, n).await;
    }

    assert_eq!(list(&world, "status=failed").await, [json!(failed)]);
    assert_eq!(list(&world, "status=timed_out&limit=1").await, [json!(timed_out)]);
}

#[tokio::test]
async fn another_tenants_runs_are_never_among_them() {
    let world = World::new();
    let ours = world.job(json!({"on_demand": true})).await;
    let create = json!({"target": {"noop": {}}, "schedule": {"on_demand": true}});
    let theirs = world.by(OTHER_KEY, "POST", "/v1/jobs", Some(create)).await.word("/job_id");
    let our_run = world.run_of(&ours).await;
    let their_run = put_as(&world, &other(), &theirs, START, 7, State::TimedOut { at: START }).await;
    // Of the very same key as one of ours.
    let twin = put_as(&world, &other(), &ours, START, 8, State::TimedOut { at: START }).await;

    assert_eq!(list(&world, "").await, [json!(our_run)]);
    assert_eq!(list(&world, "status=timed_out").await, Vec::<Value>::new());
    world.get(&format!("/v1/runs?job_id={theirs}")).await.problem(404, "not-found");
    world.get(&format!("/v1/runs/{their_run}")).await.problem(404, "not-found");
    world.get(&format!("/v1/runs/{twin}")).await.problem(404, "not-found");
    let mut seen = world.by(OTHER_KEY, "GET", "/v1/runs", None).await.items("run_id");
    seen.sort_unstable_by_key(Value::to_string);
    let mut all = vec![json!(their_run), json!(twin)];
    all.sort_unstable_by_key(Value::to_string);
    assert_eq!(seen, all);
}

#[tokio::test]
async fn an_impossible_list_names_its_parameter() {
    let world = World::new();
    let turned = format!("from={}&to={}", at(5), at(5));
    for (query, pointer) in [
        ("job_id=job_x", "?job_id"),
        ("job_id=", "?job_id"),
        ("status=done", "?status"),
        ("limit=0", "?limit"),
        ("limit=1001", "?limit"),
        ("from=monday", "?from"),
        ("to=10000-01-01T00:00:00Z", "?to"),
        ("from=2027-01-15T10:00:00+02:00", "?from"), // a plus is a space here
        (turned.as_str(), "?from"),
        ("job=1", "?job"),
        ("cursor=0", "?cursor"),
    ] {
        assert_eq!(world.get(&format!("/v1/runs?{query}")).await.problem(422, "invalid"), [pointer], "{query}");
    }
    let absent = "job_00000000000000000000000000";
    world.get(&format!("/v1/runs?job_id={absent}")).await.problem(404, "not-found");
}

#[tokio::test]
async fn a_cursor_leads_only_through_the_list_it_came_from() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    for _ in 0..3 {
        world.run_of(&job).await;
    }
    let queries = [
        String::new(),
        format!("job_id={job}"),
        "status=queued".to_owned(),
        format!("from={}", at(0)),
        format!("to={}", at(9)),
    ];
    for from in &queries {
        let cursor = world.get(&format!("/v1/runs?limit=1&{from}")).await.word("/next_cursor");
        for to in &queries {
            let next = world.get(&format!("/v1/runs?limit=1&{to}&cursor={cursor}")).await;

            if from == to {
                assert_eq!(next.items("run_id").len(), 1);
            } else {
                assert_eq!(next.problem(422, "invalid"), ["?cursor"], "{from} for {to}");
            }
        }
        world.by(OTHER_KEY, "GET", &format!("/v1/runs?{from}&cursor={cursor}"), None).await.problem(422, "invalid");
        world.get(&format!("/v1/jobs?cursor={cursor}")).await.problem(422, "invalid");
    }
}

/// A cursor is no secret: whoever writes their own may lead themselves anywhere in what is theirs, and breaks nothing.
#[tokio::test]
async fn a_cursor_that_was_written_by_hand_breaks_nothing() {
    use minutehand_domain::id::{base32, from_base32};

    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    for _ in 0..3 {
        world.run_of(&job).await;
    }
    let mut random = crate::random::Random::of(7);
    for path in ["/v1/runs?limit=1".to_owned(), format!("/v1/jobs/{job}/runs?limit=1")] {
        let cursor = world.get(&path).await.word("/next_cursor");
        let bytes = from_base32(&cursor).unwrap();
        let mut turned = bytes.clone();
        turned[8..24].rotate_left(8); // its window ends before it begins
        let mut forged = vec![turned];
        for _ in 0..300 {
            let mut bytes = bytes.clone();
            for _ in 0..=random.below(4) {
                let place = 8 + random.below(bytes.len() - 8);
                bytes[place] = u8::try_from(random.below(256)).unwrap();
            }
            forged.push(bytes);
        }
        for bytes in forged {
            let answer = world.get(&format!("{path}&cursor={}", base32(&bytes))).await;

            match answer.status.as_u16() {
                200 => assert!(answer.items("job_id").iter().all(|id| *id == json!(job))),
                _ => assert_eq!(answer.problem(422, "invalid"), ["?cursor"]),
            }
        }
    }
}
