//! A job as its reader sees it.

use std::fmt::Display;
use std::time::Duration;

use minutehand_client::wire::{
    AfterSpec, CallbackSpec, CatchUpSpec, ConcurrencySpec, DayView, DurationView, HooksView, Instant, JobHealthView,
    JobView, ListedJobView, OneJobView, OverlapSpec, RateSpec, RetrySpec, RunStatus, ScheduleSpec, TargetSpec, Word,
};

use super::super::cells::{counted, or_dash, status};
use super::super::instant::{away, long, short};
use super::super::runs::run::in_short;
use super::super::session::Paper;
use super::super::span::{Span, roughly};
use super::super::table::{BAD, Card, Cell, Table};

pub(crate) fn table(jobs: &[ListedJobView], paper: Paper) -> Table {
    let mut table = Table::new(&["JOB", "~NAME", "STATUS", "~SCHEDULE", "~TARGET", "NEXT RUN"]);
    for ListedJobView { job, .. } in jobs {
        table.row(vec![
            Cell::from(&job.job_id),
            or_dash(job.name.as_deref()),
            status(&job.status),
            Cell::from(schedule_words(&job.schedule)),
            Cell::from(target_words(&job.target)),
            or_dash(job.next_run_at.map(|at| away(at.0, paper.now)).as_deref()),
        ]);
    }
    table
}

/// How each has been doing.
pub(crate) fn health_table(jobs: &[ListedJobView], paper: Paper) -> Table {
    let mut table =
        Table::new(&["JOB", "~NAME", "STATUS", "SUCCEEDED", "FAILED IN A ROW", "P95", "LAST SUCCESS", "OVERDUE"]);
    for ListedJobView { job, .. } in jobs {
        let health = job.shown_health();
        let ago = |at: Instant| away(at.0, paper.now);
        let failures = health.map(|health| health.consecutive_failures).filter(|failures| *failures > 0);
        let overdue = health.and_then(|health| health.overdue_since);
        table.row(vec![
            Cell::from(&job.job_id),
            or_dash(job.name.as_deref()),
            status(&job.status),
            or_dash(health.and_then(success_words).as_deref()),
            failures.map_or_else(|| Cell::faint("-"), |failures| Cell::new(failures.to_string(), BAD)),
            or_dash(health.and_then(|health| health.duration_ms).map(|took| took_words(took.p95)).as_deref()),
            or_dash(health.and_then(|health| health.last_success_at).map(ago).as_deref()),
            overdue.map_or_else(|| Cell::faint("-"), |since| Cell::new(ago(since), BAD)),
        ]);
    }
    table
}

pub(crate) fn card(job: &JobView, paper: Paper) -> String {
    card_of(job, paper).draw()
}

pub(crate) fn card_with_run(one: &OneJobView, paper: Paper) -> String {
    let last = one.last_run.as_ref();
    let card = card_of(&one.job, paper)
        .maybe("Last run", last.map(|run| in_short(run, paper.now)))
        .maybe("", last.map(|run| Cell::faint(&run.run_id)));
    one.job.shown_health().into_iter().fold(card, |card, health| with_health(card, health, paper)).draw()
}

fn with_health(card: Card, health: &JobHealthView, paper: Paper) -> Card {
    let failures = u64::try_from(health.consecutive_failures).unwrap_or(u64::MAX);
    let failures = (failures > 0).then(|| Cell::new(format!("{} in a row", counted(failures, "failure")), BAD));
    let overdue = health.overdue_since.map(|since| Cell::new(format!("since {}", long(since.0, paper.now)), BAD));
    card.maybe("Overdue", overdue)
        .maybe("Succeeded", success_words(health))
        .maybe("", failures)
        .maybe("Outcomes", (!health.outcomes.is_empty()).then(|| outcome_marks(health)))
        .maybe("Took", health.duration_ms.map(durations_words))
        .maybe("Last success", health.last_success_at.map(|at| long(at.0, paper.now)))
        .maybe("Last day", health.day.as_ref().map(day_words))
}

fn day_words(DayView { succeeded, failed, timed_out, success_rate, .. }: &DayView) -> String {
    let ended = succeeded + failed + timed_out;
    success_rate.map_or_else(|| "nothing ended".to_owned(), |rate| format!("{} of {ended} succeeded", percent(rate)))
}

/// None where nothing was judged.
fn success_words(health: &JobHealthView) -> Option<String> {
    let rate = health.success_rate?;
    Some(format!("{} of {}", percent(rate), health.judged))
}

/// Rounded down: what is not all of them is not shown as all of them. A whole percent is one, whatever a fraction in base two makes of it.
fn percent(rate: f64) -> String {
    format!("{:.0}%", (100.0 * rate + 0.001).floor())
}

/// A mark for each, the newest first.
fn outcome_marks(health: &JobHealthView) -> String {
    let mark = |outcome: &Word<RunStatus>| match outcome {
        Word::Known(RunStatus::Succeeded) => '✓',
        Word::Known(RunStatus::Failed | RunStatus::TimedOut) => '✗',
        _cancelled_or_skipped => '-',
    };
    let marks: String = health.outcomes.iter().map(mark).collect();
    format!("{marks}  newest first")
}

fn durations_words(DurationView { p50, p95, p99 }: DurationView) -> String {
    format!("p50 {}, p95 {}, p99 {}", took_words(p50), took_words(p95), took_words(p99))
}

fn took_words(millis: u64) -> String {
    roughly(Duration::from_millis(millis))
}

fn card_of(job: &JobView, paper: Paper) -> Card {
    let instant = |at: Instant| long(at.0, paper.now);
    let tags: Vec<&str> = job.tags.iter().map(String::as_str).collect();
    Card::default()
        .with("Job", &job.job_id)
        .maybe("Name", job.name.as_ref())
        .with("Status", status(&job.status))
        .with("Generation", job.generation.to_string())
        .with("Schedule", schedule_words(&job.schedule))
        .maybe("Calendars", calendar_words(&job.schedule))
        .maybe("Catch-up", catch_up_words(&job.catch_up))
        .with("Target", target_words(&job.target))
        .maybe("Headers", header_names(&job.target))
        .maybe("Payload", job.payload.text())
        .with("Priority", job.priority.to_string())
        .with("Timeout", Span(job.timeout_seconds).to_string())
        .with("Retries", retry_words(&job.retry))
        .with("Delivery", job.delivery.to_string())
        .maybe("SLA", job.sla_seconds.map(|seconds| Span(seconds).to_string()))
        .maybe("Kept", job.retention_days.map(|days| format!("{days} days")))
        .maybe("Overlap", job.overlap.as_ref().map(overlap_words))
        .maybe("Told", job.callback.as_ref().map(callback_words))
        .maybe("Hooks", job.hooks.as_ref().map(hook_words))
        .maybe("At once", job.concurrency.as_ref().map(concurrency_words))
        .maybe("A minute", job.rate.as_ref().map(rate_words))
        .maybe("Owner", job.owner.as_ref())
        .maybe("Tags", (!tags.is_empty()).then(|| tags.join(", ")))
        .with("Created", instant(job.created_at))
        .maybe("Changed", (job.updated_at != job.created_at).then(|| instant(job.updated_at)))
        .maybe("Note", job.last_change.as_ref().map(|change| format!("{}: {}", change.by, change.note)))
        .maybe("Next run", job.next_run_at.map(instant))
        .maybe("", job.next_run_id.as_ref().map(Cell::faint))
}

/// One of a later server is known by its name.
pub(crate) fn target_words(target: &TargetSpec) -> String {
    match target {
        TargetSpec::Http(http) => {
            let method = http.method.as_ref().map_or_else(|| "POST".to_owned(), ToString::to_string);
            format!("{method} {}", http.url)
        }
        TargetSpec::Workflow(workflow) => format!("workflow {}", workflow.id),
        TargetSpec::Worker(worker) => format!("worker {} of {}", worker.handler, worker.pool),
        other => match other.alias() {
            Some((kind, alias)) => format!("{} {alias}", kind.as_str()),
            None => other.name().to_owned(),
        },
    }
}

/// A value may be a secret, and stands in `--json` only.
fn header_names(target: &TargetSpec) -> Option<String> {
    let TargetSpec::Http(http) = target else { return None };
    let names: Vec<&str> = http.headers.as_ref()?.keys().map(String::as_str).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

pub(crate) fn schedule_words(schedule: &ScheduleSpec) -> String {
    let clock = [
        unusual(schedule.days.as_ref()).map(|days| format!("days {days}")),
        unusual(schedule.dst_gap.as_ref()).map(|gap| format!("in a gap {gap}")),
        unusual(schedule.dst_overlap.as_ref()).map(|overlap| format!("in an overlap {overlap}")),
    ];
    let bounds = [
        schedule.start_at.map(|at| format!("from {}", short(at.0))),
        schedule.end_at.map(|at| format!("until {}", short(at.0))),
        schedule.max_fires.map(|most| format!("at most {}", counted(most.into(), "time"))),
        schedule.jitter_seconds.map(|most| format!("up to {} later", Span(most.into()))),
    ];
    let words: Vec<String> = [when(schedule)].into_iter().chain(clock.into_iter().chain(bounds).flatten()).collect();
    words.join(", ")
}

/// A word that is not what is meant without one.
fn unusual<T: Default>(word: Option<&Word<T>>) -> Option<String>
where
    Word<T>: PartialEq<T> + Display,
{
    word.filter(|word| **word != T::default()).map(ToString::to_string)
}

fn when(schedule: &ScheduleSpec) -> String {
    let zone = schedule.timezone.as_deref().unwrap_or("UTC");
    let cron = schedule.cron.as_ref().map(|cron| format!("{cron} {zone}"));
    cron.or(schedule.every_seconds.map(|seconds| format!("every {}", Span(seconds))))
        .or(schedule.at.map(|at| format!("once, {}", short(at.0))))
        .or(schedule.after_seconds.map(|seconds| format!("once, {} after creation", Span(seconds))))
        .or(schedule.after.as_ref().map(after_words))
        .or(schedule.on_demand.filter(|&given| given).map(|_| "on demand".to_owned()))
        .unwrap_or_else(|| "once, at creation".to_owned())
}

/// Which it heeds, and what becomes of what they take.
fn calendar_words(schedule: &ScheduleSpec) -> Option<String> {
    let names = schedule.calendars.as_ref()?.join(", ");
    let taken = schedule.on_excluded.as_ref().map_or_else(|| "skip".to_owned(), ToString::to_string);
    Some(format!("{names}: {taken}"))
}

/// Nothing of a job that is made up for as it is without a wish.
fn catch_up_words(catch_up: &CatchUpSpec) -> Option<String> {
    let policy = unusual(catch_up.policy.as_ref())?;
    let words = [
        Some(policy),
        catch_up.max_runs.map(|most| format!("at most {}", counted(most, "run"))),
        catch_up.rate_per_minute.map(|most| format!("{most} a minute")),
    ];
    Some(words.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn after_words(after: &AfterSpec) -> String {
    let on = after.on.as_ref().map_or_else(|| "success".to_owned(), ToString::to_string);
    format!("follows {}, on {on}", after.job)
}

fn overlap_words(overlap: &OverlapSpec) -> String {
    let policy = overlap.policy.as_ref().map(ToString::to_string).unwrap_or_default();
    match (overlap.max, overlap.max_waiting) {
        (Some(max), _) => format!("at most {} at once", counted(max, "run")),
        (None, Some(waiting)) => format!("{policy}, of at most {}", counted(waiting, "run")),
        (None, None) => policy,
    }
}

fn callback_words(callback: &CallbackSpec) -> String {
    let on: Vec<String> = callback.on.iter().flatten().map(ToString::to_string).collect();
    format!("{}, when {}", callback.url, on.join(", "))
}

fn hook_words(hooks: &HooksView) -> String {
    let before = hooks.before.as_ref().map(|before| format!("before: {}", before.url));
    let after = hooks.after.as_ref().map(|after| format!("after: {}", after.url));
    before.into_iter().chain(after).collect::<Vec<_>>().join(", ")
}

fn concurrency_words(concurrency: &ConcurrencySpec) -> String {
    format!("at most {} of key {:?}", counted(concurrency.limit.unwrap_or_default(), "run"), concurrency.key)
}

fn rate_words(rate: &RateSpec) -> String {
    format!("at most {} of key {:?}", counted(rate.per_minute.unwrap_or_default(), "attempt"), rate.key)
}

fn retry_words(retry: &RetrySpec) -> String {
    let retries = retry.max_retries.unwrap_or_default();
    match (&retry.backoff, retry.initial_delay_seconds, retry.max_delay_seconds) {
        (Some(backoff), Some(first), Some(most)) if retries > 0 => {
            format!("{retries}, {backoff} from {} to {}", Span(first), Span(most))
        }
        _ => retries.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use minutehand_domain::Moment;
    use serde_json::{Value, json};

    use super::*;

    fn paper() -> Paper {
        Paper { width: usize::MAX, now: Moment::parse("2026-11-20T12:00:00Z").unwrap() }
    }

    fn job(schedule: &Value, target: &Value) -> JobView {
        let job = json!({
            "job_id": "job_1", "status": "active", "generation": 1, "name": null, "owner": null, "tags": [],
            "schedule": schedule, "target": target, "payload": null, "priority": "normal", "timeout_seconds": 60,
            "retry": {"max_retries": 3}, "delivery": "at_least_once", "catch_up": {},
            "created_at": "2026-11-20T11:00:00.000Z", "updated_at": "2026-11-20T11:00:00.000Z",
            "next_run_at": null, "next_run_id": null,
        });
        serde_json::from_str(&job.to_string()).unwrap()
    }

    #[test]
    fn a_schedule_is_shown_in_words() {
        let cases = [
            (json!({}), "once, at creation"),
            (json!({"cron": "0 2 L * *", "timezone": "Europe/Paris"}), "0 2 L * * Europe/Paris"),
            (json!({"every_seconds": 90, "max_fires": 3}), "every 1m30s, at most 3 times"),
            (json!({"after_seconds": 300}), "once, 5m after creation"),
            (json!({"at": "2030-01-01T00:00:00.000Z"}), "once, 2030-01-01 00:00:00Z"),
            (json!({"on_demand": true}), "on demand"),
            (json!({"after": {"job": "job_06b", "on": "failure"}}), "follows job_06b, on failure"),
            (
                json!({"every_seconds": 60, "start_at": "2030-01-01T00:00:00Z", "end_at": "2031-01-01T00:00:00Z"}),
                "every 1m, from 2030-01-01 00:00:00Z, until 2031-01-01 00:00:00Z",
            ),
        ];
        for (schedule, words) in cases {
            assert_eq!(schedule_words(&job(&schedule, &json!({})).schedule), words);
        }
    }

    #[test]
    fn a_target_is_shown_by_its_kind() {
        let cases = [
            (json!({"noop": {}}), "noop"),
            (json!({"http": {"url": "http://x/", "method": "PUT"}}), "PUT http://x/"),
            (json!({"sqs": {"alias": "mail"}}), "sqs mail"),
            (json!({"kafka": {"topic": "mail"}}), "kafka"),
            (json!({}), ""),
        ];
        for (target, words) in cases {
            assert_eq!(target_words(&job(&json!({}), &target).target), words);
        }
    }

    #[test]
    fn a_job_is_a_row() {
        let mut job = job(&json!({"on_demand": true}), &json!({"noop": {}}));
        job.next_run_at = Moment::parse("2026-11-20T13:00:00Z").map(Instant);

        let job = ListedJobView { job, last_run: None };
        let drawn = strip_str(&table(&[job], paper()).draw(usize::MAX)).to_string();

        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[0], "JOB    NAME  STATUS  SCHEDULE   TARGET  NEXT RUN");
        assert_eq!(lines[1], "job_1  -     active  on demand  noop    in 1h");
    }

    fn health() -> JobHealthView {
        let health = json!({
            "success_rate": 0.996, "judged": 7, "outcomes": ["timed_out", "failed", "skipped", "succeeded", "a_later_word"],
            "duration_ms": {"p50": 1200, "p95": 90_000, "p99": 3_600_000}, "last_success_at": "2026-11-20T10:00:00.000Z",
            "consecutive_failures": 2, "overdue_since": "2026-11-20T11:30:00.000Z",
            "day": {
                "from": "2026-11-19T13:00:00.000Z", "until": "2026-11-20T12:00:00.000Z", "success_rate": 0.667, "succeeded": 2, "failed": 1,
                "timed_out": 0, "hours": [],
            },
        });
        serde_json::from_value(health).unwrap()
    }

    #[test]
    fn a_card_shows_how_a_job_has_been_doing() {
        let of = |health: Option<JobHealthView>| {
            let job = job(&json!({"on_demand": true}), &json!({"noop": {}}));
            let one = OneJobView { job: health.into_iter().fold(job, JobView::with_health), last_run: None };
            strip_str(&card_with_run(&one, paper())).to_string()
        };

        let wanted = "\
Overdue       since 2026-11-20T11:30:00.000Z (30m ago)
Succeeded     99% of 7
              2 failures in a row
Outcomes      ✗✗-✓-  newest first
Took          p50 1.2s, p95 1m30s, p99 1h
Last success  2026-11-20T10:00:00.000Z (2h ago)
Last day      66% of 3 succeeded
";
        assert!(of(Some(health())).ends_with(wanted), "{}", of(Some(health())));
        let (success_rate, duration_ms, last_success_at, overdue_since) = (None, None, None, None);
        let (judged, outcomes, consecutive_failures) = (0, Vec::new(), 0);
        let new = JobHealthView {
            success_rate,
            judged,
            outcomes,
            duration_ms,
            last_success_at,
            consecutive_failures,
            overdue_since,
            day: None,
        };
        assert_eq!(of(Some(new)), of(None), "nothing is to be said of a new job");
    }

    #[test]
    fn a_list_shows_how_each_has_been_doing() {
        let job = || job(&json!({"on_demand": true}), &json!({"noop": {}}));
        let ill = ListedJobView { job: job().with_health(health()), last_run: None };
        let unknown = ListedJobView { job: job(), last_run: None };

        let drawn = strip_str(&health_table(&[ill, unknown], paper()).draw(usize::MAX)).to_string();

        let wanted = "\
JOB    NAME  STATUS  SUCCEEDED  FAILED IN A ROW  P95    LAST SUCCESS  OVERDUE
job_1  -     active  99% of 7   2                1m30s  2h ago        30m ago
job_1  -     active  -          -                -      -             -
";
        assert_eq!(drawn, wanted);
    }

    #[test]
    fn a_card_shows_which_headers_there_are_and_not_what_they_say() {
        let mut job =
            job(&json!({}), &json!({"http": {"url": "http://x/", "headers": {"Authorization": "Bearer secret"}}}));
        job.payload = serde_json::from_str(r#"{"n": 1.000000000000000000001}"#).unwrap();

        let drawn = strip_str(&card(&job, paper())).to_string();

        assert!(drawn.contains("Headers     Authorization\n"), "{drawn}");
        assert!(!drawn.contains("secret"), "{drawn}");
        assert!(drawn.contains("Payload     {\"n\": 1.000000000000000000001}\n"), "{drawn}");
    }
}
