//! Calendars in a history: a tenant says when nothing fires, and says it anew while its jobs heed that and everything goes wrong that can.

use serde_json::{Value, json};

use super::{BEGIN, MINUTE, Play, instant};
use crate::client::Client;
use crate::dice::Dice;

/// What a tenant's only calendar is called.
const CALENDAR: &str = "closed";
const ADDRESS: &str = "/v1/calendars/closed";

/// Whether the jobs of a tenant heed its calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Heeds {
    Nothing,
    Sometimes,
}

impl Play {
    /// Of some tenants only: a history without calendars is another one.
    pub(super) fn plan_calendar(&self) -> Heeds {
        if !self.sim.dice(|dice| dice.chance(0.35)) {
            return Heeds::Nothing;
        }
        let first = self.sim.dice(closed);
        for again in [0, 20_000, 60_000] {
            self.close_at(BEGIN + again, first.clone());
        }
        for _ in 0..self.sim.dice(|dice| dice.pick(&[0, 1, 1, 2, 3])) {
            let at = BEGIN + self.sim.dice(|dice| dice.within(2 * MINUTE..25 * MINUTE));
            self.close_at(at, self.sim.dice(closed));
        }
        if self.sim.dice(|dice| dice.chance(0.1)) {
            self.open_at(BEGIN + self.sim.dice(|dice| dice.within(5 * MINUTE..25 * MINUTE)));
        }
        Heeds::Sometimes
    }

    /// The same schedule, heeding the calendar; or as it was.
    pub(super) fn heeding(&self, heeds: Heeds, mut schedule: Value) -> Value {
        if heeds == Heeds::Sometimes && self.sim.dice(|dice| dice.chance(0.6)) {
            schedule["calendars"] = json!([CALENDAR]);
            let moves = self.sim.dice(|dice| dice.chance(0.5));
            schedule["on_excluded"] = json!(if moves { "move" } else { "skip" });
            self.sim.count(if moves { "heeds a calendar and moves" } else { "heeds a calendar and skips" });
        }
        schedule
    }

    fn close_at(&self, at: i64, calendar: Value) {
        let play = self.clone();
        self.act_at(at, "keeper", move |ports| async move {
            let client = Client::of(ports, play.tenant.clone());
            let answer = client.send("PUT", ADDRESS, None, &calendar).await;
            match answer.status.as_u16() {
                200 | 201 => play.sim.count("calendar said"),
                409 | 503 => play.sim.count("calendar unanswered"),
                other => panic!("a calendar was answered with {other}: {}", answer.body),
            }
        });
    }

    /// Its jobs go on without it.
    fn open_at(&self, at: i64) {
        let play = self.clone();
        self.act_at(at, "keeper", move |ports| async move {
            let client = Client::of(ports, play.tenant.clone());
            let answer = client.command("DELETE", &format!("{ADDRESS}?force=true")).await;
            match answer.status.as_u16() {
                200 | 204 | 404 => play.sim.count("calendar taken away"),
                409 | 503 => play.sim.count("calendar unanswered"),
                other => panic!("a calendar's end was answered with {other}: {}", answer.body),
            }
        });
    }
}

/// Some windows of minutes, most of them while things go wrong.
fn closed(dice: &mut Dice) -> Value {
    let windows: Vec<Value> = (0..dice.within(1..4)).map(|_| window(dice)).collect();
    json!({"maintenance": windows})
}

/// From one minute to another, or so many seconds beside it.
fn window(dice: &mut Dice) -> Value {
    let beside = |dice: &mut Dice| if dice.chance(0.3) { dice.within(-59..60) * 1000 } else { 0 };
    let from = BEGIN + dice.within(0..40) * MINUTE + beside(dice);
    let until = from + dice.pick(&[1, 2, 5, 10]) * MINUTE + beside(dice).max(0);
    json!({"from": instant(from), "to": instant(until)})
}
