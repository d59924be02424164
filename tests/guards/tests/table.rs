//! The table of removals fits the source as it stands, which is known without building anything of it.

use std::fs;
use std::path::{Path, PathBuf};

use minutehand_guards::instrument::Removals;
use minutehand_guards::{table, tree};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

#[test]
fn each_guard_of_the_table_can_be_removed_from_the_source() {
    let text = fs::read_to_string(root().join("tests/simulation/guards.toml")).expect("the table is there");
    let table = table::parse(&text).expect("the table can be read");
    let files = tree::files(&root()).expect("git knows the files");
    let sources = tree::sources(&root(), &files).expect("they can be read");

    let (_removals, unfit) = Removals::of(&table, &sources);

    let unfit: Vec<String> = unfit.into_iter().map(|(guard, why)| format!("{guard}: {why}")).collect();
    assert!(unfit.is_empty(), "{unfit:#?}");
    assert!(table.len() > 70, "{} guards", table.len());
}
