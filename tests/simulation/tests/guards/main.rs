//! The guards of the protocol, each with the one interleaving in which it is needed. A test here fails when its guard is
//! removed; that is tried again by `tests/simulation/guards/run`, with a patch for each removal beside it. What each test
//! says under *Removed* is what it then found.

mod admitting;
mod batches;
mod catching_up;
mod claiming;
mod creating;
mod draining;
mod erasing;
mod hinting;
mod looking;
mod on_demand;
mod orphans;
mod promising;
mod sharding;
