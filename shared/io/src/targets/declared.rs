//! What the operator of a deployment declared: services of AWS that jobs may call, each under an alias. A job names the alias; where it
//! leads is written here and nowhere else.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use minutehand_domain::id::Tenant;
use minutehand_domain::pool::Name;
use minutehand_domain::target::{AliasName, ServiceKind, ServiceTarget};
use serde::{Deserialize, Deserializer};
use serde_json::Value;
use thiserror::Error;

use super::TargetRefusal;

/// As many as a page of a list has.
const ALIASES: usize = 1000;
/// Where an event says that it comes from, where the operator says nothing else.
const SOURCE: &str = "minutehand.jobs";

/// Cheap to clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Declared(Arc<BTreeMap<AliasName, Declaration>>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Declaration {
    pub service: Service,
    /// Who may name it; none: everybody.
    tenants: Option<BTreeSet<Tenant>>,
}

/// Where an alias leads.
#[derive(Clone, PartialEq, Eq)]
pub enum Service {
    Lambda(Function),
    Sqs(Queue),
    Sns(Arn),
    EventBridge(Bus),
    StepFunctions(Arn),
    Ecs(Box<TaskToRun>),
}

/// The name of a thing in AWS.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arn {
    whole: String,
    region: String,
    resource: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Without the qualifier.
    pub arn: Arn,
    /// A version, or an alias of Lambda's own.
    pub qualifier: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Queue {
    pub url: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Its name or its ARN.
    pub bus: String,
    #[serde(default = "source")]
    pub source: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskToRun {
    pub cluster: String,
    pub task_definition: String,
    /// The container that is given the payload.
    pub container: String,
    #[serde(default)]
    pub launch_type: Option<LaunchType>,
    #[serde(default)]
    pub subnets: Vec<String>,
    #[serde(default)]
    pub security_groups: Vec<String>,
    #[serde(default)]
    pub assign_public_ip: bool,
    #[serde(default)]
    pub platform_version: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum LaunchType {
    Fargate,
    Ec2,
    External,
}

/// Why a declaration is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DeclarationError {
    #[error("the targets are no JSON object of aliases: {0}")]
    NoObject(String),
    #[error("the targets have more than {ALIASES} aliases")]
    TooMany,
    #[error("`{0:.80}` is no alias: 1 to 64 of a-z, A-Z, 0-9, `.`, `_` and `-`")]
    NoAlias(String),
    #[error("the target `{alias}` {why}")]
    Wrong { alias: AliasName, why: String },
}

fn source() -> String {
    SOURCE.to_owned()
}

/// One alias, as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    lambda: Option<String>,
    sqs: Option<String>,
    sns: Option<String>,
    #[serde(default, deserialize_with = "bus_or_its_name")]
    eventbridge: Option<Bus>,
    step_functions: Option<String>,
    ecs: Option<Box<TaskToRun>>,
    tenants: Option<BTreeSet<String>>,
}

fn tenants_of(names: BTreeSet<String>) -> Result<BTreeSet<Tenant>, String> {
    let tenant = |name: String| Tenant::new(&name).map_err(|why| format!("is for {name:?}: {why}"));
    names.into_iter().map(tenant).collect()
}

fn bus_or_its_name<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bus>, D::Error> {
    use serde::de::Error as _;

    match Value::deserialize(from)? {
        Value::String(bus) => Ok(Some(Bus { bus, source: source() })),
        other => serde_json::from_value(other).map(Some).map_err(D::Error::custom),
    }
}

impl Declared {
    /// What a text says. An empty one declares nothing.
    pub fn read(text: &str) -> Result<Self, DeclarationError> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let written: BTreeMap<String, Value> =
            serde_json::from_str(text).map_err(|why| DeclarationError::NoObject(why.to_string()))?;
        if written.len() > ALIASES {
            return Err(DeclarationError::TooMany);
        }
        let declared = written.into_iter().map(|(alias, written)| {
            let alias: Name = alias.parse().map_err(|_no_name| DeclarationError::NoAlias(alias))?;
            let declaration = Declaration::read(written);
            declaration.map(|one| (alias.clone(), one)).map_err(|why| DeclarationError::Wrong { alias, why })
        });
        declared.collect::<Result<_, _>>().map(|aliases| Self(Arc::new(aliases)))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn all(&self) -> impl Iterator<Item = (&AliasName, &Declaration)> {
        self.0.iter()
    }

    /// What a tenant may name, by alias.
    pub fn of<'a>(&'a self, tenant: &'a Tenant) -> impl Iterator<Item = (&'a AliasName, ServiceKind)> {
        let is_theirs = |(_, one): &(&AliasName, &Declaration)| one.is_for(tenant);
        self.0.iter().filter(is_theirs).map(|(alias, one)| (alias, one.service.kind()))
    }

    /// Where a tenant's target leads; or why nowhere. What is another tenant's is said to nobody.
    pub fn find(&self, tenant: &Tenant, target: &ServiceTarget) -> Result<&Service, TargetRefusal> {
        let kind = target.asks.kind();
        let found = self.0.get(&target.alias).filter(|one| one.is_for(tenant) && one.service.kind() == kind);
        found.map(|one| &one.service).ok_or_else(|| self.refusal(tenant, kind))
    }

    fn refusal(&self, tenant: &Tenant, kind: ServiceKind) -> TargetRefusal {
        let of_kind: Vec<&str> =
            self.of(tenant).filter(|(_, other)| *other == kind).map(|(alias, _)| alias.as_str()).collect();
        let kind = kind.as_str();
        let detail = match of_kind.as_slice() {
            _ if self.is_empty() => {
                "this deployment declares no targets of AWS: its operator does, with `serve --targets` or \
                                     `MINUTEHAND_TARGETS`"
                    .to_owned()
            }
            [] => format!(
                "no alias of the kind `{kind}` is declared for this tenant: the operator of the deployment does"
            ),
            there => format!(
                "no such alias of the kind `{kind}` is declared for this tenant; there are: {}",
                there.join(", ")
            ),
        };
        TargetRefusal { field: "alias", detail }
    }
}

impl Declaration {
    fn read(written: Value) -> Result<Self, String> {
        let Written { lambda, sqs, sns, eventbridge, step_functions, ecs, tenants } =
            serde_json::from_value(written).map_err(|why| format!("is not one: {why}"))?;
        let named = [
            lambda.map(|arn| Function::read(&arn).map(Service::Lambda)),
            sqs.map(|url| Queue::read(url).map(Service::Sqs)),
            sns.map(|arn| Arn::read(&arn, "sns", "").map(Service::Sns)),
            eventbridge.map(|bus| bus.checked().map(Service::EventBridge)),
            step_functions.map(|arn| Arn::read(&arn, "states", "stateMachine:").map(Service::StepFunctions)),
            ecs.map(|task| task.checked().map(Service::Ecs)),
        ];
        let mut named = named.into_iter().flatten();
        let kinds = ServiceKind::ALL.map(ServiceKind::as_str).join(", ");
        match (named.next(), named.next()) {
            (Some(service), None) => Ok(Self { service: service?, tenants: tenants.map(tenants_of).transpose()? }),
            (None, _) | (Some(_), Some(_)) => Err(format!("needs exactly one of {kinds}")),
        }
    }

    fn is_for(&self, tenant: &Tenant) -> bool {
        self.tenants.as_ref().is_none_or(|tenants| tenants.contains(tenant))
    }
}

impl Service {
    pub const fn kind(&self) -> ServiceKind {
        match self {
            Self::Lambda(_) => ServiceKind::Lambda,
            Self::Sqs(_) => ServiceKind::Sqs,
            Self::Sns(_) => ServiceKind::Sns,
            Self::EventBridge(_) => ServiceKind::EventBridge,
            Self::StepFunctions(_) => ServiceKind::StepFunctions,
            Self::Ecs(_) => ServiceKind::Ecs,
        }
    }

    /// Where it is, where its name says so; else it is where the deployment is.
    pub fn region(&self) -> Option<String> {
        match self {
            Self::Lambda(function) => Some(function.arn.region.clone()),
            Self::Sns(arn) | Self::StepFunctions(arn) => Some(arn.region.clone()),
            Self::Sqs(queue) => queue.region().map(str::to_owned),
            Self::EventBridge(bus) => Arn::parse(&bus.bus).map(|arn| arn.region),
            Self::Ecs(task) => [&task.task_definition, &task.cluster]
                .into_iter()
                .find_map(|name| Arn::parse(name))
                .map(|arn| arn.region),
        }
    }

    /// Whether it is in the part of AWS whose names end differently.
    pub fn is_in_china(&self) -> bool {
        self.region().is_some_and(|region| region.starts_with("cn-"))
    }
}

impl Arn {
    pub fn as_str(&self) -> &str {
        &self.whole
    }

    /// None where it is no ARN of something in a region.
    fn parse(text: &str) -> Option<Self> {
        let parts: Vec<&str> = text.splitn(6, ':').collect();
        let ["arn", partition, _service, region, account, resource] = parts.as_slice() else { return None };
        let is_word = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
        let is_one = partition.starts_with("aws")
            && is_word(region)
            && account.len() == 12
            && account.bytes().all(|byte| byte.is_ascii_digit())
            && is_word(resource);
        is_one.then(|| Self { whole: text.to_owned(), region: (*region).to_owned(), resource: (*resource).to_owned() })
    }

    /// An ARN of this service whose resource begins so.
    fn read(text: &str, service: &str, resource: &str) -> Result<Self, String> {
        let expected = || format!("is {text:?}: it must be arn:aws:{service}:REGION:ACCOUNT:{resource}NAME");
        let arn = Self::parse(text).ok_or_else(expected)?;
        let is_of_it = text.split(':').nth(2) == Some(service) && arn.resource.starts_with(resource);
        if is_of_it && arn.resource.len() > resource.len() { Ok(arn) } else { Err(expected()) }
    }
}

impl Function {
    fn read(text: &str) -> Result<Self, String> {
        const RESOURCE: &str = "function:";
        let arn = Arn::read(text, "lambda", RESOURCE)?;
        match arn.resource[RESOURCE.len()..].split_once(':') {
            None => Ok(Self { arn, qualifier: None }),
            Some((_, qualifier)) => {
                let bare = text.strip_suffix(&format!(":{qualifier}")).unwrap_or(text);
                Ok(Self { arn: Arn::read(bare, "lambda", RESOURCE)?, qualifier: Some(qualifier.to_owned()) })
            }
        }
    }
}

/// By the end of its name: so AWS tells a queue or topic that keeps order from others.
pub fn is_fifo(name: &str) -> bool {
    name.strip_suffix(".fifo").is_some()
}

impl Queue {
    fn read(url: String) -> Result<Self, String> {
        let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://"));
        let is_one = url.bytes().all(|byte| byte.is_ascii_graphic())
            && rest
                .and_then(|rest| rest.split_once('/'))
                .is_some_and(|(host, path)| !host.is_empty() && !path.is_empty());
        if is_one {
            Ok(Self { url })
        } else {
            Err(format!("is {url:?}: it must be the URL of a queue, https://sqs.REGION.amazonaws.com/ACCOUNT/NAME"))
        }
    }

    /// Its scheme, host and port.
    pub fn origin(&self) -> &str {
        let host = self.url.find("://").map_or(0, |at| at + 3);
        let path = self.url[host..].find('/').map_or(self.url.len(), |at| host + at);
        &self.url[..path]
    }

    pub fn keeps_order(&self) -> bool {
        is_fifo(&self.url)
    }

    fn region(&self) -> Option<&str> {
        let host = self.origin().split("://").nth(1)?;
        host.strip_prefix("sqs.").filter(|rest| rest.contains(".amazonaws.com"))?.split('.').next()
    }
}

impl Bus {
    fn checked(self) -> Result<Self, String> {
        let is_named = |text: &str| !text.is_empty() && !text.contains(char::is_whitespace);
        match self {
            Self { source, .. } if source.starts_with("aws.") || !is_named(&source) => {
                Err(format!("has the source {source:?}: it must be a word, and not begin with `aws.`"))
            }
            Self { bus, .. }
                if bus.starts_with("arn:") && Arn::read(&bus, "events", "event-bus/").is_err() || !is_named(&bus) =>
            {
                Err(format!("has the bus {bus:?}: it must be a name, or arn:aws:events:REGION:ACCOUNT:event-bus/NAME"))
            }
            bus => Ok(bus),
        }
    }
}

impl TaskToRun {
    fn checked(self: Box<Self>) -> Result<Box<Self>, String> {
        let needs_a_network = self.launch_type == Some(LaunchType::Fargate) && self.subnets.is_empty();
        match &*self {
            _ if needs_a_network => Err("runs on FARGATE: it needs `subnets`".to_owned()),
            Self { subnets, security_groups, .. } if subnets.is_empty() && !security_groups.is_empty() => {
                Err("has `security_groups`, which need `subnets`".to_owned())
            }
            Self { cluster, task_definition, container, .. }
                if [cluster, task_definition, container].iter().any(|name| name.is_empty()) =>
            {
                Err("needs `cluster`, `task_definition` and `container`".to_owned())
            }
            _ => Ok(self),
        }
    }
}

impl LaunchType {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fargate => "FARGATE",
            Self::Ec2 => "EC2",
            Self::External => "EXTERNAL",
        }
    }
}

/// Where it leads is the operator's: nothing of it goes into a log by accident.
impl fmt::Debug for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.kind().as_str(), self.region().as_deref().unwrap_or("the deployment's region"))
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::target::Asks;

    use super::*;

    const ALL: &str = r#"{
        "reports": {"lambda": "arn:aws:lambda:eu-west-1:123456789012:function:reports:live", "tenants": ["acme"]},
        "orders": {"sqs": "https://sqs.eu-central-1.amazonaws.com/123456789012/orders.fifo"},
        "news": {"sns": "arn:aws-cn:sns:cn-north-1:123456789012:news"},
        "bus": {"eventbridge": "house"},
        "other-bus": {"eventbridge": {"bus": "arn:aws:events:us-east-1:123456789012:event-bus/other", "source": "com.example"}},
        "flow": {"step_functions": "arn:aws:states:us-east-1:123456789012:stateMachine:flow"},
        "etl": {"ecs": {"cluster": "main", "task_definition": "etl:7", "container": "etl", "launch_type": "FARGATE", "subnets": ["subnet-1"]}}
    }"#;

    fn tenant(name: &str) -> Tenant {
        Tenant::new(name).unwrap()
    }

    fn target(alias: &str, asks: Asks) -> ServiceTarget {
        ServiceTarget { alias: alias.parse().unwrap(), asks }
    }

    #[test]
    fn each_kind_is_declared_with_where_it_is() {
        let declared = Declared::read(ALL).unwrap();

        let regions =
            declared.all().map(|(alias, one)| (alias.as_str(), one.service.kind().as_str(), one.service.region()));

        let regions: Vec<_> = regions.map(|(alias, kind, region)| format!("{alias} {kind} {region:?}")).collect();
        assert_eq!(
            regions,
            [
                "bus eventbridge None",
                "etl ecs None",
                r#"flow step_functions Some("us-east-1")"#,
                r#"news sns Some("cn-north-1")"#,
                r#"orders sqs Some("eu-central-1")"#,
                r#"other-bus eventbridge Some("us-east-1")"#,
                r#"reports lambda Some("eu-west-1")"#,
            ]
        );
        let Ok(Service::Lambda(function)) = declared.find(&tenant("acme"), &target("reports", Asks::Lambda)) else {
            panic!()
        };
        assert_eq!(function.arn.as_str(), "arn:aws:lambda:eu-west-1:123456789012:function:reports");
        assert_eq!(function.qualifier.as_deref(), Some("live"));
    }

    #[test]
    fn nothing_is_declared_by_nothing() {
        for text in ["", "  \n", "{}"] {
            assert!(Declared::read(text).unwrap().is_empty(), "{text:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_alias() {
        let arn = "arn:aws:lambda:eu-west-1:123456789012:function:reports";
        for (text, said) in [
            ("[]".to_owned(), "no JSON object"),
            (r#"{"a b": {}}"#.to_owned(), "`a b` is no alias"),
            (r#"{"a": {}}"#.to_owned(), "the target `a` needs exactly one of lambda, sqs,"),
            (format!(r#"{{"a": {{"lambda": "{arn}", "sns": "{arn}"}}}}"#), "the target `a`"),
            (r#"{"a": {"lambda": "reports"}}"#.to_owned(), "it must be arn:aws:lambda:REGION:ACCOUNT:function:NAME"),
            (format!(r#"{{"a": {{"sns": "{arn}"}}}}"#), "it must be arn:aws:sns:"),
            (format!(r#"{{"a": {{"step_functions": "{arn}"}}}}"#), "stateMachine:NAME"),
            (r#"{"a": {"sqs": "orders"}}"#.to_owned(), "the URL of a queue"),
            (r#"{"a": {"eventbridge": {"bus": "b", "source": "aws.ec2"}}}"#.to_owned(), "not begin with `aws.`"),
            (r#"{"a": {"eventbridge": "two words"}}"#.to_owned(), "it must be a name"),
            (r#"{"a": {"kafka": "b"}}"#.to_owned(), "unknown field `kafka`"),
            (
                r#"{"a": {"ecs": {"cluster": "c", "task_definition": "t", "container": "x", "launch_type": "FARGATE"}}}"#.to_owned(),
                "it needs `subnets`",
            ),
            (r#"{"a": {"ecs": {"cluster": "c", "task_definition": "t"}}}"#.to_owned(), "missing field `container`"),
            (r#"{"a": {"eventbridge": "b", "tenants": ["No Tenant"]}}"#.to_owned(), "the target `a`"),
        ] {
            let why = Declared::read(&text).unwrap_err().to_string();
            assert!(why.contains(said), "{text}: {why}");
        }
    }

    #[test]
    fn an_alias_is_found_by_who_may_name_it_and_as_what_it_is() {
        let declared = Declared::read(ALL).unwrap();
        let why = |tenant: &Tenant, wanted| declared.find(tenant, &wanted).unwrap_err().detail;

        assert!(declared.find(&tenant("acme"), &target("reports", Asks::Lambda)).is_ok());
        assert_eq!(
            why(&tenant("other"), target("reports", Asks::Lambda)),
            "no alias of the kind `lambda` is declared for this tenant: the operator of the deployment does"
        );
        assert_eq!(
            why(&tenant("acme"), target("reports", Asks::EventBridge { detail_type: None })),
            "no such alias of the kind `eventbridge` is declared for this tenant; there are: bus, other-bus"
        );
        assert_eq!(declared.of(&tenant("other")).count(), 6);
        let nothing = Declared::default().find(&tenant("acme"), &target("a", Asks::Ecs)).unwrap_err();
        assert!(nothing.field == "alias" && nothing.detail.contains("serve --targets"), "{nothing:?}");
    }

    #[test]
    fn a_declaration_in_a_log_says_nothing_of_accounts() {
        let shown = format!("{:?}", Declared::read(ALL).unwrap());

        assert!(!shown.contains("123456789012") && shown.contains("sqs in eu-central-1"), "{shown}");
    }
}
