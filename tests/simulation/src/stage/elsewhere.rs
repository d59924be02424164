//! What a worker elsewhere does through the API: it holds a run, and says how its attempt went with nothing but the run, its
//! fence and the outcome.

use std::time::Duration;

use minutehand_domain::body::Json;
use minutehand_domain::hint::Hint;
use minutehand_domain::order::Terms;
use minutehand_domain::pool::presence::Presence;
use minutehand_domain::run::effect::{Answer as OfEffect, EffectOf, EffectRefusal, Wish};
use minutehand_domain::run::logbook::Entry;
use minutehand_domain::run::{AttemptError, Event, Holder, Lease, Outcome, Run, State};
use minutehand_io::Ports as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Store as _};
use minutehand_protocol::run::effect::effect;
use minutehand_protocol::run::finish::{Finished, entrust, finish};
use minutehand_protocol::run::lease::{Beaten, Report, Said, Shown, complete, heartbeat};
use minutehand_protocol::run::take::{Taken, Wanted, take};
use minutehand_protocol::sweep::take_over::start_over;

use super::{Answer, POOL, Stage};

/// What a worker of this name asks for.
fn wanted(name: &str) -> Wanted {
    let (pool, worker) = (POOL.parse().expect("a name"), name.parse().expect("a name"));
    Wanted { pool, worker, handlers: None, max: 10, lease: Duration::from_secs(30) }
}

impl Stage {
    /// A worker elsewhere takes the occurrence of this instant, on the job's terms.
    pub fn hold_elsewhere(&self, at: i64, name: &'static str, instant: i64) -> Answer<bool> {
        let (stage, key) = (self.clone(), self.key(instant));
        self.act(at, name, move |ports| async move {
            let unborn = stage.job().expect("it was created").run(key);
            let terms = stage.terms();
            let claim = Event::Claim { by: ports.me(), terms: &terms };
            let claimed = unborn.after(&claim, ports.clock().now()).expect("its time has come");
            let lease = *claimed.lease().expect("it was claimed");
            let held = Lease { holder: Holder::Remote(ports.me().worker), ..lease };
            let held = Run { state: State::Running(held), ..claimed };
            Ok(ports.store().put(&held.tenant, held.key, &held, Guard::Absent).await?.is_written())
        })
    }

    /// The same worker says how it went; it knows of no hint, unless it is given one.
    pub fn finish_elsewhere(
        &self,
        at: i64,
        name: &'static str,
        instant: i64,
        outcome: Outcome,
        hint: Option<Hint>,
    ) -> Answer<Finished> {
        let (stage, key) = (self.clone(), self.key(instant));
        self.act(at, name, move |ports| async move {
            let seen = ports.store().get::<Run>(&stage.tenant, key).await?.expect("it was held");
            finish(&ports, seen, 1, &outcome, &stage.terms(), hint.as_ref()).await
        })
    }

    /// Whom its executor called takes an occurrence on.
    pub fn take_on(&self, at: i64, name: &'static str, instant: i64) -> Answer<Finished> {
        let (stage, key) = (self.clone(), self.key(instant));
        self.act(at, name, move |ports| async move {
            let seen = ports.store().get::<Run>(&stage.tenant, key).await?.expect("it was claimed");
            entrust(&ports, seen, 1, "the token", &stage.terms()).await
        })
    }

    /// A worker asks for something to do, of a process of this name.
    pub fn take(&self, at: i64, name: &'static str) -> Answer<Vec<Taken>> {
        let (tenant, wanted) = (self.tenant.clone(), wanted(name));
        self.act(at, name, move |ports| async move { Ok(take(&ports, &tenant, &wanted).await?.taken) })
    }

    /// A worker that takes these handlers, or all, says that it is there, and is alive for an hour without another word.
    pub fn be_present(&self, at: i64, name: &'static str, handlers: Option<&[&str]>) -> Answer<bool> {
        self.say_presence(at, name, handlers, false)
    }

    /// One that takes nothing from then on, and is heard of for an hour more.
    pub fn be_draining(&self, at: i64, name: &'static str) -> Answer<bool> {
        self.say_presence(at, name, None, true)
    }

    fn say_presence(&self, at: i64, name: &'static str, handlers: Option<&[&str]>, drains: bool) -> Answer<bool> {
        let handlers = handlers.map(|names| names.iter().map(|name| name.parse().expect("a name")).collect());
        let (tenant, Wanted { pool, worker, .. }) = (self.tenant.clone(), wanted(name));
        self.act(at, name, move |ports| async move {
            let now = ports.clock().now();
            let presence = Presence {
                tenant,
                pool,
                worker,
                first_seen: now,
                last_seen: if drains { now + Duration::from_secs(3600) } else { now },
                lease: Duration::from_secs(3600),
                slots: None,
                handlers,
                draining_since: drains.then_some(now),
                holds: Vec::new(),
            };
            Ok(ports.store().put(&presence.tenant, presence.key(), &presence, Guard::Absent).await?.is_written())
        })
    }

    /// Takes whatever there is for it, and has done it at once.
    pub fn take_and_complete(&self, at: i64, name: &'static str) -> Answer<usize> {
        let (tenant, wanted) = (self.tenant.clone(), wanted(name));
        self.act(at, name, move |ports| async move {
            let taken = take(&ports, &tenant, &wanted).await?.taken;
            for has in &taken {
                let shown = Shown { tenant: &tenant, lease: has.lease, token: &has.token };
                let _said = complete(&ports, shown, &Report::Succeeded(None)).await?;
            }
            Ok(taken.len())
        })
    }

    /// Its holder says that it went well.
    pub fn complete(&self, at: i64, name: &'static str, has: &Taken) -> Answer<Said<Run>> {
        let (tenant, lease, token) = (self.tenant.clone(), has.lease, has.token.clone());
        self.act(at, name, move |ports| async move {
            complete(&ports, Shown { tenant: &tenant, lease, token: &token }, &Report::Succeeded(None)).await
        })
    }

    /// Its holder says that it failed.
    pub fn fail(&self, at: i64, name: &'static str, has: &Taken) -> Answer<Said<Run>> {
        let (tenant, lease, token) = (self.tenant.clone(), has.lease, has.token.clone());
        self.act(at, name, move |ports| async move {
            let failed = Report::Failed(AttemptError::new("staged", "it did not work"));
            complete(&ports, Shown { tenant: &tenant, lease, token: &token }, &failed).await
        })
    }

    /// Its holder keeps something for the next one.
    pub fn keep(&self, at: i64, name: &'static str, has: &Taken, value: u64) -> Answer<Said<Beaten>> {
        let (tenant, lease, token) = (self.tenant.clone(), has.lease, has.token.clone());
        let entry = Entry { checkpoint: Some(Json::of(&value.into())), ..Entry::default() };
        self.act(at, name, move |ports| async move {
            let shown = Shown { tenant: &tenant, lease, token: &token };
            heartbeat(&ports, shown, Duration::from_secs(30), &entry).await
        })
    }

    /// Its holder is about to make an effect.
    pub fn claim_effect(
        &self,
        at: i64,
        name: &'static str,
        has: &Taken,
    ) -> Answer<Said<Result<OfEffect, EffectRefusal>>> {
        let (tenant, run, token) = (self.tenant.clone(), has.lease.run, has.token.clone());
        self.act(at, name, move |ports| async move {
            let name = "charge".parse().expect("a key");
            let of = EffectOf { tenant: &tenant, run, name: &name };
            effect(&ports, of, &token, &Wish::Claim(None)).await
        })
    }

    /// A process that has the store to itself starts, as `minutehand serve` does.
    pub fn start(&self, at: i64, name: &'static str) -> Answer<u64> {
        self.act(at, name, |ports| async move { start_over(&ports, 0, None).await })
    }

    fn terms(&self) -> Terms {
        self.wish.definition().terms
    }
}
