//! What a worker elsewhere does through the API: it holds a run, and says how its attempt went with nothing but the run, its
//! fence and the outcome.

use minutehand_domain::hint::Hint;
use minutehand_domain::order::Terms;
use minutehand_domain::run::{Event, Holder, Lease, Outcome, Run, State};
use minutehand_io::Ports as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Store as _};
use minutehand_protocol::run::finish::{Finished, finish};
use minutehand_protocol::sweep::forget_hints;
use minutehand_protocol::sweep::take_over::take_over;

use super::{Answer, Stage};

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

    /// A process that has the store to itself starts, as `minutehand serve` does.
    pub fn start(&self, at: i64, name: &'static str) -> Answer<u64> {
        self.act(at, name, |ports| async move {
            let taken = take_over(&ports, 0).await?;
            forget_hints(&ports, 0, None).await?;
            Ok(taken)
        })
    }

    fn terms(&self) -> Terms {
        self.wish.definition().terms
    }
}
