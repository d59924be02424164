//! Keys: under which bytes an item lies, so that a walk in byte order is the order that is asked for. A tenant ends with a
//! zero, which no tenant's name contains, so that no tenant's span reaches into another's.
//!
//! Nothing is ever read back from a key: every item says in its value what it is.

use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::body::Digest;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::pace;
use minutehand_domain::timer::{Obligation, TimerKey};

use super::engine::{Order, Span};

pub(super) fn head(tenant: &Tenant, job: JobId) -> Vec<u8> {
    of(tenant, &[job.as_bytes()])
}

/// A tenant's heads by id, after `after`.
pub(super) fn heads(tenant: &Tenant, after: Option<JobId>) -> Span {
    let from = after.map_or_else(|| of(tenant, &[]), |job| just_after(head(tenant, job)));
    Span { from, to: of(tenant, &[&PAST_ANY_JOB]), order: Order::Forward }
}

pub(super) fn run(tenant: &Tenant, key: RunKey) -> Vec<u8> {
    of(tenant, &[&key.to_bytes()])
}

/// A job's runs whose instant lies in `window`, newest first, older than `before`.
pub(super) fn runs(tenant: &Tenant, job: JobId, window: &Range<Moment>, before: Option<RunKey>) -> Span {
    let first_at = |at| run(tenant, RunKey::occurrence(job, at));
    let end = first_at(window.end);
    let to = before.map_or(end.clone(), |key| run(tenant, key).min(end));
    Span { from: first_at(window.start), to, order: Order::Backward }
}

/// Where the list of all a tenant's runs leads to this one: by instant, then by key.
pub(super) fn run_by_time(tenant: &Tenant, key: RunKey) -> Vec<u8> {
    of(tenant, &[&moment(key.at), &key.to_bytes()])
}

/// A tenant's runs whose instant lies in `window`, newest first, before `before`.
pub(super) fn runs_by_time(tenant: &Tenant, window: &Range<Moment>, before: Option<RunKey>) -> Span {
    let first_at = |at: Moment| of(tenant, &[&moment(at)]);
    let end = first_at(window.end);
    let to = before.map_or(end.clone(), |key| run_by_time(tenant, key).min(end));
    Span { from: first_at(window.start), to, order: Order::Backward }
}

/// A document of a kind, which ends with a zero as its tenant does.
pub(super) fn document(tenant: &Tenant, kind: &str, name: &str) -> Vec<u8> {
    of(tenant, &[kind.as_bytes(), &[0], name.as_bytes()])
}

/// A tenant's documents of a kind by name, after `after`. Names are ASCII.
pub(super) fn documents(tenant: &Tenant, kind: &str, after: Option<&str>) -> Span {
    let from = after.map_or_else(|| document(tenant, kind, ""), |name| just_after(document(tenant, kind, name)));
    Span { from, to: of(tenant, &[kind.as_bytes(), &[0], &[0xff]]), order: Order::Forward }
}

pub(super) fn attempt(tenant: &Tenant, run: RunKey, number: u32) -> Vec<u8> {
    of(tenant, &[&run.to_bytes(), &number.to_be_bytes()])
}

/// A run's attempts, oldest first.
pub(super) fn attempts(tenant: &Tenant, run: RunKey) -> Span {
    let to = just_after(attempt(tenant, run, u32::MAX));
    Span { from: attempt(tenant, run, 0), to, order: Order::Forward }
}

pub(super) fn body(tenant: &Tenant, job: JobId, digest: Digest) -> Vec<u8> {
    of(tenant, &[job.as_bytes(), &digest.0])
}

/// By instant, then by thing: as timer keys compare.
pub(super) fn timer(key: &TimerKey) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MOMENT_BYTES + 1 + RunKey::BYTES);
    bytes.extend_from_slice(&moment(key.due));
    match key.obligation {
        Obligation::Occurrence(job) => {
            bytes.push(0);
            bytes.extend_from_slice(job.as_bytes());
        }
        Obligation::MovedOccurrence(job, at) => {
            bytes.push(1);
            bytes.extend_from_slice(job.as_bytes());
            bytes.extend_from_slice(&moment(at));
        }
        Obligation::Run(run) => {
            bytes.push(2);
            bytes.extend_from_slice(&run.to_bytes());
        }
    }
    bytes
}

/// A minute's timers due at `until` or earlier, after `after`, of all shards. None where the minute lies outside of time.
pub(super) fn timers(minute: i64, after: Option<TimerKey>, until: Moment) -> Option<Span> {
    let minutes = 0..=pace::minute_of(Moment::END);
    if !minutes.contains(&minute) {
        return None;
    }
    let begin = moment(pace::end_of(minute - 1)).to_vec();
    let from = after.map_or(begin.clone(), |key| just_after(timer(&key)).max(begin));
    let last = until.min(last_of(minute));
    Some(Span { from, to: past(last), order: Order::Forward })
}

/// Every timer there is.
pub(super) fn all_timers() -> Span {
    Span { from: Vec::new(), to: past(Moment::END), order: Order::Forward }
}

pub(super) fn cursor(shard: u16) -> Vec<u8> {
    shard.to_be_bytes().to_vec()
}

const MOMENT_BYTES: usize = 6;
/// Sorts after every job: a job has 16 bytes.
const PAST_ANY_JOB: [u8; 17] = [0xff; 17];

fn of(tenant: &Tenant, parts: &[&[u8]]) -> Vec<u8> {
    let tenant = tenant.as_str().as_bytes();
    let mut bytes = Vec::with_capacity(tenant.len() + 1 + parts.iter().map(|part| part.len()).sum::<usize>());
    bytes.extend_from_slice(tenant);
    bytes.push(0);
    for part in parts {
        bytes.extend_from_slice(part);
    }
    bytes
}

/// Six bytes hold every moment we speak of.
fn moment(moment: Moment) -> [u8; MOMENT_BYTES] {
    let [_, _, bytes @ ..] = moment.millis().to_be_bytes();
    bytes
}

/// The first key after this one.
fn just_after(mut key: Vec<u8>) -> Vec<u8> {
    key.push(0);
    key
}

/// The first key of the millisecond after, also after the last moment we speak of.
fn past(last: Moment) -> Vec<u8> {
    let [_, _, bytes @ ..] = (last.millis() + 1).to_be_bytes();
    bytes.to_vec()
}

/// The last millisecond of a minute. Time ends inside the last one.
fn last_of(minute: i64) -> Moment {
    let end = pace::end_of(minute);
    if pace::minute_of(end) == minute { end } else { end.just_before() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: JobId = JobId::from_bytes([7; 16]);

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    fn holds(span: &Span, key: &[u8]) -> bool {
        span.from.as_slice() <= key && key < span.to.as_slice()
    }

    #[test]
    fn no_tenants_span_reaches_into_another_whose_name_begins_alike() {
        let span = heads(&tenant("ab"), None);

        for job in [[0; 16], [0xff; 16]].map(JobId::from_bytes) {
            assert!(holds(&span, &head(&tenant("ab"), job)));
            for other in ["a", "ab-", "ab0", "abc", "b"] {
                assert!(!holds(&span, &head(&tenant(other), job)), "{other}");
            }
        }
    }

    #[test]
    fn no_kind_of_documents_reaches_into_another_whose_name_begins_alike() {
        let span = documents(&tenant("ab"), "key", None);

        assert!(holds(&span, &document(&tenant("ab"), "key", "~~~")));
        for (owner, kind) in [("ab", "ke"), ("ab", "keys"), ("a", "key"), ("abc", "key")] {
            assert!(!holds(&span, &document(&tenant(owner), kind, "x")), "{owner} {kind}");
        }
    }

    #[test]
    fn timer_keys_sort_as_their_bytes_do() {
        let (early, late) = (Moment::from_secs(1), Moment::from_secs(70));
        let run = RunKey::manual(JOB, late, 5);
        let mut keys = Vec::new();
        for due in [early, late, Moment::END] {
            for job in [JOB, JobId::from_bytes([8; 16])] {
                keys.extend(
                    [
                        Obligation::Occurrence(job),
                        Obligation::MovedOccurrence(job, early),
                        Obligation::MovedOccurrence(job, late),
                    ]
                    .map(|obligation| TimerKey { due, obligation }),
                );
            }
            keys.extend([TimerKey::run(run, due), TimerKey::run(RunKey::occurrence(JOB, late), due)]);
        }

        for a in &keys {
            for b in &keys {
                assert_eq!(a.cmp(b), timer(a).cmp(&timer(b)), "{a:?} {b:?}");
            }
        }
    }

    #[test]
    fn a_bucket_spans_its_minute_and_nothing_else() {
        let span = timers(1, None, Moment::END).unwrap();
        let at = |millis| timer(&TimerKey::occurrence(JOB, Moment::from_millis(millis)));

        assert!(!holds(&span, &at(59_999)));
        assert!(holds(&span, &at(60_000)) && holds(&span, &at(119_999)));
        assert!(!holds(&span, &at(120_000)));
    }

    #[test]
    fn the_last_bucket_holds_the_last_moment_and_none_lies_beyond() {
        let last = pace::minute_of(Moment::END);

        let span = timers(last, None, Moment::END).unwrap();

        assert!(holds(&span, &timer(&TimerKey::occurrence(JOB, Moment::END))));
        assert_eq!(timers(last + 1, None, Moment::END), None);
        assert_eq!(timers(i64::MIN, None, Moment::END), None);
    }
}
