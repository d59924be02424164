//! Fate: what happens to a process at a port. Either chance decides, or a script that a directed test wrote.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::dice::Dice;

/// A port call is two steps: before it acts, and after, when the answer is on its way back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Phase {
    Before,
    After,
}

/// Where a process stands.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    pub process: &'a str,
    pub port: &'static str,
    pub phase: Phase,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Go,
    Crash,
    /// Too slow: a pause of the process, a network that hangs.
    Stall(Duration),
    /// The call is refused, or its answer is lost.
    Fault,
}

/// How often what happens.
#[derive(Clone, Copy, Debug)]
pub struct Rates {
    pub crash: f64,
    pub stall: f64,
    pub fault: f64,
    pub lose_hint: f64,
    pub double_hint: f64,
    pub late_hint: f64,
    pub early_again: f64,
    /// Of the sends that travel together some fail.
    pub partial_batch: f64,
    /// What became of a batch is never heard, so that all of it comes again.
    pub lose_answer: f64,
    /// A write acted and its answer was lost, so that the client of the table tries it a second time by itself.
    pub try_twice: f64,
    /// The network delivers a request a second time, long after it was answered.
    pub echo: f64,
    /// A process cannot reach one of the tables or the queues, for as long as it lives.
    pub cut_off: f64,
    /// Of each run at most one hint is lost.
    pub lose_once: bool,
}

impl Rates {
    pub const CALM: Self = Self {
        crash: 0.0,
        stall: 0.0,
        fault: 0.0,
        lose_hint: 0.0,
        double_hint: 0.0,
        late_hint: 0.0,
        early_again: 0.0,
        partial_batch: 0.0,
        lose_answer: 0.0,
        try_twice: 0.0,
        echo: 0.0,
        cut_off: 0.0,
        lose_once: false,
    };
    /// Nothing goes wrong, but that of each run a hint may be lost.
    pub const HINTS_LOST: Self = Self { lose_hint: 0.3, lose_once: true, ..Self::CALM };
    /// One machine: its store seldom fails, and its death is everybody's.
    pub const MACHINE: Self = Self { crash: 0.000_5, stall: 0.001, fault: 0.002, ..Self::CALM };
    pub const ROUGH: Self = Self {
        crash: 0.004,
        stall: 0.005,
        fault: 0.005,
        lose_hint: 0.03,
        double_hint: 0.05,
        late_hint: 0.05,
        early_again: 0.01,
        partial_batch: 0.02,
        lose_answer: 0.02,
        try_twice: 0.01,
        echo: 0.01,
        cut_off: 0.01,
        lose_once: false,
    };
}

/// One line of a script: at the `nth` time (from 1) that a process of this name comes to this step.
#[derive(Clone, Debug)]
pub struct Line {
    pub process: &'static str,
    pub port: &'static str,
    pub phase: Phase,
    pub nth: u32,
    pub fate: Fate,
}

#[derive(Debug)]
pub enum Fates {
    Chance(Rates),
    Script { lines: Vec<Line>, visits: BTreeMap<(String, &'static str, Phase), u32> },
}

impl Fates {
    pub fn script(lines: Vec<Line>) -> Self {
        Self::Script { lines, visits: BTreeMap::new() }
    }

    pub fn rates(&self) -> Rates {
        match self {
            Self::Chance(rates) => *rates,
            Self::Script { .. } => Rates::CALM,
        }
    }

    pub fn at(&mut self, step: Step<'_>, dice: &mut Dice) -> Fate {
        match self {
            Self::Chance(rates) => by_chance(*rates, dice),
            Self::Script { lines, visits } => {
                let visit = visits.entry((step.process.to_owned(), step.port, step.phase)).or_default();
                *visit += 1;
                let here = |line: &&Line| {
                    (line.process, line.port, line.phase) == (step.process, step.port, step.phase) && line.nth == *visit
                };
                lines.iter().find(here).map_or(Fate::Go, |line| line.fate)
            }
        }
    }
}

fn by_chance(rates: Rates, dice: &mut Dice) -> Fate {
    let roll = dice.fraction();
    if roll < rates.crash {
        Fate::Crash
    } else if roll < rates.crash + rates.stall {
        // One second to twenty-six minutes: long enough to outlive every line the protocol draws.
        Fate::Stall(Duration::from_millis(dice.magnitude(3.0, 6.2).unsigned_abs()))
    } else if roll < rates.crash + rates.stall + rates.fault {
        Fate::Fault
    } else {
        Fate::Go
    }
}
