//! Calendars that change under the jobs that heed them: no fire is lost by it, none is doubled, and what a calendar took is on record.

use minutehand_domain::calendar::{AsSeen, Maintenance, Rules};
use minutehand_domain::callback::End;
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::job::Change;
use minutehand_domain::operation::State;
use minutehand_domain::schedule::cron::{DstGap, zone};
use minutehand_domain::schedule::{OnExcluded, Plan};
use minutehand_protocol::job::create::Created;
use minutehand_simulation::stage::{Stage, Wish, dies_after, dies_before, every, moment, sleeps_after, sleeps_before};
use minutehand_simulation::telling::Telling;

const HOUR: i64 = 3600;

/// Every ten minutes from the tenth on, but for what the calendar takes.
fn heeding(on_excluded: OnExcluded) -> Wish {
    let calendars = vec!["works".parse().unwrap()];
    Wish::of(Plan { calendars, on_excluded: Some(on_excluded), ..every(600, 600) })
}

/// Nothing fires from the one second to the other.
fn shut(from: i64, until: i64) -> Rules {
    let maintenance = vec![Maintenance { from: moment(from), until: moment(until), reason: Some("moving".to_owned()) }];
    Rules { maintenance, ..open() }
}

fn open() -> Rules {
    Rules::none(zone("UTC").expect("a zone"))
}

/// Guard **the walk is promised**: who changes a calendar dies once that is written.
///
/// Removed: the look behind the walk erases its timer. The job stayed pinned to what the calendar had said, and fired nothing for an hour in
/// which it should have.
#[test]
fn a_change_reaches_its_jobs_though_who_made_it_died() {
    let stage = Stage::new(heeding(OnExcluded::Skip), [dies_after("changer", "put_calendar")]);
    stage.calendar(0, "maker", "works", shut(0, 7200));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    stage.calendar(900, "changer", "works", open());
    stage.play_to(3010);

    assert_eq!(stage.called(), [1200, 1800, 2400, 3000]);
}

/// And the timers are lost before anybody looks.
///
/// Removed (`repair-promises-walks`): a repair sees to the jobs alone. The job stayed pinned to what the calendar had said.
#[test]
fn a_change_reaches_its_jobs_after_a_repair_though_its_look_was_lost() {
    let stage = Stage::new(heeding(OnExcluded::Skip), [dies_after("changer", "put_calendar")]);
    stage.calendar(0, "maker", "works", shut(0, 7200));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);
    stage.calendar(900, "changer", "works", open());
    stage.lose_timers(905);

    stage.repair(950, "admin");
    stage.play_to(3010);

    assert_eq!(stage.called(), [1200, 1800, 2400, 3000]);
}

/// Between two records of a job there may be a stretch that a calendar takes, in which the timers are lost.
///
/// Removed (`repair-knows-calendars`): a repair asks the schedule as if it heeded none. It named what the calendar takes, which nobody would
/// begin, and nothing behind that was promised: the job never fired again.
#[test]
fn a_job_whose_timers_are_lost_while_a_calendar_takes_its_fires_goes_on_after_a_repair() {
    for on_excluded in [OnExcluded::Skip, OnExcluded::Move] {
        let stage = Stage::new(heeding(on_excluded), []);
        stage.calendar(0, "maker", "works", shut(1000, 3000));
        stage.create(10, "creator");
        stage.sweep_each_minute(60..7200);
        stage.lose_timers(905);

        stage.repair(950, "admin");
        stage.play_to(3610);

        assert_eq!(stage.called(), [600, 3000, 3600], "{on_excluded:?}");
    }
}

/// A backfill heeds the calendars of its schedule whoever goes on with it: here the look, as its asker dies once it is written.
///
/// Removed (`backfill-keeps-calendars`): it is written without them. It made what the calendar takes.
#[test]
fn a_backfill_that_was_read_back_makes_nothing_that_a_calendar_takes() {
    let calendars = vec!["works".parse().unwrap()];
    let stage = Stage::new(Wish::of(Plan { calendars, ..every(60, -HOUR) }), [dies_after("asker", "put_operation")]);
    stage.calendar(0, "maker", "works", shut(-1800, -600));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..HOUR);

    stage.backfill(20, "asker", -HOUR..0);
    stage.play_to(HOUR);

    let begun: Vec<_> = stage.begun().into_iter().filter(|instant| *instant < 0).collect();
    let all: Vec<_> = (-HOUR..-1800).chain(-600..0).step_by(60).collect();
    assert_eq!(begun, all);
    let operation = &stage.operations()[0];
    assert_eq!((operation.state, operation.progress.seen), (State::Done, 40));
}

/// A job's only fire moved, and was begun; then the calendar is opened, and what it had taken is allowed. And one that is due and not begun yet, as
/// hints are slow, while the calendar is changed in something else.
///
/// Removed (`what-was-named-is-not-named-again`): another schedule is in force from what it names on. The first was called twice, by its own instant
/// too; the second was not called at all, since nothing that was named before moves.
#[test]
fn a_change_of_a_calendar_neither_repeats_nor_loses_the_only_fire_of_a_job() {
    let calendars = || vec!["works".parse().unwrap()];
    let once =
        Plan { at: Some(moment(1000)), calendars: calendars(), on_excluded: Some(OnExcluded::Move), ..Plan::default() };
    for (lost, changed_at, rules) in [(0..0, 2600, open()), (0..2100, 2002, with_another(shut(500, 2000)))] {
        let stage = Stage::new(Wish::of(once.clone()), []);
        stage.calendar(0, "maker", "works", shut(500, 2000));
        stage.create(10, "creator");
        stage.lose_hints(lost);
        stage.sweep_each_minute(60..7200);

        stage.calendar(changed_at, "changer", "works", rules);
        stage.play_to(7200);

        assert_eq!(stage.called(), [2000], "changed at {changed_at}");
    }
}

fn with_another(mut rules: Rules) -> Rules {
    rules.maintenance.push(Maintenance { from: moment(900_000), until: moment(900_500), reason: None });
    rules
}

/// Guard **use before pin**: that a job heeds a calendar is written before the calendar is read for it.
///
/// Removed: it is not written. A change of the calendar did not find the job.
#[test]
fn a_change_reaches_the_jobs_that_heed_the_calendar() {
    let stage = Stage::new(heeding(OnExcluded::Skip), []);
    stage.calendar(0, "maker", "works", shut(0, 7200));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    stage.calendar(900, "changer", "works", open());
    stage.play_to(2000);
    stage.calendar(2000, "changer", "works", shut(2100, 3200));
    stage.play_to(4000);

    assert_eq!(stage.called(), [1200, 1800, 3600]);
    assert_eq!(stage.state(2400), "skipped: calendar");
}

/// Whoever changes a calendar may die at any step: what it says is as it was for all, or as it is to be.
#[test]
fn a_changer_of_a_calendar_may_die_at_any_step() {
    let ports = ["put_rules", "put_timer", "put_calendar", "put_head", "erase_timer"];
    let mut changed = 0;
    for port in ports {
        for dies in [dies_before, dies_after] {
            let stage = Stage::new(heeding(OnExcluded::Skip), [dies("changer", port)]);
            stage.calendar(0, "maker", "works", shut(0, 4500));
            stage.create(10, "creator");
            stage.sweep_each_minute(60..9000);

            stage.calendar(900, "changer", "works", open());
            stage.play_to(9010);

            let all: Vec<i64> = (2..=15).map(|n| n * 600).collect();
            let called = stage.called();
            changed += u32::from(called == all);
            assert!(called == all || called == all[6..], "{port}: {called:?}");
        }
    }
    assert!((3..10).contains(&changed), "both were met: {changed}");
}

/// Guard **who is about to is refused**: a creator has read the calendar, sleeps, and the calendar is changed meanwhile.
///
/// Removed: who has not written yet is passed over. His job was pinned to what the calendar had said, and nobody told it otherwise.
#[test]
fn who_read_a_calendar_before_its_change_reads_it_again() {
    let stage = Stage::new(heeding(OnExcluded::Skip), [sleeps_before("creator", "put_head", 60)]);
    stage.calendar(0, "maker", "works", shut(0, 7200));
    let created = stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    stage.calendar(30, "changer", "works", open());
    stage.play_to(1500);

    assert!(matches!(created.given(), Created::New(_)), "{created:?}", created = created.given());
    assert_eq!(stage.called(), [600, 1200]);
}

/// Guard **as it is now**: one who changes a calendar sleeps before he looks at the first job, and the next changes it again.
///
/// Removed (`calendars-news-is-in-force`): what the calendar said when the walk began is taken to the jobs. The job was pinned to what the first had
/// said, for ever, and fired nothing.
#[test]
fn who_slept_over_the_next_change_of_a_calendar_takes_his_own_to_no_job() {
    let stage = Stage::new(heeding(OnExcluded::Skip), [sleeps_before("first", "documents", 60)]);
    stage.calendar(0, "maker", "works", open());
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    let first = stage.calendar(30, "first", "works", shut(0, 7200));
    stage.calendar(40, "second", "works", with_another(open()));
    stage.play_to(1500);

    assert!(first.given());
    assert_eq!(stage.called(), [600, 1200]);
}

/// The same where the next change is back to what the jobs are pinned to, and the first sleeps just before he writes one.
///
/// Removed (`calendars-walk-leaves-none-as-it-was`): a walk passes a job that is as it is to be. The first wrote it then, and nobody looked at it again.
#[test]
fn who_slept_over_a_change_back_is_refused_at_each_job() {
    let stage = Stage::new(heeding(OnExcluded::Skip), [sleeps_before("first", "put_head", 60)]);
    stage.calendar(0, "maker", "works", open());
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    stage.calendar(30, "first", "works", shut(0, 7200));
    stage.calendar(40, "second", "works", open());
    stage.play_to(1500);

    assert_eq!(stage.called(), [600, 1200]);
}

/// Guard **a moved fire is carried on**: its calendar is changed before it has begun, twice.
///
/// Removed: the change carries nothing on. What had been due was due no more, and never ran.
#[test]
fn a_moved_fire_outlives_two_changes_of_its_calendar() {
    let stage = Stage::new(heeding(OnExcluded::Move), []);
    stage.calendar(0, "maker", "works", shut(500, 1500));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    stage.calendar(700, "changer", "works", shut(500, 1000));
    stage.calendar(800, "changer", "works", open());
    stage.play_to(1900);

    let begun: Vec<i64> = stage.starts().into_iter().map(|(_, at)| at).collect();
    assert_eq!(begun, [800, 1200, 1800]);
    assert!(stage.runs().iter().any(|run| run.nominal() == moment(600)), "one was meant for 600: {:?}", stage.runs());
}

/// Guard **what was said when it came**: nothing runs for half an hour, and the calendar is changed twice before what was due then begins. All
/// that was said allows it.
///
/// Removed: a job remembers what its calendar said before the last change, and nothing before that. What had been due was skipped as
/// superseded, and never ran.
#[test]
fn a_fire_that_waits_outlives_two_changes_of_its_calendar() {
    let catch_up = CatchUp::All { window: CatchUp::DEFAULT_WINDOW, max_runs: 100, per_minute: None };
    let stage = Stage::new(Wish { catch_up, ..heeding(OnExcluded::Skip) }, []);
    stage.calendar(0, "maker", "works", shut(6000, 6100));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..1200);
    stage.sweep_each_minute(3060..7200);

    stage.calendar(2500, "changer", "works", shut(6000, 6200));
    stage.calendar(2600, "changer", "works", shut(6000, 6300));
    stage.play_to(3700);

    assert_eq!(stage.called(), [600, 1200, 1800, 2400, 3000, 3600]);
}

/// Guard **told before what follows**: what a calendar took is on record before the run behind it.
///
/// Removed: the claim records nothing. Nobody could find out what had become of two fires.
#[test]
fn what_a_calendar_took_is_on_record_before_the_run_behind_it() {
    let stage = Stage::new(heeding(OnExcluded::Skip), []);
    stage.calendar(0, "maker", "works", shut(1100, 1900));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    stage.play_to(3010);

    assert_eq!(stage.called(), [600, 2400, 3000]);
    assert_eq!((stage.state(1200), stage.spanned(1200)), ("skipped: calendar".to_owned(), Some((1800, 2))));
    assert!(stage.timers().iter().all(|timer| timer.key.due > moment(3010)), "{:?}", stage.timers());
}

/// Timers stand for minutes of a job of each ten seconds when a calendar takes all that they are for. What is taken goes on record when the row is
/// over, in one record.
///
/// Removed (`tells-of-a-whole-row`): each timer that is left puts down what was taken until then. There was a record for each, and the look at each went
/// through those of all before it.
#[test]
fn what_is_left_of_a_schedule_of_before_puts_down_no_row_that_goes_on() {
    let plan = Plan { calendars: vec!["works".parse().unwrap()], on_excluded: Some(OnExcluded::Skip), ..every(10, 10) };
    let stage = Stage::new(Wish::of(plan), []);
    stage.calendar(0, "maker", "works", open());
    stage.create(1, "creator");
    stage.sweep_each_minute(0..5000);
    stage.calendar(95, "changer", "works", shut(96, 4000));

    stage.play_to(3500);
    let meanwhile: Vec<i64> = (100..500).step_by(10).filter(|at| stage.run(*at).is_some()).collect();
    stage.play_to(4020);

    assert_eq!(meanwhile, [0; 0], "the row goes on");
    assert_eq!(stage.state(100), "skipped: calendar");
    assert!((110..500).step_by(10).all(|at| stage.run(at).is_none()));
    assert_eq!(stage.called().last(), Some(&4010));
}

/// Somebody is about to pause the job, and sleeps over a change of its calendar and over a fire that this allows, whose hint is lost.
///
/// Removed (`tells-of-what-was-taken-until-it-was-read`): what calendars took until now is worked out by the job as it was read. The fire was on record as
/// taken, and never began.
#[test]
fn who_slept_over_a_change_of_a_calendar_takes_no_fire_away() {
    let stage = Stage::new(heeding(OnExcluded::Skip), [sleeps_after("pauser", "head", 215)]);
    stage.calendar(0, "maker", "works", shut(1100, 1900));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);
    stage.lose_hints(1000..1240);

    stage.change(1005, "pauser", Change::Pause);
    stage.calendar(1010, "changer", "works", open());
    stage.play_to(1219);
    let meanwhile = stage.run(1200);
    stage.play_to(1225);
    stage.change(1230, "resumer", Change::Resume);
    stage.play_to(1500);

    assert!(meanwhile.is_none(), "{meanwhile:?}");
    assert_ne!(stage.state(1200), "skipped: calendar");
}

/// Nobody looks from the one fire on until the next is four minutes late: so the next waits for its turn, and has a record when it is claimed.
///
/// Removed (`calendars-told-before-a-putting-off`): whoever puts it off looks for nothing. What came to the fires before it was never on record.
#[test]
fn what_a_calendar_took_is_on_record_before_what_is_made_up_for() {
    let stage = Stage::new(heeding(OnExcluded::Skip), []);
    stage.calendar(0, "maker", "works", shut(1100, 1900));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..1000);
    stage.sweep_each_minute(2640..7200);

    stage.play_to(3010);

    assert_eq!(stage.called(), [600, 2400, 3000]);
    assert!(stage.run(2400).expect("a run").started_at.expect("begun") >= moment(2640));
    assert_eq!((stage.state(1200), stage.spanned(1200)), ("skipped: calendar".to_owned(), Some((1800, 2))));
}

/// The fire behind it is called off while a calendar's window is still to come, so that its record says nothing of what comes before it.
///
/// Removed (`calendars-told-before-what-was-called-off`): who finds that it is over looks for nothing, and nobody claims it. The next fire looks no
/// further back than to it.
#[test]
fn what_a_calendar_took_is_on_record_though_the_fire_behind_it_was_called_off() {
    for sweeps_until in [7200, 1900] {
        let stage = Stage::new(heeding(OnExcluded::Skip), []);
        stage.calendar(0, "maker", "works", shut(1100, 1900));
        stage.create(10, "creator");
        stage.sweep_each_minute(60..sweeps_until);
        stage.sweep_each_minute(2820..7200);

        stage.cancel(1000, "canceller", 2400);
        stage.play_to(3610);

        assert_eq!(stage.called(), [600, 3000, 3600]);
        assert_eq!(stage.state(2400), "cancelled");
        assert_eq!((stage.state(1200), stage.spanned(1200)), ("skipped: calendar".to_owned(), Some((1800, 2))));
        assert!(stage.timers().iter().all(|timer| timer.key.due > moment(3610)), "{:?}", stage.timers());
    }
}

/// Twenty fires that are still to come are called off, and then a calendar takes them, and some behind them.
///
/// Removed (`calendars-told-behind-what-has-its-own`): each of them is passed by itself, and counts as one of the records of a look. What was taken
/// behind them was never on record.
#[test]
fn what_a_calendar_took_is_on_record_behind_much_that_was_called_off_before() {
    let stage = shut_behind_what_was_called_off((1020..=2160).step_by(60));

    assert_eq!(stage.called().last(), Some(&2400));
    assert_eq!([1020, 2160].map(|instant| stage.state(instant)), ["cancelled", "cancelled"]);
    assert_eq!((stage.state(2220), stage.spanned(2220)), ("skipped: calendar".to_owned(), Some((2340, 3))));
}

/// The first of them is called off, and one in the middle: one record tells of all between and behind.
///
/// Removed (`calendars-told-from-the-first-that-has-none`): all that lies before the last that has a record is passed. Nine were never on record.
#[test]
fn what_a_calendar_took_is_on_record_between_two_that_were_called_off() {
    let stage = shut_behind_what_was_called_off([1020, 1680]);

    assert_eq!((stage.state(1080), stage.spanned(1080)), ("skipped: calendar".to_owned(), Some((2340, 22))));
}

/// A job of each minute, of which these are called off before a calendar takes all from 1010 to 2390.
fn shut_behind_what_was_called_off(instants: impl IntoIterator<Item = i64>) -> Stage {
    let calendars = vec!["works".parse().unwrap()];
    let stage = Stage::new(Wish::of(Plan { calendars, ..every(60, 60) }), []);
    stage.calendar(0, "maker", "works", open());
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    for instant in instants {
        stage.cancel(900, "canceller", instant);
    }
    stage.calendar(950, "changer", "works", shut(1010, 2390));
    stage.play_to(2410);
    stage
}

/// In the night of 14 March 2027 the clocks of New York show no 02:30.
///
/// Removed (`gaps-told-before-what-follows`): only who heeds a calendar is asked what was taken. Nobody could find out what had become of that day.
#[test]
fn what_a_clock_is_put_forward_past_is_on_record_before_the_run_behind_it() {
    let (thirteenth, fifteenth) = (4_923_000, 5_092_200);
    let stage = Stage::new(Wish::of(skipping_gaps("*/30 2 13-15 3 *")), []);
    stage.create(10, "creator");
    stage.sweep_each_minute(thirteenth - 7200..fifteenth + 600);

    stage.play_to(fifteenth + 500);

    assert_eq!(stage.called(), [thirteenth - 1800, thirteenth, fifteenth - 1800, fifteenth]);
    let record = stage.run_at(moment(GAP).just_before()).expect("a record of the gap");
    assert_eq!((record.reason(), record.skipped_span().and_then(|span| span.count)), (Some("dst_gap"), Some(2)));
    assert_eq!(record.told.as_deref(), Some("its zone's clock was put forward past 2027-03-14 02:00:00"));
    assert_eq!(stage.all_runs().len(), 5);
}

/// When the clocks of New York are put forward.
const GAP: i64 = 5_007_600;

fn skipping_gaps(cron: &str) -> Plan {
    Plan {
        cron: Some(cron.to_owned()),
        timezone: Some("America/New_York".to_owned()),
        dst_gap: Some(DstGap::Skip),
        ..Plan::default()
    }
}

/// Four hours in which nobody looks at a job of each second, three of them before the gap.
///
/// Removed (`gaps-found-however-much-fires-before`): they are looked for from fire to fire, as what calendars take is. After ten thousand the look gave up,
/// and the next one began behind the outage.
#[test]
fn what_a_gap_took_is_on_record_however_much_was_to_fire_before_it() {
    let stage = Stage::new(Wish::of(skipping_gaps("* * * * * *")), []);
    stage.create(GAP - 3 * HOUR - 30, "creator");
    stage.sweep(GAP - 3 * HOUR - 20, "sweeper");
    stage.sweep_each_minute(GAP + HOUR..GAP + HOUR + 120);

    stage.play_to(GAP + HOUR + 100);

    let record = stage.run_at(moment(GAP).just_before()).expect("a record of the gap");
    assert_eq!((record.reason(), record.skipped_span().and_then(|span| span.count)), (Some("dst_gap"), Some(3600)));
}

/// Whoever was to record a gap has promised a look at its record, and dies before it is there.
///
/// Removed (`gaps-are-no-changes-of-a-schedule`): what the clock is put forward past is no instant of the job's. The look found one that no schedule
/// names, and told of a change of the schedule that never was.
#[test]
fn what_a_gap_took_is_on_record_though_who_was_to_record_it_died() {
    let told = Some((Telling::HEARS, vec![End::Skipped]));
    let stage = Stage::new(Wish { told, ..Wish::of(skipping_gaps("30 2 * 3 *")) }, [dies_before("pauser", "put_run")]);
    stage.create(GAP - HOUR, "creator");
    stage.sweep_each_minute(GAP - HOUR..GAP + 3 * HOUR);

    stage.change(GAP + HOUR, "pauser", Change::Pause);
    stage.play_to(GAP + 3 * HOUR);

    let record = stage.run_at(moment(GAP).just_before()).expect("a record of the gap");
    assert_eq!(record.reason(), Some("dst_gap"));
    assert_eq!(stage.told().iter().filter(|(_, what)| what == "run.skipped").count(), 1);
}

/// Who is told when a run is skipped is told of what a calendar took.
///
/// Removed: who puts the record settles nothing. Nobody was told of it.
#[test]
fn what_a_calendar_took_is_told_of() {
    let stage = Stage::new(told_of_skips(), []);
    stage.calendar(0, "maker", "works", shut(1100, 1900));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    stage.play_to(3010);

    assert_eq!((stage.state(1200).as_str(), heard_of_skips(&stage, 1200)), ("skipped: calendar", 1));
    assert!(stage.timers().iter().all(|timer| timer.key.due > moment(3010)), "{:?}", stage.timers());
}

/// Rule **nudge**: no timer of its own stands behind the record of what a calendar took, so that a look at it is promised before.
///
/// Removed: no look is promised. Nobody was told of it before the next thing of its job, which may be months away.
#[test]
fn what_a_calendar_took_is_told_of_though_who_recorded_it_died() {
    let stage = Stage::new(told_of_skips(), [dies_after("pauser", "put_run")]);
    stage.calendar(0, "maker", "works", shut(1100, 1900));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    stage.change(2000, "pauser", Change::Pause);
    stage.play_to(2350);

    assert_eq!((stage.state(1200).as_str(), heard_of_skips(&stage, 1200)), ("skipped: calendar", 1));
}

fn told_of_skips() -> Wish {
    Wish { told: Some((Telling::HEARS, vec![End::Skipped])), ..heeding(OnExcluded::Skip) }
}

fn heard_of_skips(stage: &Stage, instant: i64) -> usize {
    let run = stage.key(instant).to_string();
    stage.told().iter().filter(|(of, what)| *of == run && what == "run.skipped").count()
}

/// A hint that was given before a calendar took its instant starts nothing.
#[test]
fn an_old_hint_of_what_a_calendar_takes_by_now_starts_nothing() {
    let stage = Stage::new(heeding(OnExcluded::Skip), []);
    stage.calendar(0, "maker", "works", open());
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    stage.calendar(590, "changer", "works", shut(595, 700));
    stage.play_to(3010);

    assert_eq!(stage.called(), [1200, 1800, 2400, 3000]);
    assert_eq!(stage.state(600), "skipped: calendar");
}

/// Guard **as it was seen**: two make a calendar of one name, and neither has seen the other's. The second sleeps over the first.
///
/// Removed: who lost against another's write is not asked again what he has seen. He wrote over what the first had said.
#[test]
fn of_two_who_make_one_calendar_one_is_told_that_it_is_there() {
    let stage = Stage::new(heeding(OnExcluded::Skip), [sleeps_before("second", "put_calendar", 60)]);

    let second = stage.calendar_as_seen(0, "second", "works", shut(0, 7200), AsSeen::Absent);
    let first = stage.calendar_as_seen(20, "first", "works", open(), AsSeen::Absent);
    stage.create(100, "creator");
    stage.sweep_each_minute(60..7200);
    stage.play_to(1300);

    assert_eq!((first.given(), second.given()), (true, false));
    assert_eq!(stage.called(), [600, 1200], "what the first said");
}

/// A calendar goes with its jobs going on without it; and where jobs heed it, it does not go.
#[test]
fn a_calendar_that_goes_leaves_its_jobs_whole() {
    let stage = Stage::new(heeding(OnExcluded::Skip), [dies_after("remover", "put_calendar")]);
    stage.calendar(0, "maker", "works", shut(0, 7200));
    stage.create(10, "creator");
    stage.sweep_each_minute(60..7200);

    let held = stage.remove_calendar(300, "holder", "works", false);
    stage.play_to(800);
    assert_eq!((held.given(), stage.called()), (false, vec![]));
    stage.remove_calendar(900, "remover", "works", true);
    stage.play_to(2000);

    assert_eq!(stage.called(), [1200, 1800]);
    assert!(!stage.has_calendar("works"), "it is gone");
}

/// What nobody changes is not touched: a calendar that is put again as it is changes no job.
#[test]
fn a_calendar_that_says_the_same_again_touches_no_job() {
    let stage = Stage::new(heeding(OnExcluded::Skip), [dies_before("again", "put_head")]);
    stage.calendar(0, "maker", "works", shut(1100, 1900));
    stage.create(10, "creator");
    stage.play_to(100);

    stage.calendar(200, "again", "works", shut(1100, 1900));
    stage.play_to(300);

    assert_eq!(stage.job().map(|job| job.generation), Some(1));
}

/// Guard **one job stops no other**: the job behind which the walk of a change goes on cannot be read.
///
/// Removed: what cannot be read is a fault. The walk ended at that job each time, and no job behind it heard of the change.
#[test]
fn a_job_that_cannot_be_read_keeps_no_change_of_a_calendar_from_the_others() {
    let (readable, damaged) = beside_a_damaged_one();

    readable.calendar(900, "changer", "works", open());
    readable.play_to(2000);

    assert!(damaged.called().is_empty(), "nobody can read it: {:?}", damaged.called());
    assert_eq!(readable.called(), [1200, 1800]);
}

/// Removed: what cannot be read is a fault. The calendar was about to go for ever.
#[test]
fn a_job_that_cannot_be_read_keeps_no_calendar_that_is_to_go_in_any_case() {
    let (readable, _damaged) = beside_a_damaged_one();

    readable.remove_calendar(900, "remover", "works", true);
    readable.play_to(2000);

    assert_eq!((readable.called(), readable.has_calendar("works")), (vec![1200, 1800], false));
}

/// Removed: what cannot be read counts as a job that does not heed the calendar. It was gone, and the job, once it could be read, named nothing.
#[test]
fn a_job_that_cannot_be_read_is_counted_among_those_that_heed_a_calendar() {
    let damaged = Stage::new(heeding(OnExcluded::Skip), []);
    damaged.calendar(0, "maker", "works", shut(0, 7200));
    damaged.create(10, "creator");
    damaged.damage_head(300);

    let held = damaged.remove_calendar(900, "remover", "works", false);
    damaged.play_to(1000);

    assert_eq!((held.given(), damaged.has_calendar("works")), (false, true));
}

/// Two jobs that heed a calendar which shuts them for two hours; the walk comes to the one that cannot be read first.
fn beside_a_damaged_one() -> (Stage, Stage) {
    let one = Stage::new(heeding(OnExcluded::Skip), []);
    let other = one.beside(heeding(OnExcluded::Skip));
    let (readable, damaged) = if one.key(0).job < other.key(0).job { (other, one) } else { (one, other) };
    readable.calendar(0, "maker", "works", shut(0, 7200));
    readable.create(10, "creator");
    damaged.create(11, "creator");
    damaged.damage_head(300);
    readable.sweep_each_minute(60..7200);
    (readable, damaged)
}
