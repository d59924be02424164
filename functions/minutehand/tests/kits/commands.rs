//! `minutehand work`: commands of this host, run by the real binary for the real process.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use rustix::process::{Pid, Signal, test_kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::{Client, text};
use crate::patience::eventually;
use crate::server::{KEY, Process, Server, minutehand, signal};

const PATIENCE: Duration = Duration::from_secs(120);

struct Host {
    server: Server,
    client: Client,
    folder: TempDir,
}

/// Each is a handler; `OUT` is a file in the test's own folder.
const COMMANDS: &str = r#"
[command.count]
run = ["/bin/sh", "-c", 'printf "{{\"count\":%d,\"first\":\"%s\"}}\n" "$#" "$1"', "sh", "{a}"]
result = "last_line"

[command.say]
run = ["/bin/sh", "-c", "echo one; echo two >&2; echo '::progress 0.5 saying'; echo '::checkpoint {{\"page\":7}}'"]

[command.read]
run = ["cat"]
result = "last_line"

[command.keep]
run = ["/bin/sh", "-c", "printf '::checkpoint \"'; head -c 20000 /dev/zero | tr '\\0' x; echo '\"'"]

[command.keep_too_much]
run = ["/bin/sh", "-c", "echo '::checkpoint 7'; printf '::checkpoint \"'; head -c 150000 /dev/zero | tr '\\0' x; echo '\"'; test $MINUTEHAND_ATTEMPT -gt 1"]

[command.print]
run = ["/bin/sh", "-c", 'printf "\""; head -c "$1" /dev/zero | tr "\\0" x; echo "\""', "sh", "{bytes}"]
result = "last_line"

[command.done]
run = ["/bin/sh", "-c", "echo 17; echo done"]
result = "last_line"

[command.env]
run = ["/bin/sh", "-c", 'printf "{{\"run\":\"%s\",\"attempt\":%d,\"mode\":\"%s\",\"key\":\"%s\",\"trace\":\"%s\"}}\n" "$MINUTEHAND_RUN" "$MINUTEHAND_ATTEMPT" "$MODE" "$MINUTEHAND_KEY$SECRET" "$TRACEPARENT"']
env = { MODE = "live" }
result = "last_line"

[command.exit]
run = ["/bin/sh", "-c", 'echo "no more paper" >&2; exit "$1"', "sh", "{code}"]
[command.exit.exit]
3 = "fail"
4 = "success"

[command.long]
run = ["/bin/sh", "-c", 'sleep 600 & echo $$ $! > "$1/pids.tmp"; mv "$1/pids.tmp" "$1/pids"; wait', "sh", "{folder}"]
kill_grace_seconds = 1

[command.limited]
run = ["sleep", "600"]
time_limit_seconds = 1

[command.twice]
run = ["/bin/sh", "-c", 'test "$MINUTEHAND_ATTEMPT" -gt 1 || sleep 600']
kill_grace_seconds = 1

[command.short]
run = ["/bin/sh", "-c", 'touch "$1/begun"; sleep 2', "sh", "{folder}"]
"#;

#[tokio::test(flavor = "multi_thread")]
async fn exit_codes_are_outcomes_and_the_last_line_may_be_the_result() {
    let host = Host::start();
    let _worker = host.works();
    let (done, failed, tried_again) = tokio::join!(
        host.over("exit", json!({ "code": 4 }), 0),
        host.over("exit", json!({ "code": 3 }), 3),
        host.over("exit", json!({ "code": 9 }), 1),
    );

    assert_eq!((&done["status"], &done["result"]), (&json!("succeeded"), &json!({ "exit_code": 4 })), "{done}");
    let error = json!({ "code": "exit_3", "message": "exit code 3: no more paper", "retryable": false });
    assert_eq!((outcomes(&failed), &failed["attempts"][0]["error"]), (vec!["failed".to_owned()], &error), "{failed}");
    assert_eq!(outcomes(&tried_again), ["failed", "failed"], "{tried_again}");
    let read = host.over("read", json!({ "n": 1.50 }), 0).await;
    assert_eq!(read["result"], json!({ "n": 1.50 }), "{read}");
    let words = host.over("done", json!({}), 0).await;
    assert_eq!(
        (&words["status"], &words["result"]),
        (&json!("succeeded"), &Value::Null),
        "the last line is no JSON: {words}"
    );
}

/// Removed: a line of 20,000 characters is one. It was two, of which neither is JSON: nothing was kept, and the result was none.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_line_is_one_checkpoint_or_one_result() {
    let host = Host::start();
    let _worker = host.works();
    let long = json!("x".repeat(20_000));

    let (kept, read) = tokio::join!(host.over("keep", json!({}), 0), host.over("read", long.clone(), 0));

    assert_eq!((&kept["checkpoint"], &read["result"]), (&long, &long));
}

/// Removed: what no variable has room for is no checkpoint. The second attempt failed for good before it began.
#[tokio::test(flavor = "multi_thread")]
async fn a_checkpoint_that_the_next_attempt_could_not_be_given_is_not_kept() {
    let host = Host::start();
    let _worker = host.works();

    let run = host.over("keep_too_much", json!({}), 1).await;

    assert_eq!(
        (outcomes(&run), &run["checkpoint"]),
        (vec!["failed".to_owned(), "succeeded".to_owned()], &json!(7)),
        "{run}"
    );
    let logs = host.client.get(&format!("/v1/runs/{}/logs", text(&run, "run_id"))).await.body;
    assert!(logs.to_string().contains("more than 120 KiB"), "{logs}");
}

/// Removed: a line that is longer than a result may be is none. The server refused it, and the run failed for good, though its command had done its work.
#[tokio::test(flavor = "multi_thread")]
async fn a_last_line_that_is_longer_than_a_result_is_none() {
    let host = Host::start();
    let _worker = host.works();
    let printed = async |bytes: usize| host.over("print", json!({ "bytes": bytes }), 0).await;

    let (fits, too_long, several) = tokio::join!(printed(262_000), printed(300_000), printed(400_000));

    assert_eq!(fits["result"], json!("x".repeat(262_000)));
    for run in [too_long, several] {
        assert_eq!((&run["status"], &run["result"]), (&json!("succeeded"), &Value::Null), "{}", run["attempts"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_command_writes_is_the_log_of_its_run() {
    let host = Host::start();
    let _worker = host.works();

    let said = host.over("say", json!({}), 0).await;

    let logs = host.client.get(&format!("/v1/runs/{}/logs", text(&said, "run_id"))).await.body;
    let mut lines: Vec<_> = logs["items"].as_array().expect("lines").iter().map(|line| text(line, "line")).collect();
    lines.sort();
    assert_eq!(lines, ["one", "two"], "{logs}");
    assert_eq!((&said["progress"], &said["stage"]), (&json!(0.5), &json!("saying")), "{said}");
    assert_eq!(said["checkpoint"], json!({ "page": 7 }), "{said}");
}

/// A command gets what the file says, and nothing else of the worker's environment.
#[tokio::test(flavor = "multi_thread")]
async fn a_command_is_not_given_the_workers_key() {
    let host = Host::start();
    let _worker = host.works();

    let run = host.over("env", json!({}), 0).await;

    let trace = &run["result"]["trace"];
    let seen = json!({ "run": run["run_id"], "attempt": 1, "mode": "live", "key": "", "trace": trace });
    assert!(text(&run["result"], "trace").contains(&*text(&run["trace"], "trace_id")), "{run}");
    assert_eq!(run["result"], seen, "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_payload_adds_no_argument_no_option_and_no_word_of_a_shell() {
    let host = Host::start();
    let _worker = host.works();
    let (words, shell, option, missing) = tokio::join!(
        host.over("count", json!({ "a": "x y 'z'" }), 0),
        host.over("count", json!({ "a": "$(id);`id`" }), 0),
        host.over("count", json!({ "a": "-rf" }), 3),
        host.over("count", json!({ "b": 1 }), 3),
    );

    assert_eq!(words["result"], json!({ "count": 1, "first": "x y 'z'" }), "{words}");
    assert_eq!(shell["result"], json!({ "count": 1, "first": "$(id);`id`" }), "{shell}");
    assert_eq!(outcomes(&option), ["failed"], "{option}");
    assert_eq!(option["attempts"][0]["error"]["code"], "bad_parameter", "{option}");
    assert_eq!(missing["attempts"][0]["error"]["code"], "missing_parameter", "{missing}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_takes_too_long_is_ended() {
    let host = Host::start();
    let _worker = host.works();

    let run = host.over("limited", json!({}), 0).await;

    assert_eq!(run["attempts"][0]["error"]["code"], "time_limit", "{run}");
}

/// The command and what it started in the background. Tried: with signals to the guard alone both go on.
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_run_takes_the_whole_process_group_with_it() {
    let host = Host::start();
    let _worker = host.works();
    let run = host.begins("long", json!({ "folder": host.path() }), 0).await;
    let pids = host.pids().await;

    host.client.post(&format!("/v1/runs/{run}/cancel"), json!({})).await;

    gone(&pids).await;
    assert_eq!(host.ended(&run).await["status"], "cancelled");
}

/// `kill -9` of the worker. Tried: a guard that does not kill its group at the end of its life line leaves both.
#[tokio::test(flavor = "multi_thread")]
async fn commands_die_with_a_worker_that_is_killed() {
    let host = Host::start();
    let worker = host.works();
    host.begins("long", json!({ "folder": host.path() }), 0).await;
    let pids = host.pids().await;

    signal(worker.pid(), Signal::KILL);

    gone(&pids).await;
}

/// Of a job that is never tried again after a failure.
#[tokio::test(flavor = "multi_thread")]
async fn sigterm_drains_what_ends_and_hands_back_what_does_not() {
    let host = Host::start();
    let worker = host.works();
    let short = host.begins("short", json!({ "folder": host.path() }), 0).await;
    let long = host.begins("twice", json!({}), 0).await;
    host.there("begun").await;
    host.running(&long).await;

    signal(worker.pid(), Signal::TERM);
    let ended = worker.ended(PATIENCE);

    assert!(ended.status.success(), "{ended:?}");
    let (short, long) = (host.seen(&short).await, host.seen(&long).await);
    assert_eq!(short["status"], "succeeded", "{short}");
    assert_eq!(long["status"], "queued", "{long}");
    let _next = host.works();
    let over = host.ended(&text(&long, "run_id")).await;
    assert_eq!(
        (&over["status"], outcomes(&over)),
        (&json!("succeeded"), vec!["lost".to_owned(), "succeeded".to_owned()])
    );
}

#[test]
fn a_file_is_looked_at_before_anything_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let check = |text: &str| {
        let file = folder.path().join("commands.toml");
        fs::write(&file, text).unwrap();
        let mut command = minutehand();
        command.args(["work", "--pool", "web1", "--check", "--commands"]).arg(file);
        Process::start(command).ended(PATIENCE)
    };

    let (good, bad) = (check(COMMANDS), check("[command.a]\nrun = [\"x\", \"{a\"]"));

    assert!(good.status.success() && good.stdout.contains("exit codes 3 fail, 4 success, 0 success"), "{good:?}");
    assert_eq!(bad.status.code(), Some(2), "{bad:?}");
    assert!(bad.stderr.contains("command \"a\"") && bad.stderr.contains("has no end"), "{bad:?}");
}

impl Host {
    fn start() -> Self {
        let mut command = minutehand();
        command.args(["serve", "--listen", "127.0.0.1:0", "--memory"]).env("MINUTEHAND_KEY", KEY);
        let server = Server::started(command);
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("commands.toml"), COMMANDS).expect("it can be written");
        Self { client: server.client(), server, folder }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn works(&self) -> Process {
        let mut command: Command = minutehand();
        command.args(["work", "--pool", "host", "--slots", "8", "--lease-seconds", "10", "--drain-seconds", "15"]);
        command.arg("--server").arg(format!("http://{}", self.server.address()));
        command.arg("--commands").arg(self.path().join("commands.toml"));
        command.env("MINUTEHAND_KEY", KEY).env("SECRET", "of the worker");
        Process::start(command)
    }

    /// A run of a new job that is tried again so often.
    async fn begins(&self, handler: &str, payload: Value, retries: u32) -> String {
        let job = json!({
            "schedule": { "on_demand": true }, "target": { "worker": { "pool": "host", "handler": handler } },
            "payload": payload, "timeout_seconds": 900, "retry": { "max_retries": retries, "initial_delay_seconds": 1 },
        });
        let job = self.client.post("/v1/jobs", job).await;
        assert_eq!(job.status, 201, "{}", job.body);
        self.client.post(&format!("/v1/jobs/{}/run", job.text("job_id")), json!({})).await.text("run_id")
    }

    async fn over(&self, handler: &str, payload: Value, retries: u32) -> Value {
        let run = self.begins(handler, payload, retries).await;
        self.ended(&run).await
    }

    async fn seen(&self, run: &str) -> Value {
        self.client.get(&format!("/v1/runs/{run}")).await.body
    }

    async fn ended(&self, run: &str) -> Value {
        let is_over = || async {
            let seen = self.seen(run).await;
            ["succeeded", "failed", "timed_out", "cancelled"].contains(&seen["status"].as_str()?).then_some(seen)
        };
        eventually(PATIENCE, &format!("{run} is over"), is_over).await
    }

    async fn running(&self, run: &str) {
        let is_running = || async { (self.seen(run).await["status"] == "running").then_some(()) };
        eventually(PATIENCE, "it runs", is_running).await;
    }

    /// Waits for a file that a command makes.
    async fn there(&self, file: &str) -> String {
        let read = || async { fs::read_to_string(self.path().join(file)).ok() };
        eventually(PATIENCE, file, read).await
    }

    async fn pids(&self) -> Vec<Pid> {
        let pids = self.there("pids").await;
        pids.split_whitespace().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)).collect()
    }
}

async fn gone(pids: &[Pid]) {
    assert_eq!(pids.len(), 2);
    let are_gone = || async { pids.iter().all(|pid| is_gone(*pid)).then_some(()) };
    eventually(PATIENCE, "they are gone", are_gone).await;
}

/// Also one that nobody has waited for yet.
fn is_gone(pid: Pid) -> bool {
    let state = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_pid())).unwrap_or_default();
    test_kill_process(pid).is_err() || state.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z'))
}

fn outcomes(run: &Value) -> Vec<String> {
    let attempts = run["attempts"].as_array().expect("attempts");
    attempts.iter().filter_map(|attempt| attempt["outcome"].as_str().map(str::to_owned)).collect()
}
