//! A run as its reader sees it.

use minutehand_domain::Moment;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::super::instant::{away, long, of_day, precise, short};
use super::super::session::Paper;
use super::super::span::roughly;
use super::super::table::{Card, Cell, STRONG, Table};
use super::super::words::{counted, or_dash, painted, status};

/// From this width on there is room for the job's id too. The run's own begins with it.
const ROOM_FOR_JOBS: usize = 132;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Run {
    #[serde(rename = "run_id")]
    pub(crate) id: String,
    #[serde(rename = "job_id")]
    job: String,
    pub(crate) status: String,
    reason: Option<String>,
    pub(crate) scheduled_at: Moment,
    started_at: Option<Moment>,
    pub(crate) finished_at: Option<Moment>,
    priority: Option<String>,
    payload: Option<Box<RawValue>>,
    result: Option<Box<RawValue>>,
    #[serde(default)]
    pub(crate) attempts: Vec<Attempt>,
    origin: Option<String>,
    redrive_of: Option<String>,
    count: Option<u64>,
    covers_until: Option<Moment>,
}

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Attempt {
    pub(crate) number: u64,
    started_at: Moment,
    finished_at: Option<Moment>,
    worker: Option<String>,
    outcome: Option<String>,
    error: Option<AttemptError>,
}

#[derive(Clone, Debug, Deserialize)]
struct AttemptError {
    code: String,
    message: String,
}

/// The runs of one job need no column that says so.
pub(crate) fn table(runs: &[Run], of_one_job: bool, paper: Paper) -> Table {
    let with_jobs = !of_one_job && paper.width >= ROOM_FOR_JOBS;
    let jobs = with_jobs.then_some("JOB");
    let titles: Vec<&str> =
        ["RUN"].into_iter().chain(jobs).chain(["STATUS", "SCHEDULED", "TOOK", "TRIES", "~WHY"]).collect();
    let mut table = Table::new(&titles);
    for run in runs {
        let job = with_jobs.then(|| Cell::from(&run.job));
        let others = [
            status(&run.status),
            Cell::from(short(run.scheduled_at)),
            or_dash(run.took(paper.now).as_deref()),
            Cell::from(run.attempts.len().to_string()),
            Cell::from(run.why()),
        ];
        table.row([Cell::from(&run.id)].into_iter().chain(job).chain(others).collect());
    }
    table
}

pub(crate) fn card(run: &Run, paper: Paper) -> String {
    let instant = |at: Moment| long(at, paper.now);
    let card = Card::default()
        .with("Run", &run.id)
        .with("Job", &run.job)
        .with("Status", status(&run.status))
        .maybe("Why", Some(run.why()).filter(|why| !why.is_empty()))
        .maybe("Origin", run.origin.as_ref())
        .maybe("Retry of", run.redrive_of.as_ref())
        .with("Scheduled", instant(run.scheduled_at))
        .maybe("Covers until", run.covers_until.map(instant))
        .maybe("Started", run.started_at.map(instant))
        .maybe("Finished", run.finished_at.map(instant))
        .maybe("Took", run.took(paper.now))
        .maybe("Priority", run.priority.as_ref())
        .maybe("Payload", run.payload.as_ref().map(|payload| payload.get()))
        .maybe("Result", run.result.as_ref().map(|result| result.get()))
        .draw();
    if run.attempts.is_empty() { card } else { format!("{card}\n{}", attempts(&run.attempts, paper)) }
}

fn attempts(attempts: &[Attempt], paper: Paper) -> String {
    let mut table = Table::new(&["ATTEMPT", "OUTCOME", "STARTED", "TOOK", "WORKER", "~ERROR"]);
    for attempt in attempts {
        let took = attempt.finished_at.unwrap_or(paper.now).since(attempt.started_at);
        table.row(vec![
            Cell::new(attempt.number.to_string(), STRONG),
            attempt.outcome.as_deref().map_or_else(|| status("running"), status),
            Cell::from(precise(attempt.started_at)),
            Cell::from(roughly(took)),
            or_dash(attempt.worker.as_deref()),
            Cell::from(attempt.error.as_ref().map(AttemptError::words).unwrap_or_default()),
        ]);
    }
    table.draw(paper.width)
}

impl Run {
    pub(crate) fn is_over(&self) -> bool {
        self.finished_at.is_some()
            || matches!(self.status.as_str(), "succeeded" | "failed" | "timed_out" | "cancelled" | "skipped")
    }

    /// From the first start to the end, or so far. One that waits takes nothing.
    fn took(&self, now: Moment) -> Option<String> {
        let until = self.finished_at.or_else(|| (self.status == "running").then_some(now))?;
        Some(roughly(until.since(self.started_at?)))
    }

    /// Why it is as it is: the reason that the server gives, and the last error where there was no success.
    pub(crate) fn why(&self) -> String {
        if self.status == "succeeded" {
            return String::new();
        }
        let count = self.count.map(|count| format!("for {}", counted(count, "occurrence")));
        let error = self.attempts.iter().rev().find_map(|attempt| attempt.error.as_ref()).map(AttemptError::words);
        // `error` says less than the error itself.
        let reason = self.reason.clone().filter(|reason| error.is_none() || reason != "error");
        let words: Vec<String> = reason.into_iter().chain(count).chain(error).collect();
        words.join(", ")
    }

    /// One line, for a card of its job.
    pub(crate) fn in_short(&self, now: Moment) -> Cell {
        let at = away(self.started_at.unwrap_or(self.scheduled_at), now);
        let why = self.why();
        let words =
            if why.is_empty() { format!("{}, {at}", self.status) } else { format!("{}, {at}: {why}", self.status) };
        status(&self.status).saying(words)
    }

    /// One line, for those who watch it change: when, which, what.
    pub(crate) fn line(&self) -> String {
        let when = of_day(self.changed_at());
        let attempt = match self.attempts.last() {
            Some(attempt) if attempt.number > 1 => format!("  attempt {}", attempt.number),
            _ => String::new(),
        };
        let why = Some(self.why()).filter(|why| !why.is_empty()).map(|why| format!("  {}", Cell::from(why).painted()));
        format!("{when}  {}  {}{attempt}{}", self.id, painted(&self.status), why.unwrap_or_default())
    }

    /// When it became what it is, as far as its record says.
    fn changed_at(&self) -> Moment {
        let attempt = self.attempts.last().map(|attempt| attempt.finished_at.unwrap_or(attempt.started_at));
        self.finished_at.or(attempt).or(self.started_at).unwrap_or(self.scheduled_at)
    }
}

impl AttemptError {
    fn words(&self) -> String {
        format!("{}: {}", self.code, self.message)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use anstream::adapter::strip_str;
    use serde_json::{Value, json};

    use super::*;

    /// A run with only these differences from one that was just claimed.
    pub(crate) fn run(more: &Value) -> Run {
        let mut run = json!({"run_id": "run_1", "job_id": "job_1", "status": "running",
            "scheduled_at": "2026-11-20T12:00:00.000Z", "started_at": "2026-11-20T12:00:00.010Z", "finished_at": null,
            "reason": null, "attempts": [{"number": 1, "started_at": "2026-11-20T12:00:00.010Z", "outcome": null}]});
        for (field, value) in more.as_object().unwrap() {
            run[field] = value.clone();
        }
        serde_json::from_str(&run.to_string()).unwrap()
    }

    fn failed(reason: &str) -> Run {
        run(&json!({"status": "failed", "reason": reason, "finished_at": "2026-11-20T12:00:02.010Z", "attempts": [
            {"number": 1, "started_at": "2026-11-20T12:00:00.010Z", "finished_at": "2026-11-20T12:00:02.010Z",
             "worker": "worker_1", "outcome": "failed", "error": {"code": "http_500", "message": "no", "retryable": true}}]}))
    }

    fn paper(width: usize) -> Paper {
        Paper { width, now: Moment::parse("2026-11-20T12:00:05.010Z").unwrap() }
    }

    #[test]
    fn why_says_no_more_than_is_known() {
        let skipped =
            json!({"status": "skipped", "reason": "coalesced", "count": 7, "attempts": [], "started_at": null});
        let cases = [
            (run(&json!({})), ""),
            (failed("error"), "http_500: no"),
            (failed("poison"), "poison, http_500: no"),
            (run(&skipped), "coalesced, for 7 occurrences"),
            (run(&json!({"status": "cancelled", "reason": "error"})), "error"),
            (Run { status: "succeeded".to_owned(), ..failed("error") }, ""),
        ];
        for (run, why) in cases {
            assert_eq!(run.why(), why, "{}", run.status);
        }
    }

    #[test]
    fn a_run_is_a_row_and_its_job_stands_beside_it_where_there_is_room() {
        let head = |of_one_job, width| {
            let table = table(&[failed("error"), run(&json!({}))], of_one_job, paper(width));
            strip_str(&table.draw(usize::MAX)).to_string()
        };

        let wide = head(false, 200);
        assert!(wide.starts_with("RUN    JOB    STATUS   SCHEDULED             TOOK  TRIES  WHY\n"), "{wide}");
        assert!(wide.contains("run_1  job_1  failed   2026-11-20 12:00:00Z  2s    1      http_500: no\n"), "{wide}");
        assert!(wide.contains("run_1  job_1  running  2026-11-20 12:00:00Z  5s    1\n"), "{wide}");
        assert!(!head(false, 80).contains("JOB"));
        assert!(!head(true, 200).contains("JOB"));
    }

    #[test]
    fn a_change_is_a_line() {
        let retried = json!({"attempts": [{"number": 2, "started_at": "2026-11-20T12:00:09.000Z"}]});
        let cases = [
            (run(&json!({})), "12:00:00.010  run_1  running"),
            (failed("error"), "12:00:02.010  run_1  failed  http_500: no"),
            (run(&retried), "12:00:09.000  run_1  running  attempt 2"),
            (run(&json!({"status": "queued", "attempts": [], "started_at": null})), "12:00:00.000  run_1  queued"),
        ];
        for (run, line) in cases {
            assert_eq!(strip_str(&run.line()).to_string(), line);
        }
    }

    #[test]
    fn a_card_has_every_attempt() {
        let drawn = strip_str(&card(&failed("error"), paper(80))).to_string();

        assert!(drawn.contains("Status     failed\nWhy        http_500: no\n"), "{drawn}");
        assert!(drawn.contains("Scheduled  2026-11-20T12:00:00.000Z (5s ago)\n"), "{drawn}");
        assert!(
            drawn.contains("1        failed   2026-11-20 12:00:00.010Z  2s    worker_1  http_500: no\n"),
            "{drawn}"
        );
    }
}
