//! The guards of the protocol, each with the one interleaving in which it is needed. A test here fails when its guard is
//! removed; that is tried again by `cargo guards`, and `tests/simulation/guards.toml` says what removes each. What a test says
//! under *Removed* is what it then found.

mod admitting;
mod batches;
mod bodies;
mod calendars;
mod callbacks;
mod catching_up;
mod claiming;
mod clocks;
mod counting;
mod creating;
mod damage;
mod draining;
mod erasing;
mod erasures;
mod expiring;
mod following;
mod graphs;
mod great_minutes;
mod hinting;
mod judging;
mod letters;
mod long_calls;
mod looking;
mod notifying;
mod on_demand;
mod operating;
mod orphans;
mod overlapping;
mod partitions;
mod places;
mod promising;
mod putting_off;
mod releases;
mod repairing;
mod saying;
mod sharding;
mod slas;
mod taking_over;
mod workers;
