//! Every rule of the judge has a mutation that it notices: a rule that nothing breaks proves nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("the package stands two folders below the root").to_path_buf()
}

/// What histories are of, and where the rules stand that judge them.
const RULES_OF: [(&str, &[&str]); 8] = [
    ("Jobs", &["verdict.rs", "verdict"]),
    ("Graphs", &["graph.rs", "graph"]),
    ("Workers", &["workers.rs"]),
    ("Callbacks", &["callbacks.rs"]),
    ("Followers", &["followers.rs"]),
    ("Letters", &["letters.rs"]),
    ("Notifications", &["notified.rs"]),
    ("Backfills", &["backfill.rs"]),
];

fn judge() -> PathBuf {
    root().join("tests/judge/src")
}

/// The rules that the judges report, each the sentence that it is, with what its histories are of.
fn rules() -> BTreeSet<(String, String)> {
    let read = |(of, paths): (&str, &[&str])| {
        let texts = paths.iter().flat_map(|path| texts(&judge().join(path)));
        texts.flat_map(|text| reported(&text)).map(|rule| (of.to_owned(), rule)).collect::<Vec<_>>()
    };
    RULES_OF.into_iter().flat_map(read).collect()
}

/// What stands in a file, or in those of a folder.
fn texts(path: &Path) -> Vec<String> {
    let files = if path.is_dir() { files_in(path) } else { vec![path.to_owned()] };
    files.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
}

fn files_in(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// The sentences that some code reports as broken, without those of its tests. A call says its rule itself, so that none is missed here.
fn reported(code: &str) -> Vec<String> {
    let code = code.split("#[cfg(test)]\nmod tests {").next().expect("a first part");
    let mut rules = Vec::new();
    for call in ["report(", "broken("] {
        let mut before = "";
        for part in code.split(call) {
            let is_call = !before.is_empty() && !before.ends_with("fn ");
            let says_it = part.trim_start().starts_with('"');
            assert!(
                !is_call || says_it,
                "a call of `{call}` that does not say its rule: {}",
                &part[..part.len().min(60)]
            );
            rules.extend(first_text(part).filter(|_| is_call));
            before = part;
        }
    }
    rules
}

/// The first string literal of some code.
fn first_text(code: &str) -> Option<String> {
    code.split('"').nth(1).map(str::to_owned)
}

/// The rules that are asked for, each with its test as guards.toml names it.
fn asked_for() -> Vec<((String, String), String)> {
    let guards = root().join("tests/simulation/tests/guards");
    let mut files = vec![(guards.join("judging.rs"), "judging::".to_owned())];
    files.extend(files_in(&guards.join("judging")).into_iter().map(|file| {
        let module = file.file_stem().unwrap().to_string_lossy().into_owned();
        (file, format!("judging::{module}::"))
    }));
    let asked = |(file, module): (PathBuf, String)| {
        let text = fs::read_to_string(file).unwrap();
        let tests = text.split("#[test]\nfn ").skip(1).filter_map(|test| {
            let (name, call) = test.split_once("    kept(Of::").or_else(|| test.split_once("    kept_in(Of::"))?;
            let (of, _) = call.split_once(',')?;
            Some(((of.to_owned(), first_text(call)?), format!("{module}{}", name.split('(').next()?)))
        });
        tests.collect::<Vec<_>>()
    };
    files.into_iter().flat_map(asked).collect()
}

#[test]
fn each_file_with_rules_is_known_here() {
    let known: BTreeSet<PathBuf> =
        RULES_OF.iter().flat_map(|(_, paths)| *paths).map(|path| judge().join(path)).collect();
    let is_of_tests = |file: &Path| file.to_string_lossy().ends_with("_tests.rs");
    for file in files_in(&judge()).into_iter().filter(|file| !is_of_tests(file) && !known.contains(file)) {
        let found: Vec<String> = texts(&file).iter().flat_map(|text| reported(text)).collect();
        assert!(found.is_empty(), "{}: {found:?}", file.display());
    }
}

#[test]
fn each_rule_of_the_judges_has_a_mutation_that_it_notices() {
    let table = fs::read_to_string(root().join("tests/simulation/guards.toml")).unwrap();
    let table: String = table.lines().filter(|line| !line.starts_with('#')).collect();
    let asked = asked_for();

    let asked_rules: BTreeSet<(String, String)> = asked.iter().map(|(rule, _)| rule.clone()).collect();
    let rules = rules();
    let missing: Vec<_> = rules.symmetric_difference(&asked_rules).collect();
    assert!(
        missing.is_empty(),
        "rules without a test in tests/guards/judging.rs, or tests without a rule: {missing:#?}"
    );
    assert!(rules.len() > 125, "only {} were found", rules.len());
    for (rule, test) in asked {
        let is_there = table.contains(&format!("\"{test}\""));
        assert!(is_there, "no mutation in guards.toml breaks: {rule:?}");
    }
}
