//! Every rule of the judge has a mutation that it notices: a rule that nothing breaks proves nothing.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).expect("the package stands two folders below the root").to_path_buf()
}

/// The rules that the judge reports, by the sentence that each is.
fn rules() -> BTreeSet<String> {
    let judge = root().join("tests/judge/src");
    let mut files = vec![judge.join("verdict.rs")];
    files.extend(fs::read_dir(judge.join("verdict")).unwrap().map(|entry| entry.unwrap().path()));
    let texts = files.iter().map(|file| fs::read_to_string(file).unwrap());
    texts.flat_map(|text| text.split("self.report(").skip(1).filter_map(first_text).collect::<Vec<_>>()).collect()
}

/// The first string literal of some code.
fn first_text(code: &str) -> Option<String> {
    code.split('"').nth(1).map(str::to_owned)
}

/// The rules that are asked for, each with its test.
fn asked_for() -> Vec<(String, String)> {
    let text = fs::read_to_string(root().join("tests/simulation/tests/guards/judging.rs")).unwrap();
    let tests = text.split("#[test]\nfn ").skip(1).filter(|test| test.contains("    kept(\""));
    tests.filter_map(|test| Some((first_text(test)?, test.split('(').next()?.to_owned()))).collect()
}

#[test]
fn each_rule_of_the_judge_has_a_mutation_that_it_notices() {
    let table = fs::read_to_string(root().join("tests/simulation/guards.toml")).unwrap();
    let table: String = table.lines().filter(|line| !line.starts_with('#')).collect();
    let asked = asked_for();

    let asked_rules: BTreeSet<String> = asked.iter().map(|(rule, _)| rule.clone()).collect();
    assert_eq!(asked_rules, rules(), "the rules that tests/guards/judging.rs asks for, and those that there are");
    assert!(asked_rules.len() > 35, "only {} were found", asked_rules.len());
    for (rule, test) in asked {
        let is_there = table.contains(&format!("\"judging::{test}\""));
        assert!(is_there, "no mutation in guards.toml breaks: {rule}");
    }
}
