//! The registry of metrics: what is measured, by which name, in which unit, and by which small words it is told apart.
//!
//! Prometheus' text ([`series`]), the embedded metric format of functions ([`document`]) and docs/metrics.md are made from it. Labels are
//! words of a bounded list, never jobs or tenants: ten thousand jobs make no more series than one.

pub mod document;
pub mod measured;
#[cfg(feature = "metrics")]
pub mod series;

/// A thing that is measured.
#[derive(Debug)]
pub struct Metric {
    /// As Prometheus has it; a counter ends in `_total`, a span of time in `_seconds`.
    pub name: &'static str,
    pub kind: Kind,
    pub labels: &'static [&'static str],
    /// Of a single label, those words of which a series stands from the start, at 0: so that the first one can be seen to come.
    pub from_start: &'static [&'static str],
    pub help: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Counter,
    Gauge,
    /// Of seconds, with the upper bounds of its buckets.
    Seconds(&'static [f64]),
}

/// The promise is one second.
const LAGS: &[f64] = &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0, 30.0, 300.0, 3600.0];
/// A look measures a wait for workers from half a minute on.
const WAITS: &[f64] = &[30.0, 60.0, 180.0, 300.0, 900.0, 3600.0];
/// Workers, and targets that have taken a run on, may have it for days.
const HOLDS: &[f64] = &[0.1, 1.0, 10.0, 60.0, 300.0, 900.0, 3600.0, 14_400.0, 86_400.0];
/// A call lasts up to fourteen minutes.
const CALLS: &[f64] = &[0.005, 0.01, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0, 60.0, 300.0, 840.0];
/// Passes are a minute apart on AWS and a second in one process.
const AGES: &[f64] = &[1.0, 2.5, 10.0, 30.0, 61.0, 90.0, 120.0, 300.0, 3600.0];
const REQUESTS: &[f64] = &[0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.25, 1.0, 10.0];

const ENDS: &[&str] = &["succeeded", "failed", "timed_out", "cancelled", "skipped"];
const REASONS: &[&str] = &[
    "coalesced",
    "missed",
    "paused",
    "cancelled",
    "superseded",
    "abandoned",
    "upstream",
    "condition",
    "overlap",
    "calendar",
    "dst_gap",
    "cycle",
    "vetoed",
    "cooldown",
];
const LAYERS: &[&str] = &["idempotency_key", "claim", "fence", "effect"];
const PRIORITIES: &[&str] = &["critical", "high", "normal", "low"];
const WHYS: &[&str] = &["later", "corrupt"];
const SIGNALS: &[&str] = &["traces", "metrics", "events"];
const QUOTAS: &[&str] = &["requests", "connections", "bodies", "runs", "jobs", "fires", "unknown_keys"];

/// A table of metrics, as constants that measuring code names and a list that everything is made from.
macro_rules! metrics {
    ($($(#[$doc:meta])* $constant:ident: $name:literal, $kind:expr, [$($label:literal),*] $(from $words:expr)?, $help:literal;)+) => {
        $(pub static $constant: Metric = Metric { name: $name, kind: $kind, labels: &[$($label),*], from_start: metrics!(@words $($words)?), help: $help };)+

        pub static ALL: &[&Metric] = &[$(&$constant),+];
    };
    (@words) => { &[] };
    (@words $words:expr) => { $words };
}

metrics! {
    JOB_CHANGES: "minutehand_job_changes_total", Kind::Counter, ["what"], "Jobs created and changed, by what was done.";
    RUNS: "minutehand_runs_total", Kind::Counter, ["status"] from ENDS, "Runs that ended, by the status they ended in; tasks and callbacks too, messages of notifications apart.";
    SKIPPED: "minutehand_skipped_total", Kind::Counter, ["reason"] from REASONS,
        "Fires that did not happen, by why; as many as their record says that it stands for. Of `missed` there should be none.";
    ATTEMPTS: "minutehand_attempts_total", Kind::Counter, [], "Attempts that were started, without those of notifications.";
    RETRIES: "minutehand_retries_total", Kind::Counter, ["error", "attempt"],
        "Attempts after which another was due, by what they died of and by their number (`4` is the fourth or a later one). `lost`: their lease ran out, or was handed back; `other`: a code of a target or a worker.";
    START_LAG: "minutehand_run_lag_seconds", Kind::Seconds(LAGS), ["priority"] from PRIORITIES,
        "From when a run was due until somebody came to it: it began, was offered to the workers of its pool, or has to wait for a place or for its turn; and from that turn on anew. Without what was not to begin at once: tasks, callbacks, what is resumed, and what an operation asked for.";
    START_LAG_STAGES: "minutehand_run_lag_stage_seconds", Kind::Seconds(LAGS), ["stage"],
        "Of the same runs, where a target was called: `dispatch` until its hint was sent; `claim` until it was claimed; `call` until its target was called, the hook before it included. And `take`: until a worker took it.";
    CALLS_MADE: "minutehand_call_seconds", Kind::Seconds(CALLS), ["target", "outcome"], "How long calls of targets took, by the kind of target and how they went.";
    ATTEMPTS_HELD: "minutehand_attempt_seconds", Kind::Seconds(HOLDS), ["target", "outcome"],
        "How long attempts took that are no call to be waited for, by how they ended: those of workers (`worker`), and of targets that had taken the run on (`taken_on`).";
    PREVENTED: "minutehand_duplicates_prevented_total", Kind::Counter, ["layer"] from LAYERS,
        "What would have been done twice and was not, by what prevented that: the idempotency key of a request, the claim of a run, the fence of an attempt, the ledger of effects.";
    EFFECTS_PREVENTED: "minutehand_effects_prevented_total", Kind::Counter, [], "Effects of runs that somebody was about to make again, and was told of instead.";
    LEASES_RESCUED: "minutehand_leases_rescued_total", Kind::Counter, [], "Attempts whose lease ran out or was handed back, and that somebody else took up.";
    HEARTBEATS_LOST: "minutehand_heartbeats_lost_total", Kind::Counter, [],
        "Leases of workers, and of targets that had taken a run on, which ran out without a sign of life; of `minutehand_retries_total` the part whose holders live elsewhere.";
    WORKER_WAITS: "minutehand_worker_wait_seconds", Kind::Seconds(WAITS), ["priority"] from PRIORITIES,
        "For how long runs had waited for a worker, though one of their pool was alive that takes their handler: of those that were found waiting for half a minute or longer; each again a minute later, and two, four, up to sixty. What fires in the stead of others has waited since the first of them.";
    UNATTENDED: "minutehand_unattended_seconds", Kind::Seconds(WAITS), ["priority"] from PRIORITIES,
        "At the same looks, where no worker of their pool was alive that takes their handler: for how long none was heard of, while they waited.";
    GIVEN_BACK: "minutehand_hints_given_back_total", Kind::Counter, [],
        "Hints that an executor could not carry out, as the table, or what their calls need, could not be reached; they come again.";
    SLA_MISSED: "minutehand_sla_missed_total", Kind::Counter, [], "Runs found not to have ended by when their job says that they are to have.";
    DEAD_LETTERS: "minutehand_dead_letters_total", Kind::Counter, [], "Runs that came to nothing for good, and are letters until somebody sees to them.";
    OLDEST_LETTER: "minutehand_dead_letters_oldest_seconds", Kind::Gauge, [],
        "How long ago the instant of the oldest run was that came to nothing for good and that nobody has seen to; 0 where there is none. Of a process; on AWS of each minute's sweep.";
    STALLS: "minutehand_workflow_stalls_total", Kind::Counter, [], "Runs of workflows found without progress, nothing under way and nothing awaited.";
    NOTIFICATIONS: "minutehand_notifications_total", Kind::Counter, ["status"] from ENDS, "Messages of notifications, by the status they ended in.";
    SWEEP_AGE: "minutehand_sweep_age_seconds", Kind::Seconds(AGES), [],
        "How long after the last pass over a shard that came to its end began the next one did. On AWS a minute where nothing is wrong, and nothing at all where nobody sweeps; with the embedded store as long as nothing was due.";
    SWEEPS_FAILED: "minutehand_sweeps_failed_total", Kind::Counter, [],
        "Sweeps that left something undone, as a shard failed, or the search for timers: it waits for the next one.";
    UNREADABLE: "minutehand_unreadable_items_total", Kind::Counter, ["why"] from WHYS,
        "Items that passes of the sweep met and cannot read, once for each pass: a later release wrote them (`later`, each minute), or nobody can read them (`corrupt`, once an hour).";
    SWITCH_PUSHES: "minutehand_switch_pushes_total", Kind::Counter, ["outcome"],
        "Passes that ended well, by what they did with the dead man's switch: it was `pushed`, had been a moment before (`recent`), is turned `off`, or could not be pushed (`failed`). On AWS.";
    SWITCH_FIRED: "minutehand_switch_fired_total", Kind::Counter, [],
        "Sweeps that the dead man's switch asked for, since for minutes no pass had ended well. On AWS; where no function starts, only the metrics of its group of schedules say so.";
    LANE_HINTS: "minutehand_lane_hints", Kind::Gauge, ["priority", "state"], "Hints in the queues, by priority: they can be taken (`ready`), later (`delayed`), or are taken (`in_flight`). Of a process with the embedded store.";
    LANE_OLDEST: "minutehand_lane_oldest_seconds", Kind::Gauge, ["priority"],
        "For how long the hint that has waited longest can be taken. Of a process with the embedded store; on AWS it is the queues' `ApproximateAgeOfOldestMessage`.";
    SWEEP_STANDS: "minutehand_sweep_stands_seconds", Kind::Gauge, [],
        "For how long the first timer that is overdue has been left where it is, as scrapes have seen it, and 0 where none is overdue: what has been looked at has moved or is gone. Of a process with the embedded store.";
    WORKERS: "minutehand_workers", Kind::Gauge, ["status"], "Workers that this process has heard of, by whether they are alive. Of a process.";
    WORKER_SLOTS: "minutehand_worker_slots", Kind::Gauge, ["state"],
        "Of those alive: how many runs they say that they carry out at a time, `all`, and how many they have, `held`. Of a process.";
    JOB_LAST_SUCCESS: "minutehand_job_last_success_seconds", Kind::Gauge, ["watched"],
        "Of the jobs that are watched one by one (`--watch-job`), each under its name there, as a scrape has a label `job` of its own: when a run of it last succeeded, in seconds since 1970; none where none of its newest hundred runs did. Of a process.";
    JOB_OVERDUE: "minutehand_job_overdue_seconds", Kind::Gauge, ["watched"],
        "Of the same jobs: for how long the run that is to begin next is overdue, 0 where none is. Of a process.";
    QUOTA_REFUSALS: "minutehand_quota_refusals_total", Kind::Counter, ["quota"] from QUOTAS,
        "Requests refused with 429, by what there was too much of; `unknown_keys`: of one address, in requests with keys that nobody knows.";
    TELEMETRY_DROPPED: "minutehand_telemetry_dropped_total", Kind::Counter, ["signal"] from SIGNALS,
        "What was to be exported by OTLP and was not: spans (`traces`) and data points (`metrics`), as the collector was away, slow or refused them, or the queue was full, where it was built with `otel` and is told where to export to; of a function also measurements of an invocation that a line for CloudWatch has no room for (`metrics`); and on AWS what never reached the bus of events (`events`), as it refused that twice, did not answer in time, or too much waited for it. Else 0.";
    ARCHIVED: "minutehand_archived_runs_total", Kind::Counter, ["outcome"],
        "Expired runs that were put into the archive: as the API showed them (`archived`), on AWS without what lay beneath them (`partial`) or as they lay (`unreadable`), where nobody could read that; and of a process those that could not be written and stay in the store (`refused`), at each try. Where there is an archive.";
    STORE_ITEMS: "minutehand_store_items_total", Kind::Counter, ["what"],
        "Items read and written; met and left because a later release wrote them, or because they are corrupt; commits that made them durable. Of a process with the embedded store.";
    STORE_UNITS: "minutehand_store_units_total", Kind::Counter, ["what"],
        "Capacity units of DynamoDB: `read` and `write`, those of the indexes too. By its own word, but for refused writes, of which it gives none. On AWS.";
    THROTTLES: "minutehand_store_throttles_total", Kind::Counter, [],
        "Requests that DynamoDB refused, after the tries of the SDK, since a table or a partition was asked for more than it gives. On AWS.";
    REQUESTS_ANSWERED: "minutehand_http_requests_total", Kind::Counter, ["method", "route", "status"], "Requests answered, by route and status. Of a process.";
    REQUEST_SECONDS: "minutehand_http_request_seconds", Kind::Seconds(REQUESTS), ["method", "route"], "How long requests took, by route. Of a process.";
}

/// Those that a host measures into what it is given; others are read, or counted where they are.
pub static MEASURED: &[&Metric] = &[
    &JOB_CHANGES,
    &RUNS,
    &SKIPPED,
    &ATTEMPTS,
    &RETRIES,
    &START_LAG,
    &START_LAG_STAGES,
    &CALLS_MADE,
    &ATTEMPTS_HELD,
    &PREVENTED,
    &EFFECTS_PREVENTED,
    &LEASES_RESCUED,
    &HEARTBEATS_LOST,
    &WORKER_WAITS,
    &UNATTENDED,
    &GIVEN_BACK,
    &QUOTA_REFUSALS,
    &SLA_MISSED,
    &DEAD_LETTERS,
    &STALLS,
    &SWEEP_AGE,
    &SWEEPS_FAILED,
    &UNREADABLE,
    &SWITCH_PUSHES,
    &SWITCH_FIRED,
    &ARCHIVED,
    &STORE_UNITS,
    &THROTTLES,
    &NOTIFICATIONS,
    &TELEMETRY_DROPPED,
];

/// Where measurements go.
pub trait Measure: Send + Sync + 'static {
    /// Of a counter it is added, of a span of time it is one more of them. `words` are those of the metric's labels, in their order.
    fn add(&self, metric: &'static Metric, words: &[&str], value: f64);
}

/// Nobody measures.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unmeasured;

impl Measure for Unmeasured {
    fn add(&self, _metric: &'static Metric, _words: &[&str], _value: f64) {}
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn each_metric_has_a_name_of_its_own_that_says_its_unit() {
        let names: BTreeSet<&str> = ALL.iter().map(|metric| metric.name).collect();
        assert_eq!(names.len(), ALL.len());
        for metric in ALL {
            let Metric { name, kind, labels, help, .. } = metric;
            let rest = name.strip_prefix("minutehand_").unwrap_or_else(|| panic!("{name} is not ours"));
            assert!(rest.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'_'), "{name}");
            assert_eq!(*kind == Kind::Counter, name.ends_with("_total"), "{name}");
            assert!(!matches!(kind, Kind::Seconds(_)) || name.ends_with("_seconds"), "{name}");
            assert!(metric.from_start.is_empty() || labels.len() == 1, "{name}");
            assert!(help.ends_with('.') && !help.contains('|'), "{name}: {help}");
            if let Kind::Seconds(bounds) = kind {
                assert!(bounds.is_sorted() && bounds.len() <= 16, "{name}");
            }
        }
    }

    /// Removed: one of `MEASURED`. What a host measured of it was passed over without a word.
    #[test]
    fn what_is_no_gauge_is_measured_by_a_host_or_counted_where_it_is() {
        let by_hosts: BTreeSet<&str> = MEASURED.iter().map(|metric| metric.name).collect();
        let others = ALL.iter().filter(|metric| metric.kind != Kind::Gauge && !by_hosts.contains(metric.name));
        let others: Vec<&str> = others.map(|metric| metric.name).collect();
        let elsewhere = [&STORE_ITEMS, &REQUESTS_ANSWERED, &REQUEST_SECONDS];
        assert_eq!(others, elsewhere.map(|metric| metric.name));
    }

    const DOCS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs");
    const MARKS: [&str; 2] =
        ["<!-- metrics: MINUTEHAND_UPDATE_DOCS=1 cargo test -p minutehand-io metrics -->\n", "<!-- /metrics -->\n"];

    fn table() -> String {
        let row = |metric: &&Metric| {
            let Metric { name, kind, labels, help, .. } = metric;
            let kind = match kind {
                Kind::Counter => "counter",
                Kind::Gauge => "gauge",
                Kind::Seconds(_) => "histogram",
            };
            let labels: Vec<String> = labels.iter().map(|label| format!("`{label}`")).collect();
            format!("| `{name}` | {kind} | {} | {help} |\n", labels.join(", "))
        };
        "| name | kind | labels | what |\n|---|---|---|---|\n".to_owned() + &ALL.iter().map(row).collect::<String>()
    }

    #[test]
    fn the_page_has_the_table() {
        let path = format!("{DOCS}/metrics.md");
        let page = std::fs::read_to_string(&path).expect("a page");
        let [begin, end] = MARKS;
        let (head, rest) = page.split_once(begin).expect("where the table begins");
        let (_, tail) = rest.split_once(end).expect("where the table ends");
        let wanted = [head, begin, &table(), end, tail].concat();
        if std::env::var_os("MINUTEHAND_UPDATE_DOCS").is_some() {
            std::fs::write(&path, &wanted).expect("a page that can be written");
        }
        assert!(
            page == wanted || std::env::var_os("MINUTEHAND_UPDATE_DOCS").is_some(),
            "docs/metrics.md is another:\n{wanted}"
        );
    }

    /// What the documents tell an operator to look at is there.
    #[test]
    fn the_documents_name_no_other_metric() {
        let pages = std::fs::read_dir(DOCS).expect("a folder").map(|entry| entry.expect("a page").path());
        let mut named = 0;
        for path in pages.filter(|path| path.extension().is_some_and(|extension| extension == "md")) {
            let text = std::fs::read_to_string(&path).expect("a text");
            let words = text.split(|letter: char| !letter.is_ascii_lowercase() && letter != '_');
            for word in words.filter(|word| word.starts_with("minutehand_") && is_of_a_metric(word)) {
                assert!(ALL.iter().any(|metric| metric.name == word), "{}: {word}", path.display());
                named += 1;
            }
        }
        assert!(named > ALL.len(), "{named}");
    }

    fn is_of_a_metric(word: &str) -> bool {
        ["_total", "_seconds", "_hints", "_workers", "_slots"].iter().any(|end| word.ends_with(end))
    }

    /// Tenants and jobs are many, and make series that nobody can pay.
    #[test]
    fn no_label_is_of_something_that_users_make() {
        let small = BTreeSet::from([
            "what", "status", "reason", "error", "attempt", "priority", "stage", "target", "outcome", "layer", "state",
            "method", "route", "quota", "signal", "why",
        ]);
        // The few that an operator names.
        for metric in ALL.iter().filter(|metric| metric.labels != ["watched"]) {
            assert!(metric.labels.iter().all(|label| small.contains(label)), "{}", metric.name);
        }
    }
}
