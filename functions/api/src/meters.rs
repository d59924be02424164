//! Meters: how much of its quota a tenant has used, as far as this process knows.
//!
//! Quotas are enforced at admission, and the hot path pays nothing. Requests and one-time runs are counted in buckets of
//! this process; jobs and the rates of their schedules are counted in the table when needed, and the count is kept current
//! here until the next. So another process may admit a little more, never for longer than [`COUNT_AGAIN`].

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

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
/// Jobs are counted again after this long when the last count was at the limit: jobs end by themselves.
const COUNT_WHEN_FULL: Duration = Duration::from_secs(1);
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
}

/// A tenant's jobs that can still fire, and the rate of their schedules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Load {
    jobs: u32,
    fires_per_minute: f64,
}

#[derive(Clone, Copy)]
struct Count {
    load: Load,
    at: Moment,
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
        };
        if !schedule.is_recurring() {
            self.admit_run(ports, tenant).await?;
        }
        if let Some(admitted) = self.admit_by_count(tenant, more, &limits, now) {
            return admitted;
        }
        let counted = Count { load: count(ports, tenant, now).await?, at: ports.clock().now() };
        self.admit_by(counted, now, tenant, more, &limits)
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
                    Some(Ok(()))
                }
                Err(full) if now.is_within(COUNT_WHEN_FULL, count.at) => Some(Err(full)),
                Err(_) => None,
            }
        })
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
            let meanwhile = |count: &Count| (begun..=counted.at + COUNT_WHEN_FULL).contains(&count.at);
            let mut count = meter.count.filter(meanwhile).unwrap_or(counted);
            let admitted = count.load.with(more, limits).map(|load| count.load = load);
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
        let sum = Self { jobs: self.jobs + more.jobs, fires_per_minute: self.fires_per_minute + more.fires_per_minute };
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
}

/// All the tenant's jobs that can still fire.
async fn count<D: Ports>(ports: &D, tenant: &Tenant, now: Moment) -> Result<Load, Fault> {
    let (mut load, mut after) = (Load::default(), None);
    loop {
        let page = jobs_of(ports, tenant, after, PAGE).await?;
        for job in page.iter().filter(|job| can_still_fire(job, now)) {
            load.jobs += 1;
            load.fires_per_minute += job.schedule.fires_per_minute(now);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_grows_up_to_its_limits() {
        let limits = Limits { max_jobs: Some(2), max_fires_per_minute: Some(60), ..Limits::default() };
        let (one, each_second) = (Load { jobs: 1, fires_per_minute: 0.0 }, Load { jobs: 1, fires_per_minute: 60.0 });

        assert!(one.with(one, &limits).is_ok() && one.with(each_second, &limits).is_ok());
        assert!(each_second.with(each_second, &limits).is_err(), "120 fires");
        assert!(one.with(one, &limits).unwrap().with(one, &limits).is_err(), "three jobs");
    }

    /// Removed: what a clock counted that was ahead is fresh until that time has come. A full quota stayed full for an hour, whatever was deleted.
    #[test]
    fn what_a_clock_counted_that_was_ahead_is_counted_again() {
        let (meters, tenant, now) = (Meters::default(), Tenant::deployment(), Moment::from_secs(1_800_000_000));
        let limits = Limits { max_jobs: Some(1), ..Limits::default() };
        let one = Load { jobs: 1, fires_per_minute: 0.0 };
        let counted = |at| meters.with(&tenant, |meter| meter.count = Some(Count { load: one, at }));
        let decided = || meters.admit_by_count(&tenant, one, &limits, now);

        counted(now);
        assert!(decided().is_some_and(|admitted| admitted.is_err()), "just counted, and full");
        counted(now + Duration::from_secs(3600));
        assert!(decided().is_none(), "to be counted");
    }

    /// Removed: what others have counted meanwhile decides, however long ago that is by now. Of many jobs that came at once, each that was counted
    /// for longer than a second was admitted.
    #[test]
    fn a_full_quota_that_was_counted_meanwhile_admits_nobody_whose_own_count_took_longer() {
        let (meters, tenant, begun) = (Meters::default(), Tenant::deployment(), Moment::from_secs(1_800_000_000));
        let limits = Limits { max_jobs: Some(2), ..Limits::default() };
        let (one, none) = (Load { jobs: 1, fires_per_minute: 0.0 }, Load::default());
        let counted = |after| Count { load: none, at: begun + Duration::from_millis(after) };
        let admitted = |after| meters.admit_by(counted(after), begun, &tenant, one, &limits).is_ok();

        assert_eq!([1_200, 1_500, 2_500, 9_000].map(admitted), [true, true, false, false]);
    }

    #[test]
    fn a_change_that_adds_nothing_passes_a_full_quota() {
        let limits = Limits { max_jobs: Some(1), max_fires_per_minute: Some(1), ..Limits::default() };
        let over = Load { jobs: 5, fires_per_minute: 100.0 };

        assert!(over.with(Load { jobs: 0, fires_per_minute: -10.0 }, &limits).is_ok());
    }
}
