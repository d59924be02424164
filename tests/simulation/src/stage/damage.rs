//! Damage: an item is written over with what nobody can read, where it lies.

use minutehand_domain::Moment;
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::operation::Erasing;
use minutehand_domain::run::Run;
use minutehand_domain::timer::{Timer, TimerKey, TimerStamp};
use minutehand_io::store::{Bucket, Cursor, Store as _};

use super::{Stage, moment};
use crate::history::BEGIN;
use crate::witness::at_once;

impl Stage {
    /// The timer of an occurrence, as soon as it stands there from that second on.
    pub fn damage_timer(&self, at: i64, instant: i64) {
        let (stage, key) = (self.clone(), TimerKey::occurrence(self.id, moment(instant)));
        self.sim.at(moment(at).millis(), move |_| {
            if !stage.world.damage_timer(&key) {
                stage.damage_timer(at + 1, instant);
            }
        });
    }

    /// What nobody can read lies where the timer of an occurrence would, though nobody has promised it.
    pub fn damage_place(&self, at: i64, instant: i64) {
        let (stage, key) = (self.clone(), TimerKey::occurrence(self.id, moment(instant)));
        self.sim.at(moment(at).millis(), move |_| {
            let stamp = TimerStamp { generation: 1, written: moment(at) };
            let timer = Timer { key, tenant: stage.tenant.clone(), stamp, parent: None };
            drop(at_once(stage.world.damaging_store().put_timer(&timer)).expect("memory"));
        });
    }

    /// The table of timers is lost: all that stands in the buckets of the first five hours, of every job.
    pub fn lose_timers(&self, at: i64) {
        let stage = self.clone();
        self.sim.at(moment(at).millis(), move |_| {
            for timer in stage.timers() {
                let erased = at_once(stage.world.whole_store().erase_timer(&timer.key, timer.stamp));
                assert!(erased.expect("memory"));
            }
        });
    }

    /// So many other timers, of a month from now: more of them than a page holds.
    pub fn strew_timers(&self, number: u32) {
        for n in 0..number {
            let timer = self.timer_of_another(n, 30 * 86_400 + i64::from(n));
            at_once(self.world.store_of_today().put_timer(&timer)).expect("memory");
        }
    }

    /// So many other timers of one instant that nobody can read.
    pub fn strew_damaged_timers(&self, number: u32, instant: i64) {
        for n in 0..number {
            let timer = self.timer_of_another(n, instant);
            at_once(self.world.damaging_store().put_timer(&timer)).expect("memory");
        }
    }

    fn timer_of_another(&self, n: u32, instant: i64) -> Timer {
        let mut id = [7; 16];
        id[..4].copy_from_slice(&n.to_be_bytes());
        let key = TimerKey::occurrence(JobId::from_bytes(id), moment(instant));
        Timer {
            key,
            tenant: self.tenant.clone(),
            stamp: TimerStamp { generation: 1, written: moment(0) },
            parent: None,
        }
    }

    /// The keys of what lies in the buckets of the first five hours and cannot be read by this release, as the store shows them.
    pub fn unreadable_timers(&self) -> Vec<String> {
        let minutes = BEGIN / 60_000..BEGIN / 60_000 + 300;
        let store = self.world.store_of_today();
        let bucket = |minute| at_once(store.timers(Bucket { minute, shard: 0 }, None, Moment::END, 1000));
        let unreadable = minutes.flat_map(|minute| bucket(minute).expect("memory").unreadable);
        unreadable.map(|left| left.key).collect()
    }

    pub fn damage_head(&self, at: i64) {
        let stage = self.clone();
        self.sim.at(moment(at).millis(), move |_| {
            assert!(stage.world.damage::<Head>(&stage.tenant, stage.id), "it was created");
        });
    }

    /// The record of an occurrence.
    pub fn damage_run(&self, at: i64, instant: i64) {
        let (stage, key) = (self.clone(), self.key(instant));
        self.sim.at(moment(at).millis(), move |_| {
            assert!(stage.world.damage::<Run>(&stage.tenant, key), "it is on record");
        });
    }

    /// The cursor of the first shard.
    pub fn damage_cursor(&self, at: i64) {
        let stage = self.clone();
        self.sim.at(moment(at).millis(), move |_| {
            assert!(stage.world.damage::<Cursor>(&Tenant::deployment(), 0), "somebody has swept");
        });
    }

    /// The mark of the tenant's erasure.
    pub fn damage_mark(&self, at: i64) {
        let stage = self.clone();
        self.sim.at(moment(at).millis(), move |_| {
            let tenant = stage.tenant.clone();
            assert!(stage.world.damage::<Erasing>(&Tenant::deployment(), tenant), "an erasure was asked for");
        });
    }
}
