//! What an operator has to read: lines of the log that say what is wrong, and where.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use minutehand_simulation::fate::Line;
use minutehand_simulation::stage::{Stage, Wish, dies_before};

const DAY: i64 = 24 * 3600;
const TEMPLATE: &str = include_str!("../../../../template.yaml");

/// What is logged while the stage is played to that second, by line.
fn said(stage: &Stage, second: i64) -> Vec<String> {
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber =
        tracing_subscriber::fmt().with_ansi(false).without_time().with_writer(move || writer.clone()).finish();
    tracing::subscriber::with_default(subscriber, || stage.play_to(second));
    let bytes = lines.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
    String::from_utf8(bytes).expect("text").lines().map(ToOwned::to_owned).collect()
}

/// The one line of this level that says so.
fn the_line<'a>(said: &'a [String], level: &str, what: &str) -> &'a str {
    let lines: Vec<_> = said.iter().filter(|line| line.contains(what)).collect();
    let [line] = lines[..] else { panic!("{what}: {said:#?}") };
    assert!(line.trim_start().starts_with(level), "{line}");
    line
}

#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Two passes die, and a third comes to its end, since the clock was set back.
///
/// Removed (`said-loudly`): it is a line for whoever looks for it. None was an error.
/// Removed (`sweep-replaces-at-once`): the cursor is replaced at the end of a pass. It was said by each.
#[test]
fn a_cursor_that_is_not_believed_is_an_error_said_once_with_its_shard() {
    let dies = (1..=2).map(|nth| Line { nth, ..dies_before("dying", "timers") });
    let stage = Stage::new(Wish::once(600), dies);
    stage.set_clocks(10, DAY);
    stage.sweep(60, "sweeper");
    stage.set_clocks(100, 0);
    for at in [120, 180] {
        stage.sweep(at, "dying");
    }
    stage.sweep(240, "sweeper");

    let said = said(&stage, 250);

    let line = the_line(&said, "ERROR", "the cursor of a shard is of a time that has not come");
    assert!(line.contains("shard=0"), "{line}");
}

/// Removed (`corrupt-said-with-its-key`): it is said that there is one, and not where.
#[test]
fn a_timer_that_nobody_can_read_is_an_error_with_its_key() {
    let stage = Stage::new(Wish::once(600), []);
    stage.create(0, "creator");
    stage.damage_timer(100, 600);
    stage.sweep(400, "sweeper");

    let said = said(&stage, 410);

    let [key] = &stage.unreadable_timers()[..] else { panic!("{:?}", stage.unreadable_timers()) };
    let line = the_line(&said, "ERROR", "a timer that nobody can read");
    assert!(line.contains(&format!("key={key:?}")), "{line}");
}

/// Removed (`later-said-with-its-key`): it is said that there is one, and not where.
#[test]
fn a_timer_that_a_later_release_wrote_is_a_warning_with_its_key() {
    let stage = Stage::new(Wish::once(600), []);
    stage.roll_out(["later"], 1_000);
    stage.create(0, "later");
    stage.sweep(400, "sweeper");

    let said = said(&stage, 410);

    let [key] = &stage.unreadable_timers()[..] else { panic!("{:?}", stage.unreadable_timers()) };
    let line = the_line(&said, "WARN", "a timer waits for a later release");
    assert!(line.contains(&format!("key={key:?}")), "{line}");
}

/// Removed (`corrupt-job-said-with-its-timer`): it is said that there is one, and not where.
#[test]
fn a_timer_that_points_at_what_nobody_can_read_is_an_error_with_its_key() {
    let stage = Stage::new(Wish::once(600), []);
    stage.create(0, "creator");
    stage.damage_head(100);
    stage.sweep(400, "sweeper");

    let said = said(&stage, 410);

    let [timer] = &stage.timers()[..] else { panic!("{:?}", stage.timers()) };
    let line = the_line(&said, "ERROR", "a timer points at what nobody can read");
    assert!(line.contains(&format!("timer={:?}", timer.key)) && line.contains("tenant=\"staged\""), "{line}");
}

/// Two alarms of the template count them: its filters look for this level, and for these fields.
///
/// Removed (`said-in-numbers`): the line. Each alarm was silent, whatever lay there.
#[test]
fn what_a_sweep_cannot_read_is_an_error_with_the_numbers_that_the_templates_filters_count() {
    let corrupt = Stage::new(Wish::once(600), []);
    corrupt.create(0, "creator");
    corrupt.damage_timer(100, 600);
    let later = Stage::new(Wish::once(600), []);
    later.roll_out(["later"], 1_000);
    later.create(0, "later");

    for (stage, field) in [(corrupt, "corrupt"), (later, "later")] {
        stage.sweep(400, "sweeper");

        let said = said(&stage, 410);

        let line = the_line(&said, "ERROR", "timers, or what they point at, cannot be read");
        assert!(line.contains(&format!(" {field}=1")), "{line}");
        let filter = format!(r#"FilterPattern: '{{ $.level = "ERROR" && $.{field} > 0 }}'"#);
        assert_eq!(TEMPLATE.matches(&filter).count(), 1, "{filter}");
    }
}
