//! A JSON patch by RFC 6902, applied to the text itself, so that a number which nobody touches keeps every digit and a field its position.
//! It is applied whole or not at all.
//!
//! What stands beside a path is not looked into: a value is opened where a step leads through it, and stays text otherwise.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use thiserror::Error;

use crate::body::Json;
use crate::limits::{JSON_DEPTH, PATCH_STEPS, PAYLOAD_BYTES, POINTER_CHARS};

/// The digits that a float tells apart.
const FLOAT_DIGITS: usize = 15;

/// A patch whose steps are well made, whatever they are applied to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Add { path: Pointer, value: Json },
    Remove { path: Pointer },
    Replace { path: Pointer, value: Json },
    Move { from: Pointer, path: Pointer },
    Copy { from: Pointer, path: Pointer },
    Test { path: Pointer, value: Json },
}

/// Where in a document, by RFC 6901.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer(Vec<String>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotAPointer {
    #[error("a pointer is empty or begins with `/`")]
    Begin,
    #[error("in a pointer `~` stands before 0 or 1")]
    Escape,
    #[error("a pointer has at most {POINTER_CHARS} characters")]
    TooLong,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("a patch has from 1 to {PATCH_STEPS} steps")]
pub struct NotAPatch;

/// Why a patch does not fit a document: the number of the step, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotPatched {
    #[error("step {0}: nothing stands at its path")]
    Nothing(usize),
    #[error("step {0}: what it tests for does not stand there")]
    Differs(usize),
    #[error("step {0}: a value cannot be moved into itself")]
    IntoItself(usize),
    #[error("what comes of it has more than {PAYLOAD_BYTES} bytes, or is nested too deep")]
    TooLarge,
    #[error("what it is applied to is no JSON")]
    NotJson,
}

impl Patch {
    pub fn new(steps: Vec<Step>) -> Result<Self, NotAPatch> {
        if (1..=PATCH_STEPS).contains(&steps.len()) { Ok(Self(steps)) } else { Err(NotAPatch) }
    }

    /// What comes of a document, all of whose steps fit it. A document that is not there is null.
    pub fn applied(&self, document: Option<&Json>) -> Result<Json, NotPatched> {
        let mut root = Node::Text(document.map_or("null", Json::as_str).to_owned());
        for (number, step) in self.0.iter().enumerate() {
            step.apply(&mut root).map_err(|why| why.at(number))?;
            // A copy may double it: forty of them would be more than there is memory.
            if root.bytes() > PAYLOAD_BYTES {
                return Err(NotPatched::TooLarge);
            }
        }
        let mut text = String::with_capacity(root.bytes());
        root.write(&mut text);
        let raw: &RawValue = serde_json::from_str(&text).map_err(|_| NotPatched::NotJson)?;
        let json = Json::compact(raw);
        let fits = json.len() <= PAYLOAD_BYTES && depth_of(json.as_str()) <= JSON_DEPTH;
        if fits { Ok(json) } else { Err(NotPatched::TooLarge) }
    }
}

/// Why a step does not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum No {
    Nothing,
    Differs,
    IntoItself,
    NotJson,
}

impl No {
    fn at(self, step: usize) -> NotPatched {
        match self {
            Self::Nothing => NotPatched::Nothing(step),
            Self::Differs => NotPatched::Differs(step),
            Self::IntoItself => NotPatched::IntoItself(step),
            Self::NotJson => NotPatched::NotJson,
        }
    }
}

impl Step {
    fn apply(&self, root: &mut Node) -> Result<(), No> {
        match self {
            Self::Add { path, value } => root.add(&path.0, Node::of(value)),
            Self::Remove { path } => root.remove(&path.0).map(|_removed| ()),
            Self::Replace { path, value } => {
                *root.find(&path.0)? = Node::of(value);
                Ok(())
            }
            Self::Move { from, path } if path.is_within(from) => Err(No::IntoItself),
            Self::Move { from, path } if from == path => root.find(&from.0).map(|_there| ()),
            Self::Move { from, path } => {
                let moved = root.remove(&from.0)?;
                root.add(&path.0, moved)
            }
            Self::Copy { from, path } => {
                let copied = root.find(&from.0)?.clone();
                root.add(&path.0, copied)
            }
            Self::Test { path, value } => {
                let there = root.find(&path.0)?.clone();
                if same(there, Node::of(value))? { Ok(()) } else { Err(No::Differs) }
            }
        }
    }
}

impl Pointer {
    pub fn parse(text: &str) -> Result<Self, NotAPointer> {
        if text.chars().count() > POINTER_CHARS {
            return Err(NotAPointer::TooLong);
        }
        let Some(rest) = text.strip_prefix('/') else {
            return if text.is_empty() { Ok(Self(Vec::new())) } else { Err(NotAPointer::Begin) };
        };
        rest.split('/').map(unescaped).collect::<Option<_>>().map(Self).ok_or(NotAPointer::Escape)
    }

    /// Whether it lies below another.
    fn is_within(&self, other: &Self) -> bool {
        self.0.len() > other.0.len() && self.0.starts_with(&other.0)
    }
}

fn unescaped(token: &str) -> Option<String> {
    let mut told = String::with_capacity(token.len());
    let mut chars = token.chars();
    while let Some(c) = chars.next() {
        told.push(match c {
            '~' => match chars.next()? {
                '0' => '~',
                '1' => '/',
                _ => return None,
            },
            c => c,
        });
    }
    Some(told)
}

/// A document, opened as far as somebody looked into it.
#[derive(Clone, Debug)]
enum Node {
    /// JSON.
    Text(String),
    Object(Vec<(String, Node)>),
    Array(Vec<Node>),
}

impl Node {
    fn of(json: &Json) -> Self {
        Self::Text(json.as_str().to_owned())
    }

    /// One level deeper, where there is one.
    fn open(&mut self) -> Result<(), No> {
        let Self::Text(text) = self else { return Ok(()) };
        let opened = match text.as_bytes().first() {
            Some(b'{') => serde_json::from_str(text).map(|Fields(fields)| Self::Object(fields)),
            Some(b'[') => serde_json::from_str(text).map(|Items(items)| Self::Array(items)),
            _ => return Ok(()),
        };
        *self = opened.map_err(|_| No::NotJson)?;
        Ok(())
    }

    /// What stands at a path.
    fn find(&mut self, path: &[String]) -> Result<&mut Self, No> {
        let Some((first, rest)) = path.split_first() else { return Ok(self) };
        self.open()?;
        let child = match self {
            Self::Object(fields) => fields.iter_mut().find(|(name, _)| name == first).map(|(_, value)| value),
            Self::Array(items) => index(first).and_then(|at| items.get_mut(at)),
            Self::Text(_) => None,
        };
        child.ok_or(No::Nothing)?.find(rest)
    }

    fn add(&mut self, path: &[String], value: Self) -> Result<(), No> {
        let Some((last, above)) = path.split_last() else {
            *self = value;
            return Ok(());
        };
        let parent = self.find(above)?;
        parent.open()?;
        match parent {
            Self::Object(fields) => match fields.iter_mut().find(|(name, _)| name == last) {
                Some((_, there)) => *there = value,
                None => fields.push((last.clone(), value)),
            },
            Self::Array(items) => {
                let at = if last == "-" { Some(items.len()) } else { index(last) };
                items.insert(at.filter(|at| *at <= items.len()).ok_or(No::Nothing)?, value);
            }
            Self::Text(_) => return Err(No::Nothing),
        }
        Ok(())
    }

    /// The whole document leaves null behind.
    fn remove(&mut self, path: &[String]) -> Result<Self, No> {
        let Some((last, above)) = path.split_last() else {
            return Ok(std::mem::replace(self, Self::Text("null".to_owned())));
        };
        let parent = self.find(above)?;
        parent.open()?;
        match parent {
            Self::Object(fields) => {
                let at = fields.iter().position(|(name, _)| name == last).ok_or(No::Nothing)?;
                Ok(fields.remove(at).1)
            }
            Self::Array(items) => {
                let at = index(last).filter(|at| *at < items.len()).ok_or(No::Nothing)?;
                Ok(items.remove(at))
            }
            Self::Text(_) => Err(No::Nothing),
        }
    }

    /// How long it is, about: what the names need of escapes is not counted.
    fn bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Object(fields) => {
                1 + fields.iter().map(|(name, value)| name.len() + 4 + value.bytes()).sum::<usize>()
            }
            Self::Array(items) => 1 + items.iter().map(|item| 1 + item.bytes()).sum::<usize>(),
        }
    }

    fn write(&self, out: &mut String) {
        match self {
            Self::Text(text) => out.push_str(text),
            Self::Object(fields) => {
                out.push('{');
                for (nth, (name, value)) in fields.iter().enumerate() {
                    if nth > 0 {
                        out.push(',');
                    }
                    out.push_str(Json::of(&name.as_str().into()).as_str());
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
            Self::Array(items) => {
                out.push('[');
                for (nth, item) in items.iter().enumerate() {
                    if nth > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
        }
    }
}

/// As the RFC writes one: no sign, no zero before other digits.
fn index(token: &str) -> Option<usize> {
    let is_plain =
        !token.is_empty() && token.bytes().all(|b| b.is_ascii_digit()) && (token == "0" || !token.starts_with('0'));
    token.parse().ok().filter(|_| is_plain)
}

/// How deep lists and objects lie in each other.
fn depth_of(text: &str) -> usize {
    let (mut depth, mut deepest, mut in_string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            b'{' | b'[' if !in_string => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b'}' | b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// Whether two documents mean the same: objects whatever the order of their fields, numbers by their value.
fn same(mut one: Node, mut other: Node) -> Result<bool, No> {
    one.open()?;
    other.open()?;
    match (one, other) {
        (Node::Object(mut one), Node::Object(mut other)) => {
            one.sort_by(|a, b| a.0.cmp(&b.0));
            other.sort_by(|a, b| a.0.cmp(&b.0));
            let names_are = one.iter().map(|(name, _)| name).eq(other.iter().map(|(name, _)| name));
            let values = one.into_iter().map(|(_, value)| value).zip(other.into_iter().map(|(_, value)| value));
            Ok(names_are && all_same(values)?)
        }
        (Node::Array(one), Node::Array(other)) => Ok(one.len() == other.len() && all_same(one.into_iter().zip(other))?),
        (Node::Text(one), Node::Text(other)) => Ok(same_text(&one, &other)),
        _ => Ok(false),
    }
}

fn all_same(pairs: impl Iterator<Item = (Node, Node)>) -> Result<bool, No> {
    for (one, other) in pairs {
        if !same(one, other)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Of what has no parts. A float does not tell all numbers apart that have many digits: these are the same where they are spelled so.
fn same_text(one: &str, other: &str) -> bool {
    if one == other {
        return true;
    }
    if one.starts_with('"') && other.starts_with('"') {
        let told = |text| serde_json::from_str::<String>(text).ok();
        return told(one).is_some() && told(one) == told(other);
    }
    let number = |text: &str| {
        let is_short = text.bytes().filter(u8::is_ascii_digit).count() <= FLOAT_DIGITS;
        text.parse::<f64>().ok().filter(|_| is_short)
    };
    matches!((number(one), number(other)), (Some(one), Some(other)) if one.to_bits() == other.to_bits() || one == 0.0 && other == 0.0)
}

/// An object's fields, in their order.
struct Fields(Vec<(String, Node)>);

struct Items(Vec<Node>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OneLevel).map(|node| match node {
            Node::Object(fields) => Self(fields),
            Node::Array(_) | Node::Text(_) => Self(Vec::new()),
        })
    }
}

impl<'de> Deserialize<'de> for Items {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(OneLevel).map(|node| match node {
            Node::Array(items) => Self(items),
            Node::Object(_) | Node::Text(_) => Self(Vec::new()),
        })
    }
}

struct OneLevel;

impl<'de> Visitor<'de> for OneLevel {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object or an array")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut fields = Vec::new();
        while let Some((name, value)) = entries.next_entry::<String, Box<RawValue>>()? {
            fields.push((name, Node::Text(value.get().to_owned())));
        }
        Ok(Node::Object(fields))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(value) = entries.next_element::<Box<RawValue>>()? {
            items.push(Node::Text(value.get().to_owned()));
        }
        Ok(Node::Array(items))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> Json {
        Json::compact(serde_json::from_str(text).unwrap())
    }

    fn at(text: &str) -> Pointer {
        Pointer::parse(text).unwrap()
    }

    fn add(path: &str, value: &str) -> Step {
        Step::Add { path: at(path), value: json(value) }
    }

    fn replace(path: &str, value: &str) -> Step {
        Step::Replace { path: at(path), value: json(value) }
    }

    fn remove(path: &str) -> Step {
        Step::Remove { path: at(path) }
    }

    fn test(path: &str, value: &str) -> Step {
        Step::Test { path: at(path), value: json(value) }
    }

    fn copy(from: &str, path: &str) -> Step {
        Step::Copy { from: at(from), path: at(path) }
    }

    fn shift(from: &str, path: &str) -> Step {
        Step::Move { from: at(from), path: at(path) }
    }

    fn patched(document: &str, steps: Vec<Step>) -> Result<String, NotPatched> {
        Patch::new(steps).unwrap().applied(Some(&json(document))).map(|json| json.as_str().to_owned())
    }

    /// The examples of the RFC's appendix A, and others of its rules.
    #[test]
    fn it_patches_as_the_rfc_says() {
        for (document, steps, result) in [
            (r#"{"foo":"bar"}"#, vec![add("/baz", r#""qux""#)], Ok(r#"{"foo":"bar","baz":"qux"}"#)),
            (r#"{"foo":["bar","baz"]}"#, vec![add("/foo/1", r#""qux""#)], Ok(r#"{"foo":["bar","qux","baz"]}"#)),
            (r#"{"baz":"qux","foo":"bar"}"#, vec![remove("/baz")], Ok(r#"{"foo":"bar"}"#)),
            (r#"{"foo":["bar","qux","baz"]}"#, vec![remove("/foo/1")], Ok(r#"{"foo":["bar","baz"]}"#)),
            (r#"{"baz":"qux","foo":"bar"}"#, vec![replace("/baz", r#""boo""#)], Ok(r#"{"baz":"boo","foo":"bar"}"#)),
            (
                r#"{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}"#,
                vec![shift("/foo/waldo", "/qux/thud")],
                Ok(r#"{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}"#),
            ),
            (
                r#"{"foo":["all","grass","cows","eat"]}"#,
                vec![shift("/foo/1", "/foo/3")],
                Ok(r#"{"foo":["all","cows","eat","grass"]}"#),
            ),
            (
                r#"{"baz":"qux","foo":["a",2,"c"]}"#,
                vec![test("/baz", r#""qux""#), test("/foo/1", "2")],
                Ok(r#"{"baz":"qux","foo":["a",2,"c"]}"#),
            ),
            (r#"{"baz":"qux"}"#, vec![test("/baz", r#""bar""#)], Err(NotPatched::Differs(0))),
            (
                r#"{"foo":"bar"}"#,
                vec![add("/child", r#"{"grandchild":{}}"#)],
                Ok(r#"{"foo":"bar","child":{"grandchild":{}}}"#),
            ),
            (r#"{"foo":"bar"}"#, vec![add("/baz/bat", r#""qux""#)], Err(NotPatched::Nothing(0))),
            (r#"{"/":9,"~1":10}"#, vec![test("/~01", "10")], Ok(r#"{"/":9,"~1":10}"#)),
            (r#"{"/":9,"~1":10}"#, vec![test("/~01", r#""10""#)], Err(NotPatched::Differs(0))),
            (r#"{"foo":["bar"]}"#, vec![add("/foo/-", r#"["abc","def"]"#)], Ok(r#"{"foo":["bar",["abc","def"]]}"#)),
            (r#"{"a":1}"#, vec![add("", "7"), add("/a", "1")], Err(NotPatched::Nothing(1))),
            (r#"{"a":1}"#, vec![add("", r#"{"b":2}"#)], Ok(r#"{"b":2}"#)),
            (r#"{"a":1}"#, vec![add("/a", "null")], Ok(r#"{"a":null}"#)),
            (r#"{"a":[1]}"#, vec![add("/a/2", "3")], Err(NotPatched::Nothing(0))),
            (r#"{"a":[1]}"#, vec![add("/a/00", "3")], Err(NotPatched::Nothing(0))),
            (r#"{"a":[1]}"#, vec![remove("/a/-")], Err(NotPatched::Nothing(0))),
            (r#"{"a":{"b":1}}"#, vec![shift("/a", "/a/b")], Err(NotPatched::IntoItself(0))),
            (r#"{"a":1}"#, vec![shift("/a", "/a")], Ok(r#"{"a":1}"#)),
            (r#"{"a":1}"#, vec![shift("/b", "/b")], Err(NotPatched::Nothing(0))),
            (
                r#"{"a":{"x":[1]}}"#,
                vec![copy("/a", "/b"), add("/b/x/-", "2")],
                Ok(r#"{"a":{"x":[1]},"b":{"x":[1,2]}}"#),
            ),
            (r#"{"a":1}"#, vec![remove("")], Ok("null")),
            (r#"{"":1}"#, vec![replace("/", "2")], Ok(r#"{"":2}"#)),
        ] {
            assert_eq!(patched(document, steps.clone()), result.map(str::to_owned), "{document} {steps:?}");
        }
    }

    #[test]
    fn a_test_compares_what_is_meant() {
        let document = r#"{"a":{"x":1,"y":[1.50,"\u0041"]},"big":12345678901234567890123}"#;
        for (path, value, is) in [
            ("/a", r#"{"y":[1.5,"A"],"x":1.0}"#, true),
            ("/a", r#"{"x":1}"#, false),
            ("/a/y", r#"["A",1.5]"#, false),
            ("/big", "12345678901234567890123", true),
            ("/big", "12345678901234567890124", false),
            ("/a/x", "true", false),
            ("/a/x", r#""1""#, false),
        ] {
            assert_eq!(patched(document, vec![test(path, value)]).is_ok(), is, "{path} {value}");
        }
    }

    #[test]
    fn digits_that_a_float_would_lose_are_kept() {
        let document = r#"{"a":12345678901234567890123,"b":{"c":1.50,"d":1E5}}"#;

        let result = patched(document, vec![add("/b/e", "0.10"), remove("/b/d")]);

        assert_eq!(result, Ok(r#"{"a":12345678901234567890123,"b":{"c":1.50,"e":0.10}}"#.to_owned()));
    }

    #[test]
    fn what_is_not_there_is_null() {
        let patch = Patch::new(vec![test("", "null"), add("", "{}"), add("/a", "1")]).unwrap();

        assert_eq!(patch.applied(None).map(|json| json.as_str().to_owned()), Ok(r#"{"a":1}"#.to_owned()));
    }

    /// Tried: without the look after each step, forty copies are a terabyte.
    #[test]
    fn a_hostile_patch_is_refused_before_it_is_large() {
        let document = format!(r#"{{"a":["{}"]}}"#, "x".repeat(1000));
        let doubling = vec![copy("/a", "/a/-"); 40];
        let deep: String = "[".repeat(100) + &"]".repeat(100);
        let deeper = Pointer(vec!["0".to_owned(); 99]);
        let nested = vec![
            add("", &deep),
            Step::Add { path: Pointer([&deeper.0[..], &["-".to_owned()]].concat()), value: json(&deep) },
        ];

        assert_eq!(patched(&document, doubling), Err(NotPatched::TooLarge));
        assert_eq!(patched("1", nested), Err(NotPatched::TooLarge));
        assert_eq!(Patch::new(vec![]), Err(NotAPatch));
        assert_eq!(Patch::new(vec![remove(""); PATCH_STEPS + 1]), Err(NotAPatch));
    }

    #[test]
    fn a_pointer_is_as_the_rfc_writes_it() {
        assert_eq!(Pointer::parse("/a~1b/~0"), Ok(Pointer(vec!["a/b".to_owned(), "~".to_owned()])));
        assert_eq!(Pointer::parse("a"), Err(NotAPointer::Begin));
        assert_eq!(Pointer::parse("/a~2"), Err(NotAPointer::Escape));
        assert_eq!(Pointer::parse("/a~"), Err(NotAPointer::Escape));
        assert_eq!(Pointer::parse(&"/a".repeat(POINTER_CHARS)), Err(NotAPointer::TooLong));
    }
}
