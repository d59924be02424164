//! Metrics of a long-running process, in Prometheus' text format. They count all tenants together, so only the deployment's
//! own key may read them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{join, join_all};
use http::StatusCode;
use minutehand_domain::Moment;
use minutehand_io::clock::Clock as _;
use minutehand_io::metrics::series::{Series, gauge};
use minutehand_io::metrics::{
    JOB_LAST_SUCCESS, JOB_OVERDUE, Measure as _, OLDEST_LETTER, REQUEST_SECONDS, REQUESTS_ANSWERED, WORKER_SLOTS,
    WORKERS,
};
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::age_of_the_oldest_letter;
use prometheus::proto::MetricFamily;
use prometheus::{IntGaugeVec, Registry, TextEncoder};
use tokio::time::timeout;

use crate::presences::{Counted, Presences};
use crate::watched::{Standing, Watched};

/// How long a scrape may read, all of it side by side. Prometheus waits ten seconds for the whole.
const PATIENCE: Duration = Duration::from_secs(1);

/// The host's registry, and what the API measures into it: requests, and what is read when it is asked for.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Registry,
    series: Series,
    workers: IntGaugeVec,
    slots: IntGaugeVec,
    last_success: IntGaugeVec,
    overdue: IntGaugeVec,
    oldest_letter: IntGaugeVec,
    watched: Vec<Watched>,
    pub(crate) presences: Arc<Presences>,
}

impl Metrics {
    /// Exports `registry`, and counts requests into it.
    pub fn new(registry: Registry) -> Result<Self, prometheus::Error> {
        let series = Series::new(&[&REQUESTS_ANSWERED, &REQUEST_SECONDS], &registry)?;
        let read = |metric| {
            let gauge: IntGaugeVec = gauge(metric)?;
            registry.register(Box::new(gauge.clone()))?;
            Ok::<_, prometheus::Error>(gauge)
        };
        let (workers, slots) = (read(&WORKERS)?, read(&WORKER_SLOTS)?);
        let (last_success, overdue) = (read(&JOB_LAST_SUCCESS)?, read(&JOB_OVERDUE)?);
        let oldest_letter = read(&OLDEST_LETTER)?;
        Ok(Self {
            registry,
            series,
            workers,
            slots,
            last_success,
            overdue,
            oldest_letter,
            watched: Vec::new(),
            presences: Arc::default(),
        })
    }

    /// The same, with a look at each of these jobs.
    #[must_use]
    pub fn watching(self, watched: Vec<Watched>) -> Self {
        Self { watched, ..self }
    }

    /// Counts a request. `route` is the template of the table of routes: ids would make a series each.
    pub(crate) fn answered(&self, method: &str, route: &str, status: StatusCode, took: Duration) {
        self.series.add(&REQUESTS_ANSWERED, &[method, route, status.as_str()], 1.0);
        self.series.add(&REQUEST_SECONDS, &[method, route], took.as_secs_f64());
    }

    /// All there is, for whoever takes it elsewhere.
    pub async fn gathered<D: Ports>(&self, ports: &D) -> Vec<MetricFamily> {
        self.look(ports).await;
        self.registry.gather()
    }

    pub(crate) async fn text<D: Ports>(&self, ports: &D) -> Result<String, Fault> {
        self.look(ports).await;
        let text = TextEncoder::new().encode_to_string(&self.registry.gather());
        text.map_err(|error| Fault::unavailable("metrics", error.to_string()))
    }

    /// Reads what is read when it is asked for. What cannot be read, or not soon, is not shown: all else is to be seen just then.
    async fn look<D: Ports>(&self, ports: &D) {
        self.show_workers(&self.presences.counted(ports.clock().now()));
        let standings = join_all(self.watched.iter().map(|watched| in_time(watched.standing(ports))));
        let (oldest, standings) = join(in_time(age_of_the_oldest_letter(ports)), standings).await;
        self.show_letters(oldest);
        for (watched, standing) in self.watched.iter().zip(standings) {
            let standing = standing.unwrap_or_else(|why| {
                tracing::warn!(job = watched.label(), %why, "a job that is watched cannot be looked at");
                None
            });
            self.show_job(&watched.label(), standing, ports.clock().now());
        }
    }

    fn show_workers(&self, Counted { live, draining, dead, slots, held }: &Counted) {
        let show =
            |of: &IntGaugeVec, word, count| of.with_label_values(&[word]).set(i64::try_from(count).unwrap_or(i64::MAX));
        for (word, count) in [("live", *live), ("draining", *draining), ("dead", *dead)] {
            show(&self.workers, word, count);
        }
        for (word, count) in [("all", *slots), ("held", *held)] {
            show(&self.slots, word, count);
        }
    }

    /// Where that cannot be read nothing is shown: it is not the same as no letter.
    fn show_letters(&self, oldest: Result<Duration, Fault>) {
        let unlabelled: [&str; 0] = [];
        match oldest {
            Ok(age) => self.oldest_letter.with_label_values(&unlabelled).set(whole_seconds(age)),
            Err(why) => {
                tracing::warn!(%why, "how old the oldest dead letter is cannot be read");
                _ = self.oldest_letter.remove_label_values(&unlabelled);
            }
        }
    }

    /// Of a job that is gone or cannot be looked at, and of one that never succeeded, nothing is shown: a series that stops is what an alarm looks for.
    fn show_job(&self, job: &str, standing: Option<Standing>, now: Moment) {
        match standing {
            Some(Standing { overdue_since, .. }) => {
                let overdue = overdue_since.map_or(Duration::ZERO, |since| now.since(since));
                self.overdue.with_label_values(&[job]).set(whole_seconds(overdue));
            }
            None => _ = self.overdue.remove_label_values(&[job]),
        }
        match standing.and_then(|standing| standing.last_success) {
            Some(at) => self.last_success.with_label_values(&[job]).set(at.millis().div_euclid(1000)),
            None => _ = self.last_success.remove_label_values(&[job]),
        }
    }
}

async fn in_time<T>(reading: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    let read = timeout(PATIENCE, reading).await;
    read.map_err(|late| Fault::unavailable("the store", late.to_string())).flatten()
}

fn whole_seconds(span: Duration) -> i64 {
    i64::try_from(span.as_secs()).unwrap_or(i64::MAX)
}
