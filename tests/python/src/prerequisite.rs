//! Prerequisites: programs that tests need and that may not be there.

use std::env;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

/// How often what a registry serves is asked for, each time after twice as long: four minutes in CI, where a registry that is away for a moment would
/// cost the whole run, and seconds where a reader may only be offline.
const TRIES_IN_CI: u32 = 9;
const TRIES: u32 = 3;

/// Says what could not be run for want of something; with `CI=true` that is a failure: there nobody reads which tests did not run.
pub fn not_run(missing: &str, tests: &str) {
    assert!(!is_in_ci(), "{missing}");
    say(&format!("NOT RUN: {missing}, so {tests} prove nothing here."));
}

/// Whether a program can be run, which knows `--version`.
pub fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

fn is_in_ci() -> bool {
    env::var("CI").as_deref() == Ok("true")
}

/// Runs a program that must be there and succeed: what it printed.
pub fn run(command: &mut Command) -> String {
    succeeded(command).unwrap_or_else(|why| panic!("{why}"))
}

/// Runs a program: what it printed, or that it failed, and what it said of that.
pub fn succeeded(command: &mut Command) -> Result<String, String> {
    let output = command.stdin(Stdio::null()).output().map_err(|why| format!("{command:?} cannot be run: {why}"))?;
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    if output.status.success() { Ok(said) } else { Err(format!("{command:?} failed:\n{said}")) }
}

/// Fetches from a registry, which may be away for a moment: what came, or why the last try failed.
pub fn fetched<T>(fetch: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    fetched_in(if is_in_ci() { TRIES_IN_CI } else { TRIES }, Duration::from_secs(1), fetch)
}

fn fetched_in<T>(tries: u32, pause: Duration, mut fetch: impl FnMut() -> Result<T, String>) -> Result<T, String> {
    let fetched = fetch();
    if fetched.is_ok() || tries == 1 {
        return fetched;
    }
    thread::sleep(pause);
    fetched_in(tries - 1, 2 * pause, fetch)
}

/// Prints to the terminal itself: the harness hides a passing test's output.
pub fn say(line: &str) {
    writeln!(io::stderr(), "{line}").expect("the terminal can be written to");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_registry_serves_is_asked_for_until_it_is_there_and_not_for_ever() {
        let answers = |there_at: u32| {
            let mut asked = 0;
            let fetched = fetched_in(3, Duration::ZERO, || {
                asked += 1;
                if asked == there_at { Ok("the package") } else { Err(format!("away, for the {asked}. time")) }
            });
            (fetched, asked)
        };

        assert_eq!(answers(1), (Ok("the package"), 1));
        assert_eq!(answers(3), (Ok("the package"), 3));
        assert_eq!(answers(4), (Err("away, for the 3. time".to_owned()), 3));
    }
}
