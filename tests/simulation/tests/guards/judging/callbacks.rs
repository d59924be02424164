//! The rules of the judge of callbacks and hooks.

use minutehand_simulation::campaign::Of;

use super::kept;

#[test]
fn a_callback_has_its_tries() {
    kept(Of::Callbacks, "a callback has its tries", 12);
}

#[test]
fn a_target_is_called_where_whoever_is_asked_before_lets_it_be() {
    kept(Of::Callbacks, "a target is called where whoever is asked before lets it be", 18);
}

#[test]
fn each_end_that_asked_for_it_has_one_callback_and_no_other() {
    kept(Of::Callbacks, "each end that asked for it has one callback, and no other", 6);
}

#[test]
fn nobody_is_told_of_an_end_before_it_is_written() {
    kept(Of::Callbacks, "nobody is told of an end before it is written", 18);
}

#[test]
fn who_is_vetoed_was_vetoed_by_somebody() {
    kept(Of::Callbacks, "who is vetoed was vetoed by somebody", 6);
}

#[test]
fn whoever_is_to_be_told_is_called_until_it_hears_or_has_had_its_tries() {
    kept(Of::Callbacks, "whoever is to be told is called until it hears, or has had its tries", 6);
}
