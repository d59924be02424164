//! What others say a cron expression means: the vectors beside the project's root, where they are there.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use chrono_tz::Tz;
use minutehand_domain::Moment;
use minutehand_domain::schedule::cron::{Cron, CronError, Field};
use serde_json::Value;

/// Fewer questions than these would mean that the test has become empty, not that all is well.
const LEAST_NEXT: usize = 200;
const LEAST_INVALID: usize = 90;

/// Expressions that the vectors refuse and this dialect documents, with the reason.
const EXTENSIONS: [(&str, &str); 0] = [];

#[test]
fn occurrences_are_where_the_outside_says_they_are() {
    let Some(lines) = vectors("cron-next.jsonl") else {
        return;
    };
    let mut tally = Tally::default();

    for line in &lines {
        match Question::of(line) {
            Some(question) if question.is_answered_right() => tally.right += 1,
            Some(question) => tally.wrong.push(format!("{line}\n  answered {:?}", question.answer)),
            None => tally.left += 1,
        }
    }

    tally.judge("cron-next.jsonl", LEAST_NEXT);
}

#[test]
fn what_the_outside_refuses_is_refused_in_the_same_field() {
    let Some(lines) = vectors("cron-invalid.jsonl") else {
        return;
    };
    let mut tally = Tally::default();

    for line in &lines {
        let text = line["expr"].as_str().expect("an expression");
        let Some(plain) = refusable(text, line["seconds"] == true) else {
            tally.left += 1;
            continue;
        };
        let field = line["field"].as_str().and_then(field_named);
        match Cron::parse(&plain, Tz::UTC) {
            Ok(_) if EXTENSIONS.iter().any(|(known, _)| *known == text) => tally.right += 1,
            Err(error) if field.is_none() || error.field() == field => tally.right += 1,
            answer => tally.wrong.push(format!("{line}\n  answered {answer:?}")),
        }
    }

    tally.judge("cron-invalid.jsonl", LEAST_INVALID);
}

#[derive(Default)]
struct Tally {
    right: usize,
    left: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn judge(&self, file: &str, least: usize) {
        let Self { right, left, wrong } = self;
        let asked = right + wrong.len();
        say(&format!("{file}: {asked} asked, {right} right, {left} left to the later dialect"));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(asked >= least, "only {asked} asked");
    }
}

struct Question {
    answer: Result<Option<Moment>, CronError>,
    expected: Option<Moment>,
}

impl Question {
    /// Nothing where the line is not of this step's dialect.
    fn of(line: &Value) -> Option<Self> {
        let text = plain_expression(line)?;
        let from = instant(&line["from"])?;
        let inclusive = line["inclusive"] == true;
        let after = if inclusive { from.just_before() } else { from };
        let zone = line["tz"].as_str()?.parse().expect("a zone");
        let answer = Cron::parse(&text, zone).map(|cron| cron.next_after(after));
        Some(Self { answer, expected: instant(&line["next"]) })
    }

    /// To be refused because it never fires is the right answer where nothing is expected, ever.
    fn is_answered_right(&self) -> bool {
        match &self.answer {
            Ok(next) => *next == self.expected,
            Err(CronError::Never { .. }) => self.expected.is_none(),
            Err(_) => false,
        }
    }
}

/// Nothing for null, and for what lies before moments begin.
fn instant(at: &Value) -> Option<Moment> {
    let at = at.as_str().filter(|at| *at >= "1970")?;
    Some(Moment::parse(at).expect("an instant"))
}

fn plain_expression(line: &Value) -> Option<String> {
    let profile = [&line["days"], &line["dst_gap"], &line["dst_overlap"]];
    let droppable = ["0", "*"];
    let droppable = &droppable[..if is_to_the_minute(line) { 2 } else { 1 }];
    let text = without_seconds(line["expr"].as_str()?, droppable)?;
    (profile == ["any", "next_valid", "by_kind"] && is_plain(&text)).then_some(text)
}

/// Judged by its letters, not by what we refuse: a plain expression that we refuse has to fail.
fn is_plain(text: &str) -> bool {
    let upper = text.to_uppercase();
    if upper.starts_with('@') {
        return !upper.starts_with("@EVERY_");
    }
    let fields: Vec<&str> = upper.split_whitespace().collect();
    let special = upper.contains('#') || fields.iter().any(|field| is_of_the_later_dialect(field));
    fields.len() == 5 && !special && !fields.iter().flat_map(|field| field.split(',')).any(wraps)
}

fn is_of_the_later_dialect(field: &str) -> bool {
    field.starts_with('L') || field.ends_with('L') && !field.ends_with("JUL") || field.ends_with('W')
}

fn wraps(item: &str) -> bool {
    const NAMES: [&str; 19] = [
        "SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP",
        "OCT", "NOV", "DEC",
    ];
    let value = |text: &str| match NAMES.iter().position(|name| *name == text) {
        Some(place) => Some(place),
        None => text.parse().ok(),
    };
    let range = item.split('/').next().and_then(|range| range.split_once('-'));
    range.is_some_and(|(start, end)| value(start) > value(end))
}

/// Five fields or a shorthand as they are, six without their seconds where these can be dropped.
fn without_seconds(text: &str, droppable: &[&str]) -> Option<String> {
    let fields: Vec<&str> = text.split_whitespace().collect();
    match fields[..] {
        [seconds, ref rest @ ..] if rest.len() == 5 => droppable.contains(&seconds).then(|| rest.join(" ")),
        _ => Some(text.to_owned()),
    }
}

/// What fires every second of its minutes first fires at a whole minute, if it is asked from one.
fn is_to_the_minute(line: &Value) -> bool {
    let whole = |at: &Value| at.as_str().is_none_or(|at| at.get(17..19) == Some("00"));
    let asked = line["dst"] == "none" && line["inclusive"] == true;
    asked && whole(&line["from"]) && whole(&line["next"])
}

/// What is wrong with six fields is wrong with five, unless it is the seconds, or how many there are.
fn refusable(text: &str, has_seconds: bool) -> Option<String> {
    let counts = has_seconds && !text.contains('@') && text.split_whitespace().count() != 6;
    if counts { None } else { without_seconds(text, &["*"]) }
}

fn field_named(name: &str) -> Option<Field> {
    match name {
        "Minutes" => Some(Field::Minute),
        "Hours" => Some(Field::Hour),
        "Days of month" => Some(Field::DayOfMonth),
        "Months" => Some(Field::Month),
        "Days of week" => Some(Field::DayOfWeek),
        _ => None,
    }
}

fn vectors(name: &str) -> Option<Vec<Value>> {
    let beside_the_root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/vectors");
    let path = beside_the_root.join(name);
    let Ok(text) = fs::read_to_string(&path) else {
        say(&format!("!!! NOT JUDGED FROM OUTSIDE: there are no vectors at {} !!!", path.display()));
        return None;
    };
    Some(text.lines().map(|line| serde_json::from_str(line).expect("a JSON line")).collect())
}

/// Straight to standard error: the harness would swallow what a passing test prints by the macros.
fn say(words: &str) {
    let _ = writeln!(std::io::stderr(), "{words}");
}
