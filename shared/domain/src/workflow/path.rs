//! A path: which value a template means. `tasks.KEY.result.x`, `params.x`, `item.x`, `index`, `outcome`; a number leads into a list.
//! What the values say stays as it was written, digit for digit.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use serde_json::value::RawValue;
use thiserror::Error;

use super::key::TaskKey;
use crate::body::Json;

/// Deeper is a mistake: a result may be nested, and JSON that is deeper is refused at the edge.
const SEGMENTS: usize = 32;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Path {
    pub root: Root,
    /// Where in that value.
    pub within: Vec<String>,
}

/// The value that a path begins at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Root {
    Params,
    /// What this branch of a `for_each` is for.
    Item,
    /// Its number, from 0.
    Index,
    /// How the tasks before `finally` ended, taken together.
    Outcome,
    Task(TaskKey, Of),
}

/// Values that paths lead through: each list and each object in them is read once, however many paths lead through it.
#[derive(Default)]
pub struct Opened<'a>(BTreeMap<(&'a Root, &'a [String]), Parts<'a>>);

enum Parts<'a> {
    Fields(BTreeMap<Cow<'a, str>, &'a RawValue>),
    Items(Vec<&'a RawValue>),
    /// A text, a number or the like.
    None,
}

/// What is asked of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    Status,
    Result,
    /// Of a `for_each`: its branches' results in their order, null where one has none.
    Results,
    /// What went wrong: null where nothing did.
    Error,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotAPath {
    #[error(
        "`{0}` is no path: it begins with `tasks.KEY.result`, `.results`, `.status` or `.error`, `params`, `item`, `index` or `outcome`"
    )]
    Unknown(String),
    #[error("`{0}` is deeper than {SEGMENTS} steps")]
    TooDeep(String),
}

/// Nothing is there.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("there is no `{0}`")]
pub struct NothingThere(pub String);

impl FromStr for Path {
    type Err = NotAPath;

    fn from_str(text: &str) -> Result<Self, NotAPath> {
        let unknown = || NotAPath::Unknown(text.to_owned());
        let mut segments = text.split('.').map(str::trim);
        let root = match segments.next() {
            Some("params") => Root::Params,
            Some("item") => Root::Item,
            Some("index") => Root::Index,
            Some("outcome") => Root::Outcome,
            Some("tasks") => task(&mut segments).ok_or_else(unknown)?,
            _ => return Err(unknown()),
        };
        let within: Vec<String> = segments.map(str::to_owned).collect();
        let is_scalar = matches!(root, Root::Index | Root::Outcome | Root::Task(_, Of::Status));
        if within.iter().any(String::is_empty) || is_scalar && !within.is_empty() {
            return Err(unknown());
        }
        if within.len() > SEGMENTS { Err(NotAPath::TooDeep(text.to_owned())) } else { Ok(Self { root, within }) }
    }
}

fn task<'a>(segments: &mut impl Iterator<Item = &'a str>) -> Option<Root> {
    let key = segments.next()?.parse().ok()?;
    let of = match segments.next()? {
        "status" => Of::Status,
        "result" => Of::Result,
        "results" => Of::Results,
        "error" => Of::Error,
        _ => return None,
    };
    Some(Root::Task(key, of))
}

impl Path {
    /// The part of `value`, which its root names, that it leads to: JSON as it stands there.
    pub fn select<'a>(&'a self, value: &'a Json, opened: &mut Opened<'a>) -> Result<&'a str, NothingThere> {
        // A cleanup asks what went wrong also where nothing did.
        if matches!(self.root, Root::Task(_, Of::Error)) && value.as_str() == "null" {
            return Ok(value.as_str());
        }
        let mut at = value.as_str();
        for (depth, segment) in self.within.iter().enumerate() {
            let parts = opened.0.entry((&self.root, &self.within[..depth])).or_insert_with(|| Parts::of(at));
            at = parts.part(segment).ok_or_else(|| NothingThere(self.to_string()))?;
        }
        Ok(at)
    }
}

/// What stands in a field of an object, as it was written.
pub(super) fn field_of<'a>(object: &'a str, name: &str) -> Option<&'a str> {
    let Parts::Fields(fields) = Parts::of(object) else { return None };
    fields.get(name).map(|field| field.get())
}

/// An item of a list, as it was written.
pub(super) fn item_of(list: &str, number: usize) -> Option<&str> {
    let Parts::Items(items) = Parts::of(list) else { return None };
    items.get(number).map(|item| item.get())
}

impl<'a> Parts<'a> {
    fn of(text: &'a str) -> Self {
        let parts = match text.as_bytes().first() {
            Some(b'{') => serde_json::from_str(text).map(Self::Fields),
            Some(b'[') => serde_json::from_str(text).map(Self::Items),
            _ => Ok(Self::None),
        };
        parts.unwrap_or(Self::None)
    }

    /// A field of an object, or an item of a list.
    fn part(&self, segment: &str) -> Option<&'a str> {
        let part = match self {
            Self::Fields(fields) => fields.get(segment),
            Self::Items(items) => items.get(segment.parse::<usize>().ok()?),
            Self::None => None,
        };
        part.map(|part| part.get())
    }
}

impl Of {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Result => "result",
            Self::Results => "results",
            Self::Error => "error",
        }
    }
}

impl fmt::Display for Root {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Params => f.write_str("params"),
            Self::Item => f.write_str("item"),
            Self::Index => f.write_str("index"),
            Self::Outcome => f.write_str("outcome"),
            Self::Task(key, of) => write!(f, "tasks.{key}.{}", of.as_str()),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.fmt(f)?;
        self.within.iter().try_for_each(|segment| write!(f, ".{segment}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::compact(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn a_path_says_what_it_means_or_is_refused() {
        for good in [
            "params",
            "params.a.b",
            "item",
            "index",
            "outcome",
            "tasks.a-b.result",
            "tasks.a.results.0.x",
            "tasks.a.status",
            "tasks.a.error.message",
        ] {
            assert_eq!(good.parse::<Path>().unwrap().to_string(), good);
        }
        for bad in [
            "",
            "param",
            "tasks",
            "tasks.a",
            "tasks.a.output",
            "tasks.a b.result",
            "params..x",
            "index.0",
            "tasks.a.status.x",
            "params.",
        ] {
            assert!(bad.parse::<Path>().is_err(), "{bad}");
        }
        assert!(matches!(["params"; 34].join(".").parse::<Path>(), Err(NotAPath::TooDeep(_))));
    }

    #[test]
    fn the_parts_of_no_error_are_null() {
        let select = |path: &str, value: &str| {
            path.parse::<Path>().unwrap().select(&json(value), &mut Opened::default()).map(str::to_owned)
        };

        assert_eq!(select("tasks.a.error.message", "null").unwrap(), "null");
        assert_eq!(select("tasks.a.error.kind", r#"{"kind": "http_4xx"}"#).unwrap(), "\"http_4xx\"");
        assert!(select("tasks.a.error.knd", r#"{"kind": "http_4xx"}"#).is_err());
        assert!(select("tasks.a.result.message", "null").is_err(), "of what is not an error");
    }

    /// Removed: what was opened is kept. A thousand names of an object of 18,000 fields took four seconds.
    #[test]
    fn what_many_paths_lead_through_is_opened_once() {
        let value = json(r#"{"a": {"x": 1, "y": [2, 3]}, "b": 4}"#);
        let paths =
            ["params.a.x", "params.a.y.0", "params.a.y.1", "params.b"].map(|path| path.parse::<Path>().unwrap());
        let mut opened = Opened::default();

        let parts = paths.each_ref().map(|path| path.select(&value, &mut opened).unwrap());

        assert_eq!((parts, opened.0.len()), (["1", "2", "3", "4"], 3), "the whole, `a` and `a.y`");
    }

    #[test]
    fn what_it_leads_to_stays_as_it_was_written() {
        let value = json(r#"{"a": [{"n": 12345678901234567890123.10}, "x"], "b c": null}"#);
        let select =
            |path: &str| path.parse::<Path>().unwrap().select(&value, &mut Opened::default()).map(str::to_owned);

        assert_eq!(select("params.a.0.n").unwrap(), "12345678901234567890123.10");
        assert_eq!(select("params.a.1").unwrap(), "\"x\"");
        assert_eq!(select("params.b c").unwrap(), "null", "null is there");
        for nothing in ["params.c", "params.a.2", "params.a.x", "params.a.1.y"] {
            assert_eq!(select(nothing).unwrap_err().to_string(), format!("there is no `{nothing}`"));
        }
    }
}
