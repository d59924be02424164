//! Golden shapes: what every shape looks like in both stores, to the byte. What lies in somebody's data directory does not
//! change with us: a line here never changes either. A shape that must change gets another number, and lines of its own.
//!
//! The lines of shape 1 were written by the release that had no shapes yet (dc7fa05): its items are what they are.

use std::collections::BTreeSet;
use std::fmt::{Debug, Write as _};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::access::{ApiKey, By, KeyId, KeyUse, Role, SecretHash};
use minutehand_domain::audit::{Act, ActKey, Deed, Outcome};
use minutehand_domain::body::{Body, Digest, Json};
use minutehand_domain::calendar::{CalendarUse, CalendarVersion, Goes, Shared, Walk};
use minutehand_domain::callback::{Callback, CallbackPlace, End};
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::cursor::{Cursor, Step};
use minutehand_domain::follow::{Follower, Follows, Listed};
use minutehand_domain::head::Head;
use minutehand_domain::health::Extent;
use minutehand_domain::health::day::{Day, End as CountedEnd, EndKey, Ends, How};
use minutehand_domain::hint::Hint;
use minutehand_domain::hook::{BeforeHook, Given, Hooks, OnError};
use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
use minutehand_domain::idempotency::{Asked, AskedName, Fingerprint};
use minutehand_domain::job::{Before, Carried, Definition, Job, Noted, Status};
use minutehand_domain::keeping::{Keeping, Lengthened};
use minutehand_domain::notification::{Digest as Digested, Entry, Rule, RuleName, SlackUrl, To, When, Whose, Window};
use minutehand_domain::operation::{
    Backfill, Erasing, Erasure, JobAct, JobFilter, Operation, OperationHead, OperationId, Position, Progress as Came,
    Reason, RunAct, RunFilter, State as OperationState, Subject, Work,
};
use minutehand_domain::order::{Delivery, Terms};
use minutehand_domain::overlap::Overlap;
use minutehand_domain::pool::presence::{Hold, Presence};
use minutehand_domain::pool::{Offer, Pool};
use minutehand_domain::priority::Priority;
use minutehand_domain::quota::{Limits, Quota};
use minutehand_domain::retention::{Kept, Retention};
use minutehand_domain::retry::{Backoff, Jitter, RetryPolicy};
use minutehand_domain::run::attempt::Ended;
use minutehand_domain::run::effect::{Claimed, Effect, RequestMark, Told};
use minutehand_domain::run::logbook::{Checkpoint, LateAnswer, LateWord, Lines, LogPiece, Logbook, Progress};
use minutehand_domain::run::{
    Attempt, AttemptError, Branches, CancelAsked, Ending, Failure, Graph, Holder, Judgement, Lease, Made, MadeUp,
    Remark, Remarked, Run, Said, Skip, SkippedSpan, Sla, State, Stop, Tally, TaskPlace, TaskRun, Tasks, Waiting, Word,
};
use minutehand_domain::schedule::cron::{DayRule, DstGap, DstOverlap};
use minutehand_domain::schedule::{OnExcluded, Plan, Schedule, Spread};
use minutehand_domain::secret::{Label, Sealed, Secret};
use minutehand_domain::signing::SigningSecrets;
use minutehand_domain::slot::{Admission, Bound, Bounds, Concurrency, Pace, Rate, Slot, SlotName, Waiter};
use minutehand_domain::survey::{Segment, Survey};
use minutehand_domain::target::{
    Asks, Header, HttpTarget, Method, ServiceTarget, Target, Timeouts, WorkerTarget, WorkflowTarget,
};
use minutehand_domain::timer::{Obligation, Timer, TimerKey, TimerStamp};
use minutehand_domain::trace::{TraceContext, Traced};
use minutehand_domain::workflow::edge::On;
use minutehand_domain::workflow::join::Join;
use minutehand_domain::workflow::plan::Phase;
use minutehand_domain::workflow::{Workflow, WorkflowId};

use super::embedded::Codec;
use super::item::Item;
use super::items::{DefinitionPiece, KeptBody, KeptRules, OfKind, RunBody, of_kind};
use super::{Seen, Version};

const AT: Moment = Moment::from_millis(1_800_000_000_123);
const JOB: JobId = JobId::from_bytes([7; 16]);
const VERSION: Version = Version(9);
const OPERATION: OperationId = OperationId::from_bytes([7; 16]);

#[test]
fn every_shape_is_to_the_byte_what_it_was() {
    let (mut lines, mut table) = (String::new(), Table::new(include_str!("golden/bytes.txt")));
    each(&mut |name, item| {
        let bytes = item.to_bytes();
        writeln!(lines, "{name}: {}", hex(&bytes)).unwrap();
        table.expect(name, &hex(&bytes));
    });
    table.settle(&lines);
}

/// What has once been written is read for ever, whatever is written today.
#[test]
fn every_line_that_was_ever_written_is_read() {
    let table = Table::new(include_str!("golden/bytes.txt"));
    each(&mut |name, item| {
        for line in table.all(name) {
            item.is_read_from(&unhex(line));
        }
    });
}

#[cfg(feature = "aws")]
#[test]
fn every_shape_has_the_attributes_it_had() {
    let (mut lines, mut table) = (String::new(), Table::new(include_str!("golden/attributes.txt")));
    each(&mut |name, item| {
        let attributes = item.to_attributes();
        writeln!(lines, "{name}: {attributes}").unwrap();
        table.expect(name, &attributes);
    });
    table.settle(&lines);
}

#[cfg(feature = "aws")]
#[test]
fn every_item_that_was_ever_written_is_read_and_what_it_has_more_is_left_alone() {
    let table = Table::new(include_str!("golden/attributes.txt"));
    each(&mut |name, item| {
        for line in table.all(name) {
            item.is_read_from_attributes(line);
        }
    });
}

/// Whether nobody can read an item is asked of its kind, by the word in its key: a kind that is not in that list would be taken for a later release's.
#[test]
fn every_kind_is_known_by_its_key() {
    each(&mut |name, item| assert!(item.is_known_by_its_key(), "{name}"));
}

/// The lines of a table: a name and what is written today, then what was written before under the same name.
struct Table {
    lines: Vec<(&'static str, &'static str)>,
    differ: Vec<String>,
}

impl Table {
    fn new(text: &'static str) -> Self {
        Self { lines: text.lines().filter_map(|line| line.split_once(": ")).collect(), differ: Vec::new() }
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &'static str> {
        self.lines.iter().filter(move |(of, _)| *of == name).map(|(_, line)| *line)
    }

    fn expect(&mut self, name: &str, today: &str) {
        if self.all(name).next() != Some(today) {
            self.differ.push(name.to_owned());
        }
    }

    fn settle(self, lines: &str) {
        assert!(
            self.differ.is_empty(),
            "another shape is written, under the same number, for {:?}\n{lines}",
            self.differ
        );
    }
}

/// An item of any kind, or a timer.
trait Golden {
    fn to_bytes(&self) -> Vec<u8>;
    fn is_read_from(&self, bytes: &[u8]);
    fn is_known_by_its_key(&self) -> bool;
    #[cfg(feature = "aws")]
    fn to_attributes(&self) -> String;
    #[cfg(feature = "aws")]
    fn is_read_from_attributes(&self, line: &str);
}

/// What is asked of the list of kinds.
struct Known;

impl OfKind for Known {
    type Done = ();

    fn of<T: Item>(self) {}
}

impl<T: Item + PartialEq + Debug> Golden for T {
    fn to_bytes(&self) -> Vec<u8> {
        Codec::Ours.encode(self, VERSION).unwrap()
    }

    fn is_read_from(&self, bytes: &[u8]) {
        let version = if T::IMMUTABLE { Version(1) } else { VERSION };
        assert_eq!(Codec::Ours.decode::<T>(bytes), Ok(Seen { item: self.clone(), version }));
    }

    fn is_known_by_its_key(&self) -> bool {
        of_kind(T::KIND, Known).is_some()
    }

    #[cfg(feature = "aws")]
    fn to_attributes(&self) -> String {
        super::dynamo::golden::to_line(self)
    }

    #[cfg(feature = "aws")]
    fn is_read_from_attributes(&self, line: &str) {
        assert_eq!(super::dynamo::golden::of_line::<T>(line), Ok(self.clone()));
    }
}

struct GoldenTimer(Timer);

impl Golden for GoldenTimer {
    fn to_bytes(&self) -> Vec<u8> {
        Codec::Ours.encode_timer(&self.0).unwrap()
    }

    fn is_read_from(&self, bytes: &[u8]) {
        assert_eq!(Codec::Ours.decode_timer(bytes).as_ref(), Ok(&self.0));
    }

    /// It has a table of its own.
    fn is_known_by_its_key(&self) -> bool {
        true
    }

    #[cfg(feature = "aws")]
    fn to_attributes(&self) -> String {
        super::dynamo::golden::timer_to_line(&self.0)
    }

    #[cfg(feature = "aws")]
    fn is_read_from_attributes(&self, line: &str) {
        assert_eq!(super::dynamo::golden::timer_of_line(line).as_ref(), Ok(&self.0));
    }
}

/// Every variant of everything that is stored stands in at least one of them.
#[expect(clippy::too_many_lines, reason = "a table: each line is one more thing that is stored")]
fn each(see: &mut dyn FnMut(&str, &dyn Golden)) {
    for (name, job) in jobs() {
        see(&format!("head {name}"), &Head::Job(job));
    }
    see("head tombstone", &Head::Tombstone { tenant: tenant(), id: JOB, epoch: 300 });
    for (name, run) in runs() {
        see(&format!("run {name}"), &run);
    }
    for (name, run) in runs_of_workflows() {
        see(&format!("run {name}"), &run);
    }
    let workflow = WorkflowId::from_bytes([7; 16]);
    let made = Workflow {
        tenant: tenant(),
        id: workflow,
        name: "Monatsabschluß".to_owned(),
        version: 300,
        deleted: false,
        created_at: AT,
        changed_at: Moment::END,
        fingerprint: Some(fingerprint()),
    };
    see("workflow deleted", &Workflow { deleted: true, fingerprint: None, ..made.clone() });
    see("workflow", &made);
    see("definition", &DefinitionPiece { of: 3, at: AT, by: "deployment".to_owned(), text: "{\"ä\":1}".to_owned() });
    see("join", &Join { closed: ["0.ahs".to_owned(), "63.ft".to_owned()].into(), expires_at: AT });
    see("join of none", &Join { closed: BTreeSet::new(), expires_at: AT });
    see("slot", &Slot { holders: [manual().to_string()].into() });
    see("slot of none", &Slot::default());
    see("waiter", &Waiter { since: AT, run: manual() });
    see("pace", &Pace { next: AT, next_late: Moment::END, written: Moment::EPOCH });
    see("pace written", &Pace { next: AT, next_late: Moment::END, written: AT });
    for how in [How::Succeeded, How::Failed, How::TimedOut] {
        see(&format!("end {how:?}"), &CountedEnd { key: EndKey { at: AT, run: scheduled() }, how });
    }
    let ends = Ends { succeeded: 86_400, failed: 1, timed_out: 300 };
    see("day", &Day { hours: [(490_000, ends), (490_001, Ends::default())].into(), until: AT });
    each_of_notifications(see);
    let stamp = TimerStamp { generation: 300, written: AT };
    let hint = Hint { tenant: tenant(), run: manual(), timer: TimerKey::run(manual(), AT), stamp, sent: None };
    let (pool, handler) = ("web1".parse().unwrap(), "invoice.send".parse().unwrap());
    see("offer", &Offer { pool, handler, priority: Priority::High, since: AT, hint });
    each_of_workers(see);
    each_of_operations(see);
    for (name, ended) in endings() {
        see(&format!("attempt {name}"), &Attempt { ended, ..attempt(4) });
    }
    see("body", &KeptBody { json: json() });
    see("runbody", &RunBody { json: json(), until: AT });
    for (name, key) in keys() {
        see(&format!("key {name}"), &key);
    }
    see("keyuse", &KeyUse { id: KeyId::from_bytes([1; 10]), last_used_at: AT });
    for (name, outcome) in [("open", None), ("done", Some(Outcome::Done)), ("not done", Some(Outcome::NotDone))] {
        see(&format!("act {name}"), &act(outcome));
    }
    see("act noted", &Act { note: Some("it leaked".to_owned()), ..act(Some(Outcome::Done)) });
    let sealed = Sealed { by: "file 1".to_owned(), bytes: vec![0, 7, 255] };
    let (tenant_of_it, name) = (tenant(), "stripe-key".parse().unwrap());
    let secret = Secret::new(Label { tenant: &tenant_of_it, name: &name }, sealed.clone(), Moment::EPOCH);
    see("secret rotated", &secret.written(sealed, AT));
    see("secret deleted", &secret.deleted(AT));
    see("secret", &secret);
    each_of_calendars(see);
    let limits = Limits {
        max_jobs: Some(1),
        max_fires_per_minute: Some(200),
        max_concurrent_runs: Some(30_000),
        max_requests_per_second: Some(u32::MAX),
        max_catch_up_per_minute: None,
        retention: None,
    };
    let with_catch_up = Limits { max_catch_up_per_minute: Some(300), ..limits };
    see("quota of catching up", &Quota::new(tenant(), with_catch_up));
    let of_retention = Quota::new(tenant(), Limits { retention: Retention::of_days(365), ..limits });
    let from = Keeping { retention: Retention::of_days(30), window: Duration::ZERO };
    see("quota that was lengthened", &Quota { lengthened: Some(Lengthened { at: AT, from }), ..of_retention.clone() });
    see("quota of retention", &of_retention);
    see("quota", &Quota::new(tenant(), limits));
    see("quota of nothing", &Quota::new(tenant(), Limits::default()));
    let secrets = SigningSecrets::new([7; 32], AT);
    see("signing rotated", &secrets.rotated([8; 32], Duration::from_secs(90), AT));
    see("signing", &secrets);
    for (name, run) in [("schedule", scheduled()), ("manual", manual()), ("redrive", redrive())] {
        let asked = Asked { name: AskedName::of("once"), fingerprint: fingerprint(), run, until: None };
        see(&format!("asked {name}"), &asked);
        see(&format!("asked {name} until"), &Asked { until: Some(AT), ..asked });
    }
    let cursor = Cursor { hinted_to: AT, ..Cursor::starting_at(30_000_000) };
    let step = Step { through: TimerKey::run(manual(), AT), began: AT };
    see("cursor in the middle", &cursor.came_to(step));
    see("cursor searching", &Cursor { searching: Some(AT), ..cursor.clone() });
    see("cursor", &cursor);
    let segments = vec![Segment::Behind(None), Segment::Behind(Some("x#1".to_owned())), Segment::Done];
    see("survey", &Survey { began: AT, segments, first: [(63, 30_000_000)].into(), timers: 1_000_000 });
    for (name, obligation) in [
        ("occurrence", Obligation::Occurrence(JOB)),
        ("moved", Obligation::MovedOccurrence(JOB, Moment::EPOCH)),
        ("run", Obligation::Run(manual())),
        ("operation", Obligation::Operation(OPERATION)),
        ("run of a backfill", Obligation::Run(RunKey::backfill(JOB, AT, 1))),
        ("calendar", Obligation::Calendar(JOB)),
    ] {
        let (key, stamp) = (TimerKey { due: AT, obligation }, TimerStamp { generation: 300, written: AT });
        see(&format!("timer {name}"), &GoldenTimer(Timer { key, tenant: tenant(), stamp, parent: None }));
    }
    for (name, run, parent) in [
        ("task", TaskPlace::task(3).key(manual(), 1), Some(manual())),
        ("resumed", RunKey::resuming(scheduled()), None),
        ("following", RunKey::following(scheduled(), JOB, AT), Some(scheduled())),
        ("callback", RunKey::callback(scheduled(), CallbackPlace::After), Some(scheduled())),
        ("redriven", redrive(), Some(scheduled())),
        ("notification", message(), None),
    ] {
        let stamp = TimerStamp { generation: 0, written: AT };
        see(
            &format!("timer {name}"),
            &GoldenTimer(Timer { key: TimerKey::run(run, AT), tenant: tenant(), stamp, parent }),
        );
    }
}

fn each_of_operations(see: &mut dyn FnMut(&str, &dyn Golden)) {
    let made = Some(Made { by: OPERATION, at: AT });
    see("run of a backfill", &Run { made, ..Run::new(tenant(), RunKey::backfill(JOB, AT, 0), Priority::Low) });
    see(
        "run retried by many",
        &Run { made, redrive_of: Some(manual()), ..Run::new(tenant(), redrive(), Priority::High) },
    );
    see("operation tombstone", &OperationHead::Tombstone { tenant: tenant(), id: OPERATION });
    let priority = Some(Priority::Low);
    let some = |word: &str| Some(word.to_owned());
    let jobs = JobFilter { tag: some("a"), status: some("active"), priority, name: some("n"), owner: some("o") };
    let runs =
        RunFilter { job: Some(JOB), tag: some("a"), status: some("failed"), priority, window: Moment::EPOCH..AT };
    let (schedule, until) = (on_demand(), Moment::END);
    let backfill = Backfill { job: JOB, schedule, from: Moment::EPOCH, until, runs: 300, priority: Priority::Low };
    let works = [
        Work::Jobs { act: JobAct::Pause, filter: jobs },
        Work::Jobs { act: JobAct::Resume, filter: JobFilter::default() },
        Work::Jobs { act: JobAct::Cancel, filter: JobFilter::default() },
        Work::Runs { act: RunAct::Cancel, filter: runs.clone() },
        Work::Runs {
            act: RunAct::Retry,
            filter: RunFilter { job: None, tag: None, status: None, priority: None, ..runs },
        },
        Work::Backfill(backfill.clone()),
    ];
    let positions = [
        Position::Jobs { past: Some(JOB) },
        Position::Jobs { past: None },
        Position::End,
        Position::Runs { end: AT, before: Some(manual()) },
        Position::Made { before: Some(manual()) },
        Position::Instants { past: AT },
    ];
    let states = OperationState::ALL.into_iter().chain([OperationState::Running]);
    let states = states.map(|state| (state, state == OperationState::Done));
    for ((work, position), (state, is_over)) in works.into_iter().zip(positions).zip(states) {
        let kind = work.kind();
        let batch = vec![Subject::Job(JOB, 300), Subject::Run(manual()), Subject::Occurrence(AT)];
        let reasons = vec![Reason { subject: "x".to_owned(), why: "y".to_owned() }];
        let whole = Operation {
            note: Some("ü".to_owned()),
            state,
            changed_at: Moment::END,
            finished_at: is_over.then_some(AT),
            progress: Came { expected: Some(300), seen: 6, done: 3, already: 2, refused: 1, withdrawn: 4, reasons },
            position,
            batch: if is_over { Vec::new() } else { batch },
            held_since: Some(AT),
            fingerprint: Some(fingerprint()),
            ..Operation::new(tenant(), OPERATION, work, By::overlap(), AT)
        };
        see(&format!("operation {kind}"), &OperationHead::Operation(Box::new(whole)));
    }
    let filter = RunFilter { job: None, tag: None, status: None, priority: None, window: Moment::EPOCH..AT };
    let dismissing = Work::Runs { act: RunAct::Dismiss, filter };
    let dismissing = Operation::new(tenant(), OPERATION, dismissing, By::host(), AT);
    see("operation dismiss_runs", &OperationHead::Operation(Box::new(dismissing)));
    let making = Operation::new(tenant(), OPERATION, Work::Backfill(backfill.clone()), By::host(), AT);
    let traced = Operation { trace: Some(trace()), ..making };
    see("operation backfill in a trace", &OperationHead::Operation(Box::new(traced.clone())));
    let heeding = Backfill { schedule: heeding(&["us-holidays"], OnExcluded::Move), ..backfill };
    let heeding = Operation { work: Work::Backfill(heeding), ..traced };
    see("operation backfill that heeds calendars", &OperationHead::Operation(Box::new(heeding)));
    let erasure = Erasure {
        behind: Some("0:ab".to_owned()),
        began: Some(AT),
        found: 2,
        left: Some(3),
        ..Erasure::new(tenant(), AT)
    };
    let erasing = Operation::new(tenant(), OPERATION, Work::Erase(erasure), By::host(), AT);
    see("operation erase_tenant", &OperationHead::Operation(Box::new(erasing)));
    see("erasing", &Erasing { tenant: tenant(), of: Tenant::deployment(), operation: OPERATION, since: AT });
}

fn each_of_calendars(see: &mut dyn FnMut(&str, &dyn Golden)) {
    let name = "us-holidays".parse().unwrap();
    let shared = Shared::new(tenant(), name, CalendarVersion::of(b"{}"), AT);
    see("calendar", &shared.walked(None));
    see("calendar on its way", &shared.walked(Some(Walk { past: Some(JOB), goes: None })));
    see("calendar that goes", &shared.going(Goes::InAnyCase, Moment::END));
    see("calendar that goes unless used", &shared.going(Goes::IfUnused, Moment::END));
    see("calendar's rules", &KeptRules { text: "{\"ä\":1}".to_owned() });
    see("calendar's use", &CalendarUse { job: JOB, written: AT });
}

fn jobs() -> Vec<(String, Job)> {
    let mut jobs = Vec::new();
    for (name, schedule) in schedules() {
        jobs.push((format!("schedule {name}"), job(schedule, Definition::default())));
    }
    for (name, definition) in definitions() {
        jobs.push((name.to_owned(), job(on_demand(), definition)));
    }
    let changed = Job {
        status: Status::Paused,
        generation: 300,
        epoch: 7,
        before: vec![Before { schedule: on_demand(), since: Moment::EPOCH, carried: None }],
        changed_at: Moment::END,
        fingerprint: Some(fingerprint()),
        ..job(on_demand(), Definition::default())
    };
    jobs.push(("cancelled".to_owned(), Job { status: Status::Cancelled, ..changed.clone() }));
    let noted = Noted { at: AT, by: By::host(), note: "until the bank answers".to_owned() };
    jobs.push(("noted".to_owned(), Job { noted: Some(noted), ..changed.clone() }));
    for (days, retention) in [("days", Retention::of_days(1)), ("a window", None)] {
        let from = Keeping { retention, window: Duration::from_secs(90) };
        let lengthened = Some(Lengthened { at: AT, from });
        jobs.push((format!("lengthened from {days}"), Job { lengthened, trace: Some(trace()), ..changed.clone() }));
    }
    jobs.push(("created within a trace".to_owned(), Job { trace: Some(trace()), ..changed.clone() }));
    jobs.push(("changed".to_owned(), changed));
    let listed = [On::Success, On::Failure, On::Finished].map(|on| Listed {
        follower: Follower { job: JOB, on },
        generation: 300,
        since: AT,
    });
    jobs.push(("followed".to_owned(), Job { followers: listed.to_vec(), ..job(on_demand(), Definition::default()) }));
    jobs.extend(jobs_with_calendars());
    jobs
}

fn heeding(names: &[&str], on_excluded: OnExcluded) -> Schedule {
    let calendars = names.iter().map(|name| name.parse().unwrap()).collect();
    let plan = Plan { every_seconds: Some(90), calendars, on_excluded: Some(on_excluded), ..Plan::default() };
    let mut schedule = Schedule::new(&plan, AT).unwrap();
    for heeded in &mut schedule.observance.as_mut().unwrap().calendars {
        heeded.version = Some(CalendarVersion::of(b"{}"));
    }
    schedule
}

fn jobs_with_calendars() -> Vec<(String, Job)> {
    let (skipping, moving) = (heeding(&["us-holidays"], OnExcluded::Skip), heeding(&["a", "b"], OnExcluded::Move));
    let carried = Some(Carried { nominal: AT, at: Moment::END });
    let changed = Job {
        before: vec![Before { schedule: moving.clone(), since: Moment::EPOCH, carried }],
        carried,
        ..job(on_demand(), Definition::default())
    };
    let later = Before { schedule: moving.clone(), since: AT, carried: None };
    let twice = Job { before: [vec![later], changed.before.clone()].concat(), ..changed.clone() };
    vec![
        ("calendars".to_owned(), job(skipping, Definition::default())),
        ("calendars moving".to_owned(), job(moving, Definition::default())),
        ("calendars before".to_owned(), changed),
        ("calendars before that".to_owned(), twice),
    ]
}

fn schedules() -> Vec<(&'static str, Schedule)> {
    let cron = |text: &str| Plan { cron: Some(text.to_owned()), spread: Spread::of(JOB), ..Plan::default() };
    let every = Plan { every_seconds: Some(90), ..Plan::default() };
    let bounded = Plan {
        start_at: Some(AT + Duration::from_secs(1)),
        end_at: Some(Moment::END),
        max_fires: Some(10),
        jitter_seconds: Some(600),
        spread: Spread::of(JOB),
        ..every.clone()
    };
    let zoned = |text: &str, days, gap, overlap| Plan {
        timezone: Some("America/New_York".to_owned()),
        days: Some(days),
        dst_gap: Some(gap),
        dst_overlap: Some(overlap),
        ..cron(text)
    };
    let plans = [
        ("now", Plan::default()),
        ("at", Plan { at: Some(Moment::END), ..Plan::default() }),
        ("after", Plan { after_seconds: Some(3_000_000_000), ..Plan::default() }),
        ("every", every),
        ("bounded", bounded),
        ("on demand", Plan { on_demand: true, ..Plan::default() }),
        ("cron", cron("*/15 9-17 * * MON-FRI")),
        ("cron of years", cron("15/20 0 9 1 JAN ? 2027-2199/2")),
        ("cron of days", zoned("0 2 L-3,10 * MON#2", DayRule::Both, DstGap::Skip, DstOverlap::First)),
        ("cron of weekdays", zoned("0 2 15W * *", DayRule::Either, DstGap::NextValid, DstOverlap::Second)),
        ("cron of last", zoned("30 1 13 * FRIL", DayRule::Either, DstGap::NextValid, DstOverlap::Both)),
        ("cron of H", cron("H H(2-5) LW * *")),
        ("@every", zoned("@every 1h30m", DayRule::Either, DstGap::Skip, DstOverlap::ByKind)),
        ("at()", cron("at(2190-12-24T18:00:00)")),
        ("after a job", Plan { after: Some((JOB, On::Failure)), ..Plan::default() }),
    ];
    plans.into_iter().map(|(name, plan)| (name, Schedule::new(&plan, AT).unwrap())).collect()
}

#[expect(clippy::too_many_lines, reason = "a table: each line is one more thing that is stored")]
fn definitions() -> Vec<(&'static str, Definition)> {
    let with = |target| Definition { target, ..Definition::default() };
    let http = |method| {
        let headers = [("x-team".to_owned(), Header::from("finance"))].into();
        Target::Http(HttpTarget {
            url: "https://example.com/ä?b".to_owned(),
            method,
            headers,
            timeouts: Timeouts::default(),
        })
    };
    let named = Header::Secret("stripe-key".parse().unwrap());
    let headers = [("authorization".to_owned(), named), ("x-team".to_owned(), Header::from("finance"))].into();
    let url = "https://example.com/".to_owned();
    let with_a_secret =
        with(Target::Http(HttpTarget { url, method: Method::Post, headers, timeouts: Timeouts::default() }));
    let timeouts = Timeouts { connect: Some(Duration::from_secs(2)), first_byte: None };
    let url = "https://example.com/".to_owned();
    let with_timeouts = with(Target::Http(HttpTarget { url, method: Method::Post, headers: [].into(), timeouts }));
    let asking = |asks| with(Target::Service(ServiceTarget { alias: "orders".parse().unwrap(), asks }));
    let retrying = |backoff, jitter| {
        let retry = RetryPolicy {
            max_retries: 300,
            backoff,
            initial_delay: Duration::from_millis(1500),
            max_delay: Duration::from_secs(50),
            jitter,
            give_up_after: Some(Duration::from_secs(900)),
            break_after_instant_failures: Some(4),
        };
        Definition { terms: Terms { retry, ..Terms::default() }, ..Definition::default() }
    };
    let overlapping = |overlap| Definition { overlap, ..Definition::default() };
    let catching_up = |catch_up| Definition { catch_up, ..Definition::default() };
    let limited = |concurrency, rate| Definition { bounds: Bounds { concurrency, rate }, ..Definition::default() };
    let of_priority = |priority| Definition { priority, ..Definition::default() };
    let described = Definition {
        name: Some("Überweisung".to_owned()),
        owner: Some("finance".to_owned()),
        tags: ["b".to_owned(), "a".to_owned()].into(),
        ..Definition::default()
    };
    let at_most_once = Terms { timeout: Duration::from_secs(840), delivery: Delivery::AtMostOnce, ..Terms::default() };
    let effectively_once = Terms { delivery: Delivery::EffectivelyOnce, ..at_most_once.clone() };
    let window = Duration::from_secs(60);
    vec![
        ("noop", with(Target::Noop)),
        ("GET", with(http(Method::Get))),
        ("POST", with(http(Method::Post))),
        ("PUT", with(http(Method::Put))),
        ("PATCH", with(http(Method::Patch))),
        ("DELETE", with(http(Method::Delete))),
        ("with a secret", with_a_secret),
        (
            "with a workflow",
            with(Target::Workflow(WorkflowTarget { id: WorkflowId::from_bytes([7; 16]), version: Some(2) })),
        ),
        (
            "with a worker",
            with(Target::Worker(WorkerTarget {
                pool: "web1".parse().unwrap(),
                handler: "invoice.send".parse().unwrap(),
            })),
        ),
        ("with a limit", limited(Some(Concurrency { key: "Konto 7".parse().unwrap(), limit: 300 }), None)),
        ("with a rate", limited(None, Some(Rate { key: "bank".parse().unwrap(), per_minute: 60_000 }))),
        ("with time-outs", with_timeouts),
        ("with a lambda", asking(Asks::Lambda)),
        ("with sqs", asking(Asks::Sqs { group: Some("a".parse().unwrap()) })),
        ("with sns", asking(Asks::Sns { group: None })),
        ("with eventbridge", asking(Asks::EventBridge { detail_type: Some("paid".to_owned()) })),
        ("with step functions", asking(Asks::StepFunctions)),
        ("with ecs", asking(Asks::Ecs)),
        ("described", described),
        ("payload inside", Definition { payload: Body::Inside(json()), ..Definition::default() }),
        ("payload apart", Definition { payload: Body::Apart(Digest([7; 16])), ..Definition::default() }),
        ("fixed none", retrying(Backoff::Fixed, Jitter::None)),
        ("linear equal", retrying(Backoff::Linear, Jitter::Equal)),
        ("exponential full", retrying(Backoff::Exponential, Jitter::Full)),
        ("exponential decorrelated", retrying(Backoff::Exponential, Jitter::Decorrelated)),
        ("at most once", Definition { terms: at_most_once, ..Definition::default() }),
        ("effectively once", Definition { terms: effectively_once, ..Definition::default() }),
        ("overlapping at most", overlapping(Overlap::Allow { max: Some(300) })),
        ("overlapping skip", overlapping(Overlap::Skip)),
        ("overlapping queue", overlapping(Overlap::Queue { waiting: 300 })),
        ("overlapping cancel previous", overlapping(Overlap::CancelPrevious)),
        ("with a callback", Definition { callback: Some(callback(CallbackPlace::Callback)), ..Definition::default() }),
        (
            "with hooks",
            Definition {
                hooks: hooks(),
                terms: Terms { before: Duration::from_secs(30), ..Terms::default() },
                ..Definition::default()
            },
        ),
        ("with an sla", Definition { sla: Some(Duration::from_secs(300)), ..Definition::default() }),
        ("catch up last", catching_up(CatchUp::Last { window })),
        ("catch up none", catching_up(CatchUp::None)),
        ("catch up all", catching_up(CatchUp::All { window, max_runs: 300, per_minute: None })),
        ("catch up at a pace", catching_up(CatchUp::All { window, max_runs: 300, per_minute: Some(30) })),
        ("critical", of_priority(Priority::Critical)),
        ("high", of_priority(Priority::High)),
        ("normal", of_priority(Priority::Normal)),
        ("low", of_priority(Priority::Low)),
        ("full health", Definition { health: Extent::Full, ..Definition::default() }),
        ("kept", Definition { retention: Retention::of_days(365), ..Definition::default() }),
    ]
}

/// What workflows brought.
#[expect(clippy::too_many_lines, reason = "a table: each line is one more thing that is stored")]
fn runs_of_workflows() -> Vec<(String, Run)> {
    let parent = manual();
    let key = TaskPlace::branch(3, 9_999).key(parent, 16);
    let judgement =
        |word| Judgement { word, by: By::host(), at: AT, note: Some("so be it".to_owned()), result: Body::Empty };
    let judged = |word: Word| {
        let task = TaskRun::new(parent, 2, true);
        let (answer, verdict) =
            if word.is_answer() { (Some(judgement(word)), None) } else { (None, Some(judgement(word))) };
        Run {
            state: State::Failed { at: AT, why: Failure::Error },
            task: Some(TaskRun { answer, verdict, ..task }),
            ..run(key)
        }
    };
    let graph = Graph {
        workflow: WorkflowId::from_bytes([7; 16]),
        version: 300,
        each: Some(Branches { node: 3, count: 10_000 }),
        given: Body::Apart(Digest([7; 16])),
        parts: 16,
        expires_at: Moment::END,
        slot: Some(4),
    };
    let tasks = |phase, stop, outcome| {
        let state = State::Waiting(Waiting::Tasks(Tasks { deadline: AT, stop, phase, outcome }));
        Run { state, graph: Some(graph.clone()), ..run(scheduled()) }
    };
    let waiting = |waiting| Run { state: State::Waiting(waiting), ..run(manual()) };
    let before = TaskPlace::task(3).key(redrive(), 1);
    let reused = TaskRun { before: Some(before), reused: Some(before), ..TaskRun::new(parent, 1, false) };
    let resumed = RunKey::resuming(scheduled());
    let mut runs = vec![
        ("task", Run { task: Some(TaskRun::new(parent, 1, false)), ..run(key) }),
        ("reused", Run { state: State::Succeeded { at: AT, result: Body::Empty }, task: Some(reused), ..run(key) }),
        ("resumed", Run { redrive_of: Some(scheduled()), ..run(resumed) }),
        (
            "told",
            Run {
                told: Some("there is no `x`".to_owned()),
                state: State::Failed { at: AT, why: Failure::Unmade },
                ..run(key)
            },
        ),
        ("failed task", Run { state: State::Failed { at: AT, why: Failure::Task }, ..run(manual()) }),
        ("rejected", Run { state: State::Failed { at: AT, why: Failure::Rejected }, ..run(manual()) }),
        ("skipped upstream", Run { state: State::Skipped { at: AT, why: Skip::Upstream, span: None }, ..run(key) }),
        ("skipped condition", Run { state: State::Skipped { at: AT, why: Skip::Condition, span: None }, ..run(key) }),
        ("waiting for tasks", tasks(Phase::Main, None, None)),
        ("stopping failed", tasks(Phase::Main, Some(Stop::Failed), None)),
        ("stopping cancelled", tasks(Phase::Finally, Some(Stop::Cancelled), Some(Stop::TimedOut))),
        ("waiting for an answer", waiting(Waiting::Answer { until: AT })),
        ("waiting for a slot", waiting(Waiting::Slot { since: AT })),
    ];
    runs.extend(Word::ALL.map(|word| (word.as_str(), judged(word))));
    let remark = |what| Remark { at: AT, by: None, what, note: None };
    let noted = Remark { by: Some(By::host()), note: Some("so be it".to_owned()), ..remark(Remarked::CancelAsked) };
    let of_workflows = [Remarked::CancelAsked, Remarked::Resumed, Remarked::Stalled];
    let remarks = [noted].into_iter().chain(of_workflows.map(remark)).collect();
    let token = Some(SecretHash::of("t"));
    let held = Lease { holder: Holder::Remote(Worker(7)), until: AT, cancelled: false, token };
    let places = [
        SlotName::Workflow(WorkflowId::from_bytes([7; 16])),
        SlotName::Root("Konto 7".parse().unwrap()),
        SlotName::Key("bank".parse().unwrap()),
        SlotName::Quota,
    ];
    let places = places.map(|slot| Bound { slot, width: 300 }).to_vec();
    let of_a_place = Admission { places, turn: None };
    let postponed = Admission { places: Vec::new(), turn: Some(AT) };
    runs.push(("waiting at a limit", Run { admission: of_a_place, ..waiting(Waiting::Slot { since: AT }) }));
    let of_its_job = [SlotName::Job(JOB), SlotName::Queue(JOB)].map(|slot| Bound { slot, width: 1 }).to_vec();
    let of_its_job = Admission { places: of_its_job, turn: None };
    runs.push(("waiting for its job", Run { admission: of_its_job, ..waiting(Waiting::Slot { since: AT }) }));
    let yielded = Run { told: Some("run 7 is under way".to_owned()), ..run(scheduled()) };
    runs.push(("skipped overlap", yielded.skipped(Skip::Overlap, None, AT)));
    let follows = Some(Follows { run: scheduled(), depth: 3 });
    let followers = vec![Follower { job: JOB, on: On::Success }, Follower { job: JOB, on: On::Finished }];
    let following = Run { follows, followers, ..run(RunKey::following(scheduled(), JOB, AT)) };
    runs.push(("skipped cycle", following.clone().skipped(Skip::Cycle, None, AT)));
    runs.push(("following", following));
    let callbacks = CallbackPlace::ALL.map(callback).to_vec();
    runs.push(("with callbacks", Run { callbacks, ..run(scheduled()) }));
    let of = run(manual());
    runs.push(("of a callback", of.telling(CallbackPlace::After, AT)));
    let given = |payload| Some(Given { attempt: 2, payload });
    runs.push(("given by a hook", Run { given: given(Body::Inside(json())), ..run(manual()) }));
    runs.push(("given much by a hook", Run { given: given(Body::Apart(Digest([7; 16]))), ..run(manual()) }));
    let vetoed = Run { told: Some("not today".to_owned()), ..run(scheduled()) };
    runs.push(("vetoed", vetoed.skipped(Skip::Vetoed, None, AT)));
    let by_a_calendar = Run { told: Some("calendar us-holidays (Christmas)".to_owned()), ..run(scheduled()) };
    let row = Some(SkippedSpan { until: Moment::END, count: Some(300) });
    runs.push(("skipped calendar", by_a_calendar.skipped(Skip::Calendar, row, AT)));
    let by_a_clock = Run { told: Some("put forward past 02:00".to_owned()), ..run(scheduled()) };
    let row = Some(SkippedSpan { until: AT, count: Some(4) });
    runs.push(("skipped dst_gap", by_a_clock.skipped(Skip::DstGap, row, AT)));
    runs.push(("postponed", Run { admission: postponed, state: State::Scheduled { due: AT }, ..run(manual()) }));
    let made_up = Some(MadeUp { since: AT, turn: AT, per_minute: 30 });
    let kept = Kept { retention: Retention::of_days(365), until: None };
    runs.push(("kept", Run { kept, state: State::Cancelled { at: AT }, ..run(scheduled()) }));
    let until = Kept { retention: None, until: Some(Moment::END) };
    runs.push(("kept until", Run { kept: until, ..run(scheduled()) }));
    runs.push(("counted", Run { is_counted: true, ..run(scheduled()) }));
    runs.push(("asked for within a trace", Run { trace: Traced::of(Some(trace())), ..run(manual()) }));
    let dropped = Traced { sampled: Some(false), ..Traced::default() };
    runs.push(("not sampled", Run { trace: dropped, ..run(scheduled()) }));
    let behind = Traced { within: Some(trace().trace), upstream: vec![trace().span; 2], ..Traced::default() };
    runs.push(("task behind others", Run { task: Some(TaskRun::new(parent, 1, false)), trace: behind, ..run(key) }));
    runs.push(("begun late", Run { dispatched: Some(AT), ..run(scheduled()) }));
    runs.push(("put off", Run { made_up, state: State::Scheduled { due: AT }, ..run(scheduled()) }));
    let taken_on = Lease { holder: Holder::Target(Worker(7)), ..held };
    let missed = Some(Sla { until: AT, missed: Some(AT) });
    runs.push(("taken on by a target", Run { state: State::Running(taken_on), ..run(manual()) }));
    runs.push(("with an sla", Run { sla: Some(Sla { until: AT, missed: None }), ..run(manual()) }));
    runs.push(("missed its sla", Run { sla: missed, ..waiting(Waiting::Slot { since: AT }) }));
    runs.push(("taken by a worker", Run { state: State::Running(held), ..run(manual()) }));
    runs.push(("remarked", Run { remarks, ..tasks(Phase::Main, Some(Stop::Cancelled), None) }));
    runs.extend(runs_that_came_to_nothing());
    runs.into_iter().map(|(name, run)| (name.to_owned(), run)).collect()
}

fn trace() -> TraceContext {
    let told = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
    TraceContext::parse(told, Some("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE")).unwrap()
}

fn callback(place: CallbackPlace) -> Callback {
    let named = Header::Secret("stripe-key".parse().unwrap());
    let headers = [("authorization".to_owned(), named), ("x-team".to_owned(), Header::from("finance"))].into();
    let (url, timeouts) = ("https://example.com/ä?b".to_owned(), Timeouts::default());
    let target = HttpTarget { url, method: Method::Post, headers, timeouts };
    Callback { place, target, on: End::ALL.into() }
}

fn hooks() -> Hooks {
    let target = callback(CallbackPlace::Callback).target;
    let before = BeforeHook { target, timeout: Duration::from_secs(30), on_error: OnError::GoOn };
    Hooks { before: Some(before), after: Some(callback(CallbackPlace::After)) }
}

/// What became of them afterwards.
fn runs_that_came_to_nothing() -> Vec<(&'static str, Run)> {
    let failed = Run { state: State::Failed { at: AT, why: Failure::Error }, ..run(scheduled()) };
    let (by, note) = (By::host(), Some("the disk is free again"));
    let said = Said { by: Some(&by), note };
    let payload = Some(Body::Apart(Digest([7; 16])));
    let edited = failed.tried_again(redrive(), payload, said, AT);
    let again = edited.other_try(AT).expect("there is one");
    vec![
        ("retried by an operation", failed.tried_again_by(OperationId::from_bytes([7; 16]), redrive(), said, AT)),
        ("redriven", failed.tried_again(redrive(), None, Said { note: None, ..said }, AT)),
        ("redriven and edited", edited),
        ("asked again", Run { kept: Kept::default(), ..again.clone() }),
        ("asked again and kept", again),
        ("dismissed", failed.dismissed(said, AT).expect("it failed")),
    ]
}

fn runs() -> Vec<(String, Run)> {
    let in_state = |state| Run { state, ..run(scheduled()) };
    let lease = |holder, cancelled| State::Running(Lease { holder, until: AT, cancelled, token: None });
    let failed = |why| in_state(State::Failed { at: AT, why });
    let skipped = |why, span| in_state(State::Skipped { at: AT, why, span });
    let span = SkippedSpan { until: Moment::END, count: Some(300) };
    let whole = Run {
        nominal: Some(Moment::EPOCH),
        fence: 300,
        attempts: endings().into_iter().map(|(_, ended)| Attempt { ended, ..attempt(2) }).collect(),
        started_at: Some(AT),
        tally: Tally { failures: 300, lost_in_a_row: 2, instant_in_a_row: 4 },
        priority: Priority::Low,
        payload: Some(Body::Apart(Digest([9; 16]))),
        asked_by: Some(By::key(KeyId::from_bytes([1; 10]))),
        redrive_of: Some(manual()),
        cancel: Some(CancelAsked { at: AT, by: By::host() }),
        ..run(redrive())
    };
    let runs = vec![
        ("scheduled", in_state(State::Scheduled { due: AT })),
        ("manual", run(manual())),
        ("running", in_state(lease(Holder::Process(Worker(u64::MAX)), false))),
        ("running, cancelled", in_state(lease(Holder::Process(Worker(7)), true))),
        ("running remotely", in_state(lease(Holder::Remote(Worker(7)), false))),
        ("succeeded with nothing", in_state(State::Succeeded { at: AT, result: Body::Empty })),
        ("succeeded", in_state(State::Succeeded { at: AT, result: Body::Inside(json()) })),
        ("succeeded at length", in_state(State::Succeeded { at: AT, result: Body::Apart(Digest([7; 16])) })),
        ("failed error", failed(Failure::Error)),
        ("failed lost", failed(Failure::Lost)),
        ("failed poison", failed(Failure::Poison)),
        ("failed instant", failed(Failure::Instant)),
        ("timed out", in_state(State::TimedOut { at: AT })),
        ("cancelled", in_state(State::Cancelled { at: AT })),
        ("skipped coalesced", skipped(Skip::Coalesced, Some(span))),
        ("skipped missed", skipped(Skip::Missed, Some(SkippedSpan { count: None, ..span }))),
        ("skipped paused", skipped(Skip::Paused, None)),
        ("skipped cancelled", skipped(Skip::Cancelled, None)),
        ("skipped superseded", skipped(Skip::Superseded, None)),
        ("skipped abandoned", skipped(Skip::Abandoned, None)),
        ("whole", whole),
    ];
    runs.into_iter().map(|(name, run)| (name.to_owned(), run)).collect()
}

fn endings() -> Vec<(&'static str, Option<Ended>)> {
    let error = || AttemptError::new("http_503", "the target was busy");
    let endings = [
        ("succeeded", Ending::Succeeded),
        ("failed", Ending::Failed(error())),
        ("timed out", Ending::TimedOut(error().permanent().unreached())),
        ("lost", Ending::Lost),
    ];
    let ended = endings.into_iter().map(|(name, how)| (name, Some(Ended { at: AT, how })));
    [("under way", None)].into_iter().chain(ended).collect()
}

fn keys() -> Vec<(&'static str, ApiKey)> {
    let key = |role| ApiKey {
        tenant: tenant(),
        id: KeyId::from_bytes([1; 10]),
        name: "ci".to_owned(),
        role,
        created_at: AT,
        revoked_at: None,
        secret: SecretHash::of("first"),
        former: None,
        fingerprint: None,
        expires_at: None,
        pools: None,
    };
    let rotated = ApiKey {
        fingerprint: Some(fingerprint()),
        ..key(Role::Admin).rotated(SecretHash::of("second"), Duration::from_secs(90), AT)
    };
    vec![
        ("viewer", key(Role::Viewer)),
        ("operator", key(Role::Operator)),
        ("admin", key(Role::Admin)),
        ("host", key(Role::Host)),
        ("revoked", rotated.revoked(AT)),
        ("that ends", ApiKey { expires_at: Some(Moment::END), ..rotated.clone() }),
        ("of a worker", ApiKey { pools: Some(["web1".parse().unwrap()].into()), ..key(Role::Viewer) }),
        ("rotated", rotated),
    ]
}

fn each_of_workers(see: &mut dyn FnMut(&str, &dyn Golden)) {
    let (run, lines) = (manual(), Lines { next: 300, bytes: 70_000, dropped: 1 });
    let late = [LateWord::Succeeded, LateWord::Failed].map(|word| LateAnswer { at: AT, fence: 2, word });
    let blank = Logbook::blank(tenant(), run);
    let (progress, stage) = (Progress::of(0.5).ok(), Some("Rechnung 7".to_owned()));
    see(
        "logbook",
        &Logbook { fence: 3, progress, stage, has_checkpoint: true, lines, late: late.into(), ..blank.clone() },
    );
    see("logbook of nothing", &blank);
    see("checkpoint", &Checkpoint { run, fence: 3, at: AT, value: Json::of(&serde_json::json!({"ä": 1})) });
    see(
        "log",
        &LogPiece { run, first: 300, at: AT, attempt: 3, lines: vec!["a".to_owned(), String::new(), "ä".to_owned()] },
    );
    let (name, request) = ("charge:7".parse().unwrap(), Some(RequestMark::from_bytes([5; 16])));
    let claimed = Claimed { at: AT, fence: 1, request: None };
    let effect = Effect { tenant: tenant(), run, name, claimed, outcome: None, prevented: 0 };
    see("effect", &effect);
    let outcome = Some(Told { at: AT, fence: 2, outcome: Json::of(&serde_json::json!({"ä": 1})) });
    see(
        "effect that came to something",
        &Effect { claimed: Claimed { request, ..claimed }, outcome, prevented: 300, ..effect },
    );
    see("pool", &Pool { tenant: tenant(), name: "web1".parse().unwrap(), named_at: AT });
    let presence = Presence {
        tenant: tenant(),
        pool: "web1".parse().unwrap(),
        worker: "web1-a".parse().unwrap(),
        first_seen: AT,
        last_seen: Moment::END,
        lease: Duration::from_secs(60),
        slots: Some(4),
        handlers: Some(["invoice.send".parse().unwrap()].into()),
        draining_since: Some(Moment::END),
        holds: vec![Hold { run, until: AT }],
    };
    see("presence of who says nothing", &Presence { slots: None, handlers: None, holds: vec![], ..presence.clone() });
    see("presence", &presence);
    see("presence of who takes something", &Presence { draining_since: None, ..presence });
}

fn each_of_notifications(see: &mut dyn FnMut(&str, &dyn Golden)) {
    let name: RuleName = "on-call".parse().unwrap();
    let rule = Rule {
        tenant: tenant(),
        id: JOB,
        name,
        when: When::ALL.into(),
        whose: Whose::All,
        in_a_row: 300,
        late: Duration::from_secs(5),
        digest: Duration::from_secs(60),
        cooldown: Duration::from_secs(900),
        to: To::Slack(SlackUrl("https://hooks.example/T0".to_owned())),
        enabled: true,
        created_at: Moment::EPOCH,
        changed_at: AT,
        deleted_at: None,
    };
    let headers = [("x-a".to_owned(), Header::from("a")), ("x-b".to_owned(), Header::Secret("b".parse().unwrap()))];
    let http = HttpTarget {
        url: "https://a.example/".to_owned(),
        method: Method::Post,
        headers: headers.into(),
        timeouts: Timeouts::default(),
    };
    let (hook, topic) = (To::Webhook(http), To::Sns("alerts".parse().unwrap()));
    see("notification of jobs", &Rule { whose: Whose::Jobs([JOB].into()), to: hook, ..rule.clone() });
    see("notification of tags", &Rule { whose: Whose::Tags(["ä".to_owned()].into()), to: topic, ..rule.clone() });
    see("notification deleted", &rule.deleted(AT));
    see("notification", &rule);
    let entries = When::ALL.map(|when| Entry { at: AT, when, run: manual() }.to_string());
    let marks = [Digested::closing_word().to_owned()];
    see("digest", &Digested { told: entries.into(), marks: marks.into(), expires_at: AT });
    see("digest of nothing", &Digested::empty(AT));
    see("run notification", &run(message()));
    see("run skipped cooldown", &run(message()).skipped(Skip::Cooldown, None, AT));
}

fn message() -> RunKey {
    Window::of(AT, Duration::from_secs(60)).run(JOB)
}

fn act(outcome: Option<Outcome>) -> Act {
    Act {
        tenant: tenant(),
        key: ActKey { at: AT, number: u64::MAX },
        by: By::key(KeyId::from_bytes([1; 10])),
        by_name: outcome.map(|_| "ci".to_owned()),
        deed: Deed::SetSecret.as_str().into(),
        subject: "stripe-key".to_owned(),
        request_id: "req_1".to_owned(),
        outcome,
        note: None,
    }
}

fn job(schedule: Schedule, definition: Definition) -> Job {
    Job::new(tenant(), JOB, schedule, definition, 0, AT)
}

fn on_demand() -> Schedule {
    Schedule::new(&Plan { on_demand: true, ..Plan::default() }, AT).unwrap()
}

fn run(key: RunKey) -> Run {
    Run::new(tenant(), key, Priority::Normal)
}

fn attempt(number: u32) -> Attempt {
    Attempt { number, worker: Worker(7), started_at: AT, ended: None }
}

fn scheduled() -> RunKey {
    RunKey::occurrence(JOB, AT)
}

fn manual() -> RunKey {
    RunKey::manual(JOB, AT, u64::MAX)
}

fn redrive() -> RunKey {
    RunKey::redrive(JOB, AT, 300)
}

fn fingerprint() -> Fingerprint {
    Fingerprint::of("POST /v1/jobs", "{}", "idempotency_key").unwrap()
}

fn tenant() -> Tenant {
    Tenant::new("acme").unwrap()
}

fn json() -> Json {
    Json::of(&serde_json::json!({"text": "ä\u{0}🕐", "list": [1, null, 2.5]}))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |hex, byte| hex + &format!("{byte:02x}"))
}

fn unhex(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}
