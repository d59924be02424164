//! The bootstraps: the four functions as they are deployed, built for this machine; with `MINUTEHAND_BUILD=--x86-64` as Lambda gets them, and with
//! `--otel` among its words with what exports.

use std::env;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::workspace;

/// The four bootstraps, from the sources as they are. One builds and the others wait: what they find is a moment's work.
pub fn build_functions() {
    let _turn = workspace::locked(&workspace::target().join("lambda/lock"));
    let mut build = Command::new(workspace::root().join("infra/build"));
    build.args(env::var("MINUTEHAND_BUILD").unwrap_or_default().split_whitespace());
    output_of(&mut build);
}

/// Where the template looks for a function's, wherever cargo puts what it builds.
pub fn bootstrap(function: &str) -> PathBuf {
    workspace::root().join("target/lambda").join(function).join("bootstrap")
}

/// What a command that must go well writes.
pub fn output_of(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{said}{complaint}");
    said
}
