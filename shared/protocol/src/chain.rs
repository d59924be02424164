//! The chain of a job's occurrences: each link is a timer, and each is put before the one before it is made anything of.
//!
//! [`dispatch`] turns links into hints, [`successor`] puts the next one, [`links`] finds where a chain breaks. What an outage
//! left is decided once, by [`catch_up`], and begins in turn, by [`putting_off`]; its record speaks for others through [`coverage`], and
//! [`passing_over`] writes it. [`forgetting`] records what a change would lose, [`taken`] what calendars took. [`standing`] says of one instant
//! what stands for it.

pub mod catch_up;
pub mod coverage;
pub mod dispatch;
pub mod followed;
pub mod forgetting;
pub mod links;
pub mod passing_over;
pub mod pending_change;
pub mod putting_off;
pub mod standing;
pub mod successor;
pub mod taken;
