//! The rules of the judge of dead letters.

use minutehand_simulation::campaign::Of;

use super::kept;

#[test]
fn a_letter_is_listed_once() {
    kept(Of::Letters, "a letter is listed once", 6);
}

#[test]
fn a_letter_is_tried_again_once() {
    kept(Of::Letters, "a letter is tried again once", 30);
}

#[test]
fn a_confirmed_redrive_has_its_run() {
    kept(Of::Letters, "a confirmed redrive has its run", 6);
}

#[test]
fn another_try_comes_to_its_end() {
    kept(Of::Letters, "another try comes to its end", 30);
}

#[test]
fn a_redrive_and_a_dismissal_of_one_letter_are_not_both_confirmed() {
    kept(Of::Letters, "a redrive and a dismissal of one letter are not both confirmed", 6);
}

#[test]
fn what_is_listed_has_failed() {
    kept(Of::Letters, "what is listed has failed", 6);
}

#[test]
fn what_is_tried_again_has_failed() {
    kept(Of::Letters, "what is tried again has failed", 24);
}

#[test]
fn what_nobody_saw_to_is_listed() {
    kept(Of::Letters, "what nobody saw to is listed", 30);
}

#[test]
fn a_letter_is_not_listed_once_its_redrive_or_dismissal_was_confirmed() {
    kept(Of::Letters, "a letter is not listed once its redrive or dismissal was confirmed", 6);
}

#[test]
fn what_was_dismissed_is_not_tried_again() {
    kept(Of::Letters, "what was dismissed is not tried again", 6);
}

#[test]
fn what_was_tried_again_is_not_listed() {
    kept(Of::Letters, "what was tried again is not listed", 6);
}

#[test]
fn each_redrive_of_a_letter_is_answered_with_the_same_run() {
    kept(Of::Letters, "each redrive of a letter is answered with the same run", 30);
}
