//! Source files in which every removal stands beside the code it takes the place of, and the environment says which is in
//! force: so one build holds them all.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::functions::{self, Function};
use crate::place::Unfit;
use crate::table::{Edit, Table};

/// The variable that names the guard to be removed.
pub const VARIABLE: &str = "MINUTEHAND_REMOVED_GUARD";

/// What is added to each crate that has something to remove. Read once: a process removes one guard or none.
fn question() -> String {
    format!(
        "
pub(crate) fn guard_is_removed(name: &str) -> bool {{
    static REMOVED: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    REMOVED.get_or_init(|| std::env::var(\"{VARIABLE}\").ok()).as_deref() == Some(name)
}}
"
    )
}

/// The workspace's Rust sources, by their path below its root.
pub type Sources = BTreeMap<PathBuf, String>;

/// A body without one guard.
#[derive(Debug)]
struct Variant {
    guard: String,
    body: String,
}

/// What is removed in each function.
#[derive(Debug, Default)]
pub struct Removals(BTreeMap<PathBuf, BTreeMap<(usize, usize), Vec<Variant>>>);

/// Which lines of a written file are a body without this guard.
#[derive(Debug)]
pub struct Lines {
    pub file: PathBuf,
    pub lines: Range<usize>,
    pub guard: String,
}

impl Removals {
    /// What the table removes, and for each guard that cannot be removed, why.
    pub fn of(table: &Table, sources: &Sources) -> (Self, BTreeMap<String, Unfit>) {
        let functions = all_functions(sources);
        let (mut removals, mut refused) = (Self::default(), BTreeMap::new());
        for (name, guard) in table {
            match bodies_without(&guard.edits(), &functions, sources) {
                Ok(bodies) => removals.add(name, bodies),
                Err(why) => drop(refused.insert(name.clone(), why)),
            }
        }
        (removals, refused)
    }

    fn add(&mut self, guard: &str, bodies: Vec<(&Function, String)>) {
        for (function, body) in bodies {
            let of_file = self.0.entry(function.file.clone()).or_default();
            let variants = of_file.entry((function.body.start, function.body.end)).or_default();
            variants.push(Variant { guard: guard.to_owned(), body });
        }
    }

    /// Leaves a guard in its place, since without it nothing compiles.
    pub fn forget(&mut self, guard: &str) {
        for variants in self.0.values_mut().flat_map(BTreeMap::values_mut) {
            variants.retain(|variant| variant.guard != guard);
        }
    }

    /// The files that are written otherwise than they are, and where each removal lies in them.
    pub fn written(&self, sources: &Sources) -> (Sources, Vec<Lines>) {
        let (mut written, mut lines) = (Sources::new(), Vec::new());
        for (file, bodies) in &self.0 {
            let (code, of_file) = with_variants(file, &sources[file], bodies);
            written.insert(file.clone(), code);
            lines.extend(of_file);
        }
        let roots: BTreeSet<PathBuf> = self.0.keys().filter_map(|file| crate_root(file, sources)).collect();
        for root in roots {
            let untouched = sources[&root].clone();
            written.entry(root).or_insert(untouched).push_str(&question());
        }
        (written, lines)
    }
}

fn all_functions(sources: &Sources) -> Vec<Function> {
    let of_each = sources.iter().map(|(file, code)| {
        // What does not parse does not compile either, and the compiler says it better.
        functions::functions(file, code).unwrap_or_default()
    });
    of_each.flatten().collect()
}

/// Each function that has to be another, and its body.
fn bodies_without<'a>(
    edits: &[Edit],
    functions: &'a [Function],
    sources: &Sources,
) -> Result<Vec<(&'a Function, String)>, Unfit> {
    let mut changes: BTreeMap<(&Path, usize), (&Function, Vec<Change<'_>>)> = BTreeMap::new();
    for edit in edits {
        let place = edit.place(functions, sources)?;
        let key = (place.function.file.as_path(), place.function.body.start);
        let of_function = changes.entry(key).or_insert((place.function, Vec::new()));
        of_function.1.push((place.at, &edit.new));
    }
    let bodies = changes.into_values().map(|(function, changes)| {
        let body = changed(function.body_in(sources), changes);
        (function, body)
    });
    Ok(bodies.collect())
}

/// What stands where in a body, and what comes there instead.
type Change<'a> = (Range<usize>, &'a str);

fn changed(body: &str, mut changes: Vec<Change<'_>>) -> String {
    // The last first: so the others stay where they are.
    changes.sort_by_key(|(at, _)| std::cmp::Reverse(at.start));
    let mut body = body.to_owned();
    for (at, new) in changes {
        body.replace_range(at, new);
    }
    body
}

fn with_variants(file: &Path, code: &str, bodies: &BTreeMap<(usize, usize), Vec<Variant>>) -> (String, Vec<Lines>) {
    let (mut written, mut lines, mut done) = (String::new(), Vec::new(), 0);
    for ((start, end), variants) in bodies {
        written += &code[done..*start];
        written += "{ ";
        for Variant { guard, body } in variants {
            written.extend(["if crate::guard_is_removed(\"", guard, "\")\n"]);
            let first = line_at_end(&written);
            written += body;
            let past = line_at_end(&written) + 1;
            written += "\nelse ";
            lines.push(Lines { file: file.to_path_buf(), lines: first..past, guard: guard.clone() });
        }
        written += &code[*start..*end];
        written += " }";
        done = *end;
    }
    written += &code[done..];
    (written, lines)
}

fn line_at_end(code: &str) -> usize {
    1 + code.matches('\n').count()
}

/// `src/lib.rs` beside a file, or `src/main.rs` where that is the crate.
fn crate_root(file: &Path, sources: &Sources) -> Option<PathBuf> {
    let src = file.ancestors().find(|folder| folder.ends_with("src"))?;
    ["lib.rs", "main.rs"].map(|root| src.join(root)).into_iter().find(|root| sources.contains_key(root))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table;

    const CODE: &str = "\
impl Sweep {
    // Past the line, and nothing found.
    fn may_leave(&self) -> bool {
        self.now >= line(self.minute) // in seconds
            && self.found == 0
    }
}

const fn line(minute: u64) -> u64 {
    minute * 60
}
";

    /// A workspace of one crate, `protocol`, and what a table removes from it.
    fn removed(table: &str) -> (Sources, Removals, BTreeMap<String, Unfit>) {
        let sources = Sources::from([
            ("shared/protocol/src/lib.rs".into(), "mod sweep;\n".into()),
            ("shared/protocol/src/sweep.rs".into(), CODE.into()),
        ]);
        let (removals, unfit) = Removals::of(&table::parse(table).unwrap(), &sources);
        (sources, removals, unfit)
    }

    /// The sentence that says why this edit cannot be made.
    fn why(function: &str, old: &str, new: &str) -> String {
        let table = format!("[it]\ntests = ['a::b']\nfunction = '{function}'\nold = '{old}'\nnew = '{new}'\n");
        removed(&table).2["it"].to_string()
    }

    #[test]
    fn every_removal_stands_beside_the_code_whose_place_it_takes() {
        let (sources, removals, unfit) = removed(
            "
            [line]
            tests = ['a::b']
            function = 'protocol::Sweep::may_leave'
            old = 'self.now >= line(self.minute) &&'
            new = ''

            [both]
            tests = ['a::b']
            function = 'protocol::may_leave'
            old = 'self.now'
            new = 'self.late'

            [[both.and]]
            function = 'protocol::may_leave'
            old = '== 0'
            new = '== 1'
            ",
        );

        let (written, lines) = removals.written(&sources);

        assert!(unfit.is_empty(), "{unfit:?}");
        let expected = "\
impl Sweep {
    // Past the line, and nothing found.
    fn may_leave(&self) -> bool { if crate::guard_is_removed(\"both\")
{
        self.late >= line(self.minute) // in seconds
            && self.found == 1
    }
else if crate::guard_is_removed(\"line\")
{
         self.found == 0
    }
else {
        self.now >= line(self.minute) // in seconds
            && self.found == 0
    } }
}
";
        let code = &written[Path::new("shared/protocol/src/sweep.rs")];
        assert_eq!(code.strip_prefix(expected), CODE.split_once("\n}\n").map(|(_, rest)| rest));
        assert!(written[Path::new("shared/protocol/src/lib.rs")].contains("fn guard_is_removed"));
        let lines: Vec<_> = lines.into_iter().map(|of| (of.guard, of.lines)).collect();
        assert_eq!(lines, [("both".into(), 4..8), ("line".into(), 9..12)]);
    }

    #[test]
    fn a_guard_without_which_nothing_compiles_is_left_in_its_place() {
        let (sources, mut removals, _) =
            removed("[it]\ntests = ['a::b']\nfunction = 'protocol::may_leave'\nold = '== 0'\nnew = '== nothing'");

        removals.forget("it");

        let (written, lines) = removals.written(&sources);
        assert!(lines.is_empty());
        assert!(!written[Path::new("shared/protocol/src/sweep.rs")].contains("guard_is_removed"));
    }

    #[test]
    fn an_edit_that_does_not_fit_says_what_is_there() {
        assert_eq!(
            why("protocol::may_leave", "self.now > line(self.minute)", ""),
            "`self.now > line(self.minute)` does not stand in protocol::sweep::Sweep::may_leave \
             (shared/protocol/src/sweep.rs:4); the nearest, 9 of 10 tokens, is `self.now >= line(self.minute`"
        );
        assert_eq!(
            why("protocol::may_leave", "self", "them"),
            "`self` stands there 3 times: protocol::sweep::Sweep::may_leave (shared/protocol/src/sweep.rs:4), \
             protocol::sweep::Sweep::may_leave (shared/protocol/src/sweep.rs:4), \
             protocol::sweep::Sweep::may_leave (shared/protocol/src/sweep.rs:5)"
        );
        assert!(why("protocol::may_go", "self", "").starts_with("no function is called protocol::may_go; there is "));
        assert!(why("protocol::line", "60", "61").contains("is `const`"));
        assert!(why("protocol::may_leave", "if true {", "").contains("brackets"));
        assert!(why("protocol::may_leave", "// nothing", "1").contains("no old code"));
    }

    #[test]
    fn a_comma_after_the_last_arm_makes_no_difference() {
        let code = "fn f(a: u8) -> u8 { match a { 0 => 1,\n _ => 2,\n } }";
        let sources = Sources::from([("shared/io/src/lib.rs".into(), code.into())]);
        let table = "[it]\ntests = ['a::b']\nfunction = 'io::f'\nold = '_ => 2,'\nnew = '_ => 3,'";

        let (removals, unfit) = Removals::of(&table::parse(table).unwrap(), &sources);

        assert!(unfit.is_empty(), "{unfit:?}");
        let (written, _) = removals.written(&sources);
        assert!(written[Path::new("shared/io/src/lib.rs")].contains("_ => 3,\n }"));
    }
}
