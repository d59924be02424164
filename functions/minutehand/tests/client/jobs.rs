//! Jobs, from the command line.

use serde_json::json;

use crate::command::{Here, text};

#[test]
fn a_job_lives_from_creation_to_its_end() {
    let here = Here::start();
    let job = text(&here.json(&["jobs", "create", "--noop", "--every=1h", "--name=report", "--tag=a"]), "job_id");

    let shown = here.ok(&["jobs", "show", &job]);
    let updated = here.ok(&["jobs", "update", &job, "--cron=0 2 1 * *", "--tz=Europe/Paris", "--retries=0"]);
    let paused = here.ok(&["jobs", "pause", &job]);
    let resumed = here.ok(&["jobs", "resume", &job]);
    let deleted = here.ok(&["jobs", "delete", &job]);

    assert!(shown.says("Job", &job) && shown.says("Schedule", "every 1h") && shown.says("Tags", "a"), "{shown:?}");
    assert!(updated.says("Schedule", "0 2 1 * * Europe/Paris") && updated.says("Retries", "0"), "{updated:?}");
    assert!(updated.says("Name", "report"), "what was not named stays: {updated:?}");
    assert!(paused.says("Status", "paused") && resumed.says("Status", "active"));
    assert_eq!(deleted.stdout, format!("{job} is cancelled\n"));
    assert!(here.ok(&["jobs", "show", &job]).says("Status", "cancelled"));
}

#[test]
fn what_a_job_was_given_beside_the_usual_is_shown() {
    let here = Here::start();
    let create = ["jobs", "create", "--noop", "--cron=30 2 * * *", "--tz=America/New_York"];
    let job = |more: &[&str]| text(&here.json(&[&create[..], more].concat()), "job_id");
    let (plain, other) = (job(&[]), job(&["--days=both", "--dst-gap=skip", "--jitter=5m", "--catch-up=none"]));

    let (plain, other) = (here.ok(&["jobs", "show", &plain]), here.ok(&["jobs", "show", &other]));

    assert!(plain.says("Schedule", "30 2 * * * America/New_York") && !plain.stdout.contains("Catch-up"), "{plain:?}");
    let schedule = "30 2 * * * America/New_York, days both, in a gap skip, up to 5m later";
    assert!(other.says("Schedule", schedule) && other.says("Catch-up", "none"), "{other:?}");
}

#[test]
fn a_change_meant_for_another_generation_is_refused() {
    let here = Here::start();
    let job = text(&here.json(&["jobs", "create", "--noop", "--on-demand"]), "job_id");

    let first = here.run(&["jobs", "update", &job, "--owner=me", "--if-match=1"]);
    let second = here.run(&["jobs", "update", &job, "--owner=you", "--if-match=1"]);

    assert_eq!((first.code, second.code), (0, 1), "{second:?}");
    assert!(second.stderr.starts_with("minutehand: "), "{second:?}");
    assert!(here.ok(&["jobs", "show", &job]).says("Owner", "me"));
}

#[test]
fn the_same_key_makes_one_job() {
    let here = Here::start();
    let create = ["jobs", "create", "--noop", "--after=1h", "--idempotency-key=order-7"];

    let (first, again) = (here.json(&create), here.ok(&[&create[..], &["--json"]].concat()));
    let other = here.run(&["jobs", "create", "--noop", "--after=2h", "--idempotency-key=order-7"]);

    assert_eq!(again.json(), first);
    assert!(again.stderr.contains("earlier request"), "{again:?}");
    assert_eq!(other.code, 1, "{other:?}");
}

#[test]
fn a_job_is_made_from_a_file_and_flags_go_before_it() {
    let here = Here::start();
    let file = r#"{"name": "file", "schedule": {"cron": "@daily"}, "target": {"noop": {}}, "retry": {"backoff": "fixed"},
        "payload": {"n": 1.000000000000000000001}}"#;

    let made = here.fed(&["jobs", "create", "--file=-", "--name=flag", "--on-demand", "--retries=2", "--json"], file);

    let job = made.json();
    assert_eq!((&job["name"], &job["schedule"]), (&json!("flag"), &json!({"on_demand": true})));
    assert_eq!((&job["retry"]["backoff"], &job["retry"]["max_retries"]), (&json!("fixed"), &json!(2)));
    assert!(made.stdout.contains("1.000000000000000000001"), "{made:?}");
}

#[test]
fn a_payload_comes_from_a_file_of_its_own() {
    let here = Here::start();
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("payload.json");
    std::fs::write(&path, r#"{"user": 7}"#).expect("a file");

    let job = here.json(&["jobs", "create", "--noop", "--on-demand", "--payload", &format!("@{}", path.display())]);

    assert_eq!(job["payload"], json!({"user": 7}));
}

#[test]
fn lists_are_filtered_paged_and_followed_to_their_end() {
    let here = Here::start();
    for n in 0..5 {
        let owner = if n < 2 { "us" } else { "them" };
        here.ok(&["jobs", "create", "--noop", "--on-demand", &format!("--name=job {n}"), "--owner", owner, "--tag=t"]);
    }

    let names = |words: &[&str]| {
        let page = here.json(&[&["jobs", "list"], words].concat());
        let items = page["items"].as_array().expect("items").clone();
        (items.iter().map(|job| text(job, "name")).collect::<Vec<_>>(), page["next_cursor"].is_null())
    };
    let (first, is_all) = names(&["--limit=2"]);
    let (all, ends) = names(&["--limit=2", "--all"]);

    assert_eq!((first.len(), is_all), (2, false));
    assert_eq!((all.len(), ends), (5, true));
    assert_eq!(names(&["--owner=us"]).0, ["job 0", "job 1"]);
    assert_eq!(names(&["--name=job 3", "--tag=t", "--status=active", "--priority=normal"]).0, ["job 3"]);
    assert_eq!(here.ok(&["jobs", "list", "--tag=none"]).stdout, "No jobs.\n");
}

/// Removed: the hint names the window beside the cursor. What was said relative to now is another window a moment later, and the cursor was refused.
#[test]
fn a_page_of_a_window_that_is_relative_to_now_says_how_to_get_the_next_one() {
    let here = Here::start();
    let job = here.json(&["jobs", "create", "--noop", "--every", "3600"]);
    for _ in 0..2 {
        here.ok(&["jobs", "run", job["job_id"].as_str().expect("an id")]);
    }

    for (list, window) in [
        (&["fires", "--limit=1"][..], &["--from=1h", "--to=10h"][..]),
        (&["runs", "list", "--limit=1"], &["--from=1h"]),
    ] {
        let page = here.ok(&[list, window].concat());
        let begin = page.stderr.find("--from").expect("the hint says the window");
        let onward: Vec<&str> = page.stderr[begin..].split_whitespace().collect();
        let next = here.ok(&[list, &onward].concat());

        assert_ne!(page.stdout, next.stdout, "{onward:?}");
    }
}

#[test]
fn a_page_says_how_to_get_the_next_one() {
    let here = Here::start();
    for _ in 0..2 {
        here.ok(&["jobs", "create", "--noop", "--on-demand"]);
    }

    let page = here.ok(&["jobs", "list", "--limit=1"]);
    let cursor = page.stderr.trim().rsplit(' ').next().expect("a cursor").to_owned();
    let next = here.ok(&["jobs", "list", "--limit=1", "--cursor", &cursor]);

    assert!(page.stderr.starts_with("there are more: --all, or --cursor "), "{page:?}");
    assert_ne!(page.stdout, next.stdout);
    assert_eq!(next.stderr, "");
}

#[test]
fn what_a_job_fires_next_is_told() {
    let here = Here::start();
    let create = ["jobs", "create", "--noop", "--cron=30 2 * * *", "--tz=Europe/Paris"];
    let job = text(&here.json(&create), "job_id");

    let next = here.ok(&["jobs", "next", &job, "--count=2"]);

    assert!(next.stdout.starts_with("at 02:30 every day, Paris time; in the spring gap at 03:00;"), "{next:?}");
    assert_eq!(next.stdout.matches("T02:30:00+0").count(), 2, "{next:?}");
}
