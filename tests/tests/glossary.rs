//! The glossary points into the code: every name in its last column must be defined there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
const HEADER: &str = "| word | meaning | in the code |";
/// The words before the name in a definition.
const DEFINES: [&str; 8] = ["fn", "struct", "enum", "trait", "const", "static", "type", "mod"];

/// The names in backticks in the last column of the glossary's tables.
fn names(glossary: &str) -> Vec<&str> {
    let tables = glossary.split(HEADER).skip(1).flat_map(|table| table.trim_start().lines().skip(1));
    let columns =
        tables.filter(|line| line.starts_with('|')).filter_map(|row| row.trim_end_matches('|').rsplit('|').next());
    columns.flat_map(|column| column.split('`').skip(1).step_by(2)).collect()
}

/// Every source file, as its name and its words without comments.
fn sources() -> Vec<Vec<String>> {
    let mut files = Vec::new();
    for folder in ["shared", "functions", "tests"] {
        collect(&Path::new(ROOT).join(folder), &mut files);
    }
    let named = |file: &PathBuf| {
        let name = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        [vec![name], words(&fs::read_to_string(file).unwrap())].concat()
    };
    files.iter().map(named).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_built = path.join("CACHEDIR.TAG").exists(); // cargo's own
        if path.is_dir() && !is_built {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

fn words(source: &str) -> Vec<String> {
    let code = source.lines().map(|line| line.split("//").next().unwrap_or_default());
    let words = code.flat_map(|line| line.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    words.filter(|word| !word.is_empty()).map(str::to_owned).collect()
}

fn defines(file: &[String], name: &str) -> bool {
    file.windows(2).any(|pair| pair[1] == name && DEFINES.contains(&pair[0].as_str()))
}

/// `Type::member` and `module::member`: both are defined, or the member is a variant, and one file has both.
fn is_defined(sources: &[Vec<String>], name: &str) -> bool {
    match name.split_once("::") {
        None => sources.iter().any(|file| defines(file, name)),
        Some((owner, member)) => {
            let has = |file: &Vec<String>| file.iter().any(|word| word == member);
            let of_owner = |file: &&Vec<String>| file.iter().any(|word| word == owner);
            is_defined(sources, owner)
                && sources.iter().filter(of_owner).any(has)
                && (is_defined(sources, member) || member.starts_with(char::is_uppercase))
        }
    }
}

/// Tried: with one name of the code changed in the glossary, it is reported.
#[test]
fn every_name_in_the_glossary_is_defined_in_the_code() {
    let glossary = fs::read_to_string(Path::new(ROOT).join("docs/glossary.md")).unwrap();
    let sources = sources();

    let names = names(&glossary);

    let missing: Vec<_> = names.iter().filter(|name| !is_defined(&sources, name)).collect();
    assert!(missing.is_empty(), "not in the code: {missing:?}");
    assert!(names.len() > 80, "only {} names were found", names.len());
}

#[test]
fn a_word_is_explained_once() {
    let glossary = fs::read_to_string(Path::new(ROOT).join("docs/glossary.md")).unwrap();
    let mut rows = BTreeMap::<&str, usize>::new();
    for table in glossary.split(HEADER).skip(1) {
        for row in table.trim_start().lines().skip(1).take_while(|line| line.starts_with('|')) {
            *rows.entry(row.split('|').nth(1).unwrap_or_default().trim()).or_default() += 1;
        }
    }

    assert!(rows.values().all(|count| *count == 1), "{rows:?}");
}
