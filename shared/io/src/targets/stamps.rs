//! The stamps of a call: what a target is told of the run that it is called for, whatever kind of target it is.

use minutehand_domain::id::Origin;
use minutehand_domain::order::TaskName;

use super::Call;

/// The names as headers have them; with a branch of a task and a state of a trace they are ten, as many as SQS takes. The idempotency key is the same for all attempts of a run, so that the target can tell a retry from a
/// new run. The fence grows with every attempt, so that the target can tell a late attempt from the newest.
pub(super) fn stamps(call: &Call<'_>) -> Vec<(&'static str, String)> {
    let attempt = call.attempt.to_string();
    let mut stamps = of_the_run(call);
    stamps.extend([
        ("minutehand-attempt", attempt.clone()),
        ("minutehand-fence", attempt),
        ("traceparent", call.trace.to_string()),
    ]);
    stamps.extend(call.trace.state.as_ref().map(|state| ("tracestate", state.as_str().to_owned())));
    stamps
}

/// Those that are the same for each attempt.
pub(super) fn of_the_run(call: &Call<'_>) -> Vec<(&'static str, String)> {
    let run = call.run.to_string();
    let mut stamps = vec![
        ("idempotency-key", run.clone()),
        ("minutehand-run", run),
        ("minutehand-scheduled-at", call.scheduled_at.to_string()),
    ];
    stamps.extend(call.follows.map(|run| ("minutehand-follows", run.to_string())));
    stamps.extend(whose(call));
    stamps
}

/// What the run is of: a job, or a task of a workflow's run. A callback's is of neither.
fn whose(call: &Call<'_>) -> Vec<(&'static str, String)> {
    let Some(TaskName { workflow_run, key, branch }) = call.task else {
        if call.run.origin == Origin::Callback {
            return Vec::new(); // the run that it tells of is in its body
        }
        return vec![("minutehand-job", call.run.job.to_string())];
    };
    let mut whose = vec![("minutehand-workflow-run", workflow_run.to_string()), ("minutehand-task", key.to_string())];
    whose.extend(branch.map(|branch| ("minutehand-branch", branch.to_string())));
    whose
}
