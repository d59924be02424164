//! A few thousand histories with every test run; millions by `cargo run --release -p minutehand-simulation -- --histories
//! 1000000`. A failing seed is played again with `-- --seed N`, and `SIMULATION_TRACE=1` shows its every write. `-- --of graphs` plays those of
//! graphs, and so on.

use minutehand_simulation::campaign::{Campaign, Of};

/// None of the first so many histories breaks a rule, and `each` of them have met as much as is said, so that no suite can become empty.
fn keeps(of: Of, histories: u64, each: u64, least: &[(&str, u64)]) {
    let campaign = Campaign::play(of, 1, histories, 2);

    assert!(campaign.failed.is_empty(), "{campaign}");
    for &(what, least) in least {
        let (met, least) = (campaign.count(what), least * (histories / each));
        assert!(met >= least, "only {met} of at least {least}: {what}");
    }
}

#[test]
fn no_history_loses_doubles_or_forgets_anything() {
    keeps(Of::Jobs, 2_000, 1_000, OF_JOBS);
}

#[test]
fn no_graph_is_stuck_and_each_task_of_it_does_what_it_must() {
    keeps(Of::Graphs, 100, 100, OF_GRAPHS);
}

#[test]
fn no_run_of_a_worker_is_stuck_or_anothers() {
    keeps(Of::Workers, 100, 100, OF_WORKERS);
}

#[test]
fn each_end_that_asked_for_it_is_told_of_and_nobody_is_called_after_a_no() {
    let least = [("repair asked for", 15), ("told", 1_000), ("met a no", 10), ("met a failure", 10)];
    keeps(Of::Callbacks, 160, 160, &least);
}

#[test]
fn each_end_is_followed_once_whatever_goes_wrong() {
    let least = [("repair asked for", 15), ("follower", 3_000), ("follower: upstream", 300), ("follower: paused", 20)];
    keeps(Of::Followers, 150, 150, &least);
}

#[test]
fn no_history_of_dead_letters_breaks_a_rule() {
    let least = [
        ("repair asked for", 15),
        ("clerk: redrive 202", 1),
        ("clerk: redrive 200", 1),
        ("clerk: redrive 409", 1),
        ("clerk: dismiss 200", 1),
        ("clerk: dismiss 409", 1),
    ];
    keeps(Of::Letters, 180, 180, &least);
}

#[test]
fn each_end_is_notified_of_once_whatever_goes_wrong() {
    let least = [
        ("repair asked for", 15),
        ("end: ", 3_000),
        ("end: failed", 1),
        ("end: late", 1),
        ("end: missed", 1),
        ("end: sla", 1),
        ("message", 1_000),
    ];
    keeps(Of::Notifications, 150, 150, &least);
}

#[test]
fn each_occurrence_is_begun_once_whoever_makes_up_for_it() {
    let least = [
        ("repair asked for", 15),
        ("occurrence begun", 10_000),
        ("made up for", 5_000),
        ("cancellation told", 10),
        ("operation paused", 20),
    ];
    keeps(Of::Backfills, 150, 150, &least);
}

#[test]
fn a_seed_is_the_same_history_again() {
    for of in Of::ALL {
        for seed in [7, 42] {
            let (once, again) = (of.history()(seed), of.history()(seed));

            assert_eq!(
                (once.steps, once.tally, once.violations),
                (again.steps, again.tally, again.violations),
                "{of:?}"
            );
        }
    }
}

/// What each thousand histories must at least have met, so that the suite cannot become empty.
const OF_JOBS: &[(&str, u64)] = &[
    // Courses.
    ("course rough", 400),
    ("course throttled", 80),
    ("course calm", 25),
    ("course hints lost", 30),
    ("course outage", 35),
    ("course crowd", 8),
    ("course machine", 90),
    ("course clocks", 30),
    // Faults: at every port, before it acts and after.
    ("crash Before put_head", 5),
    ("crash After put_head", 5),
    ("crash Before put_run", 100),
    ("crash After put_run", 100),
    ("crash Before put_timer", 50),
    ("crash After put_timer", 50),
    ("crash Before erase_timer", 50),
    ("crash After erase_timer", 50),
    ("crash After put_attempt", 3),
    ("crash Before send", 50),
    ("crash After send", 50),
    ("crash After call", 20),
    ("crash Before put_cursor", 10),
    ("crash After put_cursor", 10),
    ("stall Before put_head", 5),
    ("stall After put_head", 5),
    ("stall Before put_run", 100),
    ("stall After put_run", 100),
    ("stall After head", 200),
    ("stall After call", 50),
    ("stall Before put_timer_if_absent", 50),
    ("stall After timers", 200),
    ("fault Before put_head", 5),
    ("fault After put_head", 5),
    ("fault After put_run", 100),
    ("fault After put_timer", 50),
    ("fault After erase_timer", 50),
    ("hint lost", 500),
    ("hint doubled", 500),
    ("hint late", 500),
    ("hint to the dead letters", 20),
    ("visibility expired early", 45),
    ("queue purged", 50),
    ("repaired", 150),
    ("sweeper dead for minutes", 100),
    ("sweeper dead for hours", 35),
    ("hint hours late", 10),
    ("sweeper cut off from", 100),
    ("executor cut off from", 200),
    ("unreachable state", 100),
    ("unreachable timers", 100),
    ("unreachable queues", 50),
    ("machine started over", 100),
    ("machine slept", 20),
    ("machine left alone", 10),
    ("secret named", 150),
    ("crash After secret", 1),
    ("delete answered", 30),
    ("machine did not start", 10),
    ("runs taken over", 10),
    ("nobody listened", 1),
    ("sweep killed by its deadline", 10),
    ("pass unfinished", 1),
    ("pass overtaken", 5),
    ("page of all timers searched", 1000),
    // Clocks that are set.
    ("clocks of all set ahead", 20),
    ("clocks of all set behind", 15),
    ("clocks of all set right", 40),
    ("clock of one set ahead", 10),
    ("clock of one set right", 10),
    ("a clock ahead by minutes", 18),
    ("a clock ahead by hours", 10),
    ("a clock ahead by days", 2),
    ("a clock behind by minutes", 8),
    ("a clock behind by hours", 3),
    ("a clock behind by days", 1),
    ("clocks set while hints are lost", 12),
    // What befalls them beside their course.
    ("page of timers cut short", 5_000),
    ("two releases side by side", 30),
    ("damaged timer", 40),
    ("damaged run", 30),
    ("damaged head", 10),
    ("damaged cursor", 12),
    ("unreadable item met", 200),
    // Faults of AWS's ports.
    ("throttled state head", 800),
    ("throttled state put_run", 200),
    ("throttled state put_head", 5),
    ("throttled state signing", 50),
    ("throttled timers put_timer", 300),
    ("throttled timers timers", 100),
    ("throttled timers put_cursor", 1),
    ("throttled queues send", 50),
    ("throttled queues hide", 50),
    ("write tried twice", 1000),
    ("own write overtaken before its second try", 1),
    ("own write known by a look", 150),
    ("timer put again by an echo", 100),
    ("timer of a later generation kept", 30),
    ("send of a partial batch failed", 300),
    ("send of a partial batch went through", 300),
    ("list of jobs lagged", 30),
    // Batches, invocations, groups of shards.
    ("played on processes", 300),
    ("played on one machine", 90),
    ("played on invocations", 300),
    ("played on 1 shard", 300),
    ("played on 2 shards", 200),
    ("played on 5 shards", 100),
    ("batch of several", 1000),
    ("batch lost with its process", 50),
    ("answer of a batch lost", 200),
    ("batch given back in part", 50),
    ("given back unclaimed", 70),
    ("given back for a fault", 1000),
    ("burst waited for invocations", 1000),
    ("group swept", 10_000),
    ("group lost", 80),
    ("group doubled", 100),
    ("group late", 100),
    ("group delivered again after a fault", 300),
    // Flows.
    ("change answered", 1000),
    ("second page of jobs", 500),
    ("calendar said", 800),
    ("calendar taken away", 15),
    ("heeds a calendar and moves", 100),
    ("heeds a calendar and skips", 100),
    ("ended skipped: calendar", 120),
    ("schedule without an end", 200),
    ("creation replayed", 100),
    ("creation unanswered", 10),
    ("key taken by another wish", 20),
    ("job rescheduled", 100),
    ("catches up: as usual", 500),
    ("catches up: last", 150),
    ("catches up: none", 150),
    ("catches up: all", 190),
    ("catch-up changed", 90),
    ("made up for by last", 350),
    ("made up for by none", 75),
    ("made up for by all", 300),
    ("jittered", 200),
    ("sla missed", 300),
    ("schedule back and forth", 130),
    ("schedule back and forth in a pause", 40),
    ("dropped: PastCatchUpWindow", 33),
    ("patched", 500),
    ("patch refused", 50),
    ("run asked for again", 100),
    ("failed run tried again", 20),
    ("job paused", 100),
    ("job resumed", 100),
    ("job deleted", 20),
    ("pass looked at", 1000),
    ("pass moved", 20),
    ("attempt recorded", 10_000),
    ("attempt fenced", 3),
    ("gave up before the call", 20),
    ("came near the end of a lease", 400),
    ("dropped: Covered", 10),
    ("dropped: TooSoon", 3000),
    ("dropped: Faster", 1000),
    ("dropped: NotAdmitted", 100),
    ("cancelled while waiting", 20),
    // What somebody was told of an instant.
    ("why: fired", 1500),
    ("why: skipped", 150),
    ("why: covered", 80),
    ("why: cancelled", 1),
    ("why: not_an_occurrence", 700),
    ("why: unknown", 40),
    // Ends.
    ("ended succeeded", 10_000),
    ("ended failed: error", 1000),
    ("ended failed: lost", 20),
    ("ended timed_out", 500),
    ("ended cancelled", 20),
    ("ended skipped: coalesced", 800),
    ("ended skipped: missed", 65),
    ("ended skipped: paused", 100),
    ("ended skipped: cancelled", 250),
    ("ended skipped: superseded", 1300),
    ("ended skipped: abandoned", 1),
];

/// The same of each hundred histories of workers.
const OF_WORKERS: &[(&str, u64)] = &[
    ("repaired", 10),
    ("course rough", 30),
    ("course machine", 8),
    ("course clocks", 4),
    ("played on processes", 20),
    ("played on invocations", 20),
    ("worker died", 200),
    ("worker slept past its lease", 100),
    ("worker lost its lease", 300),
    ("worker saw the cancellation", 20),
    ("another token shown", 150),
    ("effect made", 2_000),
    ("effect prevented", 100),
    ("worker died in the middle of an effect", 100),
    ("request unanswered", 1_000),
    ("had several holders", 1_000),
    ("went on from a checkpoint", 500),
    ("success taken", 5_000),
    ("success unanswered", 100),
    ("failure taken", 1_000),
    ("hand-back taken", 100),
    ("ended succeeded", 5_000),
    ("ended failed", 500),
    ("ended timed_out", 5),
    ("ended cancelled", 5),
];

/// The same of each hundred histories of graphs.
const OF_GRAPHS: &[(&str, u64)] = &[
    ("repaired", 10),
    ("course rough", 30),
    ("course machine", 8),
    ("course throttled", 1),
    ("course calm", 2),
    ("course hints lost", 2),
    ("course outage", 1),
    ("course clocks", 4),
    ("clocks set forward", 5),
    ("clocks set back", 5),
    ("workflow replaced amid its runs", 8),
    ("run of the later version", 8),
    ("percentage tolerated", 10),
    ("for_each over a workflow", 5),
    ("task tried again by itself", 80),
    ("gone on with", 20),
    ("failed run gone on with", 10),
    ("resumed once more", 10),
    ("played on processes", 20),
    ("played on invocations", 20),
    ("played on one machine", 8),
    ("crash After put_run", 5),
    ("crash Before put_run", 5),
    ("crash After put_timer", 2),
    ("crash Before update", 2),
    ("crash After update", 2),
    ("hint lost", 30),
    ("write tried twice", 30),
    ("machine started over", 3),
    ("ended workflow succeeded", 30),
    ("ended workflow failed: task", 50),
    ("ended workflow failed: unmade", 3),
    ("ended workflow timed_out", 5),
    ("ended workflow cancelled", 3),
    ("ended inner workflow succeeded", 3),
    ("ended inner workflow failed: task", 5),
    ("ended inner workflow cancelled", 1),
    ("ended for_each succeeded", 40),
    ("ended for_each failed: task", 10),
    ("ended for_each cancelled", 2),
    ("ended branch succeeded", 100),
    ("ended branch failed: error", 15),
    ("ended task succeeded", 200),
    ("ended task failed: error", 50),
    ("ended task failed: rejected", 10),
    ("ended task failed: unmade", 20),
    ("ended task timed_out", 20),
    ("ended task cancelled", 10),
    ("ended task skipped: condition", 20),
    ("ended task skipped: upstream", 200),
    ("judged approve", 20),
    ("judged reject", 8),
    ("judged retry", 5),
    ("judged skip", 5),
    ("judged succeed", 5),
    ("judged fail", 5),
    ("stopped failed", 20),
    ("stopped cancelled", 10),
    ("stopped timed_out", 5),
    ("waited for a place", 10),
    ("reused", 10),
];
