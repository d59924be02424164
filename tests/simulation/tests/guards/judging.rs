//! The judge's rules, each shown a mutation of the code under judgement that it notices: `guards.toml` has them beside the
//! removed guards. A rule that no mutation breaks would prove nothing.
//!
//! Histories are drawn: each rule is asked of the first so many, and stops at the first that breaks it. Where another draw
//! moves them too far, `which_rules_notice` finds how many it takes.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use minutehand_simulation::history::history;

/// The rules that each history broke; each is played once in a process.
static BROKEN: Mutex<BTreeMap<u64, Vec<&'static str>>> = Mutex::new(BTreeMap::new());

fn broken_by(seed: u64) -> Vec<&'static str> {
    if let Some(known) = BROKEN.lock().unwrap_or_else(PoisonError::into_inner).get(&seed) {
        return known.clone();
    }
    let rules: Vec<_> = history(seed).violations.into_iter().map(|violation| violation.rule).collect();
    BROKEN.lock().unwrap_or_else(PoisonError::into_inner).insert(seed, rules.clone());
    rules
}

macro_rules! rules {
    ($($name:ident: $rule:literal within $histories:literal;)*) => {$(
        #[test]
        fn $name() {
            for seed in 1..=$histories {
                assert!(!broken_by(seed).contains(&$rule), "{} in history {seed}", $rule);
            }
        }
    )*};
}

rules! {
    an_acknowledged_job_exists: "an acknowledged job exists" within 5;
    a_key_creates_once: "a key creates once" within 20;
    every_occurrence_has_its_record: "every occurrence has its record" within 5;
    what_stays_in_force_is_not_superseded: "what stays in force is not superseded" within 5;
    nothing_is_lost_around_a_change: "nothing is lost around a change" within 150;
    every_asked_run_has_its_record: "every asked run has its record" within 10;
    an_acknowledged_run_is_not_skipped: "an acknowledged run is not skipped" within 10;
    the_chain_goes_on: "the chain goes on" within 40;
    nothing_starts_in_a_pause_or_after_a_delete: "nothing starts in a pause or after a delete" within 20;
    an_occurrence_of_a_pause_does_not_fire: "an occurrence of a pause does not fire" within 20;
    what_starts_is_an_occurrence: "what starts is an occurrence" within 20;
    what_was_deleted_is_not_tried_again: "what was deleted is not tried again" within 150;
    at_most_once_is_at_most_once: "at most once is at most once" within 60;
    what_was_cancelled_does_not_start: "what was cancelled does not start" within 200;
    every_run_comes_to_its_end: "every run comes to its end" within 60;
    every_attempt_comes_to_its_end: "every attempt comes to its end" within 20;
    no_attempt_is_forgotten: "no attempt is forgotten" within 20;
    a_throttle_is_nobodys_failure: "a throttle is nobody's failure" within 150;
    a_success_was_called: "a success was called" within 5;
    nothing_starts_early: "nothing starts early" within 10;
    one_call_a_fence: "one call a fence" within 10;
    one_live_lease: "one live lease" within 10;
    no_timer_leaks: "no timer leaks" within 20;
    the_sweep_keeps_up: "the sweep keeps up" within 5;
    in_calm_an_occurrence_starts_on_time: "in calm an occurrence starts on time" within 20;
    in_calm_nothing_is_missed: "in calm nothing is missed" within 20;
    in_calm_few_hints_are_given: "in calm few hints are given" within 60;
    in_calm_few_writes_are_made: "in calm few writes are made" within 20;
    a_job_costs_what_it_does: "a job costs what it does" within 60;
    what_was_answered_was_written: "what was answered was written" within 10;
    what_was_answered_is_not_taken_back: "what was answered is not taken back" within 10;
    an_answer_shows_what_was_asked: "an answer shows what was asked" within 20;
    a_generation_names_one_state: "a generation names one state" within 10;
    a_list_shows_a_job_once: "a list shows a job once" within 60;
    a_list_shows_each_job: "a list shows each job" within 20;
    a_list_shows_a_tenant_its_own_jobs: "a list shows a tenant its own jobs" within 60;
    nothing_begins_too_late: "nothing begins too late" within 60;
    what_was_missed_was_too_late: "what was missed was too late" within 60;
    a_catch_up_is_what_its_policy_says: "a catch-up is what its policy says" within 60;
    an_outage_is_over_before_it_is_recorded: "an outage is over before it is recorded" within 20;
}

/// For who writes another rule or mutation: `MINUTEHAND_REMOVED_GUARD=name` and the binary of `cargo guards`.
#[test]
#[ignore = "a tool: it says which rules a mutation breaks, and in which histories"]
fn which_rules_notice() {
    let last = std::env::var("SIMULATION_HISTORIES").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let mut seeds: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for seed in 1..=last {
        let mut rules = std::panic::catch_unwind(|| broken_by(seed)).unwrap_or_else(|_| vec!["it panicked"]);
        rules.sort_unstable();
        rules.dedup();
        for rule in rules {
            seeds.entry(rule).or_default().push(seed);
        }
    }
    for (rule, seeds) in seeds {
        eprintln!("{rule}: {} histories, {:?}", seeds.len(), &seeds[..seeds.len().min(6)]);
    }
}
