//! An actor: a worker in one of the languages, in a process of its own.

use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;

use crate::patience::{eventually, say};
use crate::server::{self, Ended, KEY, Process};
use crate::stub::Stub;

/// For what takes milliseconds, among three times ten processes on two cores.
const SOON: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kit {
    Rust,
    Python,
    TypeScript,
}

pub(crate) struct Actor(Process);

impl Kit {
    /// Without its language it says so; with `CI=true` that is a failure: there nobody reads which tests did not run.
    pub(crate) fn is_there(self) -> bool {
        let (program, suits, missing) = match self {
            Self::Rust => return true,
            Self::Python => {
                ("python3", "import sys; sys.exit(sys.version_info < (3, 10))", "Python 3.10 or newer as `python3`")
            }
            Self::TypeScript => (
                "node",
                "process.exit(Number(process.versions.node.split('.')[0]) < 20 ? 1 : 0)",
                "Node 20 or newer as `node`",
            ),
        };
        let flag = if self == Self::Python { "-c" } else { "-e" };
        let found = Command::new(program).args([flag, suits]).stdout(Stdio::null()).stderr(Stdio::null()).status();
        let is_there = found.is_ok_and(|status| status.success());
        assert!(is_there || env::var("CI").as_deref() != Ok("true"), "{missing} was not found");
        if !is_there {
            say(&format!("NOT RUN: {missing} was not found, so the scenario of {self:?} proves nothing here."));
        }
        is_there
    }

    fn command(self) -> Command {
        let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/kits");
        match self {
            // This very program: one of its tests is the worker.
            Self::Rust => self.starts("rust::actor"),
            Self::Python => {
                let mut command = Command::new("python3");
                command.arg("-B").arg(folder.join("actor.py"));
                command
            }
            Self::TypeScript => {
                let mut command = Command::new("node");
                command.arg(folder.join("actor.mjs"));
                command
            }
        }
    }

    /// A worker in Rust that is a test of this program.
    pub(crate) fn starts(self, test: &str) -> Command {
        assert_eq!(self, Self::Rust, "only they are tests");
        let mut command = Command::new(env::current_exe().expect("this program"));
        command.args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"]);
        command
    }

    /// A worker that works for a pool until it is stopped.
    pub(crate) fn works_with(self, key: &str, server: SocketAddr, pool: &str, name: &str) -> Actor {
        Actor(Process::start(self.worker(key, server, pool, name)))
    }

    /// With leases that outlast what a stub does to it.
    pub(crate) fn works_for(self, stub: &Stub) -> Actor {
        let mut command = self.worker(KEY, stub.address(), "stub", "a");
        command.env("LEASE_SECONDS", "60");
        Actor(Process::start(command))
    }

    fn worker(self, key: &str, server: SocketAddr, pool: &str, name: &str) -> Command {
        let mut command = self.command();
        command.env("MINUTEHAND_URL", format!("http://{server}")).env("MINUTEHAND_KEY", key);
        command.env("POOL", pool).env("NAME", name);
        command
    }

    /// What its handler does without a server.
    pub(crate) fn inline(self, payload: &Value, checkpoint: &Value) -> Value {
        let mut command = self.command();
        command.env("INLINE", payload.to_string()).env("CHECKPOINT", checkpoint.to_string());
        let ended = Process::start(command).ended(SOON);
        assert!(ended.status.success(), "{ended:?}");
        told(&ended.stdout).last().expect("what it did").clone()
    }
}

impl Actor {
    /// Waits until it tells this of a run.
    pub(crate) async fn tells(&self, what: &str, run: &str) {
        let is_told = || async {
            told(&self.0.stdout()).iter().any(|line| line["told"] == what && line["run"] == run).then_some(())
        };
        eventually(SOON, &format!("{what} of {run}: {}", self.0.stderr()), is_told).await;
    }

    pub(crate) fn signal(&self, signal: Signal) {
        server::signal(self.0.pid(), signal);
    }

    pub(crate) fn ended(self, within: Duration) -> Ended {
        self.0.ended(within)
    }
}

fn told(stdout: &str) -> Vec<Value> {
    stdout.lines().filter_map(|line| serde_json::from_str(line).ok()).filter(Value::is_object).collect()
}
