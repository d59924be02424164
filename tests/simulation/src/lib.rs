//! The simulation: the real handlers over memory ports and a virtual clock. One seed is one history, and the same seed
//! is the same history again, to the last step.
//!
//! Every port call is a place where a process can be slow, fail, lose its answer, or die. What a history leaves behind is
//! handed to the judge, who shares no code with any of this.

pub mod campaign;
pub mod client;
pub mod clocks;
pub mod course;
mod crew;
mod damage;
pub mod dice;
pub mod engine;
pub mod fate;
pub mod graphs;
pub mod great_minute;
pub mod history;
mod hosting;
mod machine;
pub mod notified;
pub mod ports;
pub mod queues;
mod secrets;
pub mod setting;
pub mod shown;
pub mod stage;
pub mod staged;
mod sweeps;
pub mod telling;
pub mod throttle;
mod ttl;
pub mod witness;
pub mod workers;
pub mod world;
