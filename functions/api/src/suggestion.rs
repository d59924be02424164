//! Suggestions: a parser's error as a field, a sentence and, for a typo, the nearest known word.

use serde_path_to_error::{Path, Segment};

use crate::problem::FieldError;

/// The longest detail: it quotes the request, and the client needs no more of it.
pub(crate) const DETAIL_CHARS: usize = 300;

pub(crate) fn explain(path: &Path, error: &serde_json::Error) -> FieldError {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    let text = text.strip_suffix(&place).unwrap_or(&text);
    let (pointer, detail) = with_suggestion(pointer_of(path), text);
    FieldError { pointer, detail: detail.chars().take(DETAIL_CHARS).collect() }
}

/// Improves serde's text: a missing field is pointed at directly rather than at its object, an unknown one gets a guess.
pub(crate) fn with_suggestion(pointer: String, text: &str) -> (String, String) {
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
    let words = known.split('`').skip(1).step_by(2);
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
