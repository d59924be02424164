//! An effect of a run, in the ledger beside the run.

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::effect::{Claimed, Effect, EffectName, RequestMark, Told};
use serde::{Deserialize, Serialize};

use super::document::Filed;
use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::{Maybe, Of, Shape as _, in_shape, shapes};
use crate::store::item::{Item, Listed, Reader, Stored, Writer, later_shape};
use crate::store::place::{Order, Part, Partition, Place, Span, parts_of};

impl Item for Effect {
    const KIND: &'static str = "effect";

    type Key = (RunKey, EffectName);

    fn place((run, name): &Self::Key) -> Place {
        let mut sort = parts_of(*run).to_vec();
        sort.push(Part::Word(name.as_str().to_owned()));
        Place::new(Partition::History(run.job), sort)
    }
}

/// A run's effects by name.
impl Listed for Effect {
    type Within = RunKey;

    fn span(run: &RunKey, past: Option<&Self::Key>) -> Option<Span> {
        let within = parts_of(*run).to_vec();
        let past = past.map(|key| Self::place(key).sort);
        Some(Span { partition: Partition::History(run.job), within, from: None, to: None, past, order: Order::Forward })
    }
}

impl Stored for Effect {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, &Filed { document: in_shape::<EffectV1, _>(self) })
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape::<Filed<Of<EffectV1, _>>>().map(|filed| filed.document.0),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

shapes! { EffectV1 => Effect, ClaimedV1 => Claimed, ToldV1 => Told }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Effect")]
struct EffectV1 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    name: EffectName,
    #[serde(with = "ClaimedV1")]
    claimed: Claimed,
    #[serde(default, with = "Maybe::<ToldV1>")]
    outcome: Option<Told>,
    prevented: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Claimed")]
struct ClaimedV1 {
    at: Moment,
    fence: u32,
    request: Option<RequestMark>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Told")]
struct ToldV1 {
    at: Moment,
    fence: u32,
    outcome: Json,
}
