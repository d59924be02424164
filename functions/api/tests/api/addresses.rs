//! Addresses of every kind: wrong methods, ids that are none, ways out of the path, cursors that are somebody else's.

use axum::body::Body;
use http::{HeaderValue, Request};
use serde_json::{Value, json};

use crate::roles::{OPEN, ROUTES, address};
use crate::world::{ACME_KEY, World, acme, request};

const METHODS: [&str; 9] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW"];

#[tokio::test]
async fn a_wrong_method_is_told_which_ones_are_right() {
    let world = World::new();
    let mut known: Vec<(&str, &str)> = ROUTES.iter().map(|(method, route, _)| (*method, *route)).collect();
    known.extend(OPEN);
    for (_, route) in &known {
        let mut right: Vec<_> = known.iter().filter(|(_, other)| other == route).map(|(method, _)| *method).collect();
        if right.contains(&"GET") {
            right.push("HEAD");
        }
        right.sort_unstable();
        for method in METHODS.iter().filter(|method| !right.contains(method)) {
            let answer = world.by(ACME_KEY, method, &address(route, "x"), None).await;

            assert_eq!(answer.status, 405, "{method} {route}");
            if *method != "HEAD" {
                answer.problem(405, "method-not-allowed");
            }
            let mut allowed: Vec<_> = answer.header("allow").split(',').map(str::trim).collect();
            allowed.sort_unstable();
            assert_eq!(allowed, right, "{method} {route}");
        }
    }
}

#[tokio::test]
async fn nothing_else_is_at_any_address() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    for path in [
        "/",
        "/v1",
        "/v1/",
        "/v2/jobs",
        "/V1/jobs",
        "/v1/Jobs",
        "//v1/jobs",
        "/v1//jobs",
        "/v1/jobs/",
        "/v1/./jobs",
        "/v1/runs/../jobs",
        "/v1/runs/..%2fjobs",
        "/v1/jobs;a=b",
        "/v1/jobs%20",
        "/v1/jobs%00",
        "/v1%2fjobs",
        "/v1/job",
        "/v1/workflow",
        "/metrics/",
        "/openapi.yaml",
        "/.env",
        "/%ff",
        "/%zz",
        &format!("/v1/jobs/{job}/"),
        &format!("/v1/jobs/{job}/pause/"),
        &format!("/v1/jobs/{job}/nothing"),
        &format!("/{}", "x".repeat(60_000)),
    ] {
        world.get(path).await.problem(404, "not-found");
    }
}

#[tokio::test]
async fn a_text_that_is_no_id_names_nothing() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let run = world.get(&format!("/v1/jobs/{job}")).await.word("/next_run_id");
    let key = world.post("/v1/keys", json!({"name": "x", "role": "viewer"})).await.word("/key_id");
    let mut ids = Vec::new();
    for id in [&job, &run, &key] {
        ids.push(id.to_uppercase());
        ids.push(format!("{id}0"));
        ids.push(format!("%20{id}"));
        ids.push(format!("{id}%00"));
        ids.push(format!("{id}%0a"));
        ids.push(format!("{id}%2f..%2f{id}"));
        ids.push(id[..id.len() - 1].to_owned());
        ids.push(id.replacen('_', "%5F%5F", 1));
        ids.push(id.split_once('_').unwrap().1.to_owned());
    }
    ids.extend(
        ["..", ".", "%2e%2e", "..%2f..%2fetc%2fpasswd", "%00", "%ff%fe", "job_", "run_", "key_", "%F0%9F%98%80", "0"]
            .map(ToOwned::to_owned),
    );
    ids.push(format!("job_{}", "0".repeat(30_000)));
    ids.push(format!("run_{}", "z".repeat(51)));

    for (method, route, _) in ROUTES.iter().filter(|(_, route, _)| route.contains("_id}")) {
        for id in &ids {
            // Two names in one address, and no address is longer than 64 KiB.
            let path = address(route, id);
            if path.len() > usize::from(u16::MAX) {
                continue;
            }
            let body = (*method == "PATCH").then(|| json!({}));

            let answer = world.by(ACME_KEY, method, &path, body).await;

            answer.problem(404, "not-found");
        }
    }
    assert_eq!(world.get(&format!("/v1/jobs/{job}")).await.field("/status"), "active");
}

/// The same id in another spelling of the address is the same id.
#[tokio::test]
async fn an_id_may_be_percent_encoded() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;

    let encoded = job.replacen('_', "%5F", 1).replacen('j', "%6a", 1);

    assert_eq!(world.get(&format!("/v1/jobs/{encoded}")).await.field("/job_id"), json!(job));
}

#[tokio::test]
async fn a_kind_of_id_opens_no_other_kind() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    let run = world.run_of(&job).await;

    world.get(&format!("/v1/runs/{job}")).await.problem(404, "not-found");
    world.get(&format!("/v1/jobs/{run}")).await.problem(404, "not-found");
    assert_eq!(world.get(&format!("/v1/runs?job_id={run}")).await.problem(422, "invalid"), ["?job_id"]);
}

#[tokio::test]
async fn a_cursor_that_is_none_of_this_list_is_refused() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    for _ in 0..3 {
        world.job(json!({"on_demand": true})).await;
        world.run_of(&job).await;
        world.post("/v1/keys", json!({"name": "x", "role": "viewer"})).await;
    }
    let lists = ["/v1/jobs".to_owned(), "/v1/runs".to_owned(), format!("/v1/jobs/{job}/runs"), "/v1/keys".to_owned()];
    for list in &lists {
        let cursor = world.get(&format!("{list}?limit=1")).await.word("/next_cursor");
        let flipped = if cursor.starts_with('0') { "1" } else { "0" };
        let flipped = format!("{flipped}{}", &cursor[1..]);
        let mut forged = vec![
            String::new(),
            "0".to_owned(),
            "x".repeat(60_000),
            cursor.to_uppercase(),
            format!("{cursor}0"),
            format!("{cursor}%00"),
            cursor[..cursor.len() - 2].to_owned(),
            cursor[..8].to_owned(),
            flipped,
            "%F0%9F%98%80".to_owned(),
        ];
        for other in lists.iter().filter(|other| *other != list) {
            forged.push(world.get(&format!("{other}?limit=1")).await.word("/next_cursor"));
        }
        for cursor in forged {
            let answer = world.get(&format!("{list}?limit=1&cursor={cursor}")).await;

            assert_eq!(answer.problem(422, "invalid"), ["?cursor"], "{list} {cursor:.80}");
        }
        let twice = world.get(&format!("{list}?cursor={cursor}&cursor={cursor}")).await;
        assert_eq!(twice.problem(422, "invalid"), ["?cursor"], "{list}");
    }
}

#[tokio::test]
async fn a_parameter_that_is_missing_or_none_of_its_values_is_told_in_words() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;
    let calendar = world.put("/v1/calendars/h2", json!({"business_days": ["MON", "TUE", "WED", "THU", "FRI"]})).await;
    assert_eq!(calendar.status, 201, "{}", calendar.text);
    for (path, pointer, detail) in [
        (format!("/v1/jobs/{job}/why"), "?at", "is required"),
        ("/v1/jobs?limit=abc".to_owned(), "?limit", "must be a whole number"),
        ("/v1/jobs?limit=".to_owned(), "?limit", "must be a whole number"),
        ("/v1/jobs?limit=1&limit=2".to_owned(), "?limit", "is there twice"),
    ] {
        let refused = world.get(&path).await;

        assert_eq!(refused.problem(422, "invalid"), [pointer], "{path}");
        assert_eq!(refused.word("/errors/0/detail"), detail, "{path}");
    }
    let refused = world.delete("/v1/calendars/h2?dry_run=yes").await;
    assert_eq!(refused.problem(422, "invalid"), ["?dry_run"]);
    assert_eq!(refused.word("/errors/0/detail"), "must be true or false");
}

/// Who writes is told what a name looks like; who reads or deletes finds nothing of that name.
#[tokio::test]
async fn a_name_that_cannot_be_one_is_refused_where_it_is_written() {
    let world = World::new();
    for (path, body) in [
        ("/v1/calendars/a.b", json!({"business_days": ["MON", "TUE", "WED", "THU", "FRI"]})),
        ("/v1/notifications/a.b", json!({"when": ["failed"], "to": {"slack": {"url": "https://hooks.example/x"}}})),
        ("/v1/secrets/a.b", json!({"value": "x"})),
    ] {
        let written = world.put(path, body).await;

        assert_eq!(written.problem(422, "invalid"), [] as [&str; 0], "{path}");
        assert!(written.word("/detail").contains("has from 1 to"), "{}", written.text);
        world.get(path).await.problem(404, "not-found");
        world.delete(path).await.problem(404, "not-found");
    }
    world.post("/v1/calendars/a.b/import", json!({"ics": "x"})).await.problem(422, "invalid");
}

#[tokio::test]
async fn a_query_that_is_none_is_refused_by_name() {
    let world = World::new();
    for (query, pointer) in [
        ("limit=-1", "?limit"),
        ("limit=1.5", "?limit"),
        ("limit=99999999999999999999999", "?limit"),
        ("limit=%31%30%30%31", "?limit"),
        ("limit[]=1", "?limit[]"),
        ("LIMIT=1", "?LIMIT"),
        ("tag=%00", "?tag"),
        ("%74ags=1", "?tags"),
        ("a%20b=1", "?a b"),
        ("=1", "?"),
    ] {
        let answer = world.get(&format!("/v1/jobs?{query}")).await;

        let told = answer.problem(422, "invalid");
        assert!(told == [pointer] || pointer.contains(' ') && told == [""], "{query}: {told:?}");
    }
    for query in ["&&&", "limit=1&", "&limit=1"] {
        assert_eq!(world.get(&format!("/v1/jobs?{query}")).await.status, 200, "{query}");
    }
    let long = world.get(&format!("/v1/jobs?{}=1", "x".repeat(50_000))).await;
    long.problem(422, "invalid");
    assert!(long.text.len() < 3000, "{}", long.text.len());
    let not_text = world.get("/v1/jobs?tag=%ff").await;
    assert!(matches!(not_text.status.as_u16(), 200 | 422), "{}", not_text.text);
}

#[tokio::test]
async fn a_key_that_is_not_text_is_none() {
    let world = World::new();
    for value in
        [&b"Bearer \xff\xfe"[..], b"Bearer", b"Bearer\tmh_acme", b"Bearer mh_acme mh_acme", b" ", b"Bearer \xc3\xa9"]
    {
        let request =
            Request::builder().uri("/v1/jobs").header("authorization", HeaderValue::from_bytes(value).unwrap());

        world.send(request.body(Body::empty()).unwrap()).await.problem(401, "unauthorized");
    }
    let long = format!("mh_acme_{}", "0".repeat(100_000));
    world.by(&long, "GET", "/v1/jobs", None).await.problem(401, "unauthorized");
}

#[tokio::test]
async fn an_idempotency_key_is_one_line_of_ascii() {
    let world = World::new();
    for value in [&b"\xff"[..], b"\xc3\xa9", b"a\tb"] {
        let request = request("POST", "/v1/jobs", ACME_KEY)
            .header("content-type", "application/json")
            .header("idempotency-key", HeaderValue::from_bytes(value).unwrap());

        let answer = world.send(request.body(r#"{"target":{"noop":{}}}"#.into()).unwrap()).await;

        assert_eq!(answer.problem(422, "invalid"), ["/idempotency_key"]);
    }
}

#[tokio::test]
async fn head_is_answered_as_get_is_without_a_body() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    for path in ["/v1/jobs".to_owned(), format!("/v1/jobs/{job}"), "/v1/runs".to_owned(), "/v1/jobs/job_x".to_owned()] {
        let (get, head) = (world.get(&path).await, world.by(ACME_KEY, "HEAD", &path, None).await);

        assert_eq!((head.status, head.text.as_str()), (get.status, ""));
        assert_eq!(head.header("content-type"), get.header("content-type"));
        assert_eq!(head.header("etag"), get.header("etag"));
    }
}

#[tokio::test]
async fn a_get_may_carry_a_body_that_nobody_reads() {
    let world = World::new();
    let request = request("GET", "/v1/jobs", ACME_KEY).header("content-type", "text/plain");

    let answer = world.send(request.body("{".into()).unwrap()).await;

    assert_eq!(answer.json(), json!({"items": [], "next_cursor": null}));
    assert_eq!(Value::from(acme().as_str()), "acme");
}
