//! Spans: what is told of a run to whoever keeps traces, made of the changes that are committed. One for each attempt and one for each run,
//! each told when it is over; nothing is told of a run that is not sampled, and nothing is made where nobody listens.

use std::borrow::Cow;
use std::sync::Arc;

use minutehand_domain::Moment;
use minutehand_domain::id::{Origin, Owner};
use minutehand_domain::run::{Attempt, Ending, Holder, Run, State};
use minutehand_domain::trace::{SpanId, TraceContext};

use crate::events::{Event, Events};

/// What was done from then to then, as OpenTelemetry has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// Its own.
    pub context: TraceContext,
    /// The span of its trace that it is a part of.
    pub parent: Option<SpanId>,
    /// What it comes of elsewhere.
    pub links: Vec<TraceContext>,
    /// One of a few words.
    pub name: Cow<'static, str>,
    pub kind: SpanKind,
    pub start: Moment,
    pub end: Moment,
    pub attributes: Vec<(&'static str, Value)>,
    pub outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    Server,
    Client,
    Producer,
    Consumer,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Number(i64),
    Flag(bool),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    Unset,
    Ok,
    /// By its code: what a target or a worker says more may hold what is its tenant's alone.
    Error(String),
}

/// Who keeps spans. Told in the midst of a request: it may neither wait nor fail.
pub trait Spans: Send + Sync + 'static {
    fn ended(&self, span: Span);
}

/// Makes spans of events, and passes each event to the next adapter.
#[derive(Clone)]
pub struct Spanned<E> {
    next: E,
    to: Option<Arc<dyn Spans>>,
}

impl<E> Spanned<E> {
    /// `to`: whoever keeps them, where somebody does.
    pub fn new(next: E, to: Option<Arc<dyn Spans>>) -> Self {
        Self { next, to }
    }

    pub fn next(&self) -> &E {
        &self.next
    }
}

impl<E: Events> Events for Spanned<E> {
    fn emit(&self, event: &Event<'_>) {
        if let (Some(to), Event::Run { run, was, now, .. }) = (&self.to, event) {
            spans(run, *was, *now, &mut |span| to.ended(span));
        }
        self.next.emit(event);
    }
}

/// The spans that are over with this change of a run.
pub fn spans(run: &Run, was: Option<&Run>, now: Moment, tell: &mut dyn FnMut(Span)) {
    if !run.is_sampled() {
        return;
    }
    if let Some(was) = was {
        just_ended(run, was).filter_map(|attempt| of_attempt(run, was, attempt)).for_each(&mut *tell);
    }
    if let Some(end) = run.finished_at().filter(|_| !was.is_some_and(Run::is_finished)) {
        tell(of_run(run, end, now));
    }
}

/// The attempts that this has ended.
fn just_ended<'a>(run: &'a Run, was: &'a Run) -> impl Iterator<Item = &'a Attempt> {
    let had_ended = |number| was.attempts.iter().any(|attempt| attempt.number == number && attempt.ended.is_some());
    run.attempts.iter().filter(move |attempt| attempt.ended.is_some() && !had_ended(attempt.number))
}

/// An attempt is a call of ours to its target, and so the client's side of one. What a worker elsewhere has is no call: the span says for how
/// long it had the run, and what the worker does is its own to tell, as a consumer below this one.
fn of_attempt(run: &Run, was: &Run, attempt: &Attempt) -> Option<Span> {
    let end = attempt.ended.as_ref()?;
    let kind = match was.lease().map(|lease| lease.holder) {
        Some(Holder::Remote(_)) => SpanKind::Internal,
        Some(Holder::Process(_) | Holder::Target(_)) | None => SpanKind::Client,
    };
    let before = (attempt.number > 1).then(|| run.attempt_context(attempt.number - 1).bare());
    let mut attributes = about(run);
    attributes.push(("minutehand.attempt", Value::Number(attempt.number.into())));
    attributes.extend(attempt.outcome().map(|outcome| ("minutehand.outcome", text(outcome))));
    attributes.extend(attempt.error().map(|error| ("error.type", text(&error.code))));
    Some(Span {
        context: run.attempt_context(attempt.number),
        parent: Some(SpanId::of_run(run.key)),
        links: before.into_iter().collect(),
        name: Cow::Borrowed("attempt"),
        kind,
        start: attempt.started_at,
        end: end.at.max(attempt.started_at),
        attributes,
        outcome: match (&end.how, attempt.error()) {
            (Ending::Succeeded, _) => Outcome::Ok,
            (_, Some(error)) => Outcome::Error(error.code.as_ref().to_owned()),
            (_, None) => Outcome::Unset,
        },
    })
}

/// A run is the root of its trace, or a task below the run of its workflow.
fn of_run(run: &Run, end: Moment, now: Moment) -> Span {
    let is_task = run.task.is_some();
    let mut attributes = about(run);
    attributes.push(("minutehand.origin", text(run.key.origin.as_str())));
    attributes.push(("minutehand.status", text(run.status(now))));
    attributes.extend(run.reason().map(|reason| ("minutehand.reason", text(reason))));
    attributes.extend(error_of(run).map(|code| ("error.type", text(code))));
    Span {
        context: run.context(),
        parent: run.task.as_ref().map(|task| SpanId::of_run(task.parent)),
        links: run.links(),
        name: Cow::Borrowed(if is_task { "task" } else { "run" }),
        kind: SpanKind::Internal,
        start: began(run, end),
        end,
        attributes,
        outcome: match (&run.state, error_of(run)) {
            (State::Succeeded { .. }, _) => Outcome::Ok,
            (_, Some(code)) => Outcome::Error(code.to_owned()),
            (_ended_without_an_error, None) => Outcome::Unset,
        },
    }
}

/// From when on it could begin. A task, a callback and a message bear the instant of what they come of, and begin when they are made.
fn began(run: &Run, end: Moment) -> Moment {
    let began = match run.key.origin {
        Origin::Task | Origin::Callback | Origin::Notification => run.started_at.unwrap_or(end),
        Origin::Schedule | Origin::Manual | Origin::Backfill | Origin::Redrive | Origin::Resume | Origin::Follow => {
            run.could_begin_at()
        }
    };
    began.min(end)
}

/// The code of what it died of.
fn error_of(run: &Run) -> Option<&str> {
    match &run.state {
        State::Failed { .. } | State::TimedOut { .. } => {
            let code = run.attempts.last().and_then(Attempt::error).map(|error| &*error.code);
            code.or_else(|| run.reason()).or(Some("timed_out"))
        }
        _no_error => None,
    }
}

/// What is said of every span of a run.
fn about(run: &Run) -> Vec<(&'static str, Value)> {
    let mut attributes = vec![
        ("minutehand.tenant", text(run.tenant.as_str())),
        ("minutehand.run", Value::Text(run.key.to_string())),
        ("minutehand.priority", text(run.priority.as_str())),
    ];
    if let Owner::Job(job) = run.key.owner() {
        attributes.push(("minutehand.job", Value::Text(job.to_string())));
    }
    attributes
}

fn text(word: &str) -> Value {
    Value::Text(word.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, PoisonError};
    use std::time::Duration;

    use minutehand_domain::access::SecretHash;
    use minutehand_domain::body::Body;
    use minutehand_domain::id::{JobId, RunKey, Tenant, Worker};
    use minutehand_domain::order::Terms;
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::{
        AttemptError, Claimant, ErrorCode, Event as RunEvent, Outcome as Ended, Skip, Taker, TaskRun,
    };
    use minutehand_domain::trace::{Sampling, Traced};

    use super::*;
    use crate::events::Log;

    const DUE: Moment = Moment::from_secs(1_800_000_000);

    #[derive(Default)]
    struct Kept(Mutex<Vec<Span>>);

    impl Spans for Kept {
        fn ended(&self, span: Span) {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).push(span);
        }
    }

    /// The spans of a run that became these, one after the other.
    fn told(runs: &[Run]) -> Vec<Span> {
        let kept = Arc::new(Kept::default());
        let events = Spanned::new(Log, Some(Arc::clone(&kept) as Arc<dyn Spans>));
        for (was, run) in runs.iter().zip(&runs[1..]) {
            let now = run.finished_at().unwrap_or(DUE);
            events.changed(was, run, now);
        }
        kept.0.lock().unwrap().clone()
    }

    fn creator() -> TraceContext {
        TraceContext::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", Some("rojo=1")).unwrap()
    }

    fn run(trace: Traced) -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([7; 16]), DUE);
        Run { trace, ..Run::new(Tenant::new("acme").unwrap(), key, Priority::High) }
    }

    fn after(run: &Run, event: &RunEvent<'_>, millis: u64) -> Run {
        run.after(event, DUE + Duration::from_millis(millis)).unwrap()
    }

    fn claimed(run: &Run, millis: u64) -> Run {
        let by = Claimant { worker: Worker(1), exclusive_store: false };
        after(run, &RunEvent::Claim { by, terms: &Terms::default() }, millis)
    }

    fn ended(run: &Run, outcome: &Ended, millis: u64) -> Run {
        after(run, &RunEvent::Finish { fence: run.fence, outcome, terms: &Terms::default() }, millis)
    }

    fn failure() -> Ended {
        let error: AttemptError = ErrorCode::Http5xx.error("it answered with 503");
        Ended::Failed { error, retry_after: None }
    }

    fn attribute<'a>(span: &'a Span, name: &str) -> Option<&'a Value> {
        span.attributes.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }

    #[test]
    fn each_attempt_is_a_span_when_it_ends_and_the_run_is_the_one_around_them() {
        let born = run(Traced::of(Some(creator())));
        let first = claimed(&born, 10);
        let failed = ended(&first, &failure(), 20);
        let second = claimed(&failed, 90_000);
        let over = ended(&second, &Ended::Succeeded { result: Body::Empty }, 90_500);

        let spans = told(&[born.clone(), first, failed, second, over]);

        let [one, two, whole] = &spans[..] else { panic!("{spans:#?}") };
        assert!(spans.iter().all(|span| span.context.trace == born.trace_id()), "{spans:#?}");
        assert_eq!([one.parent, two.parent, whole.parent], [Some(whole.context.span), Some(whole.context.span), None]);
        assert_eq!((one.links.len(), &two.links[..]), (0, &[one.context.clone().bare()][..]));
        assert_eq!(whole.links, [creator()]);
        assert_eq!((one.start, one.end), (DUE + Duration::from_millis(10), DUE + Duration::from_millis(20)));
        assert_eq!((whole.start, whole.end), (DUE, DUE + Duration::from_millis(90_500)));
        assert_eq!(one.outcome, Outcome::Error("http_5xx".to_owned()));
        assert_eq!([&two.outcome, &whole.outcome], [&Outcome::Ok; 2]);
        assert_eq!([one.kind, whole.kind], [SpanKind::Client, SpanKind::Internal]);
        assert_eq!(attribute(one, "error.type"), Some(&text("http_5xx")));
        assert_eq!(attribute(two, "minutehand.attempt"), Some(&Value::Number(2)));
        assert_eq!(attribute(whole, "minutehand.run"), Some(&Value::Text(born.key.to_string())));
        assert_eq!(attribute(whole, "minutehand.job"), Some(&Value::Text(born.key.job.to_string())));
        assert_eq!(attribute(whole, "minutehand.status"), Some(&text("succeeded")));
    }

    #[test]
    fn nothing_is_told_of_a_run_that_is_not_sampled() {
        let born = run(Traced::of(Some(TraceContext { sampled: false, ..creator() }))).sampled_by(Sampling::ALL);
        let first = claimed(&born, 10);
        let over = ended(&first, &Ended::Succeeded { result: Body::Empty }, 20);

        assert_eq!(told(&[born, first, over]), []);
    }

    #[test]
    fn a_task_is_below_the_run_of_its_workflow_and_links_to_the_tasks_before_it_alone() {
        let workflow = run(Traced::of(Some(creator())));
        let upstream = RunKey::manual(workflow.key.job, DUE, 9);
        let key = RunKey { origin: Origin::Task, ..RunKey::manual(workflow.key.job, DUE, 10) };
        let task = Some(TaskRun::new(workflow.key, 1, false));
        let born = Run { key, task, ..run(Traced::below(&workflow, [upstream])) };
        let first = claimed(&born, 5000);
        let over = ended(&first, &Ended::Succeeded { result: Body::Empty }, 6000);

        let spans = told(&[born, first, over]);

        let [_attempt, task] = &spans[..] else { panic!("{spans:#?}") };
        assert_eq!((task.context.trace, task.parent), (workflow.trace_id(), Some(workflow.context().span)));
        assert_eq!(task.links.iter().map(|link| link.span).collect::<Vec<_>>(), [SpanId::of_run(upstream)]);
        assert_eq!(task.start, DUE + Duration::from_secs(5), "when it began, and not when its workflow did");
        assert_eq!(attribute(task, "minutehand.job"), None);
    }

    #[test]
    fn what_a_worker_has_is_no_call_of_ours() {
        let born = run(Traced::of(Some(creator())));
        let by = Claimant { worker: Worker(1), exclusive_store: false };
        let taker = Taker { worker: Worker(2), token: SecretHash::of("mt_1"), lease: Duration::from_secs(30) };
        let first = after(&born, &RunEvent::Take { by, taker: &taker, terms: &Terms::default() }, 10);
        let over = ended(&first, &Ended::Succeeded { result: Body::Empty }, 20);

        let spans = told(&[born, first, over]);

        assert_eq!(spans.iter().map(|span| span.kind).collect::<Vec<_>>(), [SpanKind::Internal; 2], "{spans:#?}");
    }

    #[test]
    fn a_lost_attempt_is_told_of_by_whoever_takes_the_run_over() {
        let born = run(Traced::of(Some(creator())));
        let first = claimed(&born, 10);
        let second = claimed(&first, 3_600_000);

        let spans = told(&[born, first, second]);

        let [lost] = &spans[..] else { panic!("{spans:#?}") };
        assert_eq!(attribute(lost, "error.type"), Some(&text("lost")));
    }

    #[test]
    fn a_run_that_did_not_fire_is_no_error() {
        let born = run(Traced::of(Some(creator())));
        let skipped = born.clone().skipped(Skip::Missed, None, DUE + Duration::from_secs(60));

        let spans = told(&[born, skipped]);

        let [whole] = &spans[..] else { panic!("{spans:#?}") };
        assert_eq!((&whole.outcome, attribute(whole, "minutehand.reason")), (&Outcome::Unset, Some(&text("missed"))));
    }
}
