//! Logs: one JSON object a line on standard output, with its time and, inside an invocation, the request's id; CloudWatch
//! finds its fields by name. `RUST_LOG=minutehand=debug` shows a line for each committed change.

use std::error::Error;
use std::io;
use std::process::ExitCode;

use minutehand_io::events::TRANSITIONS;
use tracing::Level;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::fmt::layer;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

/// Once, before anything is said.
pub fn to_stdout() {
    let filter = filter_of(std::env::var("RUST_LOG").ok().as_deref());
    let lines =
        layer().json().flatten_event(true).with_current_span(true).with_span_list(false).with_writer(io::stdout);
    tracing_subscriber::registry().with(filter).with(lines).init();
}

/// How a process says why it cannot go on.
pub fn last_words(ended: Result<(), Box<dyn Error + Send + Sync>>) -> ExitCode {
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            tracing::error!(%why, "it cannot go on");
            ExitCode::FAILURE
        }
    }
}

/// What is asked for; where that cannot be read, what everybody wants. The span that knows the request's id is always let
/// through, or a warning would not say whose it is. The transitions of runs only where they are named, or where everything is
/// wanted: a log is paid for by its bytes.
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
    fn what_cannot_be_read_logs_as_usual() {
        for wanted in [None, Some(""), Some("minutehand=loudest")] {
            assert_eq!(filter_of(wanted), filter_of(Some("info")));
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
    fn whatever_is_asked_for_the_requests_id_is_known() {
        let quiet = filter_of(Some("error"));

        assert!(quiet.would_enable("lambda_runtime::layers::trace", &Level::INFO));
        assert!(!quiet.would_enable("minutehand_executor", &Level::WARN));
    }
}
