//! Prerequisites: programs that tests need and that may not be there.

use std::env;
use std::io::{self, Write as _};
use std::process::{Command, Stdio};

/// Says what could not be run for want of something; with `CI=true` that is a failure: there nobody reads which tests did not run.
pub fn not_run(missing: &str, tests: &str) {
    assert!(env::var("CI").as_deref() != Ok("true"), "{missing}");
    say(&format!("NOT RUN: {missing}, so {tests} prove nothing here."));
}

/// Whether a program can be run, which knows `--version`.
pub fn is_there(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// Runs a program that must be there and succeed: what it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("a program that is there");
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{command:?} failed:\n{said}");
    said
}

/// Prints to the terminal itself: the harness hides a passing test's output.
pub fn say(line: &str) {
    writeln!(io::stderr(), "{line}").expect("the terminal can be written to");
}
