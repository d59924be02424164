//! Dead letters, grouped by what they died of: the same job, the same code, and messages that say the same but for numbers, ids and what
//! they quote.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::Moment;
use crate::id::{JobId, RunKey};
use crate::run::Run;

/// What stands where something was left out.
const LEFT_OUT: char = '#';
/// A word with digits in it that is as long as this is an id.
const ID_CHARS: usize = 8;

/// Letters that died of the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    pub job: JobId,
    pub code: String,
    /// Folded: see [`folded`].
    pub message: String,
    pub count: usize,
    /// When the first of them ended, and the last.
    pub first: Moment,
    pub last: Moment,
    /// The last.
    pub sample: RunKey,
}

#[derive(Clone, Debug, Default)]
pub struct Groups(BTreeMap<(JobId, String, String), Group>);

impl Groups {
    /// Takes a letter in; what is none is passed over.
    pub fn add(&mut self, run: &Run) {
        let (Some((code, message)), Some(at)) = (run.error(), run.finished_at()) else { return };
        let (code, message) = (code.to_owned(), folded(message));
        let key = (run.key.job, code.clone(), message.clone());
        let new = Group { job: run.key.job, code, message, count: 0, first: at, last: at, sample: run.key };
        let group = self.0.entry(key).or_insert(new);
        group.count += 1;
        group.first = group.first.min(at);
        if group.last < at {
            (group.last, group.sample) = (at, run.key);
        }
    }

    /// The largest first, of two that are as large the one seen last.
    pub fn largest_first(self) -> Vec<Group> {
        let mut groups: Vec<_> = self.0.into_values().collect();
        groups.sort_by_key(|group| Reverse((group.count, group.last)));
        groups
    }
}

/// A message without what tells one failure from the next: numbers, ids, addresses of people, and whatever stands in quotes, which is most
/// likely a piece of what the target was given.
pub fn folded(message: &str) -> String {
    let (mut told, mut word, mut quote) = (String::with_capacity(message.len()), String::new(), None);
    let mut before = ' ';
    for c in message.chars() {
        if let Some(closes) = quote {
            if c == closes {
                quote = None;
                told.push(c);
            }
        } else if is_of_a_word(c) {
            word.push(c);
        } else {
            push_word(&mut told, &mut word);
            told.push(c);
            // An apostrophe inside of a word opens nothing.
            if matches!(c, '"' | '`') || c == '\'' && !before.is_alphanumeric() {
                quote = Some(c);
                told.push(LEFT_OUT);
            }
        }
        before = c;
    }
    push_word(&mut told, &mut word);
    told
}

/// What an id or an address is made of.
fn is_of_a_word(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '@' | '.' | '+')
}

fn push_word(told: &mut String, word: &mut String) {
    let text = std::mem::take(word);
    let end = text.trim_end_matches(['.', '-']);
    let is_id = end.chars().count() >= ID_CHARS && end.chars().any(|c| c.is_ascii_digit());
    if is_id || end.contains('@') {
        told.push(LEFT_OUT);
    } else {
        fold_digits(told, end);
    }
    told.push_str(&text[end.len()..]);
}

fn fold_digits(told: &mut String, word: &str) {
    let mut in_number = false;
    for c in word.chars() {
        let is_digit = c.is_ascii_digit() || in_number && c == '.';
        if !is_digit {
            told.push(c);
        } else if !in_number {
            told.push(LEFT_OUT);
        }
        in_number = is_digit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::Tenant;
    use crate::priority::Priority;
    use crate::run::attempt::Ended;
    use crate::run::{Attempt, Ending, ErrorCode, Failure, State};

    #[test]
    fn what_tells_one_failure_from_the_next_is_folded() {
        for (message, told) in [
            ("503 Service Unavailable", "# Service Unavailable"),
            ("order 4711 of customer 12: no stock", "order # of customer #: no stock"),
            ("no answer within 2.5 s", "no answer within # s"),
            ("job_06hhgq2g003ha8atdy39qcp9x4 is gone.", "# is gone."),
            ("request 0f8fad5b-d9cb-469f-a165-70867728950e failed", "request # failed"),
            ("bob.smith+x@example.com bounced", "# bounced"),
            ("invalid value \"4111 1111\" for `card`", "invalid value \"#\" for `#`"),
            ("can't open 'a b'", "can't open '#'"),
            ("unclosed \"secret", "unclosed \"#"),
            ("http2 is off", "http# is off"),
            ("Ungültig: Größe", "Ungültig: Größe"),
            ("", ""),
        ] {
            assert_eq!(folded(message), told, "{message}");
        }
    }

    fn failed(job: u8, second: i64, code: ErrorCode, message: &str) -> Run {
        let at = Moment::from_secs(second);
        let key = RunKey::occurrence(JobId::from_bytes([job; 16]), at);
        let ended = Some(Ended { at, how: Ending::Failed(code.error(message)) });
        let attempt = Attempt { number: 1, worker: crate::id::Worker(1), started_at: at, ended };
        let state = State::Failed { at, why: Failure::Error };
        Run { state, attempts: vec![attempt], ..Run::new(Tenant::deployment(), key, Priority::Normal) }
    }

    #[test]
    fn letters_of_one_job_that_say_the_same_are_one_group() {
        let mut groups = Groups::default();
        for run in [
            failed(1, 20, ErrorCode::Http5xx, "503 order 7"),
            failed(1, 30, ErrorCode::Http5xx, "503 order 8"),
            failed(1, 10, ErrorCode::Http5xx, "503 order 9"),
            failed(2, 40, ErrorCode::Http5xx, "503 order 9"),
            failed(1, 50, ErrorCode::Http4xx, "503 order 9"),
        ] {
            groups.add(&run);
        }

        let groups = groups.largest_first();

        assert_eq!(groups.iter().map(|group| group.count).collect::<Vec<_>>(), [3, 1, 1]);
        let Group { message, first, last, sample, .. } = &groups[0];
        assert_eq!((message.as_str(), *first, *last), ("# order #", Moment::from_secs(10), Moment::from_secs(30)));
        assert_eq!(sample.at, Moment::from_secs(30));
        assert_eq!(groups[1].code, "http_4xx", "the later of two that are as large");
    }
}
