//! The API, through its router, over the embedded doors in memory and a clock that the tests set.

mod across;
mod addresses;
mod asking;
mod auth;
mod bad_input;
mod batch;
mod creating;
mod doors;
mod events;
mod examples;
mod filters;
mod hostile;
mod jobs;
mod keys;
mod openapi;
mod patch;
mod process;
mod quotas;
mod random;
mod roles;
mod runs;
mod schedules;
mod stats;
mod tenants;
mod vectors;
mod world;
