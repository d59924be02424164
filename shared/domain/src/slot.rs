//! Slots: how many runs of one kind are under way at once: those of a workflow, those that share a key, those of a tenant. An item names
//! the few runs that hold it; a wider one is several items, and is full when all were found full. Whoever finds it full stands in its
//! line, and looks at it once more.
//!
//! Rule **rank**: whoever needs places of several takes them in one order, that of [`SlotName`]; and a key that the run of a workflow
//! holds is not the key of that name which its tasks take, or a run would wait for itself. What only a job's run asks for comes first: who waits
//! for that has none of what a task below another's run waits for.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use crate::Moment;
use crate::id::{JobId, RunKey, Tenant, digest_of_key};
use crate::limits::LIMIT_KEY_CHARS;
use crate::owner::Undertaking;
use crate::pace;
use crate::pool::AGE;
use crate::priority::Priority;
use crate::spelled::spelled_as_text;
use crate::workflow::WorkflowId;

/// How many holders one item takes: it stays under 1 KB.
pub const HOLDERS: u32 = 24;

/// A tenant's quota above this is not kept by places: whoever asks for one reads all items of a slot that has several.
pub const WIDEST_QUOTA: u32 = 10_000;

/// What those who share a limit call it: a tenant's own.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct LimitKey(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("must have from 1 to {LIMIT_KEY_CHARS} characters, and no control characters")]
pub struct NotALimitKey;

/// For how long a turn holds that nobody has used: who comes later asks for another. Of a slow rate it holds until the next one.
const TURN: Duration = Duration::from_secs(30);

/// What bounds the runs of a job, or of a task, beside those of others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    pub concurrency: Option<Concurrency>,
    pub rate: Option<Rate>,
}

/// At most so many runs of this key at once. Each who takes a place is judged by the limit that his own job says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Concurrency {
    pub key: LimitKey,
    pub limit: u32,
}

/// At most so many attempts of this key begin in a minute, evenly apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rate {
    pub key: LimitKey,
    pub per_minute: u32,
}

/// Which slot. The order is the one in which places are taken.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotName {
    /// The runs of a job.
    Job(JobId),
    /// Those of a job that wait for the one before, where only so many may. Whoever asks for one of these places has none of the job's, and
    /// whoever has one of the job's asks for none of these.
    Queue(JobId),
    /// The runs of workflows whose job has this key.
    Root(LimitKey),
    /// The runs of a workflow: those of jobs, and those that tasks of other workflows call.
    Workflow(WorkflowId),
    /// What is called or pulled, and has this key.
    Key(LimitKey),
    /// Whatever of a tenant is called or pulled.
    Quota,
}

/// A slot, and how many places it has for whoever asks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bound {
    pub slot: SlotName,
    pub width: u32,
}

/// What a run was let in by: it stays until the run is over.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Admission {
    /// The places that it holds; while it waits, those that it holds or needs.
    pub places: Vec<Bound>,
    /// The instant that its rate has put by for its next attempt.
    pub turn: Option<Moment>,
}

/// Where the items of a slot lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotId([u8; 16]);

/// One of the items of a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SlotKey {
    pub slot: SlotId,
    pub number: u32,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Slot {
    /// The runs that hold it, by their ids. It is theirs until they were seen over.
    pub holders: BTreeSet<String>,
}

/// A run that stands in the line of a slot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Waiter {
    /// Its rank: when it came, as its priority has that count. Whose is first is hinted first.
    pub since: Moment,
    pub run: RunKey,
}

/// When the next attempt of a rate's key may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    pub next: Moment,
    /// And the next of those that came too late for theirs. They follow one another as the others do, so that they need not begin all at
    /// once, nor go behind everybody each time that they come late.
    pub next_late: Moment,
    /// When the last instant was put by, by the clock of whoever did.
    pub written: Moment,
}

impl Slot {
    pub fn is_held_by(&self, run: RunKey) -> bool {
        self.holders.contains(&run.to_string())
    }
}

impl Bounds {
    pub fn is_empty(&self) -> bool {
        self.concurrency.is_none() && self.rate.is_none()
    }

    /// The places that a run needs that is to be carried out so, in the order in which they are taken. `quota`: how many runs of its
    /// tenant may be under way, where places keep that.
    pub fn places(&self, undertaking: &Undertaking, quota: Option<u32>) -> Vec<Bound> {
        let of_key = |slot: fn(LimitKey) -> SlotName| {
            self.concurrency.clone().map(|Concurrency { key, limit }| Bound { slot: slot(key), width: limit })
        };
        let (key, quota) = match undertaking {
            Undertaking::Call | Undertaking::Offer(_) => {
                (of_key(SlotName::Key), quota.filter(|width| *width <= WIDEST_QUOTA))
            }
            Undertaking::Unfold(_) => (of_key(SlotName::Root), None),
            Undertaking::Branch(_) | Undertaking::Ask(_) => (None, None),
        };
        key.into_iter().chain(quota.map(|width| Bound { slot: SlotName::Quota, width })).collect()
    }

    /// The rate of a run that is to be carried out so: what calls nothing has none.
    pub fn rate_of(&self, undertaking: &Undertaking) -> Option<&Rate> {
        match undertaking {
            Undertaking::Call | Undertaking::Offer(_) | Undertaking::Unfold(_) => self.rate.as_ref(),
            Undertaking::Branch(_) | Undertaking::Ask(_) => None,
        }
    }
}

impl Rate {
    /// How far apart its attempts begin.
    pub fn interval(&self) -> Duration {
        interval(self.per_minute)
    }

    /// Where the pace of its key lies.
    pub fn id(&self, tenant: &Tenant) -> SlotId {
        SlotId(digest_of_key("rate", tenant, self.key.as_str()))
    }
}

impl Pace {
    /// That of a key of which nothing has begun.
    pub const fn from(now: Moment) -> Self {
        Self { next: now, next_late: now, written: now }
    }

    /// What a clock has put by that was far ahead lies as far ahead: nothing of it holds for one that is right. By less a rate waits for a while: were that
    /// not believed either, whoever is behind by as much would begin when others do.
    #[must_use]
    pub fn believed(self, now: Moment) -> Self {
        if self.written > now + pace::HORIZON { Self::from(now) } else { self }
    }

    /// Where that of what a tenant makes up for lies, of one priority.
    pub fn of_priority(priority: Priority, tenant: &Tenant) -> SlotId {
        SlotId(digest_of_key("catch-up", tenant, priority.as_str()))
    }

    /// Where that of what one job makes up for lies.
    pub fn of_job(job: JobId, tenant: &Tenant) -> SlotId {
        SlotId(digest_of_key("catch-up of a job", tenant, &job.to_string()))
    }

    /// Puts the next instant by that is free: from `now` on, `interval` behind the one before.
    #[must_use]
    pub fn after(self, missed: bool, now: Moment, interval: Duration) -> (Moment, Self) {
        let there = Self { written: now, ..self.believed(now) };
        let at = if missed { there.next_late } else { there.next }.max(now);
        let next = at + interval;
        (at, if missed { Self { next_late: next, ..there } } else { Self { next, ..there } })
    }

    /// Puts so many instants by that follow one another, the first of them no earlier than `from`, which is now or later.
    #[must_use]
    pub fn after_several(self, from: Moment, now: Moment, interval: Duration, count: u32) -> (Moment, Self) {
        let there = self.believed(now);
        let first = there.next.max(from).max(now);
        (first, Self { next: first + interval * count, written: now, ..there })
    }
}

/// How far apart so many a minute begin.
pub fn interval(per_minute: u32) -> Duration {
    Duration::from_millis(60_000_u64.div_ceil(u64::from(per_minute.max(1))))
}

impl SlotName {
    pub fn id(&self, tenant: &Tenant) -> SlotId {
        match self {
            Self::Job(job) => SlotId(digest_of_key("job slot", tenant, &job.to_string())),
            Self::Queue(job) => SlotId(digest_of_key("job queue", tenant, &job.to_string())),
            Self::Workflow(workflow) => SlotId::from(*workflow),
            Self::Root(key) => SlotId(digest_of_key("root slot", tenant, key.as_str())),
            Self::Key(key) => SlotId(digest_of_key("slot", tenant, key.as_str())),
            Self::Quota => SlotId(digest_of_key("quota slot", tenant, "")),
        }
    }
}

impl Admission {
    pub fn is_empty(&self) -> bool {
        self.places.is_empty() && self.turn.is_none()
    }

    /// Whether these are what it has asked for, or some of that, however wide they were then; or it has asked for nothing yet.
    pub fn is_for(&self, needed: &[Bound]) -> bool {
        self.places.is_empty() || needed.iter().all(|bound| self.asked_for(bound))
    }

    /// Those of these that it has asked for.
    pub fn among(&self, needed: Vec<Bound>) -> Vec<Bound> {
        needed.into_iter().filter(|bound| self.asked_for(bound)).collect()
    }

    fn asked_for(&self, bound: &Bound) -> bool {
        self.places.iter().any(|place| place.slot == bound.slot)
    }

    /// Whether the instant that was put by for its next attempt has not gone by unused: what waited for hands would else begin all at once.
    pub fn has_turn(&self, rate: &Rate, now: Moment) -> bool {
        self.turn.is_some_and(|turn| now.since(turn) <= rate.interval().max(TURN))
    }

    /// What it has that is not among these.
    pub fn beyond(&self, needed: &[Bound]) -> Vec<Bound> {
        let is_needed = |place: &&Bound| needed.iter().any(|bound| bound.slot == place.slot);
        self.places.iter().filter(|place| !is_needed(place)).cloned().collect()
    }
}

impl Waiter {
    /// Of a run that waits since then: what is more urgent counts as having come earlier, by as much as makes up for a step of priority
    /// where hands are scarce. So within a priority who comes first goes first, and nothing waits for ever behind what is more urgent.
    pub fn of(run: RunKey, priority: Priority, since: Moment) -> Self {
        let since = match priority {
            Priority::Critical => since - 2 * AGE,
            Priority::High => since - AGE,
            Priority::Normal => since,
            Priority::Low => since + AGE,
        };
        Self { since, run }
    }

    /// Whether it comes before another in their line.
    pub fn is_before(&self, other: &Self) -> bool {
        (self.since, self.run.to_bytes()) < (other.since, other.run.to_bytes())
    }
}

impl SlotId {
    /// It lies as the things of a job do, of which no other has this id, or as its workflow's own.
    pub const fn job(self) -> JobId {
        JobId::from_bytes(self.0)
    }
}

impl From<WorkflowId> for SlotId {
    fn from(workflow: WorkflowId) -> Self {
        Self(*workflow.job().as_bytes())
    }
}

spelled_as_text!(LimitKey);

impl FromStr for LimitKey {
    type Err = NotALimitKey;

    fn from_str(text: &str) -> Result<Self, NotALimitKey> {
        let is_short = (1..=LIMIT_KEY_CHARS).contains(&text.chars().count());
        if is_short && !text.chars().any(char::is_control) { Ok(Self(text.to_owned())) } else { Err(NotALimitKey) }
    }
}

impl fmt::Debug for LimitKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.0)
    }
}

/// `its job`, `key "billing"`: as a sentence for people goes on behind "a place of".
impl fmt::Display for SlotName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Job(_) => f.write_str("its job"),
            Self::Queue(_) => f.write_str("its job's queue"),
            Self::Workflow(_) => f.write_str("its workflow"),
            Self::Root(key) | Self::Key(key) => write!(f, "key {key:?}"),
            Self::Quota => f.write_str("its tenant's quota"),
        }
    }
}

/// Which items a slot of this width is made of, the one first that this run tries first: so that runs spread over them.
pub fn items(slot: SlotId, width: u32, run: RunKey) -> impl Iterator<Item = (SlotKey, u64)> {
    let count = width.div_ceil(HOLDERS).max(1);
    let digest = Sha256::digest(run.to_bytes());
    let first = u32::from_be_bytes([0, digest[0], digest[1], digest[2]]) % count;
    (0..count).map(move |step| {
        let number = (first + step) % count;
        (SlotKey { slot, number }, u64::from(room(width, number)))
    })
}

/// How many holders the item of this number takes.
fn room(width: u32, number: u32) -> u32 {
    width.saturating_sub(number * HOLDERS).min(HOLDERS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{WorkerTarget, WorkflowTarget};
    use crate::workflow::definition::Approval;

    fn key(text: &str) -> LimitKey {
        text.parse().unwrap()
    }

    fn run(number: u64) -> RunKey {
        RunKey::manual(JobId::from_bytes([2; 16]), Moment::EPOCH, number)
    }

    #[test]
    fn the_items_of_a_slot_take_as_many_holders_as_it_is_wide() {
        let slot = SlotId::from(WorkflowId::from_bytes([1; 16]));
        for width in [1, 23, 24, 25, 48, 49, 1000] {
            let items: Vec<_> = items(slot, width, run(1)).collect();
            let keys: BTreeSet<_> = items.iter().map(|(key, _)| *key).collect();

            assert_eq!(items.iter().map(|(_, room)| room).sum::<u64>(), u64::from(width));
            assert!(items.iter().all(|(_, room)| (1..=24).contains(room)), "{width}");
            assert_eq!(keys.len(), items.len());
        }
    }

    /// What calls nothing needs nothing; the key of a workflow's run is not that of its tasks; the quota comes last.
    #[test]
    fn what_a_run_needs_goes_by_what_a_claim_makes_of_it() {
        let concurrency = Some(Concurrency { key: key("billing"), limit: 4 });
        let rate = Some(Rate { key: key("bank"), per_minute: 100 });
        let bounds = Bounds { concurrency, rate };
        let of = |slot: SlotName, width| Bound { slot, width };
        let (own, root, quota) =
            (of(SlotName::Key(key("billing")), 4), of(SlotName::Root(key("billing")), 4), of(SlotName::Quota, 7));
        let worker = WorkerTarget { pool: "p".parse().unwrap(), handler: "h".parse().unwrap() };
        let workflow = WorkflowTarget { id: WorkflowId::from_bytes([1; 16]), version: None };
        let rows = [
            (Undertaking::Call, vec![own.clone(), quota.clone()], true),
            (Undertaking::Offer(worker), vec![own, quota.clone()], true),
            (Undertaking::Unfold(workflow), vec![root], true),
            (Undertaking::Branch(0), vec![], false),
            (Undertaking::Ask(Approval::default()), vec![], false),
        ];
        for (undertaking, places, has_rate) in rows {
            assert_eq!(bounds.places(&undertaking, Some(7)), places, "{undertaking:?}");
            assert!(places.is_sorted(), "one order, whoever takes them");
            assert_eq!(bounds.rate_of(&undertaking).is_some(), has_rate);
        }
        assert_eq!(Bounds::default().places(&Undertaking::Call, None), []);
        assert_eq!(Bounds::default().places(&Undertaking::Call, Some(7)), [quota]);
    }

    #[test]
    fn places_are_taken_in_one_order_and_no_two_slots_are_one() {
        let tenant = Tenant::new("acme").unwrap();
        let workflow = WorkflowId::from_bytes([1; 16]);
        let job = workflow.job();
        let names = [
            SlotName::Job(job),
            SlotName::Queue(job),
            SlotName::Root(key("x")),
            SlotName::Workflow(workflow),
            SlotName::Key(key("x")),
            SlotName::Quota,
        ];

        let ids: BTreeSet<SlotId> = names.iter().map(|name| name.id(&tenant)).collect();

        assert!(names.is_sorted());
        assert_eq!(ids.len(), names.len());
        assert_eq!(names[3].id(&tenant).job(), job, "where it was before there were other slots");
        assert_ne!(names[4].id(&tenant), names[4].id(&Tenant::new("other").unwrap()), "a tenant's keys are its own");
    }

    #[test]
    fn within_a_priority_who_comes_first_is_first_and_urgency_is_worth_a_minute_a_step() {
        let at = |second: i64| Moment::from_secs(1_000 + second);
        let rows = [
            ((Priority::Normal, at(0)), (Priority::Normal, at(1))),
            ((Priority::Critical, at(100)), (Priority::Normal, at(0))),
            ((Priority::High, at(59)), (Priority::Normal, at(0))),
            ((Priority::Normal, at(0)), (Priority::High, at(61))),
            ((Priority::Low, at(0)), (Priority::Critical, at(181))),
        ];
        for ((first, at), (second, later)) in rows {
            let (first, second) = (Waiter::of(run(2), first, at), Waiter::of(run(1), second, later));
            assert!(first.is_before(&second) && !second.is_before(&first), "{first:?} {second:?}");
        }
        let (one, other) = (Waiter::of(run(1), Priority::Low, at(0)), Waiter::of(run(2), Priority::Low, at(0)));
        assert!(one.is_before(&other) != other.is_before(&one), "of two that came at once one is before the other");
        assert!(!one.is_before(&one));
    }

    #[test]
    fn no_minute_has_more_beginnings_than_its_rate() {
        for per_minute in [1, 7, 60, 100, 60_000] {
            let rate = Rate { key: key("bank"), per_minute };
            let now = Moment::from_secs(1_000);
            let (mut pace, mut begun) = (Pace::from(now), Vec::new());
            for _ in 0..=per_minute {
                let (at, next) = pace.after(false, now, rate.interval());
                begun.push(at);
                pace = next;
            }

            let span = begun[usize::try_from(per_minute).unwrap()].since(begun[0]);
            assert!(span >= Duration::from_secs(60), "{per_minute}: {span:?}");
            assert_eq!(begun[0], now, "the first waits for nobody");
        }
    }

    #[test]
    fn what_was_not_used_of_a_rate_is_not_made_up_for() {
        let (now, interval) = (Moment::from_secs(1_000), Duration::from_secs(10));
        let idle = Pace::from(Moment::from_secs(500));

        let (first, pace) = idle.after(false, now, interval);
        let (second, _) = pace.after(false, now, interval);

        assert_eq!((first, second), (now, now + interval));
    }

    #[test]
    fn who_comes_too_late_for_its_turn_goes_behind_those_alone_that_did_too() {
        let (now, interval) = (Moment::from_secs(1_000), Duration::from_secs(10));
        let busy = Pace { next: Moment::from_secs(9_000), ..Pace::from(Moment::from_secs(500)) };

        let (first, pace) = busy.after(true, now, interval);
        let (second, pace) = pace.after(true, now, interval);

        assert_eq!((first, second, pace.next), (now, now + interval, Moment::from_secs(9_000)));
    }

    /// Removed: what lies there is believed whoever has put it there. Nothing of the key began until the time of the clock that was ahead.
    #[test]
    fn what_a_clock_put_by_that_was_ahead_holds_up_nobody_whose_clock_is_right() {
        let (now, interval) = (Moment::from_secs(1_000), Duration::from_secs(10));
        let (_, by_a_wrong_clock) = Pace::from(now).after(false, Moment::from_secs(9_000), interval);
        let (_, apart) = Pace::from(now).after(false, now + pace::HORIZON, interval);

        assert_eq!([false, true].map(|missed| by_a_wrong_clock.after(missed, now, interval).0), [now; 2]);
        assert_eq!(by_a_wrong_clock.after_several(now + interval, now, interval, 3).0, now + interval);
        assert_eq!(apart.after(false, now, interval).0, now + pace::HORIZON + interval, "it waits for a while");
    }

    #[test]
    fn a_run_that_holds_places_asks_for_none_that_it_did_not_ask_for_at_first() {
        let of = |name: &str, width| Bound { slot: SlotName::Key(key(name)), width };
        let admission = Admission { places: vec![of("a", 4)], turn: None };

        assert!(admission.is_for(&[of("a", 9)]) && admission.is_for(&[]) && Admission::default().is_for(&[of("b", 1)]));
        assert!(!admission.is_for(&[of("b", 4)]) && !admission.is_for(&[of("a", 4), of("b", 4)]));
        assert_eq!(admission.among(vec![of("a", 9), of("b", 4)]), [of("a", 9)], "by the limit of today");
        assert_eq!((admission.beyond(&[of("b", 1)]), admission.beyond(&[of("a", 1)])), (vec![of("a", 4)], vec![]));
    }

    #[test]
    fn a_turn_that_was_not_used_is_lost_after_half_a_minute_or_when_the_next_one_comes() {
        let now = Moment::from_secs(1_000);
        let has = |per_minute, late| {
            let admission = Admission { places: vec![], turn: Some(now - Duration::from_secs(late)) };
            admission.has_turn(&Rate { key: key("bank"), per_minute }, now)
        };

        assert_eq!([has(100, 0), has(100, 30), has(100, 31)], [true, true, false]);
        assert_eq!([has(1, 31), has(1, 60), has(1, 61)], [true, true, false]);
        assert!(!Admission::default().has_turn(&Rate { key: key("bank"), per_minute: 1 }, now));
    }

    #[test]
    fn a_key_is_something_that_can_be_seen() {
        let longest = "ä".repeat(LIMIT_KEY_CHARS);
        for good in ["x", "billing", "Konto Süd / 7", longest.as_str()] {
            assert_eq!(key(good).as_str(), good);
        }
        let too_long = format!("{longest}ä");
        for bad in ["", "a\nb", "a\0", too_long.as_str()] {
            assert_eq!(bad.parse::<LimitKey>(), Err(NotALimitKey), "{bad:?}");
        }
    }
}
