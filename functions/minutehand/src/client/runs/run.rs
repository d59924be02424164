//! A run as its reader sees it.

use minutehand_client::wire::{
    AttemptErrorView, AttemptView, CallbackRunView, Instant, RunStatus, RunView, SlaView, Word,
};
use minutehand_domain::Moment;

use super::super::cells::{counted, or_dash, painted, shortened, status};
use super::super::instant::{away, long, of_day, precise, short};
use super::super::session::Paper;
use super::super::span::roughly;
use super::super::table::{Card, Cell, STRONG, Table};

/// From this width on there is room for the job's id too. The run's own begins with it.
const ROOM_FOR_JOBS: usize = 132;

/// The runs of one job need no column that says so.
pub(crate) fn table(runs: &[RunView], of_one_job: bool, paper: Paper) -> Table {
    let with_jobs = !of_one_job && paper.width >= ROOM_FOR_JOBS;
    let jobs = with_jobs.then_some("JOB");
    let titles: Vec<&str> =
        ["RUN"].into_iter().chain(jobs).chain(["STATUS", "SCHEDULED", "TOOK", "TRIES", "~WHY"]).collect();
    let mut table = Table::new(&titles);
    for run in runs {
        let job = with_jobs.then(|| Cell::from(&run.job_id));
        let others = [
            status(&run.status),
            Cell::from(short(run.scheduled_at.0)),
            or_dash(took(run, paper.now).as_deref()),
            // A list shows the newest three.
            Cell::from(run.attempts.last().map_or(0, |attempt| attempt.number).to_string()),
            Cell::from(why(run)),
        ];
        table.row([Cell::from(&run.run_id)].into_iter().chain(job).chain(others).collect());
    }
    table
}

pub(crate) fn card(run: &RunView, paper: Paper) -> String {
    let instant = |at: Instant| long(at.0, paper.now);
    let card = Card::default()
        .with("Run", &run.run_id)
        .with("Job", &run.job_id)
        .with("Status", status(&run.status))
        .maybe("Why", Some(why(run)).filter(|why| !why.is_empty()))
        .maybe("Waiting for", run.waiting_for.as_ref())
        .with("Origin", run.origin.to_string())
        .maybe("Retry of", run.redrive_of.as_ref())
        .maybe("Tells of", run.callback_of.as_ref())
        .with("Scheduled", instant(run.scheduled_at))
        .maybe("Covers until", run.covers_until.map(instant))
        .maybe("Started", run.started_at.map(instant))
        .maybe("Finished", run.finished_at.map(instant))
        .maybe("Took", took(run, paper.now))
        .maybe("Told by", run.callback.as_ref().map(told_words))
        .maybe("Hook after", run.after.as_ref().map(told_words))
        .maybe("SLA", run.sla.map(|sla| sla_words(sla, paper)))
        .with("Priority", run.priority.to_string())
        .maybe("Progress", progress(run))
        .maybe("Payload", run.payload.text().map(shortened))
        .maybe("By its hook", run.hook_payload.text().map(shortened))
        .maybe("Checkpoint", run.checkpoint.text().map(shortened))
        .maybe("Result", run.result.text().map(shortened))
        .draw();
    if run.attempts.is_empty() { card } else { format!("{card}\n{}", attempts(&run.attempts, paper)) }
}

fn told_words(told: &CallbackRunView) -> String {
    format!("{}, {}", told.run_id, told.status)
}

pub(crate) fn sla_words(sla: SlaView, paper: Paper) -> String {
    let due_by = long(sla.due_by.0, paper.now);
    if sla.missed_at.is_some() { format!("missed: by {due_by}") } else { format!("by {due_by}") }
}

fn attempts(attempts: &[AttemptView], paper: Paper) -> String {
    let mut table = Table::new(&["ATTEMPT", "OUTCOME", "STARTED", "TOOK", "WORKER", "~ERROR"]);
    for attempt in attempts {
        let took = attempt.finished_at.map_or(paper.now, |at| at.0).since(attempt.started_at.0);
        table.row(vec![
            Cell::new(attempt.number.to_string(), STRONG),
            attempt.outcome.as_deref().map_or_else(|| status("running"), status),
            Cell::from(precise(attempt.started_at.0)),
            Cell::from(roughly(took)),
            Cell::from(&attempt.worker),
            Cell::from(attempt.error.as_ref().map(error_words).unwrap_or_default()),
        ]);
    }
    table.draw(paper.width)
}

/// Nothing more will happen to it.
pub(crate) fn is_over(run: &RunView) -> bool {
    run.finished_at.is_some() || matches!(&run.status, Word::Known(status) if status.is_over())
}

/// From the first start to the end, or so far. One that waits takes nothing.
fn took(run: &RunView, now: Moment) -> Option<String> {
    let until = run.finished_at.map(|at| at.0).or_else(|| (run.status == RunStatus::Running).then_some(now))?;
    Some(roughly(until.since(run.started_at?.0)))
}

/// Why it is as it is: the reason that the server gives, and the last error where there was no success.
pub(crate) fn why(run: &RunView) -> String {
    if run.status == RunStatus::Succeeded {
        return String::new();
    }
    let count = run.count.map(|count| format!("for {}", counted(count, "occurrence")));
    let error = run.attempts.iter().rev().find_map(|attempt| attempt.error.as_ref()).map(error_words);
    // `error` says less than the error itself.
    let reason = run.reason.clone().filter(|reason| error.is_none() || reason != "error");
    let words: Vec<String> = reason.into_iter().chain(count).chain(run.detail.clone()).chain(error).collect();
    words.join(", ")
}

/// One line, for a card of its job.
pub(crate) fn in_short(run: &RunView, now: Moment) -> Cell {
    let at = away(run.started_at.unwrap_or(run.scheduled_at).0, now);
    let why = why(run);
    let words = if why.is_empty() { format!("{}, {at}", run.status) } else { format!("{}, {at}: {why}", run.status) };
    status(&run.status).saying(words)
}

/// One line, for those who watch it change: when, which, what.
pub(crate) fn line(run: &RunView) -> String {
    let when = of_day(changed_at(run));
    let attempt = match run.attempts.last() {
        Some(attempt) if attempt.number > 1 => format!("  attempt {}", attempt.number),
        _ => String::new(),
    };
    let why = Some(why(run)).filter(|why| !why.is_empty()).map(|why| format!("  {}", Cell::from(why).painted()));
    let so_far = progress(run).filter(|_| !is_over(run)).map(|words| format!("  {}", Cell::from(words).painted()));
    let more = [so_far, why].into_iter().flatten().collect::<String>();
    format!("{when}  {}  {}{attempt}{more}", run.run_id, painted(&run.status))
}

/// How far its worker is, as it says itself.
fn progress(run: &RunView) -> Option<String> {
    let share = run.progress.map(|share| format!("{:.0} %", share * 100.0));
    let words: Vec<String> = share.into_iter().chain(run.stage.clone()).collect();
    Some(words.join(", ")).filter(|words| !words.is_empty())
}

/// When it became what it is, as far as its record says.
fn changed_at(run: &RunView) -> Moment {
    let attempt = run.attempts.last().map(|attempt| attempt.finished_at.unwrap_or(attempt.started_at));
    run.finished_at.or(attempt).or(run.started_at).unwrap_or(run.scheduled_at).0
}

fn error_words(error: &AttemptErrorView) -> String {
    format!("{}: {}", error.code, error.message)
}

#[cfg(test)]
pub(crate) mod tests {
    use anstream::adapter::strip_str;
    use serde_json::{Value, json};

    use super::*;

    /// A run with only these differences from one that was just claimed.
    pub(crate) fn run(more: &Value) -> RunView {
        let mut run = json!({"run_id": "run_1", "job_id": "job_1", "status": "running", "reason": null,
            "scheduled_at": "2026-11-20T12:00:00.000Z", "effective_at": "2026-11-20T12:00:00.000Z",
            "started_at": "2026-11-20T12:00:00.010Z", "finished_at": null, "priority": "normal", "payload": null,
            "result": null, "progress": null, "origin": "schedule", "redrive_of": null, "workflow_run_id": null,
            "task_key": null, "attempts": [attempt(&json!({}))]});
        overlay(&mut run, more);
        serde_json::from_str(&run.to_string()).unwrap()
    }

    /// The first attempt, with only these differences from one that was just begun.
    pub(crate) fn attempt(more: &Value) -> Value {
        let mut attempt = json!({"number": 1, "started_at": "2026-11-20T12:00:00.010Z", "finished_at": null,
            "worker": "worker_1", "outcome": null, "error": null});
        overlay(&mut attempt, more);
        attempt
    }

    fn overlay(value: &mut Value, more: &Value) {
        for (field, other) in more.as_object().unwrap() {
            value[field] = other.clone();
        }
    }

    fn failed(reason: &str) -> RunView {
        let attempt = attempt(&json!({"finished_at": "2026-11-20T12:00:02.010Z", "outcome": "failed",
            "error": {"code": "http_500", "message": "no", "retryable": true}}));
        run(&json!({"status": "failed", "reason": reason, "finished_at": "2026-11-20T12:00:02.010Z",
            "attempts": [attempt]}))
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
            (RunView { status: RunStatus::Succeeded.into(), ..failed("error") }, ""),
        ];
        for (run, words) in cases {
            assert_eq!(why(&run), words, "{}", run.status);
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
        let retried = json!({"attempts": [attempt(&json!({"number": 2, "started_at": "2026-11-20T12:00:09.000Z"}))]});
        let cases = [
            (run(&json!({})), "12:00:00.010  run_1  running"),
            (failed("error"), "12:00:02.010  run_1  failed  http_500: no"),
            (run(&retried), "12:00:09.000  run_1  running  attempt 2"),
            (run(&json!({"status": "queued", "attempts": [], "started_at": null})), "12:00:00.000  run_1  queued"),
        ];
        for (run, line) in cases {
            assert_eq!(strip_str(&super::line(&run)).to_string(), line);
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
