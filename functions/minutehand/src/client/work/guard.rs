//! The guard: this binary once more, between a worker and one command. It leads the command's process group, and its stdin is the
//! worker's life line: when that is closed, because the worker is gone or has given the run up, the whole group is killed. So a command
//! does not outlive a worker that was killed, on any Unix, and without a word of `unsafe`.

use std::io::{self, BufRead as _, Read as _, Write as _};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::thread;

use rustix::process::{Signal, getpid, kill_process_group};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};

/// The first argument by which this binary is one. It is no command for people.
pub(crate) const WORD: &str = "work-guard";
/// Where the command could not be started, as shells say it.
const NOT_STARTED: u8 = 127;
/// A signal ended the command: so much more than its number, as shells say it.
const BY_SIGNAL: i32 = 128;

/// What is to be run, with everything filled in: the first line of the guard's stdin.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) program: String,
    pub(super) arguments: Vec<String>,
    pub(super) env: Vec<(String, String)>,
    pub(super) directory: Option<PathBuf>,
    /// The user's and the group's numbers.
    pub(super) user: Option<(u32, u32)>,
    pub(super) stdin: String,
}

/// Runs the command and ends as it does.
pub(crate) fn guard() -> ExitCode {
    // SIGTERM is for the command, which is in the same group: a handler of ours keeps it from ending the guard.
    let (Ok(_term), Ok(_int)) = (signal(SignalKind::terminate()), signal(SignalKind::interrupt())) else {
        return ExitCode::from(NOT_STARTED);
    };
    let mut line = String::new();
    let read = io::stdin().lock().read_line(&mut line);
    let Some(order) = read.ok().and_then(|_| serde_json::from_str::<Order>(&line).ok()) else {
        return ExitCode::from(NOT_STARTED);
    };
    thread::spawn(die_with_the_worker);
    match carry_out(&order) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("{} cannot be run: {error}", order.program);
            ExitCode::from(NOT_STARTED)
        }
    }
}

fn die_with_the_worker() {
    let _closed = io::stdin().lock().read(&mut [0]);
    let _killed = kill_process_group(getpid(), Signal::KILL);
}

fn carry_out(order: &Order) -> io::Result<u8> {
    let mut command = Command::new(&order.program);
    command.args(&order.arguments).env_clear().envs(order.env.iter().cloned()).stdin(Stdio::piped());
    if let Some(directory) = &order.directory {
        command.current_dir(directory);
    }
    if let Some((uid, gid)) = order.user {
        command.uid(uid).gid(gid);
    }
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        let payload = order.stdin.clone();
        // It need not read it, and may read it late.
        thread::spawn(move || drop(stdin.write_all(payload.as_bytes())));
    }
    let status = child.wait()?;
    let code = status.code().or_else(|| status.signal().map(|number| BY_SIGNAL + number));
    Ok(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(u8::MAX))
}
