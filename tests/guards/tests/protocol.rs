//! `docs/protocol.md` names a function and a test for each rule: each is there.

use std::fs;
use std::path::{Path, PathBuf};

use minutehand_guards::functions::{Function, functions};
use minutehand_guards::instrument::Sources;
use minutehand_guards::tree;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The last two cells of each row: a function and a test, both in backticks.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
    rows.filter_map(|row| {
        let mut cells = row.rsplit(" | ");
        let (test, function) = (cells.next()?, cells.next()?);
        Some((function.strip_prefix('`')?.strip_suffix('`')?, test.strip_prefix('`')?.strip_suffix('`')?))
    })
    .collect()
}

/// `claiming::a_fact` is the test `a_fact` in a file called `claiming.rs`.
fn is_a_test(name: &str, sources: &Sources) -> bool {
    let Some((file, test)) = name.rsplit_once("::") else { return false };
    let in_file = |path: &Path| path.ends_with(format!("{file}.rs"));
    let there = |code: &str| code.contains(&format!("fn {test}("));
    sources.iter().any(|(path, code)| in_file(path) && there(code))
}

#[test]
fn each_rule_of_the_protocol_has_its_function_and_its_test() {
    let page = fs::read_to_string(root().join("docs/protocol.md")).expect("the page is there");
    let files = tree::files(&root()).expect("git knows the files");
    let sources = tree::sources(&root(), &files).expect("they can be read");
    let known: Vec<Function> = sources.iter().flat_map(|(file, code)| functions(file, code).expect("Rust")).collect();

    let rows = rows(&page);
    let missing: Vec<String> = rows
        .iter()
        .flat_map(|&(function, test)| {
            let called = known.iter().filter(|known| known.is_called(function)).count();
            let function = (called != 1).then(|| format!("{function}: {called} functions"));
            [function, (!is_a_test(test, &sources)).then(|| format!("{test}: no such test"))]
        })
        .flatten()
        .collect();

    assert!(missing.is_empty(), "{missing:#?}");
    assert!(rows.len() > 50, "{} rows", rows.len());
}
