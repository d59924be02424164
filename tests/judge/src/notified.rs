//! Notifications: what was to be told of, what was made of it, and what was told. Nothing here knows what a rule is: the ends are given, each
//! with what it is to be told as.

use std::collections::{BTreeMap, BTreeSet};

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

/// What is wrong, in words.
pub fn judge(ends: &[End], messages: &[Message], sent: &[Sent]) -> Vec<String> {
    let mut wrong = windows(messages);
    wrong.extend(told_once(ends, messages));
    wrong.extend(messages.iter().flat_map(|message| ended(message, sent)));
    wrong.extend(sent.iter().flat_map(|sent| as_made(sent, messages)));
    wrong
}

/// One window, one message, and none of nothing.
fn windows(messages: &[Message]) -> Vec<String> {
    let (mut wrong, mut seen) = (Vec::new(), BTreeSet::new());
    for message in messages {
        if !seen.insert((message.from, message.to)) {
            wrong.push(format!("the window from {} has a second message, {}", message.from, message.key));
        }
        if message.count == 0 {
            wrong.push(format!("{} tells of nothing", message.key));
        }
        if message.named.is_empty() || message.named.len() as u64 > message.count {
            wrong.push(format!("{} names {} of {}", message.key, message.named.len(), message.count));
        }
    }
    wrong
}

/// Each end is in one message, and nothing else is in any.
fn told_once(ends: &[End], messages: &[Message]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut named: BTreeMap<(&str, &str), u32> = BTreeMap::new();
    for (what, run) in messages.iter().flat_map(|message| &message.named) {
        *named.entry((what, run)).or_default() += 1;
    }
    let known: BTreeSet<(&str, &str)> = ends.iter().map(|end| (end.what.as_str(), end.run.as_str())).collect();
    for ((what, run), times) in &named {
        if *times > 1 {
            wrong.push(format!("{run} is told {times} times as {what}"));
        }
        if !known.contains(&(*what, *run)) {
            wrong.push(format!("{run} is told as {what}, and was not"));
        }
    }
    let told: u64 = messages.iter().map(|message| message.count).sum();
    if told != ends.len() as u64 {
        wrong.push(format!("{told} are told, of {}", ends.len()));
    }
    let all_are_named = messages.iter().all(|message| message.named.len() as u64 == message.count);
    if all_are_named {
        let untold = ends.iter().filter(|end| !named.contains_key(&(end.what.as_str(), end.run.as_str())));
        wrong.extend(untold.map(|end| format!("{} is not told as {}", end.run, end.what)));
    }
    wrong
}

/// Each comes to its end, and whoever received one was sent it.
fn ended(message: &Message, sent: &[Sent]) -> Vec<String> {
    let tries = sent.iter().filter(|sent| sent.key == message.key).count();
    let is_over = matches!(message.status.as_str(), "succeeded" | "failed" | "timed_out");
    let mut wrong = Vec::new();
    if !is_over {
        wrong.push(format!("{} is {}", message.key, message.status));
    }
    if message.status == "succeeded" && tries == 0 {
        wrong.push(format!("{} was received and never sent", message.key));
    }
    wrong
}

/// What is sent was made, says what it said when it was made, and comes after its window.
fn as_made(sent: &Sent, messages: &[Message]) -> Vec<String> {
    let Some(message) = messages.iter().find(|message| message.key == sent.key) else {
        return vec![format!("{} was sent and never made", sent.key)];
    };
    let mut wrong = Vec::new();
    if sent.body != message.body {
        wrong.push(format!("{} says something else at {}", sent.key, sent.at));
    }
    if sent.at + SKEW < message.to {
        wrong.push(format!("{} was sent at {}, before its window was over", sent.key, sent.at));
    }
    wrong
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
        assert_eq!(judge(&[end("a"), end("b")], &[message()], &[sent(), sent()]), Vec::<String>::new());
        assert_eq!(judge(&[], &[], &[]), Vec::<String>::new());
    }

    type Row<'a> = (&'a str, &'a [End], &'a [Message], &'a [Sent]);

    #[test]
    fn each_wrong_is_found() {
        let ends = [end("a"), end("b")];
        let second = Message { key: "m2".to_owned(), ..message() };
        let later = Message { from: 60_000, to: 120_000, ..second.clone() };
        let one = Message { count: 1, named: message().named[..1].to_vec(), ..message() };
        let rows: [Row<'_>; 9] = [
            ("a second message of a window", &ends, &[message(), second], &[sent()]),
            ("told again in a later one", &ends, &[message(), later], &[sent()]),
            ("not told", &ends, std::slice::from_ref(&one), &[sent()]),
            ("told of what was not", &ends[..1], &[message()], &[sent()]),
            ("of nothing", &[], &[Message { count: 0, named: vec![], ..message() }], &[sent()]),
            ("never sent", &ends, &[message()], &[]),
            ("never over", &ends, &[Message { status: "running".to_owned(), ..message() }], &[sent()]),
            ("says something else", &ends, &[message()], &[Sent { body: "[]".to_owned(), ..sent() }]),
            ("too early", &ends, &[message()], &[Sent { at: 50_000, ..sent() }]),
        ];
        for (what, ends, messages, sent) in rows {
            assert_ne!(judge(ends, messages, sent), Vec::<String>::new(), "{what}");
        }
    }
}
