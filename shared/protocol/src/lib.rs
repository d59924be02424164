//! The flows: in which order things are written. Each decision is the domain's and each write is one port call; what
//! stands here, once for AWS, one machine and the simulation, is what comes before what.
//!
//! **Promise, act, erase**: the timer first, then the state that needs it, and the timer goes only when the table shows
//! that its obligation is met. A crash between any two steps leaves a timer too many, never one too few.

pub mod bodies;
pub mod cancel;
pub mod catch_up;
pub mod change;
pub mod claim;
pub mod coverage;
pub mod create;
pub mod dispatch;
pub mod finish;
pub mod lookup;
pub mod on_demand;
pub mod orphan;
pub mod overdue;
pub mod promise;
pub mod sweep;
pub mod take_over;
