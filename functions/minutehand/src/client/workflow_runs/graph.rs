//! A graph in a terminal: a line for each task, layer by layer. No task stands above what it depends on; those of one layer do not depend
//! on each other. A spine holds the layers together; whom a task comes after stands behind it, since lines that cross tell less.

use std::collections::{BTreeMap, BTreeSet};

use minutehand_client::wire::{RunTaskView, TaskState, TriedView, Word};
use minutehand_domain::Moment;

use super::super::cells::status;
use super::super::span::roughly;
use super::super::table::{Cell, STRONG, Table};

/// Keys that one line names.
const NAMED: usize = 4;

/// Failures that are named one by one.
const FAILED: usize = 20;

/// What is said of a task that a run before did already.
pub(super) const REUSED: &str = "reused: it had succeeded in the run that this one resumes";

/// A line for each task that failed, with why; those that nobody minds say so.
pub(super) fn failed(tasks: &[RunTaskView]) -> Vec<String> {
    let has_failed =
        |task: &&RunTaskView| task.tried.state == TaskState::Failed || task.tried.state == TaskState::TimedOut;
    let all: Vec<&RunTaskView> = tasks.iter().filter(has_failed).collect();
    let mut lines: Vec<String> = all.iter().take(FAILED).map(|task| failure(task)).collect();
    if all.len() > FAILED {
        lines.push(format!("and {} tasks more", all.len() - FAILED));
    }
    lines
}

fn failure(task: &RunTaskView) -> String {
    let branches = task.branches.as_ref().map(|branches| {
        let failed = [TaskState::Failed, TaskState::TimedOut].map(|state| branches.counts.get(&Word::Known(state)));
        let failed: usize = failed.into_iter().flatten().sum();
        let least = if branches.at_least { "at least " } else { "" };
        format!("{least}{failed} of its {} branches failed", branches.total)
    });
    let words = branches.or_else(|| why(&task.tried));
    let words = words.map(|words| format!(": {words}")).unwrap_or_default();
    let allowed = if task.allow_failure { " (which was allowed)" } else { "" };
    format!("{} {}{words}{allowed}", task.key, task.tried.state)
}

/// All tasks as a table. `critical`: the keys of those on the critical path.
pub(super) fn drawn(tasks: &[RunTaskView], critical: &BTreeSet<&str>, now: Moment) -> Table {
    let mut table = Table::new(&["", "TASK", "STATE", "TOOK", "TRIES", "~AFTER", "~NOTE"]);
    let layers = layers(tasks);
    let last = layers.len().saturating_sub(1);
    for (number, layer) in layers.iter().enumerate() {
        if number > 0 {
            let begins_finally = layer.first().is_some_and(|task| task.in_finally)
                && !layers[number - 1].first().is_some_and(|task| task.in_finally);
            let label = if begins_finally { Cell::faint("finally") } else { Cell::from("") };
            table.row(vec![Cell::faint(" │"), label, "".into(), "".into(), "".into(), "".into(), "".into()]);
        }
        let end = layer.len() - 1;
        for (place, task) in layer.iter().enumerate() {
            let spine = match (number, place) {
                (0, 0) if last == 0 && end == 0 => " ── ",
                (0, 0) => " ┌─ ",
                (layer, place) if layer == last && place == end => " └─ ",
                _ => " ├─ ",
            };
            table.row(row(task, spine, critical.contains(task.key.as_str()), now));
        }
    }
    table
}

fn row(task: &RunTaskView, spine: &str, is_critical: bool, now: Moment) -> Vec<Cell> {
    let state = status(&task.tried.state);
    let key = if is_critical { Cell::new(format!("{} *", task.key), STRONG) } else { Cell::from(&task.key) };
    let tries = if task.tried.tries > 1 || task.tried.attempts > 1 {
        format!("{}", task.tried.attempts.max(task.tried.tries.into()))
    } else {
        String::new()
    };
    vec![
        Cell::from(format!("{spine}{}", symbol(&task.tried.state))),
        key,
        state,
        Cell::from(took(&task.tried, now).unwrap_or_default()),
        Cell::from(tries),
        Cell::faint(after(task)),
        Cell::from(note(task)),
    ]
}

/// Tasks by the longest way to them; those of `finally` come after all others.
fn layers(tasks: &[RunTaskView]) -> Vec<Vec<&RunTaskView>> {
    let mut depths = BTreeMap::<&str, usize>::new();
    for task in tasks {
        // They come in an order in which none stands before what it depends on.
        let depth = task.depends_on.iter().filter_map(|edge| depths.get(edge.task.as_str())).max();
        depths.insert(&task.key, depth.map_or(0, |depth| depth + 1));
    }
    let mut layers = BTreeMap::<(bool, usize), Vec<&RunTaskView>>::new();
    for task in tasks {
        layers.entry((task.in_finally, depths[task.key.as_str()])).or_default().push(task);
    }
    layers.into_values().collect()
}

/// Readable without colours.
const fn symbol(state: &Word<TaskState>) -> &'static str {
    match state {
        Word::Known(TaskState::Succeeded) => "✓",
        Word::Known(TaskState::Failed | TaskState::TimedOut) => "✗",
        Word::Known(TaskState::Running) => "▶",
        Word::Known(TaskState::Held) => "!",
        Word::Known(TaskState::Waiting | TaskState::Scheduled | TaskState::Queued) => "…",
        Word::Known(TaskState::Cancelled | TaskState::Skipped) => "-",
        Word::Known(TaskState::Pending) => "·",
        Word::Other(_) => "?",
    }
}

pub(super) fn took(tried: &TriedView, now: Moment) -> Option<String> {
    let from = tried.started_at?.0;
    Some(roughly(tried.finished_at.map_or(now, |at| at.0).since(from)))
}

/// Why it ended as it did.
pub(super) fn why(tried: &TriedView) -> Option<String> {
    let error = tried.error.as_ref().map(|error| format!("{}: {}", error.code, error.message));
    tried.detail.clone().or(error).or_else(|| tried.reason.as_deref().map(in_words))
}

/// A reason of a task's or a run's end, for who does not know the words of the API.
pub(in super::super) fn in_words(reason: &str) -> String {
    let words = match reason {
        "task" => "a task of it failed",
        "upstream" => "what it comes after did not end as it asks",
        "condition" => "its condition is not true",
        "rejected" => "somebody said no",
        other => other,
    };
    words.to_owned()
}

fn after(task: &RunTaskView) -> String {
    let edge = |on: &str, key: &str| if on == "success" { key.to_owned() } else { format!("{key} ({on})") };
    let keys: Vec<String> = task.depends_on.iter().map(|parent| edge(&parent.on, &parent.task)).collect();
    let more = keys.len().saturating_sub(NAMED);
    let named = keys.into_iter().take(NAMED).collect::<Vec<_>>().join(", ");
    let rule =
        if task.rule == "all" || task.depends_on.len() < 2 { String::new() } else { format!("{} of ", task.rule) };
    if more == 0 { format!("{rule}{named}") } else { format!("{rule}{named} and {more} more") }
}

/// What it waits for, why it ended as it did, how far its branches are.
fn note(task: &RunTaskView) -> String {
    let branches = task.branches.as_ref().map(|branches| {
        let counts: Vec<String> = branches.counts.iter().map(|(state, count)| format!("{count} {state}")).collect();
        let least = if branches.at_least { "at least " } else { "" };
        format!("{} branches: {least}{}", branches.total, counts.join(", "))
    });
    // Of a `for_each` that merely goes on the counts say it.
    let waits = task.tried.waiting_for.clone().filter(|words| task.branches.is_none() || words.contains("held"));
    let reused = task.reused.is_some().then(|| REUSED.to_owned());
    let verdict = task
        .tried
        .verdict
        .as_ref()
        .map(|verdict| format!("{} by {}", verdict.word, verdict.by_name.as_deref().unwrap_or(&verdict.by)));
    // That of a `for_each` which failed the counts say too.
    let why = why(&task.tried).filter(|_| task.branches.is_none() || task.tried.reason.as_deref() != Some("task"));
    [branches, waits, reused, why, verdict].into_iter().flatten().collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use serde_json::{Value, json};

    use super::*;

    /// A task with only these differences from one that is pending.
    pub(super) fn task(key: &str, on: &[&str], more: &Value) -> RunTaskView {
        let edges: Vec<_> = on.iter().map(|on| json!({"task": on, "on": "success", "holds": null})).collect();
        let mut task = json!({
            "key": key, "kind": "call", "in_finally": false, "state": "pending", "reason": null, "detail": null,
            "waiting_for": null, "run_id": null, "rule": "all", "depends_on": edges, "tries": 0, "attempts": 0,
            "scheduled_at": null, "started_at": null, "finished_at": null, "priority": "normal", "error": null,
            "result": null, "tainted": false, "allow_failure": false, "reused": null, "approval": null,
            "verdict": null, "branches": null,
        });
        for (field, value) in more.as_object().unwrap() {
            task[field] = value.clone();
        }
        serde_json::from_value(task).unwrap()
    }

    fn ended(state: &str, from: u8, to: u8) -> Value {
        let at = |second: u8| format!("2027-01-15T08:00:{second:02}.000Z");
        json!({"state": state, "started_at": at(from), "finished_at": at(to), "tries": 1, "attempts": 1})
    }

    fn draw(tasks: &[RunTaskView], critical: &[&str]) -> String {
        let now = Moment::parse("2027-01-15T08:01:00Z").unwrap();
        let critical = critical.iter().copied().collect();
        strip_str(&drawn(tasks, &critical, now).draw(usize::MAX)).to_string()
    }

    #[test]
    fn a_diamond_is_three_layers() {
        let tasks = [
            task("extract", &[], &ended("succeeded", 0, 5)),
            task("check", &["extract"], &ended("succeeded", 5, 20)),
            task("archive", &["extract"], &json!({"state": "running", "started_at": "2027-01-15T08:00:05.000Z"})),
            task(
                "load",
                &["check", "archive"],
                &json!({"state": "waiting", "waiting_for": "waits for archive (1 of 2 edges is closed)"}),
            ),
        ];

        let wanted = "\
\x20      TASK       STATE      TOOK  TRIES  AFTER           NOTE
 ┌─ ✓  extract *  succeeded  5s
 │
 ├─ ✓  check      succeeded  15s          extract
 ├─ ▶  archive *  running    55s          extract
 │
 └─ …  load       waiting                 check, archive  waits for archive (1 of 2 edges is closed)
";
        assert_eq!(draw(&tasks, &["extract", "archive"]), wanted);
    }

    #[test]
    fn a_for_each_is_one_line_with_counts_and_finally_comes_last() {
        let branches = json!({"total": 250, "counts": {"held": 5, "succeeded": 245}, "at_least": false});
        let failed = json!({"state": "failed", "attempts": 3, "tries": 1,
            "error": {"code": "http_5xx", "message": "no", "retryable": true}});
        let tasks = [
            task("each", &[], &json!({"state": "waiting", "kind": "for_each", "branches": branches})),
            task("bad", &[], &failed),
            task("join", &["each", "bad"], &json!({"rule": "none_failed"})),
            task("tidy", &[], &json!({"in_finally": true})),
        ];

        let wanted = "\
\x20      TASK     STATE    TOOK  TRIES  AFTER                     NOTE
 ┌─ …  each     waiting                                         250 branches: 5 held, 245 succeeded
 ├─ ✗  bad      failed         3                                http_5xx: no
 │
 ├─ ·  join     pending               none_failed of each, bad
 │     finally
 └─ ·  tidy     pending
";
        assert_eq!(draw(&tasks, &[]), wanted);
    }

    #[test]
    fn what_was_reused_and_what_is_held_is_marked() {
        let branches = json!({"total": 200, "counts": {"held": 2, "succeeded": 198}, "at_least": false});
        let held = "2 of its 200 branches are held: retry, skip, succeed or fail them";
        let tasks = [
            task("extract", &[], &json!({"state": "succeeded", "reused": "run_1"})),
            task(
                "each",
                &[],
                &json!({"state": "waiting", "kind": "for_each", "branches": branches, "waiting_for": held}),
            ),
        ];

        let drawn = draw(&tasks, &[]);

        assert!(drawn.contains("reused: it had succeeded in the run that this one resumes"), "{drawn}");
        assert!(drawn.contains(held), "{drawn}");
    }

    #[test]
    fn what_failed_is_named_with_why() {
        let error = json!({"code": "http_5xx", "message": "503 Service Unavailable", "retryable": true});
        let branches = json!({"total": 9, "counts": {"failed": 2, "timed_out": 1, "succeeded": 6}, "at_least": false});
        let mut tasks = vec![
            task("good", &[], &json!({"state": "succeeded"})),
            task("bad", &[], &json!({"state": "failed", "reason": "error", "error": error, "allow_failure": true})),
            task("each", &[], &json!({"state": "failed", "reason": "task", "kind": "for_each", "branches": branches})),
            task("slow", &[], &json!({"state": "timed_out"})),
        ];

        assert_eq!(
            failed(&tasks),
            [
                "bad failed: http_5xx: 503 Service Unavailable (which was allowed)",
                "each failed: 3 of its 9 branches failed",
                "slow timed_out"
            ]
        );
        tasks.extend((0..30).map(|n| task(&format!("t{n}"), &[], &json!({"state": "failed"}))));
        assert_eq!(failed(&tasks).last().unwrap(), "and 13 tasks more");
    }

    #[test]
    fn one_task_and_sixty_in_a_chain_stay_readable() {
        assert!(draw(&[task("only", &[], &json!({}))], &[]).contains("\n ── ·  only  pending"));
        let keys: Vec<String> = (0..60).map(|number| format!("t{number}")).collect();
        let chain: Vec<RunTaskView> = (0..60)
            .map(|at: usize| {
                let on: Vec<&str> = at.checked_sub(1).map(|before| keys[before].as_str()).into_iter().collect();
                task(&keys[at], &on, &json!({}))
            })
            .collect();

        let drawn = draw(&chain, &[]);

        assert!(drawn.lines().all(|line| line.chars().count() < 60), "{drawn}");
        assert_eq!(drawn.lines().count(), 1 + 60 + 59);
    }
}
