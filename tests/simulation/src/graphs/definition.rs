//! A drawn workflow as a definition of the product's.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::Duration;

use minutehand_domain::body::Json;
use minutehand_domain::id::Tenant;
use minutehand_domain::order::{Delivery, Terms};
use minutehand_domain::priority::Priority;
use minutehand_domain::retry::{Backoff, Jitter, RetryPolicy};
use minutehand_domain::target::{HttpTarget, Method, Target, Timeouts, WorkflowTarget};
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::definition::{
    Approval, Definition, Does, Edge, ForEach, NoAnswer, OnFailure, Over, Policy, Task, Tolerate,
};
use minutehand_domain::workflow::edge::{On, Rule};
use minutehand_domain::workflow::expression::Expression;
use minutehand_domain::workflow::params::ParamsSchema;
use minutehand_domain::workflow::template::Template;
use minutehand_judge::graph as drawn;
use serde_json::json;

use crate::dice::Dice;

const ADDRESS: &str = "https://graphs.example/";

/// How the target of a step behaves: a part of its address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Calling {
    pub flow: usize,
    pub step: usize,
    /// Milliseconds.
    pub takes: i64,
    /// Of a hundred calls.
    pub fails: i64,
}

impl Calling {
    fn address(self) -> String {
        let Self { flow, step, takes, fails } = self;
        format!("{ADDRESS}{flow}/{step}/{takes}/{fails}")
    }

    /// The target of a step, if that is what the address says.
    pub fn of(url: &str) -> Option<Self> {
        let mut parts = url.strip_prefix(ADDRESS)?.split('/');
        let mut next = || parts.next()?.parse::<i64>().ok();
        let (flow, step, takes, fails) = (next()?, next()?, next()?, next()?);
        Some(Self { flow: usize::try_from(flow).ok()?, step: usize::try_from(step).ok()?, takes, fails })
    }
}

pub fn workflow(tenant: &Tenant, flow: usize) -> WorkflowId {
    WorkflowId::from_key(tenant, &format!("flow {flow}"))
}

pub fn key(step: usize) -> String {
    format!("s{step}")
}

/// The definition of a drawn workflow.
pub fn definition(tenant: &Tenant, number: usize, flow: &drawn::Flow, dice: &mut Dice) -> Definition {
    let mut tasks: Vec<Task> =
        flow.steps.iter().enumerate().map(|(at, step)| task(tenant, (number, at), step, dice)).collect();
    let finally = tasks.split_off(flow.main);
    let output = flow.output.map(|of| template(&format!("{{\"n\":\"{{{{tasks.{}.result.n}}}}\"}}", key(of))));
    let list: Vec<_> = flow.defaults.list.iter().map(|n| json!({"n": n})).collect();
    let schema = json!({"properties": {"n": {"default": flow.defaults.n}, "list": {"default": list}}});
    let policy = Policy {
        failure: match flow.policy {
            drawn::Policy::FailFast => OnFailure::FailFast,
            drawn::Policy::Continue => OnFailure::Continue,
            drawn::Policy::Hold => OnFailure::Hold,
        },
        params: Some(ParamsSchema::new(Json::of(&schema)).expect("a schema")),
        output,
        max_concurrent_runs: flow.at_once.and_then(|most| u32::try_from(most).ok()),
        timeout: millis(flow.timeout),
        finally_timeout: millis(flow.finally_timeout),
    };
    Definition { tasks, finally, policy }
}

fn task(tenant: &Tenant, (flow, at): (usize, usize), step: &drawn::Step, dice: &mut Dice) -> Task {
    let does = match step.does {
        drawn::Does::Call => {
            let url = Calling { flow, step: at, takes: step.takes, fails: step.fails }.address();
            let target = Target::Http(HttpTarget {
                url,
                method: Method::Post,
                headers: BTreeMap::new(),
                timeouts: Timeouts::default(),
            });
            Does::Call { target, terms: terms(step, dice) }
        }
        drawn::Does::Flow(inner) => {
            let target = Target::Workflow(WorkflowTarget { id: workflow(tenant, inner), version: None });
            let timeout = if dice.chance(0.1) { 600 } else { 86_400 };
            Does::Call { target, terms: Terms { timeout: Duration::from_secs(timeout), ..Terms::default() } }
        }
        drawn::Does::Ask { in_time, default } => {
            let default = match default {
                "succeeded" => NoAnswer::Approve,
                "failed" => NoAnswer::Reject,
                _ => NoAnswer::Fail,
            };
            Does::Ask(Approval { timeout: millis(in_time), default, ..Approval::default() })
        }
    };
    Task {
        payload: payload(step),
        depends_on: step.edges.iter().map(|(from, on)| Edge { task: named(*from), on: on_of(*on) }).collect(),
        rule: match step.rule {
            drawn::Rule::All => Rule::All,
            drawn::Rule::Any => Rule::Any,
            drawn::Rule::NoneFailed => Rule::NoneFailed,
        },
        when: step.when.map(|when| Expression::new(&condition(when)).expect("an expression")),
        for_each: step.each.as_ref().map(for_each),
        allow_failure: step.allow_failure,
        priority: dice.chance(0.2).then(|| dice.pick(&Priority::ALL)),
        ..Task::new(named(at), does)
    }
}

fn terms(step: &drawn::Step, dice: &mut Dice) -> Terms {
    let retry = RetryPolicy {
        max_retries: step.retries,
        backoff: Backoff::Fixed,
        initial_delay: Duration::from_secs(dice.pick(&[1, 10, 60])),
        jitter: Jitter::None,
        ..RetryPolicy::default()
    };
    let delivery = if step.at_most_once { Delivery::AtMostOnce } else { Delivery::AtLeastOnce };
    Terms { timeout: millis(step.timeout.unwrap_or(60_000)), retry, delivery, ..Terms::default() }
}

fn payload(step: &drawn::Step) -> Option<Template> {
    let given: Vec<_> = step.given.iter().map(|given| format!("\"{{{{{}}}}}\"", name_of(*given))).collect();
    match step.does {
        drawn::Does::Call => Some(template(&format!("{{\"given\":[{}]}}", given.join(",")))),
        drawn::Does::Flow(_) => given.first().map(|n| template(&format!("{{\"n\":{n}}}"))),
        drawn::Does::Ask { .. } => None,
    }
}

fn name_of(given: drawn::Given) -> String {
    match given {
        drawn::Given::Param => "params.n".to_owned(),
        drawn::Given::Number(of) => format!("tasks.{}.result.n", key(of)),
        drawn::Given::Status(of) => format!("tasks.{}.status", key(of)),
        drawn::Given::Item => "item.n".to_owned(),
        drawn::Given::Index => "index".to_owned(),
        drawn::Given::Outcome => "outcome".to_owned(),
    }
}

fn condition(when: drawn::When) -> String {
    match when {
        drawn::When::StatusIs(of, word) => format!("tasks.{}.status == \"{word}\"", key(of)),
        drawn::When::ResultAtLeast(of, least) => format!("tasks.{}.result.n >= {least}", key(of)),
        drawn::When::ParamAtLeast(least) => format!("params.n >= {least}"),
    }
}

fn for_each(each: &drawn::Each) -> ForEach {
    let expression = |text: &str| Over::Expression(Expression::new(text).expect("an expression"));
    let over = match &each.over {
        drawn::Over::List(list) => Over::List(list.iter().map(|n| Json::of(&json!({"n": n}))).collect()),
        drawn::Over::Params => expression("params.list"),
        drawn::Over::ListOf(of) => expression(&format!("tasks.{}.result.list", key(*of))),
        drawn::Over::ResultsOf(of) => expression(&format!("tasks.{}.results.filter(r, r != null)", key(*of))),
    };
    let max_concurrent = each.lanes.and_then(|lanes| u16::try_from(lanes).ok());
    let tolerate = match each.tolerate {
        drawn::Tolerate::Branches(most) => Tolerate::Branches(u16::try_from(most).unwrap_or_default()),
        drawn::Tolerate::Percent(most) => Tolerate::Percent(u8::try_from(most).unwrap_or_default()),
    };
    ForEach { over, max_concurrent, tolerate }
}

fn on_of(on: drawn::On) -> On {
    match on {
        drawn::On::Success => On::Success,
        drawn::On::Failure => On::Failure,
        drawn::On::Finished => On::Finished,
    }
}

fn named(step: usize) -> minutehand_domain::workflow::key::TaskKey {
    key(step).parse().expect("a key")
}

/// What a run of a workflow is given, as JSON.
pub fn params_json(params: &drawn::Params) -> Json {
    let list: Vec<_> = params.list.iter().map(|n| json!({"n": n})).collect();
    Json::of(&json!({"list": list, "n": params.n}))
}

/// What a target answers, as JSON.
pub fn answer_json(answered: &drawn::Answered) -> Json {
    let mut list = String::new();
    for n in &answered.list {
        let _a_string_takes_all = write!(list, "{}{{\"n\":{n}}}", if list.is_empty() { "" } else { "," });
    }
    let text = format!("{{\"list\":[{list}],\"n\":{}}}", answered.n);
    Json::compact(&serde_json::value::RawValue::from_string(text).expect("JSON"))
}

fn template(text: &str) -> Template {
    let json = serde_json::value::RawValue::from_string(text.to_owned()).expect("JSON");
    Template::new(Json::compact(&json)).expect("a template")
}

fn millis(millis: i64) -> Duration {
    Duration::from_millis(millis.unsigned_abs())
}
