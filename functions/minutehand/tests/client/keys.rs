//! Keys, from the command line.

use crate::command::{Done, Here, run, text};

/// The command as somebody with another key runs it.
fn with(here: &Here, key: &str, words: &[&str]) -> Done {
    let mut command = here.command(words);
    command.env("MINUTEHAND_KEY", key);
    run(command)
}

#[test]
fn a_key_may_do_what_its_role_may() {
    let here = Here::start();
    let viewer = text(&here.json(&["keys", "create", "dashboard", "--role=viewer"]), "secret");
    let operator = text(&here.json(&["keys", "create", "ci", "--role=operator"]), "secret");
    let create = ["jobs", "create", "--noop", "--on-demand"];

    assert_eq!(with(&here, &viewer, &["jobs", "list"]).code, 0);
    assert_eq!(with(&here, &viewer, &create).code, 4);
    assert_eq!(with(&here, &operator, &create).code, 0);
    assert_eq!(with(&here, &operator, &["keys", "list"]).code, 4);
}

#[test]
fn a_secret_is_shown_once() {
    let here = Here::start();
    let create = ["keys", "create", "ci", "--role=viewer", "--idempotency-key=k"];

    let (made, again) = (here.ok(&create), here.ok(&create));
    let listed = here.ok(&["keys", "list"]);

    assert!(made.stdout.contains("Secret   mh_default_") && made.stderr.contains("this once"), "{made:?}");
    for done in [again, listed] {
        assert!(!done.stdout.contains("mh_default_") && !done.stderr.contains("this once"), "{done:?}");
    }
}

#[test]
fn a_revoked_key_is_let_in_no_more() {
    let here = Here::start();
    let key = here.json(&["keys", "create", "ci", "--role=viewer"]);
    let (id, secret) = (text(&key, "key_id"), text(&key, "secret"));

    let revoked = here.ok(&["keys", "revoke", &id]);

    assert_eq!(revoked.stdout, format!("{id} is revoked\n"));
    assert_eq!(with(&here, &secret, &["jobs", "list"]).code, 4);
    assert!(here.json(&["keys", "list"])["items"][0]["revoked_at"].is_string());
    assert_eq!(here.run(&["keys", "revoke", "key_0000000000000000"]).code, 3);
}

#[test]
fn an_old_secret_works_while_its_grace_lasts() {
    let here = Here::start();
    let key = here.json(&["keys", "create", "ci", "--role=viewer"]);
    let (id, first) = (text(&key, "key_id"), text(&key, "secret"));
    let works = |secret: &str| with(&here, secret, &["jobs", "list"]).code == 0;

    let second = text(&here.json(&["keys", "rotate", &id, "--grace=1h"]), "secret");
    assert!(works(&first) && works(&second));
    let third = text(&here.json(&["keys", "rotate", &id, "--grace=0s"]), "secret");
    assert!(!works(&second) && works(&third));
}
