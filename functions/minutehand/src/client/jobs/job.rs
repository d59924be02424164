//! A job as its reader sees it. What this client does not know of an answer it passes over.

use std::collections::BTreeMap;

use minutehand_domain::Moment;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::super::instant::{away, long, short};
use super::super::runs::run::Run;
use super::super::session::Paper;
use super::super::span::Span;
use super::super::table::{Card, Cell, Table};
use super::super::words::{counted, or_dash, status};

#[derive(Debug, Deserialize)]
pub(crate) struct Job {
    #[serde(rename = "job_id")]
    id: String,
    status: String,
    generation: Option<u64>,
    name: Option<String>,
    owner: Option<String>,
    #[serde(default)]
    tags: Vec<String>,
    schedule: Schedule,
    target: BTreeMap<String, Value>,
    payload: Option<Box<RawValue>>,
    priority: Option<String>,
    timeout_seconds: Option<u64>,
    retry: Option<Retry>,
    delivery: Option<String>,
    created_at: Option<Moment>,
    updated_at: Option<Moment>,
    next_run_at: Option<Moment>,
    next_run_id: Option<String>,
    last_run: Option<Run>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Schedule {
    at: Option<Moment>,
    after_seconds: Option<u64>,
    every_seconds: Option<u64>,
    cron: Option<String>,
    timezone: Option<String>,
    on_demand: Option<bool>,
    start_at: Option<Moment>,
    end_at: Option<Moment>,
    max_fires: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Retry {
    max_retries: u64,
    backoff: Option<String>,
    initial_delay_seconds: Option<u64>,
    max_delay_seconds: Option<u64>,
}

pub(crate) fn table(jobs: &[Job], paper: Paper) -> Table {
    let mut table = Table::new(&["JOB", "~NAME", "STATUS", "~SCHEDULE", "~TARGET", "NEXT RUN"]);
    for job in jobs {
        table.row(vec![
            Cell::from(&job.id),
            or_dash(job.name.as_deref()),
            status(&job.status),
            Cell::from(job.schedule.words()),
            Cell::from(job.target_words()),
            or_dash(job.next_run_at.map(|at| away(at, paper.now)).as_deref()),
        ]);
    }
    table
}

pub(crate) fn card(job: &Job, paper: Paper) -> String {
    let instant = |at: Moment| long(at, paper.now);
    let last = job.last_run.as_ref().map(|run| run.in_short(paper.now));
    let written = Card::default()
        .with("Job", &job.id)
        .maybe("Name", job.name.as_ref())
        .with("Status", status(&job.status))
        .maybe("Generation", job.generation.map(|number| number.to_string()))
        .with("Schedule", job.schedule.words())
        .with("Target", job.target_words())
        .maybe("Headers", job.header_names())
        .maybe("Payload", job.payload.as_ref().map(|payload| payload.get()))
        .maybe("Priority", job.priority.as_ref())
        .maybe("Timeout", job.timeout_seconds.map(|seconds| Span(seconds).to_string()))
        .maybe("Retries", job.retry.as_ref().map(Retry::words))
        .maybe("Delivery", job.delivery.as_ref())
        .maybe("Owner", job.owner.as_ref())
        .maybe("Tags", (!job.tags.is_empty()).then(|| job.tags.join(", ")));
    written
        .maybe("Created", job.created_at.map(instant))
        .maybe("Changed", job.updated_at.filter(|at| Some(*at) != job.created_at).map(instant))
        .maybe("Next run", job.next_run_at.map(instant))
        .maybe("", job.next_run_id.as_ref().map(Cell::faint))
        .maybe("Last run", last)
        .maybe("", job.last_run.as_ref().map(|run| Cell::faint(&run.id)))
        .draw()
}

impl Job {
    fn target_words(&self) -> String {
        let Some((kind, target)) = self.target.iter().next() else { return String::new() };
        match (kind.as_str(), target["url"].as_str()) {
            ("http", Some(url)) => format!("{} {url}", target["method"].as_str().unwrap_or("POST")),
            _ => kind.clone(),
        }
    }

    /// A value may be a secret, and stands in `--json` only.
    fn header_names(&self) -> Option<String> {
        let headers = self.target.get("http")?.get("headers")?.as_object()?;
        let names: Vec<&str> = headers.keys().map(String::as_str).collect();
        (!names.is_empty()).then(|| names.join(", "))
    }
}

impl Schedule {
    fn words(&self) -> String {
        let mut words = self.when();
        words.extend(self.start_at.map(|at| format!("from {}", short(at))));
        words.extend(self.end_at.map(|at| format!("until {}", short(at))));
        words.extend(self.max_fires.map(|most| format!("at most {}", counted(most, "time"))));
        words.join(", ")
    }

    fn when(&self) -> Vec<String> {
        let zone = self.timezone.as_deref().unwrap_or("UTC");
        let cron = self.cron.as_ref().map(|cron| format!("{cron} {zone}"));
        let when = cron
            .or(self.every_seconds.map(|seconds| format!("every {}", Span(seconds))))
            .or(self.at.map(|at| format!("once, {}", short(at))))
            .or(self.after_seconds.map(|seconds| format!("once, {} after creation", Span(seconds))))
            .or(self.on_demand.filter(|&asked| asked).map(|_| "on demand".to_owned()));
        vec![when.unwrap_or_else(|| "once, at creation".to_owned())]
    }
}

impl Retry {
    fn words(&self) -> String {
        let (Some(backoff), Some(first), Some(most)) =
            (&self.backoff, self.initial_delay_seconds, self.max_delay_seconds)
        else {
            return self.max_retries.to_string();
        };
        match self.max_retries {
            0 => "0".to_owned(),
            retries => format!("{retries}, {backoff} from {} to {}", Span(first), Span(most)),
        }
    }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use serde_json::json;

    use super::*;

    fn paper() -> Paper {
        Paper { width: usize::MAX, now: Moment::parse("2026-11-20T12:00:00Z").unwrap() }
    }

    fn job(schedule: &Value, target: &Value) -> Job {
        let job = json!({"job_id": "job_1", "status": "active", "schedule": schedule, "target": target});
        serde_json::from_str(&job.to_string()).unwrap()
    }

    #[test]
    fn a_schedule_is_told_in_words() {
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
            assert_eq!(job(&schedule, &json!({})).schedule.words(), words);
        }
    }

    #[test]
    fn a_target_is_told_by_its_kind() {
        let cases = [
            (json!({"noop": {}}), "noop"),
            (json!({"http": {"url": "http://x/", "method": "PUT"}}), "PUT http://x/"),
            (json!({"sqs": {"alias": "mail"}}), "sqs"),
            (json!({}), ""),
        ];
        for (target, words) in cases {
            assert_eq!(job(&json!({}), &target).target_words(), words);
        }
    }

    #[test]
    fn a_job_is_a_row() {
        let mut job = job(&json!({"on_demand": true}), &json!({"noop": {}}));
        job.next_run_at = Moment::parse("2026-11-20T13:00:00Z");

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

        assert!(drawn.contains("Headers   Authorization\n"), "{drawn}");
        assert!(!drawn.contains("secret"), "{drawn}");
        assert!(drawn.contains("Payload   {\"n\": 1.000000000000000000001}\n"), "{drawn}");
    }
}
