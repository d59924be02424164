//! Notifications: what is told of the end of a run, and by which message.
//!
//! [`telling`] puts an end into the digest of each rule that it concerns: a debt of the end, paid before its timer goes. [`digest`] closes one
//! when its window is over, and makes its message a run, once: its key is the window. [`message`] is what else makes one: somebody tries a
//! rule out.

pub mod digest;
pub mod message;
pub mod telling;
