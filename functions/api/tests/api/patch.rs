//! Changing a job: merge-patches, preconditions, and what a change leaves alone.

use std::sync::Arc;

use minutehand_domain::body::Body;
use minutehand_domain::run::ErrorCode;
use minutehand_domain::workflow::definition::Definition;
use serde_json::{Value, json};

use crate::graphs::task;
use crate::world::{ACME_KEY, Answer, OTHER_KEY, START, World, at, failed, in_the_usual_manner, request, succeeded};

async fn whole(world: &World) -> String {
    let fields = json!({
        "name": "nightly", "owner": "ops", "tags": ["a", "b"], "payload": {"keep": 1, "drop": {"x": [1, 2]}},
        "schedule": {"cron": "0 2 * * *", "timezone": "Europe/Paris", "max_fires": 9},
        "target": {"http": {"url": "https://a.example/hook", "headers": {"x-one": "1", "x-two": "2"}}},
        "priority": "high", "timeout_seconds": 90, "retry": {"max_retries": 7},
        "catch_up": {"policy": "all", "max_runs": 5, "window_seconds": 3600},
    });
    world.job_of(fields).await
}

/// A patch as it was written, character for character.
async fn raw(world: &World, id: &str, body: &str) -> Answer {
    let request = request("PATCH", &format!("/v1/jobs/{id}"), ACME_KEY);
    world
        .send(request.header("content-type", "application/merge-patch+json").body(body.to_owned().into()).unwrap())
        .await
}

#[tokio::test]
async fn a_patch_changes_what_it_names_and_nothing_else() {
    let world = World::new();
    let id = whole(&world).await;
    let before = world.get(&format!("/v1/jobs/{id}")).await.json();
    world.pass(10);

    let answer = world.patch(&format!("/v1/jobs/{id}"), json!({"name": "daily", "tags": ["c"]})).await;

    let mut expected = before;
    let fields = expected.as_object_mut().unwrap();
    fields.insert("name".to_owned(), json!("daily"));
    fields.insert("tags".to_owned(), json!(["c"]));
    fields.insert("generation".to_owned(), json!(2));
    fields.insert("updated_at".to_owned(), json!(at(10)));
    fields.remove("last_run");
    fields.remove("health");
    assert_eq!((answer.status.as_u16(), answer.header("etag")), (200, "\"2\""));
    assert_eq!(answer.json(), expected);
    assert_eq!(world.get(&format!("/v1/jobs/{id}")).await.field("/name"), "daily");
}

#[tokio::test]
async fn null_takes_a_field_back_to_its_default() {
    let world = World::new();
    let id = whole(&world).await;
    let fields = [
        "name",
        "owner",
        "tags",
        "payload",
        "priority",
        "timeout_seconds",
        "retry",
        "delivery",
        "catch_up",
        "overlap",
        "callback",
        "hooks",
        "concurrency",
        "rate",
    ];
    let patch: serde_json::Map<_, _> = fields.map(|field| (field.to_owned(), Value::Null)).into_iter().collect();

    let answer = world.patch(&format!("/v1/jobs/{id}"), patch.into()).await;

    assert_eq!(answer.status, 200, "{}", answer.text);
    let plain = world.job(json!({"on_demand": true})).await;
    let plain = world.get(&format!("/v1/jobs/{plain}")).await;
    for field in fields {
        assert_eq!(answer.json().get(field), plain.json().get(field), "{field}");
    }
    assert_eq!(answer.field("/schedule/cron"), "0 2 * * *");
}

#[tokio::test]
async fn objects_are_merged_and_lists_replaced() {
    let world = World::new();
    let id = whole(&world).await;

    let answer = world
        .patch(
            &format!("/v1/jobs/{id}"),
            json!({
                "target": {"http": {"headers": {"x-one": null, "x-three": "3"}}},
                "schedule": {"max_fires": null},
                "retry": {"backoff": "fixed"},
                "payload": {"drop": {"x": null, "y": [3]}, "new": {"gone": null}},
            }),
        )
        .await;

    assert_eq!(answer.status, 200, "{}", answer.text);
    assert_eq!(
        answer.field("/target/http"),
        json!({"url": "https://a.example/hook", "method": "POST", "headers": {"x-two": "2", "x-three": "3"}})
    );
    let schedule = in_the_usual_manner(json!({"cron": "0 2 * * *", "timezone": "Europe/Paris"}));
    assert_eq!(answer.field("/schedule"), schedule);
    assert_eq!((answer.field("/retry/backoff"), answer.field("/retry/max_retries")), (json!("fixed"), json!(7)));
    assert_eq!(answer.field("/payload"), json!({"keep": 1, "drop": {"y": [3]}, "new": {}}));
}

#[tokio::test]
async fn another_policy_of_catching_up_leaves_behind_what_does_not_go_with_it() {
    let world = World::new();
    let last = json!({"policy": "last", "window_seconds": 3600});
    for (patch, shown) in [
        (json!({"policy": "last"}), last.clone()),
        (json!({"policy": null}), last),
        (json!({"policy": "none"}), json!({"policy": "none"})),
        (json!({"policy": "all"}), json!({"policy": "all", "max_runs": 5, "window_seconds": 3600})),
        (json!({"max_runs": 9}), json!({"policy": "all", "max_runs": 9, "window_seconds": 3600})),
        (json!({"max_runs": null}), json!({"policy": "all", "max_runs": 100, "window_seconds": 3600})),
        (json!({"policy": "last", "window_seconds": 90}), json!({"policy": "last", "window_seconds": 90})),
        (
            json!({"rate_per_minute": 30}),
            json!({"policy": "all", "max_runs": 5, "window_seconds": 3600, "rate_per_minute": 30}),
        ),
    ] {
        let id = whole(&world).await;
        let answer = world.patch(&format!("/v1/jobs/{id}"), json!({"catch_up": patch})).await;

        assert_eq!((answer.status.as_u16(), answer.field("/catch_up")), (200, shown), "{patch}");
    }
}

#[tokio::test]
async fn a_schedule_whose_calendars_are_taken_away_says_nothing_more_of_what_they_take() {
    let world = World::new();
    let calendar = world.put("/v1/calendars/h2", json!({"business_days": ["MON", "TUE", "WED", "THU", "FRI"]})).await;
    assert_eq!(calendar.status, 201, "{}", calendar.text);
    let schedule = json!({"cron": "0 9 * * *", "calendars": ["h2"]});
    for nothing in [json!(null), json!([])] {
        let path = format!("/v1/jobs/{}", world.job(schedule.clone()).await);
        assert_eq!(world.get(&path).await.field("/schedule/on_excluded"), "skip");

        let named = world.patch(&path, json!({"schedule": {"calendars": nothing, "on_excluded": "move"}})).await;
        let answer = world.patch(&path, json!({"schedule": {"calendars": nothing}})).await;

        assert_eq!(named.problem(422, "invalid"), ["/schedule/on_excluded"]);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let shown = answer.field("/schedule");
        assert_eq!(
            (shown.get("calendars"), shown.get("on_excluded"), &shown["cron"]),
            (None, None, &json!("0 9 * * *"))
        );
    }
}

#[tokio::test]
async fn a_patch_that_changes_nothing_leaves_the_generation() {
    let world = World::new();
    let id = whole(&world).await;
    let path = format!("/v1/jobs/{id}");
    let shown = world.get(&path).await.json();
    world.pass(100);

    for patch in [
        json!({}),
        json!({"name": "nightly"}),
        json!({"tags": ["b", "a", "b"]}),
        json!({"schedule": {"cron": "0 2 * * *"}}),
        json!({"payload": {"keep": 1}}),
        json!({"payload": {"drop": {"x": [1, 2]}, "never": null}}),
        json!({"target": {"http": {"method": "POST"}}, "timeout_seconds": 90}),
    ] {
        let answer = world.patch(&path, patch.clone()).await;

        assert_eq!((answer.status.as_u16(), answer.field("/generation")), (200, json!(1)), "{patch}");
        assert_eq!((answer.header("etag"), answer.field("/updated_at")), ("\"1\"", json!(at(0))), "{patch}");
    }
    assert_eq!(world.get(&path).await.json(), shown);
}

#[tokio::test]
async fn a_patch_is_a_merge_patch_or_just_json() {
    let world = World::new();
    let id = whole(&world).await;
    for (content_type, status) in [
        ("application/merge-patch+json", 200),
        ("Application/Merge-Patch+JSON; charset=utf-8", 200),
        ("application/json", 200),
        ("application/json-patch+json", 415),
        ("text/plain", 415),
    ] {
        let request = request("PATCH", &format!("/v1/jobs/{id}"), ACME_KEY).header("content-type", content_type);

        let answer = world.send(request.body("{}".into()).unwrap()).await;

        assert_eq!(answer.status, status, "{content_type}");
    }
    let request = request("POST", "/v1/jobs", ACME_KEY).header("content-type", "application/merge-patch+json");
    let created = world.send(request.body(r#"{"target":{"noop":{}}}"#.into()).unwrap()).await;
    created.problem(415, "unsupported-media-type");
}

#[tokio::test]
async fn a_patch_of_another_field_leaves_the_occurrences() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 60})).await;
    let path = format!("/v1/jobs/{id}");
    let first = world.get(&path).await.field("/next_run_id");
    let before = world.stored_job(&id).await;
    world.pass(30);

    world.patch(&path, json!({"payload": [1], "schedule": {"every_seconds": 60}})).await;

    let after = world.stored_job(&id).await;
    assert_eq!((after.schedule, after.since, after.before), (before.schedule, before.since, vec![]));
    assert_eq!(world.get(&path).await.field("/next_run_id"), first, "the same instant is the same run");
    world.pass(30);
    world.work(|_, _| succeeded()).await;
    let runs = world.get(&format!("{path}/runs")).await;
    assert_eq!((runs.items("run_id"), runs.items("status")), (vec![first], vec![json!("succeeded")]));
}

#[tokio::test]
async fn a_job_whose_instant_has_passed_can_still_be_renamed() {
    let world = World::new();
    let once_at_eight = json!({"cron": "30 8 * * *", "max_fires": 1});
    for schedule in [json!({"at": at(30)}), json!({"after_seconds": 5}), json!({}), once_at_eight] {
        world.ports.clock.set(START);
        let path = format!("/v1/jobs/{}", world.job(schedule.clone()).await);
        world.pass(7200);

        let renamed = world.patch(&path, json!({"name": "late"})).await;

        assert_eq!((renamed.status.as_u16(), renamed.field("/name")), (200, json!("late")), "{}", renamed.text);
        assert_eq!(renamed.field("/status"), "completed", "a new name starts nothing again");
        if schedule.get("at").is_some() {
            let again = world.patch(&path, json!({"schedule": {"at": at(31)}})).await;
            assert_eq!(again.problem(422, "invalid"), ["/schedule/at"], "a new instant has to come");
        }
    }
}

#[tokio::test]
async fn another_kind_of_schedule_replaces_the_one_that_is_there() {
    let world = World::new();
    let kinds = [
        in_the_usual_manner(json!({"cron": "0 2 * * *", "timezone": "Europe/Paris"})),
        in_the_usual_manner(json!({"cron": "@every 90s"})),
        json!({"every_seconds": 60}),
        json!({"at": at(500)}),
        json!({"after_seconds": 50}),
        json!({"on_demand": true}),
    ];
    for from in &kinds {
        for to in &kinds {
            let id = world.job(from.clone()).await;

            let answer = world.patch(&format!("/v1/jobs/{id}"), json!({"schedule": to})).await;

            assert_eq!((answer.status.as_u16(), answer.field("/schedule")), (200, to.clone()), "{from} to {to}");
            assert_eq!(answer.field("/generation"), if from == to { 1 } else { 2 }, "{from} to {to}");
        }
    }
}

#[tokio::test]
async fn a_zone_alone_and_the_bounds_are_kept_beside_another_rhythm() {
    let world = World::new();
    let id = whole(&world).await;
    let path = format!("/v1/jobs/{id}");

    let zone = world.patch(&path, json!({"schedule": {"timezone": "Asia/Tokyo"}})).await;
    let every = world.patch(&path, json!({"schedule": {"every_seconds": 60}})).await;
    let bounds = world.patch(&path, json!({"schedule": {"at": at(500)}})).await;

    let in_tokyo = in_the_usual_manner(json!({"cron": "0 2 * * *", "timezone": "Asia/Tokyo", "max_fires": 9}));
    assert_eq!(zone.field("/schedule"), in_tokyo);
    assert_eq!(every.field("/schedule"), json!({"every_seconds": 60, "max_fires": 9}), "a zone goes with its cron");
    assert_eq!(bounds.problem(422, "invalid"), ["/schedule/max_fires"], "once is not nine times");
}

#[tokio::test]
async fn what_is_not_on_demand_says_nothing_about_its_kind() {
    // Before it was seen that `false` names no kind, this took the cron away and ran the job at once.
    let world = World::new();
    let id = world.job(json!({"cron": "0 2 * * *"})).await;

    let answer = world.patch(&format!("/v1/jobs/{id}"), json!({"schedule": {"on_demand": false}})).await;

    assert_eq!(answer.field("/schedule"), in_the_usual_manner(json!({"cron": "0 2 * * *"})), "{}", answer.text);
    assert_eq!(answer.field("/generation"), 1);
}

/// Removed: what says no more than its absence is left out of the comparison (`without_what_says_nothing`). A job that had run ran again, an interval that
/// was patched more often than it fires never fired, and `max_fires` counted anew.
#[tokio::test]
async fn a_schedule_that_says_the_same_in_more_words_is_no_other() {
    let world = World::new();
    let schedules = [
        json!({}),
        json!({"at": at(30)}),
        json!({"after_seconds": 5}),
        json!({"every_seconds": 3600}),
        json!({"cron": "30 8 * * *", "max_fires": 1}),
        json!({"cron": "@every 90s"}),
    ];
    for schedule in schedules {
        let words = [json!({"jitter_seconds": 0}), json!({"calendars": []}), json!({"on_demand": false})];
        for words in words.into_iter().take(if schedule == json!({}) { 2 } else { 3 }) {
            world.ports.clock.set(START);
            let path = format!("/v1/jobs/{}", world.job(schedule.clone()).await);
            world.pass(7201);
            let shown = world.get(&path).await;
            let of = |answer: &Answer| {
                ["generation", "schedule", "status", "next_run_at"].map(|field| answer.field(&format!("/{field}")))
            };

            let patched = world.patch(&path, json!({"schedule": words})).await;

            assert_eq!((patched.status.as_u16(), of(&patched)), (200, of(&shown)), "{schedule} {words}");
            assert_eq!(patched.field("/generation"), 1);
        }
    }
}

/// Removed: since when a schedule counts is not asked of the one that is there (`checked_over`). Another bound moved the hours of an interval, and a
/// calendar had a job run again that had run.
#[tokio::test]
async fn what_counts_from_the_jobs_creation_goes_on_counting_from_there() {
    let world = World::new();
    let hourly = format!("/v1/jobs/{}", world.job(json!({"every_seconds": 3600})).await);
    let once = format!("/v1/jobs/{}", world.job(json!({"after_seconds": 1200})).await);
    world.pass(600);

    for path in [&hourly, &once] {
        let bound = if path == &hourly { json!({"end_at": at(90_000)}) } else { json!({"calendars": null}) };
        let bounded = world.patch(path, json!({"schedule": bound})).await;
        let spread = world.patch(path, json!({"schedule": {"jitter_seconds": 1}})).await;
        let unspread = world.patch(path, json!({"schedule": {"jitter_seconds": null}})).await;
        let due = if path == &hourly { at(3600) } else { at(1200) };
        assert_eq!((bounded.field("/next_run_at"), unspread.field("/next_run_at")), (json!(due), json!(due)));
        assert_eq!(spread.field("/schedule/jitter_seconds"), 1);
    }
    let other = world.patch(&hourly, json!({"schedule": {"every_seconds": 60}})).await;
    assert_eq!(other.field("/next_run_at"), at(660), "another period begins now");

    world.pass(1200);
    let past = world.patch(&once, json!({"schedule": {"jitter_seconds": 1}})).await;
    assert_eq!(past.problem(422, "invalid"), ["/schedule"], "it has run, and does not run again");
}

#[tokio::test]
async fn a_patch_leaves_an_instant_of_the_wall_where_it_is() {
    let world = World::new();
    let twice = json!({
        "cron": "at(2027-11-07T01:30:00)", "timezone": "America/New_York", "dst_overlap": "second",
    });
    let id = world.job(twice).await;

    let spread = world.patch(&format!("/v1/jobs/{id}"), json!({"schedule": {"jitter_seconds": 0}})).await;

    assert_eq!(spread.field("/next_run_at"), "2027-11-07T06:30:00.000Z");
    assert_eq!(spread.field("/schedule/dst_overlap"), "second");
}

#[tokio::test]
async fn a_schedule_taken_away_is_once_and_now() {
    let world = World::new();
    let id = world.job(json!({"cron": "0 2 * * *"})).await;
    world.pass(10);

    let answer = world.patch(&format!("/v1/jobs/{id}"), json!({"schedule": null})).await;

    assert_eq!((answer.field("/schedule"), answer.field("/next_run_at")), (json!({}), json!(at(10))));
}

#[tokio::test]
async fn a_new_schedule_is_in_force_at_once_and_the_old_one_until_then() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 60})).await;
    world.pass(90);
    world.work(|_, _| succeeded()).await;

    world.patch(&format!("/v1/jobs/{id}"), json!({"schedule": {"every_seconds": 7}})).await;
    world.pass(7);
    world.work(|_, _| succeeded()).await;

    let runs = world.get(&format!("/v1/jobs/{id}/runs")).await;
    assert_eq!(runs.items("scheduled_at"), [at(97), at(60)]);
}

#[tokio::test]
async fn another_kind_of_target_replaces_the_one_that_is_there() {
    let world = World::new();
    let id = whole(&world).await;
    let path = format!("/v1/jobs/{id}");

    let noop = world.patch(&path, json!({"target": {"noop": {}}})).await;
    let http = world.patch(&path, json!({"target": {"http": {"url": "https://b.example"}}})).await;
    let both = world.patch(&path, json!({"target": {"noop": {}, "http": {"url": "https://b.example"}}})).await;
    let none = world.patch(&path, json!({"target": null})).await;

    assert_eq!(noop.field("/target"), json!({"noop": {}}));
    assert_eq!(http.field("/target"), json!({"http": {"url": "https://b.example", "method": "POST", "headers": {}}}));
    assert_eq!(both.problem(422, "invalid"), ["/target"]);
    assert_eq!(none.problem(422, "invalid"), ["/target"]);
}

#[tokio::test]
async fn a_payload_that_is_merged_keeps_every_digit_and_the_order_of_its_keys() {
    let world = World::new();
    let payload = r#""payload":{"z":12345678901234567890123,"a":1.50,"m":{"y":1,"b":2}}"#;
    let body = format!(r#"{{"target":{{"noop":{{}}}},"schedule":{{"on_demand":true}},{payload}}}"#);
    let request = request("POST", "/v1/jobs", ACME_KEY).header("content-type", "application/json");
    let id = world.send(request.body(body.into()).unwrap()).await.word("/job_id");

    let renamed = raw(&world, &id, r#"{"name":"x"}"#).await;
    let merged = raw(&world, &id, r#"{"payload":{"n":1E5,"m":{"y":null}}}"#).await;

    assert!(renamed.text.contains(payload));
    let told = r#""payload":{"z":12345678901234567890123,"a":1.50,"m":{"b":2},"n":1E5}"#;
    assert!(merged.text.contains(told), "{}", merged.text);
}

#[tokio::test]
async fn a_payload_that_grows_or_shrinks_moves_out_and_in() {
    let world = World::new();
    let id = world.job_of(json!({"schedule": {"on_demand": true}, "payload": {"a": 1}})).await;
    let path = format!("/v1/jobs/{id}");
    let large = "x".repeat(2000);

    let grown = world.patch(&path, json!({"payload": {"large": large}})).await;
    let apart = world.stored_job(&id).await.definition.payload;
    let renamed = world.patch(&path, json!({"name": "still large"})).await;
    let merged = world.patch(&path, json!({"payload": {"a": 2}})).await;
    let shrunk = world.patch(&path, json!({"payload": {"large": null}})).await;

    assert_eq!(grown.field("/payload"), json!({"a": 1, "large": large}));
    assert!(matches!(apart, Body::Apart(_)));
    assert_eq!(renamed.field("/payload"), grown.field("/payload"));
    assert_eq!(merged.field("/payload"), json!({"a": 2, "large": large}));
    assert_eq!(shrunk.field("/payload"), json!({"a": 2}));
    assert!(matches!(world.stored_job(&id).await.definition.payload, Body::Inside(_)));
}

#[tokio::test]
async fn a_patch_makes_no_payload_that_a_creation_could_not() {
    let world = World::new();
    let id = world.job_of(json!({"schedule": {"on_demand": true}, "payload": {"a": "x".repeat(200_000)}})).await;

    let answer = world.patch(&format!("/v1/jobs/{id}"), json!({"payload": {"b": "x".repeat(100_000)}})).await;

    assert_eq!(answer.problem(413, "too-large"), ["/payload"]);
    assert_eq!(world.get(&format!("/v1/jobs/{id}")).await.field("/generation"), 1);
}

#[tokio::test]
async fn an_impossible_patch_names_its_field_and_changes_nothing() {
    let world = World::new();
    let id = whole(&world).await;
    for (patch, pointer) in [
        (json!({"nmae": "x"}), "/nmae"),
        (json!({"schedule": {"crn": "* * * * *"}}), "/schedule/crn"),
        (json!({"schedule": {"cron": "61 * * * *"}}), "/schedule/cron"),
        (json!({"schedule": {"timezone": "Mars/Olympus"}}), "/schedule/timezone"),
        (json!({"target": {"http": {"url": "ftp://a"}}}), "/target/http/url"),
        (json!({"target": {"http": {"url": null}}}), "/target/http/url"),
        (json!({"target": {"http": {"mehtod": null}}}), "/target/http/mehtod"),
        (json!({"target": {"http": {"timeouts": {"conect_seconds": null}}}}), "/target/http/timeouts/conect_seconds"),
        (json!({"target": {"sqs": {"alias": "orders", "gruop": null}}}), "/target/sqs/gruop"),
        (json!({"timeout_seconds": 0}), "/timeout_seconds"),
        (json!({"retry": {"max_retries": "many"}}), "/retry/max_retries"),
        (json!({"catch_up": {"policy": "last", "max_runs": 5}}), "/catch_up/max_runs"),
        (json!({"catch_up": {"policy": "none", "window_seconds": 60}}), "/catch_up/window_seconds"),
        (json!({"catch_up": {"policy": "never"}}), "/catch_up/policy"),
        (json!({"tags": {"a": 1}}), "/tags"),
        (json!({"name": ""}), "/name"),
        (json!({"status": "paused"}), "/status"),
        (json!({"generation": 7}), "/generation"),
        (json!({"job_id": "job_0"}), "/job_id"),
        (json!({"idempotency_key": "k"}), "/idempotency_key"),
        (json!({"idempotency_key": null}), "/idempotency_key"),
    ] {
        let answer = world.patch(&format!("/v1/jobs/{id}"), patch.clone()).await;

        assert_eq!(answer.problem(422, "invalid"), [pointer], "{patch}");
    }
    assert!(raw(&world, &id, r#"{"shedule":{}}"#).await.text.contains("did you mean `schedule`?"));
    assert_eq!(world.get(&format!("/v1/jobs/{id}")).await.field("/generation"), 1);
}

#[tokio::test]
async fn a_patch_that_is_no_object_is_refused() {
    let world = World::new();
    let id = whole(&world).await;
    for body in ["null", "7", "[]", r#""name""#] {
        assert!(raw(&world, &id, body).await.problem(422, "invalid").is_empty(), "{body}");
    }
    for body in ["", "{", r#"{"name":"a","name":"b"}"#] {
        raw(&world, &id, body).await.problem(400, "malformed");
    }
}

#[tokio::test]
async fn a_deleted_job_is_not_changed_any_more() {
    let world = World::new();
    let id = whole(&world).await;
    world.delete(&format!("/v1/jobs/{id}")).await;

    for patch in [json!({"name": "x"}), json!({}), json!({"schedule": {"at": "2000-01-01T00:00:00Z"}})] {
        world.patch(&format!("/v1/jobs/{id}"), patch).await.problem(409, "conflict");
    }
}

#[tokio::test]
async fn a_paused_job_is_changed_and_stays_paused() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 60})).await;
    let path = format!("/v1/jobs/{id}");
    world.tell(&format!("{path}/pause")).await;

    let patched = world.patch(&path, json!({"name": "x", "schedule": {"every_seconds": 30}})).await;
    let resumed = world.tell(&format!("{path}/resume")).await;

    assert_eq!((patched.field("/status"), patched.field("/next_run_at")), (json!("paused"), Value::Null));
    assert_eq!((resumed.field("/status"), resumed.field("/next_run_at")), (json!("active"), json!(at(30))));
}

#[tokio::test]
async fn a_job_that_is_not_there_is_not_patched() {
    let world = World::new();
    let id = whole(&world).await;

    for absent in ["job_00000000000000000000000000", "job_x", "..%2f"] {
        world.patch(&format!("/v1/jobs/{absent}"), json!({"name": "x"})).await.problem(404, "not-found");
    }
    let theirs = world.by(OTHER_KEY, "PATCH", &format!("/v1/jobs/{id}"), Some(json!({"name": "x"}))).await;
    theirs.problem(404, "not-found");
}

#[tokio::test]
async fn every_answer_that_is_one_job_carries_its_tag() {
    let world = World::new();
    let id = world.job(json!({"every_seconds": 60})).await;
    let path = format!("/v1/jobs/{id}");
    let keyed = json!({"target": {"noop": {}}, "idempotency_key": "k"});

    assert_eq!(world.post("/v1/jobs", keyed.clone()).await.header("etag"), "\"1\"");
    assert_eq!(world.post("/v1/jobs", keyed).await.header("etag"), "\"1\"", "replayed");
    assert_eq!(world.get(&path).await.header("etag"), "\"1\"");
    assert_eq!(world.tell(&format!("{path}/pause")).await.header("etag"), "\"2\"");
    assert_eq!(world.tell(&format!("{path}/resume")).await.header("etag"), "\"3\"");
    assert_eq!(world.patch(&path, json!({"name": "x"})).await.header("etag"), "\"4\"");
}

#[tokio::test]
async fn a_change_meant_for_another_writing_is_refused() {
    let world = World::new();
    for (method, verb, body) in [
        ("PATCH", "", Some(json!({"name": "mine"}))),
        ("PATCH", "", Some(json!({}))),
        ("POST", "/pause", None),
        ("POST", "/resume", None),
        ("DELETE", "", None),
    ] {
        let id = world.job(json!({"every_seconds": 60})).await;
        let path = format!("/v1/jobs/{id}{verb}");
        world.patch(&format!("/v1/jobs/{id}"), json!({"name": "theirs"})).await;

        for stale in ["\"1\"", "W/\"2\"", "2", "\"1\", \"3\"", "", "\"two\""] {
            let answer = world.with(("if-match", stale), method, &path, body.clone()).await;

            assert!(answer.problem(412, "version-mismatch").is_empty(), "{method} {verb} {stale}");
        }
        assert_eq!(world.get(&format!("/v1/jobs/{id}")).await.field("/generation"), 2, "{method} {verb}");
        let meant = world.with(("if-match", "\"2\""), method, &path, body.clone()).await;
        assert!(meant.status.is_success(), "{method} {verb}: {}", meant.text);
    }
}

#[tokio::test]
async fn any_writing_will_do_and_one_of_several_is_enough() {
    let world = World::new();
    let id = whole(&world).await;
    let path = format!("/v1/jobs/{id}");
    for (given, name) in [("*", "one"), ("\"7\", \"2\"", "two"), ("\"3\",\"x\"", "three")] {
        let answer = world.with(("if-match", given), "PATCH", &path, Some(json!({"name": name}))).await;

        assert_eq!((answer.status.as_u16(), answer.field("/name")), (200, json!(name)), "{given}");
    }
}

#[tokio::test]
async fn a_precondition_that_is_not_ascii_is_malformed() {
    let world = World::new();
    let id = whole(&world).await;
    let request = request("PATCH", &format!("/v1/jobs/{id}"), ACME_KEY).header("content-type", "application/json");

    let request = request.header("if-match", http::HeaderValue::from_bytes(b"\"\xff\"").unwrap());

    world.send(request.body("{}".into()).unwrap()).await.problem(400, "malformed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn racing_patches_all_land() {
    let world = Arc::new(World::new());
    let id = world.job(json!({"on_demand": true})).await;
    let racing: Vec<_> = (0..6)
        .map(|n| {
            let (world, path) = (Arc::clone(&world), format!("/v1/jobs/{id}"));
            let name = format!("field{n}");
            tokio::spawn(async move { world.patch(&path, json!({"payload": {name: n}})).await })
        })
        .collect();

    for each in racing {
        let answer = each.await.unwrap();
        assert_eq!(answer.status, 200, "{}", answer.text);
    }

    let job = world.get(&format!("/v1/jobs/{id}")).await;
    assert_eq!(job.field("/generation"), 7);
    assert_eq!(job.field("/payload").as_object().unwrap().len(), 6, "none overwrote another's: {}", job.text);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_racing_patches_for_the_same_writing_one_lands_and_the_others_are_told() {
    let world = Arc::new(World::new());
    let id = world.job(json!({"on_demand": true})).await;
    let racing: Vec<_> = (0..24)
        .map(|n| {
            let (world, path) = (Arc::clone(&world), format!("/v1/jobs/{id}"));
            let body = json!({"name": format!("writer {n}")});
            tokio::spawn(async move { world.with(("if-match", "\"1\""), "PATCH", &path, Some(body)).await })
        })
        .collect();

    let mut landed = Vec::new();
    for each in racing {
        let answer = each.await.unwrap();
        match answer.status.as_u16() {
            200 => landed.push(answer.field("/name")),
            _ => drop(answer.problem(412, "version-mismatch")),
        }
    }

    let job = world.get(&format!("/v1/jobs/{id}")).await;
    assert_eq!((landed, job.field("/generation")), (vec![job.field("/name")], json!(2)));
}

#[tokio::test]
async fn a_patch_says_how_the_next_attempt_is_treated() {
    let world = World::new();
    let id = world.job_of(json!({"schedule": {"on_demand": true}, "retry": {"max_retries": 0}})).await;
    world.patch(&format!("/v1/jobs/{id}"), json!({"retry": {"max_retries": 1, "initial_delay_seconds": 0}})).await;
    let run = world.run_of(&id).await;

    world.work(|_, _| failed(ErrorCode::Http5xx)).await;
    world.pass(60);
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;

    let run = world.get(&format!("/v1/runs/{run}")).await;
    assert_eq!((run.field("/status"), run.field("/attempts").as_array().unwrap().len()), (json!("failed"), 2));
}

#[tokio::test]
async fn a_typo_does_not_pass_for_a_field_that_is_taken_back() {
    let world = World::new();
    let id = whole(&world).await;
    for (patch, pointer) in [
        (json!({"shedule": null}), "/shedule"),
        (json!({"schedule": {"crn": null}}), "/schedule/crn"),
        (json!({"target": {"": null}}), "/target/"),
        (json!({"target": {"http": {"header": null}}}), "/target/http/header"),
        (json!({"retry": {"max_retrys": null}}), "/retry/max_retrys"),
        (json!({"catch_up": {"max_run": null}}), "/catch_up/max_run"),
    ] {
        let answer = world.patch(&format!("/v1/jobs/{id}"), patch.clone()).await;

        assert_eq!(answer.problem(422, "invalid"), [pointer], "{patch}");
    }
}

/// What a job gives to a workflow may be said with the workflow. Kept as it was, the other workflow ran with the first one's.
#[tokio::test]
async fn what_a_patch_gives_to_a_workflow_is_given() {
    let world = World::new();
    let id = world.workflow(1, Definition::new(vec![task("a", &[])])).await;
    let target = json!({"workflow": {"id": id}});
    let job = json!({"name": "daily", "schedule": {"on_demand": true}, "target": target, "payload": {"day": 1}});
    let job = world.job_of(job).await;

    let patched = world
        .patch(&format!("/v1/jobs/{job}"), json!({"target": {"workflow": {"id": id, "params": {"amount": 5}}}}))
        .await;

    assert_eq!(patched.status, 200, "{}", patched.text);
    assert_eq!(world.get(&format!("/v1/jobs/{job}")).await.field("/payload"), json!({"amount": 5}));
}

/// Calendars judge what fires by itself: with one that does not they would be shown and never be heeded.
#[tokio::test]
async fn a_job_that_is_to_run_behind_another_heeds_no_calendars_any_more() {
    let world = World::new();
    let rules = json!({"business_days": ["MON", "TUE", "WED", "THU", "FRI"]});
    assert!(world.put("/v1/calendars/holidays", rules).await.status.is_success());
    let front = world.job_of(json!({"name": "front", "schedule": {"on_demand": true}})).await;
    let schedule = json!({"cron": "0 2 * * *", "calendars": ["holidays"]});
    let job = world.job_of(json!({"name": "daily", "schedule": schedule})).await;
    let behind = json!({"after": {"job": front}, "calendars": ["holidays"]});

    let refused = world.post("/v1/jobs", json!({"name": "behind", "schedule": behind, "target": {"noop": {}}})).await;
    let patched = world.patch(&format!("/v1/jobs/{job}"), json!({"schedule": {"after": {"job": front}}})).await;

    assert_eq!(refused.problem(422, "invalid"), ["/schedule/calendars"]);
    assert_eq!(patched.status, 200, "{}", patched.text);
    assert_eq!(patched.field("/schedule"), json!({"after": {"job": front, "on": "success"}}));
}
