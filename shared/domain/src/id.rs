//! Identities: whose, which job, which run, which worker. Their text form is lower-case Crockford base 32,
//! which keeps the order of the bytes and has no letters to confuse.

use std::fmt;
use std::str::FromStr;
use std::sync::LazyLock;

use data_encoding::{Encoding, Specification};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::Moment;
use crate::callback::CallbackPlace;
use crate::limits::WORD_CHARS;
use crate::spelled::spelled_for_people;

static BASE32: LazyLock<Encoding> = LazyLock::new(|| {
    let mut spec = Specification::new();
    spec.symbols.push_str("0123456789abcdefghjkmnpqrstvwxyz");
    spec.encoding().expect("thirty-two distinct symbols")
});

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("this is not {expected}")]
pub struct NotAnId {
    expected: &'static str,
}

impl NotAnId {
    pub(crate) const fn of(expected: &'static str) -> Self {
        Self { expected }
    }
}

/// Whose things these are: part of every key. Comes from the credentials, never from a request's body.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tenant(String);

impl Tenant {
    pub fn new(name: &str) -> Result<Self, NotAnId> {
        let legal = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        if name.is_empty() || name.len() > WORD_CHARS || !name.chars().all(legal) {
            return Err(NotAnId { expected: "a tenant (1 to 64 of a-z, 0-9 and -)" });
        }
        Ok(Self(name.to_owned()))
    }

    /// The deployment's own: whose jobs its key makes, and among whose documents the quotas of all are kept.
    pub fn deployment() -> Self {
        Self("default".to_owned())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Which job. Ordered by time of creation unless it was derived from an idempotency key.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct JobId([u8; 16]);

spelled_for_people!(JobId);

impl JobId {
    /// Time first: jobs made together lie together, which a B-tree on one disk thanks us for.
    pub fn new(now: Moment, chance: [u8; 16]) -> Self {
        Self(time_first(now, chance))
    }

    /// The same tenant and key give the same job, so creating twice is the same conditional put.
    pub fn from_key(tenant: &Tenant, key: &str) -> Self {
        Self(digest_of_key("job", tenant, key))
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "job_{}", BASE32.encode(&self.0))
    }
}

impl fmt::Debug for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for JobId {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        decode(text, "job_")
            .and_then(|bytes| Some(Self(bytes.try_into().ok()?)))
            .ok_or(NotAnId { expected: "a job id" })
    }
}

/// What brought a run about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// An occurrence of the job's schedule: (job, instant) makes it exist once.
    Schedule,
    /// Somebody asked for it now; the discriminator keeps two askings apart.
    Manual,
    /// Somebody asked for what a span of the past had been due: (job, instant) makes it exist once here too.
    Backfill,
    /// Somebody asked for another try at a run that came to nothing.
    Redrive,
    /// A task of a workflow's run: the discriminator says which, and which try at it.
    Task,
    /// It tells of the end of another run: the discriminator says which of that run's callbacks it is.
    Callback,
    /// Somebody asked to go on with a workflow's run that failed: what succeeded in it is not done again.
    Resume,
    /// A run of the job before it has ended: the discriminator says which.
    Follow,
    /// A rule of notifications tells of what happened in a window: the discriminator says how long that was.
    Notification,
}

impl Origin {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Schedule => "schedule",
            Self::Manual => "manual",
            Self::Backfill => "backfill",
            Self::Redrive => "redrive",
            Self::Task => "task",
            Self::Callback => "callback",
            Self::Resume => "resume",
            Self::Follow => "follow",
            Self::Notification => "notification",
        }
    }

    pub const fn code(self) -> u8 {
        match self {
            Self::Schedule => 0,
            Self::Manual => 1,
            Self::Backfill => 2,
            Self::Redrive => 3,
            Self::Task => 4,
            Self::Callback => 5,
            Self::Follow => 6,
            Self::Resume => 7,
            Self::Notification => 8,
        }
    }

    pub const fn of_code(code: u8) -> Option<Self> {
        match code {
            0 => Some(Self::Schedule),
            1 => Some(Self::Manual),
            2 => Some(Self::Backfill),
            3 => Some(Self::Redrive),
            4 => Some(Self::Task),
            6 => Some(Self::Follow),
            5 => Some(Self::Callback),
            7 => Some(Self::Resume),
            8 => Some(Self::Notification),
            _ => None,
        }
    }
}

/// Whose a run is: who gives it its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    Job(JobId),
    /// The run that it is a task of, or whose end it tells of: its record says which.
    Parent,
    /// The rule of notifications of this id.
    Rule(JobId),
}

/// Which run: its id spells this key out, so a run is found without an index.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunKey {
    pub job: JobId,
    /// The nominal instant.
    pub at: Moment,
    pub origin: Origin,
    pub discriminator: u64,
}

impl RunKey {
    pub const BYTES: usize = 16 + 6 + 1 + 8;

    pub fn occurrence(job: JobId, at: Moment) -> Self {
        Self { job, at, origin: Origin::Schedule, discriminator: 0 }
    }

    pub fn manual(job: JobId, at: Moment, discriminator: u64) -> Self {
        Self { job, at, origin: Origin::Manual, discriminator }
    }

    /// The run that makes up for an occurrence because somebody asked for its span. `turn` counts those before it of which none began.
    pub fn backfill(job: JobId, at: Moment, turn: u64) -> Self {
        Self { job, at, origin: Origin::Backfill, discriminator: turn }
    }

    pub fn redrive(job: JobId, at: Moment, discriminator: u64) -> Self {
        Self { job, at, origin: Origin::Redrive, discriminator }
    }

    /// The run that goes on with `run`: whoever asks, and however often, it is one.
    pub fn resuming(run: Self) -> Self {
        let discriminator = run.chance(0).max(1);
        Self { origin: Origin::Resume, discriminator, ..run }
    }

    /// The run of `follower` that comes of the end of `run`: whoever settles that, and however often, it is one.
    pub fn following(run: Self, follower: JobId, ended_at: Moment) -> Self {
        Self { job: follower, at: ended_at, origin: Origin::Follow, discriminator: run.chance(0).max(1) }
    }

    /// The run that tells of the end of `run`, in a place of its own: it is none of its job's.
    pub fn callback(run: Self, place: CallbackPlace) -> Self {
        Self::beside(run, place.code())
    }

    /// The name under which whoever is asked before a run is called: no run, but told apart from it, so that a service which is both asked and
    /// called, and does each thing once, takes neither for the other.
    pub fn asking(run: Self) -> Self {
        Self::beside(run, Self::ASKING)
    }

    /// Behind the codes of callbacks.
    const ASKING: u64 = 2;

    fn beside(run: Self, discriminator: u64) -> Self {
        let digest = Sha256::new().chain_update(b"minutehand callback 1\0").chain_update(run.to_bytes()).finalize();
        let job = JobId(digest[..16].try_into().expect("a digest has 32 bytes"));
        Self { job, at: run.at, origin: Origin::Callback, discriminator }
    }

    pub fn owner(&self) -> Owner {
        match self.origin {
            Origin::Schedule
            | Origin::Manual
            | Origin::Backfill
            | Origin::Redrive
            | Origin::Resume
            | Origin::Follow => Owner::Job(self.job),
            Origin::Task | Origin::Callback => Owner::Parent,
            Origin::Notification => Owner::Rule(self.job),
        }
    }

    /// Whether it is the one run that (job, instant) may have; an instant of its job's schedule or not.
    pub fn is_occurrence(&self) -> bool {
        match self.origin {
            Origin::Schedule => self.discriminator == 0,
            Origin::Manual
            | Origin::Backfill
            | Origin::Redrive
            | Origin::Task
            | Origin::Callback
            | Origin::Resume
            | Origin::Follow
            | Origin::Notification => false,
        }
    }

    /// Sorts as the key does: job, instant, origin, discriminator.
    pub fn to_bytes(&self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(self.job.as_bytes());
        bytes[16..22].copy_from_slice(&self.at.millis().to_be_bytes()[2..]);
        bytes[22] = self.origin.code();
        bytes[23..].copy_from_slice(&self.discriminator.to_be_bytes());
        bytes
    }

    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let mut millis = [0; 8];
        millis[2..].copy_from_slice(&bytes[16..22]);
        let at = i64::from_be_bytes(millis);
        if at > Moment::END.millis() {
            return None;
        }
        Some(Self {
            job: JobId(bytes[..16].try_into().ok()?),
            at: Moment::from_millis(at),
            origin: Origin::of_code(bytes[22])?,
            discriminator: u64::from_be_bytes(bytes[23..].try_into().ok()?),
        })
    }

    /// A number that is this run's own: chance for its backoff that every attempt and every process agrees about.
    pub fn chance(&self, turn: u32) -> u64 {
        let digest = Sha256::new().chain_update(self.to_bytes()).chain_update(turn.to_be_bytes()).finalize();
        u64::from_be_bytes(digest[..8].try_into().expect("a digest has 32 bytes"))
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = self.to_bytes();
        let told = if self.discriminator == 0 { &bytes[..23] } else { &bytes[..] };
        write!(f, "run_{}", BASE32.encode(told))
    }
}

impl fmt::Debug for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{}/{}", self.job, self.at, self.origin.as_str())?;
        if self.discriminator == 0 { Ok(()) } else { write!(f, "/{:x}", self.discriminator) }
    }
}

impl FromStr for RunKey {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        let refusal = NotAnId { expected: "a run id" };
        let told = decode(text, "run_").ok_or(refusal)?;
        let mut bytes = [0; Self::BYTES];
        if told.len() != 23 && told.len() != Self::BYTES {
            return Err(refusal);
        }
        bytes[..told.len()].copy_from_slice(&told);
        let key = Self::from_bytes(&bytes).ok_or(refusal)?;
        if key.to_string() == text { Ok(key) } else { Err(refusal) }
    }
}

/// One process that carries runs out; made anew at each start.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct Worker(pub u64);

spelled_for_people!(Worker);

impl FromStr for Worker {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        decode(text, "worker_")
            .and_then(|bytes| Some(Self(u64::from_be_bytes(bytes.try_into().ok()?))))
            .ok_or(NotAnId { expected: "a worker" })
    }
}

impl fmt::Display for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "worker_{}", BASE32.encode(&self.0.to_be_bytes()))
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Lower-case base 32, for what else is shown to people: keys, cursors, request ids.
pub fn base32(bytes: &[u8]) -> String {
    BASE32.encode(bytes)
}

pub fn from_base32(text: &str) -> Option<Vec<u8>> {
    BASE32.decode(text.as_bytes()).ok()
}

/// Six bytes of time, and chance.
pub(crate) fn time_first(now: Moment, chance: [u8; 16]) -> [u8; 16] {
    let mut bytes = chance;
    bytes[..6].copy_from_slice(&now.millis().to_be_bytes()[2..]);
    bytes
}

/// What stands for a tenant's idempotency key, for one kind of thing and no other.
pub(crate) fn digest_of_key(kind: &str, tenant: &Tenant, key: &str) -> [u8; 16] {
    let digest = Sha256::new()
        .chain_update(b"minutehand ")
        .chain_update(kind)
        .chain_update(b" 1\0")
        .chain_update(tenant.as_str())
        .chain_update(b"\0")
        .chain_update(key)
        .finalize();
    digest[..16].try_into().expect("a digest has 32 bytes")
}

pub(crate) fn sixteen_bytes(text: &str) -> Result<[u8; 16], NotAnId> {
    let bytes = from_base32(text).and_then(|bytes| bytes.try_into().ok());
    bytes.ok_or(NotAnId { expected: "sixteen bytes in base 32" })
}

fn decode(text: &str, prefix: &str) -> Option<Vec<u8>> {
    from_base32(text.strip_prefix(prefix)?)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn any_key() -> impl Strategy<Value = RunKey> {
        let origin = prop_oneof![
            Just(Origin::Schedule),
            Just(Origin::Manual),
            Just(Origin::Backfill),
            Just(Origin::Redrive),
            Just(Origin::Task),
            Just(Origin::Callback),
            Just(Origin::Resume),
            Just(Origin::Follow)
        ];
        (any::<[u8; 16]>(), 0..=Moment::END.millis(), origin, any::<u64>()).prop_map(|(job, at, origin, number)| {
            let discriminator = if origin == Origin::Schedule { 0 } else { number };
            RunKey { job: JobId(job), at: Moment::from_millis(at), origin, discriminator }
        })
    }

    proptest! {
        #[test]
        fn a_run_id_spells_its_key(key in any_key()) {
            prop_assert_eq!(key.to_string().parse::<RunKey>(), Ok(key));
            prop_assert_eq!(RunKey::from_bytes(&key.to_bytes()), Some(key));
        }

        #[test]
        fn keys_sort_as_their_bytes_do(a in any_key(), b in any_key()) {
            prop_assert_eq!(a.cmp(&b), a.to_bytes().cmp(&b.to_bytes()));
        }

        #[test]
        fn any_text_is_an_id_or_refused(text in "(job_|run_)?[0-9a-z]{0,60}") {
            if let Ok(job) = text.parse::<JobId>() { prop_assert_eq!(job.to_string(), text.clone()); }
            if let Ok(run) = text.parse::<RunKey>() { prop_assert_eq!(run.to_string(), text); }
        }
    }

    #[test]
    fn jobs_made_later_sort_later() {
        let early = JobId::new(Moment::from_secs(1), [255; 16]);
        let late = JobId::new(Moment::from_secs(2), [0; 16]);
        assert!(early < late && early.to_string() < late.to_string());
    }

    #[test]
    fn a_key_means_one_job_in_one_tenant() {
        let (a, b) = (Tenant::new("a").unwrap(), Tenant::new("b").unwrap());
        assert_eq!(JobId::from_key(&a, "k"), JobId::from_key(&a, "k"));
        assert_ne!(JobId::from_key(&a, "k"), JobId::from_key(&b, "k"));
        assert_ne!(JobId::from_key(&a, "k"), JobId::from_key(&a, "l"));
    }

    #[test]
    fn a_tenant_is_a_word() {
        for bad in ["", "A", "a b", "a#b", "ä", &"x".repeat(65)] {
            assert!(Tenant::new(bad).is_err(), "{bad}");
        }
    }
}
