//! The queue of groups: how one sweeper hands a part of the minute to another. It loses, doubles and delays them as the
//! queues do with hints, and delivers a group again when its sweeper met a fault.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_sweeper::{Group, sweep_shards};

use crate::engine::Process;
use crate::world::World;

/// Deliveries of one group.
const MOST_RECEIVES: u32 = 3;
/// How long a group that met a fault waits for its next delivery.
const AGAIN: i64 = 60_000;

impl World {
    pub fn hand_out(&self, group: Group) {
        let message = group.to_message();
        for _ in 0..self.copies("group") {
            self.deliver_group(message.clone(), self.sim().now() + self.delay("group"), 1);
        }
    }

    /// Until when a sweeper begins something; a while later it is killed, whatever it is at.
    pub fn end_of_sweep(&self, process: &Arc<Process>) -> Moment {
        let (timeout, killed) = (self.setting().sweep_timeout, Arc::clone(process));
        self.sim().at(self.sim().now() + timeout, move |sim| {
            if !killed.is_dead() && sim.is_at_work(&killed) {
                sim.count("sweep killed by its deadline");
            }
            sim.kill(&killed);
        });
        process.now(self.sim()) + Duration::from_millis((timeout / 2).unsigned_abs())
    }

    fn deliver_group(&self, message: String, at: i64, receives: u32) {
        let world = self.clone();
        self.sim().at(at, move |sim| {
            let (process, ports) = world.process("sweeper");
            let shards = world.setting().shards;
            let group = Group::parse(message.as_bytes(), shards).expect("a group as it was handed out");
            sim.count("group swept");
            let until = world.end_of_sweep(&process);
            sim.spawn(&process, async move {
                let hand_out = |group| ports.hand_out(group);
                let swept = sweep_shards(&ports, group.shards().collect(), until, hand_out).await;
                if swept.is_err() && receives < MOST_RECEIVES {
                    world.sim().count("group delivered again after a fault");
                    world.deliver_group(message, world.sim().now() + AGAIN, receives + 1);
                }
            });
        });
    }
}
