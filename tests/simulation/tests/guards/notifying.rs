//! Notifications: an end is told in one digest, whoever dies, sleeps or comes twice.

use minutehand_domain::notification::{Rule, When};
use minutehand_domain::overlap::Overlap;
use minutehand_domain::run::{Run, State};
use minutehand_judge::notified::{End, judge};
use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, fails_before, sleeps_before};

/// Due at 10, and fails: its window ends at 60.
fn failing() -> Wish {
    Wish { fails: true, ..Wish::once(10) }
}

fn played(script: impl IntoIterator<Item = Line>, until: i64) -> (Stage, Rule) {
    let stage = Stage::new(failing(), script);
    let rule = stage.rule();
    stage.write_rule(0, rule.clone());
    stage.create(0, "creator");
    stage.sweep_each_minute(0..until);
    stage.play_to(until);
    (stage, rule)
}

/// Two ends of one window, of which `first` and `second` tell. No queue brings their hints a second time, and no sweep comes for five minutes: so
/// nobody else tells of them meanwhile.
fn two_tellers(script: Line) -> (Stage, Stage, Rule) {
    let stage = Stage::new(failing(), [script]);
    let beside = stage.beside(Wish { fails: true, ..Wish::once(20) });
    let rule = stage.rule();
    stage.write_rule(0, rule.clone());
    stage.lose_hints(0..9);
    stage.create(0, "creator");
    beside.create(0, "creator");
    stage.play_to(9);
    stage.execute(10, "first", &stage.hint(10));
    beside.execute(20, "second", &beside.hint(20));
    stage.sweep_each_minute(300..900);
    (stage, beside, rule)
}

/// The windows that were told of, by the second at which each ends.
fn told(stage: &Stage, rule: &Rule) -> Vec<(i64, u64)> {
    let begin = minutehand_simulation::history::BEGIN;
    stage.messages(rule).iter().map(|message| ((message.to - begin) / 1000, message.count)).collect()
}

/// The one end is told, once, and nothing is left.
fn is_told_once(stage: &Stage, rule: &Rule) {
    let run = stage.run(10).expect("it has a record");
    let end = End { what: "failed".to_owned(), run: run.key.to_string(), at: 0 };
    assert_eq!(judge(&[end], &stage.messages(rule), &stage.sent(rule)), []);
    assert_eq!(stage.timers(), []);
}

#[test]
fn a_failure_is_told_when_its_window_is_over() {
    let (stage, rule) = played([], 300);

    is_told_once(&stage, &rule);
    assert_eq!(told(&stage, &rule), [(60, 1)]);
    let at = stage.sent(&rule)[0].at - minutehand_simulation::history::BEGIN;
    assert!((60_000..65_000).contains(&at), "it was sent at {at}");
}

#[test]
fn of_a_tenant_without_rules_nothing_is_written() {
    let stage = Stage::new(failing(), []);
    let rule = stage.rule();
    stage.create(0, "creator");
    stage.sweep_each_minute(0..300);

    stage.play_to(300);

    assert_eq!((stage.messages(&rule), stage.timers()), (vec![], vec![]));
}

/// The end stands, and nobody has told of it: its timer does.
///
/// Removed (`notify-in-settle`): whoever finds a run over tells nobody of it. It was told to nobody.
#[test]
fn an_executor_may_die_with_the_end_just_written() {
    let (stage, rule) = played([Line { nth: 2, ..dies_after("executor", "put_run") }], 900);

    is_told_once(&stage, &rule);
}

/// At each step of what an end owes.
#[test]
fn an_executor_may_die_at_any_step_of_telling() {
    for port in ["digest", "put_timer", "send", "update", "erase_timer"] {
        for nth in 1..=4 {
            for death in [dies_before("executor", port), dies_after("executor", port)] {
                let line = Line { nth, ..death };
                let (stage, rule) = played([line], 1_800);

                is_told_once(&stage, &rule);
            }
        }
    }
}

/// At each step of making a message.
#[test]
fn an_executor_may_die_at_any_step_of_a_message() {
    for (port, from) in [("update", 2), ("put_run", 3), ("put_body", 1), ("documents", 1), ("run", 2), ("head", 2)] {
        for nth in from..from + 3 {
            for death in [dies_before("executor", port), dies_after("executor", port)] {
                let (stage, rule) = played([Line { nth, ..death }], 1_800);

                is_told_once(&stage, &rule);
            }
        }
    }
}

/// The end is settled and its timer gone, and the hint of the message is lost.
///
/// It is promised twice: before anything is in the digest, and by whoever finds an end in an open one, as its teller does. Each alone will do: a
/// teller who dies in between has a timer of his own.
///
/// Removed (`notify-promise`): both. It was told to nobody.
#[test]
fn a_digest_is_told_though_the_hint_of_its_message_was_lost() {
    let stage = Stage::new(failing(), []);
    let rule = stage.rule();
    stage.write_rule(0, rule.clone());
    stage.create(0, "creator");
    stage.play_to(9);
    stage.lose_hints(10..50);
    stage.sweep_each_minute(60..1_200);

    stage.play_to(1_200);

    is_told_once(&stage, &rule);
}

/// He was asleep when the window of his end was closed, and nobody else has told of it: the sweep comes later.
///
/// Removed (`notify-closed`): something goes into a digest that is closed. It was told to nobody.
#[test]
fn what_comes_too_late_for_its_digest_is_in_a_later_one() {
    let (stage, beside, rule) = two_tellers(sleeps_before("first", "update", 200));

    stage.play_to(900);

    let ends = [stage.run(10), beside.run(20)].map(|run| End {
        what: "failed".to_owned(),
        run: run.expect("it has a record").key.to_string(),
        at: 0,
    });
    assert_eq!(judge(&ends, &stage.messages(&rule), &stage.sent(&rule)), []);
    assert_eq!(told(&stage, &rule).iter().map(|(_, count)| *count).sum::<u64>(), 2);
}

/// It was told, its window is closed, and who told it died before its timer went: it is settled again.
///
/// Removed (`notify-once`): a digest does not say that an end is in it. It was told twice.
#[test]
fn what_was_told_is_not_told_again_in_a_later_window() {
    let stage = Stage::new(failing(), [dies_before("executor", "erase_timer")]);
    let rule = stage.rule();
    stage.write_rule(0, rule.clone());
    stage.create(0, "creator");
    stage.sweep_each_minute(240..900);

    stage.play_to(900);

    is_told_once(&stage, &rule);
    assert_eq!(told(&stage, &rule), [(60, 1)]);
}

/// An end comes once the message is made: whoever tells of it found the digest open, and was slow.
///
/// Removed (`notify-closes-first`): a digest is read and not closed for its message. The end that came was told to nobody.
#[test]
fn what_comes_while_a_message_is_made_is_in_a_later_one() {
    let (stage, beside, rule) = two_tellers(sleeps_before("second", "update", 100));

    stage.play_to(900);

    let ends = [stage.run(10), beside.run(20)].map(|run| End {
        what: "failed".to_owned(),
        run: run.expect("it has a record").key.to_string(),
        at: 0,
    });
    assert_eq!(judge(&ends, &stage.messages(&rule), &stage.sent(&rule)), []);
}

/// Each run hangs until it times out, and the eighty that come meanwhile are skipped: more of them than are read at first.
///
/// Removed (`notify-reads-on`): it is not read on where the first page decides nothing. The second time-out in a row was told to nobody.
#[test]
fn a_row_is_seen_behind_many_runs_that_were_skipped() {
    let wish = Wish { takes: 2_000, timeout: 800, overlap: Overlap::Skip, ..Wish::every(10, 10) };
    let stage = Stage::new(wish, []);
    let rule = Rule { in_a_row: 2, ..stage.rule() };
    stage.write_rule(0, rule.clone());
    stage.create(0, "creator");
    stage.sweep_each_minute(0..1_900);

    stage.play_to(1_900);

    let timed_out = |run: &Run| matches!(run.state, State::TimedOut { .. });
    let ends: Vec<Run> = stage.runs().into_iter().filter(timed_out).collect();
    assert_eq!(ends.len(), 2, "{:?}", stage.states());
    let end = End { what: "failed".to_owned(), run: ends[1].key.to_string(), at: 0 };
    assert_eq!(judge(&[end], &stage.messages(&rule), &stage.sent(&rule)), []);
}

/// The rule cannot be read when a run ends: the end is recorded all the same, and told when it can.
///
/// Removed (`notify-faults`): what cannot be told is taken for told. It was told to nobody.
#[test]
fn an_end_is_told_when_rules_can_be_read_again() {
    let (stage, rule) = played([fails_before("executor", "documents")], 900);

    is_told_once(&stage, &rule);
    assert_eq!(stage.state(10), "failed: error");
}

/// Nobody claims it, and it is too late when somebody looks; who records that dies with the record just written.
///
/// Removed (`notify-missed`): whoever records that an occurrence was missed tells nobody. It was told to nobody.
#[test]
fn what_was_missed_is_told() {
    let missed = |script: Vec<Line>| {
        let catch_up = minutehand_domain::catch_up::CatchUp::None;
        let stage = Stage::new(Wish { catch_up, ..Wish::once(10) }, script);
        let rule = Rule { when: [When::Missed].into(), ..stage.rule() };
        stage.write_rule(0, rule.clone());
        stage.create(0, "creator");
        stage.lose_hints(0..200);
        stage.sweep_each_minute(600..1_800);
        stage.play_to(1_800);
        (stage, rule)
    };
    for script in [vec![], vec![dies_after("sweeper", "put_run")], vec![dies_before("sweeper", "erase_timer")]] {
        let (stage, rule) = missed(script);

        let run = stage.run(10).expect("it has a record");
        let end = End { what: "missed".to_owned(), run: run.key.to_string(), at: 0 };
        assert_eq!(stage.state(10), "skipped: missed");
        assert_eq!(judge(&[end], &stage.messages(&rule), &stage.sent(&rule)), []);
    }
}

/// A run that is past its SLA and goes on is told of then, and not again when it ends.
#[test]
fn an_sla_is_told_of_while_its_run_goes_on_and_once() {
    let stage = Stage::new(Wish { sla: Some(60), takes: 500, timeout: 600, ..Wish::once(10) }, []);
    let rule = Rule { when: [When::Sla].into(), ..stage.rule() };
    stage.write_rule(0, rule.clone());
    stage.create(0, "creator");
    stage.sweep_each_minute(0..1_200);

    stage.play_to(300);
    let meanwhile = stage.messages(&rule).len();
    stage.play_to(1_200);

    assert_eq!((meanwhile, stage.messages(&rule).len(), stage.state(10).as_str()), (1, 1, "succeeded"));
}

/// Its rule is gone when the window is over: on record, and told to nobody.
#[test]
fn what_a_deleted_rule_has_gathered_is_told_to_nobody() {
    let stage = Stage::new(failing(), []);
    let rule = stage.rule();
    stage.write_rule(0, rule.clone());
    stage.create(0, "creator");
    stage.write_rule(30, rule.deleted(minutehand_simulation::stage::moment(30)));
    stage.sweep_each_minute(0..300);

    stage.play_to(300);

    let messages = stage.messages(&rule);
    assert_eq!(messages.iter().map(|message| message.status.as_str()).collect::<Vec<_>>(), ["skipped"]);
    assert_eq!((stage.notified(), stage.timers()), (vec![], vec![]));
}

/// Nobody is told that nobody could be told.
#[test]
fn a_message_that_nobody_takes_is_told_of_to_nobody() {
    let stage = Stage::new(failing(), []);
    let rule = Rule { when: When::ALL.into(), ..stage.rule_refusing(100) };
    stage.write_rule(0, rule.clone());
    stage.create(0, "creator");
    stage.sweep_each_minute(0..3_600);

    stage.play_to(3_600);

    let messages = stage.messages(&rule);
    assert_eq!(messages.iter().map(|message| message.status.as_str()).collect::<Vec<_>>(), ["failed"]);
    assert_eq!(stage.sent(&rule).len(), 3, "three tries");
    assert_eq!(stage.timers(), []);
}

/// The clock was an hour ahead for a while, and is set back: what is told is told once.
#[test]
fn a_clock_that_is_set_back_tells_nothing_twice() {
    let stage = Stage::new(Wish { fails: true, ..Wish::every(60, 10) }, []);
    let rule = stage.rule();
    stage.write_rule(0, rule.clone());
    stage.create(0, "creator");
    stage.set_clocks(100, 3_600);
    stage.set_clocks(130, 0);
    stage.change(600, "pauser", minutehand_domain::job::Change::Pause);
    stage.sweep_each_minute(0..9_000);

    stage.play_to(9_000);

    let ends: Vec<End> = (10..4_300)
        .step_by(60)
        .filter_map(|at| stage.run(at))
        .filter(|run| matches!(run.state, State::Failed { .. }))
        .map(|run| End { what: "failed".to_owned(), run: run.key.to_string(), at: 0 })
        .collect();
    let wrong = judge(&ends, &stage.messages(&rule), &stage.sent(&rule));
    assert_eq!(wrong, []);
    assert!(ends.len() >= 2, "{}", ends.len());
}

/// The table of timers is lost with a digest in its window, and repaired.
///
/// Removed (`notify-repaired`): a repair asks of no end whether its digest has a timer. It was told to nobody.
#[test]
fn a_digest_whose_timer_was_lost_is_told_after_a_repair() {
    let stage = Stage::new(failing(), []);
    let rule = Rule { digest: std::time::Duration::from_secs(3_600), ..stage.rule() };
    stage.write_rule(0, rule.clone());
    stage.create(0, "creator");
    stage.sweep_each_minute(0..9_000);
    stage.lose_timers(610);
    stage.repair(905, "admin");

    stage.play_to(9_000);

    is_told_once(&stage, &rule);
}
