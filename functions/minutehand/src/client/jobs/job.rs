//! A job as its reader sees it.

use minutehand_client::wire::{
    ConcurrencySpec, Instant, JobView, OneJobView, OverlapSpec, RateSpec, RetrySpec, ScheduleSpec, TargetSpec,
};

use super::super::cells::{counted, or_dash, status};
use super::super::instant::{away, long, short};
use super::super::runs::run::in_short;
use super::super::session::Paper;
use super::super::span::Span;
use super::super::table::{Card, Cell, Table};

pub(crate) fn table(jobs: &[JobView], paper: Paper) -> Table {
    let mut table = Table::new(&["JOB", "~NAME", "STATUS", "~SCHEDULE", "~TARGET", "NEXT RUN"]);
    for job in jobs {
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

pub(crate) fn card(job: &JobView, paper: Paper) -> String {
    card_of(job, paper).draw()
}

pub(crate) fn card_with_run(one: &OneJobView, paper: Paper) -> String {
    let last = one.last_run.as_ref();
    card_of(&one.job, paper)
        .maybe("Last run", last.map(|run| in_short(run, paper.now)))
        .maybe("", last.map(|run| Cell::faint(&run.run_id)))
        .draw()
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
        .with("Target", target_words(&job.target))
        .maybe("Headers", header_names(&job.target))
        .maybe("Payload", job.payload.text())
        .with("Priority", job.priority.to_string())
        .with("Timeout", Span(job.timeout_seconds).to_string())
        .with("Retries", retry_words(&job.retry))
        .with("Delivery", job.delivery.to_string())
        .maybe("SLA", job.sla_seconds.map(|seconds| Span(seconds).to_string()))
        .maybe("Overlap", job.overlap.as_ref().map(overlap_words))
        .maybe("At once", job.concurrency.as_ref().map(concurrency_words))
        .maybe("A minute", job.rate.as_ref().map(rate_words))
        .maybe("Owner", job.owner.as_ref())
        .maybe("Tags", (!tags.is_empty()).then(|| tags.join(", ")))
        .with("Created", instant(job.created_at))
        .maybe("Changed", (job.updated_at != job.created_at).then(|| instant(job.updated_at)))
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
    let bounds = [
        schedule.start_at.map(|at| format!("from {}", short(at.0))),
        schedule.end_at.map(|at| format!("until {}", short(at.0))),
        schedule.max_fires.map(|most| format!("at most {}", counted(most.into(), "time"))),
    ];
    let words: Vec<String> = [when(schedule)].into_iter().chain(bounds.into_iter().flatten()).collect();
    words.join(", ")
}

fn when(schedule: &ScheduleSpec) -> String {
    let zone = schedule.timezone.as_deref().unwrap_or("UTC");
    let cron = schedule.cron.as_ref().map(|cron| format!("{cron} {zone}"));
    cron.or(schedule.every_seconds.map(|seconds| format!("every {}", Span(seconds))))
        .or(schedule.at.map(|at| format!("once, {}", short(at.0))))
        .or(schedule.after_seconds.map(|seconds| format!("once, {} after creation", Span(seconds))))
        .or(schedule.on_demand.filter(|&given| given).map(|_| "on demand".to_owned()))
        .unwrap_or_else(|| "once, at creation".to_owned())
}

fn overlap_words(overlap: &OverlapSpec) -> String {
    let policy = overlap.policy.as_ref().map(ToString::to_string).unwrap_or_default();
    match (overlap.max, overlap.max_waiting) {
        (Some(max), _) => format!("at most {} at once", counted(max, "run")),
        (None, Some(waiting)) => format!("{policy}, of at most {}", counted(waiting, "run")),
        (None, None) => policy,
    }
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

        let drawn = strip_str(&table(&[job], paper()).draw(usize::MAX)).to_string();

        let lines: Vec<&str> = drawn.lines().collect();
        assert_eq!(lines[0], "JOB    NAME  STATUS  SCHEDULE   TARGET  NEXT RUN");
        assert_eq!(lines[1], "job_1  -     active  on demand  noop    in 1h");
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
