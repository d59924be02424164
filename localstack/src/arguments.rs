//! What can be said on the command line.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

/// A job scheduler that fires each occurrence once, on time, and can prove what happened.
#[derive(Debug, Parser)]
#[command(name = "minutehand", version, about, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the whole scheduler on this machine (this is also what happens without a command)
    Serve(Serve),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Serve {
    /// Where the HTTP API listens; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", env = "MINUTEHAND_LISTEN")]
    pub(crate) listen: SocketAddr,
    /// Where everything is kept; survives `kill -9` with nothing acknowledged lost
    #[arg(long, value_name = "DIRECTORY", default_value = "data", env = "MINUTEHAND_DATA")]
    pub(crate) data: PathBuf,
    /// Keep nothing: everything is gone when the process ends
    #[arg(long, conflicts_with = "data")]
    pub(crate) memory: bool,
    /// Keep everything in DynamoDB, SQS and EventBridge, at the usual AWS settings or `AWS_ENDPOINT_URL`; which tables and
    /// queues, `MINUTEHAND_STATE_TABLE` and its like say
    #[arg(long, conflicts_with_all = ["data", "memory"])]
    pub(crate) aws: bool,
    /// The admin's key; without it one is made at the first start and kept in the data directory
    #[arg(long, value_name = "KEY", env = "MINUTEHAND_KEY", hide_env_values = true)]
    pub(crate) key: Option<String>,
    /// How many runs are carried out at the same time
    #[arg(long, value_name = "RUNS", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) at_once: u32,
    /// How long running attempts may take to finish after SIGTERM, before they are handed back
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) drain_seconds: u64,
}

impl Arguments {
    pub(crate) fn into_serve(self) -> Serve {
        match self.command {
            Some(Command::Serve(serve)) => serve,
            None => self.serve,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str]) -> Serve {
        Arguments::try_parse_from([&["minutehand"], words].concat()).unwrap().into_serve()
    }

    #[test]
    fn without_a_command_it_serves() {
        assert_eq!(parsed(&[]).listen.port(), 8080);
        assert!(parsed(&["--memory"]).memory);
        assert!(parsed(&["serve", "--memory"]).memory);
    }

    #[test]
    fn memory_data_and_aws_contradict_each_other() {
        for both in [["--memory", "--aws"], ["--data=x", "--aws"], ["--memory", "--data=x"]] {
            assert!(Arguments::try_parse_from([&["minutehand"], &both[..]].concat()).is_err(), "{both:?}");
        }
    }
}
