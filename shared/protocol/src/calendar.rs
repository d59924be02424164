//! Calendars that jobs share, and changes of them, taken to all who heed them.
//!
//! A job is pinned to the version that a calendar's name stood for ([`crate::job::heed`]), and its head says which: whoever reads the head
//! decides by that, and versions never change. So no claim and no look reads a calendar that may have changed; a change of a calendar is a
//! change of each of its jobs.

pub mod change;
pub mod touched;
pub mod walk;
