//! The deployed stack on one machine, for its tests: `bootstrap` puts it on an emulator, a hook and a client stand beside it.

pub mod api_client;
pub mod deployment;
pub mod hook;
pub mod process;
pub mod worker;
