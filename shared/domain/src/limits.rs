//! Everything has a limit: its name says the unit, its comment the reason.

use std::time::Duration;

/// A name is read by people in lists; more than a line of it helps nobody.
pub const NAME_CHARS: usize = 200;
/// `owner` and each tag are words to filter by.
pub const WORD_CHARS: usize = 64;
/// Tags live in the job's item, which stays under 1 KB.
pub const TAGS: usize = 20;
/// What SQS and `EventBridge` would carry (256 KiB), so that every target can be given every payload.
pub const PAYLOAD_BYTES: usize = 256 * 1024;
/// A payload beyond this is an item of its own, so that the job's item stays under 1 KB on the hot path.
pub const INLINE_PAYLOAD_BYTES: usize = 512;
/// What is kept of a target's answer.
pub const RESULT_BYTES: usize = 64 * 1024;
/// A result beyond this is an item of its own, so that the run's item stays under 1 KB.
pub const INLINE_RESULT_BYTES: usize = 512;
/// What is kept of an error's message: three attempts with one each still fit a run's item.
pub const ERROR_CHARS: usize = 160;
/// Lambda ends an invocation at 900 s; the claim, the record and a margin need the rest.
pub const TIMEOUT_SECONDS: u64 = 840;
pub const DEFAULT_TIMEOUT_SECONDS: u64 = 60;
/// 2,048 is what common HTTP servers and proxies accept.
pub const URL_CHARS: usize = 2048;
pub const HEADERS: usize = 32;
pub const HEADER_BYTES: usize = 4096;
/// As the header of the same name: long enough for any client's scheme, short enough for an item.
pub const IDEMPOTENCY_KEY_CHARS: usize = 255;
/// `max_fires` is walked once into a last instant; this bounds the walk to milliseconds.
pub const MAX_FIRES: u32 = 10_000;
/// The longest `after_seconds` and `every_seconds`: a hundred years, so that sums stay inside `Moment`.
pub const SPAN_SECONDS: u64 = 3_155_760_000;
/// What is spread further than a day has another time of day than it says.
pub const JITTER_SECONDS: u32 = 86_400;
/// `at` this far in the past still means now: a client's slow clock or network is not an error.
pub const PAST_GRACE: Duration = Duration::from_secs(60);
/// Retries a policy may ask for; with the longest backoff that is four days of trying.
pub const RETRIES: u16 = 100;
/// The longest wait between two attempts, whatever the policy or a `Retry-After` says.
pub const BACKOFF_SECONDS: u64 = 86_400;
/// The newest attempts that stand inside the run; an older one is an item of its own.
pub const ATTEMPTS_INSIDE: usize = 3;
/// This many leases lost in a row are no accident: the run kills its executors.
pub const LOST_IN_A_ROW: u8 = 3;
/// Occurrences counted one by one when a catch-up coalesces them; beyond it the count says "at least".
pub const COALESCE_COUNT: u64 = 100_000;
/// The window of a catch-up: at least what the longest hold of a hint needs, at most what an operator may need to notice.
pub const LEAST_CATCH_UP_WINDOW_SECONDS: u64 = 60;
pub const CATCH_UP_WINDOW_SECONDS: u64 = 30 * 86_400;
/// A day: what a night or a holiday left undone is still wanted, what is older is another day's.
pub const DEFAULT_CATCH_UP_WINDOW_SECONDS: u64 = 86_400;
/// Runs that one catch-up makes up for: all of them are hinted by one look.
pub const CATCH_UP_RUNS: u32 = 1000;
pub const DEFAULT_CATCH_UP_RUNS: u32 = 100;
/// Previews are for eyes.
pub const PREVIEW_FIRES: usize = 1000;
/// A page of any list.
pub const PAGE: usize = 1000;
/// Jobs in one batch, and the bytes that bring them: what a function's invocation can be given, with room to spare.
pub const BATCH_JOBS: usize = 1000;
pub const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The longest that a former secret goes on working after a rotation: a week, for whoever deploys weekly.
pub const GRACE_SECONDS: u64 = 7 * 86_400;
pub const DEFAULT_GRACE_SECONDS: u64 = 3_600;
