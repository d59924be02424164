//! Suggestions: a parser's error as a field, a sentence and, for a typo, the nearest known word.

use serde::Deserialize;
use serde_path_to_error::{Path, Segment};

use crate::problem::FieldError;

/// The longest detail: it quotes the request, and the client needs no more of it.
pub const DETAIL_CHARS: usize = 300;

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
        return (pointer, text.to_owned());
    }
    let field = pointer.rsplit(['/', '?']).next().unwrap_or_default();
    let detail = match text.rsplit_once(", expected ").and_then(|(_, known)| nearest(field, known)) {
        Some(near) => format!("there is no such field; did you mean `{near}`?"),
        None => "there is no such field".to_owned(),
    };
    (pointer, detail)
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
}
