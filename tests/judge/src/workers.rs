//! The judge of workers: what may happen between a worker that takes a run and the table that says whose it is. It knows what workers
//! sent, what they were answered, and what the table says in the end; nothing of leases, fences and offers but their meaning.

use std::collections::BTreeMap;

use crate::Violation;

/// What a history of workers left behind.
#[derive(Clone, Debug, Default)]
pub struct Account {
    pub takes: Vec<Take>,
    pub claims: Vec<Claim>,
    pub records: Vec<Record>,
    /// What whoever showed another token was answered as if it were the holder: each of them is one too many.
    pub thefts: Vec<u64>,
    /// The largest difference of a clock from the true one.
    pub skew: i64,
}

/// A run that a worker was given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Take {
    /// The run's number in the history.
    pub run: u64,
    pub fence: u32,
    /// When it was asked for, and when the answer came.
    pub asked_at: i64,
    pub at: i64,
    /// Until when the worker holds itself for its holder: it has said how it went, or died, or its lease is over by its own reckoning.
    pub over: i64,
    pub said: Option<Saying>,
    /// What the holder before had kept.
    pub given: Option<u64>,
    pub kept: Vec<Kept>,
}

/// How it went, as the worker said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Saying {
    pub word: Word,
    pub answer: Answer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Succeeded(u64),
    Failed,
    /// And is not to be tried again.
    FailedForGood,
    HandedBack,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    Taken,
    Refused,
    /// It never came.
    None,
}

/// What a worker kept for the next holder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kept {
    pub value: u64,
    /// When its answer came, if it did.
    pub acknowledged: Option<i64>,
}

/// A claim of the one effect that a run has, as it was answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    pub run: u64,
    pub fence: u32,
    pub asked_at: i64,
    /// The worker was told to make it, and did.
    pub is_first: bool,
    /// What had come of it.
    pub told: Option<u64>,
    /// What the worker said had come of it.
    pub said: Option<Kept>,
}

/// What the table says of a run in the end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    pub run: u64,
    pub status: String,
    pub result: Option<u64>,
    pub fence: u32,
    /// What counts as failed attempts, and how many of those are attempts whose time was up.
    pub failures: u32,
    pub timed_out: u32,
}

impl Account {
    pub fn judge(&self) -> Vec<Violation> {
        let mut runs: BTreeMap<u64, Vec<&Take>> = BTreeMap::new();
        for take in &self.takes {
            runs.entry(take.run).or_default().push(take);
        }
        for takes in runs.values_mut() {
            takes.sort_by_key(|take| (take.fence, take.at));
        }
        let records: BTreeMap<u64, &Record> = self.records.iter().map(|record| (record.run, record)).collect();
        let mut found = Vec::new();
        for run in &self.thefts {
            found.push(broken("who shows another token is refused", *run, "it was taken for the holder"));
        }
        effects(&self.claims, &mut found);
        for record in records.values() {
            ended(record, &mut found);
        }
        for (run, takes) in &runs {
            self.one_holder_at_a_time(takes, &mut found);
            what_is_kept_reaches_the_next(takes, &mut found);
            match records.get(run) {
                Some(record) => of_record(record, takes, &mut found),
                None => found.push(broken("a run that was given has a record", *run, "it has none")),
            }
        }
        found
    }

    fn one_holder_at_a_time(&self, takes: &[&Take], found: &mut Vec<Violation>) {
        for pair in takes.windows(2) {
            let [before, after] = pair else { continue };
            if before.fence == after.fence {
                found.push(broken("a claim is one worker's", before.run, format!("{before:?} and {after:?}")));
            } else if after.at + 2 * self.skew < before.over {
                found.push(broken("at most one worker has a run", before.run, format!("{before:?} and {after:?}")));
            }
        }
    }
}

fn ended(record: &Record, found: &mut Vec<Violation>) {
    let is_over = ["succeeded", "failed", "timed_out", "cancelled", "skipped"].contains(&record.status.as_str());
    if !is_over {
        found.push(broken("every run comes to its end", record.run, format!("{record:?}")));
    }
}

fn of_record(record: &Record, takes: &[&Take], found: &mut Vec<Violation>) {
    let run = record.run;
    for take in takes {
        if take.fence > record.fence {
            found.push(broken("a claim is written", run, format!("{take:?} of {record:?}")));
        }
        let stands = match take.said {
            Some(Saying { word: Word::Succeeded(result), answer: Answer::Taken }) => {
                record.status == "succeeded" && record.result == Some(result)
            }
            Some(Saying { word: Word::FailedForGood, answer: Answer::Taken }) => {
                ["failed", "cancelled"].contains(&record.status.as_str())
            }
            _refused_or_followed_by_another => true,
        };
        if !stands {
            found.push(broken("what was taken stands", run, format!("{take:?} and {record:?}")));
        }
    }
    let holder = takes.iter().find(|take| take.fence == record.fence);
    let is_its = |take: &&Take| match (take.said, record.result) {
        (Some(Saying { word: Word::Succeeded(said), answer }), Some(result)) => {
            said == result && answer != Answer::Refused
        }
        _ => false,
    };
    if record.status == "succeeded" && !holder.is_some_and(is_its) {
        found.push(broken("a result is its last holder's", run, format!("{record:?}, and {holder:?}")));
    }
    let said =
        takes.iter().filter(|take| matches!(take.said, Some(Saying { word: Word::Failed | Word::FailedForGood, .. })));
    let failed = u32::try_from(said.count()).unwrap_or(u32::MAX).saturating_add(record.timed_out);
    if record.failures > failed {
        found.push(broken("only failures count as failures", run, format!("{failed} are known of {record:?}")));
    }
}

/// Of all that claim an effect one makes it, and whoever comes later is told what came of it.
fn effects(claims: &[Claim], found: &mut Vec<Violation>) {
    for claim in claims {
        let others = || claims.iter().filter(|other| other.run == claim.run && *other != claim);
        if claim.is_first && others().any(|other| other.is_first) {
            found.push(broken("an effect is made once", claim.run, format!("{claim:?}")));
        }
        let said = others().filter_map(|other| other.said);
        let is_known = said.clone().any(|said| said.acknowledged.is_some_and(|at| at < claim.asked_at));
        if is_known && claim.told.is_none() {
            found.push(broken("what came of an effect is told", claim.run, format!("{claim:?}")));
        }
        if claim.told.is_some_and(|told| said.clone().all(|said| said.value != told)) {
            found.push(broken("what is told of an effect was said", claim.run, format!("{claim:?}")));
        }
    }
}

/// Each holder goes on from what it was given, so that what is kept only grows.
fn what_is_kept_reaches_the_next(takes: &[&Take], found: &mut Vec<Violation>) {
    for after in takes {
        let before = takes.iter().filter(|take| take.fence < after.fence).flat_map(|take| &take.kept);
        let known = before.clone().filter(|kept| kept.acknowledged.is_some_and(|at| at < after.asked_at));
        let least = known.map(|kept| kept.value).max();
        if after.given < least {
            let detail = format!("{least:?} was kept, and {after:?}");
            found.push(broken("what is kept reaches the next holder", after.run, detail));
        }
        if after.given.is_some_and(|given| before.clone().all(|kept| kept.value != given)) {
            found.push(broken("what the next holder is given was kept", after.run, format!("{after:?}")));
        }
    }
}

fn broken(rule: &'static str, run: u64, detail: impl Into<String>) -> Violation {
    Violation { rule, job: 0, instant: i64::try_from(run).unwrap_or_default(), detail: detail.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn take(fence: u32, at: i64) -> Take {
        Take { run: 1, fence, asked_at: at - 10, at, over: at + 1_000, said: None, given: None, kept: vec![] }
    }

    fn says(word: Word, answer: Answer) -> Saying {
        Saying { word, answer }
    }

    /// A rule, and what breaks it.
    type Case = (&'static str, fn(&mut Account));

    fn record(status: &str, result: Option<u64>, fence: u32) -> Record {
        Record { run: 1, status: status.to_owned(), result, fence, failures: 0, timed_out: 0 }
    }

    /// The second holder begins where the first has left off, and ends it.
    fn good() -> Account {
        let kept = vec![Kept { value: 3, acknowledged: Some(500) }, Kept { value: 4, acknowledged: None }];
        let takes = vec![
            Take { kept, said: Some(says(Word::Failed, Answer::Taken)), ..take(1, 100) },
            Take { given: Some(3), said: Some(says(Word::Succeeded(7), Answer::None)), ..take(2, 1_200) },
        ];
        let records = vec![Record { failures: 1, ..record("succeeded", Some(7), 2) }];
        let first = Claim { run: 1, fence: 1, asked_at: 300, is_first: true, told: None, said: None };
        let claims = vec![
            Claim { said: Some(Kept { value: 5, acknowledged: Some(400) }), ..first.clone() },
            Claim { fence: 2, asked_at: 1_300, is_first: false, told: Some(5), ..first },
        ];
        Account { takes, claims, records, thefts: vec![], skew: 0 }
    }

    #[test]
    fn a_good_history_breaks_no_rule() {
        assert_eq!(good().judge(), []);
    }

    #[test]
    fn each_rule_notices_what_breaks_it() {
        let cases: [Case; 14] = [
            ("who shows another token is refused", |it| it.thefts.push(1)),
            ("a claim is one worker's", |it| it.takes[1].fence = 1),
            ("at most one worker has a run", |it| it.takes[1].at = 1_000),
            ("every run comes to its end", |it| it.records[0].status = "running".to_owned()),
            ("a run that was given has a record", |it| it.records.clear()),
            ("a claim is written", |it| it.takes[1].fence = 3),
            ("what was taken stands", |it| it.takes[0].said = Some(says(Word::Succeeded(1), Answer::Taken))),
            ("what was taken stands", |it| it.takes[0].said = Some(says(Word::FailedForGood, Answer::Taken))),
            ("a result is its last holder's", |it| it.takes[1].said = Some(says(Word::Succeeded(7), Answer::Refused))),
            ("only failures count as failures", |it| it.records[0].failures = 2),
            ("what is kept reaches the next holder", |it| it.takes[1].given = None),
            ("an effect is made once", |it| it.claims[1].is_first = true),
            ("what came of an effect is told", |it| it.claims[1].told = None),
            ("what is told of an effect was said", |it| it.claims[1].told = Some(6)),
        ];
        for (rule, spoil) in cases {
            let mut account = good();
            spoil(&mut account);

            assert!(account.judge().iter().any(|found| found.rule == rule), "{rule}: {:?}", account.judge());
        }
        let mut invented = good();
        invented.takes[1].given = Some(9);
        assert_eq!(invented.judge()[0].rule, "what the next holder is given was kept");
    }
}
