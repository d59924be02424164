//! Graphs: what becomes of a workflow's tasks. A run unfolds into runs of its tasks; each of these, when it is over, is settled:
//! the edges that it owes are closed, and what they decide is started, skipped or ended. Every step is one that may be done twice,
//! so that whoever finds a run over can pay what it owes, and only then its timer goes.
//!
//! [`settle`] is the one flow for what a run's end owes, and [`owed`] says what that is. Below it: [`family`] reads what a run's tasks need to know, [`birth`] makes
//! them, [`join`] closes their edges, [`ending`] ends the run whose tasks have ended, [`stop`] the one whose tasks may not go on.
//! [`unfold`] is what a claim does with a run that has tasks, [`attend`] what a look does with one that waits, [`judge`] what people do.
//! [`stalling`] says of a run that nothing goes on below it, and [`watch`] reads one for whoever
//! watches it.

pub mod attend;
mod birth;
mod ending;
mod family;
mod following;
mod join;
pub mod judge;
pub mod owed;
pub mod settle;
mod stalling;
pub mod stop;
pub mod unfold;
mod values;
pub mod watch;
