//! An offer, in the line of its priority among its pool's; the longest waiting first.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::pool::{HandlerName, Offer, PoolId, PoolName};
use minutehand_domain::priority::Priority;
use minutehand_domain::timer::{TimerKey, TimerStamp};
use serde::{Deserialize, Serialize};

use crate::Fault;
use crate::shapes::priority::PriorityV1;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::timer::{TimerKeyV1, TimerStampV1};
use crate::shapes::{Of, Shape as _, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Part, Partition, Place, Span, parts_of};

/// Where an offer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OfferKey {
    pub line: Line,
    pub since: Moment,
    pub run: RunKey,
}

/// What is ready in a pool at one priority.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    pub pool: PoolId,
    pub priority: Priority,
}

impl OfferKey {
    pub fn of(tenant: &Tenant, offer: &Offer) -> Self {
        let line = Line { pool: PoolId::of(tenant, &offer.pool), priority: offer.priority };
        Self { line, since: offer.since, run: offer.hint.run }
    }
}

impl Line {
    /// It lies as the things of a job do, of which no other has this id.
    fn partition(self) -> Partition {
        Partition::History(JobId::from_bytes(*self.pool.as_bytes()))
    }

    fn code(self) -> Part {
        Part::Code(u8::try_from(self.priority.index()).expect("priorities are few"))
    }
}

impl Item for Offer {
    const KIND: &'static str = "offer";
    const IMMUTABLE: bool = true;

    type Key = OfferKey;

    fn place(OfferKey { line, since, run }: &OfferKey) -> Place {
        let mut sort = vec![line.code(), Part::Instant(*since), Part::Job(run.job)];
        sort.extend(parts_of(*run));
        Place::new(line.partition(), sort)
    }

    fn expires_at(&self) -> Option<Moment> {
        Some(self.stands_until())
    }
}

impl Listed for Offer {
    type Within = Line;

    fn span(line: &Line, past: Option<&OfferKey>) -> Option<Span> {
        let past = past.map(|key| Self::place(key).sort);
        let within = vec![line.code()];
        Some(Span { partition: line.partition(), within, from: None, to: None, past, order: Order::Forward })
    }
}

impl Stored for Offer {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &in_shape::<OfferV1, _>(self))
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Of<OfferV1, _>>().map(|of| of.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! {
    OfferV1 => Offer,
    HintV1 => Hint,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Offer")]
struct OfferV1 {
    pool: PoolName,
    handler: HandlerName,
    #[serde(with = "PriorityV1")]
    priority: Priority,
    since: Moment,
    #[serde(with = "HintV1")]
    hint: Hint,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Hint")]
struct HintV1 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    #[serde(with = "TimerKeyV1")]
    timer: TimerKey,
    #[serde(with = "TimerStampV1")]
    stamp: TimerStamp,
    #[serde(skip)]
    sent: Option<Moment>,
}
