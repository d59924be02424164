//! Runs of workflows: what is shown of one, and what people do to it.

mod acts;
mod lists;
mod reading;
mod stalls;
