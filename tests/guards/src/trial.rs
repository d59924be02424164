//! One trial: a guard is removed, and a test of it must fail.

use std::fs::OpenOptions;
use std::io;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use crate::build::Tests;

/// Far beyond what any of them takes: most less than a second, the longest, which plays 169 histories, forty on an idle machine.
const PATIENCE: Duration = Duration::from_secs(240);
/// How soon an end is seen.
const PAUSE: Duration = Duration::from_millis(5);

/// What a process of tests exits with when one failed.
const A_TEST_FAILED: i32 = 101;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    Noticed,
    StillPasses,
    DoesNotEnd,
    CouldNotBeRun,
}

/// Runs this test alone, without this guard; what it says is added to the log.
pub fn verdict(tests: &Tests, guard: &str, test: &str, log: &Path) -> io::Result<Verdict> {
    let log = OpenOptions::new().create(true).append(true).open(log)?;
    let mut command = tests.command(Some(guard));
    command.args(["--exact", test]).stdout(log.try_clone()?).stderr(log);
    Ok(match ended(command.spawn()?)? {
        None => Verdict::DoesNotEnd,
        Some(status) => match status.code() {
            Some(0) => Verdict::StillPasses,
            Some(A_TEST_FAILED) => Verdict::Noticed,
            _ => Verdict::CouldNotBeRun,
        },
    })
}

/// How it ended; nothing where it went on for too long.
fn ended(mut child: Child) -> io::Result<Option<ExitStatus>> {
    let begin = Instant::now();
    while begin.elapsed() < PATIENCE {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(PAUSE);
    }
    child.kill()?;
    child.wait()?;
    Ok(None)
}
