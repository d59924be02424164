//! Patience: waiting for a condition, with a time-out. A test polls rather than sleeps.

use std::future::Future;
use std::io::{self, Write as _};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// The polling interval.
const LOOK: Duration = Duration::from_millis(10);

/// Looks until there is something, for at most `within`.
pub(crate) async fn eventually<T, F: Future<Output = Option<T>>>(
    within: Duration,
    what: &str,
    mut look: impl FnMut() -> F,
) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begin.elapsed() < within, "within {within:?} never: {what}");
        tokio::time::sleep(LOOK).await;
    }
}

/// Waits for an instant of the clock, in tests about the passing of time.
pub(crate) async fn until(millis: i64) {
    tokio::time::sleep(Duration::from_millis(u64::try_from(millis - now()).unwrap_or(0))).await;
}

/// Now, in milliseconds since the epoch.
pub(crate) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock after 1970");
    i64::try_from(since.as_millis()).expect("a clock before the year 292 million")
}

/// Says something that is to be read also where the test passes: the harness keeps what is printed.
pub(crate) fn say(line: &str) {
    writeln!(io::stderr(), "{line}").expect("stderr");
}
