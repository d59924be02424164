//! Every door: a small trait for each, and its implementations. Whoever is handed [`Doors`] can reach the world and
//! cannot tell which world it is: AWS, one machine, or the simulation.
//!
//! No door method makes more than one write, so a crash between two writes is always a crash between two calls.

pub mod chance;
pub mod clock;
pub mod doors;
pub mod events;
pub mod fault;
pub mod lanes;
pub mod store;
pub mod targets;

pub use doors::Doors;
pub use fault::Fault;
