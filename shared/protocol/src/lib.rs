//! The flows: in which order things are written. Each decision is the domain's and each write is one port call; what
//! stands here, once for AWS, one machine and the simulation, is what comes before what.
//!
//! **Promise, act, erase**: the timer first, then the state that needs it, and the timer goes only when the table shows
//! that its obligation is met. A crash between any two steps leaves a timer too many, never one too few.
//!
//! Who stands on whom, lowest first: [`timers`], [`notifications`], [`slots`], [`chain`], [`run`] and [`job`], [`calendar`], [`operation`],
//! [`sweep`]; a module uses only those before it. [`aftermath`], [`amend`], [`bodies`], [`lookup`] and [`read_at`] are everybody's.

pub mod aftermath;
pub mod amend;
pub mod audit;
pub mod bodies;
mod born;
pub mod calendar;
pub mod chain;
mod contention;
pub mod day;
pub mod graph;
pub mod job;
pub mod lookup;
pub mod notifications;
pub mod operation;
pub mod read_at;
pub mod run;
pub mod slots;
pub mod sweep;
pub mod timers;
pub mod workflow;
