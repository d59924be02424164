//! Metrics of this process: counts of its events and, read at each scrape, the depths of the queues and the counters of the
//! store.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minutehand_api::Metrics;
use minutehand_domain::priority::Priority;
use minutehand_domain::timer::TimerKey;
use minutehand_domain::{Moment, pace};
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_io::metrics::series::{counter_read, gauge};
use minutehand_io::metrics::{LANE_HINTS, LANE_OLDEST, STORE_ITEMS, SWEEP_STANDS};
use minutehand_io::store::embedded::{Embedded, Engine};
use prometheus::core::{Collector, Desc};
use prometheus::proto::MetricFamily;
use prometheus::{GaugeVec, IntCounterVec, IntGaugeVec, Registry};

use crate::arguments::Serve;
use crate::local::Local;
use crate::serve_error::ServeError;

/// Metrics that are read when they are collected.
struct Gauges<E> {
    ports: Arc<Local<Embedded<E>>>,
    queues: IntGaugeVec,
    oldest: GaugeVec,
    stands: GaugeVec,
    overdue: FirstOverdue,
    store: IntCounterVec,
}

/// The first timer that was overdue when it was last asked for, and since when it is the first.
#[derive(Default)]
struct FirstOverdue(Mutex<Option<(TimerKey, Duration)>>);

/// What a scrape is shown, with the jobs that are watched one by one.
pub(crate) async fn exposed<D: Ports>(registry: Registry, options: &Serve, ports: &D) -> Result<Metrics, ServeError> {
    let watched = options.watched()?;
    for job in &watched {
        job.warn_if_absent(ports).await;
    }
    Ok(Metrics::new(registry)?.watching(watched))
}

/// Registers the metrics of these ports.
pub(crate) fn watch<E: Engine>(registry: &Registry, ports: &Arc<Local<Embedded<E>>>) -> Result<(), prometheus::Error> {
    let gauges = Gauges {
        ports: Arc::clone(ports),
        queues: gauge(&LANE_HINTS)?,
        oldest: gauge(&LANE_OLDEST)?,
        stands: gauge(&SWEEP_STANDS)?,
        overdue: FirstOverdue::default(),
        store: counter_read(&STORE_ITEMS)?,
    };
    registry.register(Box::new(gauges))
}

impl<E: Engine> Gauges<E> {
    fn read_queues(&self) {
        let depths = self.ports.queues().depths();
        for (priority, depth) in Priority::ALL.into_iter().zip(depths) {
            for (state, hints) in [("ready", depth.ready), ("delayed", depth.delayed), ("in_flight", depth.in_flight)] {
                let hints = i64::try_from(hints).unwrap_or(i64::MAX);
                self.queues.with_label_values(&[priority.as_str(), state]).set(hints);
            }
        }
    }

    fn read_waits(&self) {
        let now = self.ports.clock().now();
        for (priority, oldest) in Priority::ALL.into_iter().zip(self.ports.queues().oldest()) {
            let waits = oldest.map_or(Duration::ZERO, |since| now.since(since));
            self.oldest.with_label_values(&[priority.as_str()]).set(waits.as_secs_f64());
        }
    }

    /// A store that cannot be read ends the process by itself.
    fn read_sweep(&self) {
        let (first, clock) = (self.ports.store().first_timer_key().ok().flatten(), self.ports.clock());
        let stands = self.overdue.stands(first, clock.now(), clock.steady());
        self.stands.with_label_values::<&str>(&[]).set(stands.as_secs_f64());
    }

    /// The store counts by itself; these counters only show its counts.
    fn read_store(&self) {
        let meter = self.ports.store().meter();
        let counts = [
            ("read", meter.reads),
            ("written", meter.writes),
            ("commits", meter.commits),
            ("later", meter.later),
            ("corrupt", meter.corrupt),
        ];
        for (what, count) in counts {
            let counter = self.store.with_label_values(&[what]);
            counter.inc_by(count.saturating_sub(counter.get()));
        }
    }
}

impl FirstOverdue {
    /// For how long the same timer has been the first that is overdue. By what no clock is set to: a clock that is set right is not a sweep
    /// that stands.
    fn stands(&self, first: Option<TimerKey>, now: Moment, steady: Duration) -> Duration {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let overdue = first.filter(|timer| timer.due + pace::OVERDUE < now);
        *seen =
            overdue.map(|timer| (timer, seen.filter(|(same, _)| *same == timer).map_or(steady, |(_, since)| since)));
        seen.map_or(Duration::ZERO, |(_, since)| steady.saturating_sub(since))
    }
}

impl<E: Engine> Collector for Gauges<E> {
    fn desc(&self) -> Vec<&Desc> {
        [self.queues.desc(), self.oldest.desc(), self.stands.desc(), self.store.desc()].concat()
    }

    fn collect(&self) -> Vec<MetricFamily> {
        self.read_queues();
        self.read_waits();
        self.read_sweep();
        self.read_store();
        [self.queues.collect(), self.oldest.collect(), self.stands.collect(), self.store.collect()].concat()
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::JobId;

    use super::*;

    const DUE: Moment = Moment::from_secs(1_800_000_000);

    fn after(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    fn timer(job: u8) -> TimerKey {
        TimerKey::occurrence(JobId::from_bytes([job; 16]), DUE)
    }

    /// Each line a scrape: when it is, the first timer that it finds, and for how long the sweep has left that where it is. Removed: whether it is
    /// the same timer; a backlog that is being swept stood, too, and so it did where only their instants were compared, which may be one.
    #[test]
    fn a_sweep_stands_while_the_first_timer_is_overdue_and_the_same() {
        let overdue = FirstOverdue::default();
        let (first, second) = (Some(timer(1)), Some(timer(2)));

        for (at, found, stands) in [
            (0, None, 0),
            (30, first, 0), // due, and to be looked at only when it is overdue
            (31, first, 0),
            (91, first, 60),
            (151, first, 120),
            (211, second, 0), // it was looked at
            (271, second, 60),
            (331, None, 0),
            (391, second, 0),
        ] {
            assert_eq!(overdue.stands(found, DUE + after(at), after(at)), after(stands), "{at}");
        }
    }

    #[test]
    fn a_clock_that_is_set_makes_no_sweep_stand() {
        let overdue = FirstOverdue::default();

        assert_eq!(overdue.stands(Some(timer(1)), DUE + after(31), after(31)), Duration::ZERO);
        assert_eq!(overdue.stands(Some(timer(1)), DUE + after(7200), after(41)), after(10));
        assert_eq!(overdue.stands(Some(timer(1)), DUE, after(51)), Duration::ZERO);
    }
}
