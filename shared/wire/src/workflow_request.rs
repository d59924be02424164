//! A workflow as it is asked for: its tasks, what holds for all of them, and what holds for the job of its own. Its form is checked
//! here, field by field, and then what its tasks make together; what is wrong is said all at once.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body;
use minutehand_domain::callback::Callback;
use minutehand_domain::catch_up::CatchUp;
use minutehand_domain::hook::Hooks;
use minutehand_domain::id::JobId;
use minutehand_domain::job::{Definition as JobDefinition, Job};
use minutehand_domain::limits::{
    CONCURRENT_RUNS, DEFAULT_FINALLY_SECONDS, DEFAULT_RETENTION_DAYS, DEFAULT_WORKFLOW_SECONDS, IDEMPOTENCY_KEY_CHARS,
    NAME_CHARS, PAYLOAD_BYTES, RETENTION_DAYS, SLA_SECONDS, TAGS, TASKS, WORD_CHARS, WORKFLOW_SECONDS,
};
use minutehand_domain::overlap::Overlap;
use minutehand_domain::priority::Priority;
use minutehand_domain::retention::Retention;
use minutehand_domain::schedule::{Schedule, Spread};
use minutehand_domain::secret::SecretName;
use minutehand_domain::target::{Target, WorkflowTarget};
use minutehand_domain::workflow::definition::{Definition, Does, OnFailure, Policy, Task};
use minutehand_domain::workflow::params::ParamsSchema;
use minutehand_domain::workflow::plan::{BadGraph, Plan, Why};
use minutehand_domain::workflow::template::Template;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::body::Json;
use crate::callback::CallbackSpec;
use crate::catch_up::CatchUpSpec;
use crate::field_errors::{FieldErrors, RequestRefusal};
use crate::form::{self, MISTAKES};
use crate::hooks::{HooksSpec, NOT_BEFORE_A_WORKFLOW};
use crate::job_request::{owner_and_tags, retention, sla};
use crate::object::{maybe_object, maybe_objects, objects};
use crate::overlap::OverlapSpec;
use crate::problem::FieldError;
use crate::schedule::ScheduleSpec;
use crate::secret::named_at;
use crate::suggestion::nearest_of;
use crate::target::TargetCheck;
use crate::task_request::{TaskRequest, template};
use crate::texts::Line;
use crate::whole_number::whole_number;
use crate::words::{OnFailureWord, PriorityWord};

/// A workflow as it is asked for. What is null is not given.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkflowRequest {
    /// For people, and to be listed by.
    #[schemars(with = "Line<NAME_CHARS>")]
    pub name: String,
    /// Whom to ask about it; lists filter by it.
    #[schemars(with = "Option<Line<WORD_CHARS>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Words that lists filter by.
    #[schemars(with = "Option<Vec<Line<WORD_CHARS>>>", length(max = TAGS))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tags: Option<Vec<String>>,
    /// A JSON schema of what its runs are given. A property's `default` stands in for what was left out.
    #[schemars(with = "Option<std::collections::BTreeMap<String, Json>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub params: Option<Json>,
    #[schemars(with = "Option<OnFailureWord>", extend("default" = OnFailure::default()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<OnFailure>,
    /// How long a run may take before it is stopped.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = WORKFLOW_SECONDS), extend("default" = DEFAULT_WORKFLOW_SECONDS))]
    pub timeout_seconds: Option<u64>,
    /// How long the tasks of `finally` may take beyond that.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = WORKFLOW_SECONDS), extend("default" = DEFAULT_FINALLY_SECONDS))]
    pub finally_timeout_seconds: Option<u64>,
    /// How many of its runs are under way at once; the others wait. Any number if it is not given.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = CONCURRENT_RUNS))]
    pub max_concurrent_runs: Option<u64>,
    /// A template: the run's result.
    #[schemars(extend("x-max-bytes" = PAYLOAD_BYTES))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<Json>,
    /// When it runs by itself; only when it is asked to if it is not given.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub schedule: Option<ScheduleSpec>,
    #[schemars(with = "Option<PriorityWord>", extend("default" = Priority::default()))]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<Priority>,
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub catch_up: Option<CatchUpSpec>,
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub overlap: Option<OverlapSpec>,
    /// Who is told of the end of a run.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub callback: Option<CallbackSpec>,
    /// Who is told of every end of a run. A workflow has no hook before it: its first task asks.
    #[serde(default, deserialize_with = "maybe_object", skip_serializing_if = "Option::is_none")]
    pub hooks: Option<HooksSpec>,
    /// How long after it was due a run is to have ended. One that has not goes on; it is told of, and shows it.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = SLA_SECONDS))]
    pub sla_seconds: Option<u64>,
    /// For how many days what is over of it is kept: its runs and their tasks', with all they left. The tenant's quota stands for what is not said, and bounds what
    /// is.
    #[serde(default, deserialize_with = "whole_number", skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = RETENTION_DAYS), extend("default" = DEFAULT_RETENTION_DAYS))]
    pub retention_days: Option<u64>,
    #[schemars(length(min = 1, max = TASKS))]
    #[serde(deserialize_with = "objects")]
    pub tasks: Vec<TaskRequest>,
    /// What runs whatever became of the others: after them, after a cancel, after a deadline.
    #[schemars(length(max = TASKS))]
    #[serde(default, deserialize_with = "maybe_objects", skip_serializing_if = "Option::is_none")]
    pub finally: Option<Vec<TaskRequest>>,
    /// The same as the header `Idempotency-Key`.
    #[schemars(with = "Option<Line<IDEMPOTENCY_KEY_CHARS>>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub idempotency_key: Option<String>,
}

/// From where a request is looked at: an instant, and what is there of the workflow.
struct Seen<'a> {
    spread: Spread,
    now: Moment,
    present: Option<&'a Schedule>,
}

/// What a request means, seen from one instant.
#[derive(Clone, Debug)]
pub struct CheckedWorkflow {
    pub name: String,
    pub owner: Option<String>,
    pub tags: BTreeSet<String>,
    pub priority: Priority,
    pub catch_up: CatchUp,
    pub overlap: Overlap,
    pub callback: Option<Callback>,
    pub hooks: Hooks,
    pub sla: Option<Duration>,
    pub retention: Option<Retention>,
    pub schedule: Schedule,
    pub definition: Definition,
    /// The secrets that its tasks' calls need.
    pub secrets: BTreeSet<SecretName>,
    /// Where each is named, and of which task.
    pub secrets_at: Vec<SecretAt>,
    /// The workflows that its tasks call, and where that is said.
    pub calls: Vec<(String, WorkflowTarget)>,
}

/// A place in a definition that names a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecretAt {
    pub pointer: String,
    /// The key of the task whose call needs it; nothing for the callback and the hook of the workflow.
    pub task: Option<String>,
    pub name: SecretName,
}

impl WorkflowRequest {
    /// A request as it was written, or all that is wrong with it: with its form, and, where that can be told in spite of it, with
    /// what it says. `present`: what is there of the workflow, where it is written anew.
    pub fn read(
        text: &str,
        now: Moment,
        present: Option<(&Definition, &Job)>,
        check: TargetCheck<'_>,
    ) -> Result<Self, RequestRefusal> {
        form::read(text).map_err(|mut misread| {
            let mended: Option<Self> = misread.mended.take();
            let mended = match present {
                Some((definition, own)) => mended.map(|mended| mended.unmasked(definition, &own.definition)),
                None => mended,
            };
            let schedule = present.map(|(_, own)| &own.schedule);
            let seen = Seen { spread: Spread::of(JobId::from_bytes([0; 16])), now, present: schedule };
            let is_known = !misread.errors.iter().any(|error| names(&error.pointer, &["depends_on", "key"]));
            let also = mended.and_then(|request| request.understood(&seen, check, is_known).err());
            let also: Vec<_> = also.into_iter().flat_map(|refusal| refusal.errors).collect();
            let also: Vec<_> = also.into_iter().filter(|error| !misread.follows(&error.pointer)).collect();
            misread.errors.extend(also);
            RequestRefusal { errors: misread.errors, too_large: false }.shortened()
        })
    }

    /// The same request of a workflow that is there, whose credentials were shown as masks.
    #[must_use]
    pub fn unmasked(mut self, present: &Definition, own: &JobDefinition) -> Self {
        if let (Some(asked), Some(there)) = (&mut self.callback, &own.callback) {
            asked.unmask(there);
        }
        if let Some(asked) = &mut self.hooks {
            asked.unmask(&own.hooks);
        }
        for task in self.tasks.iter_mut().chain(self.finally.iter_mut().flatten()) {
            let there = present.tasks.iter().chain(&present.finally).find(|there| there.key.as_str() == task.key);
            if let (Some(target), Some(Task { does: Does::Call { target: there, .. }, .. })) = (&mut task.target, there)
            {
                target.unmask(there);
            }
        }
        self
    }

    /// As the wish for the workflow whose own job spreads so. `present`: its schedule, which is not understood anew where it is asked
    /// for as it is: what was possible then may have passed.
    pub fn checked(
        self,
        spread: Spread,
        now: Moment,
        present: Option<&Schedule>,
        check: TargetCheck<'_>,
    ) -> Result<CheckedWorkflow, RequestRefusal> {
        self.understood(&Seen { spread, now, present }, check, true)
    }

    /// `is_known`: whether all edges were read, so that it can be told what is before what.
    fn understood(
        mut self,
        seen: &Seen<'_>,
        check: TargetCheck<'_>,
        is_known: bool,
    ) -> Result<CheckedWorkflow, RequestRefusal> {
        self.is_small()?;
        let mut errors = FieldErrors::default();
        errors.line("/name", &self.name, NAME_CHARS);
        owner_and_tags(self.owner.as_deref(), self.tags.as_deref(), &mut errors);
        let schedule = self.schedule(seen, &mut errors);
        let catch_up = self.catch_up.as_ref().map(|catch_up| catch_up.checked(&mut errors)).unwrap_or_default();
        let overlap = self.overlap.as_ref().map(|overlap| overlap.checked(&mut errors)).unwrap_or_default();
        let callback = self.callback.as_ref().and_then(|callback| callback.checked("/callback", check, &mut errors));
        let hooks = self.hooks.as_ref().map(|hooks| hooks.checked(check, &mut errors)).unwrap_or_default();
        if hooks.before.is_some() {
            errors.add("/hooks/before", NOT_BEFORE_A_WORKFLOW);
        }
        let sla = sla(self.sla_seconds, &mut errors);
        let retention = retention(self.retention_days, &mut errors);
        let policy = self.policy(&mut errors);
        let mut secrets = BTreeSet::new();
        let tasks = listed("/tasks", &self.tasks, check, &mut secrets, &mut errors);
        let finally = listed("/finally", self.finally.as_deref().unwrap_or_default(), check, &mut secrets, &mut errors);
        let definition = tasks.zip(finally).map(|(tasks, finally)| Definition { tasks, finally, policy });
        if let Some(Err(bad)) = definition.clone().map(Plan::new) {
            let said = definition.as_ref().map(keys).unwrap_or_default();
            // Where an edge, or a key that others depend on, could not be understood, nobody knows what is before what.
            let is_known = is_known && !errors.any(|error| names(&error.pointer, &["depends_on", "key"]));
            let bad = bad.into_iter().filter(|bad| is_known || !matches!(bad.why, Why::NotBefore(_)));
            // What is more nobody reads, and to find what was meant costs a look at all keys.
            errors.extend(bad.take(MISTAKES + 1).map(|bad| in_words(&bad, &said)));
        }
        let told = self.told_secrets();
        let settled = errors.settle(schedule.zip(definition));
        let (schedule, definition) = settled.map_err(RequestRefusal::shortened)?;
        Ok(CheckedWorkflow {
            name: self.name,
            owner: self.owner,
            tags: self.tags.unwrap_or_default().into_iter().collect(),
            priority: self.priority.unwrap_or_default(),
            catch_up,
            overlap,
            callback,
            hooks,
            sla,
            retention,
            schedule,
            calls: calls(&definition),
            definition,
            secrets_at: [("/tasks", Some(&self.tasks)), ("/finally", self.finally.as_ref())]
                .into_iter()
                .flat_map(|(list, tasks)| secrets_of(list, tasks.map_or(&[][..], Vec::as_slice)))
                .filter(|at| secrets.contains(&at.name))
                .chain(told)
                .collect(),
            secrets,
        })
    }

    /// The secrets that its callback and its hook need.
    fn told_secrets(&self) -> Vec<SecretAt> {
        let after = self.hooks.as_ref().and_then(|hooks| hooks.after.as_ref());
        let parts =
            [("/callback", serde_json::to_value(&self.callback)), ("/hooks/after", serde_json::to_value(after))];
        let named = parts.into_iter().flat_map(|(place, part)| named_at(&part.unwrap_or_default(), place.to_owned()));
        named.map(|(pointer, name)| SecretAt { pointer, task: None, name }).collect()
    }

    fn is_small(&self) -> Result<(), RequestRefusal> {
        let tasks = self.tasks.len() + self.finally.as_ref().map_or(0, Vec::len);
        if tasks <= TASKS {
            return Ok(());
        }
        let detail = format!("a workflow has at most {TASKS} tasks, and this one has {tasks}");
        Err(RequestRefusal { errors: vec![FieldError { pointer: "/tasks".to_owned(), detail }], too_large: true })
    }

    fn schedule(&mut self, seen: &Seen<'_>, errors: &mut FieldErrors) -> Option<Schedule> {
        let on_demand = ScheduleSpec { on_demand: Some(true), ..ScheduleSpec::default() };
        let asked = self.schedule.take().unwrap_or(on_demand);
        match seen.present {
            Some(present) => asked.checked_over(present, seen.spread, seen.now, errors),
            None => asked.checked(seen.spread, seen.now, errors),
        }
    }

    fn policy(&self, errors: &mut FieldErrors) -> Policy {
        let seconds = |errors: &mut FieldErrors, pointer, asked: Option<u64>, usual| {
            Duration::from_secs(errors.in_range(pointer, asked.unwrap_or(usual), 1..=WORKFLOW_SECONDS))
        };
        let runs = self
            .max_concurrent_runs
            .map(|runs| errors.in_range("/max_concurrent_runs", runs, 1..=u64::from(CONCURRENT_RUNS)));
        Policy {
            failure: self.on_failure.unwrap_or_default(),
            params: self.params(errors),
            output: self.output(errors),
            max_concurrent_runs: runs.and_then(|runs| u32::try_from(runs).ok()),
            timeout: seconds(errors, "/timeout_seconds", self.timeout_seconds, DEFAULT_WORKFLOW_SECONDS),
            finally_timeout: seconds(
                errors,
                "/finally_timeout_seconds",
                self.finally_timeout_seconds,
                DEFAULT_FINALLY_SECONDS,
            ),
        }
    }

    fn params(&self, errors: &mut FieldErrors) -> Option<ParamsSchema> {
        let schema = ParamsSchema::new(body::Json::compact(self.params.as_ref()?.raw()));
        schema.map_err(|no| errors.add(format!("/params{}", no.at), no.why)).ok()
    }

    fn output(&self, errors: &mut FieldErrors) -> Option<Template> {
        let output = body::Json::compact(self.output.as_ref()?.raw());
        if output.len() > PAYLOAD_BYTES {
            errors.add("/output", format!("an output has at most {PAYLOAD_BYTES} bytes"));
        }
        template("/output", output, errors)
    }
}

/// The tasks of a list. One without a key that can be one is called by its place.
fn listed(
    list: &str,
    tasks: &[TaskRequest],
    check: TargetCheck<'_>,
    secrets: &mut BTreeSet<SecretName>,
    errors: &mut FieldErrors,
) -> Option<Vec<Task>> {
    let mut checked = Vec::with_capacity(tasks.len());
    for (index, task) in tasks.iter().enumerate() {
        let mut wrong = FieldErrors::default();
        let unnamed = format!("unnamed-{}-{index}", &list[1..]);
        let task = task.checked(&unnamed, check, &mut wrong);
        errors.within(&format!("{list}/{index}"), wrong);
        secrets.extend(task.secrets);
        checked.push(task.task);
    }
    checked.into_iter().collect()
}

/// Each `{"secret": "name"}` in the calls of these tasks.
fn secrets_of(list: &str, tasks: &[TaskRequest]) -> Vec<SecretAt> {
    let mut places = Vec::new();
    for (index, task) in tasks.iter().enumerate() {
        let parts = [("target", serde_json::to_value(&task.target)), ("payload", serde_json::to_value(&task.payload))];
        for (field, part) in parts {
            let named = named_at(&part.unwrap_or_default(), format!("{list}/{index}/{field}"));
            let at = |(pointer, name)| SecretAt { pointer, task: Some(task.key.clone()), name };
            places.extend(named.into_iter().map(at));
        }
    }
    places
}

/// Whether a place is one of these fields, or in one.
fn names(pointer: &str, fields: &[&str]) -> bool {
    pointer.split('/').any(|part| fields.contains(&part))
}

fn keys(definition: &Definition) -> BTreeSet<String> {
    definition.tasks.iter().chain(&definition.finally).map(|task| task.key.to_string()).collect()
}

/// What is wrong with a graph; where a task is named that is none, with the one that may have been meant.
fn in_words(bad: &BadGraph, keys: &BTreeSet<String>) -> FieldError {
    let meant = match &bad.why {
        Why::UnknownTask(key) | Why::SpeaksOfNoTask(key) => {
            nearest_of(key.as_str(), keys.iter().map(String::as_str)).filter(|near| *near != key.as_str())
        }
        _other => None,
    };
    let detail = match meant {
        Some(near) => format!("{}; did you mean `{near}`?", bad.why),
        None => bad.why.to_string(),
    };
    FieldError { pointer: bad.at.clone(), detail }
}

fn calls(definition: &Definition) -> Vec<(String, WorkflowTarget)> {
    let lists = [("/tasks", &definition.tasks), ("/finally", &definition.finally)];
    let each = lists.into_iter().flat_map(|(list, tasks)| {
        tasks.iter().enumerate().map(move |(index, task)| (format!("{list}/{index}/target/workflow"), task))
    });
    each.filter_map(|(at, task)| match &task.does {
        Does::Call { target: Target::Workflow(called), .. } => Some((at, *called)),
        Does::Call { target: Target::Http(_) | Target::Noop | Target::Worker(_) | Target::Service(_), .. }
        | Does::Ask(_) => None,
    })
    .collect()
}
