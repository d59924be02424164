//! Operations on a stage: who asks for them, what is said to them, and what the judge is told.

use std::ops::Range;

use minutehand_domain::access::By;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{Origin, RunKey};
use minutehand_domain::idempotency::{AskedName, Fingerprint};
use minutehand_domain::operation::{Backfill, JobAct, JobFilter, Operation, OperationHead, Order, Work};
use minutehand_domain::priority::Priority;
use minutehand_domain::run::{Run, State};
use minutehand_domain::timer::Obligation;
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_io::{Fault, Ports};
use minutehand_judge::backfill as judge;
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::operation::ask::{Begun, Named, NewOperation, Ordered, begin, name, order};

use super::{Answer, Stage, moment};
use crate::witness::at_once;

/// What somebody was answered who asked for an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    Begun(Operation),
    /// It was begun before, by the same request.
    Before(Operation),
    Refused,
}

impl Stage {
    /// Asks that what its job was due in these seconds is made up for.
    pub fn backfill(&self, at: i64, who: &'static str, span: Range<i64>) -> Answer<Asked> {
        self.backfill_once(at, who, span, None)
    }

    /// The same under an idempotency key, which may be asked again.
    pub fn backfill_once(
        &self,
        at: i64,
        who: &'static str,
        span: Range<i64>,
        key: Option<&'static str>,
    ) -> Answer<Asked> {
        let stage = self.clone();
        self.act(at, who, move |ports| async move {
            let Some(job) = job_of(&ports, &stage.tenant, stage.id).await? else { return Ok(Asked::Refused) };
            let span = (moment(span.start), moment(span.end));
            match Backfill::of(&job, span, 10_000, Priority::Low) {
                Ok((backfill, _)) => stage.begin(&ports, Work::Backfill(backfill), key).await,
                Err(_) => Ok(Asked::Refused),
            }
        })
    }

    /// Asks that all jobs of the tenant are paused.
    pub fn pause_all(&self, at: i64, who: &'static str, key: Option<&'static str>) -> Answer<Asked> {
        let stage = self.clone();
        self.act(at, who, move |ports| async move {
            let work = Work::Jobs { act: JobAct::Pause, filter: JobFilter::default() };
            stage.begin(&ports, work, key).await
        })
    }

    async fn begin<D: Ports>(&self, ports: &D, work: Work, key: Option<&'static str>) -> Result<Asked, Fault> {
        let once = key.and_then(|key| Some((AskedName::of(key), Fingerprint::of("this", "", "")?)));
        let id = match name(ports, &self.tenant, once).await? {
            Named::Make(id) => id,
            Named::Made(operation) => return Ok(Asked::Before(operation)),
            Named::Taken | Named::TooMany => return Ok(Asked::Refused),
        };
        let fingerprint = once.map(|(_, print)| print);
        let new = NewOperation { work, note: None, by: By::host(), fingerprint, trace: None };
        Ok(match begin(ports, &self.tenant, id, new).await? {
            Begun::New(operation) => Asked::Begun(operation),
            Begun::Replayed(operation) => Asked::Before(operation),
            Begun::TooSlow => Asked::Refused,
        })
    }

    /// Says something to the oldest operation of the tenant; nothing where there is none.
    pub fn order(&self, at: i64, who: &'static str, said: Order) -> Answer<Option<Ordered>> {
        let stage = self.clone();
        self.act(at, who, move |ports| async move {
            let Some(oldest) = stage.operations().pop() else { return Ok(None) };
            order(&ports, &stage.tenant, oldest.id, said).await.map(Some)
        })
    }

    /// Has all of them go on: which was the oldest may have changed since one was paused, as an asker may be slow.
    pub fn resume_all(&self, at: i64, who: &'static str) {
        let stage = self.clone();
        self.act(at, who, move |ports| async move {
            for operation in stage.operations() {
                order(&ports, &stage.tenant, operation.id, Order::Resume).await?;
            }
            Ok(())
        });
    }

    /// The operations of the tenant, newest first.
    pub fn operations(&self) -> Vec<Operation> {
        let list = self.world.whole_store().list::<OperationHead>(&self.tenant, (), None, 1000);
        at_once(list).expect("memory").items.into_iter().filter_map(OperationHead::operation).collect()
    }

    /// When its job was written for the first time.
    pub fn first_written(&self) -> Option<i64> {
        self.world.seen().jobs.get(&self.id)?.versions.first().map(|version| version.at)
    }

    /// All records of its job.
    pub fn records(&self) -> Vec<Run> {
        let all = RunsOf { job: self.id, window: moment(-1_000_000)..moment(1_000_000) };
        at_once(self.world.whole_store().list::<Run>(&self.tenant, all, None, 100_000)).expect("memory").items
    }

    /// The runs that backfills have made for an instant.
    pub fn made(&self, instant: i64) -> Vec<Run> {
        let made = |run: &Run| run.key.origin == Origin::Backfill && run.key.at == moment(instant);
        self.records().into_iter().filter(made).collect()
    }

    /// A hint of the timer that stands behind the first run that a backfill has made for an instant.
    pub fn hint_of_made(&self, instant: i64) -> Hint {
        let key = RunKey::backfill(self.id, moment(instant), 0);
        let timer = self.timers().into_iter().find(|timer| timer.key.obligation == Obligation::Run(key));
        Hint::of(&timer.expect("a timer stands behind it"))
    }

    /// For which instants its runs were begun, each run once, in order.
    pub fn begun(&self) -> Vec<i64> {
        let mut begun: Vec<i64> = self.claims().into_iter().map(|(key, _)| super::second(key.at.millis())).collect();
        begun.sort_unstable();
        begun
    }

    /// The first claim of each run.
    fn claims(&self) -> Vec<(RunKey, i64)> {
        let seen = self.world.seen();
        let mut first: std::collections::BTreeMap<RunKey, i64> = std::collections::BTreeMap::new();
        for ((run, _), (at, _)) in seen.claims.iter().filter(|((run, _), _)| run.job == self.id) {
            first.entry(*run).or_insert(*at);
        }
        first.into_iter().collect()
    }

    /// What the judge of backfills is told: of a job that is due each so many seconds from its first on, and of the cancels that were answered,
    /// by the number of the operation from the oldest on.
    pub fn account_of_backfills(&self, first: i64, period: i64, cancelled: &[(usize, i64)]) -> judge::Account {
        let mut operations = self.operations();
        operations.reverse();
        let asked = operations.iter().enumerate().filter_map(|(number, operation)| {
            let Work::Backfill(backfill) = &operation.work else { return None };
            let told = cancelled.iter().find(|(of, _)| *of == number).map(|(_, at)| moment(*at).millis());
            Some(judge::Asked {
                at: operation.asked_at.millis(),
                span: backfill.from.millis()..backfill.until.millis(),
                most: usize::MAX,
                cancelled_at: told,
                is_over: operation.is_over(),
                done: operation.progress.done,
                already: operation.progress.already,
                refused: operation.progress.refused,
            })
        });
        let asked = asked.collect();
        let records = self.records();
        let made_by = |key: &RunKey| {
            let run = records.iter().find(|run| run.key == *key)?;
            let by = run.made.filter(|_| key.origin == Origin::Backfill)?.by;
            operations.iter().position(|operation| operation.id == by)
        };
        let begun = |(key, at): (RunKey, i64)| judge::Begun {
            instant: key.at.millis(),
            run: key.to_string(),
            by: made_by(&key),
            at,
        };
        let unended = records.iter().filter(|run| run.key.origin == Origin::Backfill && !run.is_finished());
        let of_operations = |timer: &minutehand_domain::timer::Timer| match timer.key.obligation {
            Obligation::Operation(_) => true,
            Obligation::Run(key) => key.origin == Origin::Backfill,
            Obligation::Occurrence(_) | Obligation::MovedOccurrence(..) | Obligation::Calendar(_) => false,
        };
        let withdrawn = records.iter().filter(|run| run.key.origin == Origin::Backfill && run.fence == 0);
        let swept = self.cursor().oldest;
        judge::Account {
            first: moment(first).millis(),
            period: period * 1000,
            asked,
            begun: self.claims().into_iter().map(begun).collect(),
            withdrawn: withdrawn.filter_map(told_of_withdrawn).collect(),
            unended: unended.map(|run| run.key.at.millis()).collect(),
            // Who puts a timer into a minute that was left puts it again ahead, and may never erase the first: nobody looks there.
            timers: self.timers().iter().filter(|timer| of_operations(timer) && timer.key.minute() >= swept).count(),
        }
    }
}

fn told_of_withdrawn(run: &Run) -> Option<judge::Withdrawn> {
    let State::Cancelled { at, .. } = run.state else { return None };
    Some(judge::Withdrawn { instant: run.key.at.millis(), at: at.millis() })
}
