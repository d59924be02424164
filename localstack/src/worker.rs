//! A worker of the Python kit, as a process beside the stack: it works for the deployed API, and is killed with its fact.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use minutehand_aws_tests::workspace;

pub struct Worker {
    child: Child,
    said: Arc<Mutex<Vec<String>>>,
}

const PATIENCE: Duration = Duration::from_secs(60);
const LOOK: Duration = Duration::from_millis(50);

impl Worker {
    /// The one that the kits' scenes are played with; it tells what it does in lines.
    pub fn start(url: &str, key: &str, pool: &str) -> Self {
        Self::telling(actor(url, key, pool))
    }

    /// The same, with leases of so many seconds.
    pub fn start_with_leases(url: &str, key: &str, pool: &str, seconds: u64) -> Self {
        let mut actor = actor(url, key, pool);
        actor.env("LEASE_SECONDS", seconds.to_string());
        Self::telling(actor)
    }

    fn telling(mut actor: Command) -> Self {
        let mut child = actor.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().expect("Python is there");
        let (lines, said) = (BufReader::new(child.stdout.take().expect("piped")).lines(), Arc::default());
        let heard: Arc<Mutex<Vec<String>>> = Arc::clone(&said);
        thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                heard.lock().unwrap_or_else(PoisonError::into_inner).push(line);
            }
        });
        Self { child, said }
    }

    /// Waits until it has told this.
    pub fn tells(&self, what: &str) {
        let begin = Instant::now();
        while !self.said.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|line| line.contains(what)) {
            assert!(begin.elapsed() < PATIENCE, "it does not tell {what}: {:?}", self.said);
            thread::sleep(LOOK);
        }
    }
}

fn actor(url: &str, key: &str, pool: &str) -> Command {
    let actor = workspace::root().join("functions/minutehand/tests/kits/actor.py");
    let mut command = Command::new("python3");
    command.arg(actor).env("MINUTEHAND_URL", url).env("MINUTEHAND_KEY", key).env("POOL", pool);
    command
}

/// SIGKILL: it says nothing more.
impl Drop for Worker {
    fn drop(&mut self) {
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}
