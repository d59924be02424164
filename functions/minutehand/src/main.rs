//! `minutehand`: the whole scheduler in one process, and the client of one.

mod admin_key;
mod arguments;
mod client;
mod drain;
mod executing;
mod front;
mod host;
mod limiting;
mod local;
mod metrics;
#[cfg(feature = "aws")]
mod on_aws;
mod serve;
mod serve_error;
mod sweeping;
mod welcome;

use std::io::IsTerminal as _;
use std::process::ExitCode;

use clap::Parser as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::arguments::{Arguments, Chosen, Serve};

#[tokio::main]
async fn main() -> ExitCode {
    match Arguments::parse().chosen() {
        Chosen::Serve(options) => serve(&options).await,
        Chosen::Client(command) => client::client(command).await,
    }
}

async fn serve(options: &Serve) -> ExitCode {
    log_to_stderr();
    match serve::serve(options).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("minutehand: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `RUST_LOG=debug` shows a line for each committed change.
fn log_to_stderr() {
    let levels = std::env::var("RUST_LOG").ok().and_then(|text| text.parse::<Targets>().ok());
    let filter = levels.unwrap_or_else(|| Targets::new().with_default(tracing::Level::INFO));
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    tracing_subscriber::registry().with(filter).with(lines).init();
}
