//! Jobs that run behind others on a stage.

use minutehand_domain::Moment;
use minutehand_domain::follow::{Follower, Listed};
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::job::{Change, Job};
use minutehand_domain::run::Run;
use minutehand_domain::schedule::{Plan, Schedule};
use minutehand_domain::workflow::edge::On;
use minutehand_io::store::{RunsOf, Seen, Store as _};
use minutehand_judge::followers::{self as judge, Account, Watch};

use super::{Stage, Wish, moment};
use crate::witness::at_once;

/// Behind the runs of that stage's job which end so.
pub fn behind(front: &Stage, on: On) -> Plan {
    Plan { after: Some((front.id, on)), ..Plan::default() }
}

impl Wish {
    pub fn behind(front: &Stage, on: On) -> Self {
        Self::of(behind(front, on))
    }
}

impl Stage {
    pub fn id(&self) -> JobId {
        self.id
    }

    /// All runs of its job, oldest first.
    pub fn runs(&self) -> Vec<Run> {
        let within = RunsOf { job: self.id, window: Moment::EPOCH..Moment::END };
        let page = at_once(self.world.whole_store().list::<Run>(&self.tenant, within, None, 10_000));
        let mut runs = page.expect("memory").items;
        runs.reverse();
        runs
    }

    /// How each of them stands, in the wire's words.
    pub fn states(&self) -> Vec<String> {
        self.runs().iter().map(|run| self.said_of(run)).collect()
    }

    fn said_of(&self, run: &Run) -> String {
        let status = run.status(self.now());
        run.reason().map_or_else(|| status.to_owned(), |reason| format!("{status}: {reason}"))
    }

    /// For each of its runs the instant of the one that it follows.
    pub fn followed(&self) -> Vec<i64> {
        let of = |run: &Run| run.follows.map_or(-1, |follows| super::second(follows.run.at.millis()));
        self.runs().iter().map(of).collect()
    }

    /// The timer of an occurrence is gone, without anybody's doing.
    pub fn lose_link(&self, instant: i64) {
        let timer = self.timer(instant).expect("it stands there");
        let erased = at_once(self.world.whole_store().erase_timer(&timer.key, timer.stamp));
        assert!(erased.expect("memory"));
    }

    /// Its job runs behind that one, whatever circle that closes: as two who write at once may leave it.
    pub fn close_circle(&self, at: i64, front: &Self, on: On) {
        let (stage, front) = (self.clone(), front.clone());
        self.sim.at(moment(at).millis(), move |_| {
            let (Some(own), Some(first)) = (stage.seen_job(), front.seen_job()) else { return };
            let schedule = Schedule::new(&behind(&front, on), moment(at)).expect("a plan");
            let next = own.item.after(&Change::reschedule(schedule), moment(at)).expect("it was not deleted");
            let entry =
                Listed { follower: Follower { job: next.id, on }, generation: next.generation, since: moment(at) };
            let listing = first.item.listing(entry).expect("there is room");
            for (job, guard) in [(listing, first.guard()), (next, own.guard())] {
                let (tenant, id, head) = (job.tenant.clone(), job.id, Head::Job(job));
                let put = stage.world.store_of_today().put(&tenant, id, &head, guard);
                assert!(at_once(put).expect("memory").is_written());
            }
        });
    }

    fn seen_job(&self) -> Option<Seen<Job>> {
        let seen = at_once(self.world.whole_store().get::<Head>(&self.tenant, self.id)).expect("memory")?;
        Some(Seen { version: seen.version, item: seen.item.into_job()? })
    }

    /// Who stands in its job's list.
    pub fn followers(&self) -> Vec<JobId> {
        let job = self.job();
        job.map(|job| job.pinned().iter().map(|follower| follower.job).collect()).unwrap_or_default()
    }

    /// What the judge is told of this job and the one in front of it: `on` which ends it is to run, and between which seconds nobody did
    /// anything to it.
    pub fn watched_behind(&self, front: &Self, on: &str, watched: std::ops::Range<i64>) -> Account {
        let millis = |second: i64| moment(second).millis();
        let seen = self.world.seen();
        let calls_of = |key: RunKey| {
            let is_of = |call: &&minutehand_judge::Call| {
                call.job == self.number && call.instant == key.at.millis() && call.number == key.discriminator
            };
            seen.calls.iter().filter(is_of).map(|call| call.at).min()
        };
        let end = |run: &Run| judge::End {
            run: run.key.to_string(),
            meant_for: run.key.at.millis(),
            at: run.finished_at().map(Moment::millis),
            status: run.status(self.now()).to_owned(),
            reason: run.reason().map(str::to_owned),
        };
        let made = |run: &Run| judge::Made {
            run: run.key.to_string(),
            of: run.follows.map(|follows| follows.run.to_string()),
            status: run.status(self.now()).to_owned(),
            reason: run.reason().map(str::to_owned),
            first_call: calls_of(run.key),
        };
        Account {
            watch: Watch { on: on.to_owned(), from: millis(watched.start), until: millis(watched.end) },
            ends: front.runs().iter().map(end).collect(),
            made: self.runs().iter().map(made).collect(),
        }
    }
}
