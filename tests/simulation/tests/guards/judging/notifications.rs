//! The rules of the judge of notifications.

use minutehand_simulation::campaign::Of;

use super::kept;

#[test]
fn a_message_comes_to_its_end() {
    kept(Of::Notifications, "a message comes to its end", 6);
}

#[test]
fn a_message_names_some_of_what_it_counts() {
    kept(Of::Notifications, "a message names some of what it counts", 6);
}

#[test]
fn a_message_tells_of_something() {
    kept(Of::Notifications, "a message tells of something", 24);
}

#[test]
fn an_end_is_told_once() {
    kept(Of::Notifications, "an end is told once", 9);
}

#[test]
fn as_many_are_told_as_were_to_be() {
    kept(Of::Notifications, "as many are told as were to be", 6);
}

#[test]
fn each_end_is_told() {
    kept(Of::Notifications, "each end is told", 6);
}

#[test]
fn nothing_is_sent_before_its_window_is_over() {
    kept(Of::Notifications, "nothing is sent before its window is over", 6);
}

#[test]
fn what_is_sent_says_what_was_made() {
    kept(Of::Notifications, "what is sent says what was made", 6);
}

#[test]
fn what_is_sent_was_made() {
    kept(Of::Notifications, "what is sent was made", 6);
}

#[test]
fn what_is_told_was_to_be_told() {
    kept(Of::Notifications, "what is told was to be told", 6);
}

#[test]
fn what_was_received_was_sent() {
    kept(Of::Notifications, "what was received was sent", 6);
}
