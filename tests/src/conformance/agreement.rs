//! Agreement: two stores that are asked the same give the same answers, whatever is asked in whatever order.
//!
//! Which numbers a store gives to the writings of an item is its own affair. So a guard names a writing by how many were seen
//! after it, of whichever life of the item, and in the answers the first that was seen is 0.

use std::collections::HashMap;
use std::fmt::Debug;
use std::future::Future;
use std::ops::Range;

use minutehand_domain::Moment;

use minutehand_domain::body::Json;
use minutehand_domain::head::Head;
use minutehand_domain::id::{RunKey, Tenant, Worker};
use minutehand_domain::operation::OperationId;
use minutehand_domain::run::{Attempt, Holder, Lease, Run, State};
use minutehand_domain::timer::{Obligation, Timer, TimerKey};
use minutehand_io::Fault;
use minutehand_io::store::embedded::{Embedded, Engine};
use minutehand_io::store::item::Item;
use minutehand_io::store::update::Update;
use minutehand_io::store::{Across, Bucket, Cursor, ExtendLease, Guard, KeptBody, Store, Version};
use proptest::prelude::*;

use super::items::join::{Close, Join};
use super::items::slot::{Release, Slot, Take};
use super::items::thing::{Change, Thing, any_change as any_change_of_a_thing};
use super::items::{edge, key as join_key, take};
use super::world::{
    Note, at, attempt, failed, job, job_id, jobs, named, note, notes, run_of, runs_of, stamp, timers_in, write_attempt,
    write_body,
};

/// One call of the port. The world is small, so that calls meet.
#[derive(Clone, Debug)]
pub enum Ask {
    Head(Tenant, u8),
    PutHead(Head, Saw),
    Jobs(Tenant, Option<u8>, usize),
    Run(Tenant, RunKey),
    PutRun(Run, Saw),
    RunsOf(Tenant, u8, Range<u64>, Option<RunKey>, usize),
    RunsAcross(Tenant, Range<u64>, Option<RunKey>, usize),
    /// What failed: a store may list more.
    Failures(Tenant, Range<u64>, Option<RunKey>),
    PutAttempt(Tenant, RunKey, u32),
    Attempts(Tenant, RunKey),
    PutBody(Tenant, u8, u8),
    Body(Tenant, u8, u8),
    Note(Tenant, &'static str),
    PutNote(Tenant, Note, Saw),
    Notes(Tenant, Option<&'static str>, usize),
    DeleteNote(Tenant, &'static str, usize),
    DeleteRun(Tenant, RunKey, usize),
    ExtendLease(Tenant, RunKey, ExtendLease),
    Join(Tenant, u8),
    PutJoin(Tenant, u8, u64, Saw),
    DeleteJoin(Tenant, u8, usize),
    Close(Tenant, u8, Close),
    Slots(Tenant, usize),
    Take(Tenant, Take),
    Release(Tenant, Release),
    DeleteSlot(Tenant, usize),
    Thing(Tenant, &'static str),
    Change(Tenant, &'static str, Change),
    DeleteThing(Tenant, &'static str, usize),
    /// What has expired then is gone.
    Sweep(u64),
    Timer(TimerKey),
    PutTimer(Timer),
    PutTimerIfAbsent(Timer),
    EraseTimer(TimerKey, u64),
    /// Of the shard in which this job's timers lie; or of one that is none.
    Timers(Option<u8>, Option<TimerKey>, u64, usize),
    Cursor(u16),
    PutCursor(u16, u64, Saw),
}

/// What a put has seen of the item that it replaces.
#[derive(Clone, Copy, Debug)]
pub enum Saw {
    Nothing,
    /// A writing that so many were seen after; where there were not so many, one that never was.
    Before(usize),
}

/// Deletes what has expired, as the store's own sweep does or as DynamoDB does by and by.
pub trait Sweeper {
    fn sweep(&self, now: Moment) -> impl Future<Output = ()> + Send;
}

impl<E: Engine> Sweeper for Embedded<E> {
    async fn sweep(&self, now: Moment) {
        self.sweep_expired(now, usize::MAX).await.unwrap();
    }
}

/// A store that is asked, and the writings of each item that it has told of.
struct Asked<'a, S, W> {
    store: &'a S,
    sweeper: &'a W,
    told: HashMap<String, Vec<Version>>,
}

/// Asks both stores the same and compares every answer. Each comes with who sweeps it.
pub async fn agree<A: Store, B: Store>(one: (&A, &impl Sweeper), other: (&B, &impl Sweeper), asks: &[Ask]) {
    let (mut one, mut other) = (Asked::of(one), Asked::of(other));
    for (place, ask) in asks.iter().enumerate() {
        let (this, that) = (one.answer(ask).await, other.answer(ask).await);
        assert_eq!(this, that, "to question {place}, {ask:?}");
    }
}

pub fn any_asks(most: usize) -> impl Strategy<Value = Vec<Ask>> {
    prop::collection::vec(any_ask(), 1..most)
}

impl<'a, S: Store, W: Sweeper> Asked<'a, S, W> {
    fn of((store, sweeper): (&'a S, &'a W)) -> Self {
        Self { store, sweeper, told: HashMap::new() }
    }

    async fn get<T: Item + Debug>(&mut self, tenant: &Tenant, key: T::Key) -> String {
        let item = item_of::<T>(tenant, &key);
        self.tell(item, &self.store.get::<T>(tenant, key).await)
    }

    async fn put<T: Item + Debug>(&mut self, tenant: &Tenant, key: T::Key, put: &T, saw: Saw) -> String {
        let item = item_of::<T>(tenant, &key);
        let guard = match saw {
            Saw::Nothing => Guard::Absent,
            Saw::Before(later) => Guard::Seen(self.seen(&item, later)),
        };
        self.tell(item, &self.store.put(tenant, key, put, guard).await)
    }

    /// Of a fault, only what it is: each store says it in its own words.
    async fn update<U: Update<Item: Debug>>(
        &mut self,
        tenant: &Tenant,
        key: <U::Item as Item>::Key,
        update: &U,
    ) -> String {
        let item = item_of::<U::Item>(tenant, &key);
        match self.store.update(tenant, key, update).await {
            Err(Fault::Illegal { .. }) => "illegal".to_owned(),
            answer => self.tell(item, &answer),
        }
    }

    async fn delete<T: Item + Debug>(&mut self, tenant: &Tenant, key: T::Key, later: usize) -> String {
        let item = item_of::<T>(tenant, &key);
        let seen = self.seen(&item, later);
        self.tell(item, &self.store.delete::<T>(tenant, key, seen).await)
    }

    fn seen(&self, item: &str, later: usize) -> Version {
        let versions = self.told.get(item).map_or(&[][..], Vec::as_slice);
        versions.iter().rev().nth(later).copied().unwrap_or(Version(0))
    }

    /// The answer, with the writings of the item numbered as they were seen.
    fn tell(&mut self, item: String, answer: &impl Debug) -> String {
        const WORD: &str = "Version(";
        let (mut told, answer) = (String::new(), format!("{answer:?}"));
        let versions = self.told.entry(item).or_default();
        let mut left = answer.as_str();
        while let Some((before, behind)) = left.split_once(WORD) {
            let (digits, rest) = behind.split_once(')').expect("a version ends");
            let version = Version(digits.parse().expect("a version is a number"));
            let place = versions.iter().position(|known| *known == version).unwrap_or_else(|| {
                versions.push(version);
                versions.len() - 1
            });
            told.extend([before, WORD, &place.to_string(), ")"]);
            left = rest;
        }
        told + left
    }

    async fn answer(&mut self, ask: &Ask) -> String {
        let store = self.store;
        match ask.clone() {
            Ask::Head(tenant, job) => self.get::<Head>(&tenant, job_id(job)).await,
            Ask::PutHead(head, saw) => self.put(head.tenant(), head.id(), &head, saw).await,
            Ask::Jobs(tenant, after, limit) => {
                format!("{:?}", jobs(store, &tenant, after.map(job_id), limit).await)
            }
            Ask::Run(tenant, key) => self.get::<Run>(&tenant, key).await,
            Ask::PutRun(run, saw) => self.put(&run.tenant, run.key, &run, saw).await,
            Ask::RunsOf(tenant, job, window, before, limit) => {
                let window = at(window.start)..at(window.end);
                format!("{:?}", runs_of(store, &tenant, job_id(job), window, before, limit).await)
            }
            Ask::RunsAcross(tenant, window, before, limit) => {
                let window = at(window.start)..at(window.end);
                format!("{:?}", store.runs_across(&tenant, Across::All, window, before, limit).await)
            }
            Ask::Failures(tenant, window, before) => {
                let window = at(window.start)..at(window.end);
                let listed = store.runs_across(&tenant, Across::Failed, window, before, usize::MAX).await;
                format!("{:?}", listed.map(|page| page.map(|page| only_failures(page.runs))))
            }
            Ask::PutAttempt(tenant, run, number) => {
                format!("{:?}", write_attempt(store, &tenant, run, &attempt(number)).await)
            }
            Ask::Attempts(tenant, run) => format!("{:?}", store.list::<Attempt>(&tenant, run, None, usize::MAX).await),
            Ask::PutBody(tenant, job, text) => {
                format!("{:?}", write_body(store, &tenant, job_id(job), &json(text)).await)
            }
            Ask::Body(tenant, job, text) => {
                format!("{:?}", store.get::<KeptBody>(&tenant, (job_id(job), json(text).digest())).await)
            }
            Ask::Note(tenant, name) => self.get::<Note>(&tenant, name.to_owned()).await,
            Ask::PutNote(tenant, note, saw) => self.put(&tenant, note.name.clone(), &note, saw).await,
            Ask::Notes(tenant, after, limit) => format!("{:?}", notes(store, &tenant, after, limit).await),
            Ask::DeleteNote(tenant, name, later) => self.delete::<Note>(&tenant, name.to_owned(), later).await,
            Ask::DeleteRun(tenant, key, later) => self.delete::<Run>(&tenant, key, later).await,
            Ask::ExtendLease(tenant, key, extend) => self.update(&tenant, key, &extend).await,
            Ask::Join(tenant, job) => self.get::<Join>(&tenant, join_key(job, "end")).await,
            Ask::PutJoin(tenant, job, open, saw) => {
                let join = Join::of("end", (0..open).map(edge));
                self.put(&tenant, join_key(job, "end"), &join, saw).await
            }
            Ask::DeleteJoin(tenant, job, later) => self.delete::<Join>(&tenant, join_key(job, "end"), later).await,
            Ask::Close(tenant, job, close) => self.update(&tenant, join_key(job, "end"), &close).await,
            Ask::Slots(tenant, limit) => format!("{:?}", store.list::<Slot>(&tenant, (), None, limit).await),
            Ask::Take(tenant, take) => self.update(&tenant, take.name.clone(), &take).await,
            Ask::Release(tenant, release) => self.update(&tenant, "billing".to_owned(), &release).await,
            Ask::DeleteSlot(tenant, later) => self.delete::<Slot>(&tenant, "billing".to_owned(), later).await,
            Ask::Thing(tenant, name) => self.get::<Thing>(&tenant, name.to_owned()).await,
            Ask::Change(tenant, name, change) => self.update(&tenant, name.to_owned(), &change).await,
            Ask::DeleteThing(tenant, name, later) => self.delete::<Thing>(&tenant, name.to_owned(), later).await,
            Ask::Sweep(now) => {
                self.sweeper.sweep(at(now)).await;
                "swept".to_owned()
            }
            Ask::Timer(key) => format!("{:?}", store.timer(&key).await),
            Ask::PutTimer(timer) => format!("{:?}", store.put_timer(&timer).await),
            Ask::PutTimerIfAbsent(timer) => format!("{:?}", store.put_timer_if_absent(&timer).await),
            Ask::EraseTimer(key, generation) => format!("{:?}", store.erase_timer(&key, stamp(generation)).await),
            Ask::Timers(job, after, until, limit) => {
                let shards = store.shards();
                let shard = job.map_or(shards, |job| Obligation::Occurrence(job_id(job)).shard(shards));
                let bucket = Bucket { minute: at(60).millis() / 60_000, shard };
                format!("{:?}", timers_in(store, bucket, after, at(until), limit).await)
            }
            Ask::Cursor(shard) => self.get::<Cursor>(&Tenant::deployment(), shard).await,
            Ask::PutCursor(shard, hinted_to, saw) => {
                let cursor = Cursor { hinted_to: at(hinted_to), swept_at: at(0), ..Cursor::starting_at(1) };
                self.put(&Tenant::deployment(), shard, &cursor, saw).await
            }
        }
    }
}

fn item_of<T: Item>(tenant: &Tenant, key: &T::Key) -> String {
    format!("{} {tenant:?} {key:?}", T::KIND)
}

fn any_ask() -> impl Strategy<Value = Ask> {
    prop_oneof![
        (any_tenant(), any_job()).prop_map(|(tenant, job)| Ask::Head(tenant, job)),
        (any_head(), any_saw()).prop_map(|(head, saw)| Ask::PutHead(head, saw)),
        (any_tenant(), prop::option::of(any_job()), 0..4_usize)
            .prop_map(|(t, after, limit)| Ask::Jobs(t, after, limit)),
        (any_tenant(), any_run()).prop_map(|(tenant, key)| Ask::Run(tenant, key)),
        (any_changed_run(), any_saw()).prop_map(|(run, saw)| Ask::PutRun(run, saw)),
        (any_tenant(), any_job(), any_window(), prop::option::of(any_run()), 0..6_usize)
            .prop_map(|(tenant, job, window, before, limit)| Ask::RunsOf(tenant, job, window, before, limit)),
        (any_tenant(), any_window(), prop::option::of(any_run()), 0..6_usize)
            .prop_map(|(tenant, window, before, limit)| Ask::RunsAcross(tenant, window, before, limit)),
        (any_tenant(), any_window(), prop::option::of(any_run()))
            .prop_map(|(tenant, window, before)| Ask::Failures(tenant, window, before)),
        (any_tenant(), any_run(), 1..4_u32).prop_map(|(tenant, run, number)| Ask::PutAttempt(tenant, run, number)),
        (any_tenant(), any_run()).prop_map(|(tenant, run)| Ask::Attempts(tenant, run)),
        (any_tenant(), any_job(), 0..3_u8).prop_map(|(tenant, job, text)| Ask::PutBody(tenant, job, text)),
        (any_tenant(), any_job(), 0..3_u8).prop_map(|(tenant, job, text)| Ask::Body(tenant, job, text)),
        (any_tenant(), any_name()).prop_map(|(tenant, name)| Ask::Note(tenant, name)),
        (any_tenant(), any_name(), 0..3_u64, any_saw()).prop_map(|(tenant, name, version, saw)| Ask::PutNote(
            tenant,
            note(name, version),
            saw
        )),
        (any_tenant(), prop::option::of(any_name()), 0..4_usize)
            .prop_map(|(tenant, after, limit)| Ask::Notes(tenant, after, limit)),
        any_change(),
        any_change(),
        any_change(),
        any_key().prop_map(Ask::Timer),
        any_timer().prop_map(Ask::PutTimer),
        any_timer().prop_map(Ask::PutTimerIfAbsent),
        (any_key(), 0..3_u64).prop_map(|(key, generation)| Ask::EraseTimer(key, generation)),
        (prop::option::of(any_job()), prop::option::of(any_key()), 50..130_u64, 0..6_usize)
            .prop_map(|(job, after, until, limit)| Ask::Timers(job, after, until, limit)),
        (0..2_u16).prop_map(Ask::Cursor),
        (0..2_u16, 0..9_u64, any_saw()).prop_map(|(shard, to, saw)| Ask::PutCursor(shard, to, saw)),
    ]
}

/// Updates and deletes.
fn any_change() -> impl Strategy<Value = Ask> {
    prop_oneof![
        2 => (any_tenant(), any_name(), any_later()).prop_map(|(tenant, name, seen)| Ask::DeleteNote(tenant, name, seen)),
        2 => (any_tenant(), any_run(), any_later()).prop_map(|(tenant, key, seen)| Ask::DeleteRun(tenant, key, seen)),
        2 => (any_tenant(), any_run(), 0..5_u32, 0..600_u64).prop_map(|(tenant, key, fence, until)| {
            Ask::ExtendLease(tenant, key, ExtendLease { fence, until: at(until) })
        }),
        2 => (any_tenant(), any_job()).prop_map(|(tenant, job)| Ask::Join(tenant, job)),
        2 => (any_tenant(), any_job(), 0..4_u64, any_saw())
            .prop_map(|(tenant, job, open, saw)| Ask::PutJoin(tenant, job, open, saw)),
        2 => (any_tenant(), any_job(), any_later()).prop_map(|(tenant, job, seen)| Ask::DeleteJoin(tenant, job, seen)),
        2 => (any_tenant(), any_job(), 0..4_u64, any::<bool>()).prop_map(|(tenant, job, number, failed)| Ask::Close(
            tenant,
            job,
            Close { edge: edge(number), failed }
        )),
        2 => (any_tenant(), 0..3_usize).prop_map(|(tenant, limit)| Ask::Slots(tenant, limit)),
        2 => (any_tenant(), 0..4_u64, 0..4_u64, 0..600_u64).prop_map(|(tenant, number, limit, until)| {
            Ask::Take(tenant, Take { until: at(until), ..take(number, limit) })
        }),
        2 => (any_tenant(), 0..4_u64).prop_map(|(tenant, number)| Ask::Release(tenant, Release { holder: edge(number) })),
        2 => (any_tenant(), any_later()).prop_map(|(tenant, seen)| Ask::DeleteSlot(tenant, seen)),
        2 => (any_tenant(), any_name()).prop_map(|(tenant, name)| Ask::Thing(tenant, name)),
        2 => (any_tenant(), any_name(), any_later()).prop_map(|(tenant, name, seen)| Ask::DeleteThing(tenant, name, seen)),
        2 => (0..700_u64).prop_map(Ask::Sweep),
        5 => (any_tenant(), any_name(), any_change_of_a_thing())
            .prop_map(|(tenant, name, change)| Ask::Change(tenant, name, change)),
    ]
}

/// The last ones, and some of a former life.
fn any_later() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(0), 1 => 1..6_usize]
}

fn any_tenant() -> impl Strategy<Value = Tenant> {
    prop_oneof![Just(named("a")), Just(named("a-"))]
}

fn any_job() -> impl Strategy<Value = u8> {
    prop_oneof![Just(0), Just(1), Just(255)]
}

fn any_saw() -> impl Strategy<Value = Saw> {
    prop_oneof![Just(Saw::Nothing), any_later().prop_map(Saw::Before)]
}

fn any_head() -> impl Strategy<Value = Head> {
    (any_tenant(), any_job(), any::<bool>()).prop_map(|(tenant, number, dead)| {
        if dead { Head::Tombstone { tenant, id: job_id(number), epoch: 1 } } else { Head::Job(job(&tenant, number)) }
    })
}

fn any_run() -> impl Strategy<Value = RunKey> {
    let instant = prop_oneof![3 => (0..4_u64).prop_map(|minute| minute * 60), 1 => 3598..3602_u64];
    (any_job(), instant, 0..4_u64).prop_map(|(job, seconds, discriminator)| match discriminator {
        0 => RunKey::occurrence(job_id(job), at(seconds)),
        3 => RunKey::redrive(job_id(job), at(seconds), 1),
        manual => RunKey::manual(job_id(job), at(seconds), manual),
    })
}

fn any_changed_run() -> impl Strategy<Value = Run> {
    (any_tenant(), any_run(), 0..5_u32, 0..3_u8).prop_map(|(tenant, key, fence, state)| {
        let run = Run { fence, ..run_of(&tenant, key) };
        let lease = Lease { holder: Holder::Process(Worker(1)), until: at(90), cancelled: false, token: None };
        match state {
            0 => failed(run),
            1 => Run { state: State::Running(lease), ..run },
            _scheduled => run,
        }
    })
}

/// Some of them backwards.
fn any_window() -> impl Strategy<Value = Range<u64>> {
    let end = || prop_oneof![0..200_u64, 3590..3610_u64];
    (end(), end()).prop_map(|(from, to)| from..to)
}

fn any_name() -> impl Strategy<Value = &'static str> {
    prop_oneof![Just("a"), Just("a-b"), Just("b"), Just("~")]
}

fn any_key() -> impl Strategy<Value = TimerKey> {
    let obligation = prop_oneof![
        any_job().prop_map(|job| Obligation::Occurrence(job_id(job))),
        (any_job(), 0..2_u64).prop_map(|(job, minute)| Obligation::MovedOccurrence(job_id(job), at(minute * 60))),
        any_run().prop_map(Obligation::Run),
        any_job().prop_map(|number| Obligation::Operation(OperationId::from_bytes(*job_id(number).as_bytes()))),
    ];
    (prop_oneof![Just(59_u64), Just(60), Just(90), Just(119), Just(120)], obligation)
        .prop_map(|(due, obligation)| TimerKey { due: at(due), obligation })
}

fn any_timer() -> impl Strategy<Value = Timer> {
    (any_key(), any_tenant(), 0..3_u64).prop_map(|(key, tenant, generation)| Timer {
        key,
        tenant,
        stamp: stamp(generation),
        parent: None,
    })
}

fn only_failures(mut runs: Vec<Run>) -> Vec<Run> {
    runs.retain(|run| matches!(run.state, State::Failed { .. }));
    runs
}

fn json(text: u8) -> Json {
    Json::of(&serde_json::Value::from(text))
}
