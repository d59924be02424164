//! The crew of a history: who ticks, and whoever does something at a time, on whatever hosts it.

use std::time::Duration;

use minutehand_io::Ports as _;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::sweep::Pass;
use minutehand_protocol::sweep::repair::{Position, Repair, Repaired, repair};
use minutehand_sweeper::tick_in_groups;

use crate::course::{BEGIN, Course};
use crate::engine::Sim;
use crate::ports::SimPorts;
use crate::setting::Host;
use crate::world::World;

const MINUTE: i64 = 60_000;
/// A call of a repair begins no page after so long, and an operator makes so many of them.
const REPAIR_LASTS: Duration = Duration::from_secs(8);
const MOST_REPAIRS: u32 = 100;

#[derive(Clone)]
pub(crate) struct Crew {
    pub(crate) sim: Sim,
    pub(crate) world: World,
    pub(crate) course: Course,
}

impl Crew {
    pub(crate) fn act_at<F>(&self, at: i64, name: &'static str, act: impl FnOnce(SimPorts) -> F + Send + 'static)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let world = self.world.clone();
        self.sim.at(at, move |sim| {
            if world.setting().host != Host::Machine {
                let (process, ports) = world.process(name);
                sim.spawn(&process, act(ports));
            } else if let Some(machine) = world.listening() {
                sim.spawn(&machine.process, act(machine.ports));
            } else {
                sim.count("nobody listened");
            }
        });
    }

    /// A tick each minute, late or missed or doubled while it is rough; and none while no sweeper lives.
    pub(crate) fn plan_sweeps(&self) {
        let Course { unswept, calm_from, last_fire, end, .. } = self.course.clone();
        if let Some(span) = &unswept {
            let hours = span.end - span.start > 60 * MINUTE;
            self.sim.count(if hours { "sweeper dead for hours" } else { "sweeper dead for minutes" });
        }
        for minute in 0..(end - BEGIN) / MINUTE {
            let at = BEGIN + minute * MINUTE;
            let rough = at < calm_from && self.course.ticks_as_it_pleases();
            let missed = rough && self.sim.dice(|dice| dice.chance(0.08));
            // Once nothing fires any more a tick now and then will do.
            let idle = at > last_fire + 15 * MINUTE && minute % 3 > 0;
            if missed || idle || unswept.as_ref().is_some_and(|span| span.contains(&at)) {
                continue;
            }
            let late = self.sim.dice(|dice| if rough { dice.magnitude(0.0, 4.7) } else { 100 });
            self.sweep_at(at + late);
            if rough && self.sim.dice(|dice| dice.chance(0.05)) {
                self.sweep_at(at + late + self.sim.dice(|dice| dice.within(0..500)));
            }
        }
    }

    /// In a fifth of the histories an operator repairs while everything goes on, not knowing what is wrong, or whether anything is.
    pub(crate) fn plan_repairs(&self) {
        let repairs = self.sim.dice(|dice| if dice.chance(0.2) { dice.pick(&[1, 1, 2]) } else { 0 });
        for _ in 0..repairs {
            self.repair_at(BEGIN + self.sim.dice(|dice| dice.within(2 * MINUTE..60 * MINUTE)));
        }
    }

    /// Call by call. But not by a clock that is behind, as the documentation says: what was changed since would be of a time that has not come.
    fn repair_at(&self, at: i64) {
        let sim = self.sim.clone();
        self.act_at(at, "operator", |ports| async move {
            if ports.clock().now().millis() < sim.now() - MINUTE {
                return sim.count("nobody repairs by a clock that is behind");
            }
            let mut from = Position::default();
            for _ in 0..MOST_REPAIRS {
                let until = ports.clock().now() + REPAIR_LASTS;
                match repair(&ports, from, Repair { check: false, until }).await {
                    Ok(Repaired { next: Some(next), .. }) => from = next,
                    Ok(Repaired { next: None, .. }) => return sim.count("repaired"),
                    Err(_) => return sim.count("repair unanswered"),
                }
            }
        });
    }

    fn sweep_at(&self, at: i64) {
        let crew = self.clone();
        self.sim.at(at, move |sim| {
            let (process, ports) = crew.world.process("sweeper");
            let until = crew.world.end_of_sweep(&process);
            sim.spawn(&process, async move {
                let each = crew.world.setting().shards_per_sweep;
                if let Ok(pass) = tick_in_groups(&ports, each, until, |group| ports.hand_out(group)).await {
                    crew.count_pass(&pass);
                }
            });
        });
    }

    fn count_pass(&self, pass: &Pass) {
        let counts = [
            ("hinted", pass.hinted),
            ("looked at", pass.looked_at),
            ("moved", pass.moved),
            ("unfinished", pass.unfinished),
            ("overtaken", pass.overtaken),
        ];
        for (what, _) in counts.into_iter().filter(|(_, count)| *count > 0) {
            self.sim.count(format!("pass {what}"));
        }
    }
}
