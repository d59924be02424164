//! What the API and what it leads to are measured as: what was prevented and refused, and who is there to work.

use minutehand_api::{Keyring, Metrics, TargetCheck};
use minutehand_domain::run::ErrorCode;
use prometheus::Registry;
use serde_json::{Value, json};

use crate::world::{ACME_KEY, OTHER_KEY, World, acme, failed, other, succeeded};

impl World {
    pub(crate) fn counted(&self, name: &str) -> u64 {
        self.ports.measured.of(name)
    }

    /// The seconds that runs were found to have waited, while a worker of their pool was alive and while none was.
    fn waited(&self) -> [u64; 2] {
        ["worker_wait_seconds normal", "unattended_seconds normal"].map(|name| self.counted(name))
    }

    /// A worker shows that it is alive.
    async fn asks(&self, more: Value) {
        let answer = self.ask(more).await;
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    async fn says(&self, lines: &[&str]) {
        let text = self.get("/metrics").await.text;
        for line in lines {
            assert!(text.lines().any(|other| other == *line), "{line}: {text}");
        }
    }
}

fn measuring() -> World {
    let metrics = Metrics::new(Registry::new()).unwrap();
    World::whole(Keyring::single(ACME_KEY, acme()).and(OTHER_KEY, other()), TargetCheck::new(|_| Ok(())), Some(metrics))
}

/// Removed: the look at the answer's header, and that at each answer of a batch.
#[tokio::test]
async fn a_request_that_was_made_before_is_a_duplicate_prevented() {
    let world = World::new();
    let job = json!({"target": {"noop": {}}, "schedule": {"on_demand": true}, "idempotency_key": "once"});
    let made = world.post("/v1/jobs", job.clone()).await.word("/job_id");
    let path = format!("/v1/jobs/{made}/run");
    assert_eq!(world.counted("duplicates_prevented idempotency_key"), 0);

    world.post("/v1/jobs", job.clone()).await;
    world.post("/v1/jobs/batch", json!({"jobs": [job]})).await;
    for _ in 0..2 {
        world.with(("idempotency-key", "run"), "POST", &path, None).await;
    }
    let operation = json!({"act": "pause", "jobs": {"tag": "x"}});
    let asked =
        [0; 2].map(|_| world.with(("idempotency-key", "op"), "POST", "/v1/operations", Some(operation.clone())));
    for answer in asked {
        let answer = answer.await;
        assert!(answer.status.is_success(), "{}", answer.text);
    }

    assert_eq!(world.counted("duplicates_prevented idempotency_key"), 4);
}

/// Removed: the quota on the problem; what a batch refuses is not counted where its answers are not looked at.
#[tokio::test]
async fn what_a_quota_refuses_is_counted_by_what_there_was_too_much_of() {
    let world = World::new();
    let job = json!({"target": {"noop": {}}, "schedule": {"on_demand": true}});
    world.put("/v1/quotas/other", json!({"max_jobs": 1})).await;
    let theirs = async |path, body| world.by(OTHER_KEY, "POST", path, Some(body)).await;

    let statuses = [
        theirs("/v1/jobs", job.clone()).await.status,
        theirs("/v1/jobs", job.clone()).await.status,
        theirs("/v1/jobs/batch", json!({"jobs": [job, job]})).await.status,
    ];

    assert_eq!(statuses.map(|status| status.as_u16()), [201, 429, 200]);
    assert_eq!(world.counted("quota_refusals jobs"), 3);
    assert_eq!(world.counted("quota_refusals fires"), 0);
}

/// Removed, one after the other: the event of a late offer; the look at the pool's workers; whether they take its handler.
#[tokio::test]
async fn a_run_that_waits_for_workers_is_unattended_where_none_of_its_pool_is_alive_that_takes_it() {
    let world = World::new();
    world.ready(json!({})).await;
    assert_eq!(world.waited(), [0, 0], "it has just come");

    world.pass(61);
    world.offer().await;
    assert_eq!(world.waited(), [0, 61]);

    // Somebody asks who can do something else: a sign of life of the pool, and nothing for this run.
    world.asks(json!({"handlers": ["other"]})).await;
    world.pass(60);
    world.asks(json!({"handlers": ["other"]})).await;
    world.pass(1);
    world.offer().await;
    assert_eq!(world.waited(), [0, 61 + 122 + 122], "at two looks more");
}

/// Removed: the look at the pool's workers.
#[tokio::test]
async fn a_run_that_waits_while_somebody_of_its_pool_is_alive_waits_for_a_busy_one() {
    let world = World::new();
    world.asks(json!({"lease_seconds": 600})).await;
    world.ready(json!({})).await;

    world.pass(61);
    world.offer().await;

    assert_eq!(world.waited(), [61, 0], "it is busy, and that is another thing");
}

/// A run had waited behind a busy worker when that died. Removed: when one was last heard of.
#[tokio::test]
async fn a_pool_has_been_without_workers_for_as_long_as_none_was_heard_of() {
    let world = World::new();
    world.ready(json!({"timeout_seconds": 3600})).await;
    let held = world.taken_by(json!({"lease_seconds": 60})).await;
    world.ready(json!({})).await;
    for _ in 0..10 {
        world.pass(50);
        assert_eq!(world.say(&held, "heartbeat", json!({})).await.status, 200);
    }

    world.pass(200);
    world.offer().await;

    let [attended, silent] = world.waited();
    assert!(attended == 0 && (200..=250).contains(&silent), "{attended} {silent}");
}

/// Workers that were restarted under new names are listed for a day. Removed: that a page is read on.
#[tokio::test]
async fn a_pool_is_attended_by_who_is_alive_behind_many_that_are_gone() {
    let world = World::new();
    for number in 0..150 {
        world.asks(json!({"worker_id": format!("gone-{number}"), "lease_seconds": 5})).await;
    }
    world.pass(3600);
    world.asks(json!({"worker_id": "alive", "lease_seconds": 600})).await;
    world.ready(json!({})).await;

    world.pass(61);
    world.offer().await;

    assert_eq!(world.waited(), [61, 0]);
}

/// Removed: whose lease it was, and whether it had run out.
#[tokio::test]
async fn a_worker_that_is_heard_of_no_more_has_lost_its_heartbeat_and_one_that_hands_back_has_not() {
    let world = World::new();
    world.ready(json!({"timeout_seconds": 3600})).await;
    let held = world.taken().await;
    assert_eq!(world.say(&held, "hand-back", json!({})).await.status, 200);
    assert_eq!(world.counted("heartbeats_lost"), 0);

    world.pass(5);
    world.offer().await;
    let _lost = world.taken().await;
    world.pass(120);
    world.offer().await;
    let _again = world.taken().await;

    assert_eq!(world.counted("heartbeats_lost"), 1);
}

#[tokio::test]
async fn workers_and_their_slots_are_counted_while_they_are_alive() {
    let world = measuring();
    world.ready(json!({})).await;
    let asks = |worker: &str| json!({"pool": "web1", "worker_id": worker, "wait_seconds": 0, "slots": 4, "max": 1});

    let taken = world.post("/v1/leases", asks("a")).await;
    world.post("/v1/leases", asks("b")).await;
    assert_eq!(taken.field("/leases").as_array().unwrap().len(), 1);
    world
        .says(&[
            r#"minutehand_workers{status="live"} 2"#,
            r#"minutehand_worker_slots{state="all"} 8"#,
            r#"minutehand_worker_slots{state="held"} 1"#,
        ])
        .await;

    world.pass(600);
    world
        .says(&[
            r#"minutehand_workers{status="live"} 0"#,
            r#"minutehand_workers{status="dead"} 2"#,
            r#"minutehand_worker_slots{state="held"} 0"#,
        ])
        .await;
}

/// Whosever they are. Removed: that what somebody sees to leaves the list.
#[tokio::test]
async fn the_oldest_dead_letter_is_as_old_as_its_run_until_somebody_sees_to_it() {
    let world = measuring();
    let job = json!({"target": {"noop": {}}, "schedule": {"on_demand": true}, "retry": {"max_retries": 0}});
    world.says(&["minutehand_dead_letters_oldest_seconds 0"]).await;
    let mut letters = Vec::new();
    for key in [OTHER_KEY, ACME_KEY] {
        let id = world.by(key, "POST", "/v1/jobs", Some(job.clone())).await.word("/job_id");
        letters.push(world.by(key, "POST", &format!("/v1/jobs/{id}/run"), None).await.word("/run_id"));
        world.work(|_, _| failed(ErrorCode::Http4xx)).await;
        world.pass(60);
    }
    let dismiss = async |key, run: &str| {
        world.by(key, "POST", &format!("/v1/dead-letters/{run}/dismiss"), Some(json!({}))).await.status.as_u16()
    };

    world.says(&["minutehand_dead_letters_oldest_seconds 120"]).await;
    assert_eq!(dismiss(OTHER_KEY, &letters[0]).await, 200);
    world.says(&["minutehand_dead_letters_oldest_seconds 60"]).await;
    assert_eq!(dismiss(ACME_KEY, &letters[1]).await, 200);
    world.says(&["minutehand_dead_letters_oldest_seconds 0"]).await;
}

/// Removed: the jobs that are watched. A job that is gone stops its series. And: what is overdue is asked of the job's schedule alone, where none of the
/// newest runs is an occurrence. Behind a hundred runs by hand it was overdue for as long as there was the job.
#[tokio::test]
async fn jobs_that_are_watched_show_their_last_success_and_what_is_overdue() {
    let made_elsewhere = World::new();
    let job = json!({"target": {"noop": {}}, "schedule": {"every_seconds": 60}, "idempotency_key": "watched"});
    let id = made_elsewhere.post("/v1/jobs", job.clone()).await.word("/job_id");
    let watched = format!("acme/{id}");
    let metrics = Metrics::new(Registry::new()).unwrap().watching(vec![watched.parse().unwrap()]);
    let world = World::whole(Keyring::single(ACME_KEY, acme()), TargetCheck::new(|_| Ok(())), Some(metrics));
    let before = world.get("/metrics").await.text;
    assert!(!before.contains("minutehand_job_overdue_seconds{"), "there is no such job yet: {before}");

    world.post("/v1/jobs", job).await;
    world.pass(60);
    world.work(|_, _| succeeded()).await;
    world.pass(1);
    for _ in 0..101 {
        world.post(&format!("/v1/jobs/{id}/run"), json!({})).await;
    }
    world.work(|_, _| succeeded()).await;
    let succeeded_at = world.now().millis() / 1000;
    world.says(&[&format!(r#"minutehand_job_overdue_seconds{{watched="{watched}"}} 0"#)]).await;
    world.pass(124);

    let (success, overdue) = (
        format!(r#"minutehand_job_last_success_seconds{{watched="{watched}"}} {succeeded_at}"#),
        format!(r#"minutehand_job_overdue_seconds{{watched="{watched}"}} 65"#),
    );
    world.says(&[&success, &overdue]).await;
    assert_eq!(world.delete(&format!("/v1/jobs/{id}")).await.status, 204);
    world.says(&[&format!(r#"minutehand_job_overdue_seconds{{watched="{watched}"}} 0"#)]).await;
}

/// Removed: a scrape is let by. It took from the quota, for which the store is read; while that hangs a scrape was answered after nine seconds.
#[tokio::test]
async fn a_scrape_counts_against_no_quota() {
    let world = measuring();
    world.put("/v1/quotas/acme", json!({"max_requests_per_second": 1})).await;
    let mut refused = 0;
    for _ in 0..5 {
        assert_eq!(world.get("/metrics").await.status.as_u16(), 200);
        refused += u32::from(world.get("/v1/jobs").await.status.as_u16() == 429);
    }

    assert!(refused > 0, "the quota holds for everything else");
}
