//! The table of removals, `tests/simulation/guards.toml`: which guards there are, what takes each away, and which tests must
//! notice.

use std::collections::BTreeMap;

use serde::Deserialize;

/// All guards, by name.
pub type Table = BTreeMap<String, Guard>;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guard {
    /// The tests that fail without it, as `module::test_of_a_fact`.
    pub tests: Vec<String>,
    function: String,
    old: String,
    new: String,
    #[serde(default)]
    and: Vec<Edit>,
}

/// What is changed in one place.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Edit {
    /// `crate::function`, and between them as many modules and types as it takes to name one: `domain::Run::after`.
    pub function: String,
    /// The code that stands in its body exactly once.
    pub old: String,
    /// What stands there when the guard is removed.
    pub new: String,
}

impl Guard {
    /// Everything that takes the guard away, all of it together.
    pub fn edits(&self) -> Vec<Edit> {
        let first = Edit { function: self.function.clone(), old: self.old.clone(), new: self.new.clone() };
        [first].into_iter().chain(self.and.clone()).map(Edit::without_last_comma).collect()
    }
}

impl Edit {
    /// The comma after the last arm is rustfmt's too.
    fn without_last_comma(self) -> Self {
        match (self.old.trim_end().strip_suffix(','), self.new.trim_end().strip_suffix(',')) {
            (Some(old), Some(new)) => Self { old: old.to_owned(), new: new.to_owned(), ..self },
            _ => self,
        }
    }
}

/// A sentence with the line where the table is wrong, if it is.
pub fn parse(text: &str) -> Result<Table, String> {
    let table: Table = basic_toml::from_str(text).map_err(|wrong| wrong.to_string())?;
    match table.iter().find(|(_, guard)| guard.tests.is_empty()) {
        Some((name, _)) => Err(format!("{name}: no test is named that must notice its removal")),
        None => Ok(table),
    }
}
