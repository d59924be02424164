//! A job's own life: created, changed.

pub mod change;
pub mod create;
pub mod following;
pub mod heed;
