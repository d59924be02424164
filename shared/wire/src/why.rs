//! Why: what an instant of a job came to, and where the time of a run went.

use minutehand_domain::Moment;
use minutehand_domain::job::Job;
use minutehand_domain::run::{Lag, Run, Stage, StageKind};
use minutehand_domain::why::{Answer, Occurrence, Question, Rule, Verdict};
use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};

use crate::component::component;
use crate::instant::Instant;
use crate::run_status::RunStatus;
use crate::texts::{JobIdText, RunIdText};
use crate::word::Word;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WhyQuery {
    /// The instant that is asked about, past or coming: as the schedule names it, or as jitter moves that.
    pub at: Instant,
}

/// What an instant of a job came to, or will.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Why")]
pub struct WhyView {
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    /// The instant that was asked about.
    pub at: Instant,
    /// What the clock of the schedule's zone shows then.
    pub local: String,
    #[schemars(with = "VerdictWord")]
    pub verdict: String,
    #[schemars(with = "RuleWord")]
    pub rule: String,
    /// All of it in a sentence.
    pub detail: String,
    /// The run that it became, or the record that tells why it did not fire.
    #[schemars(with = "Option<RunIdText>")]
    pub run_id: Option<String>,
    /// Where it is an occurrence: the instant that the schedule names.
    pub scheduled_at: Option<Instant>,
    /// And when that is due: later by the schedule's jitter, if it has one.
    pub effective_at: Option<Instant>,
    /// Seconds from when it was due until it began; where it waits, until now.
    pub lag_seconds: Option<f64>,
    /// How many occurrences the record tells of that did not fire, where it was counted.
    pub count: Option<u64>,
    /// Until when it tells of them.
    pub covers_until: Option<Instant>,
    /// Where the instant is no occurrence: the one before it.
    pub previous: Option<OccurrenceView>,
    /// And the one after it.
    pub next: Option<OccurrenceView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Occurrence")]
pub struct OccurrenceView {
    /// The instant that the schedule names.
    pub scheduled_at: Instant,
    /// When it is due.
    pub effective_at: Instant,
}

/// Where the time of a run went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "RunWhy")]
pub struct RunWhyView {
    #[schemars(with = "RunIdText")]
    pub run_id: String,
    #[schemars(with = "JobIdText")]
    pub job_id: String,
    #[schemars(with = "RunStatus")]
    pub status: Word<RunStatus>,
    /// Why it failed or was skipped: a word.
    pub reason: Option<String>,
    /// When it was due.
    pub due_at: Instant,
    /// When the hint was sent by which its last attempt was claimed; null where that began within a second, or a worker took it.
    pub dispatched_at: Option<Instant>,
    /// When its first attempt started.
    pub started_at: Option<Instant>,
    /// Seconds from when it was due until it started; where it has not, until now or until its end.
    pub lag_seconds: f64,
    /// Seconds from when it was due until it ended, or until now: the sum of the stages.
    pub total_seconds: f64,
    /// In order, each from the end of the one before.
    pub stages: Vec<StageView>,
}

/// One stage of the time of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Stage")]
pub struct StageView {
    #[schemars(with = "StageWord")]
    pub stage: String,
    /// Which attempt it is, or leads to.
    pub attempt: Option<u32>,
    /// When it began.
    pub at: Instant,
    /// When it ended: now, where it goes on.
    pub until: Instant,
    /// How long it took.
    pub seconds: f64,
    /// In a sentence.
    pub detail: String,
}

component!(
    VerdictWord = "Verdict",
    json_schema!({
        "type": "string",
        "description": "What an instant came to: a run that is over (`fired`), under way (`running`) or has to wait (`waiting`), or that is \
             to come (`will_fire`); a run that was called off before it began (`cancelled`); an occurrence that did not fire (`skipped`), \
             of which the record of an earlier one tells (`covered`), or that will not as things are (`will_not_fire`); no occurrence; \
             or `unknown`, where nothing is on record and the schedule of then is not remembered.",
        "enum": Verdict::ALL.map(Verdict::as_str),
    })
);

component!(
    RuleWord = "Rule",
    json_schema!({
        "type": "string",
        "description": "Which rule decided: a field of the schedule or of the job, what became of the job, or what a run waits for \
             (`claim`: an executor or a worker).",
        "enum": Rule::ALL.map(Rule::as_str),
    })
);

component!(
    StageWord = "StageKind",
    json_schema!({
        "type": "string",
        "description": "What a run's time went into: `dispatch`, it was due and nobody had been told; `queued`, it could have been \
             claimed; `place`, it stood in line for one; `rate`, its turn had not come; `catch_up`, its turn in catching up had not; `attempt`; `backoff`, between two attempts; `recovery`, whoever had it was gone and nobody had noticed; \
             `tasks`; `answer`, somebody was asked; `undecided`, until it was recorded that it does not fire.",
        "enum": StageKind::ALL.map(StageKind::as_str),
    })
);

impl WhyView {
    pub fn of(question: &Question<'_>, answer: Answer) -> Self {
        let Question { job, at, .. } = *question;
        let until = answer.span.map(|span| Instant(span.until));
        Self {
            job_id: id_of(job),
            at: Instant(at),
            local: job.schedule.local(at),
            verdict: answer.verdict.as_str().to_owned(),
            rule: answer.rule.as_str().to_owned(),
            detail: answer.detail,
            run_id: answer.run.map(|run| run.to_string()),
            scheduled_at: answer.occurrence.map(|occurrence| Instant(occurrence.nominal)),
            effective_at: answer.occurrence.map(|occurrence| Instant(occurrence.effective)),
            lag_seconds: answer.lag.map(|lag| lag.as_secs_f64()),
            count: answer.span.and_then(|span| span.count),
            covers_until: until,
            previous: answer.previous.map(OccurrenceView::of),
            next: answer.next.map(OccurrenceView::of),
        }
    }
}

fn id_of(job: &Job) -> String {
    job.id.to_string()
}

impl OccurrenceView {
    fn of(occurrence: Occurrence) -> Self {
        Self { scheduled_at: Instant(occurrence.nominal), effective_at: Instant(occurrence.effective) }
    }
}

impl RunWhyView {
    /// Of a run as it stands at `now`.
    pub fn of(run: &Run, lag: &Lag, now: Moment) -> Self {
        Self {
            run_id: run.key.to_string(),
            job_id: run.callback_of.unwrap_or(run.key).job.to_string(),
            status: RunStatus::of(run, now),
            reason: run.reason().map(ToOwned::to_owned),
            due_at: Instant(lag.due),
            dispatched_at: run.dispatched.map(Instant),
            started_at: run.started_at.map(Instant),
            lag_seconds: lag.before_it_began().as_secs_f64(),
            total_seconds: lag.whole().as_secs_f64(),
            stages: lag.stages.iter().map(StageView::of).collect(),
        }
    }
}

impl StageView {
    fn of(stage: &Stage) -> Self {
        Self {
            stage: stage.kind.as_str().to_owned(),
            attempt: stage.attempt,
            at: Instant(stage.from),
            until: Instant(stage.until),
            seconds: stage.took().as_secs_f64(),
            detail: stage.detail.clone(),
        }
    }
}
