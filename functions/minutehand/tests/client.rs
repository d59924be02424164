//! The client: the real binary as its user runs it, against the real process; what it prints, says and exits with.

#[path = "support/client.rs"]
#[expect(dead_code, reason = "here the binary itself is the client; process.rs asks over HTTP")]
mod client;
#[path = "support/server.rs"]
#[expect(dead_code, reason = "here the process is only started; process.rs asks more of it")]
mod server;

#[path = "client/command.rs"]
mod command;
#[path = "client/jobs.rs"]
mod jobs;
#[path = "client/keys.rs"]
mod keys;
#[path = "client/newcomer.rs"]
mod newcomer;
#[path = "client/refusals.rs"]
mod refusals;
#[path = "client/runs.rs"]
mod runs;
#[path = "client/secrets.rs"]
mod secrets;
#[path = "client/showing.rs"]
mod showing;
#[path = "client/strangers.rs"]
mod strangers;
#[path = "client/tenants.rs"]
mod tenants;
#[path = "client/typed.rs"]
mod typed;
#[path = "client/workflows.rs"]
mod workflows;
