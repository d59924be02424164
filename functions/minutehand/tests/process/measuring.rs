//! Measuring: what the real process says of itself to Prometheus.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http::Method;
use serde_json::{Value, json};

use crate::client::Client;
use crate::patience::eventually;
use crate::server::Server;
use crate::{SOON, create, finished_runs};

async fn metrics(client: &Client) -> String {
    let answer = client.get("/metrics").await;
    answer.body.as_str().unwrap_or_else(|| panic!("no text: {}", answer.body)).to_owned()
}

/// Removed, one after the other: the executor tells of no call; the API of no repetition; the events are measured into nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_became_of_runs_is_measured() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(data.path());
    let client = server.client();
    let unreachable = json!({ "http": { "url": "http://127.0.0.1:1/" } });

    for _ in 0..2 {
        let job = json!({ "target": { "noop": {} }, "priority": "high" });
        let made = client.ask(Method::POST, "/v1/jobs", Some("once"), Some(&job)).await.unwrap();
        assert!(made.status < 300, "{}", made.body);
    }
    let failing = create(&client, json!({ "target": unreachable, "retry": { "max_retries": 1, "initial_delay_seconds": 1, "backoff": "fixed", "jitter": "none" } })).await;
    let _ended = finished_runs(&client, &failing, 1).await;

    let lines = [
        r#"minutehand_runs_total{status="succeeded"} 1"#,
        r#"minutehand_runs_total{status="failed"} 1"#,
        "minutehand_attempts_total 3",
        r#"minutehand_retries_total{attempt="1",error="connect"} 1"#,
        "minutehand_dead_letters_total 1",
        r#"minutehand_run_lag_seconds_count{priority="high"} 1"#,
        r#"minutehand_run_lag_stage_seconds_count{stage="dispatch"} 2"#,
        r#"minutehand_run_lag_stage_seconds_count{stage="call"} 2"#,
        r#"minutehand_call_seconds_count{outcome="succeeded",target="noop"} 1"#,
        r#"minutehand_call_seconds_count{outcome="failed",target="http"} 2"#,
        r#"minutehand_duplicates_prevented_total{layer="idempotency_key"} 1"#,
        "minutehand_leases_rescued_total 0",
    ];
    let all_of_them = || async {
        let text = metrics(&client).await;
        lines.iter().all(|line| text.lines().any(|other| other == *line)).then_some(())
    };
    eventually(SOON, &format!("{lines:#?}"), all_of_them).await;
}

/// The names of the series that there are, without their values.
async fn series(client: &Client) -> BTreeSet<String> {
    let text = metrics(client).await;
    let named = text.lines().filter(|line| !line.starts_with('#')).filter_map(|line| line.rsplit_once(' '));
    named.map(|(name, _value)| name.to_owned()).collect()
}

/// A tenant with a key of its own, and a hundred jobs each of which runs at once.
async fn a_tenant_works(server: &Server, tenant: &str) {
    let (client, key) = (server.client(), json!({ "name": tenant, "role": "operator", "tenant": tenant }));
    let key = client.post("/v1/keys", key).await.text("secret");
    let jobs: Vec<Value> =
        (0..100).map(|job| json!({ "name": format!("{tenant} {job}"), "target": { "noop": {} } })).collect();
    let made = Client::new(server.address(), Some(&key)).post("/v1/jobs/batch", json!({ "jobs": jobs })).await;
    assert_eq!(made.status, 200, "{}", made.body);
}

async fn have_run(client: &Client, runs: u32) {
    let wanted = format!("minutehand_runs_total{{status=\"succeeded\"}} {runs}");
    let patience = Duration::from_secs(120);
    eventually(patience, &wanted, async || metrics(client).await.lines().any(|line| line == wanted).then_some(()))
        .await;
}

/// Removed: the lag is told apart by priority and nothing else. By tenant it had a hundred series.
#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_jobs_of_a_hundred_tenants_add_no_series_to_those_of_one() {
    let data = tempfile::tempdir().unwrap();
    let server = Server::on(data.path());
    let client = server.client();
    a_tenant_works(&server, "first").await;
    have_run(&client, 100).await;
    let of_one = series(&client).await;

    let tenants = (1..100).map(|number| format!("tenant{number}"));
    stream::iter(tenants).for_each_concurrent(4, async |tenant| a_tenant_works(&server, &tenant).await).await;
    have_run(&client, 10_000).await;

    assert_eq!(series(&client).await, of_one);
}
