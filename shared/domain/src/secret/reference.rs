//! A reference: an object that has one field, `secret`, whose value is a text, anywhere in a payload. Whatever else has a field of
//! that name (an object with more fields, a number, a list) is a payload like any other. How the two are spelled makes no difference:
//! `"\u0073ecret"` is `"secret"`.
//!
//! A payload's text is compact and bears no key twice, so that a reference is one run of bytes in it. So all else of the text
//! stays as it was written, digit for digit.
//!
//! Payloads were stored before there were references, and an object of that form in one of these is data. So what a client writes
//! is marked when it is accepted: it is spelled without escapes, and with a space behind the colon, which a compact text has nowhere
//! else. A call is made with what the marked references name.

use std::collections::BTreeSet;
use std::ops::Range;

use super::{NotASecretName, SecretName, SecretValue};
use crate::body::Json;
use crate::body::text::{characters, said, string_at};

const FIELD: &str = "secret";
/// What stands between that and the name.
const WRITTEN: &str = "\":\"";
const MARKED: &str = "\": \"";
const AFTER: &str = "\"}";

/// A payload that a client writes, with its references marked, and the secrets that they name.
pub fn marked(json: &Json) -> Result<(Json, BTreeSet<SecretName>), NotASecretName> {
    let (mut names, text) = (BTreeSet::new(), json.as_str());
    let (mut whole, mut done) = (String::with_capacity(text.len()), 0);
    for reference in references(text, WRITTEN) {
        let name: SecretName = reference.name().parse()?;
        whole.extend([&text[done..reference.at.start], "{\"", FIELD, MARKED, name.as_str(), AFTER]);
        names.insert(name);
        done = reference.at.end;
    }
    whole.push_str(&text[done..]);
    Ok((Json::checked(whole), names))
}

/// The secrets that a stored payload names.
pub fn named_in(json: &Json) -> BTreeSet<SecretName> {
    references(json.as_str(), MARKED).filter_map(|reference| reference.name().parse().ok()).collect()
}

/// The payload with what the secrets say in the place of their names. A name of which nothing is known stays as it is.
pub fn filled<'a>(json: &Json, value_of: impl Fn(&SecretName) -> Option<&'a SecretValue>) -> Json {
    let text = json.as_str();
    let (mut whole, mut done) = (String::with_capacity(text.len()), 0);
    for reference in references(text, MARKED) {
        if let Some(value) = reference.name().parse().ok().as_ref().and_then(&value_of) {
            whole.push_str(&text[done..reference.at.start]);
            whole.push_str(Json::of(&serde_json::Value::from(value.reveal())).as_str());
            done = reference.at.end;
        }
    }
    whole.push_str(&text[done..]);
    Json::checked(whole)
}

/// Where it stands in the text, and the name in it as it is spelled.
struct Reference<'a> {
    at: Range<usize>,
    spelled: &'a str,
}

impl Reference<'_> {
    fn name(&self) -> String {
        said(self.spelled)
    }
}

/// The references that have this between their field and their name.
fn references<'a>(text: &'a str, between: &'static str) -> impl Iterator<Item = Reference<'a>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
            let begin = at;
            if let Some((spelled, bytes)) = reference_at(rest, between) {
                at += bytes;
                return Some(Reference { at: begin..at, spelled });
            }
            at += if rest.starts_with('"') { string_at(rest) } else { rest.chars().next().map_or(1, char::len_utf8) };
        }
        None
    })
}

/// The name in the reference that this text begins with, and how many bytes the whole has; none if it begins with no reference.
fn reference_at<'a>(text: &'a str, between: &str) -> Option<(&'a str, usize)> {
    let field = text.strip_prefix("{\"")?;
    // Of a field that is called otherwise no more is looked at than it takes to tell.
    let mut said = characters(field);
    if !said.by_ref().take(FIELD.len()).map(|(_, character)| character).eq(FIELD.chars()) {
        return None;
    }
    let behind = field.get(said.next()?.0..)?.strip_prefix(between)?;
    // From the quote that opens the name, which is the last byte before it.
    let begin = text.len() - behind.len();
    let name = string_at(&text[begin - 1..]).checked_sub(2)?;
    behind.get(name..)?.starts_with(AFTER).then(|| (&behind[..name], begin + name + AFTER.len()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};
    use zeroize::Zeroizing;

    use super::*;

    fn names(text: &str) -> Result<Vec<String>, NotASecretName> {
        let compact = Json::compact(serde_json::from_str(text).unwrap());
        let (stored, names) = marked(&compact)?;
        let value = |json: &Json| serde_json::from_str::<Value>(json.as_str()).unwrap();
        assert_eq!(named_in(&stored), names, "what was marked is found");
        assert_eq!(value(&stored), value(&compact), "and all says what it said");
        Ok(names.into_iter().map(String::from).collect())
    }

    fn filled_with(text: &str, value: &str) -> String {
        let value = SecretValue::new(Zeroizing::new(value.to_owned())).unwrap();
        let known = |name: &SecretName| (name.as_str() != "unknown").then_some(&value);
        let (stored, _) = marked(&Json::compact(serde_json::from_str(text).unwrap())).unwrap();
        filled(&stored, known).as_str().to_owned()
    }

    /// Tried: with references as they are written, what was stored before there were any is data no longer.
    #[test]
    fn what_was_stored_before_references_were_marked_is_data() {
        let value = SecretValue::new(Zeroizing::new("hunter2".to_owned())).unwrap();
        for stored in [r#"{"db":{"secret":"a"},"n":1}"#, r#"{"db":{"\u0073ecret":"a"},"n":1}"#] {
            let stored = Json::checked(stored.to_owned());

            assert_eq!(named_in(&stored), BTreeSet::new());
            assert_eq!(filled(&stored, |_| Some(&value)), stored);
        }
    }

    /// Removed, one after the other: that the field is decoded before it is compared, and the name before it is looked at. What clients wrote
    /// whose encoders escape more than they must was sent as it stands, or refused.
    #[test]
    fn a_reference_is_one_however_it_is_spelled_and_all_else_stays_as_it_is_spelled() {
        for (written, stored) in [
            (r#"{"\u0073ecret":"tok"}"#, r#"{"secret": "tok"}"#),
            (r#"{"secret":"t\u006fk"}"#, r#"{"secret": "tok"}"#),
            (r#"{"s\u0065cre\u0074":"\u0074\u006F\u006b"}"#, r#"{"secret": "tok"}"#),
            (
                r#"{"a\/":"\u00f6\/","n":1.50,"b":[{"secre\u0074":"tok"},1e2]}"#,
                r#"{"a\/":"\u00f6\/","n":1.50,"b":[{"secret": "tok"},1e2]}"#,
            ),
            (r#"{"\\u0073ecret":"tok"}"#, r#"{"\\u0073ecret":"tok"}"#),
            (r#"{"secret\u0073":"tok"}"#, r#"{"secret\u0073":"tok"}"#),
            (r#"{"secre\u0074":"tok","n":1}"#, r#"{"secre\u0074":"tok","n":1}"#),
            (r#"{"secret\u0022:\u0022tok":"x"}"#, r#"{"secret\u0022:\u0022tok":"x"}"#),
            (r#"{"a":"{\u0022secret\u0022:\u0022tok\u0022}"}"#, r#"{"a":"{\u0022secret\u0022:\u0022tok\u0022}"}"#),
        ] {
            let (marked, names) = marked(&Json::checked(written.to_owned())).unwrap();

            assert_eq!(marked.as_str(), stored);
            assert_eq!(names.len(), usize::from(stored.contains("\"secret\": ")), "{written}");
            assert_eq!(named_in(&marked), names, "{written}");
        }
    }

    #[test]
    fn a_lone_field_of_that_name_is_a_reference_wherever_it_stands() {
        for (text, named) in [
            (r#"{"secret": "a"}"#, &["a"][..]),
            (r#"[{"secret":"b"}, {"x": {"secret":"a"}}, {"secret":"a"}]"#, &["a", "b"]),
            (r#"{"text \" {\"secret\":\"a\"}": 1}"#, &[]),
            (r#""{\"secret\":\"a\"}""#, &[]),
            (r#"{"secret":"a","more":1}"#, &[]),
            (r#"{"more":1,"secret":"a"}"#, &[]),
            (r#"{"secret":5}"#, &[]),
            (r#"{"secret":["a"]}"#, &[]),
            (r#"{"secret":{"secret":"a"}}"#, &["a"]),
            (r#"{"\u0073ecret":"a"}"#, &["a"]),
            (r#"{"a\\":{"secret":"a"}}"#, &["a"]),
            (r#"{"ä":{"secret":"a"},"🕐":"{"}"#, &["a"]),
            ("{}", &[]),
            ("5", &[]),
        ] {
            assert_eq!(names(text).unwrap(), named, "{text}");
        }
    }

    #[test]
    fn a_reference_to_no_name_is_refused() {
        for text in
            [r#"{"secret":""}"#, r#"{"secret":"two words"}"#, r#"{"secret":"a\"}"}"#, r#"[{"s\u0065cret":"\u00e4"}]"#]
        {
            assert_eq!(names(text), Err(NotASecretName), "{text}");
        }
    }

    #[test]
    fn what_a_secret_says_stands_in_the_place_of_its_name_and_all_else_as_it_was() {
        let text = r#"{"n":12345678901234567890.50,"key":{"secret":"a"},"also":[{"secret":"a"},{"secret":"unknown"}]}"#;

        let filled = filled_with(text, "p\"\\\n\u{1}ä");

        let value = r#""p\"\\\n\u0001ä""#;
        let also = format!(r#"[{value},{{"secret": "unknown"}}]"#);
        assert_eq!(filled, format!(r#"{{"n":12345678901234567890.50,"key":{value},"also":{also}}}"#));
    }

    fn payload() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            any::<String>().prop_map(Value::from),
            "[a-z]{1,3}".prop_map(|name| json!({ "secret": name })),
            Just(json!("{\"secret\":\"x\"}")),
        ];
        leaf.prop_recursive(4, 32, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                proptest::collection::btree_map("(secret|[a-z\"\\\\]{0,3})", inner, 0..4).prop_map(Value::from_iter),
            ]
        })
    }

    /// As a reader of JSON sees it.
    fn expected(value: Value, with: &str) -> Value {
        match value {
            Value::Object(fields) if fields.len() == 1 && fields.get("secret").is_some_and(Value::is_string) => {
                let name = fields["secret"].as_str().unwrap();
                if name.parse::<SecretName>().is_ok_and(|name| name.as_str() != "unknown") {
                    Value::from(with)
                } else {
                    Value::Object(fields)
                }
            }
            Value::Object(fields) => fields.into_iter().map(|(name, field)| (name, expected(field, with))).collect(),
            Value::Array(items) => items.into_iter().map(|item| expected(item, with)).collect(),
            other => other,
        }
    }

    proptest! {
        #[test]
        fn the_text_means_what_a_reader_of_json_would_put_in(value in payload(), with in any::<String>()) {
            prop_assume!(!with.is_empty() && with.len() <= crate::limits::SECRET_BYTES);
            prop_assume!(names(&value.to_string()).is_ok(), "what names none is refused");
            let filled: Value = serde_json::from_str(&filled_with(&value.to_string(), &with)).unwrap();

            prop_assert_eq!(filled, expected(value, &with));
        }
    }
}
