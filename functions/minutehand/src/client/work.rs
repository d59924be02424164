//! `minutehand work`: a worker that runs commands of this host. A file names them; the server only ever sends a name and parameters,
//! so that an API key never becomes a shell.

mod commands;
mod filled;
mod guard;
mod output;
mod running;
mod shell;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use minutehand_client::worker::{Context, NotDone, Worker};

use self::commands::Commands;
use self::running::run;
use super::connection::Connection;
use super::failure::Failure;
use super::session::{Session, print};

pub(crate) use self::guard::{WORD as GUARD, guard};

/// Longer than any command has between SIGTERM and SIGKILL: then its handler has ended.
const BEYOND_KILL: Duration = Duration::from_secs(2);

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// Whose runs it takes
    #[arg(long, value_name = "POOL")]
    pool: String,
    /// The file that names the commands, in TOML
    #[arg(long, value_name = "FILE")]
    commands: PathBuf,
    /// Under which it is known; without one, by this machine and process
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// How many commands run at the same time
    #[arg(long, value_name = "COMMANDS", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=1_000))]
    slots: u16,
    /// A worker that is gone loses its runs after this long
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(3..=3_600))]
    lease_seconds: u64,
    /// How long running commands may take to finish after SIGTERM, before they are ended and their runs handed back
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    drain_seconds: u64,
    /// Say how the file is understood, and run nothing
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    pub(super) connection: Connection,
}

impl Ask {
    pub(super) async fn execute(self) -> Result<(), Failure> {
        let commands = Commands::read(&self.commands).map_err(Failure::File)?;
        if self.check {
            return print(&commands.understood());
        }
        crate::log_to_stderr();
        let session = Session::open(&self.connection)?;
        let worker = self.worker(&session, commands);
        Ok(worker.run().await?)
    }

    /// A handler that is not in the file is never asked for.
    fn worker(&self, session: &Session, commands: Commands) -> Worker {
        let grace = commands.iter().map(|(_, command)| command.kill_grace).max().unwrap_or_default() + BEYOND_KILL;
        let worker = Worker::new(session.client().clone(), &self.pool)
            .slots(self.slots.into())
            .lease(Duration::from_secs(self.lease_seconds))
            .patience(Duration::from_secs(self.drain_seconds), grace);
        let worker = self.name.iter().fold(worker, |worker, name| worker.name(name));
        commands.into_iter().fold(worker, |worker, (handler, command)| {
            worker.job(&handler, move |ctx: Context| {
                let command = command.clone();
                async move { run(&command, &ctx).await }
            })
        })
    }
}

/// An error that another try would not mend.
fn hopeless(code: &str, message: &str) -> NotDone {
    NotDone::failed(code, message).for_good()
}
