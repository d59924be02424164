//! Keys: under which bytes an item lies, so that a walk in byte order is the order that is asked for. A tenant ends with a
//! zero, which no tenant's name contains, so that no tenant's span reaches into another's.
//!
//! Nothing is read back from a key, as every item says in its value what it is, with two exceptions: a timer whose value cannot be read, and the number of
//! one of several items.

use std::ops::Range;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, RunKey, Tenant, base32, from_base32};
use minutehand_domain::operation::OperationId;
use minutehand_domain::pace;
use minutehand_domain::timer::{Obligation, TimerKey};

use super::engine::{Span, Table};
use crate::store::item::Item;
use crate::store::place::{self, Order, Part, Partition};

/// Under which key of which table an item lies.
pub(super) fn item<T: Item>(tenant: &Tenant, key: &T::Key) -> (Table, Vec<u8>) {
    let place = T::place(key);
    let (table, mut bytes) = partition(tenant, T::KIND, place.partition);
    push_all(&mut bytes, &place.sort);
    (table, bytes)
}

/// The keys of a span of one kind.
pub(super) fn span(tenant: &Tenant, kind: &str, span: &place::Span) -> (Table, Span) {
    let (table, partition) = partition(tenant, kind, span.partition);
    let of = |parts: &[Part]| {
        let mut bytes = partition.clone();
        push_all(&mut bytes, parts);
        bytes
    };
    let within = of(&span.within);
    let bound = |part: &Part| {
        let mut bytes = within.clone();
        push(&mut bytes, part);
        bytes
    };
    let mut from = span.from.as_ref().map_or_else(|| within.clone(), bound);
    let mut to = span.to.as_ref().map_or_else(|| behind_all(within.clone()), bound);
    match (&span.past, span.order) {
        (Some(past), Order::Forward) => from = just_after(of(past)).max(from),
        (Some(past), Order::Backward) => to = of(past).min(to),
        (None, _) => {}
    }
    (table, Span { from, to, order: span.order })
}

/// The first kinds have tables of their own, and documents share one. Whatever came later lies in one for all, behind the
/// word of its kind.
fn partition(tenant: &Tenant, kind: &str, partition: Partition) -> (Table, Vec<u8>) {
    let own = OF_ONE_KIND.iter().find(|(of, _)| *of == kind);
    let (table, kind) = match (own, partition) {
        (Some((_, table)), _) => (*table, None),
        (None, Partition::Kind) => (Table::Documents, Some(kind)),
        (None, _) => (Table::Items, Some(kind)),
    };
    let mut bytes = Vec::with_capacity(USUAL_BYTES);
    if !matches!(partition, Partition::Shard(_)) {
        push_word(&mut bytes, tenant.as_str());
    }
    if let Some(kind) = kind {
        push_word(&mut bytes, kind);
    }
    match partition {
        Partition::Jobs | Partition::Kind => {}
        Partition::History(job) => bytes.extend_from_slice(job.as_bytes()),
        Partition::Shard(shard) => bytes.extend_from_slice(&shard.to_be_bytes()),
    }
    (table, bytes)
}

/// The tables that hold one kind each.
const OF_ONE_KIND: [(&str, Table); 5] = [
    ("head", Table::Heads),
    ("run", Table::Runs),
    ("attempt", Table::Attempts),
    ("body", Table::Bodies),
    ("cursor", Table::Cursors),
];

fn push_all(bytes: &mut Vec<u8>, parts: &[Part]) {
    for (place, part) in parts.iter().enumerate() {
        push(bytes, part);
        // Only what ends in a word may be of any length.
        if matches!(part, Part::Word(_)) && place + 1 < parts.len() {
            bytes.push(0);
        }
    }
}

fn push(bytes: &mut Vec<u8>, part: &Part) {
    match part {
        Part::Job(job) => bytes.extend_from_slice(job.as_bytes()),
        Part::Instant(at) => bytes.extend_from_slice(&moment(*at)),
        Part::Code(code) => bytes.push(*code),
        Part::Discriminator(number) => bytes.extend_from_slice(&number.to_be_bytes()),
        Part::Number(number) => bytes.extend_from_slice(&number.to_be_bytes()),
        Part::Digest(digest) => bytes.extend_from_slice(&digest.0),
        Part::Word(word) => bytes.extend_from_slice(word.as_bytes()),
    }
}

/// A word that others follow ends with a zero, which no word contains.
fn push_word(bytes: &mut Vec<u8>, word: &str) {
    bytes.extend_from_slice(word.as_bytes());
    bytes.push(0);
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

/// Where the list of everybody's dead letters leads to this one: by instant, then by run.
pub(super) fn letter(tenant: &Tenant, key: RunKey) -> Vec<u8> {
    [&moment(key.at)[..], &of(tenant, &[&key.to_bytes()])].concat()
}

/// The same of the run that lies under this key: it ends with the run's own.
pub(super) fn run_listed_at(key: &[u8]) -> Option<Vec<u8>> {
    let (tenant, run) = key.split_at(key.iter().position(|byte| *byte == 0)? + 1);
    let at = RunKey::from_bytes(run.try_into().ok()?)?.at;
    Some([tenant, &moment(at), run].concat())
}

/// The run that is listed under this key.
pub(super) fn run_listed_in(by_time: &[u8]) -> Option<RunKey> {
    RunKey::from_bytes(by_time.last_chunk::<{ RunKey::BYTES }>()?)
}

/// Where the list of everybody's dead letters leads to a run that is listed under this key.
pub(super) fn letter_listed_at(by_time: &[u8]) -> Option<Vec<u8>> {
    let (tenant, rest) = by_time.split_at(by_time.iter().position(|byte| *byte == 0)? + 1);
    let (at, run) = rest.split_first_chunk::<MOMENT_BYTES>()?;
    Some([&at[..], tenant, run].concat())
}

/// Everybody's dead letters, the oldest first.
pub(super) fn letters() -> Span {
    all_timers()
}

/// By instant, then by what expires then.
pub(super) fn expiring(at: Moment, table: Table, key: &[u8]) -> Vec<u8> {
    [&moment(at)[..], &[table.number()], key].concat()
}

/// What has expired at `now`.
pub(super) fn expired(now: Moment, behind: Option<Vec<u8>>) -> Span {
    Span { from: behind.map_or_else(Vec::new, just_after), to: past(now), order: Order::Forward }
}

/// Whether an entry of what expires leads to what lies under this key.
pub(super) fn expires_there(entry: &[u8], table: Table, key: &[u8]) -> bool {
    entry.get(MOMENT_BYTES) == Some(&table.number()) && entry.get(MOMENT_BYTES + 1..) == Some(key)
}

/// What lies beneath the run under this key, of each kind that is written of a run beside it: their keys go on from the run's.
pub(super) fn beneath_a_run(run: &[u8]) -> Vec<(Table, Span)> {
    let attempts = (Table::Attempts, beneath(run.to_vec()));
    let tenant = run.iter().position(|byte| *byte == 0).map_or(0, |end| end + 1);
    let (tenant, rest) = run.split_at(tenant);
    let items = BENEATH_A_RUN.map(|kind| (Table::Items, beneath([tenant, kind.as_bytes(), &[0], rest].concat())));
    std::iter::once(attempts).chain(items).collect()
}

/// Whatever lies under a key that goes on from this one.
pub(super) fn beneath(key: Vec<u8>) -> Span {
    Span { from: key.clone(), to: behind_all(key), order: Order::Forward }
}

/// The kinds whose items say more of one run, and lie in the table for all.
const BENEATH_A_RUN: [&str; 5] = ["logbook", "checkpoint", "log", "effect", "runbody"];

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
        Obligation::Calendar(place) => {
            bytes.push(3);
            bytes.extend_from_slice(place.as_bytes());
        }
        Obligation::Operation(id) => {
            bytes.push(4);
            bytes.extend_from_slice(id.as_bytes());
        }
    }
    bytes
}

/// The number that a key ends with, where it ends with one.
pub(super) fn number_in(key: &[u8]) -> u32 {
    key.last_chunk::<4>().map_or(0, |number| u32::from_be_bytes(*number))
}

/// The timer that lies under a key; none where it is none of ours.
pub(super) fn timer_of(bytes: &[u8]) -> Option<TimerKey> {
    let (due, rest) = (moment_of(bytes)?, bytes.get(MOMENT_BYTES..)?);
    let (kind, rest) = rest.split_first()?;
    let obligation = match kind {
        0 => Obligation::Occurrence(JobId::from_bytes(rest.try_into().ok()?)),
        1 => {
            let (job, at) = rest.split_first_chunk()?;
            Obligation::MovedOccurrence(JobId::from_bytes(*job), moment_of(at)?)
        }
        2 => Obligation::Run(RunKey::from_bytes(rest.try_into().ok()?)?),
        3 => Obligation::Calendar(JobId::from_bytes(rest.try_into().ok()?)),
        4 => Obligation::Operation(OperationId::from_bytes(rest.try_into().ok()?)),
        _ => return None,
    };
    let key = TimerKey { due, obligation };
    (timer(&key) == bytes).then_some(key)
}

/// All of a table of items or timers, of all tenants, behind the last one seen.
pub(super) fn whole_behind(last: Option<Vec<u8>>) -> Span {
    // A tenant's name, the word of a kind, or an instant is what each key begins with.
    Span { from: last.map_or_else(Vec::new, just_after), to: vec![u8::MAX], order: Order::Forward }
}

/// When the timer under a key is due. One that begins with no instant lies in no bucket.
pub(super) fn due_of(bytes: &[u8]) -> Option<Moment> {
    moment_of(bytes)
}

/// Of the run to which an entry of the letters leads.
pub(super) fn instant_of(letter: &[u8]) -> Option<Moment> {
    moment_of(letter)
}

/// Every timer in the buckets from this minute on.
pub(super) fn timers_from(minute: i64) -> Span {
    let minute = minute.clamp(0, pace::minute_of(Moment::END));
    Span { from: moment(pace::end_of(minute - 1)).to_vec(), ..all_timers() }
}

/// Every timer behind the one of which this is the key in letters.
pub(super) fn timers_behind(last: Option<&str>) -> Span {
    let from = last.and_then(from_base32).map_or_else(Vec::new, just_after);
    Span { from, ..all_timers() }
}

fn moment_of(bytes: &[u8]) -> Option<Moment> {
    let mut millis = [0; 8];
    millis[8 - MOMENT_BYTES..].copy_from_slice(bytes.get(..MOMENT_BYTES)?);
    let millis = i64::from_be_bytes(millis);
    (millis <= Moment::END.millis()).then(|| Moment::from_millis(millis))
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

/// The word of the kind of the item that lies there, as its table says or its key; none of a timer, and of what only leads to an item.
pub(super) fn kind_of(table: Table, key: &[u8]) -> Option<&str> {
    match table {
        Table::Documents | Table::Items => Some(kind_in(key).unwrap_or_default()),
        table => OF_ONE_KIND.iter().find(|(_, of)| *of == table).map(|(kind, _)| *kind),
    }
}

/// It follows on the tenant; where the item is no tenant's, a shard follows on it.
fn kind_in(key: &[u8]) -> Option<&str> {
    let mut words = key.splitn(3, |byte| *byte == 0);
    let (first, second) = (words.next()?, words.next()?);
    let is_of_a_shard = key.len() == first.len() + 1 + size_of::<u16>();
    str::from_utf8(if is_of_a_shard { first } else { second }).ok()
}

/// A key for people, which can be typed back: the name of its table, and the key in letters and digits.
pub(super) fn spelled(table: Table, key: &[u8]) -> String {
    format!("{}:{}", table.name(), base32(key))
}

/// The key that is so spelled; none where it is none of ours.
pub(super) fn spelled_in(text: &str) -> Option<(Table, Vec<u8>)> {
    let (name, key) = text.split_once(':')?;
    let table = Table::ALL.into_iter().find(|table| table.name() == name)?;
    Some((table, from_base32(key)?))
}

/// Every table in which anything is a tenant's; first what opens doors, then what starts runs.
pub(super) const WHERE_TENANTS_LIE: [Table; 10] = [
    Table::Documents,
    Table::Heads,
    Table::Timers,
    Table::Runs,
    Table::Attempts,
    Table::Bodies,
    Table::Items,
    Table::RunsByTime,
    Table::Expiring,
    Table::Letters,
];

/// Where a tenant's things lie in one of them, past a key. Timers, letters, and what expires, lie by time, whosever they are.
pub(super) fn where_a_tenant_lies(table: Table, tenant: &Tenant, past: Option<Vec<u8>>) -> Span {
    let whole = match table {
        Table::Timers | Table::Expiring | Table::Letters => all_timers(),
        _ => {
            let from = of(tenant, &[]);
            Span { to: behind_all(from.clone()), from, order: Order::Forward }
        }
    };
    Span { from: past.map_or(whole.from, just_after), ..whole }
}

/// Whether what expires is a tenant's: its own key follows on the instant and the table.
pub(super) fn expires_of(key: &[u8], tenant: &Tenant) -> bool {
    let is_a_cursors = key.get(MOMENT_BYTES) == Some(&Table::Cursors.number());
    !is_a_cursors && key.get(MOMENT_BYTES + 1..).is_some_and(|key| key.starts_with(&of(tenant, &[])))
}

/// Whether a letter is a tenant's: his name follows on the instant.
pub(super) fn is_letter_of(key: &[u8], tenant: &Tenant) -> bool {
    key.get(MOMENT_BYTES..).is_some_and(|key| key.starts_with(&of(tenant, &[])))
}

/// Every timer there is.
pub(super) fn all_timers() -> Span {
    Span { from: Vec::new(), to: past(Moment::END), order: Order::Forward }
}

const MOMENT_BYTES: usize = 6;
/// Of a key: a tenant of a usual name, and a run.
const USUAL_BYTES: usize = 64;

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

/// The first key that does not begin with these bytes, of those after it. They are not all of the highest: each begins with
/// a word or a shard.
fn behind_all(mut prefix: Vec<u8>) -> Vec<u8> {
    while prefix.last() == Some(&u8::MAX) {
        prefix.pop();
    }
    if let Some(last) = prefix.last_mut() {
        *last += 1;
    }
    prefix
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
    use minutehand_domain::head::Head;
    use minutehand_domain::id::JobId;

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
        let all = place::Span::all(Partition::Jobs, None);
        let (_, span) = span(&tenant("ab"), Head::KIND, &all);

        for job in [[0; 16], [0xff; 16]].map(JobId::from_bytes) {
            let head = |name| item::<Head>(&tenant(name), &job).1;
            assert!(holds(&span, &head("ab")));
            for other in ["a", "ab-", "ab0", "abc", "b"] {
                assert!(!holds(&span, &head(other)), "{other}");
            }
        }
    }

    #[test]
    fn no_kind_of_documents_reaches_into_another_whose_name_begins_alike() {
        let all = place::Span::all(Partition::Kind, None);
        let (_, keys) = span(&tenant("ab"), "key", &all);
        let named = |owner, kind, name: &str| {
            let mut key = partition(&tenant(owner), kind, Partition::Kind).1;
            push(&mut key, &Part::Word(name.to_owned()));
            key
        };

        assert!(holds(&keys, &named("ab", "key", "~~~")));
        for (owner, kind) in [("ab", "ke"), ("ab", "keys"), ("a", "key"), ("abc", "key")] {
            assert!(!holds(&keys, &named(owner, kind, "x")), "{owner} {kind}");
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
            keys.push(TimerKey { due, obligation: Obligation::Calendar(JOB) });
            keys.push(TimerKey::operation(OperationId::from_bytes([9; 16]), due));
        }

        for a in &keys {
            assert_eq!(timer_of(&timer(a)), Some(*a));
            assert_eq!(timer_of(&timer(a)[1..]), None);
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
