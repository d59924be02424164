//! What each run calls: exactly one kind, named by its field. A kind is a file of its own, which says how it is read, checked,
//! shown and described, and one row here.

mod header;
mod http;
mod noop;
mod service;
mod worker;
mod workflow;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

use minutehand_domain::limits::{DEFAULT_TIMEOUT_SECONDS, TIMEOUT_SECONDS, WORKER_SECONDS, WORKFLOW_SECONDS};
use minutehand_domain::order::{Delivery, Terms};
use minutehand_domain::target::{Asks, ServiceKind, ServiceTarget as Called, Target};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{DeserializeOwned, DeserializeSeed, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Value, json};

pub use self::header::{HeaderSpec, MASK, SecretRef};
pub use self::http::{HttpTarget, TimeoutsSpec};
pub use self::noop::NoopTarget;
pub use self::service::{EcsTarget, EventBridgeTarget, LambdaTarget, SnsTarget, SqsTarget, StepFunctionsTarget};
pub use self::worker::WorkerTarget;
pub use self::workflow::WorkflowTarget;
use crate::body::Json;
use crate::field_errors::FieldErrors;
use crate::kinds::{Kind, one_of_the_kinds};
use crate::object::{KnownName, maybe_object};
use crate::retry::RetrySpec;

/// What a kind of target says of itself.
trait TargetKind: DeserializeOwned + Serialize + JsonSchema {
    const TITLE: &'static str;

    /// What is wrong is noted.
    fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target>;
}

/// Whether this deployment may call a target, as far as can be known when the job is made: else the field of its kind that is at
/// fault, and why.
pub type TargetCheck<'a> = &'a dyn Fn(&Target) -> Result<(), (&'static str, String)>;

/// The table of the kinds: what each is called on the wire, its type, and how the domain's is shown as it.
macro_rules! target_kinds {
    ($($name:literal: $variant:ident($shape:ty), shown by $domain:pat => $shown:expr;)+) => {
        /// What each run calls: exactly one kind, named by its field.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum TargetSpec {
            $($variant($shape),)+
            /// A kind of a later server, as it was read. A request that names no kind, or several, is empty here, and is
            /// refused when it is checked.
            Other(BTreeMap<String, Json>),
        }

        const NAMES: &[&str] = &[$($name),+];

        pub const TARGET_KINDS: &[Kind] =
            &[$(Kind { title: <$shape as TargetKind>::TITLE, named: Some($name), with: &[] }),+];

        impl TargetSpec {
            pub fn checked(&self, check: TargetCheck<'_>, errors: &mut FieldErrors) -> Option<Target> {
                match self {
                    $(Self::$variant(target) => target.checked(check, errors),)+
                    Self::Other(_) => {
                        errors.add("/target", format!("give exactly one of {}", one_of(NAMES)));
                        None
                    }
                }
            }

            pub fn of(target: &Target) -> Self {
                match target {
                    $($domain => Self::$variant($shown),)+
                }
            }

            /// What its field is called.
            pub fn name(&self) -> &str {
                match self {
                    $(Self::$variant(_) => $name,)+
                    Self::Other(fields) => fields.keys().next().map_or("", String::as_str),
                }
            }

            /// The kind of this name; none where the field is null.
            fn read<'de, A: MapAccess<'de>>(name: &str, fields: &mut A, asked: bool) -> Result<Option<Self>, A::Error> {
                match name {
                    $($name => Ok(fields.next_value_seed(KindOf::<$shape>::new(asked))?.map(Self::$variant)),)+
                    _ => Ok(Some(Self::Other([(name.to_owned(), fields.next_value()?)].into()))),
                }
            }
        }

        impl Serialize for TargetSpec {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                match self {
                    $(Self::$variant(target) => serializer.collect_map([($name, target)]),)+
                    Self::Other(fields) => fields.serialize(serializer),
                }
            }
        }

        fn properties(generator: &mut SchemaGenerator) -> Vec<(&'static str, &'static str, Schema, Schema)> {
            vec![$({
                let schema = generator.subschema_for::<$shape>();
                let or_null = generator.subschema_for::<Option<$shape>>();
                ($name, <$shape as TargetKind>::TITLE, schema, or_null)
            }),+]
        }
    };
}

target_kinds! {
    "http": Http(HttpTarget), shown by Target::Http(http) => HttpTarget::of(http);
    "noop": Noop(NoopTarget), shown by Target::Noop => NoopTarget {};
    "workflow": Workflow(WorkflowTarget), shown by Target::Workflow(called) => WorkflowTarget::of(called);
    "worker": Worker(WorkerTarget), shown by Target::Worker(called) => WorkerTarget::of(called);
    "lambda": Lambda(LambdaTarget), shown by Target::Service(Called { alias, asks: Asks::Lambda }) => LambdaTarget::of(alias);
    "sqs": Sqs(SqsTarget), shown by Target::Service(Called { alias, asks: Asks::Sqs { group } }) => SqsTarget::of(alias, group.as_ref());
    "sns": Sns(SnsTarget), shown by Target::Service(Called { alias, asks: Asks::Sns { group } }) => SnsTarget::of(alias, group.as_ref());
    "eventbridge": EventBridge(EventBridgeTarget), shown by Target::Service(Called { alias, asks: Asks::EventBridge { detail_type } }) => EventBridgeTarget::of(alias, detail_type.as_ref());
    "step_functions": StepFunctions(StepFunctionsTarget), shown by Target::Service(Called { alias, asks: Asks::StepFunctions }) => StepFunctionsTarget::of(alias);
    "ecs": Ecs(EcsTarget), shown by Target::Service(Called { alias, asks: Asks::Ecs }) => EcsTarget::of(alias);
}

/// Words as a sentence lists them.
fn one_of(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [only] => (*only).to_owned(),
        [before @ .., last] => format!("{} and {last}", before.join(", ")),
    }
}

impl TargetSpec {
    /// The parameters that a workflow is to be given.
    fn params(&self) -> Option<&Json> {
        let Self::Workflow(workflow) = self else { return None };
        workflow.params.as_ref()
    }

    /// What a call is given and where that stands: the payload, or what is another word for it.
    pub(crate) fn given<'a>(
        &'a self,
        payload: Option<&'a Json>,
        errors: &mut FieldErrors,
    ) -> (&'static str, Option<&'a Json>) {
        match (payload, self.params()) {
            (Some(_), Some(_)) => {
                errors.add("/target/workflow/params", "this is what `payload` says too: say it once");
                ("/payload", payload)
            }
            (None, Some(params)) => ("/target/workflow/params", Some(params)),
            (payload, None) => ("/payload", payload),
        }
    }

    /// As it is shown beside how long an attempt at it may take: what may take longer than a call is taken on.
    #[must_use]
    pub(crate) fn lasting(mut self, timeout: Duration) -> Self {
        if let Self::Http(http) = &mut self {
            http.takes_on = (timeout.as_secs() > TIMEOUT_SECONDS).then_some(true);
        }
        self
    }

    /// On which terms it is carried out, as was asked.
    pub(crate) fn terms(
        &self,
        timeout_seconds: Option<u64>,
        retry: Option<&RetrySpec>,
        delivery: Option<Delivery>,
        errors: &mut FieldErrors,
    ) -> Terms {
        Terms {
            timeout: self.timeout(timeout_seconds, errors),
            retry: retry.map(|retry| retry.checked(errors)).unwrap_or_default(),
            delivery: delivery.unwrap_or_default(),
            before: Duration::ZERO,
        }
    }

    /// How long an attempt at it may take, as was asked.
    fn timeout(&self, asked: Option<u64>, errors: &mut FieldErrors) -> Duration {
        let (most, usual) = self.seconds();
        let seconds = asked.unwrap_or(usual);
        if self.takes_on() && seconds <= TIMEOUT_SECONDS {
            errors.add(
                "/target/http/async",
                format!(
                    "is for a `timeout_seconds` of more than {TIMEOUT_SECONDS}; with less leave it out: a 202 is understood without it"
                ),
            );
        }
        if (1..=most).contains(&seconds) {
            return Duration::from_secs(seconds);
        }
        let longer = match self {
            Self::Http(_) if most < WORKER_SECONDS => {
                format!(", or to {WORKER_SECONDS} where the target takes its runs on (`async: true`)")
            }
            _ => String::new(),
        };
        errors.add("/timeout_seconds", format!("must be from 1 to {most}{longer}"));
        Duration::from_secs(usual)
    }

    fn takes_on(&self) -> bool {
        matches!(self, Self::Http(HttpTarget { takes_on: Some(true), .. }))
    }

    /// How long what it calls may take, and how long it may where nobody says. A workflow says of itself how long its runs take, which
    /// whoever starts one may only shorten.
    fn seconds(&self) -> (u64, u64) {
        match self {
            Self::Workflow(_) => (WORKFLOW_SECONDS, WORKFLOW_SECONDS),
            Self::Worker(_) => (WORKER_SECONDS, DEFAULT_TIMEOUT_SECONDS),
            Self::Http(_) if self.takes_on() => (WORKER_SECONDS, DEFAULT_TIMEOUT_SECONDS),
            Self::Http(_)
            | Self::Noop(_)
            | Self::Lambda(_)
            | Self::Sqs(_)
            | Self::Sns(_)
            | Self::EventBridge(_)
            | Self::StepFunctions(_)
            | Self::Ecs(_)
            | Self::Other(_) => (TIMEOUT_SECONDS, DEFAULT_TIMEOUT_SECONDS),
        }
    }

    /// The alias that the operator declared, and of which kind it must be.
    pub fn alias(&self) -> Option<(ServiceKind, &str)> {
        match self {
            Self::Lambda(target) => Some((ServiceKind::Lambda, &target.alias)),
            Self::Sqs(target) => Some((ServiceKind::Sqs, &target.alias)),
            Self::Sns(target) => Some((ServiceKind::Sns, &target.alias)),
            Self::EventBridge(target) => Some((ServiceKind::EventBridge, &target.alias)),
            Self::StepFunctions(target) => Some((ServiceKind::StepFunctions, &target.alias)),
            Self::Ecs(target) => Some((ServiceKind::Ecs, &target.alias)),
            Self::Http(_) | Self::Noop(_) | Self::Workflow(_) | Self::Worker(_) | Self::Other(_) => None,
        }
    }

    /// Puts what is there in the place of the masks that stand for it.
    pub fn unmask(&mut self, present: &Target) {
        if let (Self::Http(asked), Target::Http(present)) = (self, present) {
            asked.unmask(present);
        }
    }
}

impl Default for TargetSpec {
    fn default() -> Self {
        Self::Noop(NoopTarget {})
    }
}

/// One kind's value: of a request, an object whose fields are all known.
struct KindOf<T> {
    asked: bool,
    kind: PhantomData<T>,
}

impl<T> KindOf<T> {
    const fn new(asked: bool) -> Self {
        Self { asked, kind: PhantomData }
    }
}

impl<'de, T: TargetKind> DeserializeSeed<'de> for KindOf<T> {
    type Value = Option<T>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Option<T>, D::Error> {
        if self.asked { maybe_object(deserializer) } else { Option::deserialize(deserializer) }
    }
}

/// As a request names it.
pub(crate) fn asked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TargetSpec, D::Error> {
    deserializer.deserialize_map(OneKind { asked: true })
}

/// The same, where it may be left out.
pub(crate) fn maybe_asked<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TargetSpec>, D::Error> {
    struct Asked(TargetSpec);

    impl<'de> Deserialize<'de> for Asked {
        fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
            asked(deserializer).map(Self)
        }
    }

    Ok(Option::<Asked>::deserialize(deserializer)?.map(|asked| asked.0))
}

/// As an answer shows it.
impl<'de> Deserialize<'de> for TargetSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(OneKind { asked: false })
    }
}

struct OneKind {
    asked: bool,
}

impl OneKind {
    /// A request that names no kind of ours is refused while its name is read, so that the name is pointed at.
    fn next_name<'de, A: MapAccess<'de>>(&self, fields: &mut A) -> Result<Option<String>, A::Error> {
        if self.asked {
            fields.next_key_seed(KnownName { seed: PhantomData::<String>, known: NAMES })
        } else {
            fields.next_key()
        }
    }
}

impl<'de> Visitor<'de> for OneKind {
    type Value = TargetSpec;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<TargetSpec, A::Error> {
        let mut named = Vec::new();
        while let Some(name) = self.next_name(&mut fields)? {
            named.extend(TargetSpec::read(&name, &mut fields, self.asked)?);
        }
        let one = <[TargetSpec; 1]>::try_from(named).map(|[one]| one);
        Ok(one.unwrap_or_else(|_none_or_several| TargetSpec::Other(BTreeMap::new())))
    }
}

impl JsonSchema for TargetSpec {
    fn schema_name() -> Cow<'static, str> {
        "TargetRequest".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        if generator.contract().is_serialize() { shown(generator) } else { asked_for(generator) }
    }
}

fn shown(generator: &mut SchemaGenerator) -> Schema {
    let kind = |(name, title, schema, _): (&str, &str, Schema, Schema)| json!({ "title": title, "type": "object", "properties": { name: schema }, "required": [name] });
    let kinds: Vec<Value> = properties(generator).into_iter().map(kind).collect();
    json_schema!({ "description": "What each run calls, under the name of its kind.", "oneOf": kinds })
}

fn asked_for(generator: &mut SchemaGenerator) -> Schema {
    let fields = properties(generator).into_iter().map(|(name, _, _, or_null)| (name.to_owned(), or_null.to_value()));
    let fields: serde_json::Map<_, _> = fields.collect();
    let mut schema = json_schema!({
        "description": "What each run calls: exactly one kind, named by its field.", "type": "object",
        "properties": fields, "additionalProperties": false,
    });
    one_of_the_kinds(&mut schema, TARGET_KINDS);
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_a_later_server_is_kept_as_it_is() {
        let text = r#"{"kafka":{"topic":"mail","size":1.50}}"#;

        let target: TargetSpec = serde_json::from_str(text).unwrap();

        assert_eq!(target.name(), "kafka");
        assert_eq!(serde_json::to_string(&target).unwrap(), text);
    }

    #[test]
    fn none_and_several_are_refused_when_they_are_checked() {
        for text in ["{}", r#"{"http":null}"#, r#"{"http":{"url":"http://x/"},"noop":{}}"#] {
            let mut errors = FieldErrors::default();

            let target =
                asked(&mut serde_json::Deserializer::from_str(text)).unwrap().checked(&|_| Ok(()), &mut errors);

            assert_eq!(target, None);
            let refused = errors.settle(Some(())).unwrap_err();
            assert_eq!(
                refused.errors[0].detail,
                "give exactly one of http, noop, workflow, worker, lambda, sqs, sns, eventbridge, step_functions and ecs",
                "{text}"
            );
        }
    }
}
