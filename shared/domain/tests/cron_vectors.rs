//! What others say a cron expression means: the vectors beside the project's root, where they are there.

use std::fs;
use std::io::Write;
use std::path::PathBuf;

use chrono_tz::Tz;
use minutehand_domain::Moment;
use minutehand_domain::schedule::Spread;
use minutehand_domain::schedule::cron::{Cron, CronError, DayRule, DstGap, DstOverlap, Field, Manner};
use serde_json::Value;

/// Fewer questions than these would mean that the test has become empty, not that all is well.
const LEAST_NEXT: usize = 500;
const LEAST_INVALID: usize = 150;

/// What the vectors refuse and this dialect documents (docs/schedules.md), with the reason.
const EXTENSIONS: [(&str, &str); 1] = [("* * * * * * *", "a seventh field lists years, as in Quartz and EventBridge")];

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
        // How many fields an expression has says which they are: nobody is asked whether seconds are meant.
        let is_counted = [5, 6].contains(&text.split_whitespace().count());
        let field = line["field"].as_str().and_then(field_named).filter(|_| is_counted);
        match Cron::parse(text, Manner::usual(Tz::UTC), Spread::default()) {
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
    /// Of a time before 1970, where moments begin.
    left: usize,
    wrong: Vec<String>,
}

impl Tally {
    fn judge(&self, file: &str, least: usize) {
        let Self { right, left, wrong } = self;
        let asked = right + wrong.len();
        say(&format!("{file}: {asked} asked, {right} right, {left} of a time before moments"));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!(asked >= least, "only {asked} asked");
    }
}

struct Question {
    answer: Result<Option<Moment>, CronError>,
    expected: Option<Moment>,
}

impl Question {
    fn of(line: &Value) -> Option<Self> {
        let text = line["expr"].as_str().expect("an expression");
        let from = instant(&line["from"])?;
        let after = if line["inclusive"] == true { from.just_before() } else { from };
        let answer = Cron::parse(text, manner(line), Spread::default()).map(|cron| cron.next_after(after));
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

fn manner(line: &Value) -> Manner {
    Manner {
        zone: line["tz"].as_str().and_then(|zone| zone.parse().ok()).expect("a zone"),
        days: if line["days"] == "both" { DayRule::Both } else { DayRule::Either },
        gap: if line["dst_gap"] == "skip" { DstGap::Skip } else { DstGap::NextValid },
        overlap: overlap(&line["dst_overlap"]),
    }
}

fn overlap(word: &Value) -> DstOverlap {
    match word.as_str() {
        Some("by_kind") => DstOverlap::ByKind,
        Some("first") => DstOverlap::First,
        Some("second") => DstOverlap::Second,
        Some("both") => DstOverlap::Both,
        other => panic!("{other:?} is no word for an overlap"),
    }
}

fn instant(at: &Value) -> Option<Moment> {
    at.as_str().filter(|at| *at >= "1970").map(|at| Moment::parse(at).expect("an instant"))
}

fn field_named(name: &str) -> Option<Field> {
    match name {
        "Seconds" => Some(Field::Second),
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
