//! Sweeping: the sweeper wakes at the next due time rather than each minute, so that an idle machine sleeps.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::{Moment, pace};
use minutehand_io::clock::Clock;
use minutehand_io::store::embedded::{Embedded, Engine};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::sweep::Pass;
use minutehand_protocol::sweep::take_over::start_over;
use minutehand_sweeper::tick_until;

use crate::drain::Drain;
use crate::local::Local;

/// However far ahead the first timer is, the sweeper looks at the clock again after so long. A timer of the runtime goes no
/// further than two years either.
const LONGEST_REST: Duration = Duration::from_secs(24 * 3600);
/// How long a pass may take: before what it has hinted of the other shards is over, it comes back to them; and what has come within the horizon since
/// it began is hinted by the next one.
const PASS: Duration = Duration::from_secs(pace::HORIZON.as_secs() / 2);
/// Before the next pass where one had more to do than that.
const BREATH: Duration = Duration::from_secs(1);
/// How soon a sweeper that rests sees that its clock was set back; whoever sleeps by the clock looks at it as often.
const LOOK: Duration = Duration::from_secs(30);

/// After a restart.
pub(crate) async fn begin_anew<E: Engine>(ports: &Local<Embedded<E>>) -> Result<(), Fault> {
    let first = ports.store().first_timer()?;
    let taken = start_over(ports, 0, first).await?;
    if taken > 0 {
        tracing::info!(runs = taken, "taking over what was under way when the last process ended");
    }
    Ok(())
}

/// Sweeps until the process drains.
pub(crate) async fn sweeping<E: Engine>(ports: Arc<Local<Embedded<E>>>, drain: Drain) {
    loop {
        let pass = async {
            let began = Shown::by(ports.clock());
            let pass = swept(&*ports).await;
            let resting = unless_set_back(ports.clock(), began, rest(&ports, pass.carries_on));
            rest_or_go_on(&pass, resting).await;
        };
        tokio::select! {
            biased;
            () = drain.draining() => return,
            () = pass => {}
        }
    }
}

/// Sweeps each minute until the process drains, over a store that cannot wait for the next timer.
#[cfg(feature = "aws")]
pub(crate) async fn sweeping_each_minute<D: Ports>(ports: Arc<D>, drain: Drain) {
    loop {
        let pass = async {
            let pass = swept(&*ports).await;
            let next = pace::end_of(pace::minute_of(ports.clock().now()));
            let resting = no_longer_than_planned(ports.clock(), next, ports.clock().sleep_until(next));
            rest_or_go_on(&pass, resting).await;
        };
        tokio::select! {
            biased;
            () = drain.draining() => return,
            () = pass => {}
        }
    }
}

/// Behind a pass that had more to do than there was time for the next one begins at once.
async fn rest_or_go_on(pass: &Pass, resting: impl Future<Output = ()>) {
    if pass.unfinished > 0 { tokio::time::sleep(BREATH).await } else { resting.await }
}

/// What a pass came to; nothing where it failed.
async fn swept<D: Ports>(ports: &D) -> Pass {
    tick_until(ports, ports.clock().now() + PASS).await.unwrap_or_else(|fault| {
        tracing::warn!(%fault, "a pass of the sweep failed; the next one starts where it did");
        Pass::default()
    })
}

/// Sleeps until a timer could be due, or an operation is to be carried on, or one is promised.
async fn rest<E: Engine>(ports: &Local<Embedded<E>>, carries_on: Option<Moment>) {
    let clock = ports.clock();
    let until_then = async {
        match carries_on {
            Some(at) => no_longer_than_planned(clock, at, clock.sleep_until(at)).await,
            None => std::future::pending().await,
        }
    };
    tokio::select! {
        () = until_a_timer_is_due(ports) => {}
        () = until_then => {}
        () = ports.store().operation_promised() => {}
    }
}

/// Ends with the rest, or when the clock has been set back since the pass before it began: what is to be done next may have been put off by what
/// that clock showed.
async fn unless_set_back<C: Clock>(clock: &C, began: Shown, resting: impl Future<Output = ()>) {
    let set_back = async {
        let mut before = began;
        while !before.was_set_back(clock) {
            before = Shown::by(clock);
            tokio::time::sleep(LOOK).await;
        }
    };
    tokio::select! {
        () = resting => {}
        () = set_back => {}
    }
}

/// What a clock has shown, beside what no clock is set to.
#[derive(Clone, Copy, Debug)]
struct Shown {
    moment: Moment,
    steady: Duration,
}

impl Shown {
    fn by(clock: &impl Clock) -> Self {
        Self { moment: clock.now(), steady: clock.steady() }
    }

    fn was_set_back(self, clock: &impl Clock) -> bool {
        clock.now() + pace::APART < self.moment + clock.steady().saturating_sub(self.steady)
    }
}

async fn until_a_timer_is_due<E: Engine>(ports: &Local<Embedded<E>>) {
    let Ok(first) = ports.store().first_timer() else {
        return tokio::time::sleep(pace::TICK).await;
    };
    let clock = ports.clock();
    match Rest::after(first, clock.now()) {
        Rest::Until(moment) => no_longer_than_planned(clock, moment, clock.sleep_until(moment)).await,
        Rest::UntilOrEarlier(moment, first) => tokio::select! {
            () = no_longer_than_planned(clock, moment, clock.sleep_until(moment)) => {}
            _earlier = ports.store().earlier_than(first) => {}
        },
    }
}

/// A wall clock that is set back must not make a sleeper sleep on: it wakes after as long as was left when it lay down.
async fn no_longer_than_planned<C: Clock>(clock: &C, until: Moment, sleeping: impl Future<Output = ()>) {
    tokio::select! {
        () = sleeping => {}
        () = tokio::time::sleep(until.since(clock.now()).min(LONGEST_REST)) => {}
    }
}

/// How long a sweeper may sleep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    Until(Moment),
    /// Or until a timer is put that is due before the second moment.
    UntilOrEarlier(Moment, Moment),
}

impl Rest {
    /// Timers due within the horizon have been hinted: the sweeper wakes when the first is overdue, and at the latest after a
    /// tick, when others have entered the horizon. Timers beyond the horizon matter only when they enter it.
    fn after(first: Option<Moment>, now: Moment) -> Self {
        let soon = now + Duration::from_secs(1);
        match first {
            None => Self::UntilOrEarlier(Moment::END, Moment::END),
            Some(first) if first > now + pace::HORIZON => Self::UntilOrEarlier(first - pace::HORIZON, first),
            Some(first) => Self::Until((first + pace::OVERDUE).clamp(soon, now + pace::TICK)),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn after(seconds: u64) -> Moment {
        NOW + Duration::from_secs(seconds)
    }

    /// A clock that stands: as if it had been set back just when the sleeper lay down.
    struct Standing;

    impl Clock for Standing {
        fn now(&self) -> Moment {
            NOW
        }

        async fn sleep_until(&self, _moment: Moment) {
            std::future::pending::<()>().await;
        }
    }

    /// Removed: the sleep alone. It ends when the clock says so: a clock set back by two hours made a sweeper sleep for two hours.
    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_set_back_makes_no_sweeper_sleep_on() {
        let begin = tokio::time::Instant::now();

        no_longer_than_planned(&Standing, after(60), Standing.sleep_until(after(60))).await;

        assert_eq!(begin.elapsed(), Duration::from_secs(60));
    }

    /// A clock that shows what it is told, beside one that is steady.
    struct Set(AtomicI64, tokio::time::Instant);

    impl Clock for Set {
        fn now(&self) -> Moment {
            NOW + self.1.elapsed() - Duration::from_secs(self.0.load(Ordering::Relaxed).unsigned_abs())
        }

        fn steady(&self) -> Duration {
            self.1.elapsed()
        }

        async fn sleep_until(&self, _moment: Moment) {
            std::future::pending::<()>().await;
        }
    }

    /// It is set back during the rest, or while the pass before it went on.
    ///
    /// Removed: the look. What a clock that was ahead had put off by an hour was seen when that hour was over.
    /// Removed: that it looks back to the begin of the pass. So it was where a clock was set back in that.
    #[tokio::test(start_paused = true)]
    async fn a_sweeper_that_rests_sees_that_its_clock_was_set_back() {
        for (set_after, seen_after) in [(3605, 3630), (5, 30)] {
            let clock = Set(AtomicI64::new(0), tokio::time::Instant::now());
            let began = Shown::by(&clock);
            let setting = async {
                tokio::time::sleep(Duration::from_secs(set_after)).await;
                clock.0.store(3600, Ordering::Relaxed);
            };
            if set_after < 10 {
                setting.await;
                tokio::time::sleep(Duration::from_secs(25)).await; // the pass
                unless_set_back(&clock, began, std::future::pending()).await;
            } else {
                tokio::join!(unless_set_back(&clock, began, std::future::pending()), setting);
            }

            assert_eq!(clock.1.elapsed(), Duration::from_secs(seen_after));
        }
    }

    /// Removed: what a pass has left is asked for. In the midst of a backlog a sweeper rested until the next minute, and one of a file until a timer was
    /// overdue.
    #[tokio::test(start_paused = true)]
    async fn a_sweeper_rests_only_behind_a_pass_that_came_to_its_end() {
        let begin = tokio::time::Instant::now();
        let minute = || tokio::time::sleep(Duration::from_secs(60));

        rest_or_go_on(&Pass { unfinished: 1, ..Pass::default() }, minute()).await;
        let behind_unfinished = begin.elapsed();
        rest_or_go_on(&Pass::default(), minute()).await;

        assert_eq!((behind_unfinished, begin.elapsed()), (BREATH, BREATH + Duration::from_secs(60)));
    }

    #[test]
    fn without_timers_it_sleeps_until_one_is_put() {
        assert_eq!(Rest::after(None, NOW), Rest::UntilOrEarlier(Moment::END, Moment::END));
    }

    #[test]
    fn a_far_timer_is_slept_for_until_it_enters_the_horizon() {
        assert_eq!(Rest::after(Some(after(1000)), NOW), Rest::UntilOrEarlier(after(700), after(1000)));
    }

    #[test]
    fn a_near_timer_is_inspected_when_it_is_overdue_or_after_a_tick() {
        assert_eq!(Rest::after(Some(after(5)), NOW), Rest::Until(after(35)));
        assert_eq!(Rest::after(Some(after(100)), NOW), Rest::Until(after(60)));
        assert_eq!(Rest::after(Some(NOW - pace::TICK), NOW), Rest::Until(after(1)), "and never in a hurry");
    }
}
