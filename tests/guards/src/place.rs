//! The one place in the sources at which the code of an edit stands, or what is wrong with the edit.

use std::ops::Range;

use crate::functions::Function;
use crate::instrument::Sources;
use crate::table::Edit;
use crate::tokens::{self, Token};

#[derive(Clone, Debug)]
pub struct Place<'a> {
    pub function: &'a Function,
    /// The bytes of its body that are replaced.
    pub at: Range<usize>,
}

/// Why an edit cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    #[error("`{0}` is not complete Rust in itself: are its brackets in pairs?")]
    NotRust(String),
    #[error("no old code says what is replaced in {0}")]
    NoOldCode(String),
    #[error("no function is called {path}; there is {}", near.join(", "))]
    NoFunction { path: String, near: Vec<String> },
    #[error("`{old}` does not stand in {function}; the nearest, {same} of {of} tokens, is `{nearest}`")]
    NotThere { old: String, function: String, same: usize, of: usize, nearest: String },
    #[error("`{old}` stands there {} times: {}", places.len(), places.join(", "))]
    Several { old: String, places: Vec<String> },
    #[error("{0} is `const`: the compiler calls it too, and asks no environment")]
    Const(String),
}

impl Edit {
    pub fn place<'a>(&self, functions: &'a [Function], sources: &Sources) -> Result<Place<'a>, Unfit> {
        let sought = self.sought()?;
        let called = called(&self.function, functions, sources);
        let found: Vec<Place<'_>> = called
            .iter()
            .flat_map(|(function, own)| tokens::places(&sought, own).into_iter().map(|at| Place { function, at }))
            .collect();
        match found.as_slice() {
            [] if called.is_empty() => Err(self.no_function(functions)),
            [] => Err(self.not_there(&sought, &called, sources)),
            [one] if one.function.is_const => Err(Unfit::Const(one.shown(sources))),
            [one] => Ok(one.clone()),
            several => {
                let places = several.iter().map(|place| place.shown(sources)).collect();
                Err(Unfit::Several { old: on_one_line(&self.old), places })
            }
        }
    }

    fn sought(&self) -> Result<Vec<Token>, Unfit> {
        tokens::tokens(&self.new).map_err(|_unpaired| Unfit::NotRust(on_one_line(&self.new)))?;
        match tokens::tokens(&self.old) {
            Ok(sought) if sought.is_empty() => Err(Unfit::NoOldCode(self.function.clone())),
            Ok(sought) => Ok(sought),
            Err(_unpaired) => Err(Unfit::NotRust(on_one_line(&self.old))),
        }
    }

    fn no_function(&self, functions: &[Function]) -> Unfit {
        let likeness = |function: &Function| {
            let same_name = self.function.ends_with(&format!("::{}", function.own_name()));
            f64::from(u8::from(same_name)) + strsim::jaro_winkler(&function.name(), &self.function)
        };
        let mut near: Vec<&Function> = functions.iter().collect();
        near.sort_by(|one, other| likeness(other).total_cmp(&likeness(one)));
        let near = near.into_iter().take(3).map(Function::name).collect();
        Unfit::NoFunction { path: self.function.clone(), near }
    }

    fn not_there(&self, sought: &[Token], called: &[(&Function, Vec<Token>)], sources: &Sources) -> Unfit {
        let near = called.iter().map(|(function, own)| {
            let (at, same) = tokens::nearest(sought, own);
            (Place { function, at }, same)
        });
        let (nearest, same) = near.max_by_key(|(_, same)| *same).expect("a function is called so");
        Unfit::NotThere {
            old: on_one_line(&self.old),
            function: nearest.shown(sources),
            same,
            of: sought.len(),
            nearest: on_one_line(nearest.code(sources)),
        }
    }
}

impl Place<'_> {
    fn code<'s>(&self, sources: &'s Sources) -> &'s str {
        &self.function.body_in(sources)[self.at.clone()]
    }

    /// `protocol::claim::see (shared/protocol/src/claim.rs:100)`.
    fn shown(&self, sources: &Sources) -> String {
        let before = &sources[&self.function.file][..self.function.body.start + self.at.start];
        let line = 1 + before.matches('\n').count();
        format!("{} ({}:{line})", self.function.name(), self.function.file.display())
    }
}

/// The functions that the path names, and their tokens.
fn called<'a>(path: &str, functions: &'a [Function], sources: &Sources) -> Vec<(&'a Function, Vec<Token>)> {
    let called = functions.iter().filter(|function| function.is_called(path));
    called.map(|function| (function, tokens::tokens(function.body_in(sources)).unwrap_or_default())).collect()
}

fn on_one_line(code: &str) -> String {
    code.split_whitespace().collect::<Vec<_>>().join(" ")
}
