//! A command under way: started in a process group of its own, listened to, and ended when its run is to end.

use std::env;
use std::io::Write as _;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, ChildStdin, Command as Process, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use minutehand_client::worker::{Context, NotDone};
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::oneshot;
use tokio::time::sleep;

use super::commands::{Command, Exit, ResultOf};
use super::filled::Fields;
use super::guard::{Order, WORD};
use super::hopeless;
use super::output::{Heard, hear};

/// What of the worker's own environment every command has.
const PASSED: [&str; 3] = ["PATH", "HOME", "LANG"];
/// Linux takes no variable of 128 KiB.
pub(super) const VARIABLE_BYTES: usize = 120 * 1024;
/// What is left of a group is not waited for longer than this.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Started, with who hears it. Dropped, its life line is closed and the guard kills the group.
struct Running {
    group: Option<Pid>,
    ended: oneshot::Receiver<Option<ExitStatus>>,
    stdout: oneshot::Receiver<Heard>,
    stderr: oneshot::Receiver<Heard>,
    _life_line: ChildStdin,
}

/// Why a command was ended that would have gone on.
enum Why {
    TimeLimit(Duration),
    Cancelled,
}

pub(super) async fn run(command: &Command, ctx: &Context) -> Result<Box<RawValue>, NotDone> {
    let mut running = Running::start(&order(command, ctx)?, ctx)?;
    let limit = async {
        match command.time_limit {
            Some(limit) => {
                sleep(limit).await;
                limit
            }
            None => std::future::pending().await,
        }
    };
    let (status, why) = tokio::select! {
        status = &mut running.ended => (status.ok().flatten(), None),
        () = ctx.cancelled() => (running.stop(command.kill_grace).await, Some(Why::Cancelled)),
        limit = limit => (running.stop(command.kill_grace).await, Some(Why::TimeLimit(limit))),
    };
    let heard = running.last_words().await;
    match why {
        Some(Why::Cancelled) => Err(NotDone::Cancelled),
        Some(Why::TimeLimit(limit)) => {
            Err(NotDone::failed("time_limit", &format!("it took longer than {} s", limit.as_secs())))
        }
        None => outcome(command, status, heard, ctx),
    }
}

/// With all parameters filled in, before anything is started.
fn order(command: &Command, ctx: &Context) -> Result<Order, NotDone> {
    let payload = Fields::of(ctx.payload_text())?;
    let arguments = command.arguments.iter().map(|argument| argument.filled(&payload));
    let account = command.user.as_ref();
    let mut env: Vec<(String, String)> = PASSED.into_iter().filter_map(passed).collect();
    env.extend(account.map(|user| ("HOME".to_owned(), user.home.display().to_string())));
    env.extend(command.pass_env.iter().filter_map(|name| passed(name)));
    env.extend(command.env.clone());
    env.extend(about_the_run(ctx)?);
    Ok(Order {
        program: command.program.clone(),
        arguments: arguments.collect::<Result<_, _>>()?,
        env,
        directory: command.directory.clone(),
        user: account.map(|user| (user.uid, user.gid)),
        stdin: ctx.payload_text().to_owned(),
    })
}

fn passed(name: &str) -> Option<(String, String)> {
    env::var(name).ok().map(|value| (name.to_owned(), value))
}

fn about_the_run(ctx: &Context) -> Result<Vec<(String, String)>, NotDone> {
    let checkpoint = ctx.checkpoint_text().unwrap_or_default();
    if checkpoint.len() > VARIABLE_BYTES {
        return Err(hopeless("checkpoint_too_large", "the checkpoint has more than 120 KiB, which no variable has"));
    }
    let said = [
        ("RUN", ctx.run_id().to_owned()),
        ("ATTEMPT", ctx.attempt().to_string()),
        ("FENCE", ctx.fence().to_string()),
        ("IDEMPOTENCY_KEY", ctx.idempotency_key().to_owned()),
        ("CHECKPOINT", checkpoint),
    ];
    let said = said.into_iter().map(|(name, value)| (format!("MINUTEHAND_{name}"), value));
    // As OpenTelemetry names them, so that what it instruments goes on in the trace by itself.
    let trace = [("TRACEPARENT", ctx.traceparent()), ("TRACESTATE", ctx.tracestate())];
    let trace = trace.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    Ok(said.chain(trace).collect())
}

impl Running {
    fn start(order: &Order, ctx: &Context) -> Result<Self, NotDone> {
        let mut guard = Process::new(this_program()?);
        guard.arg(WORD).process_group(0).env_remove("MINUTEHAND_KEY");
        let mut child = guard.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
        let (Some(mut life_line), Some(stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(NotDone::failed("not_started", "it has no streams"));
        };
        let line = format!("{}\n", serde_json::to_string(order)?);
        let ctx = (ctx.clone(), ctx.clone());
        let stdout = apart(move || hear(stdout, &ctx.0, true));
        let stderr = apart(move || hear(stderr, &ctx.1, false));
        let ended = apart(move || wait(child));
        life_line.write_all(line.as_bytes())?;
        Ok(Self { group, ended, stdout, stderr, _life_line: life_line })
    }

    /// SIGTERM to the whole group, and after a while SIGKILL.
    async fn stop(&mut self, grace: Duration) -> Option<ExitStatus> {
        self.signal(Signal::TERM);
        tokio::select! {
            status = &mut self.ended => return status.ok().flatten(),
            () = sleep(grace) => {}
        }
        self.signal(Signal::KILL);
        (&mut self.ended).await.ok().flatten()
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = self.group {
            // Fails where nobody is left.
            let _signalled = kill_process_group(group, signal);
        }
    }

    /// What the command left behind in its group goes with it.
    async fn last_words(self) -> (Heard, Heard) {
        self.signal(Signal::KILL);
        let heard = async { (self.stdout.await.unwrap_or_default(), self.stderr.await.unwrap_or_default()) };
        tokio::time::timeout(LAST_WORDS, heard).await.unwrap_or_default()
    }
}

/// On a thread of its own: a pipe is read, and a process waited for, by blocking.
fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> oneshot::Receiver<T> {
    let (done, result) = oneshot::channel();
    thread::spawn(move || drop(done.send(work())));
    result
}

fn wait(mut child: Child) -> Option<ExitStatus> {
    child.wait().ok()
}

/// Also where the file was replaced since.
fn this_program() -> std::io::Result<std::path::PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { env::current_exe() }
}

fn outcome(
    command: &Command,
    status: Option<ExitStatus>,
    (stdout, stderr): (Heard, Heard),
    ctx: &Context,
) -> Result<Box<RawValue>, NotDone> {
    let Some(code) = status.and_then(|status| status.code()).and_then(|code| u8::try_from(code).ok()) else {
        return Err(NotDone::failed("killed", "a signal ended it"));
    };
    let said = stderr.quoted().or_else(|| stdout.quoted()).map(|line| format!(": {line}")).unwrap_or_default();
    let failed = NotDone::failed(&format!("exit_{code}"), &format!("exit code {code}{said}"));
    match (command.exit(code), command.result) {
        (Exit::Success, ResultOf::ExitCode) => Ok(to_raw_value(&json!({ "exit_code": code }))?),
        (Exit::Success, ResultOf::LastLine) if stdout.is_too_long() => {
            ctx.log("minutehand: the last line is not the result: it has more than 256 KiB");
            Ok(to_raw_value(&())?)
        }
        (Exit::Success, ResultOf::LastLine) => Ok(stdout.result().map_or_else(|| to_raw_value(&()), Ok)?),
        (Exit::Retry, _) => Err(failed),
        (Exit::Fail, _) => Err(failed.for_good()),
        (Exit::HandBack, _) => Err(NotDone::HandBack),
    }
}
