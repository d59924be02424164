//! A text as JSON spells it, in quotes and with escapes: where it ends, and what it says.

/// How many bytes the string of JSON has that this text begins with, its quotes among them.
pub(crate) fn string_at(text: &str) -> usize {
    let mut escaped = false;
    let end = text.bytes().skip(1).position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}

/// The characters that a string of JSON says, each with the place in it where the character's spelling begins. Half of a surrogate pair says no
/// character, and counts as U+FFFD.
pub(crate) fn characters(spelled: &str) -> impl Iterator<Item = (usize, char)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let begin = at;
        let (character, bytes) = character_at(spelled.get(begin..)?)?;
        at += bytes;
        Some((begin, character))
    })
}

/// What a string of JSON says.
pub(crate) fn said(spelled: &str) -> String {
    characters(spelled).map(|(_, character)| character).collect()
}

/// The first character that this text says, and in how many bytes it is spelled.
fn character_at(text: &str) -> Option<(char, usize)> {
    let first = text.chars().next()?;
    if first != '\\' {
        return Some((first, first.len_utf8()));
    }
    Some(match text[1..].chars().next()? {
        'u' => by_number(text),
        'b' => ('\u{8}', 2),
        'f' => ('\u{c}', 2),
        'n' => ('\n', 2),
        'r' => ('\r', 2),
        't' => ('\t', 2),
        itself => (itself, 1 + itself.len_utf8()),
    })
}

/// `\u` and four digits, twice where one character takes two of them.
fn by_number(text: &str) -> (char, usize) {
    let unit = |at: usize| u16::from_str_radix(text.get(at..)?.strip_prefix("\\u")?.get(..4)?, 16).ok();
    let said = char::decode_utf16([0, 6].into_iter().map_while(unit)).next();
    let said = said.and_then(Result::ok).unwrap_or(char::REPLACEMENT_CHARACTER);
    (said, 6 * said.len_utf16())
}

/// Each character of a text by its number.
#[cfg(test)]
pub(crate) fn by_numbers(text: &str) -> String {
    let units: Vec<String> = text.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
    units.concat()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_character_is_found_where_its_spelling_begins() {
        let spelled = r#"a\u00f6\/ö\\u\ud83d\uDD50\"\n\ud83dx\udd50"#;

        let found: Vec<_> = characters(spelled).map(|(at, character)| (&spelled[at..], character)).collect();

        for (nth, (behind, character)) in [
            ("a", 'a'),
            (r"\u00f6", 'ö'),
            (r"\/", '/'),
            ("ö", 'ö'),
            (r"\\", '\\'),
            ("u", 'u'),
            (r"\ud83d\uDD50", '🕐'),
            ("\\\"", '"'),
            (r"\n", '\n'),
            (r"\ud83d", '\u{fffd}'),
            ("x", 'x'),
            (r"\udd50", '\u{fffd}'),
        ]
        .into_iter()
        .enumerate()
        {
            assert!(found[nth].0.starts_with(behind) && found[nth].1 == character, "{nth}: {:?}", found[nth]);
        }
        assert_eq!(found.len(), 12);
    }

    proptest! {
        #[test]
        fn a_text_says_the_same_however_it_is_spelled(text in any::<String>()) {
            let quoted = Value::from(text.as_str()).to_string();
            prop_assert_eq!(said(&quoted[1..quoted.len() - 1]), text.as_str());
            prop_assert_eq!(said(&by_numbers(&text)), text.as_str());
            prop_assert_eq!(string_at(&format!("{quoted}:\"x\"")), quoted.len());
        }
    }
}
