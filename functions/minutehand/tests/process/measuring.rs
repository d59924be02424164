//! Measuring: what the real process says of itself to Prometheus.

use http::Method;
use serde_json::json;

use crate::client::Client;
use crate::server::Server;
use crate::{create, finished_runs};

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
    let text = metrics(&client).await;

    for line in [
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
    ] {
        assert!(text.lines().any(|other| other == line), "{line}: {text}");
    }
}
