//! How big a deployment must be for so many runs a second, and what it costs a month. Reckoned from what docs/costs.md says that a
//! run costs (which the tests beside this one measure), from list prices and from the template's own numbers; the tables stand in
//! docs/operations.md, and `MINUTEHAND_UPDATE_DOCS=1` writes them there anew.
//!
//! `MINUTEHAND_RUNS_PER_SECOND=2500 cargo test -p minutehand-aws-tests --test cost capacity -- --nocapture` reckons for another rate.

#[path = "capacity/load.rs"]
mod load;
#[path = "capacity/scale.rs"]
mod scale;
#[path = "capacity/sheet.rs"]
mod sheet;

use std::path::Path;

use load::{Load, Sizing, Unit};
use scale::Scales;

use crate::hold_to;

/// Runs a second, and the scale of the template that is meant for it.
const RATES: [(&str, u32); 4] = [("small", 10), ("medium", 100), ("large", 1_000), ("huge", 10_000)];

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|why| panic!("{}: {why}", path.display()))
}

fn sizings() -> Vec<Sizing> {
    let (unit, scales) = (Unit::of_the_costs(&text("docs/costs.md")), Scales::of_the_template(&text("template.yaml")));
    RATES.iter().map(|(scale, rate)| Sizing::new(Load::of(*rate), unit, scales.named(scale))).collect()
}

#[test]
fn the_table_of_sizes_is_what_the_program_reckons() {
    let table = sheet::sizes(&sizings());

    println!("{table}");
    hold_to("operations.md", "sizes", &table);
}

#[test]
fn what_is_full_first_is_what_the_program_reckons() {
    let scales = Scales::of_the_template(&text("template.yaml"));

    let table = sheet::bounds(&scales);

    println!("{table}");
    hold_to("operations.md", "bounds", &table);
}

/// Tried: `large` with 80 hands for what is normal; `huge` with eight sweeps; a minimum of 8 pollers for
/// that at `large`.
#[test]
fn each_scale_of_the_template_takes_the_rate_that_the_table_gives_it() {
    for Sizing { load, scale, .. } in sizings() {
        for lane in load.lanes() {
            let (has, needs) = (scale.concurrency(lane.queue), lane.hands());
            assert!(has >= needs, "{}: {} has {has} invocations at once and needs {needs}", scale.name, lane.queue);
            let (has, needs) = (scale.least_pollers(lane.queue), lane.pollers());
            assert_eq!(has, needs, "{}: pollers of {}", scale.name, lane.queue);
        }
        let (has, needs) = (scale.concurrency("Sweeps"), load.sweeps());
        assert!(has >= needs, "{}: {has} sweeps at once, and {needs} are needed", scale.name);
    }
}

/// A poller holds ten invocations, and where pollers are provisioned nothing else bounds a queue's. Tried: 28 at most for what is critical
/// at `large`.
#[test]
fn the_most_pollers_hold_what_a_scale_allows() {
    for Sizing { scale, .. } in sizings() {
        for queue in scale::QUEUES {
            let (least, most) = (scale.least_pollers(queue), scale.most_pollers(queue));
            assert_eq!(most, scale.concurrency(queue).div_ceil(10).max(least), "{}: {queue}", scale.name);
        }
    }
}

/// All pollers together hold what is reserved for the executor: else those of long calls could take it all. Tried: `small`, where the template's rule
/// refuses to reserve.
#[test]
fn what_is_reserved_is_enough_for_all_pollers() {
    for Sizing { scale, .. } in sizings().iter().filter(|sizing| sizing.scale.name != "small") {
        let held: u32 = scale::QUEUES.iter().map(|queue| 10 * scale.most_pollers(queue)).sum();
        assert!(held <= scale.concurrency("Executor"), "{}: {held}", scale.name);
    }
}

/// The scale of the next rate of the table takes it. Tried: the scale of the rate before.
#[test]
fn another_rate_can_be_asked_for() {
    let asked = std::env::var("MINUTEHAND_RUNS_PER_SECOND").unwrap_or_else(|_| "2500".to_owned());
    let rate = asked.parse().ok().filter(|rate| (1..=10_000).contains(rate));
    let rate: u32 =
        rate.expect("MINUTEHAND_RUNS_PER_SECOND is from 1 to 10,000; beyond, divide the tenants among stacks");
    let (unit, scales) = (Unit::of_the_costs(&text("docs/costs.md")), Scales::of_the_template(&text("template.yaml")));
    let (scale, _) = RATES.iter().find(|(_, most)| rate <= *most).expect("the last is the most");

    let sizing = Sizing::new(Load::of(rate), unit, scales.named(scale));

    println!("{}", sheet::sizes(std::slice::from_ref(&sizing)));
    assert!(sizing.load.lanes().all(|lane| sizing.scale.concurrency(lane.queue) >= lane.hands()), "{sizing:?}");
}
