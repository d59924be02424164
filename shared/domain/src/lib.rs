//! The domain: what a job, a run and a schedule are, and what they become. Nothing here does anything.
//!
//! Read it in this order: [`schedule`] says when and [`calendar`] when not, [`job`] which occurrences are true, [`order`] what a run carries out and
//! [`owner`] who gave it, [`run`] what becomes of one, [`timer`] and [`pace`] how none of them is forgotten, [`switch`] when somebody is to hear that
//! nobody looks after them. [`access`] says
//! who may ask, [`notification`] whom a tenant has told of what, [`health`] how a job has been doing and [`forecast`] what comes next, [`letters`]
//! what failures have in common, [`workflow`] what a graph of tasks is, [`operation`] what is done to many things at once, [`trace`] in which trace
//! a run is, and [`why`] what became of an instant and which rule decided.

pub mod access;
pub mod audit;
pub mod body;
pub mod calendar;
pub mod callback;
pub mod catch_up;
pub mod cursor;
pub mod follow;
pub mod forecast;
pub mod head;
pub mod health;
pub mod hint;
pub mod hook;
pub mod id;
pub mod idempotency;
pub mod job;
pub mod json_patch;
pub mod keeping;
pub mod lane;
pub mod letters;
pub mod limits;
pub mod moment;
pub mod notification;
pub mod operation;
pub mod order;
pub mod overlap;
pub mod owner;
pub mod pace;
pub mod pool;
pub mod priority;
pub mod quota;
pub mod repair;
pub mod retention;
pub mod retry;
pub mod run;
pub mod schedule;
pub mod secret;
pub mod signing;
pub mod slot;
mod spelled;
pub mod survey;
pub mod switch;
pub mod target;
pub mod timer;
pub mod trace;
pub mod why;
pub mod workflow;

pub use moment::Moment;
