//! `minutehand`: the whole scheduler in one process, and the client of one.

mod admin_key;
mod archive;
mod arguments;
mod backing_up;
mod backup;
mod client;
mod compact;
mod drain;
mod executing;
mod exporting;
mod front;
mod host;
mod limiting;
mod local;
mod metrics;
#[cfg(feature = "aws")]
mod on_aws;
mod open_files;
mod proxied;
mod repair;
mod serve;
mod serve_error;
mod sweeping;
mod targets;
mod tidying;
mod tls;
mod welcome;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::time::Duration;

use minutehand_io::events::TRANSITIONS;
use tokio::runtime::Runtime;
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, ParseError, Targets};
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use self::arguments::{Arguments, Backup, Chosen, Repair, Restore, Serve};
use self::backup::BackupFailure;
use self::host::Drained;
use self::serve_error::ServeError;

/// A check found something.
const SOMETHING_FOUND: u8 = 6;

/// How long threads go on that wait for something when all else is over: a write that is under way has time for its end.
const LINGER: Duration = Duration::from_secs(1);

fn main() -> ExitCode {
    match Runtime::new() {
        Ok(runtime) => ended_in_time(runtime, carry_out()),
        Err(why) => done(Err(why.into())),
    }
}

/// A thread that waits for a disk that is away can be ended by nobody, and waits as long as it likes: the process ends without it.
fn ended_in_time(runtime: Runtime, work: impl Future<Output = (ExitCode, Duration)>) -> ExitCode {
    let (code, linger) = runtime.block_on(work);
    runtime.shutdown_timeout(linger);
    code
}

/// What the command line asks for; what that came to, and how long its threads may linger.
async fn carry_out() -> (ExitCode, Duration) {
    // It is started by `work` alone, and speaks with nobody else.
    #[cfg(unix)]
    if std::env::args_os().nth(1).is_some_and(|word| word == client::GUARD) {
        return (client::guard(), LINGER);
    }
    let code = match Arguments::of_the_command_line().chosen() {
        Chosen::Serve(options) => return serve(&options).await,
        Chosen::Repair(options) => repair(&options).await,
        Chosen::ListArchive(asked) => done(archive::list(&asked)),
        Chosen::Compact(options) => done(compact::compact_directory(&options.data)),
        Chosen::Backup(options) => backup(&options).await,
        Chosen::Restore(options) => restore(&options),
        Chosen::Client(command) => client::client(command).await,
    };
    (code, LINGER)
}

/// A second signal ends it at once, whatever its threads do.
async fn serve(options: &Serve) -> (ExitCode, Duration) {
    log_to_stderr();
    let ended = serve::serve(options).await;
    let linger = if matches!(ended, Ok(Drained::CutShort)) { Duration::ZERO } else { LINGER };
    (done(ended.map(drop)), linger)
}

fn done(outcome: Result<(), ServeError>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("minutehand: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a check found is said by the exit code too.
async fn repair(options: &Repair) -> ExitCode {
    let repaired = match options.connection() {
        Some(connection) => match repair::repair_server(&connection, options.check).await {
            Ok(view) => view,
            Err(failure) => return failure.exit(false),
        },
        None => match repair::repair_directory(&options.data, options.check, options.discard.as_deref()).await {
            Ok(view) => view,
            Err(error) => {
                eprintln!("minutehand: {error}");
                return ExitCode::FAILURE;
            }
        },
    };
    if options.check && !repair::is_sound(&repaired) { ExitCode::from(SOMETHING_FOUND) } else { ExitCode::SUCCESS }
}

async fn backup(options: &Backup) -> ExitCode {
    ended(backup::backup(options).await, options.connection.verbose)
}

fn restore(options: &Restore) -> ExitCode {
    ended(backup::restore(options), false)
}

fn ended(done: Result<(), BackupFailure>, verbose: bool) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(BackupFailure::Client(failure)) => failure.exit(verbose),
        Err(error) => {
            eprintln!("minutehand: {error}");
            ExitCode::FAILURE
        }
    }
}

/// `RUST_LOG=debug` shows a line for each committed change.
pub(crate) fn log_to_stderr() {
    let wanted = std::env::var("RUST_LOG").ok();
    let (filter, unread) = filter_of(wanted.as_deref());
    let lines =
        tracing_subscriber::fmt::layer().with_writer(std::io::stderr).with_ansi(std::io::stderr().is_terminal());
    tracing_subscriber::registry().with(filter).with(lines).init();
    if let Some(why) = unread {
        tracing::warn!(%why, "RUST_LOG cannot be read: the log is as if it were info");
    }
}

/// What is asked for; where that cannot be read, what everybody wants, and why. The transitions of runs only where they are named, or
/// where everything is wanted: a run has two, and a line costs 8 µs where it is written and 5 ns where it is not.
fn filter_of(wanted: Option<&str>) -> (Targets, Option<ParseError>) {
    let (asked, unread) = match wanted.filter(|text| !text.is_empty()).map(str::parse::<Targets>).transpose() {
        Ok(asked) => (asked, None),
        Err(why) => (None, Some(why)),
    };
    let filter = asked.unwrap_or_else(|| Targets::new().with_default(Level::INFO));
    let named = wanted.is_some_and(|text| text.contains(TRANSITIONS));
    let shows_transitions = named || filter.would_enable(TRANSITIONS, &Level::DEBUG);
    (if shows_transitions { filter } else { filter.with_target(TRANSITIONS, LevelFilter::OFF) }, unread)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::Instant;

    use super::*;

    /// Removed: the bound. The process stayed for as long as the thread waited, and kept its store from the next.
    #[test]
    fn a_thread_that_hangs_keeps_no_process_from_its_end() {
        for linger in [Duration::ZERO, LINGER] {
            let (hangs, hung) = mpsc::channel();
            let begin = Instant::now();

            let _code = ended_in_time(Runtime::new().unwrap(), async {
                drop(tokio::task::spawn_blocking(move || {
                    hangs.send(()).unwrap();
                    thread::sleep(Duration::from_secs(60));
                }));
                hung.recv().unwrap();
                (ExitCode::SUCCESS, linger)
            });

            assert!(begin.elapsed() < 2 * LINGER, "{:?}", begin.elapsed());
        }
    }

    #[test]
    fn transitions_are_logged_where_they_are_named_or_everything_is_wanted() {
        for (wanted, logged) in [
            (None, false),
            (Some(""), false),
            (Some("info"), false),
            (Some("minutehand=info"), false),
            (Some("debug"), true),
            (Some("minutehand=debug"), true),
            (Some("warn,minutehand::transitions=info"), true),
            (Some("debug,minutehand::transitions=off"), false),
        ] {
            assert_eq!(filter_of(wanted).0.would_enable(TRANSITIONS, &Level::INFO), logged, "{wanted:?}");
        }
        assert!(filter_of(None).0.would_enable("minutehand::host", &Level::INFO));
    }

    #[test]
    fn what_cannot_be_read_is_as_if_nothing_were_asked_for_and_is_told_of() {
        let (filter, unread) = filter_of(Some("nonsense==="));

        assert!(filter.would_enable("minutehand::host", &Level::INFO) && unread.is_some());
        for wanted in [None, Some(""), Some("info"), Some("minutehand=debug")] {
            assert!(filter_of(wanted).1.is_none(), "{wanted:?}");
        }
    }
}
