//! Items that nobody can read: each stops nothing but itself, and is met again an hour later.

use minutehand_domain::workflow::edge::On;
use minutehand_simulation::fate::Line;
use minutehand_simulation::setting::{Host, Setting};
use minutehand_simulation::stage::{Stage, Wish, dies_after, every, sleeps_before};

/// The second job's timer is damaged where it lies, between those of the first. The pass at 720 puts it off by an hour, and each pass sees five minutes
/// ahead.
///
/// Removed: a corrupt timer is left where it is, as what a later release wrote. Its bucket was never left, and each pass of the
/// next hour began there.
#[test]
fn a_corrupt_timer_keeps_no_bucket_and_stops_nothing_beside_it() {
    let (ours, theirs) = side_by_side();
    theirs.damage_timer(100, 690);

    ours.play_to(1500);
    let pass = ours.sweep(1530, "sweeper");
    ours.sweep_each_minute(1560..4140);
    ours.play_to(1535);

    assert_eq!(ours.called(), (1..=25).map(|n| 60 * n).collect::<Vec<_>>());
    assert_eq!(pass.given().corrupt, 0, "it is met again in an hour");
    assert!(ours.oldest_bucket() > 1380, "{}", ours.oldest_bucket());
    let met = ours.counted("corrupt met");
    assert!(met > 0);
    ours.play_to(3990);
    assert_eq!(ours.counted("corrupt met"), met, "its hour is not over");
    ours.play_to(4110);
    assert!(ours.counted("corrupt met") > met, "no later than five minutes before its hour is over");
}

/// The second job's next timer is damaged, or one to come; and then somebody repairs.
///
/// Removed (`repairs-around-a-corrupt-link`): a link that nobody can read fails the repair of its job. The job was silent for an hour, and then lost all but
/// the last of it.
#[test]
fn a_job_whose_link_is_corrupt_goes_on_once_it_is_repaired() {
    for repaired_at in [450, 660] {
        let (ours, theirs) = side_by_side();
        theirs.damage_timer(100, 690);
        theirs.repair(repaired_at, "repairer");

        ours.play_to(1535);

        // Whoever repairs hints nobody: the next pass does.
        let is_late = |(instant, at): &(i64, i64)| at - instant > if *instant == 690 { 30 } else { 0 };
        let late: Vec<_> = theirs.starts().into_iter().filter(is_late).collect();
        assert_eq!(theirs.called(), (0..=24).map(|n| 90 + 60 * n).collect::<Vec<_>>(), "repaired at {repaired_at}");
        assert_eq!(late, [], "repaired at {repaired_at}");
    }
}

/// What nobody can read lies where a link of the chain is to be put, which is the next but a few, or in ten minutes.
///
/// Removed (`promised-around-what-is-corrupt`): a successor that nobody can read fails whoever promises it. The occurrence before it was given to nobody
/// for as long, and all that was to come after it never was.
/// Removed (`dispatched-beside-a-link`): what stands beside a link is no link. It was found overdue, and what comes behind it was promised by nobody before.
#[test]
fn a_corrupt_successor_holds_up_nothing_before_it_or_behind_it() {
    for (period, corrupt) in [(60, 480), (600, 1260)] {
        let stage = Stage::new(Wish::every(period, 60), []);
        stage.create(0, "creator");
        stage.sweep(60, "sweeper");
        stage.damage_place(70, corrupt);
        stage.sweep_each_minute(120..3700);

        stage.play_to(3695);

        let due = (60..3690).step_by(usize::try_from(period).expect("a period"));
        assert_eq!(stage.starts(), due.map(|t| (t, t)).collect::<Vec<_>>());
    }
}

/// The last link of a chain is damaged as soon as it was put; the run before it is looked at once, as it goes on.
///
/// Removed (`links-around-what-is-corrupt`): whoever looks at a run stops at the link behind it. The job was silent for an hour.
#[test]
fn whoever_looks_at_a_run_sees_to_what_comes_behind_a_corrupt_link() {
    let stage = Stage::new(Wish { takes: 100, ..Wish::every(60, 60) }, []);
    stage.create(0, "creator");
    stage.sweep_each_minute(60..1500);
    stage.damage_timer(300, 780);

    stage.play_to(1495);

    assert_eq!(stage.called(), (1..=24).map(|n| 60 * n).collect::<Vec<_>>());
}

/// The second job itself is damaged: its timers can be read, and point at what cannot.
///
/// Removed: a timer that points at what nobody can read stays. Its bucket was never left.
#[test]
fn a_corrupt_job_keeps_no_bucket_and_stops_nothing_beside_it() {
    let (ours, theirs) = side_by_side();
    theirs.damage_head(300);

    ours.play_to(1535);

    assert_eq!(ours.called(), (1..=25).map(|n| 60 * n).collect::<Vec<_>>());
    assert!(ours.oldest_bucket() > 1380, "{}", ours.oldest_bucket());
    assert!(ours.counted("corrupt met") > 0);
}

/// Removed: a cursor that cannot be read is a fault. Nothing of its shard was swept any more.
#[test]
fn a_corrupt_cursor_is_made_anew_from_the_first_timer() {
    let (ours, _theirs) = side_by_side();
    ours.damage_cursor(600);

    ours.play_to(1535);

    assert_eq!(ours.called(), (1..=25).map(|n| 60 * n).collect::<Vec<_>>());
    assert!(ours.oldest_bucket() > 1380, "{}", ours.oldest_bucket());
}

/// More timers that nobody can read lie in one bucket than are put off at once, and the store takes longer for the first than the pass has.
///
/// Removed (`puts-off-while-there-is-time`): they are put off whatever the time. An invocation that ends meanwhile is killed, and saves nothing of how far
/// it came.
#[test]
fn a_pass_puts_off_what_nobody_can_read_while_it_has_time_and_the_next_goes_on() {
    let slow = |nth| Line { nth, ..sleeps_before("first", "copy_timer", 2) };
    let stage = Stage::new(Wish::every(60, 60), (1..=64).map(slow).collect::<Vec<_>>());
    stage.create(0, "creator");
    stage.strew_damaged_timers(100, 30);
    let (first, second) = (stage.sweep_within(300, "first", 1), stage.sweep_within(360, "second", 1));

    stage.play_to(400);

    assert_eq!([first, second].map(|pass| pass.given().corrupt), [100, 36]);
    assert!(stage.oldest_bucket() > 0, "the second has left theirs");
}

/// One machine, and another before it which swept: since then the cursor is damaged, and so are a timer and the second job.
///
/// Removed (`start-over-a-corrupt-cursor`): a cursor that cannot be read is a fault of the start. No machine started, and nothing ran.
#[test]
fn a_machine_starts_over_what_nobody_can_read_and_all_else_runs() {
    let machine = Setting { exclusive_store: true, host: Host::Machine, ..Setting::plain() };
    let ours = Stage::on(machine, Wish::every(60, 180), []);
    let [theirs, others] = [210, 150].map(|begin| ours.beside(Wish::every(60, begin)));
    for (at, stage) in [(0, &ours), (1, &theirs), (2, &others)] {
        stage.create(at, "creator");
    }
    ours.sweep(30, "sweeper");
    theirs.damage_head(60);
    others.damage_timer(60, 150);
    ours.damage_cursor(60);
    ours.supervise(100);

    ours.play_to(1535);

    assert_eq!(ours.counted("machine did not start"), 0);
    assert_eq!(ours.called(), (3..=25).map(|n| 60 * n).collect::<Vec<_>>());
    assert!(theirs.called().is_empty() && others.called().is_empty(), "they were damaged before");
}

/// A digest names two runs; the job of the first is damaged before anybody tells of it.
///
/// Removed (`digest-of-what-can-be-read`): what a message names is read, or nobody is told. Nobody heard of either failure.
#[test]
fn a_digest_tells_of_what_stands_beside_a_corrupt_job() {
    let ours = Stage::new(Wish { fails: true, ..Wish::once(10) }, []);
    let theirs = ours.beside(Wish { fails: true, ..Wish::once(20) });
    let rule = ours.rule();
    ours.write_rule(0, rule.clone());
    ours.create(0, "creator");
    theirs.create(0, "creator");
    ours.sweep_each_minute(0..900);
    ours.damage_head(40);

    ours.play_to(900);

    assert_eq!(ours.messages(&rule).iter().map(|message| message.count).collect::<Vec<_>>(), [2]);
    assert_eq!(ours.sent(&rule).len(), 1);
}

/// A job behind another is damaged; the end of the one in front is told all the same.
///
/// Removed (`follows-beside-a-corrupt-one`): what follows comes first, or nothing does. Nobody was told.
#[test]
fn an_end_is_told_though_the_job_behind_is_corrupt() {
    let front = Stage::new(Wish { fails: true, ..Wish::once(60) }, []);
    let rule = front.rule();
    front.write_rule(0, rule.clone());
    let behind = front.beside(Wish::behind(&front, On::Finished));
    front.create(0, "creator");
    behind.create(1, "follower");
    front.sweep_each_minute(0..900);
    behind.damage_head(30);

    front.play_to(900);

    assert_eq!(front.sent(&rule).len(), 1);
}

/// Two jobs stand behind one, and nobody can read the first of them, or the second.
///
/// Removed (`follows-beside-a-corrupt-one`): whoever cannot be read keeps those behind it from being made. The run of the second one was not made for as long as the
/// first one was corrupt.
#[test]
fn who_stands_behind_beside_a_corrupt_job_runs() {
    for corrupt in [0, 1] {
        let front = Stage::new(Wish::once(60), []);
        let one = front.beside(Wish::behind(&front, On::Finished));
        let behind = [one.clone(), one.beside(Wish::behind(&front, On::Finished))];
        front.create(0, "creator");
        for stage in &behind {
            stage.create(1, "follower");
        }
        behind[corrupt].damage_head(30);

        front.play_to(900);

        assert_eq!(behind[1 - corrupt].all_runs().len(), 1, "beside the {corrupt}");
    }
}

/// Of three runs that share one place the first has it and the others wait, and nobody can read the second. Nobody sweeps.
///
/// Removed (`waits-beside-a-corrupt-waiter`): whoever gives a place back stops at it. The third one waited for as long as the second was corrupt.
#[test]
fn a_place_is_given_past_a_corrupt_waiter() {
    let wish = |at, takes| Wish { takes, ..Wish::once(at) }.at_once("billing", 1);
    let first = Stage::new(wish(10, 30), []);
    let second = first.beside(wish(12, 5));
    let third = second.beside(wish(14, 5));
    for stage in [&first, &second, &third] {
        stage.create(0, "creator");
    }
    second.damage_run(20, 12);

    first.play_to(120);

    assert_eq!((first.state(10), third.starts()), ("succeeded".to_owned(), vec![(14, 40)]));
}

/// Who holds the one place cannot be read: it keeps that, as it may go on. Whoever comes waits for it as for anybody, and is in the line.
///
/// Removed (`holds-beside-a-corrupt-holder`): whoever finds no place stops at it, and comes into no line.
#[test]
fn who_finds_the_holder_of_a_place_corrupt_waits_in_its_line() {
    let wish = |at, takes| Wish { takes, ..Wish::once(at) }.at_once("billing", 1);
    let first = Stage::new(wish(10, 200), []);
    let second = first.beside(wish(42, 5));
    for stage in [&first, &second] {
        stage.create(0, "creator");
    }
    first.damage_run(20, 10);

    first.play_to(60);

    assert_eq!(second.state(42), "waiting");
}

/// Nobody sweeps for ten minutes; before them a run has ended whose record nobody can read any more.
///
/// Removed (`covered-by-what-can-be-read`): whoever looks for the record of an outage stops there. The job was silent for as long as that one was corrupt.
#[test]
fn a_job_goes_on_behind_an_outage_though_a_record_before_it_is_corrupt() {
    let stage = Stage::new(Wish::every(60, 60), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..300);
    stage.sweep_each_minute(1200..1800);
    stage.damage_run(400, 300);

    stage.play_to(1790);

    let after: Vec<_> = stage.starts().into_iter().filter(|(_, at)| *at >= 1200).collect();
    assert_eq!(after[0].0 % 60, 0, "one in the stead of those that were missed: {after:?}");
    assert_eq!(after[1..], (21..30).map(|n| (60 * n, 60 * n)).collect::<Vec<_>>());
}

/// Whoever executes the first run dies, and the next one has run meanwhile; its record is corrupt when somebody looks at the first.
///
/// Removed (`follows-a-chain-past-what-is-corrupt`): whoever goes along the chain stops there. The first run was begun again by nobody.
#[test]
fn a_run_is_taken_up_though_the_record_behind_it_is_corrupt() {
    let stage = Stage::new(Wish::every(60, 60), [dies_after("dying", "put_run")]);
    stage.lose_hints(0..130);
    stage.create(0, "creator");
    stage.sweep(10, "sweeper");
    stage.sweep_each_minute(180..1200);
    stage.play_to(59);
    let hints = [60, 120].map(|instant| stage.hint(instant));
    stage.execute(60, "dying", &hints[0]);
    stage.execute(120, "another", &hints[1]);
    stage.damage_run(125, 120);

    stage.play_to(1190);

    assert_eq!(stage.state(60), "succeeded", "{:?}", stage.starts());
}

/// A schedule is changed just before an occurrence that both schedules have, and whoever changes it dies: only the timer of that occurrence leads to
/// what comes next. It runs by a hint of the schedule before, and nobody can read its record.
///
/// Removed (`goes-on-behind-what-is-corrupt`): its look is put off, and sees to nothing. The job was silent.
#[test]
fn a_chain_goes_on_behind_a_record_that_nobody_can_read() {
    let stage = Stage::new(Wish::every(60, 60), [dies_after("changer", "put_head")]);
    stage.create(0, "creator");
    stage.reschedule(58, "changer", &every(420, 60));
    stage.damage_run(70, 60);
    stage.sweep_each_minute(120..600);

    stage.play_to(600);

    assert_eq!(stage.starts(), [(60, 60), (480, 480)]);
}

/// The record of a run is damaged, and two changes of schedule follow: the second makes the job forget the schedule of that run.
///
/// Removed (`forgets-past-what-is-corrupt`): whoever looks for what would be forgotten stops at it. The schedule could not be changed for as
/// long as that record was corrupt.
#[test]
fn a_schedule_is_changed_though_one_of_its_records_is_corrupt() {
    let stage = Stage::new(Wish::every(60, 60), []);
    stage.create(0, "creator");
    stage.sweep_each_minute(0..900);
    stage.damage_run(130, 60);

    stage.reschedule(140, "changer", &every(90, 180));
    stage.reschedule(150, "changer again", &every(200, 400));
    stage.play_to(900);

    assert_eq!(stage.called(), [60, 120, 400, 600, 800]);
}

/// A repair finds where the chain broke, behind a record that nobody can read and before one.
///
/// Removed (`repairs-past-what-is-corrupt`): it stops there. Nothing was promised, and the job was silent.
#[test]
fn a_chain_is_repaired_though_one_of_its_records_is_corrupt() {
    for corrupt in [60, 540, 600] {
        let stage = Stage::new(Wish::every(60, 60), []);
        stage.create(0, "creator");
        stage.sweep_each_minute(0..1500);
        stage.damage_run(620, corrupt);
        stage.lose_timers(630);

        stage.repair(905, "admin");
        stage.play_to(1490);

        let punctual = (16..24).map(|n| (60 * n, 60 * n)).filter(|start| stage.starts().contains(start));
        assert_eq!(punctual.count(), 8, "{corrupt}: {:?}", stage.starts());
    }
}

/// Both each minute, from the first full one and from the half of it.
fn side_by_side() -> (Stage, Stage) {
    let ours = Stage::new(Wish::every(60, 60), []);
    let theirs = ours.beside(Wish::every(60, 90));
    ours.create(0, "creator");
    theirs.create(1, "creator");
    ours.sweep_each_minute(60..1530);
    (ours, theirs)
}
