//! A dry run: which of the coming fires a change of a calendar would touch.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::calendar::{Calendar, CalendarName, CalendarUse, CalendarVersion};
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::{Change, Job, Status};
use minutehand_domain::limits::{
    CALENDAR_STEPS_OF_A_REQUEST, DRY_RUN_FIRES, DRY_RUN_JOBS, DRY_RUN_SAMPLE, DRY_RUN_SECONDS,
};
use minutehand_domain::schedule::Patience;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};

use crate::lookup::job_of;

/// Uses that one page reads.
const PAGE: usize = 100;
/// Of all jobs together: a quarter of a second.
const PATIENCE: Patience = Patience::of(4 * CALENDAR_STEPS_OF_A_REQUEST);

/// What a change would touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Touched {
    /// Jobs that heed the calendar.
    pub jobs: u64,
    /// Those of them that would fire otherwise.
    pub jobs_touched: u64,
    pub skipped: u64,
    pub added: u64,
    pub moved: u64,
    /// The first of them, job by job.
    pub sample: Vec<Touch>,
    /// Not all was looked at: there are at least so many.
    pub is_partial: bool,
}

/// A fire that would be another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Touch {
    pub job: JobId,
    pub name: Option<String>,
    /// What the schedule names.
    pub nominal: Moment,
    /// When it fires as things are; none where it does not.
    pub fires: Option<Moment>,
    /// And after the change.
    pub would_fire: Option<Moment>,
}

/// What becomes of the fires of all jobs that heed a calendar, if it says this; or if it goes and they go on without it.
pub async fn touched<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    name: &CalendarName,
    then: Option<Calendar>,
) -> Result<Touched, Fault> {
    let now = ports.clock().now();
    let until = now + Duration::from_secs(DRY_RUN_SECONDS);
    let (mut touched, mut patience, mut past) = (Touched::default(), PATIENCE.until(until), None);
    let (place, then) = (name.place(tenant), then.map(Arc::new));
    loop {
        let uses = ports.store().list::<CalendarUse>(tenant, place, past, PAGE).await?.items;
        for heeds in &uses {
            let job = job_of(ports, tenant, heeds.job).await?;
            let heeding = job.filter(|job| job.status != Status::Cancelled && job.schedule.heeded(name).is_some());
            let Some(job) = heeding else { continue };
            touched.jobs += 1;
            touched.note(&job, name, then.as_ref(), (now..until, &mut patience));
            if touched.jobs >= DRY_RUN_JOBS as u64 {
                return Ok(Touched { is_partial: true, ..touched });
            }
        }
        match uses.last().filter(|_| uses.len() == PAGE) {
            Some(last) => past = Some((place, last.job)),
            None => return Ok(touched),
        }
    }
}

fn changed(job: &Job, name: &CalendarName, then: Option<&Arc<Calendar>>, now: Moment) -> Option<Job> {
    let schedule = match then {
        // Which version it will be is nobody's business yet.
        Some(calendar) => job.schedule.pinned_to(name, CalendarVersion::of(&[]), calendar),
        None => job.schedule.without(name),
    };
    job.after(&Change::reschedule(schedule), now).ok()
}

impl Touched {
    fn note(
        &mut self,
        job: &Job,
        name: &CalendarName,
        then: Option<&Arc<Calendar>>,
        (window, patience): (Range<Moment>, &mut Patience),
    ) {
        let changed = changed(job, name, then, window.start).filter(|_| job.status == Status::Active);
        let Some(changed) = changed else { return };
        let (fires, would_fire) = (Fires::of(job, &window, patience), Fires::of(&changed, &window, patience));
        let until = window.end;
        // What was cut off of one is not compared with the other.
        let end = fires.end.min(would_fire.end);
        self.is_partial |= end < until;
        let named: BTreeSet<Moment> = fires.at.keys().chain(would_fire.at.keys()).copied().collect();
        let mut is_touched = false;
        for nominal in named.into_iter().filter(|nominal| *nominal < end) {
            let (fires, would_fire) = (fires.at.get(&nominal).copied(), would_fire.at.get(&nominal).copied());
            match (fires, would_fire) {
                (one, other) if one == other => continue,
                (_, None) => self.skipped += 1,
                (None, Some(_)) => self.added += 1,
                (Some(_), Some(_)) => self.moved += 1,
            }
            is_touched = true;
            if self.sample.len() < DRY_RUN_SAMPLE {
                let name = job.definition.name.clone();
                self.sample.push(Touch { job: job.id, name, nominal, fires, would_fire });
            }
        }
        self.jobs_touched += u64::from(is_touched);
    }
}

/// When a job fires what its schedule names, up to where all of it is known.
struct Fires {
    at: BTreeMap<Moment, Moment>,
    end: Moment,
}

impl Fires {
    fn of(job: &Job, window: &Range<Moment>, patience: &mut Patience) -> Self {
        let (mut at, mut last, until) = (BTreeMap::new(), window.start, window.end);
        let mut next = job.next_within(window.start.just_before(), patience);
        while let Some(t) = next.filter(|t| *t < until) {
            if at.len() >= DRY_RUN_FIRES {
                return Self { at, end: last };
            }
            at.insert(job.nominal_of(t), t);
            last = t;
            next = job.next_within(t, patience);
        }
        Self { at, end: if patience.is_spent() { last } else { until } }
    }
}
