//! The forecast: what fires next across jobs.

use minutehand_domain::head::Head;
use minutehand_domain::id::JobId;
use minutehand_domain::job::Job;
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, Store as _};
use serde_json::{Value, json};

use crate::world::{OTHER_KEY, START, World, at, pages, succeeded};

async fn starts(world: &World, query: &str) -> Vec<Value> {
    let answer = world.get(&format!("/v1/fires{query}")).await;
    assert_eq!(answer.status, 200, "{}", answer.text);
    answer.items("effective_at")
}

fn instants(seconds: &[u64]) -> Vec<Value> {
    seconds.iter().map(|seconds| json!(at(*seconds))).collect()
}

#[tokio::test]
async fn where_nothing_fires_the_forecast_is_empty() {
    let world = World::new();
    world.job(json!({"on_demand": true})).await;

    let answer = world.get("/v1/fires").await;

    assert_eq!(answer.json(), json!({"items": [], "next_cursor": null, "complete": true}));
}

#[tokio::test]
async fn a_fire_is_shown_as_its_job_shows_it_and_with_its_job() {
    let world = World::new();
    let schedule = json!({"cron": "30 2 * * *", "timezone": "America/New_York"});
    let job = world.job_of(json!({"schedule": schedule, "name": "nightly", "priority": "high"})).await;

    let answer = world.get("/v1/fires?from=2027-03-14T06:00:00Z").await;

    let run = world.get(&format!("/v1/runs/{}", answer.word("/items/0/run_id"))).await;
    assert_eq!((run.field("/job_id"), run.field("/scheduled_at")), (json!(job), json!("2027-03-14T07:00:00.000Z")));
    let fire = json!({
        "at": "2027-03-14T07:00:00.000Z", "effective_at": "2027-03-14T07:00:00.000Z",
        "local": "2027-03-14T03:00:00-04:00", "note": "shifted",
        "job_id": job, "name": "nightly", "priority": "high", "run_id": answer.field("/items/0/run_id"), "goes_on": false,
    });
    assert_eq!(answer.field("/items"), json!([fire]));
}

#[tokio::test]
async fn fires_of_all_jobs_stand_in_the_order_of_time() {
    let world = World::new();
    for schedule in [
        json!({"every_seconds": 40}),
        json!({"every_seconds": 30, "max_fires": 3}),
        json!({"at": at(50)}),
        json!({"every_seconds": 60, "start_at": at(70), "end_at": at(130)}),
    ] {
        world.job(schedule).await;
    }
    let paused = world.job(json!({"every_seconds": 1})).await;
    world.tell(&format!("/v1/jobs/{paused}/pause")).await;
    let deleted = world.job(json!({"every_seconds": 1})).await;
    world.delete(&format!("/v1/jobs/{deleted}")).await;

    let all = starts(&world, &format!("?to={}", at(140))).await;
    let some = starts(&world, &format!("?from={}&to={}", at(50), at(90))).await;

    assert_eq!(all, instants(&[30, 40, 50, 60, 70, 80, 90, 120]));
    assert_eq!(some, instants(&[50, 60, 70, 80]), "from its begin on, and without its end");
}

#[tokio::test]
async fn a_job_that_fires_each_second_leaves_room_for_the_others() {
    let world = World::new();
    let often = world.job(json!({"every_seconds": 1})).await;
    world.job(json!({"every_seconds": 3_600})).await;

    let answer = world.get("/v1/fires?per_job=3").await;
    let usual = world.get("/v1/fires").await;

    assert_eq!(answer.items("effective_at"), instants(&[1, 2, 3, 3_600, 7_200, 10_800]));
    let goes_on = json!([false, false, true, false, false, true]);
    assert_eq!(json!(answer.items("goes_on")), goes_on, "the last of each that is shown");
    let of = |job: &str| usual.items("job_id").iter().filter(|id| **id == job).count();
    assert_eq!((of(&often), usual.items("job_id").len()), (24, 24 + 23), "23 whole hours: the last is the next day's");
}

/// The second page is asked for a minute later.
#[tokio::test]
async fn a_window_stays_as_it_was_from_page_to_page() {
    let world = World::new();
    for seconds in [7, 20, 60] {
        world.job(json!({"every_seconds": seconds})).await;
    }
    let whole = starts(&world, &format!("?per_job=9&to={}", at(120))).await;
    assert_eq!(whole.len(), 9 + 5 + 1);

    let query = format!("/v1/fires?per_job=9&limit=4&to={}", at(120));
    let paged = pages(&world, &query, "effective_at", async || world.pass(60)).await;

    assert_eq!(paged.concat(), whole);
}

#[tokio::test]
async fn what_has_passed_is_no_forecast() {
    let world = World::new();
    world.job(json!({"every_seconds": 60})).await;
    world.pass(90);
    world.work(|_, _| succeeded()).await;

    assert_eq!(starts(&world, &format!("?from={}&to={}", at(0), at(200))).await, instants(&[120, 180]));
    let late = world.get(&format!("/v1/fires?to={}", at(90))).await;
    assert_eq!(late.problem(422, "invalid"), ["?to"]);
}

#[tokio::test]
async fn an_impossible_forecast_names_its_parameter() {
    let world = World::new();
    let week = 7 * 86_400;
    for (query, pointer) in [
        (format!("to={}", at(week + 1)), "?to"),
        (format!("from={}&to={}", at(60), at(60)), "?to"),
        (format!("from={}&to={}", at(60), at(week + 61)), "?to"),
        ("from=9999-12-31T23:59:59.999Z".to_owned(), "?to"),
        ("from=tomorrow".to_owned(), "?from"),
        ("per_job=0".to_owned(), "?per_job"),
        ("per_job=101".to_owned(), "?per_job"),
        ("limit=1001".to_owned(), "?limit"),
        ("cursor=0".to_owned(), "?cursor"),
        ("job=x".to_owned(), "?job"),
    ] {
        assert_eq!(world.get(&format!("/v1/fires?{query}")).await.problem(422, "invalid"), [pointer], "{query}");
    }
    assert_eq!(world.get(&format!("/v1/fires?to={}", at(week))).await.status, 200);
}

#[tokio::test]
async fn a_cursor_leads_on_in_its_own_forecast_alone() {
    let world = World::new();
    world.job(json!({"every_seconds": 60})).await;
    let cursor = world.get("/v1/fires?limit=1").await.word("/next_cursor");

    for query in [format!("per_job=2&cursor={cursor}"), format!("to={}&cursor={cursor}", at(600))] {
        assert_eq!(world.get(&format!("/v1/fires?{query}")).await.problem(422, "invalid"), ["?cursor"]);
    }
    let of_jobs = world.get(&format!("/v1/jobs?cursor={cursor}")).await;
    assert_eq!(of_jobs.problem(422, "invalid"), ["?cursor"]);
}

#[tokio::test]
async fn nothing_of_another_tenant_is_forecast() {
    let world = World::new();
    let before = world.by(OTHER_KEY, "GET", "/v1/fires", None).await.text;
    world.job(json!({"every_seconds": 60})).await;
    let cursor = world.get("/v1/fires?limit=1").await.word("/next_cursor");

    assert_eq!(world.by(OTHER_KEY, "GET", "/v1/fires", None).await.text, before);
    let foreign = world.by(OTHER_KEY, "GET", &format!("/v1/fires?limit=1&cursor={cursor}"), None).await;
    assert_eq!(foreign.problem(422, "invalid"), ["?cursor"]);
}

/// Those of the lower ids: here each of them fires at the same instants, and one more earlier than all of them.
#[tokio::test]
async fn beyond_ten_thousand_jobs_the_answer_says_that_there_are_more() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 60})).await;
    let job = world.stored_job(&id).await;
    let numbered = |n: u32| {
        let mut bytes = [0; 16];
        bytes[..4].copy_from_slice(&n.to_be_bytes());
        JobId::from_bytes(bytes)
    };
    let put = async |id: JobId, job: &Job| {
        let head = Head::Job(Job { id, ..job.clone() });
        assert!(world.ports.store().put(head.tenant(), id, &head, Guard::Absent).await.unwrap().is_written());
    };
    for n in 0..9_999 {
        put(numbered(n), &job).await;
    }
    let all = world.get("/v1/fires?limit=1000").await;
    let soon = Schedule::new(&Plan { at: Some(START), ..Plan::default() }, START).unwrap();
    put(JobId::from_bytes([255; 16]), &Job { schedule: soon, ..job.clone() }).await;
    let before = world.ports.store().meter().reads;

    let some = world.get("/v1/fires?limit=1000").await;

    let reads = world.ports.store().meter().reads - before;
    assert!(reads <= 10_100, "{reads} items were read");
    assert_eq!((all.field("/complete"), some.field("/complete")), (json!(true), json!(false)));
    assert_eq!(all.items("run_id"), some.items("run_id"));
    assert_eq!(all.items("effective_at"), vec![json!(at(60)); 1_000], "by their ids");
}
