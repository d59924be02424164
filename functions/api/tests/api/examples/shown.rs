//! An answer as the page shows it, and whether one that came is like it.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::world::Answer;

/// Stands for whatever else there is.
const MORE: &str = "…";

type Known = BTreeMap<String, String>;

pub(super) struct Shown {
    status: String,
    headers: Vec<(String, String)>,
    body: String,
}

impl Shown {
    pub(super) fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\n\n").unwrap_or((text, ""));
        let mut lines = head.lines();
        let status =
            lines.next().and_then(|line| line.strip_prefix("HTTP/1.1 ")).expect("an answer begins with its status");
        let header = |line: &str| line.split_once(": ").map(|(name, value)| (name.to_owned(), value.to_owned()));
        let headers = lines.map(|line| header(line).unwrap_or_else(|| panic!("no header: {line}"))).collect();
        Self { status: status.to_owned(), headers, body: body.trim().to_owned() }
    }

    /// What is different, if anything is. What is captured is known from then on.
    pub(super) fn compare(&self, answer: &Answer, known: &mut Known) -> Result<(), String> {
        let status = answer.status.to_string();
        if status != self.status {
            return Err(format!("the status is not {}", self.status));
        }
        for (name, value) in &self.headers {
            text(value, answer.header(name), known).map_err(|why| format!("{name}: {why}"))?;
        }
        if self.body.is_empty() {
            return Ok(());
        }
        match serde_json::from_str(&self.body) {
            Ok(shown) => json(&shown, &answer.json(), known),
            Err(why) if self.body.starts_with('{') => Err(format!("what is shown is no JSON: {why}")),
            Err(_) => {
                let missing = self.body.lines().find(|line| *line != MORE && !answer.text.contains(line));
                missing.map_or(Ok(()), |line| Err(format!("no line {line}")))
            }
        }
    }
}

fn json(shown: &Value, told: &Value, known: &mut Known) -> Result<(), String> {
    match (shown, told) {
        (Value::Object(shown), Value::Object(told)) => {
            for (name, value) in shown.iter().filter(|(name, _)| *name != MORE) {
                let told = told.get(name).ok_or_else(|| format!("there is no {name}"))?;
                json(value, told, known).map_err(|why| format!("{name}: {why}"))?;
            }
            let extra = told.keys().find(|name| !shown.contains_key(*name) && !shown.contains_key(MORE));
            extra.map_or(Ok(()), |name| Err(format!("{name} is not shown")))
        }
        (Value::Array(shown), Value::Array(_)) if *shown == [MORE] => Ok(()),
        (Value::Array(shown), Value::Array(told)) if shown.len() == told.len() => {
            shown.iter().zip(told).try_for_each(|(shown, told)| json(shown, told, known))
        }
        (Value::String(shown), Value::String(told)) => text(shown, told, known),
        // What is different each time may be a number, or nothing.
        (Value::String(shown), Value::Number(_) | Value::Null) if is_any(shown) => Ok(()),
        _ if shown == told => Ok(()),
        _ => Err(format!("not {shown}, but {told}")),
    }
}

/// `<words>` are any text; `<NAMES>` any text that is the same each time.
fn text(shown: &str, told: &str, known: &mut Known) -> Result<(), String> {
    let different = || format!("not {shown}, but {told}");
    let Some((head, rest)) = shown.split_once('<') else {
        return if shown == told { Ok(()) } else { Err(different()) };
    };
    let (name, tail) = rest.split_once('>').ok_or_else(different)?;
    let value = told.strip_prefix(head).and_then(|value| value.strip_suffix(tail)).ok_or_else(different)?;
    if value.is_empty() {
        return Err(different());
    }
    if !name.chars().all(|letter| letter.is_ascii_uppercase() || letter == '_') {
        return Ok(());
    }
    let before = known.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    if before == value { Ok(()) } else { Err(format!("<{name}> was {before}, and is {value}")) }
}

fn is_any(shown: &str) -> bool {
    shown.starts_with('<') && shown.ends_with('>')
}
