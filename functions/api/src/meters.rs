//! Meters: how much of its quota a tenant has used, as far as this process knows.
//!
//! Quotas are enforced at admission, and the hot path pays nothing. Requests and one-time runs are counted in buckets of
//! this process; jobs and the rates of their schedules are counted in the table when needed, one count of a tenant at a time, and
//! the count is kept current here until the next. So another process may admit a little more, never for longer than
//! [`COUNT_AGAIN`], and what it deletes makes room here within [`COUNT_WHEN_FULL`].

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::job::{Job, Status};
use minutehand_domain::limits::PAGE;
use minutehand_domain::quota::{Limits, Quota};
use minutehand_domain::schedule::Schedule;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Over;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::lookup::jobs_of;

use crate::bucket::{Bucket, seconds};
use crate::problem::Problem;

/// A quota is read again after this long: by then a new quota is in force in every process.
const READ_AGAIN: Duration = Duration::from_secs(5);
/// Jobs are counted again after this long.
const COUNT_AGAIN: Duration = Duration::from_secs(60);
/// Jobs are counted again after this long when the last count was at the limit: another process may have deleted some. A count reads every job,
/// and a client that is refused may ask again at once.
const COUNT_WHEN_FULL: Duration = Duration::from_secs(30);
/// The same where the count may say too much, as far as this process knows: a job has ended by itself or was deleted here, or one that was let in
/// was perhaps not made.
const COUNT_WHEN_CHANGED: Duration = Duration::from_secs(1);
/// Tenants kept at a time. Beyond that all are dropped, which gives each a fresh bucket, once.
const TENANTS: usize = 10_000;
/// `Retry-After` where only the end of other jobs can help.
const FULL_SECONDS: u64 = 60;

#[derive(Default)]
pub(crate) struct Meters(Mutex<HashMap<Tenant, Meter>>);

/// The meter of one tenant.
#[derive(Default)]
struct Meter {
    limits: Option<(Limits, Moment)>,
    requests: Bucket,
    runs: Bucket,
    count: Option<Count>,
    /// How often this process has let in more, or has seen a job deleted.
    changes: u64,
    counting: Arc<Counting>,
}

/// Held by the one request that counts. When the last count failed, and of what.
type Counting = tokio::sync::Mutex<Option<(Moment, Fault)>>;

/// A tenant's jobs that can still fire, and the rate of their schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Load {
    jobs: u32,
    fires_per_minute: f64,
    /// From when on the first of these jobs has nothing left to start, as far as that is known.
    next_end: Option<Moment>,
}

#[derive(Clone, Copy)]
struct Count {
    load: Load,
    at: Moment,
    /// The meter's, when it began.
    changes: u64,
}

impl Meters {
    /// Takes one request from the tenant's bucket.
    pub(crate) async fn admit_request<D: Ports>(&self, ports: &D, tenant: &Tenant) -> Result<(), Problem> {
        let limits = self.limits(ports, tenant).await;
        let Some(most) = limits.max_requests_per_second else { return Ok(()) };
        let taken = self.with(tenant, |meter| meter.requests.take(most, Duration::from_secs(1), ports.clock().now()));
        taken.map_err(|wait| {
            Problem::over_quota(Over::Requests, format!("more than {most} requests a second"), seconds(wait))
        })
    }

    /// Takes one run from the tenant's bucket; runs of recurring schedules are not taken here.
    pub(crate) async fn admit_run<D: Ports>(&self, ports: &D, tenant: &Tenant) -> Result<(), Problem> {
        let limits = self.limits(ports, tenant).await;
        let Some(most) = limits.max_fires_per_minute else { return Ok(()) };
        let taken = self.with(tenant, |meter| meter.runs.take(most, Duration::from_secs(60), ports.clock().now()));
        taken.map_err(|wait| Problem::over_quota(Over::Runs, format!("more than {most} runs a minute"), seconds(wait)))
    }

    /// Whether a quota limits this tenant's jobs.
    pub(crate) async fn bounds_jobs<D: Ports>(&self, ports: &D, tenant: &Tenant) -> bool {
        let limits = self.limits(ports, tenant).await;
        limits.max_jobs.is_some() || limits.max_fires_per_minute.is_some()
    }

    /// Admits a job with this schedule; `instead_of` is the job that gets it. One that could not fire any more is one more of those that can.
    pub(crate) async fn admit_job<D: Ports>(
        &self,
        ports: &D,
        tenant: &Tenant,
        schedule: &Schedule,
        instead_of: Option<&Job>,
    ) -> Result<(), Problem> {
        let (limits, now) = (self.limits(ports, tenant).await, ports.clock().now());
        if limits.max_jobs.is_none() && limits.max_fires_per_minute.is_none() {
            return Ok(());
        }
        let instead_of = instead_of.filter(|job| can_still_fire(job, now)).map(|job| &job.schedule);
        let more = Load {
            jobs: u32::from(instead_of.is_none()),
            fires_per_minute: schedule.fires_per_minute(now)
                - instead_of.map_or(0.0, |schedule| schedule.fires_per_minute(now)),
            next_end: end_of(schedule, now),
        };
        if !schedule.is_recurring() {
            self.admit_run(ports, tenant).await?;
        }
        if let Some(admitted) = self.admit_by_count(tenant, more, &limits, now) {
            return admitted;
        }
        let counting = count(ports, tenant).boxed(); // apart: few have to count
        self.admit_counting(tenant, more, &limits, || ports.clock().now(), counting).await
    }

    /// Notes that a job was deleted here: there may be room for another.
    pub(crate) fn note_deletion(&self, tenant: &Tenant) {
        self.with(tenant, |meter| meter.changes += 1);
    }

    /// Puts a new quota in force in this process at once.
    pub(crate) fn set(&self, tenant: &Tenant, limits: Limits, now: Moment) {
        self.with(tenant, |meter| *meter = Meter { limits: Some((limits, now)), ..Meter::default() });
    }

    /// Decides by the last count, if that is recent enough.
    fn admit_by_count(&self, tenant: &Tenant, more: Load, limits: &Limits, now: Moment) -> Option<Result<(), Problem>> {
        self.with(tenant, |meter| {
            let count = meter.count.as_mut().filter(|count| now.is_within(COUNT_AGAIN, count.at))?;
            match count.load.with(more, limits) {
                Ok(load) => {
                    count.load = load;
                    meter.changes += u64::from(more.is_more());
                    Some(Ok(()))
                }
                Err(full) if now.is_within(count.refuses_for(meter.changes, now), count.at) => Some(Err(full)),
                Err(_) => None,
            }
        })
    }

    /// Decides by a count, unless another request has counted while this one waited for its turn: a batch creates 64 jobs at once, each count asks 64
    /// partitions at once, and a function has 1,024 files. A count that fails has failed for every request that waited for it.
    async fn admit_counting(
        &self,
        tenant: &Tenant,
        more: Load,
        limits: &Limits,
        now: impl Fn() -> Moment,
        count: impl Future<Output = Result<Load, Fault>>,
    ) -> Result<(), Problem> {
        let (asked, counting) = (now(), self.with(tenant, |meter| Arc::clone(&meter.counting)));
        let mut failed = counting.lock().await;
        let begun = now();
        if let Some(admitted) = self.admit_by_count(tenant, more, limits, begun) {
            return admitted;
        }
        if let Some((_, fault)) = failed.as_ref().filter(|(at, _)| (asked..=begun).contains(at)) {
            return Err(fault.clone().into());
        }
        let changes = self.with(tenant, |meter| meter.changes);
        match count.await {
            Ok(load) => self.admit_by(Count { load, at: now(), changes }, begun, tenant, more, limits),
            Err(fault) => {
                *failed = Some((now(), fault.clone()));
                Err(fault.into())
            }
        }
    }

    /// Decides by what was just counted from `begun` on, or by what others have counted since: that includes jobs admitted meanwhile that this count
    /// cannot have seen.
    fn admit_by(
        &self,
        counted: Count,
        begun: Moment,
        tenant: &Tenant,
        more: Load,
        limits: &Limits,
    ) -> Result<(), Problem> {
        self.with(tenant, |meter| {
            let meanwhile = |count: &Count| (begun..=counted.at + COUNT_WHEN_CHANGED).contains(&count.at);
            let mut count = meter.count.filter(meanwhile).unwrap_or(counted);
            let admitted = count.load.with(more, limits).map(|load| count.load = load);
            meter.changes += u64::from(admitted.is_ok() && more.is_more());
            meter.count = Some(count);
            admitted
        })
    }

    async fn limits<D: Ports>(&self, ports: &D, tenant: &Tenant) -> Limits {
        let now = ports.clock().now();
        let known = self.with(tenant, |meter| meter.limits.filter(|(_, at)| now.is_within(READ_AGAIN, *at)));
        if let Some((limits, _)) = known {
            return limits;
        }
        let limits = match ports.store().get::<Quota>(&Tenant::deployment(), tenant.clone()).await {
            Ok(there) => there.map(|seen| seen.item.limits).unwrap_or_default(),
            // A quota that cannot be read refuses no request: the last one read stays in force.
            Err(_) => self.with(tenant, |meter| meter.limits).map(|(limits, _)| limits).unwrap_or_default(),
        };
        self.with(tenant, |meter| meter.limits = Some((limits, now)));
        limits
    }

    fn with<T>(&self, tenant: &Tenant, act: impl FnOnce(&mut Meter) -> T) -> T {
        let mut meters = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if meters.len() >= TENANTS && !meters.contains_key(tenant) {
            meters.clear();
        }
        act(meters.entry(tenant.clone()).or_default())
    }
}

impl Load {
    /// This load and `more`, if the limits allow it.
    fn with(self, more: Self, limits: &Limits) -> Result<Self, Problem> {
        let sum = Self {
            jobs: self.jobs + more.jobs,
            fires_per_minute: self.fires_per_minute + more.fires_per_minute,
            next_end: sooner(self.next_end, more.next_end),
        };
        if let Some(most) = limits.max_jobs.filter(|most| more.jobs > 0 && sum.jobs > *most) {
            return Err(Problem::over_quota(
                Over::Jobs,
                format!("more than {most} jobs that can still fire"),
                FULL_SECONDS,
            ));
        }
        let fires = limits.max_fires_per_minute;
        if let Some(most) = fires.filter(|most| more.fires_per_minute > 0.0 && sum.fires_per_minute > f64::from(*most))
        {
            let detail = format!("the schedules would fire more than {most} times a minute");
            return Err(Problem::over_quota(Over::Fires, detail, FULL_SECONDS));
        }
        Ok(sum)
    }

    fn is_more(self) -> bool {
        self.jobs > 0 || self.fires_per_minute > 0.0
    }
}

impl Count {
    /// For how long it refuses, where it is full: less where it may say too much.
    fn refuses_for(&self, changes: u64, now: Moment) -> Duration {
        let has_ended = self.load.next_end.is_some_and(|end| end <= now);
        if has_ended || changes != self.changes { COUNT_WHEN_CHANGED } else { COUNT_WHEN_FULL }
    }
}

/// All the tenant's jobs that can still fire.
async fn count<D: Ports>(ports: &D, tenant: &Tenant) -> Result<Load, Fault> {
    let (now, mut load, mut after) = (ports.clock().now(), Load::default(), None);
    loop {
        let page = jobs_of(ports, tenant, after, PAGE).await?;
        for job in page.iter().filter(|job| can_still_fire(job, now)) {
            load.jobs += 1;
            load.fires_per_minute += job.schedule.fires_per_minute(now);
            load.next_end = sooner(load.next_end, end_of(&job.schedule, now));
        }
        after = page.last().map(|job| job.id);
        if page.len() < PAGE {
            return Ok(load);
        }
    }
}

fn can_still_fire(job: &Job, now: Moment) -> bool {
    job.status != Status::Cancelled && !job.is_completed(now)
}

/// From when on nothing is left of a schedule to start. Known only where its next fire is its last.
fn end_of(schedule: &Schedule, now: Moment) -> Option<Moment> {
    let next = schedule.next_after(now.just_before())?;
    schedule.next_after(next).is_none().then(|| next.just_after())
}

fn sooner(one: Option<Moment>, other: Option<Moment>) -> Option<Moment> {
    one.into_iter().chain(other).min()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use futures_util::future::join_all;
    use tokio::task::yield_now;

    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);
    const NONE: Load = Load { jobs: 0, fires_per_minute: 0.0, next_end: None };
    const ONE: Load = Load { jobs: 1, ..NONE };

    #[test]
    fn a_load_grows_up_to_its_limits() {
        let limits = Limits { max_jobs: Some(2), max_fires_per_minute: Some(60), ..Limits::default() };
        let (one, each_second) = (ONE, Load { fires_per_minute: 60.0, ..ONE });

        assert!(one.with(one, &limits).is_ok() && one.with(each_second, &limits).is_ok());
        assert!(each_second.with(each_second, &limits).is_err(), "120 fires");
        assert!(one.with(one, &limits).unwrap().with(one, &limits).is_err(), "three jobs");
    }

    /// Removed: what a clock counted that was ahead is fresh until that time has come. A full quota stayed full for an hour, whatever was deleted.
    #[test]
    fn what_a_clock_counted_that_was_ahead_is_counted_again() {
        let (meters, tenant) = (Meters::default(), Tenant::deployment());
        let limits = Limits { max_jobs: Some(1), ..Limits::default() };
        let counted = |at| meters.with(&tenant, |meter| meter.count = Some(Count { load: ONE, at, changes: 0 }));
        let decided = || meters.admit_by_count(&tenant, ONE, &limits, NOW);

        counted(NOW);
        assert!(decided().is_some_and(|admitted| admitted.is_err()), "just counted, and full");
        counted(NOW + Duration::from_secs(3600));
        assert!(decided().is_none(), "to be counted");
    }

    /// Removed: what others have counted meanwhile decides, however long ago that is by now. Of many jobs that came at once, each that was counted
    /// for longer than a second was admitted.
    #[test]
    fn a_full_quota_that_was_counted_meanwhile_admits_nobody_whose_own_count_took_longer() {
        let (meters, tenant) = (Meters::default(), Tenant::deployment());
        let limits = Limits { max_jobs: Some(2), ..Limits::default() };
        let counted = |after| Count { load: NONE, at: NOW + Duration::from_millis(after), changes: 0 };
        let admitted = |after| meters.admit_by(counted(after), NOW, &tenant, ONE, &limits).is_ok();

        assert_eq!([1_200, 1_500, 2_500, 9_000].map(admitted), [true, true, false, false]);
    }

    #[test]
    fn a_change_that_adds_nothing_passes_a_full_quota() {
        let limits = Limits { max_jobs: Some(1), max_fires_per_minute: Some(1), ..Limits::default() };
        let over = Load { jobs: 5, fires_per_minute: 100.0, ..NONE };

        assert!(over.with(Load { fires_per_minute: -10.0, ..NONE }, &limits).is_ok());
    }

    /// What a count comes to that takes its time.
    async fn counted(counts: &AtomicU32, load: Result<Load, Fault>) -> Result<Load, Fault> {
        counts.fetch_add(1, Ordering::Relaxed);
        yield_now().await;
        load
    }

    /// Removed: one counts at a time. Each of the 64 counted, which on DynamoDB is 4,096 requests at once.
    #[tokio::test]
    async fn of_64_that_come_at_once_one_counts_and_the_others_go_by_that() {
        let (meters, tenant, counts) = (Meters::default(), Tenant::deployment(), AtomicU32::new(0));
        let limits = Limits { max_jobs: Some(5), ..Limits::default() };

        let count = || counted(&counts, Ok(NONE));
        let admitting = (0..64).map(|_| meters.admit_counting(&tenant, ONE, &limits, || NOW, count()));
        let admitted = join_all(admitting).await.into_iter().flatten().count();

        assert_eq!((counts.load(Ordering::Relaxed), admitted), (1, 5));
    }

    /// Removed: a count has failed for every request that waited for it. Each counted in its turn, and waited as long for a table that was away.
    #[tokio::test]
    async fn of_64_that_come_at_once_all_fail_by_one_count_and_the_next_counts_anew() {
        let (meters, tenant, counts) = (Meters::default(), Tenant::deployment(), AtomicU32::new(0));
        let limits = Limits { max_jobs: Some(5), ..Limits::default() };

        let count = || counted(&counts, Err(Fault::unavailable("store", "it is away")));
        let admitting = (0..64).map(|_| meters.admit_counting(&tenant, ONE, &limits, || NOW, count()));
        let failed = join_all(admitting).await.into_iter().filter(Result::is_err).count();
        let later = NOW.just_after();
        let next = meters.admit_counting(&tenant, ONE, &limits, || later, async { Ok(NONE) }).await;

        assert_eq!((counts.load(Ordering::Relaxed), failed, next.is_ok()), (1, 64, true));
    }

    /// Removed: a count that may say too much refuses for a second and no longer. What had ended by itself, or was deleted here, kept its room for
    /// half a minute.
    #[test]
    fn a_full_quota_is_counted_again_soon_where_something_has_changed_and_else_in_half_a_minute() {
        let (meters, tenant) = (Meters::default(), Tenant::deployment());
        let limits = Limits { max_jobs: Some(1), ..Limits::default() };
        let after = |millis| NOW + Duration::from_millis(millis);
        let is_counted_again = |millis| meters.admit_by_count(&tenant, ONE, &limits, after(millis)).is_none();
        let counted = |load| meters.with(&tenant, |meter| meter.count = Some(Count { load, at: NOW, changes: 0 }));

        counted(ONE);
        assert_eq!([1_000, 29_999, 30_000].map(is_counted_again), [false, false, true], "nothing has changed");
        counted(Load { next_end: Some(after(5_000)), ..ONE });
        assert_eq!([4_999, 5_000].map(is_counted_again), [false, true], "one ends by itself");
        counted(ONE);
        meters.note_deletion(&tenant);
        assert_eq!([999, 1_000].map(is_counted_again), [false, true], "one was deleted");
    }
}
