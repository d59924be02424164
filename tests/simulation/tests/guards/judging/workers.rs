//! The rules of the judge of workers.

use minutehand_simulation::campaign::Of;

use super::kept;

#[test]
fn a_claim_is_one_workers() {
    kept(Of::Workers, "a claim is one worker's", 6);
}

#[test]
fn a_claim_is_written() {
    kept(Of::Workers, "a claim is written", 36);
}

#[test]
fn a_result_is_its_last_holders() {
    kept(Of::Workers, "a result is its last holder's", 6);
}

#[test]
fn a_run_that_was_given_has_a_record() {
    kept(Of::Workers, "a run that was given has a record", 6);
}

#[test]
fn an_effect_is_made_once() {
    kept(Of::Workers, "an effect is made once", 9);
}

#[test]
fn at_most_one_worker_has_a_run() {
    kept(Of::Workers, "at most one worker has a run", 6);
}

#[test]
fn every_run_comes_to_its_end() {
    kept(Of::Workers, "every run comes to its end", 6);
}

#[test]
fn only_failures_count_as_failures() {
    kept(Of::Workers, "only failures count as failures", 12);
}

#[test]
fn what_came_of_an_effect_is_told() {
    kept(Of::Workers, "what came of an effect is told", 6);
}

#[test]
fn what_is_kept_reaches_the_next_holder() {
    kept(Of::Workers, "what is kept reaches the next holder", 6);
}

#[test]
fn what_is_told_of_an_effect_was_said() {
    kept(Of::Workers, "what is told of an effect was said", 6);
}

#[test]
fn what_the_next_holder_is_given_was_kept() {
    kept(Of::Workers, "what the next holder is given was kept", 6);
}

#[test]
fn what_was_taken_stands() {
    kept(Of::Workers, "what was taken stands", 36);
}

#[test]
fn who_shows_another_token_is_refused() {
    kept(Of::Workers, "who shows another token is refused", 6);
}
