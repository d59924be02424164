//! Suggestions: a parser's error as a field, a sentence and, for a typo, the nearest known word.

use serde::Deserialize;
use serde_path_to_error::{Path, Segment};

use crate::problem::FieldError;

/// The longest detail: it quotes the request, and the client needs no more of it.
pub const DETAIL_CHARS: usize = 300;

/// How the detail begins of a field that is not known.
pub(crate) const NO_SUCH_FIELD: &str = "there is no such field";

/// JSON as the type that it is to be; or the field at fault, and why.
pub fn read<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, FieldError> {
    // Serde would also accept an array of a struct's values.
    if !text.trim_ascii_start().starts_with('{') {
        return Err(FieldError { pointer: String::new(), detail: "this must be an object".to_owned() });
    }
    serde_json::from_str(text).map_err(|_| explained::<T>(text))
}

/// Parses again, slowly, to find the field at fault: valid bodies do not pay for it.
fn explained<'a, T: Deserialize<'a>>(text: &'a str) -> FieldError {
    let json = &mut serde_json::Deserializer::from_str(text);
    match serde_path_to_error::deserialize::<_, T>(json) {
        Err(error) => explain(error.path(), error.inner()),
        Ok(_) => FieldError { pointer: String::new(), detail: "this is not what the request expects".to_owned() },
    }
}

fn explain(path: &Path, error: &serde_json::Error) -> FieldError {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    let (pointer, detail) = with_suggestion(pointer_of(path), text);
    FieldError { pointer, detail: detail.chars().take(DETAIL_CHARS).collect() }
}

/// Improves serde's text: a missing field is pointed at directly rather than at its object, an unknown one gets a guess.
pub fn with_suggestion(pointer: String, text: &str) -> (String, String) {
    if let Some(field) = text.strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`')) {
        return (format!("{pointer}/{field}"), "is required".to_owned());
    }
    if !text.starts_with("unknown field `") {
        return (pointer, in_words(text));
    }
    let field = pointer.rsplit(['/', '?']).next().unwrap_or_default();
    let detail = match text.rsplit_once(", expected ").and_then(|(_, known)| nearest(field, known)) {
        Some(near) => format!("{NO_SUCH_FIELD}; did you mean `{near}`?"),
        None => NO_SUCH_FIELD.to_owned(),
    };
    (pointer, detail)
}

/// What serde says of a value, as a person says it.
pub(crate) fn in_words(text: &str) -> String {
    if let Some((found, expected)) = told(text, "invalid type: ").or_else(|| told(text, "invalid value: ")) {
        return format!("must be {}, not {}", wanted(expected), given(found));
    }
    let Some(rest) = text.strip_prefix("unknown variant `") else { return text.to_owned() };
    let Some((word, known)) = rest.split_once("`, expected ") else { return text.to_owned() };
    let said = format!("must be {known}, not `{word}`");
    match nearest(word, known) {
        Some(near) => format!("{said}; did you mean `{near}`?"),
        None => said,
    }
}

fn told<'a>(text: &'a str, kind: &str) -> Option<(&'a str, &'a str)> {
    text.strip_prefix(kind)?.rsplit_once(", expected ")
}

/// What serde calls a type.
fn wanted(expected: &str) -> &str {
    match expected {
        "a string" | "string" | "str" | "a borrowed string" => "a text",
        "a sequence" | "sequence" => "a list",
        "a map" | "map" => "an object",
        "a boolean" | "boolean" => "true or false",
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" => "a whole number",
        "f32" | "f64" => "a number",
        "any valid JSON value" => "JSON",
        _ if expected.starts_with("struct ") => "an object",
        _ if expected.starts_with("enum ") || expected.starts_with("variant ") => "a word",
        other => other,
    }
}

/// What serde calls a value.
fn given(found: &str) -> String {
    let number = |kind| found.strip_prefix(kind).and_then(|rest| rest.strip_prefix(" `")?.strip_suffix('`'));
    match found {
        "map" => return "an object".to_owned(),
        "sequence" => return "a list".to_owned(),
        "null" | "unit value" | "Option value" => return "null".to_owned(),
        _ => {}
    }
    if let Some(text) = found.strip_prefix("string ") {
        return format!("the text {text}");
    }
    if let Some(number) = number("integer").or_else(|| number("floating point")) {
        return format!("the number {number}");
    }
    number("boolean").map_or_else(|| found.to_owned(), str::to_owned)
}

/// The word in backticks nearest to `word`, if it is near.
fn nearest<'a>(word: &str, known: &'a str) -> Option<&'a str> {
    nearest_of(word, known.split('`').skip(1).step_by(2))
}

/// The one of these words that is nearest to `word`, if it is near.
pub(crate) fn nearest_of<'a>(word: &str, words: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let near = words.map(|candidate| (distance(word, candidate), candidate));
    near.min().filter(|(steps, near)| *steps <= near.len() / 3).map(|(_, near)| near)
}

/// Letters to add, drop, change or swap. A word too long to be a typo is far.
fn distance(one: &str, other: &str) -> usize {
    const LONGEST: usize = 64;
    if one.len() > LONGEST { usize::MAX } else { strsim::osa_distance(one, other) }
}

fn pointer_of(path: &Path) -> String {
    path.iter().fold(String::new(), |pointer, segment| match segment {
        Segment::Seq { index } => format!("{pointer}/{index}"),
        Segment::Map { key } | Segment::Enum { variant: key } => {
            let key: String = key.chars().take(DETAIL_CHARS).collect();
            format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
        }
        Segment::Unknown => pointer,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_typo_is_answered_with_the_nearest_word() {
        let known = "one of `name`, `schedule`, `timeout_seconds`, `retry`";

        assert_eq!(nearest("shedule", known), Some("schedule"));
        assert_eq!(nearest("timeout_second", known), Some("timeout_seconds"));
        assert_eq!(nearest("nam", known), Some("name"));
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest(&"x".repeat(100_000), known), None);
    }

    /// Before, these were what serde says.
    #[test]
    fn a_wrong_value_is_told_in_words() {
        for (of_serde, words) in [
            ("invalid type: string \"a\", expected a sequence", "must be a list, not the text \"a\""),
            ("invalid type: string \"5m\", expected u64", "must be a whole number, not the text \"5m\""),
            ("invalid type: map, expected a string", "must be a text, not an object"),
            ("invalid type: sequence, expected struct HttpTarget", "must be an object, not a list"),
            ("invalid type: integer `5`, expected a boolean", "must be true or false, not the number 5"),
            (
                "invalid type: floating point `1.5`, expected an object or null",
                "must be an object or null, not the number 1.5",
            ),
            ("invalid type: boolean `true`, expected a map", "must be an object, not true"),
            ("invalid type: null, expected a string", "must be a text, not null"),
            (
                "invalid value: string \"a, expected b\", expected a date",
                "must be a date, not the text \"a, expected b\"",
            ),
            (
                "unknown variant `failur`, expected one of `success`, `failure`, `finished`",
                "must be one of `success`, `failure`, `finished`, not `failur`; did you mean `failure`?",
            ),
            ("unknown variant `x`, expected `any` or `all`", "must be `any` or `all`, not `x`"),
            ("the key `a` is there twice", "the key `a` is there twice"),
        ] {
            assert_eq!(in_words(of_serde), words);
        }
    }
}
