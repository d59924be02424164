//! Runs, from the command line.

use std::io::{BufRead as _, BufReader};
use std::process::Child;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::command::{Here, ended, text};

/// Nobody listens there: the port needs a privilege that no test has.
const NOBODY: &str = "http://127.0.0.1:1/";

fn job(here: &Here, words: &[&str]) -> String {
    text(&here.json(&[&["jobs", "create", "--on-demand"], words].concat()), "job_id")
}

#[test]
fn who_waits_for_a_run_learns_how_it_ended() {
    let here = Here::start();
    let (good, bad) = (job(&here, &["--noop"]), job(&here, &["--url", NOBODY, "--retries=0"]));

    let succeeded = here.run(&["jobs", "run", &good, "--wait"]);
    let failed = here.run(&["jobs", "run", &bad, "--wait", "--payload=[1]", "--json"]);

    assert_eq!(succeeded.code, 0, "{succeeded:?}");
    assert!(succeeded.says("Status", "succeeded"), "{succeeded:?}");
    assert_eq!(failed.code, 5, "{failed:?}");
    assert_eq!((&failed.json()["status"], &failed.json()["payload"]), (&json!("failed"), &json!([1])));
    assert!(failed.stderr.starts_with("minutehand: the run ended as failed: connect: "), "{failed:?}");
}

/// What was waited for says nothing of what lies beyond it, so whoever asked for it has to.
#[test]
fn a_backfill_that_was_waited_for_says_where_the_next_one_begins() {
    let here = Here::start();
    let job = text(&here.json(&["jobs", "create", "--noop", "--cron=0 * * * *"]), "job_id");

    let cut = here.ok(&["backfill", &job, "--from=3h", "--max-runs=1", "--wait"]);
    let whole = here.ok(&["backfill", &job, "--from=3h", "--wait"]);

    assert!(cut.stderr.contains("There are more: --from "), "{cut:?}");
    assert!(!whole.stderr.contains("There are more"), "{whole:?}");
}

#[test]
fn what_failed_is_run_again_and_names_what_it_is_a_retry_of() {
    let here = Here::start();
    let job = job(&here, &["--url", NOBODY, "--retries=0"]);
    let old = text(&here.run(&["jobs", "run", &job, "--wait", "--json"]).json(), "run_id");
    here.ok(&["jobs", "update", &job, "--noop"]);

    let retried = here.ok(&["runs", "retry", &old, "--payload={\"corrected\": true}", "--wait", "--json"]).json();

    assert_eq!((&retried["status"], &retried["redrive_of"]), (&json!("succeeded"), &json!(old)));
    assert_eq!(retried["payload"], json!({"corrected": true}));
    assert_eq!(here.run(&["runs", "retry", &text(&retried, "run_id")]).code, 1, "a success is not retried");
}

#[test]
fn runs_are_listed_by_their_job_and_their_state() {
    let here = Here::start();
    let (good, bad) = (job(&here, &["--noop"]), job(&here, &["--url", NOBODY, "--retries=0"]));
    here.run(&["jobs", "run", &good, "--wait"]);
    here.run(&["jobs", "run", &bad, "--wait"]);

    let jobs = |words: &[&str]| {
        let page = here.json(&[&["runs", "list"], words].concat());
        page["items"].as_array().expect("items").iter().map(|run| text(run, "job_id")).collect::<Vec<_>>()
    };

    assert_eq!(jobs(&["--job", &good]), std::slice::from_ref(&good));
    assert_eq!(jobs(&["--status=failed"]), [bad]);
    assert_eq!(jobs(&["--from=1h", "--all"]).len(), 2);
    assert_eq!(jobs(&["--from=2h", "--to=1h"]).len(), 0);
    assert_eq!(here.ok(&["runs", "list", "--job", &good, "--to=1h"]).stdout, "No runs.\n");
}

#[test]
fn a_run_shows_its_attempts_and_its_events() {
    let here = Here::start();
    let job = job(&here, &["--url", NOBODY, "--retries=0"]);
    let run = text(&here.run(&["jobs", "run", &job, "--wait", "--json"]).json(), "run_id");

    let shown = here.ok(&["runs", "show", &run]);
    let events = here.ok(&["runs", "events", &run]);

    assert!(shown.says("Run", &run) && shown.says("Status", "failed") && shown.says("Origin", "manual"), "{shown:?}");
    assert!(shown.stdout.contains("\nATTEMPT  OUTCOME"), "{shown:?}");
    assert!(events.stdout.starts_with("AT ") && events.stdout.contains("attempt_failed"), "{events:?}");
}

#[test]
fn a_run_that_waits_is_cancelled_once() {
    let here = Here::start();
    let job = here.json(&["jobs", "create", "--noop", "--after=1h"]);
    let run = text(&job, "next_run_id");

    let cancelled = here.ok(&["runs", "cancel", &run]);
    let followed = here.run(&["runs", "tail", &run]);

    assert!(cancelled.says("Status", "cancelled"), "{cancelled:?}");
    assert_eq!(followed.code, 5, "{followed:?}");
    assert!(followed.stdout.contains(&format!("{run}  cancelled")), "{followed:?}");
}

#[test]
fn a_run_is_followed_to_its_end() {
    let here = Here::start();
    let job = here.json(&["jobs", "create", "--noop", "--after=1s"]);
    let run = text(&job, "next_run_id");

    let followed = here.ok(&["runs", "tail", &run, "--json"]);

    let states: Vec<String> = lines(&followed.stdout).map(|run| text(&run, "status")).collect();
    assert_eq!(states.last().map(String::as_str), Some("succeeded"), "{states:?}");
    assert!(states.windows(2).all(|pair| pair[0] != pair[1]), "each change once: {states:?}");
}

#[test]
fn runs_are_followed_until_ctrl_c_each_change_once() {
    let here = Here::start();
    let (job, other) = (job(&here, &["--noop"]), job(&here, &["--noop"]));
    here.ok(&["jobs", "run", &job, "--wait"]);
    let mut tail = Tail::start(&here, &["runs", "tail", "--job", &job, "--json"]);
    let before = tail.next();

    let run = text(&here.json(&["jobs", "run", &job]), "run_id");
    here.ok(&["jobs", "run", &other]);
    let after = tail.until(&run, "succeeded");
    let (code, rest) = tail.interrupted();

    assert_eq!(text(&before, "status"), "succeeded", "what was there is shown first");
    assert!(after.iter().chain(&rest).all(|change| change["job_id"] == json!(job)));
    assert_eq!(rest, Vec::<Value>::new(), "nothing is told twice");
    assert_eq!(code, 0, "whoever has seen enough has not failed");
}

#[test]
fn a_server_that_is_away_for_a_moment_is_waited_for() {
    let data = tempfile::tempdir().expect("a directory");
    // An address of its own: nobody takes the port while it is away.
    let first = Here::keeping(data.path(), "127.77.0.1:0");
    let (address, job) = (first.address(), job(&first, &["--noop"]));
    first.ok(&["jobs", "run", &job, "--wait"]);
    let mut tail = Tail::start(&first, &["runs", "tail", "--json"]);
    tail.next();

    first.kill();
    // The follower looks at least once while nobody is there.
    std::thread::sleep(Duration::from_millis(1_200));
    let second = Here::keeping(data.path(), &address);
    let run = text(&second.json(&["jobs", "run", &job]), "run_id");

    tail.until(&run, "succeeded");
    assert_eq!(tail.interrupted().0, 0);
}

fn lines(text: &str) -> impl Iterator<Item = Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON"))
}

/// A command that follows, and is read while it does.
struct Tail {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Tail {
    fn start(here: &Here, words: &[&str]) -> Self {
        let mut child = here.command(words).spawn().expect("the binary under test");
        let lines = BufReader::new(child.stdout.take().expect("piped")).lines();
        Self { child, lines }
    }

    fn next(&mut self) -> Value {
        let line = self.lines.next().expect("one more line").expect("UTF-8");
        serde_json::from_str(&line).expect("JSON")
    }

    /// Everything up to where this run is in this state.
    fn until(&mut self, run: &str, status: &str) -> Vec<Value> {
        let (begin, mut seen) = (Instant::now(), Vec::new());
        while begin.elapsed() < Duration::from_secs(10) {
            let change = self.next();
            let is_it = change["run_id"] == json!(run) && change["status"] == json!(status);
            seen.push(change);
            if is_it {
                return seen;
            }
        }
        panic!("never {status}: {seen:?}");
    }

    /// Ctrl-c, after another look: its exit code, and what it had to say until then.
    fn interrupted(mut self) -> (i32, Vec<Value>) {
        std::thread::sleep(Duration::from_millis(1_200));
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw).expect("a process id");
        kill_process(pid, Signal::INT).expect("it is our child and still there");
        let rest = self.lines.by_ref().map(|line| serde_json::from_str(&line.expect("UTF-8")).expect("JSON")).collect();
        (ended(self.child).code, rest)
    }
}

/// A script that names several goes by the exit code, as one that names a single one does.
#[test]
fn letters_of_which_some_cannot_be_seen_to_are_no_success() {
    let here = Here::start();
    let job = text(&here.json(&["jobs", "create", "--noop", "--on-demand"]), "job_id");
    let done = text(&here.json(&["jobs", "run", &job, "--wait"]), "run_id");
    let (one, other) = ("run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0", "run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2h0");

    let unknown = here.run(&["dead", "redrive", one, other]);
    let refused = here.run(&["dead", "dismiss", &done, other]);

    assert_eq!((unknown.code, refused.code), (3, 1), "{unknown:?} {refused:?}");
    assert!(refused.stderr.contains("2 of 2 were not"), "{refused:?}");
    assert_eq!(here.run(&["dead", "dismiss", &done]).code, 1);
}
