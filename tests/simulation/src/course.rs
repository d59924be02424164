//! The course of a history: what may go wrong in it and when, how long it lasts, and when all of it is calm.

use std::fmt;
use std::ops::Range;

use minutehand_judge::Calm;

use crate::clocks::Settings;
use crate::dice::Dice;
use crate::fate::Rates;
use crate::setting::{Host, Lambda, Setting};

const MINUTE: i64 = 60_000;
const HOUR: i64 = 60 * MINUTE;
/// A full hour, so that crons and intervals meet.
pub const BEGIN: i64 = 1_800_000_000_000;
/// When nothing goes wrong any more, where the sweepers live.
const ROUGH_FOR: i64 = 30 * MINUTE;
/// How long what went wrong may go on to have an effect: a process may sleep for twenty-six minutes, and what it then
/// leaves behind is found within the quarter of an hour that orphans wait.
const AFTERMATH: i64 = 45 * MINUTE;
/// Hints are given this far ahead, less the minute until the next tick.
const HINTED_AHEAD: i64 = 4 * MINUTE;
/// A sweep comes within a minute of an outage's end. A chain that it finds broken it promises again a second ahead, its bucket
/// having been left; so the sweep after that, a minute later, is the one that decides of what was missed and makes up for it, one
/// occurrence behind the other, before it comes to what is due by then. That takes it less than a minute, and then all hints up to
/// the horizon are given.
const RECOVERED: i64 = 3 * MINUTE;

/// What kind of history it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Everything goes wrong that can.
    Rough,
    /// Requests are throttled, and nothing else.
    Throttled,
    /// Nothing goes wrong.
    Calm,
    /// Hints are lost, of each run at most one.
    HintsLost,
    /// No sweeper for hours.
    Outage,
    /// Tens of jobs of several tenants, and everything goes wrong that can.
    Crowd,
    /// One machine whose only process dies again and again, and its queues with it.
    Machine,
    /// Clocks are set, forward and back, by minutes to days.
    Clocks,
}

#[derive(Clone, Debug)]
pub struct Course {
    pub kind: Kind,
    pub rates: Rates,
    /// No sweeper lives.
    pub unswept: Option<Range<i64>>,
    pub clocks: Settings,
    /// From when on nothing goes wrong.
    pub calm_from: i64,
    /// After this no schedule fires that has an end.
    pub last_fire: i64,
    /// The same for a job of every few seconds, which has met everything long before.
    pub last_fast_fire: i64,
    pub end: i64,
}

impl Course {
    pub fn drawn(dice: &mut Dice) -> Self {
        let kind = Kind::drawn(dice);
        Self::of(kind, dice)
    }

    /// Of a history of graphs.
    pub fn of_graphs(dice: &mut Dice) -> Self {
        use Kind::{Calm, Clocks, HintsLost, Machine, Outage, Rough, Throttled};
        let kind = dice.pick(&[
            Rough, Rough, Rough, Rough, Rough, Rough, Machine, Machine, Throttled, Calm, HintsLost, Outage, Clocks,
        ]);
        Self::of(kind, dice)
    }

    fn of(kind: Kind, dice: &mut Dice) -> Self {
        let unswept = kind.unswept(dice);
        let rough_to = BEGIN + ROUGH_FOR;
        let clocks = if kind == Kind::Clocks { Settings::drawn(dice, &(BEGIN..rough_to)) } else { Settings::none() };
        let calm_from =
            if kind == Kind::Outage { unswept.as_ref().map_or(rough_to, |span| span.end) } else { rough_to };
        Self {
            kind,
            // Where several write, clocks are not all that goes wrong.
            rates: if kind == Kind::Clocks && !clocks.alone { Rates::ROUGH } else { kind.rates() },
            unswept,
            calm_from,
            last_fire: calm_from + 30 * MINUTE,
            last_fast_fire: calm_from + 10 * MINUTE,
            end: calm_from.max(clocks.reached()) + 100 * MINUTE,
            clocks,
        }
    }

    /// Of those machines one in five: nothing goes wrong on it at all.
    pub fn leave_a_machine_alone(&mut self, dice: &mut Dice) {
        if self.kind == Kind::Machine && dice.chance(0.2) {
            (self.kind, self.rates) = (Kind::Calm, Rates::CALM);
        }
    }

    pub fn setting(&self, dice: &mut Dice) -> Setting {
        let throttles = match self.kind {
            Kind::Rough | Kind::Crowd => -1..3,
            Kind::Throttled => 1..5,
            Kind::Calm | Kind::HintsLost | Kind::Outage | Kind::Machine | Kind::Clocks => 0..1,
        };
        let drawn = Setting::drawn(dice, &(BEGIN..BEGIN + ROUGH_FOR), throttles);
        match self.kind {
            Kind::Rough | Kind::Throttled | Kind::Crowd => drawn,
            // A sweep by hand-outs comes when they arrive; and clocks are right, so that a second is a second.
            Kind::Calm | Kind::HintsLost | Kind::Outage => {
                let host = if dice.chance(0.5) { Host::Process } else { Host::Lambda(Lambda::plenty()) };
                Setting { skew: 0, host, sweep_timeout: 300_000, ..drawn }
            }
            Kind::Clocks if !self.clocks.alone => {
                let host = if dice.chance(0.5) { Host::Process } else { Host::Lambda(Lambda::plenty()) };
                Setting { host, ..drawn }
            }
            Kind::Machine | Kind::Clocks => {
                Setting { skew: 0, host: Host::Machine, exclusive_store: true, ..Setting::plain() }
            }
        }
    }

    /// How many jobs each of how many tenants has.
    pub fn crowd(&self, dice: &mut Dice) -> Vec<i64> {
        match self.kind {
            Kind::Crowd => (0..3).map(|_| dice.within(4..14)).collect(),
            _ => vec![dice.within(1..4)],
        }
    }

    /// Ticks may be late, doubled or missing, and queues purged.
    pub fn ticks_as_it_pleases(&self) -> bool {
        match self.kind {
            Kind::Rough | Kind::Throttled | Kind::Crowd => true,
            Kind::Calm | Kind::HintsLost | Kind::Outage | Kind::Machine | Kind::Clocks => false,
        }
    }

    /// When nothing goes wrong, or had any effect any more. What a clock that was ahead has decided holds until that time has
    /// come: until then an occurrence may be over, and a job may count from there.
    pub fn calm(&self, setting: &Setting) -> Vec<Calm> {
        let free_hands = match setting.host {
            Host::Process | Host::Machine => true,
            Host::Lambda(lambda) => lambda == Lambda::plenty(),
        };
        let calm = |span| Calm { span, skew: setting.skew, free_hands };
        match (self.kind, &self.unswept) {
            (Kind::Calm | Kind::HintsLost, _) => vec![calm(BEGIN..self.end)],
            (Kind::Outage, Some(unswept)) => {
                let (before, after) = (BEGIN..unswept.start + HINTED_AHEAD, unswept.end + RECOVERED..self.end);
                vec![calm(before), calm(after)]
            }
            _ => vec![calm(self.calm_from.max(self.clocks.reached()) + AFTERMATH..self.end)],
        }
    }
}

impl Kind {
    fn drawn(dice: &mut Dice) -> Self {
        let of_a_hundred = [
            (48, Self::Rough),
            (5, Self::Clocks),
            (13, Self::Throttled),
            (5, Self::Calm),
            (6, Self::HintsLost),
            (7, Self::Outage),
            (2, Self::Crowd),
            (14, Self::Machine),
        ];
        let mut roll = dice.within(0..100);
        for (share, kind) in of_a_hundred {
            if roll < share {
                return kind;
            }
            roll -= share;
        }
        Self::Rough
    }

    fn rates(self) -> Rates {
        match self {
            Self::Rough | Self::Crowd => Rates::ROUGH,
            Self::Throttled | Self::Calm | Self::Outage => Rates::CALM,
            Self::HintsLost => Rates::HINTS_LOST,
            Self::Machine | Self::Clocks => Rates::MACHINE,
        }
    }

    /// Sometimes no sweeper lives for a quarter of an hour; in an outage none does for hours.
    fn unswept(self, dice: &mut Dice) -> Option<Range<i64>> {
        let from = BEGIN + dice.within(3..20) * MINUTE;
        match self {
            Self::Rough | Self::Throttled | Self::Crowd => {
                dice.chance(0.35).then(|| from..from + dice.within(3..15) * MINUTE)
            }
            Self::Outage => Some(from..from + dice.within(HOUR..6 * HOUR)),
            Self::Calm | Self::HintsLost | Self::Machine | Self::Clocks => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rough => "rough",
            Self::Throttled => "throttled",
            Self::Calm => "calm",
            Self::HintsLost => "hints lost",
            Self::Outage => "outage",
            Self::Crowd => "crowd",
            Self::Machine => "machine",
            Self::Clocks => "clocks",
        })
    }
}
