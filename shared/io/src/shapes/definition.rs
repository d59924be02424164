//! What a version of a workflow says, as JSON text that is stored in pieces. Templates, expressions and the schema stand in it as
//! they were written, and are compiled when it is read.

use std::collections::BTreeSet;
use std::time::Duration;

use minutehand_domain::access::Role;
use minutehand_domain::body::Json;
use minutehand_domain::order::Terms;
use minutehand_domain::priority::Priority;
use minutehand_domain::slot::Bounds;
use minutehand_domain::target::Target;
use minutehand_domain::workflow::definition::{
    Approval, Definition, Does, Edge, ForEach, NoAnswer, OnFailure, Over, Policy, Task, Tolerate,
};
use minutehand_domain::workflow::edge::{On, Rule};
use minutehand_domain::workflow::expression::Expression;
use minutehand_domain::workflow::key::TaskKey;
use minutehand_domain::workflow::params::ParamsSchema;
use minutehand_domain::workflow::template::Template;
use serde::de::{Error as _, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::bounds::BoundsV1;
use super::priority::PriorityV1;
use super::span::SpanV1;
use super::target::{TargetV2, TargetV3, needs_shape_3};
use super::terms::{self, TermsV1, TermsV2};
use super::{Many, Maybe, Of, Shape, in_shape, shapes};
use crate::Fault;

const PORT: &str = "the store";

/// The text of the oldest shape that says it all: shape 2 is shape 1 with a target that a release of that shape knows nothing of, a
/// worker; shape 3 says more of targets, and with whom a task shares limits.
pub(crate) fn write(definition: &Definition) -> Result<String, Fault> {
    let shape = definition.tasks.iter().chain(&definition.finally).map(shape_of).max().unwrap_or(1);
    let text = match shape {
        3 => serde_json::to_string(&Shaped { shape, definition: in_shape::<DefinitionV3, _>(definition) }),
        _ => serde_json::to_string(&Shaped { shape, definition: in_shape::<DefinitionV1, _>(definition) }),
    };
    text.map_err(|error| Fault::unreadable(PORT, error.to_string()))
}

/// The oldest that says all of a task.
fn shape_of(task: &Task) -> u8 {
    match &task.does {
        _ if !task.bounds.is_empty() => 3,
        Does::Call { target, terms } if needs_shape_3(target) || terms::needs_shape_2(terms) => 3,
        Does::Call { target: Target::Worker(_), .. } => 2,
        Does::Call { .. } | Does::Ask(_) => 1,
    }
}

/// What a text of any shape means.
pub(crate) fn read(text: &str) -> Result<Definition, Fault> {
    match parsed::<IgnoredAny>(text)?.shape {
        1 | 2 => Ok(parsed::<Of<DefinitionV1, Definition>>(text)?.definition.0),
        3 => Ok(parsed::<Of<DefinitionV3, Definition>>(text)?.definition.0),
        later => {
            Err(Fault::later(PORT, format!("a workflow's definition has shape {later}, this release reads up to 3")))
        }
    }
}

fn parsed<'de, D: Deserialize<'de>>(text: &'de str) -> Result<Shaped<D>, Fault> {
    serde_json::from_str(text).map_err(|error| Fault::unreadable(PORT, error.to_string()))
}

#[derive(Serialize, Deserialize)]
struct Shaped<D> {
    shape: u8,
    definition: D,
}

shapes! {
    DefinitionV1 => Definition,
    DefinitionV3 => Definition,
    PolicyV1 => Policy,
    OnFailureV1 => OnFailure,
    TaskV1 => Task,
    TaskV3 => Task,
    EdgeV1 => Edge,
    OnV1 => On,
    RuleV1 => Rule,
    DoesV1 => Does,
    DoesV3 => Does,
    ApprovalV1 => Approval,
    NoAnswerV1 => NoAnswer,
    ForEachV1 => ForEach,
    OverV1 => Over,
    TolerateV1 => Tolerate,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Definition")]
struct DefinitionV1 {
    #[serde(with = "Many::<TaskV1>")]
    tasks: Vec<Task>,
    #[serde(default, with = "Many::<TaskV1>")]
    finally: Vec<Task>,
    #[serde(with = "PolicyV1")]
    policy: Policy,
}

/// A task may ask a service, and its calls have time-outs.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Definition")]
struct DefinitionV3 {
    #[serde(with = "Many::<TaskV3>")]
    tasks: Vec<Task>,
    #[serde(default, with = "Many::<TaskV3>")]
    finally: Vec<Task>,
    #[serde(with = "PolicyV1")]
    policy: Policy,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Policy")]
struct PolicyV1 {
    #[serde(with = "OnFailureV1")]
    failure: OnFailure,
    #[serde(default, with = "Maybe::<ParamsV1>")]
    params: Option<ParamsSchema>,
    #[serde(default, with = "Maybe::<TemplateV1>")]
    output: Option<Template>,
    max_concurrent_runs: Option<u32>,
    #[serde(with = "SpanV1")]
    timeout: Duration,
    #[serde(with = "SpanV1")]
    finally_timeout: Duration,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "OnFailure", rename_all = "snake_case")]
enum OnFailureV1 {
    FailFast,
    Continue,
    Hold,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Task")]
struct TaskV1 {
    key: TaskKey,
    #[serde(with = "DoesV1")]
    does: Does,
    #[serde(default, with = "Maybe::<TemplateV1>")]
    payload: Option<Template>,
    #[serde(with = "Many::<EdgeV1>")]
    depends_on: Vec<Edge>,
    #[serde(with = "RuleV1")]
    rule: Rule,
    #[serde(default, with = "Maybe::<ExpressionV1>")]
    when: Option<Expression>,
    #[serde(default, with = "Maybe::<ForEachV1>")]
    for_each: Option<ForEach>,
    allow_failure: bool,
    #[serde(default, with = "Maybe::<PriorityV1>")]
    priority: Option<Priority>,
    #[serde(skip)]
    bounds: Bounds,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Task")]
struct TaskV3 {
    key: TaskKey,
    #[serde(with = "DoesV3")]
    does: Does,
    #[serde(default, with = "Maybe::<TemplateV1>")]
    payload: Option<Template>,
    #[serde(with = "Many::<EdgeV1>")]
    depends_on: Vec<Edge>,
    #[serde(with = "RuleV1")]
    rule: Rule,
    #[serde(default, with = "Maybe::<ExpressionV1>")]
    when: Option<Expression>,
    #[serde(default, with = "Maybe::<ForEachV1>")]
    for_each: Option<ForEach>,
    allow_failure: bool,
    #[serde(default, with = "Maybe::<PriorityV1>")]
    priority: Option<Priority>,
    #[serde(default, skip_serializing_if = "Bounds::is_empty", with = "BoundsV1")]
    bounds: Bounds,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Edge")]
struct EdgeV1 {
    task: TaskKey,
    #[serde(with = "OnV1")]
    on: On,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "On", rename_all = "snake_case")]
pub(crate) enum OnV1 {
    Success,
    Failure,
    Finished,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Rule", rename_all = "snake_case")]
enum RuleV1 {
    All,
    Any,
    NoneFailed,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Does", rename_all = "snake_case")]
enum DoesV1 {
    Call {
        #[serde(with = "TargetV2")]
        target: Target,
        #[serde(with = "TermsV1")]
        terms: Terms,
    },
    Ask(#[serde(with = "ApprovalV1")] Approval),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Does", rename_all = "snake_case")]
enum DoesV3 {
    Call {
        #[serde(with = "TargetV3")]
        target: Target,
        #[serde(with = "TermsV2")]
        terms: Terms,
    },
    Ask(#[serde(with = "ApprovalV1")] Approval),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Approval")]
struct ApprovalV1 {
    roles: BTreeSet<Role>,
    #[serde(with = "SpanV1")]
    timeout: Duration,
    #[serde(with = "NoAnswerV1")]
    default: NoAnswer,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "NoAnswer", rename_all = "snake_case")]
enum NoAnswerV1 {
    Approve,
    Reject,
    Fail,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "ForEach")]
struct ForEachV1 {
    #[serde(with = "OverV1")]
    over: Over,
    max_concurrent: Option<u16>,
    #[serde(with = "TolerateV1")]
    tolerate: Tolerate,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Over", rename_all = "snake_case")]
enum OverV1 {
    List(Vec<Json>),
    Expression(#[serde(with = "ExpressionV1")] Expression),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Tolerate", rename_all = "snake_case")]
enum TolerateV1 {
    Branches(u16),
    Percent(u8),
}

struct ExpressionV1;
struct TemplateV1;
struct ParamsV1;

impl Shape<Expression> for ExpressionV1 {
    fn serialize<S: Serializer>(expression: &Expression, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(expression.source())
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Expression, D::Error> {
        Expression::stored(&String::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl ExpressionV1 {
    fn serialize<S: Serializer>(expression: &Expression, serializer: S) -> Result<S::Ok, S::Error> {
        <Self as Shape<Expression>>::serialize(expression, serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Expression, D::Error> {
        <Self as Shape<Expression>>::deserialize(deserializer)
    }
}

impl Shape<Template> for TemplateV1 {
    fn serialize<S: Serializer>(template: &Template, serializer: S) -> Result<S::Ok, S::Error> {
        template.source().serialize(serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Template, D::Error> {
        Template::stored(Json::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

impl Shape<ParamsSchema> for ParamsV1 {
    fn serialize<S: Serializer>(schema: &ParamsSchema, serializer: S) -> Result<S::Ok, S::Error> {
        schema.source().serialize(serializer)
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<ParamsSchema, D::Error> {
        ParamsSchema::stored(Json::deserialize(deserializer)?).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::slot::{Concurrency, Rate};
    use minutehand_domain::target::{Asks, HttpTarget, Method, ServiceTarget, Timeouts, WorkerTarget, WorkflowTarget};
    use minutehand_domain::workflow::WorkflowId;
    use serde_json::json;

    use super::*;

    /// Every variant of everything stands in it.
    fn definition() -> Definition {
        let key = |text: &str| text.parse::<TaskKey>().unwrap();
        let template = |value| Some(Template::new(Json::of(&value)).unwrap());
        let expression = |source| Expression::new(source).unwrap();
        let call = |target| Does::Call { target, terms: Terms::default() };
        let edges = |edges: &[(&str, On)]| edges.iter().map(|(task, on)| Edge { task: key(task), on: *on }).collect();
        let workflow = Target::Workflow(WorkflowTarget { id: WorkflowId::from_bytes([7; 16]), version: Some(3) });
        let each = |over, max_concurrent, tolerate| Some(ForEach { over, max_concurrent, tolerate });
        let tasks = vec![
            Task {
                payload: template(json!({"day": "{{params.day}}"})),
                allow_failure: true,
                priority: Some(Priority::High),
                ..Task::new(key("load"), call(Target::Noop))
            },
            Task {
                depends_on: edges(&[("load", On::Finished)]),
                rule: Rule::Any,
                when: Some(expression("tasks.load.status == 'failed'")),
                for_each: each(Over::Expression(expression("params.list")), Some(4), Tolerate::Percent(10)),
                ..Task::new(key("each"), call(workflow))
            },
            Task {
                depends_on: edges(&[("load", On::Success), ("each", On::Success)]),
                rule: Rule::NoneFailed,
                for_each: each(Over::List(vec![Json::null()]), None, Tolerate::Branches(1)),
                ..Task::new(key("ask"), Does::Ask(Approval { default: NoAnswer::Reject, ..Approval::default() }))
            },
        ];
        let finally = vec![Task { depends_on: vec![], ..Task::new(key("tidy"), call(Target::Noop)) }];
        let policy = Policy {
            failure: OnFailure::Hold,
            params: Some(ParamsSchema::new(Json::of(&json!({"required": ["day"]}))).unwrap()),
            output: template(json!("{{tasks.load.result}}")),
            max_concurrent_runs: Some(4),
            ..Policy::default()
        };
        Definition { tasks, finally, policy }
    }

    #[test]
    fn a_definition_reads_back_as_it_was_written() {
        let definition = definition();

        let text = write(&definition).unwrap();

        assert_eq!(read(&text).unwrap(), definition);
    }

    /// What is in somebody's store does not change with us.
    #[test]
    fn the_text_of_shape_1_is_what_it_was() {
        assert_eq!(write(&definition()).unwrap(), include_str!("definition_v1.json").trim_end());
    }

    #[test]
    fn a_later_shape_says_so() {
        let later = read(r#"{"shape":4,"definition":{"other":1}}"#).unwrap_err();

        assert!(matches!(later, Fault::Later { .. }), "{later:?}");
    }

    #[test]
    fn a_task_of_a_worker_is_in_a_shape_that_earlier_releases_leave_alone() {
        let target = Target::Worker(WorkerTarget { pool: "web1".parse().unwrap(), handler: "send".parse().unwrap() });
        let task = Task::new("a".parse().unwrap(), Does::Call { target, terms: Terms::default() });
        let (tasks, tidy) = (Definition::new(vec![task.clone()]), Definition { finally: vec![task], ..definition() });

        for definition in [tasks, tidy] {
            let text = write(&definition).unwrap();

            assert!(text.starts_with(r#"{"shape":2,"#), "{text}");
            assert_eq!(read(&text).unwrap(), definition);
        }
    }

    #[test]
    fn a_task_that_shares_a_limit_is_in_a_shape_that_earlier_releases_leave_alone() {
        let bounds = Bounds {
            concurrency: Some(Concurrency { key: "billing".parse().unwrap(), limit: 4 }),
            rate: Some(Rate { key: "bank".parse().unwrap(), per_minute: 100 }),
        };
        let does = Does::Call { target: Target::Noop, terms: Terms::default() };
        let task = Task { bounds, ..Task::new("a".parse().unwrap(), does) };

        let text = write(&Definition::new(vec![task.clone()])).unwrap();

        assert!(text.starts_with(r#"{"shape":3,"#), "{text}");
        assert_eq!(read(&text).unwrap().tasks, [task]);
        let as_golden =
            r#""bounds":{"concurrency":{"key":"billing","limit":4},"rate":{"key":"bank","per_minute":100}}"#;
        assert!(text.contains(as_golden), "{text}");
    }

    /// Tried: in shape 2 a service cannot be written at all, and time-outs are left out.
    #[test]
    fn a_task_of_a_service_or_with_timeouts_is_in_shape_3() {
        let timeouts = Timeouts { connect: None, first_byte: Some(Duration::from_secs(3)) };
        let url = "https://example.com/".to_owned();
        let http = Target::Http(HttpTarget { url, method: Method::Get, headers: [].into(), timeouts });
        let service = Target::Service(ServiceTarget { alias: "a".parse().unwrap(), asks: Asks::Sqs { group: None } });

        for target in [http, service] {
            let task = Task::new("a".parse().unwrap(), Does::Call { target, terms: Terms::default() });
            let text = write(&Definition { finally: vec![task], ..definition() }).unwrap();

            assert!(text.starts_with(r#"{"shape":3,"#), "{text}");
            assert_eq!(write(&read(&text).unwrap()).unwrap(), text);
        }
        assert!(write(&definition()).unwrap().starts_with(r#"{"shape":1,"#));
    }
}
