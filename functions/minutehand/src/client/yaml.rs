//! YAML as JSON: a file that people write becomes the text that is sent, and it is remembered where in the file each part stands.
//!
//! It is YAML 1.2, whose `on`, `yes` and `no` are texts. The crate finds the events; what a JSON document cannot mean is refused here:
//! keys that are no texts, a key twice, infinity, tags, more documents than one. What anchors stand for is written out, up to a bound.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput, Tag};
use serde_json::Value;

/// Deeper is a mistake; the server says so too.
const DEPTH: usize = 128;
/// What is written out, anchors and all: the server takes an eighth of it.
const BYTES: usize = 8 << 20;

/// A document as JSON, and where its parts stand.
#[derive(Debug)]
pub(crate) struct Document {
    pub(crate) json: String,
    /// By JSON pointer.
    places: BTreeMap<String, Place>,
}

/// In a file, both from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

/// Why a text is no document, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct NoDocument {
    pub(crate) place: Place,
    pub(crate) why: String,
}

impl Document {
    /// YAML or JSON; what is JSON is sent as it is. `is_json`: it says that it is JSON, which is less than YAML.
    pub(crate) fn read(text: &str, is_json: bool) -> Result<Self, NoDocument> {
        let begins_as_json = text.trim_ascii_start().starts_with('{');
        let json = begins_as_json.then(|| serde_json::from_str::<serde::de::IgnoredAny>(text));
        match (Reader::of(text).document(), json) {
            (Ok(_), Some(Err(why))) if is_json => Err(no_json(&why)),
            (Ok(read), Some(Ok(_))) => Ok(Self { json: text.to_owned(), ..read }),
            // Of JSON the server says so too; here its place is known.
            (Err(no), Some(Ok(_))) if no.why.ends_with("is there twice") => Err(no),
            (Err(_of_yaml), Some(Ok(_))) => Ok(Self { json: text.to_owned(), places: BTreeMap::new() }),
            (Err(_of_yaml), Some(Err(why))) => Err(no_json(&why)),
            (read, _no_json) => read,
        }
    }

    /// Where the part stands that the pointer names, or what is nearest above it.
    pub(crate) fn place(&self, pointer: &str) -> Option<Place> {
        let mut pointer = pointer;
        loop {
            if let Some(place) = self.places.get(pointer) {
                return Some(*place);
            }
            pointer = pointer.rsplit_once('/')?.0;
        }
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    json: String,
    places: BTreeMap<String, Place>,
    /// What each anchor stands for.
    anchors: BTreeMap<usize, String>,
    /// Bytes in them.
    kept: usize,
}

type Read<T> = Result<T, NoDocument>;

impl<'a> Reader<'a> {
    fn of(text: &'a str) -> Self {
        let (json, places, anchors) = (String::new(), BTreeMap::new(), BTreeMap::new());
        Self { events: Parser::new_from_str(text), json, places, anchors, kept: 0 }
    }

    fn document(mut self) -> Read<Document> {
        let mut is_there = false;
        loop {
            match self.next()? {
                (Event::StreamEnd, at) if !is_there => return no(at, "it is empty"),
                (Event::StreamEnd, _) => return Ok(Document { json: self.json, places: self.places }),
                (Event::DocumentStart(_), at) if is_there => return no(at, "a file has one document"),
                (Event::DocumentStart(_), _) => {
                    is_there = true;
                    let (event, at) = self.next()?;
                    self.node(event, at, "", 0)?;
                }
                _other => {}
            }
        }
    }

    fn next(&mut self) -> Read<(Event<'a>, Place)> {
        match self.events.next_event() {
            Some(Ok((event, span))) => Ok((event, place(&span))),
            Some(Err(why)) => {
                let at = Place { line: why.marker().line(), column: why.marker().col() + 1 };
                no(at, &format!("this is not YAML: {}", why.info()))
            }
            None => Ok((Event::StreamEnd, Place { line: 1, column: 1 })),
        }
    }

    /// Writes a value, which begins with this event.
    fn node(&mut self, event: Event<'a>, at: Place, pointer: &str, depth: usize) -> Read<()> {
        if depth > DEPTH {
            return no(at, &format!("it is nested more than {DEPTH} deep"));
        }
        self.places.entry(pointer.to_owned()).or_insert(at);
        let begin = self.json.len();
        let anchor = match event {
            Event::Scalar(text, style, anchor, tag) => {
                self.json.push_str(&scalar(&text, style, tag.as_deref(), at)?);
                anchor
            }
            Event::SequenceStart(anchor, tag) => {
                untagged(tag.as_deref(), at)?;
                self.sequence(pointer, depth)?;
                anchor
            }
            Event::MappingStart(anchor, tag) => {
                untagged(tag.as_deref(), at)?;
                self.mapping(pointer, depth)?;
                anchor
            }
            Event::Alias(anchor) => {
                let Some(text) = self.anchors.get(&anchor) else {
                    return no(at, "this stands for what it is a part of");
                };
                self.json.push_str(text);
                0
            }
            _other => return no(at, "a value stands here"),
        };
        if self.json.len() > BYTES {
            return no(at, "its anchors make it too large");
        }
        self.keep(anchor, begin, at)
    }

    /// Anchors are numbered from 1.
    fn keep(&mut self, anchor: usize, begin: usize, at: Place) -> Read<()> {
        if anchor > 0 {
            let text = self.json[begin..].to_owned();
            self.kept += text.len();
            if self.kept > BYTES {
                return no(at, "its anchors make it too large");
            }
            self.anchors.insert(anchor, text);
        }
        Ok(())
    }

    fn sequence(&mut self, pointer: &str, depth: usize) -> Read<()> {
        self.json.push('[');
        for index in 0.. {
            let (event, at) = self.next()?;
            if event == Event::SequenceEnd {
                break;
            }
            if index > 0 {
                self.json.push(',');
            }
            self.node(event, at, &format!("{pointer}/{index}"), depth + 1)?;
        }
        self.json.push(']');
        Ok(())
    }

    fn mapping(&mut self, pointer: &str, depth: usize) -> Read<()> {
        let mut keys = BTreeSet::new();
        self.json.push('{');
        loop {
            let (event, at) = self.next()?;
            let key = match event {
                Event::MappingEnd => break,
                Event::Scalar(text, style, 0, None) if text != "<<" || style != ScalarStyle::Plain => text,
                Event::Scalar(_, _, 0, None) => return no(at, "`<<` is no part of YAML 1.2: write the fields out"),
                _other => return no(at, "a key is a text without an anchor or a tag"),
            };
            if !keys.is_empty() {
                self.json.push(',');
            }
            let below = format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"));
            self.places.insert(below.clone(), at);
            self.json.push_str(&quoted(&key));
            self.json.push(':');
            if !keys.insert(key.clone()) {
                return no(at, &format!("the key `{key:.64}` is there twice"));
            }
            let (event, at) = self.next()?;
            self.node(event, at, &below, depth + 1)?;
        }
        self.json.push('}');
        Ok(())
    }
}

/// What begins as JSON was meant as JSON, though all of JSON is YAML too.
fn no_json(why: &serde_json::Error) -> NoDocument {
    let place = Place { line: why.line().max(1), column: why.column().max(1) };
    let text = why.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _place)| text);
    let said = match text.strip_prefix("EOF while parsing ") {
        Some("an object") => "it ends before its last `}`",
        Some("a list") => "it ends before its last `]`",
        Some("a string") => "it ends within a text",
        Some(_) => "it ends too early",
        None => match text {
            "expected value" => "a value is missing",
            "key must be a string" => "a key is a text in double quotes",
            "trailing comma" => "a comma with nothing behind it",
            "trailing characters" => "more stands behind its end",
            "control character (\\u0000-\\u001F) found while parsing a string" => {
                "a text with a line break or a control character in it, which JSON writes as `\\n` and its like"
            }
            other => other,
        },
    };
    NoDocument { place, why: format!("this is not JSON: {said}") }
}

fn place(span: &Span) -> Place {
    Place { line: span.start.line(), column: span.start.col() + 1 }
}

fn no<T>(place: Place, why: &str) -> Read<T> {
    Err(NoDocument { place, why: why.to_owned() })
}

fn untagged(tag: Option<&Tag>, at: Place) -> Read<()> {
    match tag {
        None => Ok(()),
        Some(tag) => no(at, &format!("the tag `{}{}` says nothing here", tag.handle, tag.suffix)),
    }
}

fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// What a scalar means, as JSON: a text in quotes is one, and one without is what the core schema of YAML 1.2 says.
fn scalar(text: &str, style: ScalarStyle, tag: Option<&Tag>, at: Place) -> Read<Cow<'static, str>> {
    if let Some(tag) = tag {
        let is_text = tag.handle == "tag:yaml.org,2002:" && tag.suffix == "str";
        return if is_text { Ok(quoted(text).into()) } else { untagged(Some(tag), at).map(|()| "".into()) };
    }
    if style != ScalarStyle::Plain {
        return Ok(quoted(text).into());
    }
    Ok(match text {
        "" | "~" | "null" | "Null" | "NULL" => "null".into(),
        "true" | "True" | "TRUE" => "true".into(),
        "false" | "False" | "FALSE" => "false".into(),
        _ if is_no_number(text) => return no(at, "JSON has no such number"),
        other => number(other).unwrap_or_else(|| quoted(other)).into(),
    })
}

fn is_no_number(text: &str) -> bool {
    let text = text.trim_start_matches(['+', '-']);
    [".inf", ".Inf", ".INF", ".nan", ".NaN", ".NAN"].contains(&text)
}

/// The number that JSON has for it, digit for digit; none where it is a text.
fn number(text: &str) -> Option<String> {
    let radix = |digits: &str, radix| u64::from_str_radix(digits, radix).ok().map(|number| number.to_string());
    if let Some(digits) = text.strip_prefix("0x").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit())) {
        return radix(digits, 16);
    }
    if let Some(digits) = text.strip_prefix("0o").filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit())) {
        return radix(digits, 8);
    }
    let (sign, rest) = match text.as_bytes().first()? {
        b'-' => ("-", &text[1..]),
        b'+' => ("", &text[1..]),
        _ => ("", text),
    };
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    let (whole, part) = mantissa.split_once('.').map_or((mantissa, None), |(whole, part)| (whole, Some(part)));
    let are_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let is_power = |power: &str| {
        let digits = power.strip_prefix(['+', '-']).unwrap_or(power);
        !digits.is_empty() && are_digits(digits)
    };
    let has_digits = !whole.is_empty() || part.is_some_and(|part| !part.is_empty());
    if !has_digits || !are_digits(whole) || !part.is_none_or(are_digits) || !exponent.is_none_or(is_power) {
        return None;
    }
    let whole = Some(whole.trim_start_matches('0')).filter(|whole| !whole.is_empty()).unwrap_or("0");
    let part = part.map(|part| format!(".{}", if part.is_empty() { "0" } else { part })).unwrap_or_default();
    let exponent = exponent.map(|exponent| format!("e{exponent}")).unwrap_or_default();
    Some(format!("{sign}{whole}{part}{exponent}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(text: &str) -> String {
        Document::read(text, false).unwrap_or_else(|no| panic!("{text}: {no:?}")).json
    }

    fn refused(text: &str) -> (usize, usize, String) {
        let no = Document::read(text, text.starts_with("{\"")).unwrap_err();
        (no.place.line, no.place.column, no.why)
    }

    #[test]
    fn what_yaml_says_is_what_json_says() {
        for (yaml, said) in [
            ("a: 1\nb: [x, 'y', \"z\"]", r#"{"a":1,"b":["x","y","z"]}"#),
            ("on: failure\nyes: no\noff: on", r#"{"on":"failure","yes":"no","off":"on"}"#),
            ("- ~\n- null\n- true\n- False\n- ''\n-", r#"[null,null,true,false,"",null]"#),
            (
                "- 1.50\n- 010\n- 0x1F\n- 0o17\n- .5\n- 5.\n- +3\n- -1e3\n- 12345678901234567890123",
                "[1.50,10,31,15,0.5,5.0,3,-1e3,12345678901234567890123]",
            ),
            (
                "- 1_000\n- 1.2.3\n- 2026-01-01\n- 12:30\n- e3\n- '1'\n- !!str 1",
                r#"["1_000","1.2.3","2026-01-01","12:30","e3","1","1"]"#,
            ),
            ("1: a\ntrue: b", r#"{"1":"a","true":"b"}"#),
            ("a: |\n  two\n  lines\nb: >-\n  one\n  line", "{\"a\":\"two\\nlines\\n\",\"b\":\"one line\"}"),
            ("a: &x {n: 1}\nb: *x\nc: [*x]", r#"{"a":{"n":1},"b":{"n":1},"c":[{"n":1}]}"#),
            ("---\na: \"{{params.day}}\"\n", r#"{"a":"{{params.day}}"}"#),
        ] {
            assert_eq!(json(yaml), said, "{yaml}");
        }
    }

    #[test]
    fn json_stays_as_it_is() {
        let text = "{\n  \"a\": 1.000000000000000000001,\n  \"b\": \"\\ud83d\\ude00\"\n}\n";

        assert_eq!(json(text), text);
    }

    #[test]
    fn what_json_cannot_mean_is_refused_with_its_place() {
        for (yaml, place, why) in [
            ("a: 1\nb:\n  c: 2\n  c: 3", (4, 3), "the key `c` is there twice"),
            ("a: .inf", (1, 4), "JSON has no such number"),
            ("a: !!binary x", (1, 4), "says nothing here"),
            ("[1]: a", (1, 1), "a key is a text"),
            ("a: {<<: 1}", (1, 5), "no part of YAML 1.2"),
            ("a: 1\n---\nb: 2", (2, 1), "one document"),
            ("a: *nobody", (1, 4), ""),
            ("a: &x [*x]", (1, 8), "a part of"),
            ("a: [", (2, 1), "this is not YAML"),
            ("{\"a\": 1,\n \"b\": }", (2, 7), "this is not JSON: a value is missing"),
            ("{\"a\": [1, 2", (1, 12), "this is not JSON: it ends before its last `]`"),
            ("{\"a\": 1", (1, 8), "this is not JSON: it ends before its last `}`"),
            ("{\"a\": 1,\n \"a\": 2}", (2, 2), "the key `a` is there twice"),
            ("", (1, 1), "it is empty"),
        ] {
            let (line, column, said) = refused(yaml);

            assert!(said.contains(why), "{yaml}: {said}");
            assert_eq!(line, place.0, "{yaml}: {line}:{column} {said}");
        }
    }

    #[test]
    fn what_grows_without_end_is_refused() {
        let level = |n: usize| format!("a{n}: &a{n} [{}]", vec![format!("*a{}", n - 1); 9].join(", "));
        let mut bomb = vec!["a0: &a0 [x, x, x, x, x, x, x, x, x]".to_owned()];
        bomb.extend((1..20).map(level));

        assert!(refused(&bomb.join("\n")).2.contains("too large"));
        let (_, _, flow) = refused(&"[".repeat(10_000));
        assert!(flow.contains("deep") || flow.contains("not YAML"), "{flow}");
        assert!(refused(&format!("{}x", "- ".repeat(200))).2.contains("deep"));
    }

    #[test]
    fn a_part_is_found_by_its_pointer_or_by_what_it_is_in() {
        let document = Document::read("name: x\ntasks:\n  - key: a\n    whn: true\n  - {key: b}\n", false).unwrap();

        for (pointer, line, column) in [
            ("/name", 1, 1),
            ("/tasks/0", 3, 5),
            ("/tasks/0/whn", 4, 5),
            ("/tasks/1/key", 5, 6),
            ("/tasks/0/target", 3, 5),
            ("", 1, 1),
        ] {
            assert_eq!(document.place(pointer), Some(Place { line, column }), "{pointer}");
        }
    }
}
