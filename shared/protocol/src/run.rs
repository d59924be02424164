//! The life of a run: asked for or born of a hint, claimed, finished or handed back, cancelled. Nothing here knows a schedule;
//! what a run carries out is its order.

pub(crate) mod callback;
pub mod cancel;
pub mod claim;
pub mod effect;
pub(crate) mod entry;
pub mod finish;
pub mod hooked;
mod lateness;
pub mod lease;
pub mod letter;
pub mod logbook;
mod offer;
pub mod on_demand;
mod overlap;
pub(crate) mod renewal;
pub(crate) mod sla;
pub mod take;
mod undertake;
pub(crate) mod withdrawal;
