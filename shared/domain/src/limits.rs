//! The limits: each name has the unit, each comment the reason.

use std::time::Duration;

/// People read names in lists; more than a line is no help.
pub const NAME_CHARS: usize = 200;
/// `owner` and each tag are words to filter by.
pub const WORD_CHARS: usize = 64;
/// What the runs of several jobs share a limit by: a name such as a host's, with room for what stands before it.
pub const LIMIT_KEY_CHARS: usize = 128;
/// Attempts of one key in a minute: a thousand a second is what one item of the table can be written.
pub const RATE_PER_MINUTE: u64 = 60_000;
/// Tags live in the job's item, which stays under 1 KB.
pub const TAGS: usize = 20;
/// The limit of SQS and `EventBridge` (256 KiB), so that every target can receive every payload.
pub const PAYLOAD_BYTES: usize = 256 * 1024;
/// SNS, `EventBridge` and Step Functions count what says which run it is within their 256 KiB; and quotes of JSON inside JSON are counted
/// as they are received.
pub const SERVICE_PAYLOAD_BYTES: usize = PAYLOAD_BYTES - 4 * 1024;
/// The overrides of a task in ECS have 8,192 characters, what says which run it is among them.
pub const ECS_PAYLOAD_BYTES: usize = 7 * 1024;
/// What the type of an event may have as its text.
pub const DETAIL_TYPE_CHARS: usize = 128;
/// A payload beyond this is an item of its own, so that the job's item stays under 1 KB on the hot path.
pub const INLINE_PAYLOAD_BYTES: usize = 512;
/// The part of a target's answer that is kept: what one task answers with is the next one's payload, or its list.
pub const RESULT_BYTES: usize = PAYLOAD_BYTES;
/// A result beyond this is an item of its own, so that the run's item stays under 1 KB.
pub const INLINE_RESULT_BYTES: usize = 512;
/// The part of an error's message that is kept: three attempts with one each still fit a run's item.
pub const ERROR_CHARS: usize = 160;
/// Lambda ends an invocation at 900 s; the claim, the record and a margin need the rest.
pub const TIMEOUT_SECONDS: u64 = 840;
/// How long a try at a callback may take: whoever is told answers, and does what follows from it afterwards.
pub const CALLBACK_SECONDS: u64 = 30;
/// How long whoever is asked before a call may take: it holds a place of an executor that could call.
pub const HOOK_SECONDS: u64 = 30;
pub const DEFAULT_HOOK_SECONDS: u64 = 10;
pub const DEFAULT_TIMEOUT_SECONDS: u64 = 60;
/// How long after it was due a run is to have ended, where its job says that it is to have.
pub const SLA_SECONDS: u64 = 30 * 86_400;
/// The phases of an HTTP call: longer than a minute no connection is waited for.
pub const CONNECT_SECONDS: u64 = 60;
pub const DEFAULT_CONNECT_SECONDS: u64 = 10;
/// A run that a worker carries out may take a week: its lease is short, and is kept by heartbeats.
pub const WORKER_SECONDS: u64 = 7 * 86_400;
/// A lease of a worker: short enough that a dead one is noticed, long enough that a heartbeat at a third of it costs little.
pub const LEAST_LEASE_SECONDS: u64 = 3;
pub const LEASE_SECONDS: u64 = 3600;
pub const DEFAULT_LEASE_SECONDS: u64 = 60;
/// Leases that one request asks for, and completions in one: each is a read and a write.
pub const LEASES_AT_ONCE: usize = 100;
/// How long a request for leases waits: API Gateway ends one at 30 s.
pub const POLL_SECONDS: u64 = 20;
pub const DEFAULT_POLL_SECONDS: u64 = 5;
/// Handlers that one worker names.
pub const HANDLERS: usize = 100;
/// Pools that one key may work for, and runs that one worker may say it carries out at a time.
pub const KEY_POOLS: usize = 100;
pub const SLOTS: u64 = 1_000;
/// What a worker is doing, in its own words: a line of a list.
pub const STAGE_CHARS: usize = 128;
/// What a worker keeps for the next holder: as a payload, which it could have been.
pub const CHECKPOINT_BYTES: usize = PAYLOAD_BYTES;
/// What a run calls one of its effects; and what is said of what came of it.
pub const EFFECT_CHARS: usize = 128;
pub const OUTCOME_BYTES: usize = 16 * 1024;
/// A run's log, whose oldest lines go first; and what one heartbeat adds to it at most.
pub const LOG_BYTES: u32 = 1 << 20;
pub const LOG_LINES: usize = 100;
pub const LOG_LINE_BYTES: usize = 2_048;
/// Answers under leases that were over: enough to see what goes on.
pub const LATE_ANSWERS: usize = 8;
/// An invocation that holds several hints is free when the slowest call has ended: one that may take longer than this travels apart.
pub const SHORT_CALL_SECONDS: u64 = 60;
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
/// With more than a day of jitter, an occurrence would lose its day.
pub const JITTER_SECONDS: u32 = 86_400;
/// `at` this far in the past still means now: a client's slow clock or network is not an error.
pub const PAST_GRACE: Duration = Duration::from_secs(60);
/// Retries a policy may ask for; with the longest backoff that is four days of trying.
pub const RETRIES: u16 = 100;
/// The longest wait between two attempts, whatever the policy or a `Retry-After` says.
pub const BACKOFF_SECONDS: u64 = 86_400;
/// The newest attempts are inside the run; an older one is an item of its own.
pub const ATTEMPTS_INSIDE: usize = 3;
/// This many leases lost in a row are no coincidence: the run kills its executors.
pub const LOST_IN_A_ROW: u8 = 3;
/// Occurrences counted one by one when a catch-up coalesces them; beyond it the count is a lower bound.
pub const COALESCE_COUNT: u64 = 100_000;
/// The bounds of a catch-up's window: at least the longest hold of a hint, at most the time an operator needs to notice.
pub const LEAST_CATCH_UP_WINDOW_SECONDS: u64 = 60;
pub const CATCH_UP_WINDOW_SECONDS: u64 = 30 * 86_400;
/// A day: occurrences missed in a night or a holiday are still wanted, older ones belong to another day.
pub const DEFAULT_CATCH_UP_WINDOW_SECONDS: u64 = 86_400;
/// Runs of one catch-up: one inspection hints all of them.
pub const CATCH_UP_RUNS: u32 = 1000;
pub const DEFAULT_CATCH_UP_RUNS: u32 = 100;
/// What is made up for in a minute, all jobs of a tenant together, where its quota says nothing: ten a second are few beside what is due, and
/// make up for ten thousand schedules in less than twenty minutes.
pub const DEFAULT_CATCH_UP_PER_MINUTE: u32 = 600;
/// People read previews.
pub const PREVIEW_FIRES: usize = 1000;
/// A page of any list.
pub const PAGE: usize = 1000;
/// The newest runs that a job's health is made of: one query. A job that fires each minute shows its last hour and a half.
pub const HEALTH_RUNS: usize = 100;
/// The hours of a day, the one under way among them.
pub const HEALTH_HOURS: u32 = 24;
/// Ends that one answer reads on, at most: a day of one that ends each second, and some.
pub const HEALTH_ENDS: usize = 100_000;
/// And of those the outcomes that are shown: a row of marks that fits a line.
pub const HEALTH_OUTCOMES: usize = 30;
/// Of one job in a forecast, for those that fire often leave room for the others. Unless somebody says: an hourly job's day.
pub const FORECAST_FIRES_OF_A_JOB: usize = 100;
pub const DEFAULT_FORECAST_FIRES_OF_A_JOB: usize = 24;
/// The longest forecast, a week, and one whose end nobody says.
pub const FORECAST_SECONDS: u64 = 7 * 86_400;
pub const DEFAULT_FORECAST_SECONDS: u64 = 86_400;
/// Jobs in one batch, and its bytes: a function's invocation accepts this much, with a margin.
pub const BATCH_JOBS: usize = 1000;
pub const BATCH_BYTES: usize = 4 * 1024 * 1024;
/// The longest that a former secret is accepted after a rotation: a week, for teams that deploy weekly.
pub const GRACE_SECONDS: u64 = 7 * 86_400;
pub const DEFAULT_GRACE_SECONDS: u64 = 3_600;
/// The largest value of a secret: what KMS seals in one request. A private key fits, a bundle of certificates does not.
pub const SECRET_BYTES: usize = 4096;
/// The secrets that one call may name: each may be a read and a request to KMS before it.
pub const SECRETS_OF_A_CALL: usize = 16;
/// How long an act of an admin stands on record: a year, and time to look at it.
pub const AUDIT_DAYS: u64 = 400;
/// For how many days what is over can be kept: ten years, which is as long as anybody is asked to keep such things.
pub const RETENTION_DAYS: u16 = 3650;
pub const DEFAULT_RETENTION_DAYS: u16 = 30;
/// Tasks of one workflow, those of `finally` among them: a graph of more is made of several.
pub const TASKS: usize = 1000;
/// A definition, as its JSON is sent. It is stored in pieces.
pub const DEFINITION_BYTES: usize = 1024 * 1024;
/// The schema of a workflow's parameters, compiled with each definition that is read: a list of some thousand words fits.
pub const PARAMS_SCHEMA_BYTES: usize = 128 * 1024;
/// Patterns in it that differ.
pub const SCHEMA_PATTERNS: usize = 100;
/// One of them, compiled: an IPv6 address takes 54 KiB, two words of any alphabet 90, and one that needs more counts what `maxLength` counts.
pub const PATTERN_BYTES: usize = 256 * 1024;
/// How deep its schemas lie in each other, with what they refer to: what is compiled of each says the way to it.
pub const SCHEMA_DEPTH: usize = 100;
/// Schemas at values that are looked at to see whether parameters are right: each takes up to a microsecond, and 400 bytes where it is not.
pub const PARAMS_LOOKS: u64 = 250_000;
/// Branches of one `for_each`: each is a run of its own, with its record.
pub const BRANCHES: usize = 10_000;
/// Runs of tasks in one run of a workflow; what operators try again does not count.
pub const TASK_RUNS: usize = 12_000;
/// And in all of the workflows below it, of which each has its share: lists in lists would multiply without a bound. Ten thousand branches
/// of a workflow of 25 tasks.
pub const WHOLE_TASK_RUNS: usize = 250_000;
/// A condition is a line or two: what needs more is a task.
pub const EXPRESSION_CHARS: usize = 2000;
/// Places of a pattern in one, each as often as it is repeated: each byte of a text may be held against all of them.
pub const PATTERN_PLACES: u64 = 5_000;
/// How deep workflows may call workflows.
pub const WORKFLOW_DEPTH: u8 = 8;
/// How long a run of a workflow, or an approval in one, may take at most, and where nobody says.
pub const WORKFLOW_SECONDS: u64 = 30 * 86_400;
pub const DEFAULT_WORKFLOW_SECONDS: u64 = 86_400;
pub const DEFAULT_APPROVAL_SECONDS: u64 = 86_400;
pub const DEFAULT_FINALLY_SECONDS: u64 = 3600;
/// Runs of one workflow, or of one key, at once, where that is limited at all.
pub const CONCURRENT_RUNS: u32 = 1000;
/// Runs of a job that wait for the one before.
pub const QUEUED_RUNS: u32 = 100;
/// Jobs that follow one job. Each of its runs pins who they are, and with eight of them it stays near 1 KB; who needs more has a workflow.
pub const FOLLOWERS: usize = 16;
/// Runs one behind the other, each the follower of the one before: where a cycle was closed it ends there.
pub const FOLLOW_DEPTH: u8 = 16;
/// A note that somebody leaves with an act: a paragraph, inside the record of a run or a job.
pub const NOTE_CHARS: usize = 1_000;
/// Remarks that stand inside a run, the newest: notes of cancels, stalls that were noticed, what became of its failure.
pub const REMARKS: usize = 4;
/// Calendars of one tenant: a page shows them all.
pub const CALENDARS: usize = 100;
/// Calendars that one job heeds: each is asked for each instant, and each is a read where a process does not know it yet.
pub const CALENDARS_OF_A_JOB: usize = 8;
/// Schedules before today's that a job remembers where they differ in the versions of its calendars alone: an operator may have to correct a
/// maintenance window several times while nothing runs, and each is as large as the job's schedule.
pub const VERSIONS_REMEMBERED: usize = 8;
/// Dates of one calendar: the holidays of twenty countries, or of one in as many years.
pub const CALENDAR_DATES: usize = 500;
/// Times of the week of one calendar, of either kind.
pub const CALENDAR_TIMES: usize = 32;
/// An instant as people write it, with or without an offset: `2027-01-15T22:00:00.000+01:00`.
pub const LOCAL_INSTANT_CHARS: usize = 40;
/// Maintenance windows of one calendar; those that have passed may be left out.
pub const CALENDAR_MAINTENANCE: usize = 100;
/// A reason stands in the record of what did not fire: a few words.
pub const REASON_CHARS: usize = 100;
/// What an .ics file may have; a year of public holidays has 10 KB.
pub const ICS_BYTES: usize = 128 * 1024;
/// How often calendars are asked before a walk to the next instant gives up: then the schedule has none left. Each takes some
/// microseconds; a schedule that needs so many is one that its calendars leave nothing.
pub const CALENDAR_STEPS: u32 = 4_000;
/// And for one request that shows many instants.
pub const CALENDAR_STEPS_OF_A_REQUEST: u32 = 20_000;
/// Fires in a row that one record counts of what a calendar took; the next record counts on.
pub const TAKEN_COUNT: u64 = 10_000;
/// How far ahead a dry run of a calendar looks, and how many fires it looks at of one job and jobs it looks at in all.
pub const DRY_RUN_SECONDS: u64 = 30 * 86_400;
pub const DRY_RUN_FIRES: usize = 500;
pub const DRY_RUN_JOBS: usize = 1_000;
pub const DRY_RUN_SAMPLE: usize = 20;
/// Dead letters that one request is about: each is a few writes, and all of them are done within its time.
pub const LETTERS_AT_ONCE: usize = 100;
/// Dead letters that are read to group them: within a second or two on AWS.
pub const LETTERS_GROUPED: usize = 5_000;
/// How far back dead letters are looked for unless somebody says: a month, for nothing takes them off the list but people.
pub const LETTERS_SECONDS: u64 = 30 * 86_400;
/// Steps of one JSON patch, and what a pointer in it has: more is another document.
pub const PATCH_STEPS: usize = 100;
pub const POINTER_CHARS: usize = 1_000;
/// How deep lists and objects lie in each other in what comes of a patch: as deep as those that are sent.
pub const JSON_DEPTH: usize = 127;
/// Things that one step of an operation acts on: they stand in its item before it acts, which stays below 8 KB so.
pub const OPERATION_BATCH: usize = 50;
/// Jobs or runs that one step looks at, whether they match or not.
pub const OPERATION_LOOKS: usize = 500;
/// Steps of one look: a thousand things, some seconds of a store that is far away. And of the request that asks for it.
pub const OPERATION_STEPS: usize = 20;
pub const OPERATION_FIRST_STEPS: usize = 3;
/// Of what could not be done so many are told of, with why.
pub const OPERATION_REASONS: usize = 5;
/// Jobs or runs that a dry run looks at, and those of what it would do that it shows.
pub const OPERATION_DRY_LOOKS: usize = 10_000;
pub const OPERATION_SAMPLE: usize = 20;
/// Operations of a tenant that are not over: each is looked at each second or minute.
pub const OPERATIONS_AT_ONCE: usize = 20;
/// Occurrences that one backfill makes up for, and where nobody says how many: counting them takes milliseconds, and making them at
/// `BACKFILL_RUNS_PER_MINUTE` a quarter of an hour.
pub const BACKFILL_RUNS: u32 = 10_000;
pub const DEFAULT_BACKFILL_RUNS: u32 = 1000;
/// Of those so many are shown.
pub const BACKFILL_FIRES_SHOWN: usize = 20;
/// How fast a backfill makes its runs: a tenth of what one machine carries out, so that it floods nobody.
pub const BACKFILL_RUNS_PER_MINUTE: u32 = 600;
/// Runs on record that are counted to say how many occurrences of a span have run: one query.
pub const BACKFILL_COUNTED: usize = 1000;
/// How often an occurrence may be made up for anew after backfills that were cancelled before its run began.
pub const BACKFILL_TURNS: u64 = 16;
/// Rules of notifications of one tenant: all are read together, and each is asked of each end.
pub const NOTIFICATIONS: usize = 20;
/// Jobs, or tags, that one rule names.
pub const NOTIFICATION_JOBS: usize = 100;
/// Failures in a row that a rule may wait for: a bounded query at each end, or a few where most runs before it were skipped.
pub const NOTIFICATION_IN_A_ROW: u16 = 50;
/// The window of a digest: long enough that messages are no flood, at most a day.
pub const LEAST_DIGEST_SECONDS: u64 = 5;
pub const DIGEST_SECONDS: u64 = 86_400;
pub const DEFAULT_DIGEST_SECONDS: u64 = 60;
pub const COOLDOWN_SECONDS: u64 = 86_400;
/// How late a run may begin that nobody is told of, and where a rule does not say.
pub const LATE_SECONDS: u64 = 86_400;
pub const DEFAULT_LATE_SECONDS: u64 = 5;
/// Runs that a message names; of the others it says how many there are.
pub const NOTIFICATION_SAMPLE: usize = 20;
/// A message is received at once or tried again.
pub const NOTIFICATION_TIMEOUT_SECONDS: u64 = 30;
/// Headers of a rule's webhook: an authorization and a few of a gateway's.
pub const NOTIFICATION_HEADERS: usize = 8;
/// What W3C's *Trace Context* lets a `tracestate` have at most, and lets everybody leave out beyond that.
pub const TRACESTATE_BYTES: usize = 512;
pub const TRACESTATE_MEMBERS: usize = 32;
/// Runs that a run's span links to: enough for the tasks before most tasks, and less than what a record has room for.
pub const TRACE_LINKS: usize = 32;
