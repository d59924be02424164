//! Calendar: the cost of finding the next fire of an expression, and of finding that there is none. Without a server.

use std::hint::black_box;
use std::time::{Duration, Instant};

use minutehand_domain::Moment;
use minutehand_domain::schedule::Spread;
use minutehand_domain::schedule::cron::{Cron, CronError, DayRule, DstGap, DstOverlap, Manner, zone};

use crate::failure::Outcome;
use crate::sheet::{Must, Reading};

const EXPRESSIONS: usize = 4_000;
const INSTANTS: usize = 12;
/// Of this many tries the fastest counts: other processes slow the machine down, never speed it up.
const TRIES: usize = 7;

/// From plain expressions to those that wait for decades; with seconds and years, so that every part of the walk is used.
const FIELDS: [&[&str]; 7] = [
    &["0", "*", "*/7", "5,50", "59"],
    &["0", "*", "30", "*/20", "59-1", "H"],
    &["2", "*", "1-3", "0", "*/6", "23"],
    &["*", "1", "13", "29", "30", "31", "L", "L-3", "L-30", "LW", "15W", "1W", "L-28W", "*/2", "1,L"],
    &["*", "2", "2,4", "NOV-FEB", "*/5", "6-8"],
    &["*", "MON", "0", "FRIL", "MON#5", "SUN#1", "1-5", "6L", "SUN#2"],
    &["*", "*", "*", "2027", "2100-2199/7", "2199", "2026-2040/4"],
];
const ZONES: [&str; 6] =
    ["UTC", "America/New_York", "Australia/Lord_Howe", "Africa/Casablanca", "Pacific/Apia", "Europe/Dublin"];
/// More expressions, beside those of the tables above.
const NEVER: [&str; 6] = [
    "0 0 30 2 *",
    "0 0 31 4,6,9,11 *",
    "0 0 0 29 2 ? 2100-2199/100",
    "* * L-30 2 *",
    "0 0 0 L-30 11 * 1970-2199",
    "* * * 30,31 2 * 1970-2199",
];

pub fn meaning() -> String {
    format!(
        "the next fire of {EXPRESSIONS} legal expressions in {} zones, each from {INSTANTS} instants; the fastest of {TRIES} tries",
        ZONES.len()
    )
}

pub fn measure() -> Outcome<Vec<Reading>> {
    let mut dice = Dice(0x9E37_79B9_7F4A_7C15);
    let (mut nexts, mut nevers) = (Vec::new(), Vec::new());
    let mut legal = 0;
    while legal < EXPRESSIONS {
        let (text, manner) = (dice.expression(), dice.manner()?);
        match Cron::parse(&text, manner, Spread::default()) {
            Ok(cron) => {
                legal += 1;
                nexts.extend((0..INSTANTS).map(|_| dice.instant()).map(|t| fastest(|| black_box(&cron).next_after(t))));
            }
            Err(CronError::Never { .. }) => nevers.push(never(&text, manner)),
            Err(_) => {}
        }
    }
    for text in NEVER {
        nevers.push(never(text, Manner { days: DayRule::Both, ..dice.manner()? }));
    }
    nexts.sort_unstable();
    nevers.sort_unstable();
    Ok(vec![
        Reading::new("next, median", "µs", micros(nexts[nexts.len() / 2])).must_be(Must::AtMost(5.0)),
        Reading::new("next, p99", "µs", micros(nexts[nexts.len() / 100 * 99])),
        Reading::new("next, worst", "µs", micros(nexts[nexts.len() - 1])).must_be(Must::AtMost(50.0)),
        Reading::new("never, median", "µs", micros(nevers[nevers.len() / 2])),
        Reading::new("never, worst", "µs", micros(nevers[nevers.len() - 1])).must_be(Must::AtMost(100.0)),
    ])
}

/// The time to parse it and to find that it never fires.
fn never(text: &str, manner: Manner) -> Duration {
    fastest(|| Cron::parse(black_box(text), manner, Spread::default()))
}

fn fastest<T>(what: impl Fn() -> T) -> Duration {
    let once = |_| {
        let begin = Instant::now();
        black_box(what());
        begin.elapsed()
    };
    (0..TRIES).map(once).min().unwrap_or_default()
}

fn micros(span: Duration) -> f64 {
    span.as_secs_f64() * 1e6
}

/// The same numbers each time, so that two builds are measured on the same inputs.
struct Dice(u64);

impl Dice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap_or_default() % count
    }

    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())]
    }

    fn expression(&mut self) -> String {
        FIELDS.map(|field| self.pick(field)).join(" ")
    }

    fn manner(&mut self) -> Outcome<Manner> {
        let zone = zone(self.pick(&ZONES)).map_err(|why| crate::failure::Failure::Said(why.to_string()))?;
        Ok(Manner {
            zone,
            days: self.pick(&[DayRule::Either, DayRule::Both]),
            gap: self.pick(&[DstGap::NextValid, DstGap::Skip]),
            overlap: self.pick(&[DstOverlap::ByKind, DstOverlap::First, DstOverlap::Second, DstOverlap::Both]),
        })
    }

    /// From 2020 to 2043, a quarter of them in the nights of clock changes.
    fn instant(&mut self) -> Moment {
        const TURNS: [i64; 4] = [1_774_746_000, 1_792_893_600, 1_772_953_200, 1_793_512_800];
        let anywhere = 1_577_836_800 + i64::try_from(self.below(725_760_000)).unwrap_or_default();
        let near = self.pick(&TURNS) + i64::try_from(self.below(7_200)).unwrap_or_default() - 3_600;
        Moment::from_secs(if self.below(4) == 0 { near } else { anywhere })
    }
}
