//! Metrics of a long-running process, in Prometheus' text format. They count all tenants together, so only the deployment's
//! own key may read them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
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
    /// How each of them stood when it was last looked at, by its label.
    last_seen: Arc<Mutex<HashMap<String, Standing>>>,
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
            last_seen: Arc::default(),
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

    /// Reads what is read when it is asked for. What cannot be read, or not soon, keeps nothing else from being shown: it is to be seen just then.
    async fn look<D: Ports>(&self, ports: &D) {
        self.show_workers(&self.presences.counted(ports.clock().now()));
        let standings = join_all(self.watched.iter().map(|watched| in_time(watched.standing(ports))));
        let (oldest, standings) = join(in_time(age_of_the_oldest_letter(ports)), standings).await;
        self.show_letters(oldest);
        for (watched, standing) in self.watched.iter().zip(standings) {
            let job = watched.label();
            let standing = self.seen_or_as_last_seen(&job, standing);
            self.show_job(&job, standing, ports.clock().now());
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

    /// A job that cannot be looked at stands as it stood: a series that stopped there would end the alarm of a job that is overdue, just where nobody can
    /// tell that it is not any more. None where there is no such job, and where it was never seen.
    fn seen_or_as_last_seen(&self, job: &str, standing: Result<Option<Standing>, Fault>) -> Option<Standing> {
        let mut last_seen = self.last_seen.lock().unwrap_or_else(PoisonError::into_inner);
        match standing {
            Ok(Some(standing)) => _ = last_seen.insert(job.to_owned(), standing),
            Ok(None) => _ = last_seen.remove(job),
            Err(why) => {
                tracing::warn!(job, %why, "a job that is watched cannot be looked at: it is shown as it last stood");
            }
        }
        last_seen.get(job).copied()
    }

    /// Of a job that is gone, and of one that never succeeded, nothing is shown: there is nothing to be in time for. What is overdue becomes more so.
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

#[cfg(test)]
mod tests {
    use super::*;

    const JOB: &str = "acme/job_x";

    fn seen(metrics: &Metrics, standing: Result<Option<Standing>, Fault>, at: i64) {
        let standing = metrics.seen_or_as_last_seen(JOB, standing);
        metrics.show_job(JOB, standing, Moment::from_secs(at));
    }

    /// What a scrape has of the job: when it last succeeded, and for how long it is overdue.
    fn shown(metrics: &Metrics) -> Vec<String> {
        let text = TextEncoder::new().encode_to_string(&metrics.registry.gather()).unwrap();
        let of_the_job = text.lines().filter(|line| line.contains(JOB));
        of_the_job.filter_map(|line| Some(line.rsplit_once(' ')?.1.to_owned())).collect()
    }

    fn overdue_since(at: i64) -> Standing {
        Standing { last_success: Some(Moment::from_secs(40)), overdue_since: Some(Moment::from_secs(at)) }
    }

    fn away() -> Fault {
        Fault::unavailable("the store", "it is away")
    }

    /// Removed: what was last seen; the series stopped with the store, and with it the alarm. Tried: the number that was last told; it stood still.
    #[test]
    fn a_job_that_cannot_be_looked_at_is_overdue_on_until_it_is_seen_to_be_gone() {
        let metrics = Metrics::new(Registry::new()).unwrap();

        seen(&metrics, Err(away()), 900);
        assert_eq!(shown(&metrics), Vec::<String>::new(), "nobody has ever seen it");
        seen(&metrics, Ok(Some(overdue_since(700))), 1000);
        assert_eq!(shown(&metrics), ["40", "300"]);
        seen(&metrics, Err(away()), 1060);
        assert_eq!(shown(&metrics), ["40", "360"]);
        seen(&metrics, Ok(None), 1120);
        assert_eq!(shown(&metrics), Vec::<String>::new());
        seen(&metrics, Err(away()), 1180);
        assert_eq!(shown(&metrics), Vec::<String>::new(), "it was seen to be gone");
    }
}
