//! Views, from both sides: what a server writes, a client reads; and what a later server adds, it passes over.

use std::collections::BTreeMap;
use std::fmt::Debug;

use minutehand_domain::Moment;
use minutehand_domain::callback::End;
use minutehand_domain::health::Extent;
use minutehand_domain::hook::OnError;
use minutehand_domain::id::{JobId, Origin};
use minutehand_domain::job::Status;
use minutehand_domain::order::Delivery;
use minutehand_domain::priority::Priority;
use minutehand_domain::retry::{Backoff, Jitter};
use minutehand_domain::schedule::cron::{DayRule, DstGap, DstOverlap, Note};
use minutehand_domain::schedule::{OnExcluded, Spread};
use minutehand_domain::target::Method;
use minutehand_domain::workflow::edge::On;
use minutehand_wire::batch::BatchResultView;
use minutehand_wire::{
    ActOutcome, ActView, AfterHookSpec, AttemptErrorView, AttemptView, BatchView, BeforeHookSpec, BodyView,
    CallbackRunView, CallbackSpec, CatchUpPolicy, CatchUpSpec, ConcurrencySpec, DayView, DefinitionView, DurationView,
    FieldError, FireView, FiresView, HeaderSpec, HealthField, HealthView, HooksView, HourView, HttpTarget, Instant,
    JobFireView, JobHealthView, JobNotice, JobStatus, JobView, Json, KeyRole, KeyView, LagView, LambdaTarget,
    LateAnswerView, ListedJobView, NoopTarget, OccurrenceView, OneJobView, OperationAnswerView, OperationView,
    OverlapSpec, Page, PreviewView, Problem, QuotaView, RateSpec, RetrySpec, RunEventView, RunEventsView, RunNotice,
    RunStatus, RunView, RunWhyView, ScheduleSpec, SecretView, SigningSecretView, SlaView, SqsTarget, StageView,
    StatsView, TargetSpec, TimeoutsSpec, TraceContextView, TraceView, WhyView, Word, WorkflowRequest, WorkflowRunView,
};
use minutehand_wire::{AfterSpec, FollowedByView, JobChangeView, RemarkView};
use proptest::collection::{btree_map, btree_set, vec};
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// Fields whose objects have names that are not ours: any JSON, headers, a kind of target, counts by status. A count of jobs
/// or runs is told from a list of them by being no array.
const FREE: [&str; 12] = [
    "hook_payload",
    "payload",
    "result",
    "checkpoint",
    "params",
    "output",
    "headers",
    "target",
    "runs",
    "jobs",
    "counts",
    "after",
];

fn text() -> impl Strategy<Value = String> {
    "\\PC{0,12}"
}

fn instant() -> impl Strategy<Value = Instant> {
    (0..=Moment::END.millis()).prop_map(|millis| Instant(Moment::from_millis(millis)))
}

/// One that is known, or one of a later server.
fn word<T: Clone + Debug + DeserializeOwned + 'static>(known: &[T]) -> impl Strategy<Value = Word<T>> + use<T> {
    let later = "later_[a-z]{1,8}".prop_map(|text| Word::read(&text));
    prop_oneof![4 => select(known.to_vec()).prop_map(Word::Known), 1 => later]
}

/// Without a fraction that a float would round.
fn quarters() -> impl Strategy<Value = f64> {
    (0_u32..1000).prop_map(|quarters| f64::from(quarters) / 4.0)
}

fn body() -> impl Strategy<Value = BodyView> {
    let json = prop_oneof![
        text().prop_map(|text| Json::of(&text)),
        any::<i64>().prop_map(|number| Json::of(&number)),
        (text(), any::<bool>()).prop_map(|(name, yes)| Json::of(&json!({ name: [yes, null] }))),
    ];
    prop_oneof![Just(BodyView::Null), Just(BodyView::LeftOut), json.prop_map(BodyView::Json)]
}

fn job_health() -> impl Strategy<Value = JobHealthView> {
    let ended = [RunStatus::Succeeded, RunStatus::Failed, RunStatus::Skipped];
    let duration = (0_u64..9).prop_map(|ms| DurationView { p50: ms, p95: ms, p99: ms });
    (of(quarters()), 0_usize..100, vec(word(&ended), 0..4), of(duration), of(instant()), of(instant())).prop_map(
        |(success_rate, judged, outcomes, duration_ms, last_success_at, overdue_since)| JobHealthView {
            success_rate,
            judged,
            outcomes,
            duration_ms,
            last_success_at,
            consecutive_failures: judged,
            overdue_since,
            day: last_success_at.map(|until| day(until, success_rate)),
        },
    )
}

fn day(until: Instant, success_rate: Option<f64>) -> DayView {
    let hours = vec![HourView { from: until, succeeded: 3, failed: 0, timed_out: 1 }];
    DayView { from: until, until, success_rate, succeeded: 3, failed: 0, timed_out: 1, hours }
}

fn schedule() -> impl Strategy<Value = ScheduleSpec> {
    let whens = (of(instant()), of(any::<u64>()), of(any::<u64>()), of(text()), of(any::<bool>()));
    let clock = (
        of(text()),
        of(word(&[DayRule::Either, DayRule::Both])),
        of(word(&[DstGap::NextValid, DstGap::Skip])),
        of(word(&[DstOverlap::ByKind, DstOverlap::First])),
    );
    let bounds = (of(instant()), of(instant()), of(any::<u32>()), of(any::<u32>()));
    (whens, clock, bounds).prop_map(|(whens, clock, bounds)| {
        let (at, after_seconds, every_seconds, cron, on_demand) = whens;
        let (timezone, days, dst_gap, dst_overlap) = clock;
        let (start_at, end_at, max_fires, jitter_seconds) = bounds;
        ScheduleSpec {
            at,
            after_seconds,
            every_seconds,
            cron,
            timezone,
            days,
            dst_gap,
            dst_overlap,
            start_at,
            end_at,
            max_fires,
            after: on_demand.map(|_| AfterSpec {
                job: "job_1".to_owned(),
                on: Some(On::Failure.into()),
                others: [].into(),
            }),
            on_demand,
            jitter_seconds,
            calendars: jitter_seconds.map(|_| vec!["holidays".to_owned()]),
            on_excluded: jitter_seconds.map(|_| OnExcluded::Move.into()),
        }
    })
}

fn target() -> impl Strategy<Value = TargetSpec> {
    let timeouts = (of(any::<u64>()), of(any::<u64>()));
    let timeouts = timeouts.prop_map(|(connect_seconds, first_byte_seconds)| TimeoutsSpec {
        connect_seconds,
        first_byte_seconds,
        ..TimeoutsSpec::default()
    });
    let http = (
        text(),
        of(word(&[Method::Get, Method::Put])),
        of(btree_map(text(), header(), 0..3)),
        of(timeouts),
        of(any::<bool>()),
    );
    let later = |topic: String| TargetSpec::Other([("kafka".to_owned(), Json::of(&json!({ "topic": topic })))].into());
    prop_oneof![
        http.prop_map(|(url, method, headers, timeouts, takes_on)| TargetSpec::Http(HttpTarget {
            url,
            method,
            headers,
            timeouts,
            takes_on
        })),
        (text(), of(text())).prop_map(|(alias, group)| TargetSpec::Sqs(SqsTarget { alias, group })),
        text().prop_map(|alias| TargetSpec::Lambda(LambdaTarget { alias })),
        Just(TargetSpec::Noop(NoopTarget {})),
        text().prop_map(later),
    ]
}

fn header() -> impl Strategy<Value = HeaderSpec> {
    prop_oneof![text().prop_map(HeaderSpec::text), text().prop_map(HeaderSpec::secret)]
}

fn retry() -> impl Strategy<Value = RetrySpec> {
    let words = (of(word(&[Backoff::Fixed, Backoff::Linear])), of(word(&[Jitter::None, Jitter::Full])));
    let numbers = (of(any::<u64>()), of(any::<u64>()), of(any::<u64>()), of(any::<u64>()), of(any::<u64>()));
    (words, numbers).prop_map(|((backoff, jitter), (retries, initial, most, give_up, instant))| RetrySpec {
        max_retries: retries,
        backoff,
        initial_delay_seconds: initial,
        max_delay_seconds: most,
        jitter,
        give_up_after_seconds: give_up,
        break_after_instant_failures: instant,
    })
}

fn catch_up() -> impl Strategy<Value = CatchUpSpec> {
    (of(word(&[CatchUpPolicy::Last, CatchUpPolicy::All])), of(any::<u64>()), of(any::<u64>())).prop_map(
        |(policy, max_runs, window_seconds)| CatchUpSpec {
            policy,
            max_runs,
            window_seconds,
            rate_per_minute: max_runs,
        },
    )
}

fn concurrency() -> impl Strategy<Value = ConcurrencySpec> {
    (text(), of(any::<u64>())).prop_map(|(key, limit)| ConcurrencySpec { key, limit })
}

fn rate() -> impl Strategy<Value = RateSpec> {
    (text(), of(any::<u64>())).prop_map(|(key, per_minute)| RateSpec { key, per_minute })
}

fn priority() -> impl Strategy<Value = Word<Priority>> {
    word(&Priority::ALL)
}

fn job() -> impl Strategy<Value = JobView> {
    let status = word(&[JobStatus::Active, JobStatus::Paused, JobStatus::Completed, JobStatus::Cancelled]);
    let record = (text(), status, any::<u64>(), instant(), instant(), of(instant()), of(text()));
    let about = (of(text()), of(text()), btree_set(text(), 0..3), body(), priority(), any::<u64>());
    let delivery = word(&[Delivery::AtLeastOnce, Delivery::AtMostOnce, Delivery::EffectivelyOnce]);
    // In boxes, or the trees of values of all parts lie in one frame, which a thread's stack has not room for.
    let limits = (of(any::<u64>()), of(concurrency()), of(rate()));
    let how = (schedule().boxed(), target().boxed(), retry().boxed(), delivery, catch_up(), limits.boxed());
    (record.boxed(), about.boxed(), how.boxed()).prop_map(|(record, about, how)| {
        let (job_id, status, generation, created_at, updated_at, next_run_at, next_run_id) = record;
        let (name, owner, tags, payload, priority, timeout_seconds) = about;
        let (schedule, target, retry, delivery, catch_up, (sla_seconds, concurrency, rate)) = how;
        JobView {
            job_id,
            status,
            generation,
            name,
            owner,
            tags,
            schedule,
            target,
            payload,
            priority,
            timeout_seconds,
            retry,
            delivery,
            catch_up,
            overlap: rate.is_some().then(|| OverlapSpec { max: Some(2), ..OverlapSpec::default() }),
            callback: sla_seconds.map(|_| callback()),
            hooks: sla_seconds.map(|_| hooks()),
            health: rate.is_some().then_some(HealthField::Asked(Word::Known(Extent::Full))),
            sla_seconds,
            retention_days: sla_seconds,
            concurrency,
            rate,
            created_at,
            updated_at,
            last_change: next_run_at.map(changed),
            trace: Some(traced()),
            next_run_at,
            next_run_id,
        }
    })
}

fn changed(at: Instant) -> JobChangeView {
    JobChangeView { at, by: "key_1".to_owned(), note: "so be it".to_owned() }
}

fn callback() -> CallbackSpec {
    let headers = [("x-key".to_owned(), HeaderSpec::secret("s"))].into();
    CallbackSpec { url: "https://a.b/".to_owned(), on: Some(vec![End::Failed.into()]), headers: Some(headers) }
}

fn hooks() -> HooksView {
    let url = "https://a.b/".to_owned();
    let before = BeforeHookSpec { url: url.clone(), on_error: Some(OnError::GoOn.into()), ..BeforeHookSpec::default() };
    HooksView { before: Some(before), after: Some(AfterHookSpec { url, ..AfterHookSpec::default() }) }
}

fn attempt() -> impl Strategy<Value = AttemptView> {
    let error = (text(), text(), any::<bool>()).prop_map(|(code, message, retryable)| AttemptErrorView {
        code,
        message,
        retryable,
    });
    (any::<u32>(), instant(), of(instant()), text(), of(text()), of(error)).prop_map(
        |(number, started_at, finished_at, worker, outcome, error)| AttemptView {
            number,
            started_at,
            finished_at,
            worker,
            outcome,
            error,
        },
    )
}

fn run_status() -> impl Strategy<Value = Word<RunStatus>> {
    word(&[RunStatus::Scheduled, RunStatus::Queued, RunStatus::Waiting, RunStatus::Running, RunStatus::TimedOut])
}

fn origin() -> impl Strategy<Value = Word<Origin>> {
    word(&[Origin::Schedule, Origin::Manual, Origin::Redrive])
}

fn run() -> impl Strategy<Value = RunView> {
    let record = (text(), text(), run_status(), of(text()), priority(), origin(), of(text()));
    let times = (instant(), instant(), of(instant()), of(instant()), of(instant()), of(any::<u64>()));
    let later = (of(quarters()), of(text()), of(text()), of(any::<u32>()));
    (record, times, later, body(), body(), vec(attempt(), 0..3)).prop_map(
        |(record, times, later, payload, result, attempts)| {
            let (run_id, job_id, status, reason, priority, origin, redrive_of) = record;
            let (scheduled_at, effective_at, started_at, finished_at, covers_until, count) = times;
            let (progress, workflow_run_id, task_key, workflow_version) = later;
            let (stage, checkpoint) = (task_key.clone(), result.clone());
            let late = |at| LateAnswerView { at, attempt: 3, outcome: "succeeded".to_owned() };
            let status_of_it = status.clone();
            RunView {
                sla: finished_at.map(|due_by| SlaView { due_by, missed_at: started_at }),
                stage,
                checkpoint: checkpoint.clone(),
                late_answers: finished_at.map(late).into_iter().collect(),
                run_id,
                job_id,
                detail: reason.clone(),
                reason,
                scheduled_at,
                effective_at,
                started_at,
                finished_at,
                priority,
                payload,
                result,
                progress,
                attempts,
                origin,
                follows: redrive_of.clone(),
                followed_by: vec![FollowedByView { job_id: "job_1".to_owned(), on: On::Success.into(), run_id: None }],
                callback_of: redrive_of.clone(),
                callback: redrive_of.clone().map(|run_id| CallbackRunView { run_id, status: status_of_it.clone() }),
                status,
                after: None,
                hook_payload: checkpoint.clone(),
                operation_id: redrive_of.clone(),
                redriven_as: redrive_of.clone(),
                dismissed_at: finished_at,
                remarks: finished_at.map(remark).into_iter().collect(),
                redrive_of,
                workflow_run_id,
                task_key,
                workflow_version,
                task: None,
                waiting_for: None,
                trace: Some(TraceView { trace_id: "4b".to_owned(), sampled: false, creator: Some(traced()) }),
                count,
                covers_until,
            }
        },
    )
}

fn traced() -> TraceContextView {
    TraceContextView { traceparent: "00-4b-00-01".to_owned(), tracestate: Some("rojo=1".to_owned()) }
}

fn remark(at: Instant) -> RemarkView {
    RemarkView { at, what: "dismissed".to_owned(), by: None, note: Some("so be it".to_owned()) }
}

fn problem() -> impl Strategy<Value = Problem> {
    let error = (text(), text()).prop_map(|(pointer, detail)| FieldError { pointer, detail });
    (text(), text(), 400_u16..600, text(), vec(error, 0..3), text()).prop_map(
        |(kind, title, status, detail, errors, request_id)| Problem { kind, title, status, detail, errors, request_id },
    )
}

/// It reads back as it was written, with fields that a later server has and without them.
fn reads_back<T: Serialize + DeserializeOwned + PartialEq + Debug>(view: &T) {
    let written = serde_json::to_string(view).unwrap();
    let mut later: Value = serde_json::from_str(&written).unwrap();
    add_a_field(&mut later);
    for text in [written, later.to_string()] {
        let read: T = serde_json::from_str(&text).unwrap_or_else(|why| panic!("{why}: {text}"));
        assert_eq!(&read, view, "{text}");
    }
}

/// To every object of ours.
fn add_a_field(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                if !(FREE.contains(&name.as_str()) && field.is_object()) {
                    add_a_field(field);
                }
            }
            fields.insert("a_later_field".to_owned(), json!({ "of": ["any", "shape"] }));
        }
        Value::Array(items) => items.iter_mut().for_each(add_a_field),
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_job_reads_back_as_it_was_written(job in job(), last_run in of(run()), health in of(job_health())) {
        let shown = health.into_iter().fold(job.clone(), JobView::with_health);
        reads_back(&OneJobView { job: shown.clone(), last_run: last_run.clone() });
        let listed = ListedJobView { job: shown, last_run };
        reads_back(&Page { next_cursor: Some(job.job_id.clone()), items: vec![listed] });
        reads_back(&job);
    }

    #[test]
    fn a_run_reads_back_as_it_was_written(run in run()) {
        reads_back(&Page { items: vec![run], next_cursor: None });
    }

    #[test]
    fn a_batch_and_its_problems_read_back_as_they_were_written(
        job in of(job()), problem in of(problem()), index in 0_usize..9,
    ) {
        reads_back(&BatchView { results: vec![BatchResultView { index, status: 201, job, problem }] });
    }

    #[test]
    fn what_is_announced_reads_back_as_it_was_written(
        (tenant, job_id, run_id, reason, name, attempts) in (text(), text(), text(), of(text()), of(text()), any::<u32>()),
        (status, origin, priority) in (run_status(), origin(), priority()),
        (at, maybe_at) in (instant(), of(instant())),
        tags in btree_set(text(), 0..3),
    ) {
        reads_back(&RunNotice {
            tenant: tenant.clone(), job_id: job_id.clone(), run_id, status, reason, error_code: name.clone(), origin,
            priority: priority.clone(), scheduled_at: at, started_at: maybe_at, finished_at: at, attempts,
        });
        reads_back(&JobNotice {
            tenant, job_id, owner: name.clone(), name, tags, status: Status::Paused.into(), generation: 7, priority,
            created_at: at, updated_at: at,
        });
    }

    #[test]
    fn keys_quotas_and_secrets_read_back_as_they_were_written(
        (key_id, name, tenant, secret) in (text(), text(), text(), of(text())),
        role in word(&[KeyRole::Viewer, KeyRole::Worker, KeyRole::Host]),
        (created_at, maybe_at) in (instant(), of(instant())),
        (max_jobs, max_concurrent_runs) in (of(any::<u32>()), of(any::<u32>())),
    ) {
        reads_back(&QuotaView {
            tenant: tenant.clone(), max_jobs, max_fires_per_minute: None, max_concurrent_runs,
            max_requests_per_second: Some(1), max_catch_up_per_minute: max_jobs, retention_days: max_concurrent_runs,
        });
        reads_back(&SigningSecretView { secret: secret.clone(), created_at: maybe_at, previous_expires_at: maybe_at });
        let (revoked_at, expires_at, last_used_at) = (maybe_at, maybe_at, maybe_at);
        let rotated_at = maybe_at;
        reads_back(&SecretView { name: name.clone(), version: 7, created_at, rotated_at });
        reads_back(&ActView {
            at: created_at, by: key_id.clone(), by_name: secret.clone(), deed: name.clone(), subject: tenant.clone(),
            outcome: ActOutcome::NotDone.into(), request_id: key_id.clone(), note: secret.clone(),
        });
        let pools = secret.clone().map(|pool| vec![pool]);
        reads_back(&KeyView {
            pools, key_id, name, role, tenant, created_at, revoked_at, expires_at, last_used_at, secret,
        });
    }

    #[test]
    fn the_others_read_back_as_they_were_written(
        (one, other, maybe) in (text(), text(), of(text())),
        (at, note, status) in (instant(), of(word(&[Note::Shifted, Note::Repeated])), run_status()),
        runs in btree_map(run_status(), 0_usize..9, 0..4),
        (runs_per_minute, lag, complete) in (quarters(), of(0_u64..9), any::<bool>()),
    ) {
        let jobs = BTreeMap::from([(Word::from(JobStatus::Active), 3)]);
        let lag_ms = lag.map(|ms| LagView { p50: ms, p99: ms, max: ms });
        reads_back(&StatsView { from: at, to: at, runs, runs_per_minute, lag_ms, jobs, complete });
        let fires = vec![FireView { at, effective_at: at, local: one.clone(), note }];
        let fire = fires[0].clone();
        reads_back(&PreviewView { description: one.clone(), fires, exhausted: complete });
        let occurrence = OccurrenceView { scheduled_at: at, effective_at: at };
        reads_back(&WhyView {
            job_id: one.clone(), at, local: other.clone(), verdict: one.clone(), rule: other.clone(), detail: one.clone(),
            run_id: maybe.clone(), scheduled_at: Some(at), effective_at: None, lag_seconds: Some(runs_per_minute),
            count: lag, covers_until: Some(at), previous: None, next: Some(occurrence),
        });
        let stage = StageView {
            stage: one.clone(), attempt: Some(1), at, until: at, seconds: runs_per_minute, detail: other.clone(),
        };
        reads_back(&RunWhyView {
            run_id: one.clone(), job_id: other.clone(), status, reason: maybe.clone(), due_at: at, dispatched_at: None,
            started_at: Some(at),
            lag_seconds: runs_per_minute, total_seconds: runs_per_minute, stages: vec![stage],
        });
        let (job_id, name, priority) = (one.clone(), maybe.clone(), Priority::High.into());
        let fire = JobFireView { fire, job_id, name, priority, run_id: other.clone(), goes_on: complete };
        reads_back(&FiresView { items: vec![fire], next_cursor: maybe.clone(), complete });
        let event = RunEventView { at, kind: one.clone(), attempt: Some(1), by: maybe.clone(), note: None, detail: maybe };
        reads_back(&RunEventsView { items: vec![event] });
        reads_back(&HealthView { live: true, ready: complete, version: one, zones: other });
    }
}

/// By one of each, which has all there is.
#[test]
fn a_workflows_run_reads_back_as_it_was_written() {
    let at = "2027-01-15T08:00:00.000Z";
    let decision = json!({"word": "approve", "by": "key_1", "by_name": "Ada", "at": at, "note": "so be it"});
    let edge = json!({"task": "a", "on": "success", "holds": true});
    let approval = json!({"roles": ["admin"], "until": at, "default": "fail", "answer": decision});
    let branches = json!({"total": 9, "counts": {"held": 1, "a_later_state": 8}, "at_least": true});
    let task = json!({
        "key": "b", "kind": "for_each", "in_finally": true, "state": "a_later_state", "reason": "error", "detail": "x",
        "waiting_for": "waits for a", "run_id": "run_1", "rule": "all", "depends_on": [edge], "tries": 2, "attempts": 3,
        "scheduled_at": at, "started_at": at, "finished_at": at, "priority": "high",
        "error": {"code": "http_5xx", "message": "no", "retryable": true}, "result": {"any": 1}, "tainted": true,
        "allow_failure": true, "reused": "run_0", "approval": approval, "verdict": decision, "branches": branches,
    });
    let run = json!({
        "workflow_run_id": "run_1", "workflow_id": "wf_1", "version": 3, "job_id": "job_1", "status": "waiting",
        "reason": "task", "scheduled_at": at, "started_at": at, "finished_at": at, "priority": "normal",
        "origin": "resume", "resumes": "run_0", "stalled_at": at, "sla": {"due_by": at, "missed_at": at}, "name": "etl", "detail": "x", "waiting_for": "y",
        "deadline_at": at, "stopping": "failed", "in_finally": true, "params": {"a": 1}, "output": null,
        "asked_by": "key_1", "resumed_by": "run_2",
        "task": {"workflow_run_id": "run_3", "key": "c", "branch": 7, "turn": 1}, "counts": {"held": 1},
        "critical_path": [{"key": "a", "from": at, "to": at, "seconds": 0.5}], "tasks": [task],
        "next_cursor": "0a",
    });

    let run: WorkflowRunView = serde_json::from_value(run).unwrap();

    assert_eq!(run.tasks[0].branches.as_ref().unwrap().counts.len(), 2);
    reads_back(&run);
}

#[test]
fn an_operation_reads_back_as_it_was_written() {
    let at = "2027-01-15T08:00:00.000Z";
    let of = |state: &str, kind: &str, more: Value| {
        let mut operation = json!({
            "operation_id": "op_1", "kind": kind, "state": state, "note": "x", "by": "key_1", "asked_at": at, "changed_at": at,
            "finished_at": null,
            "progress": {"expected": 3, "seen": 2, "done": 1, "already": 0, "refused": 1, "withdrawn": 0,
                         "reasons": [{"subject": at, "detail": "no"}]},
        });
        operation.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value::<OperationView>(operation).unwrap()
    };
    let jobs = json!({"jobs": {"tag": "a", "status": "a_later_word", "priority": "low", "name": null, "owner": null}});
    let runs =
        json!({"runs": {"job_id": "job_1", "tag": null, "status": "failed", "priority": null, "from": at, "to": at}});
    let backfill = json!({"backfill": {"job_id": "job_1", "from": at, "to": at, "priority": "low"}});

    for (state, kind, more) in
        [("running", "pause_jobs", jobs), ("a_later_state", "a_later_kind", runs), ("done", "backfill", backfill)]
    {
        reads_back(&of(state, kind, more));
    }
    let dry = json!({"dry_run": true, "kind": "retry_runs", "count": 1, "more": true, "sample": ["run_1"]});
    let answer: OperationAnswerView = serde_json::from_value(dry).unwrap();
    assert!(matches!(answer, OperationAnswerView::Dry(_)));
    reads_back(&answer);
    reads_back(&OperationAnswerView::Begun(Box::new(of("paused", "cancel_runs", json!({})))));
}

/// What the properties above stand on: without a later field they would show nothing of later servers.
#[test]
fn every_object_of_ours_is_given_a_later_field() {
    let mut page = json!({ "items": [{ "schedule": {}, "target": { "noop": {} }, "tags": [] }] });

    add_a_field(&mut page);

    assert_eq!(page.to_string().matches("a_later_field").count(), 3, "{page}");
}

/// Every variant of what a task may be stands in it.
#[test]
fn what_a_workflow_says_reads_back_and_can_be_asked_for_again() {
    let request = json!({
        "name": "x", "params": {"properties": {"n": {"default": 1.50}}}, "on_failure": "hold", "max_concurrent_runs": 3,
        "output": "{{tasks.ask.result}}",
        "tasks": [
            {"key": "a", "target": {"http": {"url": "http://x/"}}, "payload": {"n": "{{params.n}}"}, "delivery": "at_most_once"},
            {"key": "b", "target": {"workflow": {"id": "wf_06hhgq2g003ha8atdy39qcp9x4", "version": 2}}, "priority": "high",
             "depends_on": ["a"], "for_each": {"items": [1, "x"], "tolerate": "10%", "max_concurrent": 2}},
            {"key": "ask", "approval": {"default": "approve"}, "depends_on": [{"task": "b", "on": "finished"}], "rule": "any",
             "when": "params.n > 1", "allow_failure": true},
        ],
        "finally": [{"key": "f", "target": {"noop": {}}, "for_each": "params.list"}],
    });
    let checked = |request: &Value| {
        let request: WorkflowRequest = serde_json::from_str(&request.to_string()).unwrap();
        request.checked(Spread::of(JobId::from_bytes([1; 16])), Moment::EPOCH, None, &|_| Ok(())).unwrap().definition
    };
    let definition = checked(&request);

    let view = DefinitionView::of(&definition);

    reads_back(&view);
    let mut again = serde_json::to_value(&view).unwrap();
    again["name"] = "x".into();
    assert_eq!(checked(&again), definition);
}
