//! Bad input of every kind: each is a problem that names what is wrong and where.

use axum::body::Body;
use minutehand_api::{Keyring, TargetCheck};
use minutehand_domain::limits::{PAYLOAD_BYTES, TAGS};
use minutehand_io::targets::http::{Reach, check_target};
use serde_json::{Value, json};

use crate::world::{ACME_KEY, Answer, World, request};

async fn raw(world: &World, body: impl Into<Body>) -> Answer {
    let request = request("POST", "/v1/jobs", ACME_KEY).header("content-type", "application/json");
    world.send(request.body(body.into()).unwrap()).await
}

fn with(field: &str, value: Value) -> Value {
    let mut body = json!({"target": {"noop": {}}});
    body.as_object_mut().unwrap().insert(field.to_owned(), value);
    body
}

#[tokio::test]
async fn what_is_not_json_is_malformed() {
    let world = World::new();
    let deep = format!(r#"{{"target":{{"noop":{{}}}},"payload":{}{}}}"#, "[".repeat(200), "]".repeat(200));
    for body in [
        "",
        "{",
        "nul",
        r#"{"target":{"noop":{}}} x"#,
        r#"{"target":{"noop":{}},"target":{"noop":{}}}"#,
        r#"{"target":{"noop":{}},"payload":{"a":1,"a":2}}"#,
        r#"{"target":{"noop":{}},"payload":"\ud800"}"#,
        r#"{"target":{"noop":{}},"payload":1e999}"#,
        deep.as_str(),
    ] {
        raw(&world, body.to_owned()).await.problem(400, "malformed");
    }
    raw(&world, &b"{\"target\":{\"noop\":{}},\"name\":\"\xff\"}"[..]).await.problem(400, "malformed");
}

#[tokio::test]
async fn an_unknown_field_is_pointed_at_and_a_typo_is_guessed() {
    let world = World::new();
    for (body, pointer, guess) in [
        (with("shedule", json!({})), "/shedule", Some("schedule")),
        (with("schedule", json!({"crn": "* * * * *"})), "/schedule/crn", Some("cron")),
        (with("retry", json!({"max_retrys": 1})), "/retry/max_retrys", Some("max_retries")),
        (with("catch_up", json!({"polcy": "all"})), "/catch_up/polcy", Some("policy")),
        (json!({"target": {"htp": {"url": "https://a"}}}), "/target/htp", Some("http")),
        (json!({"target": {"http": {"url": "https://a", "header": {}}}}), "/target/http/header", Some("headers")),
        (json!({"target": {"noop": {"a/b~c": 1}}}), "/target/noop/a~1b~0c", None),
        (with("overlap", json!(1)), "/overlap", None),
        (with("callback", json!(1)), "/callback", None),
        (with("hooks", json!(1)), "/hooks", None),
    ] {
        let answer = world.post("/v1/jobs", body).await;

        assert_eq!(answer.problem(422, "invalid"), [pointer]);
        let detail = answer.field("/errors/0/detail");
        let expected = guess.map(|guess| format!("did you mean `{guess}`?"));
        assert!(detail.as_str().unwrap().contains(&expected.unwrap_or_default()), "{detail}");
    }
}

#[tokio::test]
async fn a_wrong_type_or_a_missing_field_is_pointed_at() {
    let world = World::new();
    for (body, pointer) in [
        (json!([]), ""),
        (json!(7), ""),
        (json!({}), "/target"),
        (json!({"target": {}}), "/target"),
        (json!({"target": {"noop": {}, "http": {"url": "https://a"}}}), "/target"),
        (json!({"target": {"http": {}}}), "/target/http/url"),
        (json!({"target": {"http": {"url": "ftp://a"}}}), "/target/http/url"),
        (json!({"target": {"http": {"url": "https://a", "method": "BREW"}}}), "/target/http/method"),
        (json!({"target": {"http": {"url": "https://a", "headers": {"x": 1}}}}), "/target/http/headers/x"),
        (with("name", json!(7)), "/name"),
        (with("tags", json!(["a", 7])), "/tags/1"),
        (with("priority", json!("urgent")), "/priority"),
        (with("delivery", json!("never")), "/delivery"),
        (with("schedule", json!({"at": "monday"})), "/schedule/at"),
        (with("schedule", json!({"at": "2000-01-01T00:00:00Z"})), "/schedule/at"),
        (with("schedule", json!({"every_seconds": -1})), "/schedule/every_seconds"),
        (with("schedule", json!({"every_seconds": 1, "after_seconds": 1})), "/schedule/every_seconds"),
        (with("schedule", json!({"timezone": "UTC"})), "/schedule/timezone"),
        (with("retry", json!({"backoff": "none"})), "/retry/backoff"),
        (with("retry", json!({"initial_delay_seconds": 10, "max_delay_seconds": 5})), "/retry/max_delay_seconds"),
        (with("catch_up", json!("all")), "/catch_up"),
        (with("catch_up", json!({"policy": "some"})), "/catch_up/policy"),
        (with("catch_up", json!({"max_runs": 5})), "/catch_up/max_runs"),
        (with("catch_up", json!({"policy": "last", "max_runs": 0})), "/catch_up/max_runs"),
        (with("catch_up", json!({"policy": "all", "max_runs": 1001})), "/catch_up/max_runs"),
        (with("catch_up", json!({"policy": "all", "max_runs": 0})), "/catch_up/max_runs"),
        (with("catch_up", json!({"policy": "all", "rate_per_minute": 0})), "/catch_up/rate_per_minute"),
        (with("catch_up", json!({"policy": "all", "rate_per_minute": 60_001})), "/catch_up/rate_per_minute"),
        (with("catch_up", json!({"rate_per_minute": 5})), "/catch_up/rate_per_minute"),
        (with("catch_up", json!({"policy": "none", "rate_per_minute": 5})), "/catch_up/rate_per_minute"),
        (with("catch_up", json!({"window_seconds": 59})), "/catch_up/window_seconds"),
        (with("catch_up", json!({"window_seconds": 2_592_001})), "/catch_up/window_seconds"),
        (with("catch_up", json!({"policy": "none", "window_seconds": 300})), "/catch_up/window_seconds"),
        (with("callback", json!("https://example.com/")), "/callback"),
        (with("callback", json!({"on": ["failed"]})), "/callback/url"),
        (with("callback", json!({"url": "gopher://example.com"})), "/callback/url"),
        (with("callback", json!({"url": "https://example.com/", "on": []})), "/callback/on"),
        (with("callback", json!({"url": "https://example.com/", "on": ["never"]})), "/callback/on/0"),
        (with("callback", json!({"url": "https://example.com/", "tries": 3})), "/callback/tries"),
        (with("hooks", json!({"during": {}})), "/hooks/during"),
        (
            with("hooks", json!({"before": {"url": "https://example.com/", "timeout_seconds": 31}})),
            "/hooks/before/timeout_seconds",
        ),
        (with("hooks", json!({"before": {"url": "https://example.com/", "on_error": "no"}})), "/hooks/before/on_error"),
        (with("hooks", json!({"before": {"url": "no"}})), "/hooks/before/url"),
        (with("hooks", json!({"after": {"url": "https://example.com/", "on": ["failed"]}})), "/hooks/after/on"),
        (with("overlap", json!("skip")), "/overlap"),
        (with("overlap", json!({"policy": "never"})), "/overlap/policy"),
        (with("overlap", json!({"policy": "skip", "max": 2})), "/overlap/max"),
        (with("overlap", json!({"policy": "queue", "max_waiting": 101})), "/overlap/max_waiting"),
        (with("overlap", json!({"policy": "queue", "most": 2})), "/overlap/most"),
        (with("concurrency", json!(4)), "/concurrency"),
        (with("concurrency", json!({"limit": 4})), "/concurrency/key"),
        (with("concurrency", json!({"key": "a\u{7}b", "limit": 4})), "/concurrency/key"),
        (with("concurrency", json!({"key": "x"})), "/concurrency/limit"),
        (with("concurrency", json!({"key": "x", "limit": 0})), "/concurrency/limit"),
        (with("concurrency", json!({"key": "x", "limit": 1001})), "/concurrency/limit"),
        (with("concurrency", json!({"key": "x", "limit": 4, "per_minute": 4})), "/concurrency/per_minute"),
        (with("rate", json!({"key": "x".repeat(129), "per_minute": 4})), "/rate/key"),
        (with("rate", json!({"key": "x", "per_minute": 60_001})), "/rate/per_minute"),
    ] {
        let answer = world.post("/v1/jobs", body.clone()).await;

        assert_eq!(answer.problem(422, "invalid"), [pointer], "{body}");
    }
}

#[tokio::test]
async fn every_bound_is_told_at_once() {
    let world = World::new();

    let answer = world
        .post(
            "/v1/jobs",
            json!({
                "target": {"http": {"url": "ftp://a"}}, "name": "", "owner": "x".repeat(65), "tags": ["", "a\nb"],
                "timeout_seconds": 841, "schedule": {"every_seconds": 0},
                "retry": {
                    "max_retries": 101, "initial_delay_seconds": 86_401, "give_up_after_seconds": 0,
                    "break_after_instant_failures": 0,
                },
            }),
        )
        .await;

    assert_eq!(
        answer.problem(422, "invalid"),
        [
            "/schedule/every_seconds",
            "/name",
            "/owner",
            "/tags/0",
            "/tags/1",
            "/timeout_seconds",
            "/retry/initial_delay_seconds",
            "/retry/max_retries",
            "/retry/give_up_after_seconds",
            "/retry/break_after_instant_failures",
            "/target/http/url",
        ]
    );
    let many: Vec<_> = (0..=TAGS).map(|n| n.to_string()).collect();
    assert_eq!(world.post("/v1/jobs", with("tags", json!(many))).await.problem(422, "invalid"), ["/tags"]);
}

#[tokio::test]
async fn what_is_null_is_not_given() {
    let world = World::new();
    let fields = [
        "name",
        "owner",
        "tags",
        "schedule",
        "payload",
        "priority",
        "timeout_seconds",
        "retry",
        "delivery",
        "catch_up",
    ];
    let mut body: serde_json::Map<_, _> = fields.map(|field| (field.to_owned(), Value::Null)).into_iter().collect();
    body.insert("target".to_owned(), json!({"noop": {}}));

    let answer = world.post("/v1/jobs", body.into()).await;

    assert_eq!((answer.status.as_u16(), answer.field("/timeout_seconds")), (201, json!(60)));
}

#[tokio::test]
async fn a_payload_fits_to_the_byte() {
    let world = World::new();
    let fits = with("payload", json!("x".repeat(PAYLOAD_BYTES - 2)));
    let too_large = with("payload", json!("x".repeat(PAYLOAD_BYTES - 1)));

    assert_eq!(world.post("/v1/jobs", fits).await.status, 201);
    assert_eq!(world.post("/v1/jobs", too_large).await.problem(413, "too-large"), ["/payload"]);
    raw(&world, vec![b' '; PAYLOAD_BYTES + 64 * 1024 + 1]).await.problem(413, "too-large");
}

#[tokio::test]
async fn a_long_mistake_is_not_quoted_whole() {
    let world = World::new();
    for body in [with(&"x".repeat(100_000), json!(1)), with("priority", json!("é".repeat(100_000)))] {
        let answer = world.post("/v1/jobs", body).await;

        answer.problem(422, "invalid");
        assert!(answer.text.len() < 3000, "{}", answer.text.len());
    }
}

/// Removed: what a body says of how it is packed is not looked at. It was no JSON, at line 1 column 1.
#[tokio::test]
async fn a_packed_body_is_refused_as_packed() {
    let world = World::new();
    for (coding, status) in [("gzip", 415), ("br", 415), ("identity", 201)] {
        let request = request("POST", "/v1/jobs", ACME_KEY).header("content-type", "application/json");
        let request = request.header("content-encoding", coding).body(r#"{"target":{"noop":{}}}"#.into()).unwrap();

        assert_eq!(world.send(request).await.status, status, "{coding}");
    }
}

#[tokio::test]
async fn a_body_says_that_it_is_json() {
    let world = World::new();
    for content_type in [None, Some("text/plain"), Some("application/x-www-form-urlencoded"), Some("application/jsonx")]
    {
        let request = content_type
            .into_iter()
            .fold(request("POST", "/v1/jobs", ACME_KEY), |request, value| request.header("content-type", value));

        let answer = world.send(request.body(r#"{"target":{"noop":{}}}"#.into()).unwrap()).await;

        answer.problem(415, "unsupported-media-type");
    }
}

#[tokio::test]
async fn an_action_takes_no_fields() {
    let world = World::new();
    let job = world.job(json!({"every_seconds": 60})).await;

    let answer = world.post(&format!("/v1/jobs/{job}/pause"), json!({"until": "monday"})).await;

    assert_eq!(answer.problem(422, "invalid"), ["/until"]);
    assert_eq!(world.get(&format!("/v1/jobs/{job}")).await.field("/status"), "active");
}

#[tokio::test]
async fn unknown_addresses_and_methods_are_problems_too() {
    let world = World::new();

    world.get("/v1/nothing").await.problem(404, "not-found");
    world.get("/").await.problem(404, "not-found");
    world.get("/v1/jobs/").await.problem(404, "not-found");
    let wrong = world.delete("/v1/jobs").await;
    wrong.problem(405, "method-not-allowed");
    assert_eq!(wrong.header("allow"), "POST,GET,HEAD");
    world.get("/v1/schedules/preview").await.problem(405, "method-not-allowed");
    world.tell("/v1/health").await.problem(405, "method-not-allowed");
}

#[tokio::test]
async fn every_answer_carries_its_own_request_id() {
    let world = World::new();

    let (one, two) = (world.get("/v1/jobs").await, world.get("/v1/nothing").await);

    assert!(one.header("request-id").starts_with("req_") && two.header("request-id").starts_with("req_"));
    assert_ne!(one.header("request-id"), two.header("request-id"));
}

#[tokio::test]
async fn an_array_of_an_objects_values_is_no_object() {
    let world = World::new();
    let job = world.job(json!({"on_demand": true})).await;
    for (path, body, pointer) in [
        (format!("/v1/jobs/{job}/run"), json!([null, null]), ""),
        (format!("/v1/jobs/{job}/pause"), json!([]), ""),
        ("/v1/jobs".to_owned(), json!({"target": [null, {}]}), "/target"),
        ("/v1/jobs".to_owned(), json!({"target": {"noop": []}}), "/target/noop"),
        ("/v1/jobs".to_owned(), json!({"target": {"http": ["https://a", null, null]}}), "/target/http"),
        (
            "/v1/jobs".to_owned(),
            with("schedule", json!([null, 5, null, null, null, null, null, null, null])),
            "/schedule",
        ),
        ("/v1/jobs".to_owned(), with("retry", json!([1, null, null, null, null, null, null])), "/retry"),
    ] {
        let answer = world.post(&path, body.clone()).await;

        assert_eq!(answer.problem(422, "invalid"), [pointer], "{body}");
    }
}

#[tokio::test]
async fn a_whole_number_may_be_spelled_with_a_point() {
    let world = World::new();
    for (spelled, understood) in
        [("90.0", Some(90)), ("9e1", Some(90)), ("90.5", None), ("-90.0", None), ("1e300", None)]
    {
        let answer = raw(&world, format!(r#"{{"target":{{"noop":{{}}}},"timeout_seconds":{spelled}}}"#)).await;

        match understood {
            Some(seconds) => assert_eq!(answer.field("/timeout_seconds"), seconds, "{spelled}"),
            None => assert_eq!(answer.problem(422, "invalid"), ["/timeout_seconds"], "{spelled}"),
        }
    }
}

/// A job whose payload is so deep that the whole body has this many levels.
fn deep(levels: usize) -> String {
    let levels = levels - 1;
    format!(r#"{{"target":{{"noop":{{}}}},"payload":{}{}}}"#, "[".repeat(levels), "]".repeat(levels))
}

#[tokio::test]
async fn a_body_is_at_most_127_levels_deep_and_what_passed_is_answered_again() {
    let world = World::new();

    let deepest = raw(&world, deep(127)).await;
    let path = deepest.header("location").to_owned();
    let read = world.get(&path).await;
    let renamed = world.patch(&path, json!({"name": "deep"})).await;
    let run = world.tell(&format!("{path}/run")).await;

    assert_eq!([deepest, read, renamed, run].map(|answer| answer.status.as_u16()), [201, 200, 200, 202]);
    for levels in [128, 129, 200, 100_000] {
        let answer = raw(&world, deep(levels)).await;
        answer.problem(400, "malformed");
        assert!(answer.word("/detail").contains("recursion"), "{}", answer.text);
    }
    let objects = format!(r#"{{"target":{}1{}}}"#, r#"{"a":"#.repeat(200), "}".repeat(200));
    raw(&world, objects).await.problem(400, "malformed");
    raw(&world, "[".repeat(300_000)).await.problem(400, "malformed");
}

#[tokio::test]
async fn a_key_twice_is_malformed_however_deep_and_however_spelled() {
    let world = World::new();
    for body in [
        r#"{"target":{"noop":{},"noop":{}}}"#,
        r#"{"target":{"noop":{}},"payload":[{"b":{"a":1,"a":1}}]}"#,
        r#"{"target":{"noop":{}},"payload":{"a":1,"\u0061":2}}"#,
        r#"{"target":{"noop":{}},"payload":{"":1,"":2}}"#,
        r#"{"target":{"noop":{}},"idempotency_key":"a","idempotency_key":"b"}"#,
    ] {
        let answer = raw(&world, body).await;

        answer.problem(400, "malformed");
        assert!(answer.word("/detail").contains("twice"), "{}", answer.text);
    }
    let apart = r#"{"target":{"noop":{}},"payload":[{"a":1},{"a":1},{"A":1,"a":{"a":1}}]}"#;
    assert_eq!(raw(&world, apart).await.status, 201, "each object has its own");
}

#[tokio::test]
async fn a_number_that_is_none_or_does_not_fit_is_refused() {
    let world = World::new();
    for number in
        ["NaN", "Infinity", "-Infinity", "1e999", "-1e999", "01", "+1", ".5", "1.", "0x10", "1_000", "- 1", "--1"]
    {
        raw(&world, format!(r#"{{"target":{{"noop":{{}}}},"payload":{number}}}"#)).await.problem(400, "malformed");
        raw(&world, format!(r#"{{"target":{{"noop":{{}}}},"timeout_seconds":{number}}}"#))
            .await
            .problem(400, "malformed");
    }
    for number in [
        "-0",
        "-0.0",
        "0",
        "841",
        "1e30",
        "60.5",
        "-1",
        "18446744073709551615",
        "18446744073709551616",
        "99999999999999999999999999999999999999",
        "1e-9",
    ] {
        let answer = raw(&world, format!(r#"{{"target":{{"noop":{{}}}},"timeout_seconds":{number}}}"#)).await;

        assert_eq!(answer.problem(422, "invalid"), ["/timeout_seconds"], "{number}");
    }
    for (number, seconds) in [("60.0", 60), ("1e2", 100), ("0.5e1", 5)] {
        let answer = raw(&world, format!(r#"{{"target":{{"noop":{{}}}},"timeout_seconds":{number}}}"#)).await;
        assert_eq!((answer.status.as_u16(), answer.field("/timeout_seconds")), (201, json!(seconds)), "{number}");
    }
    for number in ["-0", "1e-999", "1E5", "12345678901234567890123", "0.1000"] {
        let answer = raw(&world, format!(r#"{{"target":{{"noop":{{}}}},"payload":{number}}}"#)).await;

        assert_eq!(answer.status, 201, "{}", answer.text);
        assert!(answer.text.contains(&format!(r#""payload":{number},"#)), "{number}: {}", answer.text);
    }
}

#[tokio::test]
async fn what_is_not_utf_8_is_malformed() {
    let world = World::new();
    let text = r#"{"target":{"noop":{}},"name":"x"}"#;
    let with = |bytes: &[u8]| {
        let (head, tail) = text.split_once('x').unwrap();
        [head.as_bytes(), bytes, tail.as_bytes()].concat()
    };
    let utf_16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let with_bom: Vec<u8> = [&[0xff, 0xfe], utf_16.as_slice()].concat();
    for (what, bytes) in [
        ("a BOM", [&[0xef, 0xbb, 0xbf], text.as_bytes()].concat()),
        ("UTF-16", utf_16),
        ("UTF-16 with a BOM", with_bom),
        ("a byte of none", with(&[b'a', 0xff, b'b'])),
        ("half a letter", with(&[0xc3])),
        ("an overlong zero", with(&[0xc0, 0x80])),
        ("an encoded surrogate", with(&[0xed, 0xa0, 0x80])),
        ("beyond Unicode", with(&[0xf4, 0x90, 0x80, 0x80])),
        ("Latin-1", with(b"caf\xe9")),
        ("a raw zero", with(&[0])),
        ("a raw line break", with(b"\n")),
        ("half a pair", with(br"\ud800")),
        ("the other half", with(br"\udc00")),
        ("a pair turned", with(br"\udc00\ud800")),
        ("no escape", with(br"\x41")),
        ("half an escape", with(br"\u00")),
    ] {
        let answer = raw(&world, bytes).await;

        assert_eq!(answer.status, 400, "{what}: {}", answer.text);
        answer.problem(400, "malformed");
    }
    let payload = [br#"{"target":{"noop":{}},"payload":["#.as_slice(), b"\"\xff\"", b"]}"].concat();
    raw(&world, payload).await.problem(400, "malformed");
    for whole in [r"\ud83d\ude00", "😀", "é", r"\u0000".replace("0000", "00e9").as_str()] {
        assert_eq!(raw(&world, with(whole.as_bytes())).await.status, 201, "{whole}");
    }
    assert_eq!(raw(&world, with(br"\u0000")).await.problem(422, "invalid"), ["/name"], "no line has a zero");
}

#[tokio::test]
async fn a_body_is_too_large_whether_it_says_so_or_not() {
    let world = World::new();
    let large = vec![b' '; 400 * 1024];
    let chunks = |bytes: Vec<u8>| {
        let chunks: Vec<_> = bytes.chunks(1000).map(|chunk| Ok::<_, std::io::Error>(chunk.to_vec())).collect();
        Body::from_stream(futures_util::stream::iter(chunks))
    };
    let send = async |length: Option<&str>, body: Body| {
        let request = request("POST", "/v1/jobs", ACME_KEY).header("content-type", "application/json");
        let request = length.into_iter().fold(request, |request, length| request.header("content-length", length));
        world.send(request.body(body).unwrap()).await
    };

    send(None, chunks(large.clone())).await.problem(413, "too-large");
    send(Some("409600"), chunks(large.clone())).await.problem(413, "too-large");
    send(Some("409600"), Body::from("{}")).await.problem(413, "too-large");
    send(Some("2"), chunks(large.clone())).await.problem(413, "too-large");
    send(Some("many"), chunks(large.clone())).await.problem(413, "too-large");
    send(Some("99999999999999999999999999"), chunks(large)).await.problem(413, "too-large");
    let small = br#"{"target":{"noop":{}}}"#.to_vec();
    assert_eq!(send(None, chunks(small.clone())).await.status, 201);
    assert_eq!(send(Some("99999999999999999999999999"), chunks(small)).await.status, 201, "what came is what counts");
}

#[tokio::test]
async fn a_body_that_breaks_off_is_malformed() {
    let world = World::new();
    let broken = std::io::Error::other("the client is gone");
    let parts = vec![Ok(br#"{"target":{"noop""#.to_vec()), Err(broken)];

    let answer = raw(&world, Body::from_stream(futures_util::stream::iter(parts))).await;

    answer.problem(400, "malformed");
    raw(&world, r#"{"target":{"noop""#).await.problem(400, "malformed");
}

/// The room is shared by all bodies that are being read: a body that was read gives it back.
#[tokio::test]
async fn bodies_that_were_read_leave_room_for_others() {
    let world = World::new();
    let large = json!({"target": {"noop": {}}, "payload": "x".repeat(PAYLOAD_BYTES), "schedule": {"on_demand": true}});
    for _ in 0..300 {
        assert_eq!(world.post("/v1/jobs", large.clone()).await.status, 413);
    }

    assert_eq!(world.post("/v1/jobs", with("payload", json!("x".repeat(200_000)))).await.status, 201);
}

#[tokio::test]
async fn an_instant_is_one_that_can_be_written_down() {
    let world = World::new();
    for instant in [
        "10000-01-01T00:00:00Z",
        "+10000-01-01T00:00:00Z",
        "1969-12-31T23:59:59Z",
        "-0001-01-01T00:00:00Z",
        "2027-02-29T00:00:00Z",
        "2027-13-01T00:00:00Z",
        "2027-01-32T00:00:00Z",
        "2027-01-15T24:00:00Z",
        "2027-01-15T23:60:00Z",
        "2027-01-15T23:59:61Z",
        "2027-01-15T09:00:00",
        "2027-01-15",
        "2027-01-15T09:00Z",
        "2027-01-15T09:00:00+25:00",
        "2027-01-15T09:00:00+0100",
        "9999-12-31T23:59:59-01:00",
        "1970-01-01T00:00:00+01:00",
        "1800003600",
        "tomorrow",
        "",
    ] {
        let answer = world.post("/v1/jobs", with("schedule", json!({"at": instant}))).await;
        assert_eq!(answer.problem(422, "invalid"), ["/schedule/at"], "{instant}");
        let answer = world.post("/v1/schedules/preview", json!({"schedule": {}, "from": instant})).await;
        assert_eq!(answer.problem(422, "invalid"), ["/from"], "{instant}");
        let answer = world.get(&format!("/v1/runs?to={}", instant.replace('+', "%2B"))).await;
        assert_eq!(answer.problem(422, "invalid"), ["?to"], "{instant}");
    }
    for (given, told) in [
        ("2027-01-15T10:00:00+01:00", "2027-01-15T09:00:00.000Z"),
        ("2027-01-15T22:59:59.9999999+14:00", "2027-01-15T08:59:59.999Z"),
        ("2027-01-14T21:00:00-12:00", "2027-01-15T09:00:00.000Z"),
        ("2027-01-15t09:00:00z", "2027-01-15T09:00:00.000Z"),
        ("2027-01-15T08:59:60Z", "2027-01-15T09:00:00.000Z"), // a leap second is the second after it
        ("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z"),
    ] {
        let answer = world.post("/v1/jobs", with("schedule", json!({"at": given}))).await;
        assert_eq!((answer.status.as_u16(), answer.field("/schedule/at")), (201, json!(told)), "{given}");
    }
    let number = world.post("/v1/jobs", with("schedule", json!({"at": 1_800_003_600}))).await;
    assert_eq!(number.problem(422, "invalid"), ["/schedule/at"]);
}

#[tokio::test]
async fn a_zone_is_one_of_the_iana_names() {
    let world = World::new();
    for zone in [
        "",
        "Mars/Olympus",
        "Europe",
        "Europe/",
        "Europe/Paris ",
        "europe/paris\0",
        "+01:00",
        "GMT+2",
        "../UTC",
        "Paris",
    ] {
        let answer = world.post("/v1/jobs", with("schedule", json!({"cron": "0 2 * * *", "timezone": zone}))).await;

        assert_eq!(answer.problem(422, "invalid"), ["/schedule/timezone"], "{zone}");
    }
    let long = with("schedule", json!({"cron": "0 2 * * *", "timezone": "x".repeat(100_000)}));
    assert!(world.post("/v1/jobs", long).await.text.len() < 2000);
}

#[tokio::test]
async fn a_cron_expression_is_refused_fast_however_it_is_written() {
    let world = World::new();
    let many = (0..5000).map(|n| (n % 60).to_string()).collect::<Vec<_>>().join(",");
    for cron in [
        "",
        " ",
        "*",
        "* * * *",
        "60 * * * *",
        "* * * * 8-9",
        "*/0 * * * *",
        "5-1-2 * * * *",
        "0 0 31 2 *",
        "0 0 30 2 *",
        "@never",
        "* * * * * * * * *",
        "\u{0}",
        "٣ * * * *",
        "9999999999999999999999 * * * *",
        &format!("{many} * * * * x"),
        &"* ".repeat(10_000),
    ] {
        let answer = world.post("/v1/jobs", with("schedule", json!({"cron": cron}))).await;

        assert_eq!(answer.problem(422, "invalid"), ["/schedule/cron"], "{cron:.60}");
        assert!(answer.text.len() < 3000, "{cron:.60}");
    }
}

#[tokio::test]
async fn a_target_is_judged_in_every_spelling() {
    let world = World::whole(
        Keyring::single(ACME_KEY, crate::world::acme()),
        TargetCheck::new(|target| check_target(target, Reach::Public)),
        None,
    );
    let long = format!("https://a.example/{}", "x".repeat(2048));
    for url in [
        "",
        "a.example",
        "//a.example",
        "ftp://a.example",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://",
        "https://user@a.example",
        "https://user:password@a.example",
        "https://a.example:0/",
        "https://a.example:65536/",
        "https://a b.example/",
        "http://169.254.169.254/latest/meta-data/",
        "http://2852039166/",
        "http://0251.0376.0251.0376/",
        "http://0xa9fea9fe/",
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0177.0.0.1/",
        "http://10.0.0.1/",
        "http://[::1]/",
        "http://[::ffff:169.254.169.254]/",
        "http://[fe80::1%25eth0]/",
        "http://[fe80::1%eth0]/",
        "http://[fd00:ec2::254]/",
        "http://①⑥⑨.254.169.254/",
        long.as_str(),
    ] {
        let answer = world.post("/v1/jobs", json!({"target": {"http": {"url": url}}})).await;
        assert_eq!(answer.problem(422, "invalid"), ["/target/http/url"], "{url}");
    }
    for headers in
        [json!({"": "x"}), json!({"a b": "x"}), json!({"x": "a\nb"}), json!({"host": "x"}), json!({"x": "é\u{0}"})]
    {
        let body = json!({"target": {"http": {"url": "https://a.example", "headers": headers}}});
        assert_eq!(world.post("/v1/jobs", body).await.problem(422, "invalid"), ["/target/http/headers"], "{headers}");
    }
    let fine = json!({"target": {"http": {"url": "https://a.example/hook?a=b#c", "headers": {"X-A": "b"}}}});
    assert_eq!(world.post("/v1/jobs", fine).await.status, 201);
}
