//! The API, through its router, over the embedded doors in memory and a clock that the tests set.

mod auth;
mod bad_input;
mod creating;
mod jobs;
mod runs;
mod schedules;
mod world;
