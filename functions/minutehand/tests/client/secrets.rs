//! Secrets and the audit, from the command line.

use std::fs;

use crate::command::{Here, text};

#[test]
fn a_secret_is_set_from_stdin_or_a_file_and_listed_by_its_name() {
    let (here, directory) = (Here::start(), tempfile::tempdir().unwrap());
    let file = directory.path().join("token.txt");
    fs::write(&file, "hunter2\n").unwrap();

    let set = here.fed(&["secrets", "set", "billing-token"], "hunter2\n");
    let again = here.json(&["secrets", "set", "billing-token", "--file", file.to_str().unwrap()]);
    let listed = here.ok(&["secrets", "list"]);
    let deleted = here.ok(&["secrets", "delete", "billing-token"]);

    assert_eq!(set.code, 0, "{set:?}");
    assert!(set.says("Secret", "billing-token") && set.says("Version", "1"), "{set:?}");
    assert_eq!(again["version"], 2);
    assert!(listed.stdout.contains("billing-token") && !listed.stdout.contains("hunter2"), "{listed:?}");
    assert_eq!(deleted.stdout, "billing-token is deleted\n");
    assert_eq!(here.ok(&["secrets", "list"]).stdout, "No secrets.\n");
    assert_eq!(here.run(&["secrets", "delete", "billing-token"]).code, 3);
}

#[test]
fn a_secret_that_is_empty_or_not_a_file_is_refused() {
    let here = Here::start();

    assert_eq!(here.fed(&["secrets", "set", "a"], "\n").code, 1);
    assert_eq!(here.run(&["secrets", "set", "a", "--file", "no-such-file"]).code, 2);
    assert_eq!(here.run(&["secrets", "set", "a", "hunter2"]).code, 2);
}

#[test]
fn a_job_names_a_secret_for_a_header() {
    let here = Here::start();
    here.fed(&["secrets", "set", "billing-token"], "hunter2");

    let words = ["jobs", "create", "--url=http://127.0.0.1:9/", "--secret-header=Authorization: billing-token"];
    let job = here.json(&[&words[..], &["--header=Cookie: a=b", "--on-demand"]].concat());

    let headers = &job["target"]["http"]["headers"];
    assert_eq!(headers["Authorization"]["secret"], "billing-token");
    assert_eq!(headers["Cookie"], "********");
}

#[test]
fn what_admins_did_is_shown_newest_first() {
    let here = Here::start();
    assert_eq!(here.ok(&["audit"]).stdout, "Nothing is on record.\n");
    let key = here.json(&["keys", "create", "ci", "--role=viewer", "--expires-at=2099-01-01T00:00:00Z"]);
    here.fed(&["secrets", "set", "billing-token"], "hunter2");

    let shown = here.ok(&["audit"]);
    let page = here.json(&["audit", "--from=1h", "--limit=1"]);

    let lines: Vec<&str> = shown.stdout.lines().collect();
    assert!(lines[1].contains("secret.set") && lines[1].contains("billing-token"), "{shown:?}");
    assert!(lines[2].contains("key.create") && lines[2].contains(&text(&key, "key_id")), "{shown:?}");
    assert_eq!(page["items"][0]["outcome"], "done");
    assert!(page["next_cursor"].is_string());
    assert!(here.ok(&["keys", "list"]).stdout.contains("2099-01-01 00:00:00Z"));
}
