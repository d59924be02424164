//! The witness: translates requests, calls and records into the judge's terms.
//!
//! One machine has one clock, one process at a time holds the store, and the test sees neither leases nor timers. So:
//! - `since` of a creation is put back by the skew that the judge allows: what is due at once is asked for as well;
//! - a call's own clock, its claim and its arrival are one instant: milliseconds lie between them;
//! - a lease is said to last for ever: the next call of a run must wait until the one before was answered or its process
//!   was dead, which the target sees by itself, and on a busy machine a moment later. That is more than the design promises;
//! - no timer is told, and every schedule has ended: the rules about timers and the sweep then say nothing;
//! - the end is an hour later than it is: everything has ended, and is asked to be settled already now.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use futures_util::stream;
use minutehand_judge::{self as judge, Account, CatchUp, Head, SKEW, Status, Violation};
use serde_json::Value;

use crate::asked::{Asked, Kind};
use crate::client::{Client, instant, text};
use crate::patience::now;
use crate::read_back::{Read, jobs, runs};
use crate::tally::Tally;
use crate::target::{Call, Target};

/// Jobs read at the same time.
const AT_ONCE: usize = 16;
const LOOK_AGAIN: Duration = Duration::from_millis(50);
const LATER: i64 = 3_600_000;
const FOR_EVER: i64 = i64::MAX / 2;
/// How much later than it was, in milliseconds, the target may see that a caller is gone.
const SEEN_LATE: i64 = 100;
/// The number of a run that stands nowhere.
const NOWHERE: u64 = u64::MAX;

pub(crate) struct Witness<'a> {
    pub(crate) asked_for: Vec<Asked>,
    pub(crate) target: &'a Target,
}

pub(crate) struct Judged {
    pub(crate) violations: Vec<Violation>,
    pub(crate) tally: Tally,
}

/// All there is to say about one job.
struct Case {
    job_id: Option<String>,
    job: judge::Job,
    /// What the judge has no rule for, because in the simulation it cannot be.
    beside: Vec<Violation>,
    asked_runs: Vec<(i64, String)>,
    runs: Vec<Read>,
}

impl Witness<'_> {
    /// Reads everything until nothing is wrong with it any more, for at most `within` after the first time;
    /// then what is wrong is wrong.
    pub(crate) async fn settled(&self, client: &Client, within: Duration) -> Judged {
        let mut first_read = None;
        let (mut open, mut clean) = (self.cases(&jobs(client).await), Vec::new());
        while !open.is_empty() {
            open = stream::iter(open).map(|case| case.read(client)).buffer_unordered(AT_ONCE).collect().await;
            // A case that was clean may have been called since it was read.
            let calls = self.calls_by_job();
            let seen = clean.into_iter().chain(open);
            (clean, open) = seen.partition(|case: &Case| case.violations(&calls).is_empty());
            if first_read.get_or_insert_with(Instant::now).elapsed() > within {
                break;
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        clean.append(&mut open);
        self.judged(&clean)
    }

    fn judged(&self, cases: &[Case]) -> Judged {
        let calls = self.calls_by_job();
        let mut whole = Account { end: now() + LATER, ..Account::default() };
        let mut violations = strangers(&calls, cases);
        for case in cases {
            let Account { jobs, calls, records, .. } = case.account(&calls);
            violations.extend(case.beside.iter().cloned().chain(calls.iter().filter_map(without_a_record)));
            whole.jobs.extend(jobs);
            whole.calls.extend(calls);
            whole.records.extend(records);
        }
        violations.extend(whole.judge());
        let lost = cases.iter().flat_map(|case| &case.runs).map(|run| run.lost).sum();
        Judged { violations, tally: Tally::of(&whole, &self.asked_for, lost) }
    }

    /// A case for each job that was asked for. What was acknowledged must be there, once, and as it was told.
    fn cases(&self, listed: &[Value]) -> Vec<Case> {
        let mut by_name: BTreeMap<String, Vec<&Value>> = BTreeMap::new();
        for job in listed {
            by_name.entry(text(job, "name")).or_default().push(job);
        }
        let cases = (1..).zip(&self.asked_for);
        cases.map(|(number, asked)| Case::of(asked, number, &by_name.remove(&asked.name).unwrap_or_default())).collect()
    }

    fn calls_by_job(&self) -> BTreeMap<String, Vec<Call>> {
        let mut by_job: BTreeMap<String, Vec<Call>> = BTreeMap::new();
        for call in self.target.calls() {
            by_job.entry(call.job.clone()).or_default().push(call);
        }
        by_job
    }
}

impl Case {
    fn of(asked: &Asked, number: u32, listed: &[&Value]) -> Self {
        let mut case = Self {
            job_id: listed.first().map(|job| text(job, "job_id")),
            job: judge::Job {
                job: number,
                heads: listed.first().map(|job| heads(asked, instant(job, "created_at"))).unwrap_or_default(),
                acknowledged: asked.made.is_some(),
                creations: asked.creations.max(u32::try_from(listed.len()).unwrap()),
                at_most_once: asked.kind == Kind::OnceAtMost,
                ..judge::Job::default()
            },
            beside: Vec::new(),
            asked_runs: asked.runs.clone(),
            runs: Vec::new(),
        };
        if let (Some(made), [job, ..]) = (&asked.made, listed) {
            case.compare(made, job, asked);
        }
        case
    }

    /// The job that was acknowledged is the one that stands, and its last acknowledged change too.
    fn compare(&mut self, made: &Value, job: &Value, asked: &Asked) {
        let same = ["job_id", "created_at", "schedule", "target"].iter().all(|field| made[field] == job[field]);
        if !same {
            self.find("what was acknowledged is what stands", format!("{made} became {job}"));
        }
        let status = match job["status"].as_str() {
            Some("paused") => Status::Paused,
            Some("cancelled") => Status::Cancelled,
            _ => Status::Active,
        };
        if status != asked.status() {
            self.find("an acknowledged change stands", format!("{:?} is {job}", asked.changes));
        }
    }

    fn find(&mut self, rule: &'static str, detail: String) {
        self.beside.push(Violation { rule, job: self.job.job, instant: 0, detail });
    }

    async fn read(mut self, client: &Client) -> Self {
        if let Some(id) = &self.job_id {
            self.runs = runs(client, id, self.job.job).await;
            self.job.asked = self.asked_runs.iter().map(|(at, run)| self.asked(*at, run)).collect();
        }
        self
    }

    /// One that stands nowhere gets a number that no record has.
    fn asked(&self, at: i64, run: &str) -> judge::Asked {
        judge::Asked { at, number: self.number_of(run).unwrap_or(NOWHERE) }
    }

    fn number_of(&self, run: &str) -> Option<u64> {
        self.runs.iter().find(|read| read.run_id == run).map(|read| read.record.number)
    }

    fn account(&self, calls: &BTreeMap<String, Vec<Call>>) -> Account {
        let of_job = self.job_id.as_ref().and_then(|id| calls.get(id)).map_or(&[][..], Vec::as_slice);
        let calls: Vec<judge::Call> = of_job.iter().map(|call| self.call(call)).collect();
        let records = self.runs.iter().map(|read| with_the_last_fence_called(&read.record, &calls)).collect();
        Account { jobs: vec![self.job.clone()], calls, records, end: now() + LATER, ..Account::default() }
    }

    fn call(&self, call: &Call) -> judge::Call {
        judge::Call {
            at: call.at,
            claimed_at: call.at,
            put_off_at: None,
            own_clock: call.at,
            job: self.job.job,
            instant: call.scheduled_at,
            number: self.number_of(&call.run).unwrap_or(NOWHERE),
            fence: call.attempt,
            lease_until: FOR_EVER,
            ended_at: call.ended_at.map(|seen| call.at.max(seen - SEEN_LATE)),
        }
    }

    fn violations(&self, calls: &BTreeMap<String, Vec<Call>>) -> Vec<Violation> {
        let account = self.account(calls);
        account.calls.iter().filter_map(without_a_record).chain(account.judge()).collect()
    }
}

/// A claim is written before its call: in the simulation there is no other way to be called.
fn without_a_record(call: &judge::Call) -> Option<Violation> {
    let violation = || Violation {
        rule: "every call has its record",
        job: call.job,
        instant: call.instant,
        detail: format!("{call:?}"),
    };
    (call.number == NOWHERE).then(violation)
}

/// How the job stood from when to when, by the answers.
fn heads(asked: &Asked, created_at: i64) -> Vec<Head> {
    let schedule = asked.kind.schedule(created_at);
    let made = Head {
        since: created_at - SKEW,
        decided: created_at,
        status: Status::Active,
        schedule: schedule.clone(),
        catch_up: CatchUp::USUAL,
    };
    let change = |(at, status): &(i64, Status)| Head {
        since: *at,
        decided: *at,
        status: *status,
        schedule: schedule.clone(),
        catch_up: CatchUp::USUAL,
    };
    std::iter::once(made).chain(asked.changes.iter().map(change)).collect()
}

/// The last fence is what the record says or what the target saw, whichever is later: a claim that was forgotten shows.
fn with_the_last_fence_called(record: &judge::Record, calls: &[judge::Call]) -> judge::Record {
    let same = |call: &&judge::Call| (call.instant, call.number) == (record.instant, record.number);
    let called = calls.iter().filter(same).map(|call| call.fence).max().unwrap_or(0);
    judge::Record { fence: record.fence.max(called), ..record.clone() }
}

/// Calls for jobs that do not stand: nobody may have been called for what was never made.
fn strangers(calls: &BTreeMap<String, Vec<Call>>, cases: &[Case]) -> Vec<Violation> {
    let known = |id: &str| cases.iter().any(|case| case.job_id.as_deref() == Some(id));
    let strange = calls.iter().filter(|(id, _)| !known(id));
    let violation = |calls: &Vec<Call>| Violation {
        rule: "nothing starts of a job that never was",
        job: 0,
        instant: calls[0].scheduled_at,
        detail: format!("{calls:?}"),
    };
    strange.map(|(_, calls)| violation(calls)).collect()
}
