//! The queue of groups: how one sweeper hands a part of the minute to another. It loses, doubles and delays them as the
//! queues do with hints, and delivers a group again when its sweeper met a fault.

use minutehand_sweeper::{Group, sweep_shards};

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

    fn deliver_group(&self, message: String, at: i64, receives: u32) {
        let world = self.clone();
        self.sim().at(at, move |sim| {
            let (process, ports) = world.process("sweeper");
            let shards = world.setting().shards;
            let group = Group::parse(message.as_bytes(), shards).expect("a group as it was handed out");
            sim.count("group swept");
            sim.spawn(&process, async move {
                if sweep_shards(&ports, group.shards()).await.is_err() && receives < MOST_RECEIVES {
                    world.sim().count("group delivered again after a fault");
                    world.deliver_group(message, world.sim().now() + AGAIN, receives + 1);
                }
            });
        });
    }
}
