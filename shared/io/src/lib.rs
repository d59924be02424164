//! Every port: a small trait for each, and its adapters. Code that is generic over [`Ports`] runs on AWS, on one machine
//! and in the simulation.
//!
//! No port method makes more than one write, so a crash between two writes is always a crash between two calls.

#[cfg(feature = "aws")]
pub mod bucket;
pub mod calendars;
pub mod chance;
pub mod clock;
pub mod events;
pub mod fault;
#[cfg(test)]
mod logged;
pub mod metrics;
pub mod plans;
pub mod ports;
pub mod queues;
pub mod quotas;
pub mod rules;
mod shapes;
#[cfg(feature = "shares")]
pub mod shares;
pub mod spans;
pub mod store;
pub mod targets;
pub mod vault;

pub use fault::Fault;
pub use ports::Ports;
