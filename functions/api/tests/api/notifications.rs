//! Notifications: rules that are written and shown without what is secret of them; and what they tell, by a real digest.

use minutehand_domain::Moment;
use minutehand_domain::body::Body;
use minutehand_domain::id::Tenant;
use minutehand_domain::notification::Rule;
use minutehand_domain::run::{ErrorCode, Run};
use minutehand_io::Ports as _;
use minutehand_io::store::{RunBody, RunsOf, Store as _};
use serde_json::{Value, json};

use crate::roles::keys;
use crate::world::{OTHER_KEY, World, acme, at, failed, other, succeeded};

const SLACK: &str = "https://hooks.example/services/T0/B0/hunter2";

fn failures() -> Value {
    json!({"when": ["failed"], "to": {"slack": {"url": SLACK}}})
}

async fn put(world: &World, name: &str, body: Value) -> crate::world::Answer {
    world.put(&format!("/v1/notifications/{name}"), body).await
}

async fn written(world: &World, body: Value) {
    let answer = put(world, "on-call", body).await;
    assert!(answer.status.is_success(), "{}", answer.text);
}

/// A job that runs when it is asked to.
async fn job(world: &World, more: Value) -> String {
    let mut body = json!({"name": "nightly", "target": {"noop": {}}, "schedule": {"on_demand": true}, "retry": {"max_retries": 0}});
    body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    world.post("/v1/jobs", body).await.word("/job_id")
}

async fn run(world: &World, job: &str) -> String {
    world.post(&format!("/v1/jobs/{job}/run"), json!({})).await.word("/run_id")
}

/// It is run, fails or succeeds, and the window of that is over.
async fn ends(world: &World, job: &str, well: bool) {
    run(world, job).await;
    let outcome = || if well { succeeded() } else { failed(ErrorCode::Http5xx) };
    world.work(|_, _| outcome()).await;
    window_is_over(world).await;
}

async fn window_is_over(world: &World) {
    world.pass(62);
    world.work(|_, _| succeeded()).await;
}

/// What was made of a rule, oldest first: its status and what it says.
async fn messages(world: &World, tenant: &Tenant, name: &str) -> Vec<(String, Value)> {
    let rule = world.ports.store().get::<Rule>(tenant, name.parse().unwrap()).await.unwrap().unwrap().item;
    let within = RunsOf { job: rule.id, window: Moment::EPOCH..Moment::END };
    let runs = world.ports.store().list::<Run>(tenant, within, None, 1_000).await.unwrap().items;
    let mut messages = Vec::new();
    for run in runs.into_iter().rev() {
        let status = run.reason().map_or(run.status(world.now()).to_owned(), ToOwned::to_owned);
        let text = match run.payload.clone() {
            Some(Body::Inside(json)) => json,
            Some(Body::Apart(digest)) => {
                world.ports.store().get::<RunBody>(tenant, (run.key, digest)).await.unwrap().unwrap().item.json
            }
            Some(Body::Empty) | None => minutehand_domain::body::Json::null(),
        };
        messages.push((status, serde_json::from_str(text.as_str()).unwrap()));
    }
    messages
}

fn statuses(messages: &[(String, Value)]) -> Vec<&str> {
    messages.iter().map(|(status, _)| status.as_str()).collect()
}

#[tokio::test]
async fn a_notification_is_written_changed_shown_and_deleted() {
    let world = World::new();

    let made = put(&world, "on-call", failures()).await;
    world.pass(60);
    let more = json!({"when": ["missed", "failed"], "after_in_a_row": 3, "cooldown_seconds": 900, "digest_seconds": 120,
        "late_seconds": 30, "tags": ["billing"], "enabled": false, "to": {"webhook": {"url": "https://a.example/x",
        "headers": {"authorization": "Bearer hunter2", "x-team": "ops"}}}});
    let changed = put(&world, "on-call", more).await;

    let first = json!({"name": "on-call", "when": ["failed"], "after_in_a_row": 1, "jobs": null, "tags": null, "late_seconds": 5,
        "digest_seconds": 60, "cooldown_seconds": 0, "to": {"slack": {"host": "hooks.example"}}, "enabled": true,
        "created_at": at(0), "changed_at": at(0)});
    let second = json!({"name": "on-call", "when": ["failed", "missed"], "after_in_a_row": 3, "jobs": null, "tags": ["billing"],
        "late_seconds": 30, "digest_seconds": 120, "cooldown_seconds": 900, "to": {"webhook": {"host": "a.example",
        "headers": {"authorization": "********", "x-team": "********"}}}, "enabled": false,
        "created_at": at(0), "changed_at": at(60)});
    assert_eq!((made.status.as_u16(), made.json()), (201, first));
    assert_eq!((changed.status.as_u16(), changed.json()), (200, second.clone()));
    assert_eq!(world.get("/v1/notifications").await.json(), json!({"items": [second], "next_cursor": null}));
    let shown = world.get("/v1/notifications/on-call").await;
    let nothing = json!({"sent": 0, "failed": 0, "suppressed": 0, "dropped": 0, "pending": 0, "last_sent_at": null,
        "last_error": null});
    assert_eq!(shown.field("/messages"), nothing);
    assert_eq!(world.delete("/v1/notifications/on-call").await.status, 204);
    assert_eq!(world.get("/v1/notifications/on-call").await.status, 404);
    assert_eq!(world.delete("/v1/notifications/on-call").await.status, 404);
    assert_eq!(world.get("/v1/notifications").await.items("items"), Vec::<Value>::new());
    assert_eq!(put(&world, "on-call", failures()).await.status, 201, "it can be made again");
}

/// Whoever reads sees no address and no header, in whatever he reads.
#[tokio::test]
async fn where_a_notification_leads_to_is_shown_to_nobody() {
    let world = World::new();
    let [viewer, operator, admin, ..] = keys(&world).await;
    written(&world, failures()).await;
    let hook = json!({"when": ["failed"], "to": {"webhook": {"url": "https://a.example/hunter2?token=hunter2",
        "headers": {"x-team": "hunter2"}}}});
    put(&world, "hook", hook).await;

    for key in [viewer, operator, admin] {
        for path in ["/v1/notifications", "/v1/notifications/on-call", "/v1/notifications/hook", "/v1/audit"] {
            let answer = world.by(&key, "GET", path, None).await;
            assert!(!answer.text.contains("hunter2"), "{path}: {}", answer.text);
        }
    }
}

#[tokio::test]
async fn what_is_impossible_is_refused_where_it_stands() {
    let world = World::new();
    let with = |fields: Value| {
        let mut body = failures();
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        body
    };
    let rows = [
        (with(json!({"whne": []})), 422, "/whne"),
        (with(json!({"when": []})), 422, "/when"),
        (with(json!({"to": {"slack": {"url": SLACK, "channel": "x"}}})), 422, "/to/slack/channel"),
        (with(json!({"to": {"sns": {"alias": "alerts"}}})), 422, "/to/sns/alias"),
        (with(json!({"to": {"slack": {"url": "ftp://x"}}})), 422, "/to/slack/url"),
        (with(json!({"jobs": ["job_x"]})), 422, "/jobs/0"),
        (with(json!({"digest_seconds": 1})), 422, "/digest_seconds"),
    ];
    for (body, status, pointer) in rows {
        let answer = put(&world, "on-call", body.clone()).await;
        assert_eq!((answer.status.as_u16(), answer.field("/errors/0/pointer")), (status, json!(pointer)), "{body}");
    }
    let secret = json!({"when": ["failed"], "to": {"webhook": {"url": "https://a.example/", "headers": {"x-a": {"secret": "none"}}}}});
    assert_eq!(put(&world, "on-call", secret).await.problem(422, "invalid"), ["/to/webhook/headers/x-a"]);
    assert_eq!(put(&world, "on%20call", failures()).await.status, 422);
    assert_eq!(world.get("/v1/notifications").await.items("items").len(), 0);
}

/// One that was deleted is on record still.
#[tokio::test]
async fn a_notification_is_about_jobs_that_are_there() {
    let world = World::new();
    let (here, deleted) = (job(&world, json!({})).await, job(&world, json!({})).await);
    assert!(world.delete(&format!("/v1/jobs/{deleted}")).await.status.is_success());
    let others = world.by(OTHER_KEY, "POST", "/v1/jobs", Some(json!({"target": {"noop": {}}}))).await.word("/job_id");
    let nobodys = "job_00000000000000000000000000".to_owned();
    let about = |jobs: &[&String]| json!({"when": ["failed"], "to": {"slack": {"url": SLACK}}, "jobs": jobs});

    let refused = put(&world, "on-call", about(&[&here, &nobodys, &deleted, &others])).await;
    let written = put(&world, "on-call", about(&[&here, &deleted])).await;

    assert_eq!(refused.problem(422, "invalid"), ["/jobs/1", "/jobs/3"]);
    assert_eq!(refused.word("/errors/0/detail"), "there is no such job");
    assert_eq!(written.status, 201, "{}", written.text);
}

/// What GET answers is the mask: put back, it would be what the webhook is sent.
#[tokio::test]
async fn a_mask_that_is_put_back_is_refused_and_changes_nothing() {
    let world = World::new();
    let hook = |value: &str| json!({"when": ["failed"], "to": {"webhook": {"url": "https://a.example/x", "headers": {"x-team": value}}}});
    assert_eq!(put(&world, "on-call", hook("ops")).await.status, 201);
    let shown = world.get("/v1/notifications/on-call").await.word("/to/webhook/headers/x-team");

    let refused = put(&world, "on-call", hook(&shown)).await;

    assert_eq!(refused.problem(422, "invalid"), ["/to/webhook/headers/x-team"]);
    assert!(refused.word("/detail").contains("send the value, or name a secret"), "{}", refused.text);
}

#[tokio::test]
async fn there_are_twenty_notifications_at_most() {
    let world = World::new();
    for number in 0..20 {
        assert_eq!(put(&world, &format!("n{number}"), failures()).await.status, 201);
    }

    let one_more = put(&world, "n20", failures()).await;
    let again = put(&world, "n3", failures()).await;
    world.delete("/v1/notifications/n4").await;
    let instead = put(&world, "n20", failures()).await;

    assert_eq!((one_more.status.as_u16(), again.status.as_u16(), instead.status.as_u16()), (409, 200, 201));
}

#[tokio::test]
async fn what_is_done_to_notifications_is_on_record() {
    let world = World::new();
    written(&world, failures()).await;
    world.post("/v1/notifications/on-call/test", json!({})).await;
    world.delete("/v1/notifications/on-call").await;

    let deeds = world.get("/v1/audit").await.items("deed");

    for deed in ["notification.delete", "notification.test", "notification.set"] {
        assert!(deeds.contains(&json!(deed)), "{deed}: {deeds:?}");
    }
    assert!(!world.get("/v1/audit").await.text.contains("hunter2"));
}

#[tokio::test]
async fn a_thousand_failures_in_a_minute_make_one_digest() {
    let world = World::new();
    written(&world, failures()).await;
    let job = job(&world, json!({})).await;
    for _ in 0..1_000 {
        run(&world, &job).await;
    }
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;

    window_is_over(&world).await;

    let told = messages(&world, &acme(), "on-call").await;
    assert_eq!(statuses(&told), ["succeeded"]);
    let text = told[0].1["text"].as_str().unwrap();
    assert!(text.starts_with("Minutehand on-call: 1000 failed ("), "{text}");
    assert!(text.ends_with("\nand 980 more"), "{text}");
    let shown = world.get("/v1/notifications/on-call").await;
    assert_eq!((shown.field("/messages/sent"), shown.field("/messages/pending")), (json!(1), json!(0)));
    assert_eq!(shown.field("/messages/last_sent_at"), json!(at(62)));
}

/// Neither a payload nor what a target answered.
#[tokio::test]
async fn a_message_names_runs_and_says_nothing_of_what_they_had() {
    let world = World::new();
    written(&world, json!({"when": ["failed"], "to": {"webhook": {"url": "https://a.example/"}}})).await;
    let job = job(&world, json!({"payload": "hunter2"})).await;
    let run = run(&world, &job).await;
    world
        .work(|_, _| minutehand_domain::run::Outcome::Failed {
            error: ErrorCode::Http4xx.error("400: {\"token\": \"hunter2\"}"),
            retry_after: None,
        })
        .await;

    window_is_over(&world).await;

    let told = messages(&world, &acme(), "on-call").await;
    let [(_, message)] = &told[..] else { panic!("{told:?}") };
    assert_eq!(message["type"], "notification.digest");
    let named = json!({"what": "failed", "at": at(0), "job_id": job, "job_name": "nightly", "run_id": run,
        "path": format!("/v1/runs/{run}"), "error": "http_4xx"});
    assert_eq!(message["data"]["runs"], json!([named]));
    assert_eq!((&message["data"]["count"], &message["data"]["more"]), (&json!(1), &json!(0)));
    assert!(!message.to_string().contains("hunter2"), "{message}");
}

#[tokio::test]
async fn another_tenants_notification_sees_nothing() {
    let world = World::new();
    let theirs = world.by(OTHER_KEY, "PUT", "/v1/notifications/on-call", Some(failures())).await;
    let job = job(&world, json!({})).await;

    ends(&world, &job, false).await;

    assert_eq!(theirs.status, 201);
    assert_eq!(messages(&world, &other(), "on-call").await, []);
    assert_eq!(world.get("/v1/notifications/on-call").await.status, 404);
}

#[tokio::test]
async fn jobs_and_tags_choose_whose_ends_are_told() {
    let world = World::new();
    let [tagged, named, none] =
        [job(&world, json!({"tags": ["billing"]})).await, job(&world, json!({})).await, job(&world, json!({})).await];
    for (name, of) in [("tagged", json!({"tags": ["billing", "x"]})), ("named", json!({"jobs": [named]}))] {
        let mut body = failures();
        body.as_object_mut().unwrap().extend(of.as_object().unwrap().clone());
        assert_eq!(put(&world, name, body).await.status, 201);
    }

    for job in [&tagged, &named, &none] {
        ends(&world, job, false).await;
    }

    assert_eq!(statuses(&messages(&world, &acme(), "tagged").await), ["succeeded"]);
    assert_eq!(statuses(&messages(&world, &acme(), "named").await), ["succeeded"]);
}

#[tokio::test]
async fn failures_are_told_from_the_third_in_a_row_on_and_so_is_the_recovery() {
    let world = World::new();
    written(&world, json!({"when": ["failed", "recovered"], "after_in_a_row": 3, "to": {"slack": {"url": SLACK}}}))
        .await;
    let job = job(&world, json!({})).await;

    let mut told = Vec::new();
    for well in [false, false, true, false, false, false, false, true, true] {
        let before = messages(&world, &acme(), "on-call").await.len();
        ends(&world, &job, well).await;
        told.push(messages(&world, &acme(), "on-call").await.len() - before);
    }

    assert_eq!(told, [0, 0, 0, 0, 0, 1, 1, 1, 0]);
    let last = messages(&world, &acme(), "on-call").await.pop().unwrap().1;
    assert!(last["text"].as_str().unwrap().contains("1 recovered"), "{last}");
}

/// A rule that tells of failures from the second in a row on, and of each dead letter.
fn second_failures() -> Value {
    json!({"when": ["failed", "dead_letter"], "after_in_a_row": 2, "to": {"webhook": {"url": "https://a.example/"}}})
}

/// Removed: what is told as a failure is not told as a dead letter too. From the second failure on a message had the run twice.
#[tokio::test]
async fn a_failure_of_a_row_is_told_as_one_and_not_as_a_dead_letter_too() {
    let world = World::new();
    written(&world, second_failures()).await;
    let job = job(&world, json!({})).await;

    for _ in 0..3 {
        ends(&world, &job, false).await;
    }

    let told = messages(&world, &acme(), "on-call").await;
    let counts: Vec<_> = told.iter().map(|(_, message)| message["data"]["counts"].clone()).collect();
    assert_eq!(counts, [json!({"dead_letter": 1}), json!({"failed": 1}), json!({"failed": 1})]);
    assert!(told.iter().all(|(_, message)| message["data"]["count"] == 1), "{told:?}");
}

/// The first run of a job is tried again for a minute and fails after the second one, which a repair then tells of once more: now there is a row.
///
/// Removed: the look at what a digest has gathered. Its message had the second run twice.
#[tokio::test]
async fn a_failure_whose_row_is_seen_by_who_tells_it_again_is_in_one_message_once() {
    let world = World::new();
    let mut body = second_failures();
    body["digest_seconds"] = json!(900);
    written(&world, body).await;
    let patient = json!({"retry": {"max_retries": 1, "initial_delay_seconds": 60, "jitter": "none"}});
    let job = job(&world, patient).await;
    let first = run(&world, &job).await;
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;
    world.pass(1);
    let second = run(&world, &job).await;
    world.work(|_, _| failed(ErrorCode::Http4xx)).await;
    world.pass(120);
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;

    world.pass(600);
    let repaired = world.post("/v1/repair", json!({})).await;
    for _ in 0..4 {
        world.pass(60);
        world.work(|_, _| succeeded()).await;
    }

    assert_eq!(repaired.status, 200, "{}", repaired.text);
    let told = messages(&world, &acme(), "on-call").await;
    let [(_, message)] = &told[..] else { panic!("{told:?}") };
    let named = message["data"]["runs"].as_array().unwrap().iter();
    let named: Vec<_> = named.map(|run| (run["run_id"].clone(), run["what"].clone())).collect();
    assert_eq!(named, [(json!(second), json!("failed")), (json!(first), json!("dead_letter"))], "{message}");
}

#[tokio::test]
async fn what_comes_within_the_cooldown_is_held_back_and_counted() {
    let world = World::new();
    let mut body = failures();
    body["cooldown_seconds"] = json!(150);
    written(&world, body).await;
    let job = job(&world, json!({})).await;

    for _ in 0..5 {
        ends(&world, &job, false).await;
    }

    let told = messages(&world, &acme(), "on-call").await;
    assert_eq!(statuses(&told), ["succeeded", "cooldown", "cooldown", "succeeded", "cooldown"]);
    let shown = world.get("/v1/notifications/on-call").await;
    assert_eq!((shown.field("/messages/sent"), shown.field("/messages/suppressed")), (json!(2), json!(3)));
}

#[tokio::test]
async fn one_that_is_off_or_deleted_tells_nothing() {
    let world = World::new();
    let job = job(&world, json!({})).await;
    let mut off = failures();
    off["enabled"] = json!(false);
    written(&world, off).await;
    ends(&world, &job, false).await;
    let while_off = messages(&world, &acme(), "on-call").await;
    written(&world, failures()).await;
    run(&world, &job).await;
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;
    let rule = world.ports.store().get::<Rule>(&acme(), "on-call".parse().unwrap()).await.unwrap().unwrap().item;

    world.delete("/v1/notifications/on-call").await;
    world.pass(62);
    world.work(|_, _| succeeded()).await;

    let within = RunsOf { job: rule.id, window: Moment::EPOCH..Moment::END };
    let runs = world.ports.store().list::<Run>(&acme(), within, None, 10).await.unwrap().items;
    assert_eq!(while_off, []);
    assert_eq!(runs.iter().map(Run::reason).collect::<Vec<_>>(), [Some("cancelled")]);
}

/// One that was made again under a name tells nothing that the one before had gathered.
#[tokio::test]
async fn a_notification_made_again_tells_nothing_of_the_one_before() {
    let world = World::new();
    let job = job(&world, json!({})).await;
    written(&world, failures()).await;
    run(&world, &job).await;
    world.work(|_, _| failed(ErrorCode::Http5xx)).await;

    world.delete("/v1/notifications/on-call").await;
    world.pass(1);
    written(&world, json!({"when": ["failed"], "to": {"webhook": {"url": "https://elsewhere.example/"}}})).await;
    window_is_over(&world).await;

    assert_eq!(messages(&world, &acme(), "on-call").await, []);
}

#[tokio::test]
async fn a_test_is_sent_at_once_and_its_run_can_be_seen() {
    let world = World::new();
    written(&world, failures()).await;

    let asked = world.post("/v1/notifications/on-call/test", json!({})).await;
    world.work(|_, _| succeeded()).await;

    assert_eq!(
        (asked.status.as_u16(), asked.word("/status"), asked.word("/origin")),
        (202, "queued".to_owned(), "notification".to_owned())
    );
    let run = world.get(&format!("/v1/runs/{}", asked.word("/run_id"))).await;
    assert_eq!(run.word("/status"), "succeeded");
    assert_eq!(run.field("/payload/text"), json!("Minutehand: a test of the notification on-call."));
    assert_eq!(world.get("/v1/notifications/on-call").await.field("/messages/sent"), json!(1));
    assert_eq!(world.post("/v1/notifications/none/test", json!({})).await.status, 404);
    let other = world.by(OTHER_KEY, "GET", &format!("/v1/runs/{}", asked.word("/run_id")), None).await;
    assert_eq!(other.status, 404);
}

/// A message is nobody's run: it stands in no list, and its failure among no dead letters.
#[tokio::test]
async fn messages_stand_in_no_list_of_runs() {
    let world = World::new();
    written(&world, failures()).await;
    world.post("/v1/notifications/on-call/test", json!({})).await;
    world.work(|_, _| succeeded()).await;

    assert_eq!(world.get("/v1/runs").await.items("items"), Vec::<Value>::new());
    assert_eq!(world.get("/v1/jobs").await.items("items"), Vec::<Value>::new());
}
