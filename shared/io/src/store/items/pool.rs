//! A pool that somebody named, by its name; and the workers that ask for its runs, by their pools.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::{RunKey, Tenant, Worker};
use minutehand_domain::pool::presence::{Hold, Presence};
use minutehand_domain::pool::{HandlerName, Pool, PoolName, WorkerName};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::span::SpanV1;
use crate::shapes::{Many, Of, Shape as _, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Part, Partition, Place, Span};

impl Item for Pool {
    const KIND: &'static str = "pool";
    const IMMUTABLE: bool = true;

    type Key = PoolName;

    fn place(name: &PoolName) -> Place {
        Place::named(name.as_str())
    }
}

/// A tenant's pools by name.
impl Listed for Pool {
    type Within = ();

    fn span((): &(), past: Option<&PoolName>) -> Option<Span> {
        Some(Span::all(Partition::Kind, past.map(Self::place)))
    }
}

impl Stored for Pool {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<PoolV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<PoolV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

impl Item for Presence {
    const KIND: &'static str = "presence";

    type Key = (PoolName, Worker);

    fn place((pool, worker): &Self::Key) -> Place {
        Place::new(Partition::Kind, [Part::Word(pool.to_string()), Part::Discriminator(worker.0)])
    }

    fn expires_at(&self) -> Option<Moment> {
        Some(self.kept_until())
    }
}

/// A tenant's workers by their pools: of all, or of one.
impl Listed for Presence {
    type Within = Option<PoolName>;

    fn span(pool: &Option<PoolName>, past: Option<&Self::Key>) -> Option<Span> {
        let within = pool.iter().map(|pool| Part::Word(pool.to_string())).collect();
        let past = past.map(|key| Self::place(key).sort);
        Some(Span { partition: Partition::Kind, within, from: None, to: None, past, order: Order::Forward })
    }
}

impl Stored for Presence {
    const NEWEST: u8 = 2;

    /// Shape 1 says whether it drains, and not since when.
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        match self.draining_since {
            None => writer.shape(1, &Filed { document: in_shape::<PresenceV1, _>(self) }),
            Some(_) => writer.shape(2, &Filed { document: in_shape::<PresenceV2, _>(self) }),
        }
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<PresenceV1, _>>>().map(|filed| drained_when_seen(filed.document.0)),
            2 => reader.shape::<Filed<Of<PresenceV2, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

/// It drained when it was seen; for how long it had then, shape 1 does not say.
fn drained_when_seen(presence: Presence) -> Presence {
    Presence { draining_since: presence.draining_since.map(|_| presence.last_seen), ..presence }
}

/// Whether it drains.
mod draining_v1 {
    use minutehand_domain::Moment;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer};

    #[expect(clippy::ref_option, reason = "serde hands the field itself")]
    pub(super) fn serialize<S: Serializer>(since: &Option<Moment>, serializer: S) -> Result<S::Ok, S::Error> {
        since.is_some().serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Moment>, D::Error> {
        bool::deserialize(deserializer).map(|drains| drains.then_some(Moment::EPOCH))
    }
}

shapes! { PoolV1 => Pool, PresenceV1 => Presence, PresenceV2 => Presence, HoldV1 => Hold }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Pool")]
struct PoolV1 {
    tenant: Tenant,
    name: PoolName,
    named_at: Moment,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Presence")]
struct PresenceV1 {
    tenant: Tenant,
    pool: PoolName,
    worker: WorkerName,
    first_seen: Moment,
    last_seen: Moment,
    #[serde(with = "SpanV1")]
    lease: Duration,
    slots: Option<u32>,
    handlers: Option<BTreeSet<HandlerName>>,
    #[serde(rename = "draining", with = "draining_v1")]
    draining_since: Option<Moment>,
    #[serde(with = "Many::<HoldV1>")]
    holds: Vec<Hold>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Presence")]
struct PresenceV2 {
    tenant: Tenant,
    pool: PoolName,
    worker: WorkerName,
    first_seen: Moment,
    last_seen: Moment,
    #[serde(with = "SpanV1")]
    lease: Duration,
    slots: Option<u32>,
    handlers: Option<BTreeSet<HandlerName>>,
    draining_since: Option<Moment>,
    #[serde(with = "Many::<HoldV1>")]
    holds: Vec<Hold>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Hold")]
struct HoldV1 {
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    until: Moment,
}
