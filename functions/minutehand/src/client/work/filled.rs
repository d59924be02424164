//! A template of one argument: `{name}` is a field of the payload. What fills it stays one argument, is read by no shell, and does not
//! become an option. A number stays as it was written.

use std::collections::BTreeMap;
use std::fmt;

use minutehand_client::worker::NotDone;
use serde_json::value::RawValue;

use super::hopeless;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template {
    parts: Vec<Part>,
    /// Where an argument that begins with `-` would be read as an option.
    may_be_option: bool,
}

/// What fills templates: the fields of a payload, as they were written.
pub(super) struct Fields<'a>(BTreeMap<String, &'a RawValue>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Field(String),
}

impl Template {
    /// `{{` and `}}` are braces.
    pub(super) fn parse(word: &str, may_be_option: bool) -> Result<Self, String> {
        let (mut parts, mut text, mut chars) = (Vec::new(), String::new(), word.chars().peekable());
        while let Some(c) = chars.next() {
            match c {
                '{' | '}' if chars.peek() == Some(&c) => text.extend(chars.next()),
                '{' => {
                    parts.push(Part::Text(std::mem::take(&mut text)));
                    parts.push(Part::Field(field(&mut chars, word)?));
                }
                '}' => return Err(format!("`{word}` has a `}}` without a `{{`; a brace is written twice")),
                c => text.push(c),
            }
        }
        parts.push(Part::Text(text));
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(Self { parts, may_be_option })
    }

    pub(super) fn has_parameters(&self) -> bool {
        self.parts.iter().any(|part| matches!(part, Part::Field(_)))
    }

    /// With what the payload says.
    pub(super) fn filled(&self, payload: &Fields<'_>) -> Result<String, NotDone> {
        let mut filled = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filled.push_str(text),
                Part::Field(name) => {
                    let written = payload.0.get(name).map(|written| written.get());
                    let value = value(name, written)?;
                    if filled.is_empty() && self.may_be_option && value.starts_with('-') && is_text(written) {
                        let why = format!("the parameter `{name}` begins with -, and would be read as an option");
                        return Err(hopeless("bad_parameter", &why));
                    }
                    filled.push_str(&value);
                }
            }
        }
        Ok(filled)
    }
}

impl<'a> Fields<'a> {
    /// None of what is no object.
    pub(super) fn of(payload: &'a str) -> serde_json::Result<Self> {
        let is_object = payload.starts_with('{');
        if is_object { serde_json::from_str(payload).map(Self) } else { Ok(Self(BTreeMap::new())) }
    }
}

fn field(chars: &mut impl Iterator<Item = char>, word: &str) -> Result<String, String> {
    let mut name = String::new();
    for c in chars {
        match c {
            '}' if name.is_empty() => return Err(format!("`{word}` has a parameter without a name")),
            '}' => return Ok(name),
            c if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') => name.push(c),
            _ => return Err(format!("`{word}` has a parameter whose name is none; a brace is written twice")),
        }
    }
    Err(format!("`{word}` has a parameter that has no end; a brace is written twice"))
}

/// `written`: JSON, in which a number is spelled as it was given.
fn value(name: &str, written: Option<&str>) -> Result<String, NotDone> {
    let text = match written {
        None | Some("null") => return Err(hopeless("missing_parameter", &format!("the payload has no `{name}`"))),
        Some(written) if written.starts_with(['[', '{']) => {
            let why = format!("the parameter `{name}` is neither a text nor a number nor true or false");
            return Err(hopeless("bad_parameter", &why));
        }
        Some(written) if is_text(Some(written)) => serde_json::from_str(written)?,
        Some(number_or_bool) => number_or_bool.to_owned(),
    };
    if text.contains('\0') {
        return Err(hopeless("bad_parameter", &format!("the parameter `{name}` has a character that no argument has")));
    }
    Ok(text)
}

fn is_text(written: Option<&str>) -> bool {
    written.is_some_and(|written| written.starts_with('"'))
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.parts.iter().try_for_each(|part| match part {
            Part::Text(text) => f.write_str(text),
            Part::Field(name) => write!(f, "{{{name}}}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn filled(word: &str, payload: &Value) -> Result<String, NotDone> {
        filled_by(word, &payload.to_string())
    }

    fn filled_by(word: &str, payload: &str) -> Result<String, NotDone> {
        Template::parse(word, true).unwrap().filled(&Fields::of(payload).unwrap())
    }

    /// Removed: a number is given as it is written. 18446744073709551616 reached the command as 1.8446744073709552e+19, and 1.10 as 1.1.
    #[test]
    fn a_number_keeps_its_digits() {
        for number in ["18446744073709551616", "12345678901234567890123", "1.10", "1e2", "1E+2", "-0", "-1.50", "1e400"]
        {
            let payload = format!(r#"{{"v":{number},"big":[1e400],"gr\u00f6\u00dfe":1}}"#);
            assert_eq!(filled_by("{v}", &payload).unwrap(), number);
            assert_eq!(filled_by("--n={v}%", &payload).unwrap(), format!("--n={number}%"));
        }
        assert_eq!(filled_by("{v}", r#"{"\u0076":"\u00e4\/"}"#).unwrap(), "ä/", "a text is what it says");
    }

    #[test]
    fn a_parameter_fills_one_argument_as_it_is() {
        let payload = json!({ "a": "x y; rm -rf / $(id) `id`", "n": -7, "yes": true });

        assert_eq!(filled("{a}", &payload).unwrap(), "x y; rm -rf / $(id) `id`");
        assert_eq!(filled("--of={a}", &payload).unwrap(), "--of=x y; rm -rf / $(id) `id`");
        assert_eq!(filled("{n}/{yes}", &payload).unwrap(), "-7/true");
        assert_eq!(filled("{{n}}", &payload).unwrap(), "{n}");
        assert_eq!(filled("plain", &Value::Null).unwrap(), "plain");
    }

    #[test]
    fn what_cannot_be_an_argument_is_refused_for_good() {
        for (payload, code) in [
            (json!({}), "missing_parameter"),
            (json!(null), "missing_parameter"),
            (json!({ "a": null }), "missing_parameter"),
            (json!({ "a": [1] }), "bad_parameter"),
            (json!({ "a": "x\u{0}y" }), "bad_parameter"),
            (json!({ "a": "--delete-all" }), "bad_parameter"),
        ] {
            let NotDone::Failed { code: said, retryable, .. } = filled("{a}", &payload).unwrap_err() else {
                panic!("{payload}")
            };
            assert_eq!((said.as_str(), retryable), (code, false), "{payload}");
        }
    }

    #[test]
    fn behind_two_dashes_nothing_is_an_option() {
        let template = Template::parse("{a}", false).unwrap();

        let payload = Fields::of(r#"{"a":"--delete-all"}"#).unwrap();
        assert_eq!(template.filled(&payload).unwrap(), "--delete-all");
    }
}
