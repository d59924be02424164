//! Kept: what is written once, attempts and bodies, is found again as it was.

use std::sync::Arc;

use minutehand_domain::body::{Body, Json};
use minutehand_domain::id::Worker;
use minutehand_domain::limits::PAYLOAD_BYTES;
use minutehand_domain::run::attempt::{Ended, Ending};
use minutehand_domain::run::{Attempt, AttemptError, Holder, Lease, Run, Skip, SkippedSpan, State};
use minutehand_io::store::{Guard, KeptBody, Seen, Store, Version};

use super::world::{at, attempt, job_id, named, run, tenant, write_attempt};

pub async fn attempts_come_oldest_first<S: Store>(store: Arc<S>) {
    let key = run(1, 60).key;
    for number in [300, 2, 1, 40] {
        write_attempt(&*store, &tenant(), key, &attempt(number)).await.unwrap();
    }
    write_attempt(&*store, &tenant(), run(1, 120).key, &attempt(5)).await.unwrap();

    let attempts = store.list::<Attempt>(&tenant(), key, None, usize::MAX).await.unwrap().items;

    assert_eq!(attempts, [1, 2, 40, 300].map(attempt));
}

pub async fn writing_an_attempt_again_changes_nothing<S: Store>(store: Arc<S>) {
    let (key, ended) = (run(1, 60).key, failed(1));

    for _ in 0..2 {
        write_attempt(&*store, &tenant(), key, &ended).await.unwrap();
    }

    assert_eq!(store.list::<Attempt>(&tenant(), key, None, usize::MAX).await.unwrap().items, [ended]);
}

pub async fn a_body_of_256_kib_is_found_as_it_was<S: Store>(store: Arc<S>) {
    let text: String = ('a'..='z').cycle().take(PAYLOAD_BYTES - 2).collect();
    let body = Json::of(&serde_json::Value::String(text));
    assert_eq!(body.len(), PAYLOAD_BYTES);

    let (key, kept) = ((job_id(1), body.digest()), KeptBody { json: body });

    for again in [false, true] {
        let put = store.put(&tenant(), key, &kept, Guard::Absent).await.unwrap();
        assert_eq!(put.is_written(), !again);
    }

    let found = async |tenant, job| store.get::<KeptBody>(&tenant, (job, key.1)).await.unwrap();
    assert_eq!(found(tenant(), key.0).await, Some(Seen { item: kept, version: Version(1) }));
    assert_eq!(found(tenant(), job_id(2)).await, None, "another job's");
    assert_eq!(found(named("other"), key.0).await, None, "another tenant's");
}

pub async fn a_run_in_every_state_is_found_as_it_was<S: Store>(store: Arc<S>) {
    let lease = Lease { holder: Holder::Process(Worker(u64::MAX)), until: at(90), cancelled: true, token: None };
    let result = Body::Inside(Json::of(&serde_json::json!({"text": "ä\u{0}🕐", "list": [1, null, 2.5]})));
    let states = [
        State::Scheduled { due: at(60) },
        State::Running(lease),
        State::Succeeded { at: at(61), result },
        State::Skipped {
            at: at(61),
            why: Skip::Coalesced,
            span: Some(SkippedSpan { until: at(600), count: Some(u64::MAX) }),
        },
    ];

    for (seconds, state) in (60..).zip(states) {
        let attempts = vec![attempt(1), failed(2)];
        let run = Run { state, attempts, fence: u32::MAX, started_at: Some(at(1)), ..run(1, seconds) };
        assert!(store.put(&run.tenant, run.key, &run, Guard::Absent).await.unwrap().is_written());
        assert_eq!(store.get::<Run>(&tenant(), run.key).await.unwrap().map(|seen| seen.item), Some(run));
    }
}

fn failed(number: u32) -> Attempt {
    let error = AttemptError::new("http_503", "the target was busy").permanent();
    Attempt { ended: Some(Ended { at: at(9), how: Ending::Failed(error) }), ..attempt(number) }
}
