//! What others say a cron expression means, asked of the preview: the vectors beside the project's root, where they are
//! there. docs/schedules.md says which of theirs are read otherwise, and why.

use std::fs;
use std::io::Write as _;
use std::path::PathBuf;

use minutehand_domain::Moment;
use serde_json::{Value, json};

use crate::world::World;

/// Fewer questions than these would mean that the test has become empty, not that all is well.
const LEAST_NEXT: usize = 500;
const LEAST_INVALID: usize = 150;

/// A seventh field lists years, as in Quartz and `EventBridge`.
const EXTENSIONS: [&str; 1] = ["* * * * * * *"];

#[tokio::test]
async fn a_preview_fires_where_the_outside_says() {
    let (world, mut asked) = (World::new(), 0);
    for line in vectors("cron-next.jsonl") {
        let schedule = json!({
            "cron": line["expr"], "timezone": line["tz"], "dst_gap": line["dst_gap"], "dst_overlap": line["dst_overlap"],
            "days": if line["days"] == "both" { "both" } else { "either" },
        });
        // Moments begin with 1970.
        let Some(from) = line["from"].as_str().and_then(Moment::parse) else { continue };
        let from = if line["inclusive"] == true { from.just_before() } else { from };
        let expected = line["next"].as_str().and_then(Moment::parse).map(|at| at.to_string());

        let answer = world
            .post("/v1/schedules/preview", json!({"schedule": schedule, "from": from.to_string(), "count": 1}))
            .await;

        asked += 1;
        match expected {
            Some(at) => assert_eq!(answer.field("/fires/0/at"), at, "{line}: {}", answer.text),
            None => assert_eq!(answer.problem(422, "invalid"), ["/schedule/cron"], "{line}"),
        }
    }
    assert!(asked == 0 || asked >= LEAST_NEXT, "only {asked} asked");
}

#[tokio::test]
async fn a_preview_refuses_what_the_outside_refuses() {
    let (world, mut asked) = (World::new(), 0);
    for line in vectors("cron-invalid.jsonl") {
        let answer = world.post("/v1/schedules/preview", json!({"schedule": {"cron": line["expr"]}})).await;

        asked += 1;
        if EXTENSIONS.iter().any(|known| line["expr"] == *known) {
            assert_eq!(answer.status, 200, "{line}");
        } else {
            assert_eq!(answer.problem(422, "invalid"), ["/schedule/cron"], "{line}");
        }
    }
    assert!(asked == 0 || asked >= LEAST_INVALID, "only {asked} asked");
}

fn vectors(name: &str) -> Vec<Value> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors").join(name);
    let Ok(text) = fs::read_to_string(&path) else {
        // Straight to standard error: the harness would swallow what a passing test prints by the macros.
        let _ =
            writeln!(std::io::stderr(), "!!! NOT JUDGED FROM OUTSIDE: there are no vectors at {} !!!", path.display());
        return Vec::new();
    };
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect()
}
