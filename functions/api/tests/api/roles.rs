//! Which role may call which route: the whole table, held against the router.

use http::Request;
use serde_json::json;

use crate::world::{ACME_KEY, World};

const ROLES: [&str; 4] = ["viewer", "operator", "admin", "host"];

/// Every route that needs a key, and the least role that may call it.
pub(crate) const ROUTES: [(&str, &str, &str); 101] = [
    ("POST", "/v1/jobs", "operator"),
    ("GET", "/v1/jobs", "viewer"),
    ("POST", "/v1/jobs/batch", "operator"),
    ("GET", "/v1/jobs/{job_id}", "viewer"),
    ("PATCH", "/v1/jobs/{job_id}", "operator"),
    ("DELETE", "/v1/jobs/{job_id}", "operator"),
    ("POST", "/v1/jobs/{job_id}/pause", "operator"),
    ("POST", "/v1/jobs/{job_id}/resume", "operator"),
    ("POST", "/v1/jobs/{job_id}/run", "operator"),
    ("GET", "/v1/jobs/{job_id}/runs", "viewer"),
    ("GET", "/v1/jobs/{job_id}/next", "viewer"),
    ("GET", "/v1/jobs/{job_id}/why", "viewer"),
    ("GET", "/v1/runs", "viewer"),
    ("GET", "/v1/runs/{run_id}", "viewer"),
    ("GET", "/v1/runs/{run_id}/events", "viewer"),
    ("GET", "/v1/runs/{run_id}/logs", "viewer"),
    ("GET", "/v1/runs/{run_id}/why", "viewer"),
    ("GET", "/v1/runs/{run_id}/effects", "viewer"),
    ("POST", "/v1/runs/{run_id}/cancel", "operator"),
    ("POST", "/v1/runs/{run_id}/retry", "operator"),
    ("GET", "/v1/dead-letters", "viewer"),
    ("GET", "/v1/dead-letters/groups", "viewer"),
    ("POST", "/v1/dead-letters/redrive", "operator"),
    ("POST", "/v1/dead-letters/dismiss", "operator"),
    ("POST", "/v1/dead-letters/{run_id}/redrive", "operator"),
    ("POST", "/v1/dead-letters/{run_id}/dismiss", "operator"),
    ("GET", "/v1/workflow-runs", "viewer"),
    ("GET", "/v1/workflow-runs/{run_id}", "viewer"),
    ("GET", "/v1/workflow-runs/{run_id}/tasks", "viewer"),
    ("GET", "/v1/workflow-runs/{run_id}/tasks/{task_key}/branches", "viewer"),
    ("GET", "/v1/workflow-runs/{run_id}/events", "viewer"),
    ("POST", "/v1/workflow-runs/{run_id}/cancel", "operator"),
    ("POST", "/v1/workflow-runs/{run_id}/resume", "operator"),
    ("POST", "/v1/workflow-runs/{run_id}/tasks/{task_key}/branches/held", "operator"),
    ("POST", "/v1/workflow-runs/{run_id}/tasks/{task_key}/approve", "viewer"),
    ("POST", "/v1/workflow-runs/{run_id}/tasks/{task_key}/reject", "viewer"),
    ("POST", "/v1/workflow-runs/{run_id}/tasks/{task_key}/retry", "operator"),
    ("POST", "/v1/workflow-runs/{run_id}/tasks/{task_key}/skip", "operator"),
    ("POST", "/v1/workflow-runs/{run_id}/tasks/{task_key}/succeed", "operator"),
    ("POST", "/v1/workflow-runs/{run_id}/tasks/{task_key}/fail", "operator"),
    ("POST", "/v1/workflows", "operator"),
    ("GET", "/v1/workflows", "viewer"),
    ("GET", "/v1/workflows/{workflow_id}", "viewer"),
    ("PUT", "/v1/workflows/{workflow_id}", "operator"),
    ("DELETE", "/v1/workflows/{workflow_id}", "operator"),
    ("GET", "/v1/workflows/{workflow_id}/versions", "viewer"),
    ("GET", "/v1/workflows/{workflow_id}/versions/{version}", "viewer"),
    ("GET", "/v1/workflows/{workflow_id}/diff", "viewer"),
    ("POST", "/v1/workflows/{workflow_id}/run", "operator"),
    ("GET", "/v1/workflows/{workflow_id}/runs", "viewer"),
    ("POST", "/v1/workflows/{workflow_id}/pause", "operator"),
    ("POST", "/v1/workflows/{workflow_id}/resume", "operator"),
    ("GET", "/v1/fires", "viewer"),
    ("POST", "/v1/schedules/preview", "viewer"),
    ("GET", "/v1/calendars", "viewer"),
    ("GET", "/v1/calendars/{calendar}", "viewer"),
    ("PUT", "/v1/calendars/{calendar}", "operator"),
    ("DELETE", "/v1/calendars/{calendar}", "operator"),
    ("POST", "/v1/calendars/{calendar}/import", "operator"),
    ("POST", "/v1/keys", "admin"),
    ("GET", "/v1/keys", "admin"),
    ("DELETE", "/v1/keys/{key_id}", "admin"),
    ("POST", "/v1/keys/{key_id}/rotate", "admin"),
    ("GET", "/v1/secrets", "operator"),
    ("GET", "/v1/secrets/{secret}", "operator"),
    ("PUT", "/v1/secrets/{secret}", "admin"),
    ("DELETE", "/v1/secrets/{secret}", "admin"),
    ("GET", "/v1/notifications", "viewer"),
    ("GET", "/v1/notifications/{notification}", "viewer"),
    ("PUT", "/v1/notifications/{notification}", "operator"),
    ("DELETE", "/v1/notifications/{notification}", "operator"),
    ("POST", "/v1/notifications/{notification}/test", "operator"),
    ("GET", "/v1/audit", "admin"),
    ("GET", "/v1/signing-secret", "admin"),
    ("POST", "/v1/signing-secret/rotate", "admin"),
    ("GET", "/v1/quotas", "viewer"),
    ("GET", "/v1/quotas/{tenant}", "host"),
    ("PUT", "/v1/quotas/{tenant}", "host"),
    ("DELETE", "/v1/tenants/{tenant}", "host"),
    ("POST", "/v1/repair", "host"),
    ("GET", "/v1/backup", "host"),
    ("GET", "/v1/stats", "viewer"),
    ("GET", "/metrics", "host"),
    ("POST", "/v1/runs/{run_id}/effects", "work"),
    ("POST", "/v1/runs/{run_id}/effects/{effect}", "work"),
    ("POST", "/v1/leases", "work"),
    ("POST", "/v1/leases/complete", "work"),
    ("POST", "/v1/leases/{lease_id}/heartbeat", "work"),
    ("POST", "/v1/leases/{lease_id}/complete", "work"),
    ("POST", "/v1/leases/{lease_id}/fail", "work"),
    ("POST", "/v1/leases/{lease_id}/hand-back", "work"),
    ("GET", "/v1/workers", "viewer"),
    ("GET", "/v1/pools", "viewer"),
    ("GET", "/v1/targets", "viewer"),
    ("POST", "/v1/operations", "operator"),
    ("GET", "/v1/operations", "viewer"),
    ("GET", "/v1/operations/{operation_id}", "viewer"),
    ("POST", "/v1/operations/{operation_id}/pause", "operator"),
    ("POST", "/v1/operations/{operation_id}/resume", "operator"),
    ("POST", "/v1/operations/{operation_id}/cancel", "operator"),
    ("POST", "/v1/jobs/{job_id}/backfill", "operator"),
];

/// Those that need none.
pub(crate) const OPEN: [(&str, &str); 2] = [("GET", "/v1/health"), ("GET", "/openapi.json")];

/// A route's address, with this in the place of an id.
pub(crate) fn address(route: &str, id: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { id.to_owned() } else { part.to_owned() };
    route.split('/').map(part).collect::<Vec<_>>().join("/")
}

/// Whether a key of this role may call what asks for that. To work needs as much as to make jobs.
fn may(role: &str, least: &str) -> bool {
    let rank = |role: &str| ROLES.iter().position(|one| *one == role).unwrap();
    rank(role) >= rank(if least == "work" { "operator" } else { least })
}

/// A key of each role, of one tenant.
pub(crate) async fn keys(world: &World) -> [String; 4] {
    let mut keys = Vec::new();
    for role in &ROLES[..3] {
        let answer = world.post("/v1/keys", json!({"name": role, "role": role})).await;
        keys.push(answer.word("/secret"));
    }
    keys.push(ACME_KEY.to_owned());
    keys.try_into().unwrap()
}

#[tokio::test]
async fn each_route_asks_for_its_role_and_no_more() {
    let world = World::new();
    let keys = keys(&world).await;
    for (method, path, least) in ROUTES {
        for (role, key) in ROLES.iter().zip(&keys) {
            let answer = world.by(key, method, &address(path, "x"), None).await;

            let refused = answer.status.as_u16() == 403;
            assert_eq!(refused, !may(role, least), "{role}: {method} {path}: {}", answer.text);
            assert_ne!(answer.status, 401, "{role}: {method} {path}");
            if refused {
                answer.problem(403, "forbidden");
                let told = [("host", "deployment"), ("work", "worker or operator")]
                    .into_iter()
                    .find(|(word, _)| *word == least);
                assert!(answer.word("/detail").contains(told.map_or(least, |(_, told)| told)));
            }
        }
    }
}

/// Removed: a worker's key counts as a viewer's. It read every tenant's job.
#[tokio::test]
async fn a_workers_key_works_and_can_do_nothing_else() {
    let world = World::new();
    let made = world.post("/v1/keys", json!({"name": "w", "role": "worker", "pools": ["web1"]})).await;
    assert_eq!((made.word("/role"), made.field("/pools")), ("worker".to_owned(), json!(["web1"])));
    let key = made.word("/secret");
    for (method, path, least) in ROUTES {
        let answer = world.by(&key, method, &address(path, "x"), None).await;

        assert_eq!(answer.status.as_u16() == 403, least != "work", "{method} {path}: {}", answer.text);
    }
    let ask = |pool: &str| json!({"pool": pool, "worker_id": "a", "wait_seconds": 0});
    assert_eq!(world.by(&key, "POST", "/v1/leases", Some(ask("web1"))).await.status, 200);
    world.by(&key, "POST", "/v1/leases", Some(ask("web2"))).await.problem(403, "forbidden");
    let listed = world.get("/v1/keys").await;
    assert!(listed.text.contains(r#""role":"worker","pools":["web1"]"#), "{}", listed.text);
}

#[tokio::test]
async fn a_workers_key_names_its_pools_and_no_other_key_does() {
    let world = World::new();
    for (key, at) in [
        (json!({"name": "w", "role": "worker"}), "/pools"),
        (json!({"name": "w", "role": "worker", "pools": []}), "/pools"),
        (json!({"name": "w", "role": "worker", "pools": ["a", "b c"]}), "/pools/1"),
        (json!({"name": "w", "role": "viewer", "pools": ["a"]}), "/pools"),
    ] {
        assert_eq!(world.post("/v1/keys", key).await.problem(422, "invalid"), [at]);
    }
}

#[tokio::test]
async fn without_a_key_nothing_but_health_and_its_own_description_is_told() {
    let world = World::new();
    for (method, path, _) in ROUTES {
        let request =
            Request::builder().method(method).uri(address(path, "x")).body(axum::body::Body::empty()).unwrap();

        let answer = world.send(request).await;

        answer.problem(401, "unauthorized");
        assert_eq!(answer.header("www-authenticate"), "Bearer realm=\"minutehand\"", "{method} {path}");
    }
    for (method, path) in OPEN {
        let request = Request::builder().method(method).uri(path).body(axum::body::Body::empty()).unwrap();
        assert_eq!(world.send(request).await.status, 200, "{method} {path}");
    }
}

/// Nothing of a body is read for whoever may not send it.
#[tokio::test]
async fn who_may_not_is_told_so_before_what_they_say_is_looked_at() {
    let world = World::new();
    let [viewer, ..] = keys(&world).await;
    for body in ["{", "{\"nmae\":1}", ""] {
        let request = crate::world::request("POST", "/v1/jobs", &viewer).header("content-type", "application/json");

        world.send(request.body(body.into()).unwrap()).await.problem(403, "forbidden");
    }
}

/// The document is what clients read: it names these routes and no others.
#[tokio::test]
async fn the_description_names_these_routes_and_no_others() {
    let world = World::new();
    let document = world.get("/openapi.json").await;
    assert_eq!(document.status, 200, "{}", document.text);
    let paths = document.field("/paths");
    let mut described: Vec<(String, String)> = Vec::new();
    for (path, operations) in paths.as_object().unwrap() {
        for method in operations.as_object().unwrap().keys().filter(|key| *key != "parameters") {
            described.push((method.to_uppercase(), address(path, "{}")));
        }
    }
    let mut routes: Vec<_> =
        ROUTES.iter().map(|(method, path, _)| ((*method).to_owned(), address(path, "{}"))).collect();
    routes.extend(OPEN.iter().map(|(method, path)| ((*method).to_owned(), address(path, "{}"))));

    described.sort();
    routes.sort();
    described.retain(|(_, path)| path != "/openapi.json");
    routes.retain(|(_, path)| path != "/openapi.json");
    assert_eq!(described, routes);
}
