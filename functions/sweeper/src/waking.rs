//! Waking: who wakes the sweeper, read from the event, and what becomes of the dead man's switch then.

use minutehand_domain::switch::Push;
use minutehand_io::Fault;
use minutehand_io::metrics::{Measure, SWITCH_FIRED, SWITCH_PUSHES};
use minutehand_protocol::sweep::Pass;
use serde_json::Value;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Waking<'a> {
    /// The minute, or somebody by hand: whatever is neither of the others.
    Tick,
    /// The queue of sweeps.
    Groups(&'a [Value]),
    /// The dead man's switch, since for minutes no pass has ended well.
    Switch,
}

impl<'a> Waking<'a> {
    pub fn of(event: &'a Value) -> Self {
        match event.get("Records").and_then(Value::as_array) {
            Some(records) => Self::Groups(records),
            None if event["switch"] == "fired" => Self::Switch,
            None => Self::Tick,
        }
    }

    /// A page wakes somebody: by what CloudWatch knows of the switch itself. This line is what he finds.
    pub fn tell(self, into: &dyn Measure) {
        if self == Self::Switch {
            tracing::error!("the dead man's switch fired: for minutes no pass had ended well; this one catches up");
            into.add(&SWITCH_FIRED, &[], 1.0);
        }
    }

    /// A pass that failed is no sign of life, nor is that of a group: the tick that handed it out is one for all.
    pub fn pushes_after(self, swept: &Result<Pass, Fault>) -> bool {
        match self {
            Self::Tick | Self::Switch => swept.is_ok(),
            Self::Groups(_) => false,
        }
    }
}

/// What came of a push. One that failed takes nothing from its pass.
pub fn tell_of_a_push(pushed: &Result<Push, Fault>, into: &dyn Measure) {
    if let Err(why) = pushed {
        tracing::warn!(%why, "the dead man's switch was not pushed: it fires, unless a later pass pushes it");
    }
    let outcome = match pushed {
        Ok(Push::To(_)) => "pushed",
        Ok(Push::Recent) => "recent",
        Ok(Push::Off) => "off",
        Err(_) => "failed",
    };
    into.add(&SWITCH_PUSHES, &[outcome], 1.0);
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use minutehand_domain::Moment;
    use minutehand_io::metrics::Metric;
    use serde_json::json;

    use super::*;

    #[test]
    fn who_wakes_the_sweeper_is_read_from_the_event() {
        let records = [json!({"body": "{}"})];
        let rows = [
            (json!({"Records": records}), Waking::Groups(&records)),
            (json!({"Records": [], "switch": "fired"}), Waking::Groups(&[])),
            (json!({"switch": "fired"}), Waking::Switch),
            (json!({"switch": true}), Waking::Tick),
            (json!({"source": "aws.scheduler"}), Waking::Tick),
            (json!({}), Waking::Tick),
            (json!(null), Waking::Tick),
            (json!("Records"), Waking::Tick),
        ];
        for (event, waking) in &rows {
            assert_eq!(Waking::of(event), *waking, "{event}");
        }
    }

    /// Tried: that each pass pushes. A sweeper that fails each minute, or whose table is away, would then hold the switch back for ever.
    #[test]
    fn only_a_tick_that_ended_well_is_a_sign_of_life() {
        let (well, badly) = (Ok(Pass::default()), Err(Fault::unavailable("the table", "it is away")));
        for (waking, after_a_good_one) in [(Waking::Tick, true), (Waking::Switch, true), (Waking::Groups(&[]), false)] {
            assert_eq!((waking.pushes_after(&well), waking.pushes_after(&badly)), (after_a_good_one, false));
        }
    }

    #[derive(Default)]
    struct Counted(Mutex<Vec<String>>);

    impl Measure for Counted {
        fn add(&self, metric: &'static Metric, words: &[&str], value: f64) {
            self.0.lock().unwrap().push(format!("{} {} {value}", metric.name, words.join(" ")));
        }
    }

    #[test]
    fn each_push_and_each_firing_is_counted_once() {
        let counted = Counted::default();

        for pushed in
            [Ok(Push::To(Moment::EPOCH)), Ok(Push::Recent), Ok(Push::Off), Err(Fault::unavailable("it", "no"))]
        {
            tell_of_a_push(&pushed, &counted);
        }
        for waking in [Waking::Tick, Waking::Groups(&[]), Waking::Switch] {
            waking.tell(&counted);
        }

        let pushes =
            ["pushed", "recent", "off", "failed"].map(|word| format!("minutehand_switch_pushes_total {word} 1"));
        let fired = "minutehand_switch_fired_total  1".to_owned();
        assert_eq!(*counted.0.lock().unwrap(), [&pushes[..], &[fired]].concat());
    }
}
