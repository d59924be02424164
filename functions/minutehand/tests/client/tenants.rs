//! What belongs to a tenant: keys of others, limits, the signing secret, numbers.

use serde_json::{Value, json};

use crate::command::{Here, run, text};

#[test]
fn a_tenants_first_key_is_made_by_the_deployments_own() {
    let here = Here::start();
    let acme = here.json(&["keys", "create", "first", "--role=admin", "--tenant=acme"]);
    here.ok(&["jobs", "create", "--noop", "--on-demand"]);
    let as_acme = |words: &[&str]| {
        let mut command = here.command(words);
        command.env("MINUTEHAND_KEY", text(&acme, "secret"));
        run(command)
    };

    assert_eq!(as_acme(&["jobs", "list"]).stdout, "No jobs.\n", "another tenant's jobs are not seen");
    assert_eq!(here.json(&["keys", "list", "--tenant=acme"])["items"][0]["key_id"], acme["key_id"]);
    assert_eq!(as_acme(&["keys", "list", "--tenant=default"]).code, 4);
    here.ok(&["keys", "revoke", &text(&acme, "key_id"), "--tenant=acme"]);
    assert_eq!(as_acme(&["jobs", "list"]).code, 4);
}

#[test]
fn a_limit_that_is_not_named_stays_as_it_is() {
    let here = Here::start();

    here.ok(&["quotas", "set", "acme", "--max-jobs=5", "--max-requests-per-second=50"]);
    here.ok(&[
        "quotas",
        "set",
        "acme",
        "--max-jobs=unlimited",
        "--max-concurrent-runs=2",
        "--max-catch-up-per-minute=30",
        "--retention-days=90",
    ]);

    let limits = here.json(&["quotas", "show", "acme"]);
    let wanted = [Value::Null, json!(50), json!(2), Value::Null, json!(30), json!(90)];
    let fields = [
        "max_jobs",
        "max_requests_per_second",
        "max_concurrent_runs",
        "max_fires_per_minute",
        "max_catch_up_per_minute",
        "retention_days",
    ];
    assert_eq!(fields.map(|field| limits[field].clone()), wanted);
    let ours = here.ok(&["quotas", "show"]);
    assert!(ours.says("Jobs", "unlimited") && ours.says("Made up for per minute", "600, the default"));
    here.ok(&["quotas", "set", "acme", "--max-catch-up-per-minute=default"]);
    assert_eq!(here.json(&["quotas", "show", "acme"])["max_catch_up_per_minute"], Value::Null);
}

#[test]
fn a_quota_that_is_used_up_is_said() {
    let here = Here::start();
    here.ok(&["quotas", "set", "default", "--max-jobs=1"]);
    here.ok(&["jobs", "create", "--noop", "--on-demand"]);

    let second = here.run(&["jobs", "create", "--noop", "--on-demand"]);

    assert_eq!(second.code, 1, "{second:?}");
    assert!(second.stderr.contains("(again in "), "{second:?}");
}

#[test]
fn a_signing_secret_is_shown_when_it_is_made() {
    let here = Here::start();

    let rotated = here.ok(&["signing-secret", "rotate", "--grace=1h"]);
    let shown = here.ok(&["signing-secret", "show"]);

    assert!(rotated.stdout.contains("whsec_") && rotated.stderr.contains("this once"), "{rotated:?}");
    assert!(!shown.stdout.contains("whsec_") && shown.stdout.starts_with("Created "), "{shown:?}");
}

#[test]
fn stats_count_jobs_and_runs() {
    let here = Here::start();
    let job = text(&here.json(&["jobs", "create", "--noop", "--on-demand"]), "job_id");
    here.ok(&["jobs", "run", &job, "--wait"]);

    let stats = here.ok(&["stats", "--minutes=5"]);

    assert!(stats.says("Jobs", "1 active") && stats.says("Runs", "1 succeeded"), "{stats:?}");
    assert_eq!(here.json(&["stats"])["runs"]["succeeded"], json!(1));
}
