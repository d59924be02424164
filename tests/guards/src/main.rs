//! `cargo guards`: takes each guard of the protocol away, one at a time, and sees to it that its tests then fail.
//!
//! The table of removals is `tests/simulation/guards.toml`. All of them are built into one binary, from a copy of the working
//! tree in `target/guards/tree`; the product's own source knows nothing of them. What each test then said is kept in
//! `target/guards/<guard>.log`.

#![expect(clippy::print_stdout, reason = "a command line tells what it found")]

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use minutehand_guards::build::{Build, NotBuilt, Tests};
use minutehand_guards::instrument::Removals;
use minutehand_guards::table::{self, Table};
use minutehand_guards::tree;
use minutehand_guards::trial::{self, Verdict};

const HELP: &str = "\
Takes each guard of the protocol away, one at a time, and sees to it that its tests then fail.

    cargo guards [--workspace] [GUARD ...]

All of them, or those named in tests/simulation/guards.toml. With --workspace the build takes the dependencies that `cargo test
--workspace` has left, and else those of `cargo test -p minutehand-simulation`.
";

/// Trials at once.
const AT_ONCE: usize = 2;

/// What a guard's removal came to.
enum Line {
    Passed(String),
    Failed(String),
}

fn main() -> ExitCode {
    let (options, guards): (Vec<String>, Vec<String>) =
        std::env::args().skip(1).partition(|argument| argument.starts_with('-'));
    if let Some(other) = options.iter().find(|option| *option != "--workspace") {
        println!("{HELP}");
        // A slip of the pen must not pass for a trial.
        return if ["--help", "-h"].contains(&other.as_str()) { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    match try_all(&guards, !options.is_empty()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(wrong) => {
            println!("{wrong}");
            ExitCode::FAILURE
        }
    }
}

/// The checkout.
fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("the package stands two folders below the root").to_path_buf()
}

fn table(root: &Path) -> Result<Table, Box<dyn Error>> {
    let path = "tests/simulation/guards.toml";
    let text = fs::read_to_string(root.join(path)).map_err(|wrong| format!("{path}: {wrong}"))?;
    Ok(table::parse(&text).map_err(|wrong| format!("{path}: {wrong}"))?)
}

/// Whether each chosen guard's tests notice its removal.
fn try_all(chosen: &[String], workspace: bool) -> Result<bool, Box<dyn Error>> {
    let root = root();
    let table = table(&root)?;
    if let Some(unknown) = chosen.iter().find(|name| !table.contains_key(*name)) {
        return Err(format!("the table has no guard {unknown}").into());
    }
    let target = root.join(std::env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()));
    let work = target.join("guards");
    let build = Build { tree: work.join("tree"), own: work.join("build"), shared: target, workspace };
    let (tests, refused) = build_all(&root, &build, &table)?;
    baseline(&tests)?;
    let chosen = |name: &String| chosen.is_empty() || chosen.contains(name);
    let guards = table.into_iter().filter(|(name, _)| chosen(name)).collect();
    let lines = lines(&tests, &refused, &guards, &work)?;
    Ok(report(&lines))
}

/// Everything that can be removed in one build, and why the rest cannot.
fn build_all(root: &Path, build: &Build, table: &Table) -> Result<(Tests, BTreeMap<String, String>), Box<dyn Error>> {
    let files = tree::files(root)?;
    let sources = tree::sources(root, &files)?;
    let (mut removals, unfit) = Removals::of(table, &sources);
    let unfit = unfit.into_iter().map(|(guard, why)| (guard, format!("DOES NOT APPLY: {why}")));
    let mut refused: BTreeMap<String, String> = unfit.collect();
    loop {
        let (written, lines) = removals.written(&sources);
        tree::write(root, &build.tree, &files, &written)?;
        match Tests::built(build, &lines)? {
            Ok(tests) => return Ok((tests, refused)),
            Err(NotBuilt::Otherwise(why)) => {
                return Err(format!("{why}\nwith nothing removed: DOES NOT COMPILE").into());
            }
            Err(NotBuilt::Without(guards)) => {
                for (guard, why) in guards {
                    removals.forget(&guard);
                    refused.insert(guard, format!("DOES NOT COMPILE\n{why}"));
                }
            }
        }
    }
}

/// With nothing removed every test passes: nothing but the removals is put into what is built. The histories in which the judge is tried are left to the
/// ordinary tests, as they take as long as all others together.
fn baseline(tests: &Tests) -> Result<(), Box<dyn Error>> {
    let output = tests.command(None).args(["--skip", "judging::"]).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    Err(format!("{said}\nwith nothing removed: tests FAIL").into())
}

fn lines(
    tests: &Tests,
    refused: &BTreeMap<String, String>,
    guards: &Table,
    work: &Path,
) -> Result<Vec<Line>, Box<dyn Error>> {
    let known = tests.names()?;
    let mut trials = Vec::new();
    for (name, guard) in guards {
        let log = work.join(name).with_extension("log");
        fs::write(&log, refused.get(name).map_or("", String::as_str))?;
        match refused.get(name) {
            Some(_) => trials.push((name.as_str(), None)),
            None => trials.extend(guard.tests.iter().map(|test| (name.as_str(), Some(test.as_str())))),
        }
    }
    let one = |(guard, test): (&str, Option<&str>)| match test {
        Some(test) => tried(tests, &known, guard, test, work),
        None => Line::Failed(format!("removed {guard}: {}", refused[guard])),
    };
    Ok(side_by_side(trials, one))
}

/// In their order, some at once.
fn side_by_side<T: Copy + Sync + Send, R: Send>(of: Vec<T>, one: impl Fn(T) -> R + Sync) -> Vec<R> {
    let next = Mutex::new(of.into_iter().enumerate());
    let done = Mutex::new(BTreeMap::new());
    thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let Some((at, trial)) = next.lock().expect("no trial panics").next() else { return };
                    let result = one(trial);
                    done.lock().expect("no trial panics").insert(at, result);
                }
            });
        }
    });
    done.into_inner().expect("no trial panics").into_values().collect()
}

fn tried(tests: &Tests, known: &BTreeSet<String>, guard: &str, test: &str, work: &Path) -> Line {
    if !known.contains(test) {
        return Line::Failed(format!("removed {guard}: there is NO TEST {test}"));
    }
    let begin = Instant::now();
    match trial::verdict(tests, guard, test, &work.join(guard).with_extension("log")) {
        Ok(Verdict::Noticed) => {
            let took = begin.elapsed().as_secs_f64();
            Line::Passed(format!("removed {guard}: {test} fails as it must, after {took:.1} s"))
        }
        Ok(Verdict::StillPasses) => Line::Failed(format!("removed {guard}: {test} STILL PASSES")),
        Ok(Verdict::DoesNotEnd) => Line::Failed(format!("removed {guard}: {test} DOES NOT END")),
        Ok(Verdict::CouldNotBeRun) => Line::Failed(format!("removed {guard}: {test} COULD NOT BE RUN")),
        Err(why) => Line::Failed(format!("removed {guard}: {test} COULD NOT BE RUN: {why}")),
    }
}

/// Whether nothing failed.
fn report(lines: &[Line]) -> bool {
    for line in lines {
        let (Line::Passed(line) | Line::Failed(line)) = line;
        println!("{line}");
    }
    let failed = lines.iter().filter(|line| matches!(line, Line::Failed(_))).count();
    println!("{} passed, {failed} failed", lines.len() - failed);
    failed == 0
}
