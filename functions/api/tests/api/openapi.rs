//! The OpenAPI document: it says what the router does, and its examples are answered as it shows.

use axum::body::Body;
use http::Request;
use minutehand_domain::access::Role;
use minutehand_domain::run::{ErrorCode, Outcome, Run, TaskPlace};
use minutehand_domain::workflow::definition::OnFailure;
use serde_json::{Map, Value, json};

use crate::graphs::{approval, each, on_failure, task};
use crate::world::{ACME_KEY, Answer, World, failed, request, succeeded};

async fn document(world: &World) -> Value {
    open(world, None).await.json()
}

async fn open(world: &World, known: Option<&str>) -> Answer {
    let request = Request::builder().uri("/openapi.json");
    let request = known.into_iter().fold(request, |request, tag| request.header("if-none-match", tag));
    world.send(request.body(Body::empty()).unwrap()).await
}

/// Every operation: its method in capitals, its path, itself.
fn operations(document: &Value) -> Vec<(String, &str, &Map<String, Value>)> {
    let paths = document["paths"].as_object().unwrap().iter();
    let methods = paths.flat_map(|(path, methods)| methods.as_object().unwrap().iter().map(move |it| (path, it)));
    methods.map(|(path, (method, it))| (method.to_uppercase(), path.as_str(), it.as_object().unwrap())).collect()
}

fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value.get("$ref") {
        Some(reference) => {
            let pointer = reference.as_str().unwrap().strip_prefix('#').unwrap();
            document.pointer(pointer).unwrap_or_else(|| panic!("nothing is at {pointer}"))
        }
        None => value,
    }
}

#[tokio::test]
async fn whoever_has_it_already_is_told_so() {
    let world = World::new();

    let first = open(&world, None).await;
    let again = open(&world, Some(first.header("etag"))).await;
    let weakly = open(&world, Some(&format!("\"other\", W/{}", first.header("etag")))).await;
    let other = open(&world, Some("\"other\"")).await;

    assert_eq!((first.status.as_u16(), first.header("content-type")), (200, "application/json"));
    assert_eq!((again.status.as_u16(), again.text.as_str(), again.header("etag")), (304, "", first.header("etag")));
    assert_eq!((weakly.status.as_u16(), other.status.as_u16()), (304, 200));
}

#[tokio::test]
async fn every_operation_is_one_of_the_routers() {
    let world = World::new();
    let document = document(&world).await;
    let nowhere = [("{job_id}", "job_0"), ("{run_id}", "run_0"), ("{key_id}", "key_0"), ("{tenant}", "acme")];

    for (method, path, _) in operations(&document) {
        let path = nowhere.iter().fold(path.to_owned(), |path, (name, id)| path.replace(name, id));

        let answer = world.by(ACME_KEY, &method, &path, None).await;

        assert_ne!(answer.status, 405, "{method} {path}");
        assert!(!answer.text.contains("there is nothing at this address"), "{method} {path}");
    }
}

/// Removed: what looks for parameters where none is taken. `DELETE /v1/tenants/acme?dry_run=true` erased the tenant.
#[tokio::test]
async fn an_operation_without_parameters_refuses_any() {
    let world = World::new();
    let document = document(&world).await;
    let is_of_a_query = |parameter: &Value| resolved(&document, parameter)["in"] == "query";
    let takes_any = |operation: &Map<String, Value>| {
        operation.get("parameters").and_then(Value::as_array).is_some_and(|all| all.iter().any(is_of_a_query))
    };

    for (method, path, operation) in operations(&document) {
        if takes_any(operation) || operation["security"] == json!([]) {
            continue;
        }
        let answer = world.by(ACME_KEY, &method, &format!("{path}?dry_run=true"), None).await;

        assert_eq!(answer.problem(422, "invalid"), ["?dry_run"], "{method} {path}");
    }
}

#[tokio::test]
async fn every_method_that_an_address_knows_is_an_operation() {
    let world = World::new();
    let document = document(&world).await;

    for (path, methods) in document["paths"].as_object().unwrap() {
        let known = world.by(ACME_KEY, "TRACE", path, None).await;

        known.problem(405, "method-not-allowed");
        let mut told: Vec<_> = methods.as_object().unwrap().keys().map(|method| method.to_uppercase()).collect();
        told.extend(told.contains(&"GET".to_owned()).then(|| "HEAD".to_owned()));
        let mut known: Vec<_> = known.header("allow").split(',').map(ToOwned::to_owned).collect();
        told.sort();
        known.sort();
        assert_eq!(known, told, "{path}");
    }
}

#[tokio::test]
async fn whether_an_operation_needs_a_key_is_as_it_says() {
    let world = World::new();
    let document = document(&world).await;

    for (method, path, operation) in operations(&document) {
        let request = Request::builder().method(method.as_str()).uri(path).body(Body::empty()).unwrap();

        let answer = world.send(request).await;

        let needs_a_key = operation["security"] != json!([]);
        assert_eq!(answer.status == 401, needs_a_key, "{method} {path}");
        assert_eq!(operation["responses"].get("401").is_some(), needs_a_key, "{method} {path}");
    }
}

#[tokio::test]
async fn each_example_is_answered_as_it_shows() {
    let mut run = 0;
    let document = document(&World::new()).await;
    for (method, path, operation) in operations(&document) {
        let Some(body) = operation.get("requestBody") else { continue };
        for (media_type, content) in body["content"].as_object().unwrap() {
            for (name, example) in content.get("examples").and_then(Value::as_object).into_iter().flatten() {
                let world = World::new();
                let (address, body) = asked(&world, path, &example["value"]).await;
                let request = request(&method, &address, ACME_KEY).header("content-type", media_type);

                let answer = world.send(request.body(body.into()).unwrap()).await;

                let shown = &operation["responses"][answer.status.as_str()]["content"]["application/json"];
                let shown = &shown["examples"][name]["value"];
                assert_eq!(unnamed(answer.json()), unnamed(shown.clone()), "{method} {path} {media_type}: {name}");
                run += 1;
            }
        }
    }

    assert!(run >= 12, "{run}");
}

#[tokio::test]
async fn each_operation_with_a_body_of_fields_has_an_example() {
    let document = document(&World::new()).await;
    for (method, path, operation) in operations(&document) {
        let Some(body) = operation.get("requestBody") else { continue };
        for content in body["content"].as_object().unwrap().values() {
            let has_fields = resolved(&document, &content["schema"]).get("properties").is_some();

            assert_eq!(content.get("examples").is_some(), has_fields, "{method} {path}");
        }
    }
}

#[tokio::test]
async fn every_kind_of_problem_is_listed_with_its_status() {
    let world = World::new();
    let document = document(&world).await;
    let listed = document.pointer("/components/schemas/Problem/properties/type/enum").unwrap();
    let about = document["info"]["description"].as_str().unwrap();

    for kind in listed.as_array().unwrap() {
        let row = format!("| `{}` |", kind.as_str().unwrap());
        assert!(about.contains(&row), "{row}");
    }
    for answer in
        [world.get("/v1/nothing").await, world.post("/v1/jobs", json!({})).await, world.tell("/v1/jobs").await]
    {
        assert!(listed.as_array().unwrap().contains(&answer.field("/type")), "{}", answer.text);
        assert!(about.contains(&format!("| {} | `{}` |", answer.status.as_u16(), answer.word("/type"))));
    }
}

#[tokio::test]
async fn every_reference_leads_somewhere_and_no_name_is_a_second_ones() {
    let document = document(&World::new()).await;
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        resolved(&document, value);
        match value {
            Value::Object(fields) => open.extend(fields.values()),
            Value::Array(values) => open.extend(values),
            _ => {}
        }
    }

    for name in document["components"]["schemas"].as_object().unwrap().keys() {
        assert!(!name.ends_with(|last: char| last.is_ascii_digit()) && !name.contains("View"), "{name}");
    }
}

#[tokio::test]
async fn what_is_read_denies_unknown_fields_and_every_number_is_bounded() {
    let document = document(&World::new()).await;
    for (name, schema) in document["components"]["schemas"].as_object().unwrap() {
        let is_read = name.ends_with("Request") || name.ends_with("Patch");
        let Some(fields) = schema.get("properties").and_then(Value::as_object).filter(|_| is_read) else { continue };

        assert_eq!(schema["additionalProperties"], json!(false), "{name}");
        for (field, schema) in fields {
            let kinds = schema["type"].to_string();
            let bounded = !kinds.contains("integer") || schema.get("minimum").and(schema.get("maximum")).is_some();
            assert!(bounded, "{name}.{field}: {schema}");
            let bounded = !kinds.contains("\"string") || schema.get("maxLength").is_some();
            assert!(bounded, "{name}.{field}: {schema}");
        }
    }
}

/// An example's address and body, as they are where there is what the example speaks of.
async fn asked(world: &World, path: &str, example: &Value) -> (String, String) {
    let body = example.to_string();
    if !path.starts_with("/v1/leases/") && !path.contains("/effects") {
        return (address(world, path).await, body);
    }
    let target = json!({"worker": {"pool": "web1", "handler": "invoice.send"}});
    let job = world.job_of(json!({"schedule": {"on_demand": true}, "target": target, "timeout_seconds": 3600})).await;
    world.run_of(&job).await;
    world.work(|_job, _run| -> Outcome { panic!("a worker's run is called by nobody") }).await;
    let given = world.post("/v1/leases", json!({"pool": "web1", "worker_id": "web1-a", "wait_seconds": 0})).await;
    let (lease, token) = (given.word("/leases/0/lease_id"), given.word("/leases/0/token"));
    let named = |name: &str| example.pointer(name).and_then(Value::as_str).unwrap_or("-").to_owned();
    let body = body.replace(&named("/token"), &token).replace(&named("/results/0/token"), &token);
    let run = given.word("/leases/0/run_id");
    let path = path.replace("{lease_id}", &lease).replace("{run_id}", &run).replace("{effect}", "charge");
    (path, body.replace(&named("/results/0/lease_id"), &lease))
}

/// An address with something behind each of its names: a job that can run, a run that came to nothing, a key.
async fn address(world: &World, path: &str) -> String {
    if path.starts_with("/v1/workflow-runs/{run_id}") {
        return address_in_a_workflow(world, path).await;
    }
    let mut path = path.replace("{tenant}", "acme").replace("{secret}", "billing").replace("{calendar}", "us-holidays");
    path = path.replace("{notification}", "on-call");
    if path.contains("{job_id}") {
        let schedule =
            if path.ends_with("/backfill") { json!({ "cron": "0 * * * *" }) } else { json!({ "on_demand": true }) };
        let job = world.job(schedule).await;
        if path.ends_with("/resume") {
            world.tell(&format!("/v1/jobs/{job}/pause")).await;
        }
        path = path.replace("{job_id}", &job);
    }
    if path.contains("{workflow_id}") {
        let tasks = json!([{"key": "load", "target": {"noop": {}}}]);
        let made = world.post("/v1/workflows", json!({ "name": "nightly", "tasks": tasks })).await;
        path = path.replace("{workflow_id}", &made.word("/workflow_id"));
    }
    if path.starts_with("/v1/dead-letters/") {
        let job = world.job(json!({ "on_demand": true })).await;
        let run = world.run_of(&job).await;
        let error = ErrorCode::Http4xx.error("422 Unprocessable Content");
        world.work(|_, _| Outcome::Failed { error: error.clone(), retry_after: None }).await;
        path = path.replace("{run_id}", &run);
    }
    if path.contains("{run_id}") {
        let job = world.job(json!({ "on_demand": true })).await;
        let run = world.run_of(&job).await;
        if !path.ends_with("/cancel") {
            world.tell(&format!("/v1/runs/{run}/cancel")).await;
        }
        path = path.replace("{run_id}", &run);
    }
    if path.contains("{key_id}") {
        let made = world.post("/v1/keys", json!({ "name": "ci", "role": "operator" })).await;
        path = path.replace("{key_id}", &made.word("/key_id"));
    }
    path
}

/// Of a run in which an approval waits and a failure is held, or two branches' are; to be resumed it is cancelled.
async fn address_in_a_workflow(world: &World, path: &str) -> String {
    let is_of_branches = path.contains("/branches");
    let load = if is_of_branches { each(task("load", &[]), 8) } else { task("load", &[]) };
    let tasks = vec![approval("payment", &[], &[Role::Operator]), load];
    let id = world.workflow(1, on_failure(OnFailure::Hold, tasks)).await;
    let run = world.start(id).await;
    let is_good = |run: &Run| !matches!(TaskPlace::of(run.key).and_then(|place| place.branch), None | Some(3 | 7));
    let ends = |_: &str, run: &Run| Some(if is_good(run) { succeeded() } else { failed(ErrorCode::Http5xx) });
    world.work_tasks(ends).await;
    if path.ends_with("/resume") {
        world.tell(&format!("/v1/workflow-runs/{run}/cancel")).await;
    }
    let is_answer = path.ends_with("/approve") || path.ends_with("/reject");
    path.replace("{run_id}", &run).replace("{task_key}", if is_answer { "payment" } else { "load" })
}

/// The same without what is anybody's guess: of an id or a secret only its kind.
fn unnamed(value: Value) -> Value {
    match value {
        Value::String(text) => {
            let kinds = ["job_", "run_", "wf_", "key_", "req_", "mh_acme_", "whsec_", "lease_", "worker_"];
            let is_a_trace = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
            let kind = kinds.into_iter().find(|kind| text.starts_with(kind)).or(is_a_trace.then_some("trace"));
            kind.map_or(Value::String(text), Value::from)
        }
        Value::Array(values) => values.into_iter().map(unnamed).collect(),
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, unnamed(value))).collect(),
        plain => plain,
    }
}
