//! A whole run: its item and the items beside it: older attempts, a large payload, a large result.

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::callback::CallbackPlace;
use minutehand_domain::id::{Owner, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::run::logbook::{Checkpoint, Logbook};
use minutehand_domain::run::{Attempt, Run, State, Waiting};
use minutehand_domain::target::Target;
use minutehand_domain::workflow::waits::{of_place, of_run};
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports};
use minutehand_protocol::bodies;
use minutehand_protocol::chain::standing::{Asked, Standing as Standings, standing};
use minutehand_protocol::graph::watch::{Standing, standing_of};
use minutehand_protocol::lookup::job_of;
use minutehand_protocol::slots::{awaited, kept_back};
use minutehand_wire::run_view::{Bodies, result_of};
use minutehand_wire::{BodyView, CallbackRunView, LogsView, RunEventsView, RunView, RunWhyView, TaskOfView};

pub(crate) struct FullRun {
    run: Run,
    /// All attempts, oldest first.
    attempts: Vec<Attempt>,
    payload: Option<Json>,
    result: Option<Json>,
    /// Where it is a task's: of which run, and what it waits for.
    task: Option<(Standing, Option<String>)>,
    /// Where it waits for a place: in words.
    place: Option<String>,
    /// What its workers said of it, where they did.
    book: Option<Logbook>,
    checkpoint: Option<Json>,
    /// Who tells of its end, where it has ended so: under `callback` and under `after`.
    told: [Option<CallbackRunView>; 2],
    /// What a hook gave an attempt in the place of its payload.
    given: Option<Json>,
}

impl FullRun {
    /// The run of `key`, as [`run_of`] finds it.
    pub(crate) async fn find<D: Ports>(ports: &D, tenant: &Tenant, key: RunKey) -> Result<Option<Self>, Fault> {
        match run_of(ports, tenant, key).await? {
            Some((run, job)) => Self::load(ports, run, job.as_ref()).await.map(Some),
            None => Ok(None),
        }
    }

    /// A run that was just written, so that its job exists.
    pub(crate) async fn of<D: Ports>(ports: &D, run: Run) -> Result<Self, Fault> {
        match run.key.owner() {
            Owner::Parent | Owner::Rule(_) => Self::load(ports, run, None).await,
            Owner::Job(id) => match job_of(ports, &run.tenant, id).await? {
                Some(job) => Self::load(ports, run, Some(&job)).await,
                None => Err(Fault::unreadable("store", "a run's job is not there")),
            },
        }
    }

    /// `job`: none for a task's and for a message, which are born with all that they are given.
    pub(crate) async fn load<D: Ports>(ports: &D, run: Run, job: Option<&Job>) -> Result<Self, Fault> {
        let payload = match (&run.payload, job) {
            (Some(own), _) => bodies::shown_of(ports, &run, own).await?,
            (None, Some(job)) => bodies::fetch(ports, &run.tenant, job.id, &job.definition.payload).await?,
            (None, None) => None,
        };
        let result = match result_of(&run) {
            Some(result) => bodies::fetch_of(ports, &run, result).await?,
            None => None,
        };
        let attempts = all_attempts(ports, &run).await?;
        let task = standing_of(ports, &run).await?.map(|standing| {
            let waits = standing.waits(&run, ports.clock().now());
            (standing, waits)
        });
        let target =
            job.map(|job| &job.definition.target).or_else(|| task.as_ref().and_then(|(task, _)| task.target()));
        let place = match target.and_then(|target| kept_back_by(ports, &run, target)) {
            Some(by) => Some(by),
            None => awaited_place(ports, &run).await?,
        };
        let book = logbook_of(ports, &run).await?;
        let checkpoint = match &book {
            Some(book) => checkpoint_of(ports, book).await?,
            None => None,
        };
        let told = told_by(ports, &run).await?;
        let given = match &run.given {
            Some(given) => bodies::fetch_of(ports, &run, &given.payload).await?,
            None => None,
        };
        Ok(Self { run, attempts, payload, result, task, place, book, checkpoint, told, given })
    }

    pub(crate) fn view(&self, now: Moment) -> RunView {
        let bodies =
            Bodies { payload: BodyView::of(self.payload.as_ref()), result: BodyView::of(self.result.as_ref()) };
        let view = RunView::of(&self.run, &self.attempts, bodies, now);
        let [callback, after] = self.told.clone();
        let hook_payload = self.given.as_ref().map_or(BodyView::LeftOut, |given| BodyView::of(Some(given)));
        let view = RunView { callback, after, hook_payload, ..view };
        let view = match &self.book {
            Some(book) => view.told_by(book, self.checkpoint.as_ref()),
            None => view,
        };
        let place = || self.place.clone();
        match &self.task {
            Some((standing, waits)) => RunView {
                waiting_for: place().or_else(|| waits.clone()),
                ..view.in_its_workflow(task_of(standing), standing.job)
            },
            None if self.run.waiting().is_some() || self.run.admission.turn.is_some() || self.run.is_put_off() => {
                RunView { waiting_for: place().or_else(|| of_run(&self.run, None, now)), ..view }
            }
            None => RunView { waiting_for: place(), ..view },
        }
    }

    pub(super) fn events(&self) -> RunEventsView {
        RunEventsView::of(&self.run, &self.attempts, self.book.as_ref().map_or(&[], |book| &book.late))
    }

    /// Where its time went.
    pub(crate) fn why(&self, now: Moment) -> RunWhyView {
        RunWhyView::of(&self.run, &self.run.lag(&self.attempts, now), now)
    }

    /// How many of its calls have ended.
    pub(super) fn calls(&self) -> u32 {
        let ended = self.attempts.iter().filter(|attempt| attempt.ended.is_some()).count();
        u32::try_from(ended).unwrap_or(u32::MAX)
    }

    /// What its calls were answered.
    pub(super) fn answered(&self, from: u32, limit: usize) -> LogsView {
        LogsView::of_calls(&self.attempts, self.result.as_ref(), from, limit)
    }
}

/// The runs that tell of its end, as they stand.
async fn told_by<D: Ports>(ports: &D, run: &Run) -> Result<[Option<CallbackRunView>; 2], Fault> {
    let mut told = [None, None];
    for callback in run.callbacks_owed() {
        let key = RunKey::callback(run.key, callback.place);
        let there = ports.store().get::<Run>(&run.tenant, key).await?;
        let view = there.map(|seen| CallbackRunView::of(&seen.item, ports.clock().now()));
        match callback.place {
            CallbackPlace::Callback => told[0] = view,
            CallbackPlace::After => told[1] = view,
        }
    }
    Ok(told)
}

/// What workers said of a run that was begun. Nobody says anything of one that waits for its tasks.
pub(super) async fn logbook_of<D: Ports>(ports: &D, run: &Run) -> Result<Option<Logbook>, Fault> {
    if run.fence == 0 || run.graph.is_some() {
        return Ok(None);
    }
    Ok(ports.store().get::<Logbook>(&run.tenant, run.key).await?.map(|seen| seen.item))
}

/// What is kept for the next holder.
async fn checkpoint_of<D: Ports>(ports: &D, book: &Logbook) -> Result<Option<Json>, Fault> {
    if !book.has_checkpoint {
        return Ok(None);
    }
    Ok(ports.store().get::<Checkpoint>(&book.tenant, book.run).await?.map(|seen| seen.item.value))
}

/// What a run waits for that found those full with whom it shares a limit.
pub(crate) async fn awaited_place<D: Ports>(ports: &D, run: &Run) -> Result<Option<String>, Fault> {
    let Some(Waiting::Slot { since }) = run.waiting() else { return Ok(None) };
    let awaited = awaited(ports, run).await?;
    Ok(awaited.map(|(bound, taken)| of_place(&bound, taken, *since, ports.clock().now())))
}

/// In words, what keeps a run in its queue that is due.
fn kept_back_by<D: Ports>(ports: &D, run: &Run, target: &Target) -> Option<String> {
    let State::Scheduled { due } = run.state else { return None };
    kept_back(ports, &run.tenant, target, due).map(|(bound, taken)| of_place(&bound, taken, due, ports.clock().now()))
}

/// As an answer tells it.
pub(crate) fn task_of(standing: &Standing) -> TaskOfView {
    TaskOfView {
        workflow_run_id: standing.workflow_run.to_string(),
        key: standing.key.to_string(),
        branch: standing.place.branch,
        turn: standing.place.turn,
    }
}

/// The run that `key` names: as it is recorded, as the record that speaks for it tells, or as it will be if it is an occurrence
/// that nobody has claimed. With its job, but where it is a task's or the job is gone.
pub(crate) async fn run_of<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    key: RunKey,
) -> Result<Option<(Run, Option<Job>)>, Fault> {
    Ok(match (standing(ports, tenant, key, Asked::ByAnyone).await?, key.owner()) {
        (Standings::Recorded(seen), Owner::Parent | Owner::Rule(_)) => Some((seen.item, None)),
        // A job that was deleted may go before the last of its runs.
        (Standings::Recorded(seen), Owner::Job(id)) => Some((seen.item, job_of(ports, tenant, id).await?)),
        (Standings::Covered(job, coverage), _) => Some((coverage.as_of(&job, key), Some(job))),
        (Standings::Unborn(job), _) => Some((job.run(key).sampled_by(ports.sampling()), Some(job))),
        (Standings::NotAdmitted(_) | Standings::NoJob | Standings::NoRecord, _) => None,
    })
}

/// Reads the store only where the first attempt is no longer inside the run.
async fn all_attempts<D: Ports>(ports: &D, run: &Run) -> Result<Vec<Attempt>, Fault> {
    if run.attempts.first().is_none_or(|attempt| attempt.number == 1) {
        return Ok(run.attempts.clone());
    }
    let older = ports.store().list::<Attempt>(&run.tenant, run.key, None, usize::MAX).await?;
    Ok(run.with_older_attempts(older.items))
}
