//! Timers and hints: what stands for an obligation until it is met, and what is said of it to a queue.

pub mod hinting;
pub mod promise;
