//! The rules of the judge of graphs.

use minutehand_simulation::campaign::Of;

use super::{kept, kept_in};

#[test]
fn a_branch_waits_for_its_lane() {
    kept(Of::Graphs, "a branch waits for its lane", 21);
}

#[test]
fn a_failure_is_told() {
    kept(Of::Graphs, "a failure is told", 21);
}

#[test]
fn a_for_each_ends_as_its_branches_say() {
    kept(Of::Graphs, "a for_each ends as its branches say", 21);
}

#[test]
fn a_for_each_has_a_branch_for_each_item() {
    kept(Of::Graphs, "a for_each has a branch for each item", 6);
}

#[test]
fn a_for_each_has_a_list() {
    kept_in(Of::Graphs, "a for_each has a list", [102, 145, 151, 152, 162]);
}

#[test]
fn a_place_is_given_back() {
    kept(Of::Graphs, "a place is given back", 27);
}

#[test]
fn a_question_ends_as_it_was_answered() {
    kept(Of::Graphs, "a question ends as it was answered", 9);
}

#[test]
fn a_result_is_what_its_tasks_answered() {
    kept(Of::Graphs, "a result is what its tasks answered", 21);
}

#[test]
fn a_retry_is_made() {
    kept(Of::Graphs, "a retry is made", 12);
}

#[test]
fn a_run_ends_after_its_tasks() {
    kept(Of::Graphs, "a run ends after its tasks", 21);
}

#[test]
fn a_run_ends_once() {
    kept(Of::Graphs, "a run ends once", 6);
}

#[test]
fn a_run_is_gone_on_with_once() {
    kept(Of::Graphs, "a run is gone on with once", 57);
}

#[test]
fn a_run_is_of_the_newest_version() {
    kept(Of::Graphs, "a run is of the newest version", 54);
}

#[test]
fn a_run_is_stopped_for_a_reason() {
    kept(Of::Graphs, "a run is stopped for a reason", 21);
}

#[test]
fn a_run_that_was_told_of_is_there() {
    kept(Of::Graphs, "a run that was told of is there", 6);
}

#[test]
fn a_task_calls_its_own_target() {
    kept(Of::Graphs, "a task calls its own target", 6);
}

#[test]
fn a_task_does_what_its_edges_say() {
    kept(Of::Graphs, "a task does what its edges say", 6);
}

#[test]
fn a_task_ends_as_its_target_answered() {
    kept(Of::Graphs, "a task ends as its target answered", 6);
}

#[test]
fn a_task_has_a_parent() {
    kept(Of::Graphs, "a task has a parent", 6);
}

#[test]
fn a_task_is_given_what_it_asks_for() {
    kept(Of::Graphs, "a task is given what it asks for", 6);
}

#[test]
fn a_workflow_ends_as_its_tasks_say() {
    kept(Of::Graphs, "a workflow ends as its tasks say", 6);
}

#[test]
fn at_most_once_is_at_most_once() {
    kept(Of::Graphs, "at most once is at most once", 12);
}

#[test]
fn every_run_of_a_graph_comes_to_its_end() {
    kept(Of::Graphs, "every run of a graph comes to its end", 6);
}

#[test]
fn finally_comes_last() {
    kept(Of::Graphs, "finally comes last", 6);
}

#[test]
fn finally_runs_whatever_happened() {
    kept(Of::Graphs, "finally runs whatever happened", 6);
}

#[test]
fn no_more_branches_at_once_than_lanes() {
    kept(Of::Graphs, "no more branches at once than lanes", 21);
}

#[test]
fn no_more_runs_at_once_than_may_be() {
    kept(Of::Graphs, "no more runs at once than may be", 30);
}

#[test]
fn no_timer_of_a_run_that_is_over_is_left() {
    kept(Of::Graphs, "no timer of a run that is over is left", 6);
}

#[test]
fn nobody_is_left_in_a_line() {
    kept(Of::Graphs, "nobody is left in a line", 27);
}

#[test]
fn nothing_starts_before_what_it_depends_on() {
    kept(Of::Graphs, "nothing starts before what it depends on", 6);
}

#[test]
fn nothing_starts_below_what_is_over() {
    kept(Of::Graphs, "nothing starts below what is over", 36);
}

#[test]
fn one_call_a_claim() {
    kept(Of::Graphs, "one call a claim", 6);
}

#[test]
fn one_live_call_of_a_task() {
    kept(Of::Graphs, "one live call of a task", 6);
}

#[test]
fn only_a_verdict_makes_another_try() {
    kept(Of::Graphs, "only a verdict makes another try", 12);
}

#[test]
fn what_is_given_up_cannot_begin() {
    kept(Of::Graphs, "what is given up cannot begin", 57);
}

#[test]
fn what_must_run_has_a_record() {
    kept(Of::Graphs, "what must run has a record", 6);
}

#[test]
fn what_was_decided_stands() {
    kept(Of::Graphs, "what was decided stands", 9);
}

#[test]
fn what_was_done_before_is_not_done_again() {
    kept(Of::Graphs, "what was done before is not done again", 45);
}

#[test]
fn whoever_holds_a_place_is_there() {
    kept(Of::Graphs, "whoever holds a place is there", 27);
}
