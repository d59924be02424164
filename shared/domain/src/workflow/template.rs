//! A template: JSON in which texts may name values, `"{{tasks.load.result.rows}}"`. A text that is nothing but one name becomes the
//! value as it is, of whatever kind; inside a longer text it becomes text. `{{"…"}}` stands for the text in the quotes, so that a
//! payload can say `{{` itself. Keys of objects, and all else, stay as they were written, digit for digit.
//!
//! How JSON spells a text makes no difference: `{{params.gr\u00f6\u00dfe}}` is `{{params.größe}}`. Braces were text before where they were spelled by
//! their numbers, and are so in what is stored: those of a template that is written now are written out when it is accepted.

use std::collections::{BTreeMap, BTreeSet};

use thiserror::Error;

use super::path::{NotAPath, NothingThere, Opened, Path, Root};
use crate::body::Json;
use crate::body::text::{characters, said, string_at};
use crate::limits::PAYLOAD_BYTES;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    source: Json,
    pieces: Vec<Piece>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Goes out as it stands.
    Text(String),
    /// The value, in the place of a whole text.
    Value(Path),
    /// The value as text, inside a text.
    Inside(Path),
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotATemplate {
    #[error(transparent)]
    Path(#[from] NotAPath),
    #[error("a `{{{{` without its `}}}}`")]
    Open,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotFilled {
    #[error(transparent)]
    Nothing(#[from] NothingThere),
    #[error("filled in, it has more than {PAYLOAD_BYTES} bytes")]
    TooLarge,
}

/// How its names are read.
#[derive(Clone, Copy)]
enum Names {
    Asked,
    Stored,
}

impl Template {
    /// As a client asks for it.
    pub fn new(source: Json) -> Result<Self, NotATemplate> {
        Self::read(with_braces_written_out(source), Names::Asked)
    }

    /// As it was stored, perhaps before names were decoded: one that says no path was accepted for how it is spelled, and leads nowhere.
    pub fn stored(source: Json) -> Result<Self, NotATemplate> {
        Self::read(source, Names::Stored)
    }

    fn read(source: Json, names: Names) -> Result<Self, NotATemplate> {
        let mut pieces = Vec::new();
        for (before, string, is_key) in strings(source.as_str()) {
            push_text(&mut pieces, before);
            if is_key || !string.contains("{{") {
                push_text(&mut pieces, string);
            } else {
                compile(string, names, &mut pieces)?;
            }
        }
        Ok(Self { source, pieces })
    }

    /// As it was written, but for the spelling of its braces.
    pub fn source(&self) -> &Json {
        &self.source
    }

    /// The values that it names.
    pub fn paths(&self) -> impl Iterator<Item = &Path> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Text(_) => None,
            Piece::Value(path) | Piece::Inside(path) => Some(path),
        })
    }

    /// What those values begin at.
    pub fn roots(&self) -> BTreeSet<&Root> {
        self.paths().map(|path| &path.root).collect()
    }

    /// With the values in the places of their names. It stops where the whole would be more than a target may be given: a short
    /// template may name a large value often.
    pub fn fill(&self, value_of: impl Fn(&Root) -> Option<Json>) -> Result<Json, NotFilled> {
        let roots: BTreeMap<&Root, Option<Json>> =
            self.roots().into_iter().map(|root| (root, value_of(root))).collect();
        let mut opened = Opened::default();
        let mut selected = |path| selected(path, &roots, &mut opened);
        let mut whole = String::with_capacity(self.source.len());
        for piece in &self.pieces {
            match piece {
                Piece::Text(text) => whole.push_str(text),
                Piece::Value(path) => whole.push_str(selected(path)?),
                Piece::Inside(path) => whole.push_str(&as_text(selected(path)?)),
            }
            if whole.len() > PAYLOAD_BYTES {
                return Err(NotFilled::TooLarge);
            }
        }
        Ok(Json::checked(whole))
    }
}

/// What a name stands for.
fn selected<'a>(
    path: &'a Path,
    roots: &'a BTreeMap<&Root, Option<Json>>,
    opened: &mut Opened<'a>,
) -> Result<&'a str, NothingThere> {
    let root = roots.get(&path.root).and_then(Option::as_ref);
    path.select(root.ok_or_else(|| NothingThere(path.root.to_string()))?, opened)
}

/// Each string of JSON with its quotes, what stands between it and the one before, and whether it is a key; last what stands behind them all.
fn strings(json: &str) -> impl Iterator<Item = (&str, &str, bool)> {
    let mut rest = json;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (before, string, behind) = next_string(rest);
        rest = behind;
        Some((before, string, behind.starts_with(':')))
    })
}

/// What stands before the next string, the string with its quotes, and what stands behind it.
fn next_string(text: &str) -> (&str, &str, &str) {
    let Some(start) = text.find('"') else { return (text, "", "") };
    let end = start + string_at(&text[start..]);
    (&text[..start], &text[start..end], &text[end..])
}

/// The same JSON, in whose templates no brace is spelled by its number.
fn with_braces_written_out(source: Json) -> Json {
    if !source.as_str().contains("\\u007") {
        return source;
    }
    let mut whole = String::with_capacity(source.len());
    for (before, string, is_key) in strings(source.as_str()) {
        whole.push_str(before);
        let written_out = Some(string).filter(|_| !is_key).map(pairs_written_out);
        whole.push_str(written_out.as_deref().filter(|string| string.contains("{{")).unwrap_or(string));
    }
    Json::checked(whole)
}

/// A string in which braces are written out that stand beside another of their kind: a lone one is no part of a template.
fn pairs_written_out(string: &str) -> String {
    let said: Vec<(usize, char)> = characters(string).collect();
    let mut whole = String::with_capacity(string.len());
    for (nth, (at, character)) in said.iter().enumerate() {
        let next = said.get(nth + 1);
        let before = nth.checked_sub(1).and_then(|nth| said.get(nth));
        let is_paired = [before, next].into_iter().flatten().any(|(_, beside)| beside == character);
        if matches!(character, '{' | '}') && is_paired {
            whole.push(*character);
        } else {
            whole.push_str(&string[*at..next.map_or(string.len(), |(end, _)| *end)]);
        }
    }
    whole
}

/// One string of JSON: what is no name in it keeps its spelling.
fn compile(string: &str, names: Names, pieces: &mut Vec<Piece>) -> Result<(), NotATemplate> {
    let inside = &string[1..string.len() - 1];
    if let Some(name) = inside.strip_prefix("{{").and_then(|rest| rest.strip_suffix("}}"))
        && !name.contains("{{")
        && quoted(name).is_none()
    {
        pieces.push(Piece::Value(names.path(name)?));
        return Ok(());
    }
    push_text(pieces, "\"");
    let mut rest = inside;
    while let Some((before, after)) = rest.split_once("{{") {
        let (name, behind) = after.split_once("}}").ok_or(NotATemplate::Open)?;
        push_text(pieces, before);
        match quoted(name) {
            Some(text) => push_text(pieces, text),
            None => pieces.push(Piece::Inside(names.path(name)?)),
        }
        rest = behind;
    }
    push_text(pieces, rest);
    push_text(pieces, "\"");
    Ok(())
}

/// What stands between the quotes, as it is spelled, where a name is a text in quotes.
fn quoted(name: &str) -> Option<&str> {
    let mut said = characters(name).filter(|(_, character)| !character.is_whitespace());
    let (open, '"') = said.next()? else { return None };
    let (close, '"') = said.last()? else { return None };
    let begin = characters(name).map(|(at, _)| at).find(|at| *at > open)?;
    Some(&name[begin..close])
}

impl Names {
    /// What a name says, which is spelled as in a string of JSON.
    fn path(self, name: &str) -> Result<Path, NotAPath> {
        let said = said(name);
        match (self, said.trim().parse::<Path>()) {
            (Self::Stored, Err(_no_path)) => name.trim().parse(),
            (_, read) => read,
        }
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) {
    match pieces.last_mut() {
        _ if text.is_empty() => {}
        Some(Piece::Text(before)) => before.push_str(text),
        _ => pieces.push(Piece::Text(text.to_owned())),
    }
}

/// Inside of a text: a text without its quotes, and all else as JSON says it.
fn as_text(text: &str) -> String {
    if text.starts_with('"') {
        return text[1..text.len() - 1].to_owned();
    }
    let quoted = Json::of(&serde_json::Value::from(text));
    quoted.as_str()[1..quoted.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;
    use crate::body::text::by_numbers;

    fn template(value: &serde_json::Value) -> Result<Template, NotATemplate> {
        Template::new(Json::of(value))
    }

    fn filled(value: &serde_json::Value) -> Result<String, String> {
        let of = |root: &Root| match root.to_string().as_str() {
            "params" => Some(Json::of(&json!({"day": "Monday \"1\"", "n": 3, "deep": {"list": [1, {"x": null}]}}))),
            "tasks.load.result" => Some(Json::of(&json!({"rows": 12, "name": "ä\n"}))),
            "index" => Some(Json::of(&json!(7))),
            _ => None,
        };
        let template = template(value).map_err(|refusal| refusal.to_string())?;
        template.fill(of).map(|json| json.as_str().to_owned()).map_err(|nothing| nothing.to_string())
    }

    /// By its text.
    fn spelled(source: &str) -> Json {
        Json::compact(serde_json::from_str(source).unwrap())
    }

    fn filled_by(template: &Template) -> Result<String, String> {
        let of = |root: &Root| (*root == Root::Params).then(|| spelled(r#"{"größe": 1.50, "a/b": 2, "x": 3}"#));
        template.fill(of).map(|json| json.as_str().to_owned()).map_err(|nothing| nothing.to_string())
    }

    /// Removed, one after the other: names are decoded; quotes are looked for among what is said; braces are written out. The same JSON was accepted
    /// and each run failed, or it was refused, or it was no template.
    #[test]
    fn a_template_is_what_its_json_says_however_that_is_spelled() {
        for (source, expected) in [
            (r#""{{params.größe}}""#, "1.50"),
            (r#""{{params.gr\u00f6\u00dfe}}""#, "1.50"),
            (r#""\u00e4: {{params.gr\u00F6ße}}\/kg""#, r#""\u00e4: 1.50\/kg""#),
            (r#""{{params.a\/b}}""#, "2"),
            (r#""{{params.\u0078}}""#, "3"),
            (r#""{{\u0070arams\u002ex}}""#, "3"),
            (r#""{{\tparams.x\n}}""#, "3"),
            (r#""{{\u0022{{\u0022}} stays""#, r#""{{ stays""#),
            (r#""{{\n\"\u00e4\"\t}} stays""#, r#""\u00e4 stays""#),
            (r#""\u007b\u007bparams.x}}""#, "3"),
            (r#""{\u007bparams.x\u007D}""#, "3"),
            (r#""n\u00b0 \u007b{params.x\u007d}\/\u007d""#, r#""n\u00b0 3\/\u007d""#),
            (
                r#"{"\u007b\u007bparams.x}}": ["\u007B x \u007d\u007d"]}"#,
                r#"{"\u007b\u007bparams.x}}":["\u007B x \u007d\u007d"]}"#,
            ),
            (r#""\\u007b\\u007bparams.x}}""#, r#""\\u007b\\u007bparams.x}}""#),
        ] {
            let template = Template::new(spelled(source)).unwrap();
            assert_eq!(filled_by(&template).as_deref(), Ok(expected), "{source}");
            assert_eq!(Template::stored(template.source().clone()), Ok(template), "{source}");
        }
        for (source, why) in [
            (r#""\u007b\u007bparams.x""#, "without its"),
            (r#""\u007b\u007bnope}}""#, "`nope` is no path"),
            (r#""{{params\u002e}}""#, "`params.` is no path"),
        ] {
            let refusal = Template::new(spelled(source)).unwrap_err().to_string();
            assert!(refusal.contains(why), "{source}: {refusal}");
        }
    }

    /// Removed, one after the other: what is stored is read as what is asked for; a name that is none once it is decoded is read as it is spelled. A
    /// text became a template, and a workflow could be read no more.
    #[test]
    fn what_was_stored_before_names_were_decoded_is_what_it_was_or_what_its_json_says() {
        for (source, expected) in [
            (r#""{{params.gr\u00f6\u00dfe}}""#, Ok("1.50")),
            (r#""{{\"{{\"}} stays""#, Ok(r#""{{ stays""#)),
            (r#""\u007b\u007bparams.x}}""#, Ok(r#""\u007b\u007bparams.x}}""#)),
            (r#""\u007b\u007bnope""#, Ok(r#""\u007b\u007bnope""#)),
            (r#""{{\"\u007d\u007d\"}}""#, Ok(r#""\u007d\u007d""#)),
            (r#""{{params.\n}}""#, Err("there is no `params.\\n`")),
        ] {
            let template = Template::stored(spelled(source)).unwrap();
            assert_eq!(filled_by(&template).as_deref().map_err(String::as_str), expected, "{source}");
        }
    }

    /// Removed: the whole is measured when it is made. A template of 50 KB made a gigabyte.
    #[test]
    fn a_small_template_of_a_large_value_is_given_up_where_it_is_too_large() {
        let large = Json::of(&json!("x".repeat(PAYLOAD_BYTES / 2)));
        let template = template(&json!(vec!["{{params}}"; 10_000])).unwrap();

        assert_eq!(template.fill(|_| Some(large.clone())), Err(NotFilled::TooLarge));
    }

    /// Removed: the values are asked for once. Each name had the whole of its value copied, and read at each step.
    #[test]
    fn a_value_is_asked_for_once_however_many_names_begin_at_it() {
        let fields: serde_json::Map<_, _> = (0..18_000).map(|n| (format!("f{n}"), json!(n))).collect();
        let (value, asked) = (Json::of(&fields.into()), std::cell::Cell::new(0));
        let names: Vec<_> = (0..1_000).map(|n| format!("{{{{params.f{n}}}}}")).collect();

        let filled = template(&json!(names)).unwrap().fill(|_| {
            asked.set(asked.get() + 1);
            Some(value.clone())
        });

        assert_eq!((filled, asked.get()), (Ok(Json::of(&(0..1_000).collect())), 1));
    }

    #[test]
    fn a_text_that_is_one_name_becomes_the_value_and_inside_a_text_it_becomes_text() {
        let rows = [
            (json!("{{params.n}}"), "3"),
            (json!("{{ params.deep }}"), r#"{"list":[1,{"x":null}]}"#),
            (json!("n is {{params.n}}, not {{index}}"), r#""n is 3, not 7""#),
            (json!("on {{params.day}}"), r#""on Monday \"1\"""#),
            (json!("{{params.day}}"), r#""Monday \"1\"""#),
            (json!("{{tasks.load.result.name}}!"), r#""ä\n!""#),
            (json!("all: {{params.deep}}"), r#""all: {\"list\":[1,{\"x\":null}]}""#),
            (json!({"{{params.n}}": [1, "{{params.n}}", {"a": "b"}]}), r#"{"{{params.n}}":[1,3,{"a":"b"}]}"#),
            (json!("{{\"{{\"}} stays"), r#""{{ stays""#),
            (json!("{{params.n}}{{index}}"), r#""37""#),
            (json!(null), "null"),
        ];
        for (value, expected) in rows {
            assert_eq!(filled(&value).as_deref(), Ok(expected), "{value}");
        }
    }

    #[test]
    fn what_is_not_there_is_named() {
        assert_eq!(filled(&json!({"a": ["{{params.week}}"]})).unwrap_err(), "there is no `params.week`");
        assert_eq!(filled(&json!("{{tasks.other.result.x}}")).unwrap_err(), "there is no `tasks.other.result`");
        assert!(filled(&json!("{{params.n")).unwrap_err().contains("without its"));
        assert!(filled(&json!("{{1 + 2}}")).unwrap_err().contains("is no path"));
        assert!(filled(&json!("{{}}")).unwrap_err().contains("is no path"));
    }

    #[test]
    fn it_knows_what_it_names() {
        let template = template(&json!({"a": "{{params.x}}", "b": ["{{tasks.t.results.0}} {{params.y}}"]})).unwrap();

        let roots: Vec<_> = template.roots().into_iter().map(ToString::to_string).collect();

        assert_eq!(roots, ["params", "tasks.t.results"]);
    }

    proptest! {
        #[test]
        fn json_without_names_stays_as_it_is(text in "[a-z{}\\\\\" :,]{0,20}", n in any::<f64>()) {
            prop_assume!(!text.contains("{{"));
            let value = json!({"k": [text, n, {"x": text}]});
            prop_assert_eq!(filled(&value), Ok(value.to_string()));
        }

        #[test]
        fn numbers_spell_the_same_template(text in r#"(params\.x|\{\{|\}\}|[{}"\\ ö/.a]){0,8}"#) {
            let numbers = by_numbers(&text);
            let said = |json: Json| {
                let filled = Template::new(json).map_err(|refusal| refusal.to_string()).and_then(|made| filled_by(&made));
                filled.map(|text| serde_json::from_str::<serde_json::Value>(&text).unwrap())
            };
            prop_assert_eq!(said(spelled(&format!("\"{numbers}\""))), said(Json::of(&json!(text))));
        }

        #[test]
        fn what_is_filled_in_is_json(text in ".{0,20}", before in "[^{]{0,6}") {
            let template = template(&json!(format!("{before}{{{{params}}}}"))).unwrap();
            let filled = template.fill(|_| Some(Json::of(&json!(text)))).unwrap();
            prop_assert_eq!(serde_json::from_str::<String>(filled.as_str()).unwrap(), format!("{before}{text}"));
        }
    }
}
