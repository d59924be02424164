//! Targets that an operator declares: named by an alias, refused where there is none, and seen without where they lead.

use minutehand_api::{Keyring, TargetCheck};
use minutehand_io::targets::Declared;
use serde_json::{Value, json};

use crate::world::{ACME_KEY, Answer, OTHER_KEY, World, acme, other, pages};

const DECLARED: &str = r#"{
    "orders": {"sqs": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"},
    "mail": {"sqs": "https://sqs.eu-west-1.amazonaws.com/123456789012/mail.fifo"},
    "reports": {"lambda": "arn:aws:lambda:eu-west-1:123456789012:function:reports", "tenants": ["acme"]},
    "news": {"sns": "arn:aws:sns:eu-west-1:123456789012:news"},
    "house": {"eventbridge": "house"},
    "flow": {"step_functions": "arn:aws:states:eu-west-1:123456789012:stateMachine:flow"},
    "etl": {"ecs": {"cluster": "main", "task_definition": "etl", "container": "etl"}}
}"#;

fn world_of(declared: &str) -> World {
    let keys = Keyring::single(ACME_KEY, acme()).and(OTHER_KEY, other());
    let check = TargetCheck::new(|_| Ok(())).declaring(Declared::read(declared).unwrap());
    World::whole(keys, check, None)
}

fn world() -> World {
    world_of(DECLARED)
}

fn job(target: &Value) -> Value {
    json!({"target": target, "schedule": {"on_demand": true}})
}

/// The only thing that is wrong, and where.
fn wrong(answer: &Answer) -> (String, String) {
    answer.problem(422, "invalid");
    let errors = answer.field("/errors");
    assert_eq!(errors.as_array().map(Vec::len), Some(1), "{}", answer.text);
    (answer.word("/errors/0/pointer"), answer.word("/errors/0/detail"))
}

#[tokio::test]
async fn a_job_of_each_kind_is_made_and_shown_as_it_was_asked_for() {
    let world = world();
    for target in [
        json!({"lambda": {"alias": "reports"}}),
        json!({"sqs": {"alias": "orders"}}),
        json!({"sqs": {"alias": "mail", "group": "acme"}}),
        json!({"sns": {"alias": "news"}}),
        json!({"eventbridge": {"alias": "house"}}),
        json!({"eventbridge": {"alias": "house", "detail_type": "order paid"}}),
        json!({"step_functions": {"alias": "flow"}}),
        json!({"ecs": {"alias": "etl"}}),
    ] {
        let made = world.post("/v1/jobs", job(&target)).await;

        assert_eq!((made.status.as_u16(), made.field("/target")), (201, target), "{}", made.text);
        assert_eq!(world.get(made.header("location")).await.field("/target"), made.field("/target"));
    }
}

/// Tried: without asking what is declared, each of them is made and fails at its calls.
#[tokio::test]
async fn an_alias_that_is_not_there_is_refused_with_those_that_are() {
    let world = world();
    for (target, pointer, detail) in [
        (
            json!({"sqs": {"alias": "oders"}}),
            "/target/sqs/alias",
            "no such alias of the kind `sqs` is declared for this tenant; there are: mail, orders",
        ),
        (
            json!({"lambda": {"alias": "orders"}}),
            "/target/lambda/alias",
            "no such alias of the kind `lambda` is declared for this tenant; there are: reports",
        ),
        (
            json!({"ecs": {"alias": "arn:aws:ecs:x"}}),
            "/target/ecs/alias",
            "this is no name: 1 to 64 of a-z, A-Z, 0-9, `.`, `_` and `-`",
        ),
        (
            json!({"sqs": {"alias": "mail", "group": "a b"}}),
            "/target/sqs/group",
            "this is no name: 1 to 64 of a-z, A-Z, 0-9, `.`, `_` and `-`",
        ),
        (
            json!({"eventbridge": {"alias": "house", "detail_type": ""}}),
            "/target/eventbridge/detail_type",
            "must have from 1 to 128 characters",
        ),
    ] {
        let refused = world.post("/v1/jobs", job(&target)).await;

        assert_eq!(wrong(&refused), (pointer.to_owned(), detail.to_owned()));
    }
    let theirs = world.by(OTHER_KEY, "POST", "/v1/jobs", Some(job(&json!({"lambda": {"alias": "reports"}})))).await;
    let detail = "no alias of the kind `lambda` is declared for this tenant: the operator of the deployment does";
    assert_eq!(wrong(&theirs), ("/target/lambda/alias".to_owned(), detail.to_owned()));
}

#[tokio::test]
async fn a_deployment_without_targets_says_how_they_are_declared() {
    let world = world_of("");

    let refused = world.post("/v1/jobs", job(&json!({"sns": {"alias": "news"}}))).await;

    let (pointer, detail) = wrong(&refused);
    assert_eq!(pointer, "/target/sns/alias");
    assert!(detail.contains("`serve --targets` or `MINUTEHAND_TARGETS`"), "{detail}");
    assert_eq!(world.get("/v1/targets").await.json(), json!({"items": [], "next_cursor": null}));
}

#[tokio::test]
async fn a_patch_and_a_task_name_aliases_that_are_there() {
    let world = world();
    let made = world.post("/v1/jobs", job(&json!({"sqs": {"alias": "orders"}}))).await;
    let path = made.header("location").to_owned();
    let workflow = |alias: &str| json!({"name": "w", "tasks": [{"key": "load", "target": {"sqs": {"alias": alias}}}]});

    let patched = world.patch(&path, json!({"target": {"sqs": {"alias": "mail", "group": "a"}}})).await;
    let kept = world.patch(&path, json!({"name": "mail"})).await;
    let refused = world.patch(&path, json!({"target": {"sqs": {"alias": "gone"}}})).await;
    let task = world.post("/v1/workflows", workflow("orders")).await;
    let no_task = world.post("/v1/workflows", workflow("gone")).await;

    assert_eq!(patched.field("/target"), json!({"sqs": {"alias": "mail", "group": "a"}}));
    assert_eq!(kept.field("/target"), patched.field("/target"));
    assert_eq!(wrong(&refused).0, "/target/sqs/alias");
    assert_eq!((task.status.as_u16(), task.field("/tasks/0/target")), (201, json!({"sqs": {"alias": "orders"}})));
    assert_eq!(wrong(&no_task).0, "/tasks/0/target/sqs/alias");
}

/// Tried: without the bound, the run fails at its call.
#[tokio::test]
async fn a_payload_that_the_service_does_not_take_is_refused_when_it_is_known() {
    let world = world();
    for (target, most) in [
        (json!({"ecs": {"alias": "etl"}}), 7 * 1024),
        (json!({"sns": {"alias": "news"}}), 252 * 1024),
        (json!({"sqs": {"alias": "orders"}}), 256 * 1024),
    ] {
        let asked = |bytes: usize| {
            let mut job = job(&target);
            job["payload"] = "x".repeat(bytes - 2).into();
            job
        };
        assert_eq!(world.post("/v1/jobs", asked(most)).await.status, 201);
        let refused = world.post("/v1/jobs", asked(most + 1)).await;
        assert!(refused.text.contains("/payload"), "{}", refused.text);
        assert_eq!(refused.status, if most == 256 * 1024 { 413 } else { 422 });
    }
}

#[tokio::test]
async fn a_tenant_sees_what_it_may_name_and_not_where_it_leads() {
    let world = world();

    let mine = world.get("/v1/targets").await;
    let theirs = world.by(OTHER_KEY, "GET", "/v1/targets", None).await;

    let kinds = [
        ("etl", "ecs"),
        ("flow", "step_functions"),
        ("house", "eventbridge"),
        ("mail", "sqs"),
        ("news", "sns"),
        ("orders", "sqs"),
        ("reports", "lambda"),
    ];
    let items: Vec<Value> = kinds.iter().map(|(alias, kind)| json!({"alias": alias, "kind": kind})).collect();
    assert_eq!(mine.json(), json!({"items": items, "next_cursor": null}));
    assert_eq!(theirs.field("/items"), json!(items[..6]));
    let paged = pages(&world, "/v1/targets?limit=3", "alias", async || {}).await;
    assert_eq!(paged.iter().map(Vec::len).collect::<Vec<_>>(), [3, 3, 1]);
    assert_eq!(paged.concat(), kinds.map(|(alias, _)| json!(alias)));
}

#[tokio::test]
async fn an_attempt_at_a_target_that_takes_its_runs_on_may_take_longer_than_a_call() {
    let world = world();
    let calling = |takes_on: Value, seconds: u64| {
        let mut wish = job(&json!({"http": {"url": "https://a.example/", "async": takes_on}}));
        wish["timeout_seconds"] = seconds.into();
        wish
    };

    let made = world.post("/v1/jobs", calling(json!(true), 604_800)).await;
    let path = made.header("location").to_owned();
    let back = world.patch(&path, json!({"target": {"http": {"async": null}}})).await;
    let short = world.patch(&path, json!({"timeout_seconds": 60})).await;
    let both = world.patch(&path, json!({"target": {"http": {"async": null}}, "timeout_seconds": 60})).await;

    assert_eq!((made.field("/target/http/async"), made.field("/timeout_seconds")), (json!(true), json!(604_800)));
    assert_eq!(wrong(&back).0, "/timeout_seconds", "{}", back.text);
    assert_eq!(wrong(&short).0, "/target/http/async", "{}", short.text);
    assert_eq!((both.status.as_u16(), both.text.contains("async")), (200, false), "{}", both.text);
    for (wish, detail) in [
        (calling(json!(true), 604_801), "must be from 1 to 604800"),
        (
            calling(json!(false), 841),
            "must be from 1 to 840, or to 604800 where the target takes its runs on (`async: true`)",
        ),
    ] {
        let refused = world.post("/v1/jobs", wish).await;
        assert_eq!(wrong(&refused), ("/timeout_seconds".to_owned(), detail.to_owned()));
    }
}

#[tokio::test]
async fn the_time_outs_of_phases_are_shown_and_bounded() {
    let world = world();
    let calling = |timeouts: Value| job(&json!({"http": {"url": "https://a.example/", "timeouts": timeouts}}));

    let made = world.post("/v1/jobs", calling(json!({"connect_seconds": 2, "first_byte_seconds": 30}))).await;
    let without = world.post("/v1/jobs", calling(json!({}))).await;
    let path = made.header("location").to_owned();
    let patched = world.patch(&path, json!({"target": {"http": {"timeouts": {"connect_seconds": null}}}})).await;

    assert_eq!(made.field("/target/http/timeouts"), json!({"connect_seconds": 2, "first_byte_seconds": 30}));
    assert!(!without.text.contains("timeouts"), "{}", without.text);
    assert_eq!(patched.field("/target/http/timeouts"), json!({"first_byte_seconds": 30}));
    for (timeouts, at, detail) in [
        (json!({"connect_seconds": 0}), "connect_seconds", "must be from 1 to 60"),
        (json!({"connect_seconds": 61}), "connect_seconds", "must be from 1 to 60"),
        (json!({"first_byte_seconds": 841}), "first_byte_seconds", "must be from 1 to 840"),
    ] {
        let refused = world.post("/v1/jobs", calling(timeouts)).await;
        assert_eq!(wrong(&refused), (format!("/target/http/timeouts/{at}"), detail.to_owned()));
    }
    let (at, detail) = wrong(&world.post("/v1/jobs", calling(json!({"read_seconds": 1}))).await);
    assert_eq!(at, "/target/http/timeouts/read_seconds");
    assert!(detail.contains("connect_seconds"), "{detail}");
}
