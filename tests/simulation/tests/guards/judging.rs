//! The judge's rules, each shown a mutation of the code under judgement that it notices: `guards.toml` has them beside the
//! removed guards. A rule that no mutation breaks would prove nothing.
//!
//! Histories are drawn: each rule is asked of the first so many, and stops at the first that breaks it. Where another draw
//! moves them too far, `cargo guards` has built what finds how many it takes, and which rules a mutation breaks:
//! `RUST_MIN_STACK=33554432 MINUTEHAND_REMOVED_GUARD=judged-early target/guards/build/debug/simulate --histories 150`,
//! with `--of graphs` and so on for others.
//! A bound is some three times as many, so that the next draw does not pass it by; histories are played once for all rules.

mod backfills;
mod callbacks;
mod followers;
mod graphs;
mod letters;
mod notifications;
mod workers;

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use minutehand_simulation::campaign::{Of, played};

/// The rules that each history broke; each is played once in a process.
static BROKEN: Mutex<BTreeMap<(Of, u64), Vec<&'static str>>> = Mutex::new(BTreeMap::new());

fn broken_by(of: Of, seed: u64) -> Vec<&'static str> {
    if let Some(known) = BROKEN.lock().unwrap_or_else(PoisonError::into_inner).get(&(of, seed)) {
        return known.clone();
    }
    // A history that a mutation makes panic breaks no rule by that.
    let rules: Vec<_> = played(of.history(), seed).violations.into_iter().map(|violation| violation.rule).collect();
    BROKEN.lock().unwrap_or_else(PoisonError::into_inner).insert((of, seed), rules.clone());
    rules
}

/// No history among the first so many breaks this rule.
fn kept(of: Of, rule: &str, histories: u64) {
    kept_in(of, rule, 1..=histories);
}

/// None of these does: of those that a mutation breaks more seldom than once in fifty, some that it does.
fn kept_in(of: Of, rule: &str, histories: impl IntoIterator<Item = u64>) {
    for seed in histories {
        assert!(!broken_by(of, seed).contains(&rule), "{rule} in history {seed}");
    }
}

#[test]
fn an_acknowledged_job_exists() {
    kept(Of::Jobs, "an acknowledged job exists", 20);
}

#[test]
fn a_key_creates_once() {
    kept(Of::Jobs, "a key creates once", 60);
}

#[test]
fn every_occurrence_has_its_record() {
    kept(Of::Jobs, "every occurrence has its record", 20);
}

#[test]
fn what_is_to_come_is_not_passed_over() {
    kept(Of::Jobs, "what is to come is not passed over", 400);
}

#[test]
fn what_stays_in_force_is_not_superseded() {
    kept(Of::Jobs, "what stays in force is not superseded", 20);
}

#[test]
fn nothing_is_lost_around_a_change() {
    kept(Of::Jobs, "nothing is lost around a change", 260);
}

#[test]
fn every_asked_run_has_its_record() {
    kept(Of::Jobs, "every asked run has its record", 40);
}

#[test]
fn an_acknowledged_run_is_not_skipped() {
    kept(Of::Jobs, "an acknowledged run is not skipped", 40);
}

#[test]
fn the_chain_goes_on() {
    kept(Of::Jobs, "the chain goes on", 150);
}

#[test]
fn nothing_starts_in_a_pause_or_after_a_delete() {
    kept(Of::Jobs, "nothing starts in a pause or after a delete", 60);
}

#[test]
fn an_occurrence_of_a_pause_does_not_fire() {
    kept(Of::Jobs, "an occurrence of a pause does not fire", 60);
}

#[test]
fn what_starts_is_an_occurrence() {
    kept(Of::Jobs, "what starts is an occurrence", 60);
}

#[test]
fn what_was_deleted_is_not_tried_again() {
    kept(Of::Jobs, "what was deleted is not tried again", 150);
}

#[test]
fn at_most_once_is_at_most_once() {
    kept(Of::Jobs, "at most once is at most once", 150);
}

#[test]
fn what_was_cancelled_does_not_start() {
    kept(Of::Jobs, "what was cancelled does not start", 60);
}

#[test]
fn what_calendars_take_is_on_record() {
    kept(Of::Jobs, "what calendars take is on record", 60);
}

#[test]
fn the_record_of_a_calendar_covers_what_one_took() {
    kept(Of::Jobs, "the record of a calendar covers what one took", 60);
}

#[test]
fn what_has_one_instant_begins_once() {
    kept(Of::Jobs, "what has one instant begins once", 660);
}

#[test]
fn every_run_comes_to_its_end() {
    kept(Of::Jobs, "every run comes to its end", 150);
}

#[test]
fn every_attempt_comes_to_its_end() {
    kept(Of::Jobs, "every attempt comes to its end", 60);
}

#[test]
fn no_attempt_is_forgotten() {
    kept(Of::Jobs, "no attempt is forgotten", 60);
}

#[test]
fn an_end_is_counted_once() {
    kept(Of::Jobs, "an end is counted once", 60);
}

#[test]
fn a_day_is_what_ended_in_it() {
    kept(Of::Jobs, "a day is what ended in it", 60);
}

#[test]
fn an_explanation_is_true() {
    kept(Of::Jobs, "an explanation is true", 150);
}

#[test]
fn an_explanation_says_why() {
    kept(Of::Jobs, "an explanation says why", 150);
}

#[test]
fn whoever_is_late_says_so() {
    kept(Of::Jobs, "whoever is late says so", 60);
}

#[test]
fn nobody_is_late_before_its_time() {
    kept(Of::Jobs, "nobody is late before its time", 60);
}

#[test]
fn a_throttle_is_nobodys_failure() {
    kept(Of::Jobs, "a throttle is nobody's failure", 1_000);
}

#[test]
fn a_success_was_called() {
    kept(Of::Jobs, "a success was called", 20);
}

#[test]
fn nothing_starts_early() {
    kept(Of::Jobs, "nothing starts early", 40);
}

#[test]
fn one_call_a_fence() {
    kept(Of::Jobs, "one call a fence", 40);
}

#[test]
fn one_live_lease() {
    kept(Of::Jobs, "one live lease", 40);
}

#[test]
fn no_timer_leaks() {
    kept(Of::Jobs, "no timer leaks", 150);
}

#[test]
fn the_sweep_keeps_up() {
    kept(Of::Jobs, "the sweep keeps up", 20);
}

#[test]
fn in_calm_an_occurrence_starts_on_time() {
    kept(Of::Jobs, "in calm an occurrence starts on time", 60);
}

#[test]
fn in_calm_what_lost_its_hint_is_found() {
    kept_in(Of::Jobs, "in calm what lost its hint is found", [170, 171, 183, 203, 222]);
}

#[test]
fn in_calm_nothing_is_missed() {
    kept(Of::Jobs, "in calm nothing is missed", 60);
}

#[test]
fn in_calm_few_hints_are_given() {
    kept(Of::Jobs, "in calm few hints are given", 150);
}

#[test]
fn in_calm_few_writes_are_made() {
    kept(Of::Jobs, "in calm few writes are made", 60);
}

#[test]
fn a_job_costs_what_it_does() {
    kept(Of::Jobs, "a job costs what it does", 150);
}

#[test]
fn what_was_answered_was_written() {
    kept(Of::Jobs, "what was answered was written", 40);
}

#[test]
fn what_was_answered_is_not_taken_back() {
    kept(Of::Jobs, "what was answered is not taken back", 40);
}

#[test]
fn what_was_deleted_stays_deleted() {
    kept(Of::Jobs, "what was deleted stays deleted", 150);
}

#[test]
fn an_answer_shows_what_was_asked() {
    kept(Of::Jobs, "an answer shows what was asked", 60);
}

#[test]
fn a_generation_names_one_state() {
    kept(Of::Jobs, "a generation names one state", 40);
}

#[test]
fn a_list_shows_a_job_once() {
    kept(Of::Jobs, "a list shows a job once", 150);
}

#[test]
fn a_list_shows_each_job() {
    kept(Of::Jobs, "a list shows each job", 60);
}

#[test]
fn a_list_shows_a_tenant_its_own_jobs() {
    kept(Of::Jobs, "a list shows a tenant its own jobs", 150);
}

#[test]
fn nothing_begins_too_late() {
    kept(Of::Jobs, "nothing begins too late", 150);
}

#[test]
fn what_was_missed_was_too_late() {
    kept(Of::Jobs, "what was missed was too late", 150);
}

#[test]
fn a_catch_up_is_what_its_policy_says() {
    kept(Of::Jobs, "a catch-up is what its policy says", 150);
}

#[test]
fn an_outage_is_over_before_it_is_recorded() {
    kept(Of::Jobs, "an outage is over before it is recorded", 60);
}

#[test]
fn what_may_be_waiting_is_not_passed_over() {
    kept_in(Of::Jobs, "what may be waiting is not passed over", [146, 181, 188, 232, 282]);
}

#[test]
fn what_is_made_up_for_begins_at_its_pace() {
    kept(Of::Jobs, "what is made up for begins at its pace", 150);
}
