//! Histories of one thing each, on a stage: a job or a few, what is drawn around them, and the judge of that thing.

pub mod backfills;
pub mod callbacks;
pub mod followers;
pub mod letters;
pub mod notifications;
