//! Logs: one JSON object a line on standard output, with its time and, inside an invocation, the request's id, so that
//! CloudWatch can query the fields. `RUST_LOG=minutehand=debug` shows a line for each committed change.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use minutehand_io::events::TRANSITIONS;
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Sets up logging. Called once, before the first line is logged.
pub fn to_stdout() {
    let filter = filter_of(std::env::var("RUST_LOG").ok().as_deref());
    let lines =
        layer().json().flatten_event(true).with_current_span(true).with_span_list(false).with_writer(io::stdout);
    tracing_subscriber::registry().with(filter).with(lines).init();
}

/// Logs the error that ended a process, and gives the exit code.
pub fn exit_code(ended: Result<(), Box<dyn Error + Send + Sync>>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            tracing::error!(%why, "it cannot go on");
            ExitCode::FAILURE
        }
    }
}

/// The levels of `RUST_LOG`; the default where they cannot be parsed. The span with the request's id is always enabled, so
/// that every warning carries it. The transitions of runs are logged where they are named, or at debug: a log is paid for by
/// its bytes.
fn filter_of(wanted: Option<&str>) -> Targets {
    let usual = || Targets::new().with_default(LevelFilter::INFO);
    let asked = wanted.filter(|text| !text.is_empty()).and_then(|text| text.parse().ok());
    let filter = asked.unwrap_or_else(usual).with_target("lambda_runtime", LevelFilter::INFO);
    let named = wanted.is_some_and(|text| text.contains(TRANSITIONS));
    if named || filter.would_enable(TRANSITIONS, &Level::DEBUG) {
        filter
    } else {
        filter.with_target(TRANSITIONS, LevelFilter::OFF)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_levels_log_as_by_default() {
        for levels in [None, Some(""), Some("minutehand=loudest")] {
            assert_eq!(filter_of(levels), filter_of(Some("info")));
        }
    }

    #[test]
    fn transitions_are_logged_where_they_are_named_or_everything_is_wanted() {
        for (wanted, logged) in
            [("info", false), ("minutehand=debug", true), ("debug", true), ("info,minutehand::transitions=info", true)]
        {
            assert_eq!(filter_of(Some(wanted)).would_enable(TRANSITIONS, &Level::INFO), logged, "{wanted}");
        }
    }

    #[test]
    fn at_every_level_lines_have_the_requests_id() {
        let quiet = filter_of(Some("error"));

        assert!(quiet.would_enable("lambda_runtime::layers::trace", &Level::INFO));
        assert!(!quiet.would_enable("minutehand_executor", &Level::WARN));
    }
}
