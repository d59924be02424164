//! Refusals: what is said on stderr, and the exit code that scripts decide by.

use crate::command::{Here, client, run};

#[test]
fn every_wrong_field_is_named() {
    let here = Here::start();

    let done = here.run(&["jobs", "create", "--url=ftp://x", "--cron=61 * * * *", "--timeout=0s"]);

    assert_eq!((done.code, done.stdout.as_str()), (1, ""), "{done:?}");
    let lines: Vec<&str> = done.stderr.lines().collect();
    assert!(lines[0].starts_with("minutehand: "), "{lines:?}");
    for pointer in ["  /timeout_seconds: ", "  /schedule/cron: ", "  /target/http/url: "] {
        assert!(lines[1..].iter().any(|line| line.starts_with(pointer)), "{pointer} in {lines:?}");
    }
}

#[test]
fn a_typo_in_a_file_is_told_with_what_was_meant() {
    let here = Here::start();

    let done = here.fed(&["jobs", "create", "--file=-"], r#"{"target": {"nop": {}}}"#);

    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("  /target/nop: ") && done.stderr.contains("`noop`"), "{done:?}");
}

#[test]
fn exit_codes_say_what_kind_of_no_it_was() {
    let here = Here::start();
    let cases: [(&[&str], i32); 10] = [
        (&["jobs", "show", "job_06gzmvcprnx78eemf65jcaymk0"], 3),
        (&["jobs", "show", "nothing"], 3),
        (&["runs", "show", "nothing"], 3),
        (&["runs", "tail", "nothing"], 3),
        (&["jobs", "list", "--key=a-key-that-nobody-knows"], 4),
        (&["jobs", "list", "--cursor=forged"], 1),
        (&["preview", "not a cron"], 1),
        (&["jobs", "create"], 2),
        (&["jobs", "show", ".."], 2),
        (&["jobs", "update", "job_06gzmvcprnx78eemf65jcaymk0"], 2),
    ];
    for (words, code) in cases {
        let done = here.run(words);
        assert_eq!((done.code, done.stdout.as_str()), (code, ""), "{words:?}: {}", done.stderr);
    }
}

#[test]
fn what_cannot_be_sent_is_refused_before_anybody_is_asked() {
    let cases: [&[&str]; 6] = [
        &["jobs", "create", "--noop", "--file=no-such-file.json"],
        &["jobs", "create", "--noop", "--payload={"],
        &["jobs", "create", "--noop", "--every=soon"],
        &["jobs", "create", "--file=-", "--payload=@-"],
        &["jobs", "list", "--server=localhost"],
        &["jobs", "list", "--key=not\nvisible"],
    ];
    for words in cases {
        let done = run(client("http://127.0.0.1:1", words));
        assert_eq!(done.code, 2, "{words:?}: {done:?}");
    }
}
