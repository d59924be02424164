//! Whatever is sent to whatever route is answered as the description says: no fault, no panic, a problem that is well made.

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use serde_json::{Map, Value, json};

use crate::random::Random;
use crate::roles::{OPEN, ROUTES, address};
use crate::world::{ACME_KEY, Answer, OTHER_KEY, World, at, request};

const REQUESTS: usize = 16_000;

/// The statuses that each operation is said to have.
struct Described(BTreeMap<(String, String), BTreeSet<u16>>);

impl Described {
    async fn read(world: &World) -> Self {
        let document = world.get("/openapi.json").await;
        let mut statuses = BTreeMap::new();
        for (path, operations) in document.field("/paths").as_object().unwrap() {
            for (method, operation) in operations.as_object().unwrap() {
                let Some(responses) = operation.get("responses").and_then(Value::as_object) else { continue };
                let told = responses.keys().filter_map(|status| status.parse().ok()).collect();
                statuses.insert((method.to_uppercase(), address(path, "{}")), told);
            }
        }
        Self(statuses)
    }

    fn has(&self, method: &str, route: &str, status: u16) -> bool {
        let told = self.0.get(&(method.to_owned(), address(route, "{}")));
        told.is_some_and(|told| told.contains(&status))
    }
}

fn well_answered(described: &Described, method: &str, route: &str, answer: &Answer) -> Result<(), String> {
    let status = answer.status.as_u16();
    if status >= 500 {
        return Err(format!("a fault: {answer:?}"));
    }
    if !described.has(method, route, status) {
        return Err(format!("{status} is not described: {answer:?}"));
    }
    if status >= 400 {
        answer.well_made_problem();
    } else if status == 204 {
        assert_eq!(answer.text, "");
    } else if !["/metrics", "/v1/backup"].contains(&route) {
        answer.json();
    }
    Ok(())
}

/// A body that would be well answered, for a route that reads one.
fn good_body(method: &str, route: &str, key: &str) -> Option<Value> {
    let job = json!({
        "name": "n", "owner": "o", "tags": ["a", "b"], "payload": {"a": [1, 2.5, "x", null, true]},
        "schedule": {
            "cron": "0 2 * * *", "timezone": "Europe/Paris", "start_at": at(60), "end_at": at(9_000_000), "max_fires": 3,
        },
        "target": {"http": {"url": "https://a.example/hook", "method": "PUT", "headers": {"x-a": "1"}}},
        "priority": "high", "timeout_seconds": 30, "delivery": "at_most_once", "idempotency_key": key,
        "retry": {
            "max_retries": 3, "backoff": "linear", "initial_delay_seconds": 1, "max_delay_seconds": 60, "jitter": "equal",
            "give_up_after_seconds": 900, "break_after_instant_failures": 3,
        },
    });
    Some(match (method, route) {
        ("POST", "/v1/jobs") | ("PATCH", _) => job,
        ("POST", "/v1/jobs/batch") => json!({"jobs": [job, {"target": {"noop": {}}}]}),
        ("POST", "/v1/schedules/preview") => {
            json!({"schedule": {"every_seconds": 60, "start_at": at(5), "end_at": at(500)}, "from": at(0), "count": 3})
        }
        ("POST", "/v1/keys") => json!({"name": "n", "role": "viewer", "tenant": "other", "idempotency_key": key}),
        ("POST", "/v1/keys/{key_id}/rotate" | "/v1/signing-secret/rotate") => json!({"grace_seconds": 60}),
        ("POST", "/v1/jobs/{job_id}/run" | "/v1/runs/{run_id}/retry") => {
            json!({"payload": {"a": 1}, "idempotency_key": key})
        }
        ("POST", "/v1/operations") => {
            json!({
                "act": "retry", "note": "n", "dry_run": true, "idempotency_key": key,
                "runs": {"tag": "a", "status": "failed", "priority": "low", "from": at(0), "to": at(60)},
            })
        }
        ("POST", "/v1/jobs/{job_id}/backfill") => {
            json!({"from": "2026-11-20T00:00:00Z", "to": "2026-11-21T00:00:00Z", "max_runs": 5, "priority": "high", "note": "n"})
        }
        ("PUT", "/v1/notifications/{notification}") => json!({
            "when": ["failed", "late"], "after_in_a_row": 2, "tags": ["a"], "late_seconds": 9, "digest_seconds": 30,
            "cooldown_seconds": 90, "enabled": true,
            "to": {"webhook": {"url": "https://a.example/hook", "headers": {"x-a": "1"}}},
        }),
        ("PUT", _) => {
            let many = 1_000_000;
            json!({
                "max_jobs": many, "max_fires_per_minute": many, "max_concurrent_runs": 9, "max_requests_per_second": many,
                "max_catch_up_per_minute": 9, "retention_days": 9,
            })
        }
        ("POST", _) => json!({}),
        _ => return None,
    })
}

struct Hostile {
    random: Random,
    ids: Vec<String>,
}

impl Hostile {
    /// Something that a field does not expect.
    fn value(&mut self, depth: usize) -> Value {
        let number = self.random.number();
        match self.random.below(if depth == 0 { 9 } else { 11 }) {
            0 => Value::Null,
            1 => json!(number.is_multiple_of(2)),
            2 => json!(i64::from_be_bytes(number.to_be_bytes())),
            3 => json!(f64::from_bits(number)),
            4 => self
                .random
                .pick(&[json!(0), json!(-1), json!(1), json!(0.5), json!(1e300), json!(u64::MAX), json!(i64::MIN)])
                .clone(),
            5 => {
                let words =
                    ["", " ", "\0", "\u{202e}", "é", "a\nb", "null", "0", "default", "other", "../..", "%2e", "é"];
                json!(self.random.pick(&words))
            }
            6 => {
                let words = [
                    "9999-12-31T23:59:59Z",
                    "1970-01-01T00:00:00Z",
                    "* * * * *",
                    "0 0 29 2 *",
                    "UTC",
                    "Africa/Casablanca",
                    "http://[::1]",
                    "viewer",
                    "GET",
                ];
                json!(self.random.pick(&words))
            }
            7 => json!("x".repeat(1 << self.random.below(12))),
            8 => json!(self.random.pick(&self.ids)),
            9 => Value::Array((0..self.random.below(4)).map(|_| self.value(depth - 1)).collect()),
            _ => {
                let names = ["", "a", "http", "noop", "at", "cron", "payload", "a/b~c", "é", "__proto__"];
                let fields =
                    (0..self.random.below(4)).map(|_| ((*self.random.pick(&names)).to_owned(), self.value(depth - 1)));
                Value::Object(fields.collect::<Map<_, _>>())
            }
        }
    }

    /// Changes one place of it.
    fn bend(&mut self, value: &mut Value) {
        match value {
            Value::Object(fields) if !fields.is_empty() && !self.random.one_in(8) => {
                let place = self.random.below(fields.len());
                let name = fields.keys().nth(place).unwrap().clone();
                match self.random.below(8) {
                    0 => drop(fields.remove(&name)),
                    1 => drop(fields.insert(format!("{name}s"), json!(1))),
                    2 => {
                        let random = self.value(2);
                        fields.insert(name, random);
                    }
                    _ => self.bend(&mut fields[&name]),
                }
            }
            Value::Array(items) if !items.is_empty() && !self.random.one_in(8) => {
                let place = self.random.below(items.len());
                self.bend(&mut items[place]);
            }
            value => *value = self.value(3),
        }
    }

    fn body(&mut self, method: &str, route: &str) -> Vec<u8> {
        let key = format!("k{}", self.random.below(500));
        let Some(mut body) = good_body(method, route, &key) else {
            return if self.random.one_in(4) { self.noise() } else { Vec::new() };
        };
        match self.random.below(8) {
            0 => self.noise(),
            1 => {
                let mut bytes = body.to_string().into_bytes();
                for _ in 0..=self.random.below(3) {
                    let place = self.random.below(bytes.len());
                    match self.random.below(3) {
                        0 => bytes.truncate(place.max(1)),
                        1 => bytes[place] = u8::try_from(self.random.below(256)).unwrap(),
                        _ => bytes.insert(place, *self.random.pick(b"\"{}[],:\\0e-\x00\xff")),
                    }
                }
                bytes
            }
            2 => self.value(4).to_string().into_bytes(),
            _ => {
                for _ in 0..self.random.below(4) {
                    self.bend(&mut body);
                }
                body.to_string().into_bytes()
            }
        }
    }

    fn noise(&mut self) -> Vec<u8> {
        (0..self.random.below(64)).map(|_| u8::try_from(self.random.below(256)).unwrap()).collect()
    }

    fn fitting(&mut self, route: &str) -> String {
        let kinds = ["job_", "run_", "key_"];
        let kind = kinds.into_iter().find(|kind| route.contains(&format!("{{{kind}id}}"))).unwrap_or_default();
        let there: Vec<_> = self.ids.iter().filter(|id| id.starts_with(kind)).cloned().collect();
        self.random.pick(if there.is_empty() { &self.ids } else { &there }).clone()
    }

    fn path(&mut self, route: &str) -> String {
        let id = match self.random.below(6) {
            0 => percent(&self.noise()),
            1 => "..%2f..".to_owned(),
            2 => self.random.pick(&self.ids).clone(),
            _ => self.fitting(route),
        };
        let id = if route.contains("{tenant}") && !self.random.one_in(4) { "other".to_owned() } else { id };
        let path = address(route, if id.is_empty() { "x" } else { &id });
        let names = [
            "limit", "cursor", "tag", "status", "priority", "name", "owner", "job_id", "from", "to", "count",
            "minutes", "tenant", "expand", "per_job", "x",
        ];
        let values = [
            "",
            "0",
            "1",
            "1000",
            "1001",
            "-1",
            "active",
            "succeeded",
            "failed",
            "health",
            "waiting",
            "high",
            "a",
            "other",
            "%00",
            "%ff",
            "%zz",
            "1970-01-01T00:00:00Z",
            "9999-12-31T23:59:59.999Z",
            "2027-01-15T08:00:00Z",
            "zzzzzzzzzzzzzzzzzzzzzzzz",
        ];
        let query: Vec<_> = (0..self.random.below(4))
            .map(|_| {
                let value = if self.random.one_in(5) {
                    self.random.pick(&self.ids).clone()
                } else {
                    (*self.random.pick(&values)).to_owned()
                };
                format!("{}={value}", self.random.pick(&names))
            })
            .collect();
        if query.is_empty() || self.random.one_in(2) { path } else { format!("{path}?{}", query.join("&")) }
    }

    async fn ask(&mut self, world: &World, method: &str, route: &str) -> (String, Answer) {
        let (path, body) = (self.path(route), self.body(method, route));
        let key = if self.random.one_in(8) { OTHER_KEY } else { ACME_KEY };
        let mut builder = request(method, &path, key);
        if !self.random.one_in(12) {
            builder = builder.header("content-type", "application/json");
        }
        for name in ["idempotency-key", "if-match"] {
            if self.random.one_in(6) {
                let value = self.random.pick(&["k", "\"1\"", "*", "", "W/\"1\"", "é"]);
                builder = builder.header(name, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
        }
        let told = format!("{method} {path} {}", String::from_utf8_lossy(&body));
        (told, world.send(builder.body(Body::from(body)).unwrap()).await)
    }
}

impl Hostile {
    /// What was made last is spoken of next: what is there longer was deleted.
    fn remember(&mut self, answer: &Answer) {
        for field in ["job_id", "run_id", "key_id"] {
            if let Some(id) = serde_json::from_str::<Value>(&answer.text)
                .ok()
                .and_then(|json| Some(json.get(field)?.as_str()?.to_owned()))
            {
                self.ids.push(id);
            }
        }
        let more = self.ids.len().saturating_sub(40);
        self.ids.drain(..more);
    }
}

fn percent(bytes: &[u8]) -> String {
    bytes.iter().take(24).fold(String::new(), |path, byte| path + &format!("%{byte:02x}"))
}

async fn inhabited() -> (World, Vec<String>) {
    let world = World::new();
    let mut ids = Vec::new();
    for schedule in [json!({"every_seconds": 60}), json!({"on_demand": true}), json!({"after_seconds": 5}), json!({})] {
        let job = world.job_of(json!({"schedule": schedule, "retry": {"max_retries": 0}})).await;
        ids.push(world.run_of(&job).await);
        ids.extend(world.get(&format!("/v1/jobs/{job}")).await.field("/next_run_id").as_str().map(ToOwned::to_owned));
        ids.push(job);
    }
    world
        .work(|_, run| {
            if run.fence % 2 == 0 {
                crate::world::succeeded()
            } else {
                crate::world::failed(minutehand_domain::run::ErrorCode::Dns)
            }
        })
        .await;
    for role in ["viewer", "operator"] {
        ids.push(world.post("/v1/keys", json!({"name": role, "role": role})).await.word("/key_id"));
    }
    ids.push(world.get("/v1/jobs?limit=1").await.word("/next_cursor"));
    ids.push(world.get("/v1/runs?limit=1").await.word("/next_cursor"));
    (world, ids)
}

#[tokio::test]
async fn whatever_is_sent_is_answered_as_it_is_described() {
    let (world, ids) = inhabited().await;
    let described = Described::read(&world).await;
    let mut hostile = Hostile { random: Random::of(20_261_120), ids };
    let mut routes: Vec<(&str, &str)> = ROUTES.iter().map(|(method, route, _)| (*method, *route)).collect();
    routes.extend(OPEN);
    let mut met = BTreeMap::<u16, u32>::new();
    for number in 0..REQUESTS {
        let (method, route) = *hostile.random.pick(&routes);

        let (told, answer) = hostile.ask(&world, method, route).await;

        if let Err(why) = well_answered(&described, method, route, &answer) {
            panic!("request {number}, {told}: {why}");
        }
        if matches!(answer.status.as_u16(), 201 | 202) {
            hostile.remember(&answer);
        }
        *met.entry(answer.status.as_u16()).or_default() += 1;
        if number % 500 == 0 {
            world.pass(7);
        }
    }

    for status in [200, 201, 202, 204, 400, 403, 404, 409, 412, 415, 422] {
        let met = met.get(&status).copied().unwrap_or_default();
        assert!(met >= 5, "{status} was answered {met} times only: {met:?}");
    }
}

/// Removed (`take` in `WorkflowRequest::checked`): what was meant is looked for of each edge, among all keys. Five thousand edges took a minute and more of one
/// thread, and a whole body four times as many.
#[tokio::test]
async fn of_thousands_of_edges_that_lead_nowhere_a_few_are_told_of() {
    let world = World::new();
    let key = |number: usize| format!("{}{number}", "k".repeat(60));
    let nowhere: Vec<String> = (0..5000).map(|number| format!("{}{number}", "q".repeat(36))).collect();
    let target = json!({"noop": {}});
    let others = (0..998).map(|number| json!({"key": key(number), "target": target}));
    let tasks: Vec<Value> = others.chain([json!({"key": "last", "target": target, "depends_on": nowhere})]).collect();

    let begun = std::time::Instant::now();
    let answer = world.post("/v1/workflows", json!({"name": "x", "tasks": tasks})).await;

    assert!(begun.elapsed() < std::time::Duration::from_secs(15), "{:?}", begun.elapsed());
    assert_eq!(answer.problem(422, "invalid").len(), 21, "{}", answer.text);
}
