//! The one build: the simulation's tests of the guards, with every removal in them.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

use crate::instrument::{Lines, VARIABLE};

/// What an interleaving runs takes milliseconds; what takes time is to compile it, where it is generic. Of what is not, to optimize it takes half a minute,
/// and the histories in which a judge is tried run for many.
const NOT_OPTIMIZED: [&str; 4] = ["executor", "protocol", "simulation", "sweeper"];

/// Nobody steps through what is built here, and it is the least kind of debug information but none. The checkout's own build asks for none in CI, and
/// cargo names a file by its profile and by its place below the root of the workspace, which is the same in the copy: with none here, crates that have
/// removals in them would take the place of the checkout's own, and its tests of documentation, which link those, would find them changed.
const DEBUG: &str = "line-directives-only";

/// The tests' binary.
#[derive(Debug)]
pub struct Tests {
    pub binary: PathBuf,
    /// Where cargo would run it.
    pub folder: PathBuf,
}

#[derive(Debug)]
pub enum NotBuilt {
    /// Without these guards it does not compile, and this is what the compiler says of each.
    Without(BTreeMap<String, String>),
    /// What is wrong has nothing to do with any guard.
    Otherwise(String),
}

/// Where cargo builds, and with what.
#[derive(Debug)]
pub struct Build {
    /// The copy that is built.
    pub tree: PathBuf,
    /// The target folder of the checkout: dependencies that were built there need not be built again.
    pub shared: PathBuf,
    /// For binaries, which would else take the place of the checkout's own.
    pub own: PathBuf,
    /// With the features of `cargo test --workspace`: where that ran, no dependency is left to build, and else many are.
    pub workspace: bool,
}

/// What is built without optimization polls futures inside of futures, each with a frame for all that it ever awaits.
const STACK_BYTES: &str = "33554432";

impl Tests {
    pub fn built(build: &Build, lines: &[Lines]) -> io::Result<Result<Self, NotBuilt>> {
        let output = build.cargo().output()?;
        let messages = String::from_utf8_lossy(&output.stdout);
        let messages: Vec<Value> = messages.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        Ok(match messages.iter().find_map(executable) {
            Some(binary) if output.status.success() => Ok(Self { binary, folder: build.tree.join("tests/simulation") }),
            _ => Err(not_built(&messages, &output, lines)),
        })
    }

    /// A process of the tests, in which one guard is removed or none.
    pub fn command(&self, removed: Option<&str>) -> Command {
        let mut command = Command::new(&self.binary);
        command.current_dir(&self.folder).env_remove(VARIABLE).env("RUST_BACKTRACE", "0");
        command.env("RUST_MIN_STACK", STACK_BYTES);
        if let Some(guard) = removed {
            command.env(VARIABLE, guard);
        }
        command
    }

    /// Every test, by name.
    pub fn names(&self) -> io::Result<BTreeSet<String>> {
        let listed = self.command(None).arg("--list").output()?;
        let listed = String::from_utf8_lossy(&listed.stdout);
        Ok(listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect())
    }
}

impl Build {
    fn cargo(&self) -> Command {
        let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--test", "guards", "--no-run", "--message-format=json"]);
        cargo.args(if self.workspace { ["--workspace"].as_slice() } else { &["--package", "minutehand-simulation"] });
        for package in NOT_OPTIMIZED {
            cargo.arg("--config").arg(format!("profile.dev.package.minutehand-{package}.opt-level=0"));
        }
        cargo.current_dir(&self.tree).env("CARGO_BUILD_BUILD_DIR", &self.shared).env("CARGO_TARGET_DIR", &self.own);
        cargo.env("CARGO_PROFILE_DEV_DEBUG", DEBUG).env("CARGO_PROFILE_TEST_DEBUG", DEBUG);
        without_this_package(&mut cargo);
        cargo
    }
}

/// What cargo says to a program of the program's own package is part of what ring's build is made of: with it, ring would be built again and with ring
/// each AWS SDK, in the folder from which others may be running tests.
fn without_this_package(cargo: &mut Command) {
    for (name, _) in env::vars_os() {
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            cargo.env_remove(name);
        }
    }
}

fn executable(message: &Value) -> Option<PathBuf> {
    let is_ours = message["reason"] == "compiler-artifact" && message["target"]["name"] == "guards";
    message["executable"].as_str().filter(|_| is_ours).map(PathBuf::from)
}

fn not_built(messages: &[Value], output: &Output, lines: &[Lines]) -> NotBuilt {
    let mut without: BTreeMap<String, String> = BTreeMap::new();
    let mut otherwise = String::new();
    for error in messages.iter().map(|message| &message["message"]).filter(|message| message["level"] == "error") {
        let said = error["rendered"].as_str().unwrap_or_default();
        match guard_of(error, lines) {
            Some(guard) => without.entry(guard.to_owned()).or_default().push_str(said),
            None => otherwise.push_str(said),
        }
    }
    if without.is_empty() {
        NotBuilt::Otherwise(otherwise + &String::from_utf8_lossy(&output.stderr))
    } else {
        NotBuilt::Without(without)
    }
}

/// The guard in whose removal any part of what the compiler points at lies.
fn guard_of<'a>(error: &Value, lines: &'a [Lines]) -> Option<&'a str> {
    let spans = error["spans"].as_array().into_iter().flatten();
    let places = spans.filter_map(|span| Some((span["file_name"].as_str()?, span["line_start"].as_u64()?)));
    places.into_iter().find_map(|(file, line)| {
        let here = |of: &&Lines| {
            of.file == Path::new(file) && usize::try_from(line).is_ok_and(|line| of.lines.contains(&line))
        };
        lines.iter().find(here).map(|of| of.guard.as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With "0" here, as it once was, removals stood in the crates that CI's tests of documentation link.
    #[test]
    fn no_build_of_the_checkout_asks_for_the_copys_debug_information() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        for file in ["Cargo.toml", ".ci/run"] {
            let text = std::fs::read_to_string(root.join(file)).expect("the checkout is there");
            let mut asked = text.lines().filter(|line| line.contains("debug = ") || line.contains("_DEBUG="));
            assert!(asked.clone().next().is_some(), "{file} says no more what it asks for");
            assert!(asked.all(|line| !line.contains(DEBUG)), "{file} asks for {DEBUG}");
        }
    }

    /// Without `without_this_package` cargo would hear of both.
    #[test]
    fn cargo_builds_as_if_nobody_of_a_package_asked() {
        let folder = PathBuf::from("target");
        let build = Build { tree: folder.clone(), shared: folder.clone(), own: folder, workspace: true };
        let cargo = build.cargo();
        let removed: Vec<_> = cargo.get_envs().filter(|(_, value)| value.is_none()).map(|(name, _)| name).collect();
        for ours in ["CARGO_PKG_NAME", "CARGO_MANIFEST_DIR"] {
            assert!(env::var_os(ours).is_some(), "{ours} is what cargo tells a test");
            assert!(removed.iter().any(|name| *name == ours), "{ours} {removed:?}");
        }
    }
}
