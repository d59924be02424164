//! Previews, and what a job fires next.

use serde_json::{Value, json};

use crate::world::{World, at};

fn instants(answer: &crate::world::Answer) -> Vec<Value> {
    answer.field("/fires").as_array().unwrap().iter().map(|fire| fire["at"].clone()).collect()
}

#[tokio::test]
async fn a_preview_tells_a_schedule_in_words_and_instants() {
    let world = World::new();

    let answer = world
        .post(
            "/v1/schedules/preview",
            json!({"schedule": {"cron": "0 2 1 * *", "timezone": "America/New_York"}, "count": 2}),
        )
        .await;

    assert_eq!(
        answer.json(),
        json!({
            "description": "at 02:00 on the 1st of every month, New York time; in the spring gap at 03:00",
            "fires": [
                {
                    "at": "2027-02-01T07:00:00.000Z", "effective_at": "2027-02-01T07:00:00.000Z",
                    "local": "2027-02-01T02:00:00-05:00", "note": null,
                },
                {
                    "at": "2027-03-01T07:00:00.000Z", "effective_at": "2027-03-01T07:00:00.000Z",
                    "local": "2027-03-01T02:00:00-05:00", "note": null,
                },
            ],
            "exhausted": false,
        })
    );
}

#[tokio::test]
async fn a_preview_says_what_daylight_saving_does() {
    let world = World::new();
    for (cron, from, local, note) in [
        ("30 2 * * *", "2026-03-08T00:00:00-05:00", "2026-03-08T03:00:00-04:00", "shifted"),
        ("*/30 * * * *", "2026-11-01T05:30:00Z", "2026-11-01T01:00:00-05:00", "repeated"),
    ] {
        let schedule = json!({"cron": cron, "timezone": "America/New_York"});

        let answer = world.post("/v1/schedules/preview", json!({"schedule": schedule, "from": from, "count": 1})).await;

        assert_eq!((answer.field("/fires/0/local"), answer.field("/fires/0/note")), (json!(local), json!(note)));
    }
}

#[tokio::test]
async fn a_preview_fires_strictly_after_its_from_and_says_when_nothing_follows() {
    let world = World::new();
    let preview = async |schedule: Value, from: Option<u64>, count: usize| {
        let body = json!({"schedule": schedule, "from": from.map(at), "count": count});
        let answer = world.post("/v1/schedules/preview", body).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
        (instants(&answer), answer.field("/exhausted"))
    };
    let every = json!({"every_seconds": 60});

    assert_eq!(preview(every.clone(), Some(60), 2).await, (vec![json!(at(120)), json!(at(180))], json!(false)));
    assert_eq!(preview(json!({"every_seconds": 60, "max_fires": 2}), None, 9).await.1, json!(true));
    assert_eq!(preview(json!({"every_seconds": 60, "max_fires": 2}), None, 2).await.1, json!(true));
    assert_eq!(preview(json!({}), None, 5).await, (vec![json!(at(0))], json!(true)));
    assert_eq!(preview(json!({"at": at(5)}), Some(5), 5).await, (vec![], json!(true)));
    assert_eq!(preview(json!({"on_demand": true}), None, 5).await, (vec![], json!(true)));
}

#[tokio::test]
async fn each_kind_of_schedule_has_its_words() {
    let world = World::new();
    for (schedule, words) in [
        (json!({}), "once, as soon as it is created".to_owned()),
        (json!({"at": at(5)}), format!("once, at {}", at(5))),
        (json!({"after_seconds": 5}), "once, 5 seconds after it is created".to_owned()),
        (json!({"every_seconds": 1}), "every second".to_owned()),
        (
            json!({"every_seconds": 60, "start_at": at(0), "end_at": at(900), "max_fires": 3}),
            format!("every minute, from {} on, until {}, 3 times at most", at(0), at(900)),
        ),
        (json!({"on_demand": true}), "only when it is asked to run".to_owned()),
    ] {
        let answer = world.post("/v1/schedules/preview", json!({"schedule": schedule})).await;

        assert_eq!(answer.field("/description"), words);
    }
}

#[tokio::test]
async fn an_impossible_preview_names_its_field() {
    let world = World::new();
    for (body, pointer) in [
        (json!({"schedule": {"cron": "61 * * * *"}}), "/schedule/cron"),
        (json!({"schedule": {"cron": "0 0 30 2 *"}}), "/schedule/cron"),
        (json!({"schedule": {"cron": "* * * * *", "timezone": "Mars/Olympus"}}), "/schedule/timezone"),
        (json!({"schedule": {"every_seconds": 1}, "count": 1001}), "/count"),
        (json!({"schedule": {"every_seconds": 1}, "count": 0}), "/count"),
        (json!({"schedule": {"every_seconds": 1}, "from": "10000-01-01T00:00:00Z"}), "/from"),
        (json!({"from": at(0)}), "/schedule"),
    ] {
        assert_eq!(world.post("/v1/schedules/preview", body).await.problem(422, "invalid"), [pointer]);
    }
}

#[tokio::test]
async fn a_job_tells_what_it_fires_next() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let path = format!("/v1/jobs/{job}");

    let next = world.get(&format!("{path}/next?count=2")).await;
    world.tell(&format!("{path}/pause")).await;
    let paused = world.get(&format!("{path}/next")).await;
    world.delete(&path).await;
    let cancelled = world.get(&format!("{path}/next")).await;

    assert_eq!(instants(&next), [at(60), at(120)]);
    assert_eq!((instants(&paused), paused.field("/exhausted")), (vec![], json!(false)));
    assert_eq!((instants(&cancelled), cancelled.field("/exhausted")), (vec![], json!(true)));
    assert_eq!(world.get(&format!("{path}/next?count=0")).await.problem(422, "invalid"), ["?count"]);
}

#[tokio::test]
async fn a_job_that_has_no_more_to_fire_tells_so() {
    let world = World::new();
    let once = world.job(json!({"at": at(30)})).await;
    let twice = world.job(json!({"every_seconds": 60, "max_fires": 2})).await;
    let on_demand = world.job(json!({"on_demand": true})).await;

    let ahead = world.get(&format!("/v1/jobs/{once}/next")).await;
    let both = world.get(&format!("/v1/jobs/{twice}/next?count=1000")).await;
    let never = world.get(&format!("/v1/jobs/{on_demand}/next")).await;
    world.pass(31);
    let passed = world.get(&format!("/v1/jobs/{once}/next")).await;

    assert_eq!((instants(&ahead), ahead.field("/exhausted")), (vec![json!(at(30))], json!(true)));
    assert_eq!((instants(&both), both.field("/exhausted")), (vec![json!(at(60)), json!(at(120))], json!(true)));
    assert_eq!((instants(&never), never.field("/exhausted")), (vec![], json!(true)));
    assert_eq!((instants(&passed), passed.field("/exhausted")), (vec![], json!(true)));
}

#[tokio::test]
async fn what_a_job_fires_next_is_what_it_then_fires() {
    let world = World::new();
    let job = world.job(json!({"cron": "*/7 * * * *"})).await;
    let path = format!("/v1/jobs/{job}");

    let told = instants(&world.get(&format!("{path}/next?count=3")).await);
    for _ in 0..20 {
        world.pass(60);
        world.work(|_, _| crate::world::succeeded()).await;
    }

    let mut dispatched = world.get(&format!("{path}/runs")).await.items("scheduled_at");
    dispatched.reverse();
    assert_eq!(dispatched, told);
}

#[tokio::test]
async fn jitter_is_told_beside_the_nominal_instant_by_the_job_its_next_fires_and_its_runs() {
    let world = World::new();
    let job = world.job(json!({"cron": "*/10 * * * *", "jitter_seconds": 300})).await;
    let path = format!("/v1/jobs/{job}");

    let next = world.get(&format!("{path}/next?count=2")).await;
    let due = world.get(&path).await.field("/next_run_at");
    for _ in 0..25 {
        world.pass(60);
        world.work(|_, _| crate::world::succeeded()).await;
    }

    let runs = world.get(&format!("{path}/runs")).await;
    let told = |name: &str| {
        let mut told = runs.items(name);
        told.reverse();
        told[..2].to_vec()
    };
    let effective: Vec<Value> =
        next.field("/fires").as_array().unwrap().iter().map(|fire| fire["effective_at"].clone()).collect();
    assert_eq!((told("scheduled_at"), told("effective_at")), (instants(&next), effective.clone()));
    assert_eq!((due, next.field("/fires/0/note")), (effective[0].clone(), json!("jittered")));
    assert!(instants(&next)[0].as_str().unwrap().ends_with("0:00.000Z") && effective[0] != instants(&next)[0]);
    assert_eq!(world.get(&path).await.field("/schedule/jitter_seconds"), 300);
}

#[tokio::test]
async fn the_choices_of_a_schedule_are_shown_and_can_be_changed() {
    let world = World::new();
    let job =
        world.job(json!({"cron": "30 2 13 * FRI", "days": "both", "dst_gap": "skip", "dst_overlap": "second"})).await;
    let path = format!("/v1/jobs/{job}");

    let shown = world.get(&path).await.field("/schedule");
    let changed = world.patch(&path, json!({"schedule": {"dst_gap": null, "days": "either"}})).await;
    let typo = world.patch(&path, json!({"schedule": {"dst_gap": "jump"}})).await;
    let elsewhere =
        world.post("/v1/jobs", json!({"target": {"noop": {}}, "schedule": {"every_seconds": 5, "days": "both"}})).await;

    assert_eq!(
        (&shown["days"], &shown["dst_gap"], &shown["dst_overlap"]),
        (&json!("both"), &json!("skip"), &json!("second"))
    );
    assert_eq!(
        (changed.field("/schedule/days"), changed.field("/schedule/dst_gap")),
        (json!("either"), json!("next_valid"))
    );
    assert_eq!(typo.problem(422, "invalid"), ["/schedule/dst_gap"]);
    assert_eq!(elsewhere.problem(422, "invalid"), ["/schedule/days"]);
}

#[tokio::test]
async fn h_keeps_the_place_of_its_job_through_changes() {
    let world = World::new();
    let job = world.job(json!({"cron": "H H * * *"})).await;
    let path = format!("/v1/jobs/{job}");

    let before = instants(&world.get(&format!("{path}/next?count=1")).await);
    world.patch(&path, json!({"schedule": {"cron": "0 0 * * *"}})).await;
    let meanwhile = instants(&world.get(&format!("{path}/next?count=1")).await);
    world.patch(&path, json!({"schedule": {"cron": "H H * * *"}})).await;

    assert_eq!(instants(&world.get(&format!("{path}/next?count=1")).await), before);
    assert_ne!(meanwhile, before);
}

#[tokio::test]
async fn a_preview_shows_a_thousand_fires_of_any_time() {
    let world = World::new();
    for from in ["1970-01-01T00:00:00Z", "2026-11-20T12:00:00Z", "9998-12-31T00:00:00Z"] {
        let schedule = json!({"cron": "*/7 * * * * *", "timezone": "Australia/Lord_Howe"});

        let answer =
            world.post("/v1/schedules/preview", json!({"schedule": schedule, "from": from, "count": 1000})).await;

        let fires = instants(&answer);
        assert_eq!(fires.len(), 1000);
        assert!(
            fires.windows(2).all(|pair| pair[0].as_str() < pair[1].as_str()) && fires[0].as_str() > Some(&from[..19])
        );
    }
}

#[tokio::test]
async fn a_job_that_is_not_there_fires_nothing() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;

    world.get("/v1/jobs/job_00000000000000000000000000/next").await.problem(404, "not-found");
    world.by(crate::world::OTHER_KEY, "GET", &format!("/v1/jobs/{job}/next"), None).await.problem(404, "not-found");
    assert_eq!(world.get(&format!("/v1/jobs/{job}/next?cuont=1")).await.problem(422, "invalid"), ["?cuont"]);
}

#[tokio::test]
async fn a_preview_reads_nothing_and_writes_nothing() {
    let world = World::new();

    world.post("/v1/schedules/preview", json!({"schedule": {"every_seconds": 1}, "count": 1000})).await;

    assert_eq!(world.get("/v1/jobs").await.field("/items"), json!([]));
    assert!(world.ports.queues.take(minutehand_domain::Moment::END).is_empty());
}
