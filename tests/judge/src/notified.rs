//! Notifications: what was to be told of, what was made of it, and what was told. Nothing here knows what a rule is: the ends are given, each
//! with what it is to be told as.

use std::collections::{BTreeMap, BTreeSet};

use crate::Violation;

/// What is to be told, once.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct End {
    pub what: String,
    pub run: String,
    pub at: i64,
}

/// A message that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// What tells it from others: tried again it has the same.
    pub key: String,
    /// The window that it is of.
    pub from: i64,
    pub to: i64,
    /// How many it tells of.
    pub count: u64,
    /// Those among them that it names: as what, and which run.
    pub named: Vec<(String, String)>,
    pub status: String,
    pub body: String,
}

/// A message on its way, each time that it was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sent {
    pub at: i64,
    pub key: String,
    pub body: String,
}

/// The clocks of those who wait for the end of a window.
const SKEW: i64 = 2_000;

/// What is wrong with them.
pub fn judge(ends: &[End], messages: &[Message], sent: &[Sent]) -> Vec<Violation> {
    let mut found = windows(messages);
    found.extend(told_once(ends, messages));
    found.extend(messages.iter().flat_map(|message| ended(message, sent)));
    found.extend(sent.iter().flat_map(|sent| as_made(sent, messages)));
    found
}

fn broken(rule: &'static str, detail: String) -> Violation {
    Violation { rule, job: 0, instant: 0, detail }
}

/// None tells of nothing. That a window has one message is in what a message is known by.
fn windows(messages: &[Message]) -> Vec<Violation> {
    let mut found = Vec::new();
    for message in messages {
        if message.count == 0 {
            found.push(broken("a message tells of something", message.key.clone()));
        }
        if message.named.is_empty() || message.named.len() as u64 > message.count {
            let detail = format!("{} names {} of {}", message.key, message.named.len(), message.count);
            found.push(broken("a message names some of what it counts", detail));
        }
    }
    found
}

/// Each end is in one message, and nothing else is in any.
fn told_once(ends: &[End], messages: &[Message]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut named: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for (what, run) in messages.iter().flat_map(|message| &message.named) {
        *named.entry((what, run)).or_default() += 1;
    }
    let known: BTreeSet<(&str, &str)> = ends.iter().map(|end| (end.what.as_str(), end.run.as_str())).collect();
    for ((what, run), times) in &named {
        if *times > 1 {
            found.push(broken("an end is told once", format!("{run} is told {times} times as {what}")));
        }
        if !known.contains(&(*what, *run)) {
            found.push(broken("what is told was to be told", format!("{run} is told as {what}, and was not")));
        }
    }
    let told: u64 = messages.iter().map(|message| message.count).sum();
    if told != ends.len() as u64 {
        found.push(broken("as many are told as were to be", format!("{told} are told, of {}", ends.len())));
    }
    let all_are_named = messages.iter().all(|message| message.named.len() as u64 == message.count);
    if all_are_named {
        let untold = ends.iter().filter(|end| !named.contains_key(&(end.what.as_str(), end.run.as_str())));
        let untold = untold.map(|end| broken("each end is told", format!("{} is not told as {}", end.run, end.what)));
        found.extend(untold);
    }
    found
}

/// Each comes to its end, and whoever received one was sent it.
fn ended(message: &Message, sent: &[Sent]) -> Vec<Violation> {
    let tries = sent.iter().filter(|sent| sent.key == message.key).count();
    let is_over = matches!(message.status.as_str(), "succeeded" | "failed" | "timed_out");
    let mut found = Vec::new();
    if !is_over {
        found.push(broken("a message comes to its end", format!("{} is {}", message.key, message.status)));
    }
    if message.status == "succeeded" && tries == 0 {
        found.push(broken("what was received was sent", message.key.clone()));
    }
    found
}

/// What is sent was made, says what it said when it was made, and comes after its window.
fn as_made(sent: &Sent, messages: &[Message]) -> Vec<Violation> {
    let Some(message) = messages.iter().find(|message| message.key == sent.key) else {
        return vec![broken("what is sent was made", sent.key.clone())];
    };
    let mut found = Vec::new();
    if sent.body != message.body {
        found.push(broken("what is sent says what was made", format!("{} at {}", sent.key, sent.at)));
    }
    if sent.at + SKEW < message.to {
        found.push(broken("nothing is sent before its window is over", format!("{} at {}", sent.key, sent.at)));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(run: &str) -> End {
        End { what: "failed".to_owned(), run: run.to_owned(), at: 5 }
    }

    fn message() -> Message {
        Message {
            key: "m1".to_owned(),
            from: 0,
            to: 60_000,
            count: 2,
            named: vec![("failed".to_owned(), "a".to_owned()), ("failed".to_owned(), "b".to_owned())],
            status: "succeeded".to_owned(),
            body: "{}".to_owned(),
        }
    }

    fn sent() -> Sent {
        Sent { at: 62_000, key: "m1".to_owned(), body: "{}".to_owned() }
    }

    #[test]
    fn what_is_right_is_found_right() {
        assert_eq!(judge(&[end("a"), end("b")], &[message()], &[sent(), sent()]), []);
        assert_eq!(judge(&[], &[], &[]), []);
    }

    type Row<'a> = (&'a str, &'a [End], &'a [Message], &'a [Sent]);

    #[test]
    fn each_wrong_is_found() {
        let ends = [end("a"), end("b")];
        let second = Message { key: "m2".to_owned(), ..message() };
        let later = Message { from: 60_000, to: 120_000, ..second.clone() };
        let one = Message { count: 1, named: message().named[..1].to_vec(), ..message() };
        let unnamed = Message { named: vec![], ..message() };
        let rows: [Row<'_>; 11] = [
            ("an end is told once", &ends, &[message(), later], &[sent()]),
            ("as many are told as were to be", &ends, std::slice::from_ref(&one), &[sent()]),
            ("each end is told", &ends, std::slice::from_ref(&one), &[sent()]),
            ("what is told was to be told", &ends[..1], &[message()], &[sent()]),
            ("a message tells of something", &[], &[Message { count: 0, named: vec![], ..message() }], &[sent()]),
            ("a message names some of what it counts", &ends, &[unnamed], &[sent()]),
            ("what was received was sent", &ends, &[message()], &[]),
            ("a message comes to its end", &ends, &[Message { status: "running".to_owned(), ..message() }], &[sent()]),
            ("what is sent says what was made", &ends, &[message()], &[Sent { body: "[]".to_owned(), ..sent() }]),
            ("nothing is sent before its window is over", &ends, &[message()], &[Sent { at: 50_000, ..sent() }]),
            ("what is sent was made", &ends, &[second], &[sent()]),
        ];
        for (rule, ends, messages, sent) in rows {
            let found = judge(ends, messages, sent);
            assert!(found.iter().any(|found| found.rule == rule), "{rule}: {found:?}");
        }
    }
}
