//! Conformance: what every implementation of a door must do, as facts that are generic over it. A suite in `tests/` names
//! the implementations and runs each fact over each of them, on a store of its own.

pub mod agreement;
pub mod guards;
pub mod kept;
pub mod lanes;
pub mod lists;
pub mod timers;
pub mod world;
