//! The rules of the judge of jobs behind others.

use minutehand_simulation::campaign::Of;

use super::kept;

#[test]
fn an_end_has_one_follower_of_a_job() {
    kept(Of::Followers, "an end has one follower of a job", 6);
}

#[test]
fn nothing_follows_what_is_not_over() {
    kept(Of::Followers, "nothing follows what is not over", 6);
}

#[test]
fn only_what_waits_for_such_an_end_follows_it() {
    kept(Of::Followers, "only what waits for such an end follows it", 6);
}

#[test]
fn what_came_to_nothing_is_not_followed() {
    kept(Of::Followers, "what came to nothing is not followed", 6);
}

#[test]
fn what_follows_a_run_comes_to_its_end() {
    kept(Of::Followers, "what follows a run comes to its end", 6);
}

#[test]
fn what_follows_a_run_follows_one_that_is_there() {
    kept(Of::Followers, "what follows a run follows one that is there", 6);
}

#[test]
fn what_follows_a_run_is_called_after_its_end() {
    kept(Of::Followers, "what follows a run is called after its end", 6);
}

#[test]
fn what_follows_a_run_is_there() {
    kept(Of::Followers, "what follows a run is there", 6);
}

#[test]
fn what_follows_a_run_runs() {
    kept(Of::Followers, "what follows a run runs", 6);
}

#[test]
fn what_runs_behind_another_says_behind_which_run() {
    kept(Of::Followers, "what runs behind another says behind which run", 6);
}
