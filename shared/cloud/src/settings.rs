//! Settings: read once from the environment. An invalid one is refused in a sentence that names the variable.
//! `template.yaml` sets them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use minutehand_domain::lane::{Lane, Length};
use minutehand_domain::priority::Priority;
use minutehand_domain::trace::Sampling;
use minutehand_io::queues::sqs::QueueUrls;
use minutehand_io::store::dynamo::{Listing, Tables};
use minutehand_io::targets::http::Reach;
use minutehand_io::targets::{DeclarationError, Declared};
use thiserror::Error;

/// The earliest that hints may be set to become visible before their time: an executor holds a hint for `pace::HOLD` and
/// drops one that comes sooner.
const EARLY_SECONDS: u64 = 30;

/// The source of the variables: the process, or a test.
pub struct Environment(Box<Lookup>);

type Lookup = dyn Fn(&str) -> Option<String> + Send + Sync;

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum SettingError {
    #[error("{name} is not set: it must be {expected}")]
    Missing { name: &'static str, expected: &'static str },
    #[error("{name} is {value:?}: it must be {expected}")]
    Illegal { name: &'static str, value: String, expected: &'static str },
    #[error("MINUTEHAND_TARGETS: {0}")]
    Targets(#[from] DeclarationError),
    #[error(transparent)]
    Otlp(#[from] minutehand_otel::SettingError),
}

/// The settings of every deployed process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    pub tables: Tables,
    pub queues: QueueUrls,
    /// None where events are only logged.
    pub bus: Option<String>,
    pub listing: Listing,
    /// How long before its time a hint becomes visible.
    pub early: Duration,
    /// The KMS key that seals secrets; without one the deployment keeps none.
    pub secrets_key: Option<String>,
    /// Which part of the runs is traced that nobody decided about before.
    pub sampling: Sampling,
}

impl Settings {
    pub fn read(environment: &Environment) -> Result<Self, SettingError> {
        let table = |name| environment.required::<Text>(name, "the name of a DynamoDB table").map(|text| text.0);
        let queue = |lane| environment.required::<Text>(queue_variable(lane), "the URL of an SQS queue");
        let mut queues = [const { String::new() }; Lane::ALL.len()];
        for lane in Lane::ALL {
            queues[lane.index()] = queue(lane)?.0;
        }
        Ok(Self {
            tables: Tables { state: table("MINUTEHAND_STATE_TABLE")?, timers: table("MINUTEHAND_TIMERS_TABLE")? },
            queues: QueueUrls::new(queues),
            bus: environment.optional::<Text>("MINUTEHAND_BUS", "the name of an EventBridge bus")?.map(|text| text.0),
            listing: environment.or("MINUTEHAND_RUNS_INDEX", "on or off", RunsIndex(Listing::ByHour))?.0,
            early: environment
                .or("MINUTEHAND_EARLY_SECONDS", "a number of seconds from 0 to 30", Early(Duration::from_secs(1)))?
                .0,
            secrets_key: environment
                .optional::<Text>("MINUTEHAND_SECRETS_KEY", "the ARN of a KMS key")?
                .map(|text| text.0),
            sampling: environment.or("MINUTEHAND_TRACE_RATIO", "a number from 0 to 1", Sampling::ALL)?,
        })
    }
}

impl Environment {
    pub fn of_this_process() -> Self {
        Self::new(|name| std::env::var(name).ok())
    }

    pub fn new(lookup: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self(Box::new(lookup))
    }

    pub fn required<T: FromStr>(&self, name: &'static str, expected: &'static str) -> Result<T, SettingError> {
        self.optional(name, expected)?.ok_or(SettingError::Missing { name, expected })
    }

    pub fn or<T: FromStr>(&self, name: &'static str, expected: &'static str, default: T) -> Result<T, SettingError> {
        Ok(self.optional(name, expected)?.unwrap_or(default))
    }

    /// An empty variable counts as not set: CloudFormation cannot leave one out.
    pub fn optional<T: FromStr>(&self, name: &'static str, expected: &'static str) -> Result<Option<T>, SettingError> {
        let Some(value) = self.text(name) else { return Ok(None) };
        match value.parse() {
            Ok(parsed) => Ok(Some(parsed)),
            Err(_) => Err(SettingError::Illegal { name, value, expected }),
        }
    }

    /// What is set, empty or not set.
    pub(crate) fn text(&self, name: &str) -> Option<String> {
        (self.0)(name).filter(|value| !value.is_empty())
    }

    /// What the operator declares: aliases of services that jobs may call.
    pub fn targets(&self) -> Result<Declared, SettingError> {
        Ok(Declared::read(&self.text("MINUTEHAND_TARGETS").unwrap_or_default())?)
    }

    /// Where to export to, if anywhere.
    pub fn otlp(&self) -> Result<Option<minutehand_otel::Settings>, SettingError> {
        Ok(minutehand_otel::Settings::read(&|name| self.text(name), None)?)
    }

    /// The addresses that targets may have. A function never reaches its own machine, whatever is set.
    pub fn reach(&self) -> Result<Reach, SettingError> {
        let asked = self.or("MINUTEHAND_REACH", "public or private", TargetReach(Reach::Public))?.0;
        Ok(self.bounded(asked))
    }

    /// The part of a reach that this process may have.
    pub fn bounded(&self, asked: Reach) -> Reach {
        let bounded = if self.is_a_function() { asked.min(Reach::OF_A_FUNCTION) } else { asked };
        if bounded != asked {
            tracing::warn!(asked = asked.as_str(), reach = bounded.as_str(), "a function never calls its own machine");
        }
        bounded
    }

    /// Lambda reserves the name of this variable: no deployment can set or hide it.
    fn is_a_function(&self) -> bool {
        (self.0)("AWS_LAMBDA_RUNTIME_API").is_some()
    }
}

impl fmt::Debug for Environment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Environment")
    }
}

const fn queue_variable(lane: Lane) -> &'static str {
    match (lane.priority, lane.length) {
        (Priority::Critical, Length::Short) => "MINUTEHAND_QUEUE_CRITICAL",
        (Priority::Critical, Length::Long) => "MINUTEHAND_QUEUE_CRITICAL_LONG",
        (Priority::High, Length::Short) => "MINUTEHAND_QUEUE_HIGH",
        (Priority::High, Length::Long) => "MINUTEHAND_QUEUE_HIGH_LONG",
        (Priority::Normal, Length::Short) => "MINUTEHAND_QUEUE_NORMAL",
        (Priority::Normal, Length::Long) => "MINUTEHAND_QUEUE_NORMAL_LONG",
        (Priority::Low, Length::Short) => "MINUTEHAND_QUEUE_LOW",
        (Priority::Low, Length::Long) => "MINUTEHAND_QUEUE_LOW_LONG",
    }
}

/// A word without blanks.
struct Text(String);

struct RunsIndex(Listing);

struct Early(Duration);

struct TargetReach(Reach);

impl FromStr for Text {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if text.chars().any(char::is_whitespace) { Err(()) } else { Ok(Self(text.to_owned())) }
    }
}

impl FromStr for RunsIndex {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "on" => Ok(Self(Listing::ByHour)),
            "off" => Ok(Self(Listing::Off)),
            _ => Err(()),
        }
    }
}

impl FromStr for Early {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse()
            .ok()
            .filter(|seconds| *seconds <= EARLY_SECONDS)
            .map(|seconds| Self(Duration::from_secs(seconds)))
            .ok_or(())
    }
}

impl FromStr for TargetReach {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn all() -> BTreeMap<&'static str, &'static str> {
        BTreeMap::from([
            ("MINUTEHAND_STATE_TABLE", "state"),
            ("MINUTEHAND_TIMERS_TABLE", "timers"),
            ("MINUTEHAND_QUEUE_CRITICAL", "https://sqs/1/critical"),
            ("MINUTEHAND_QUEUE_HIGH", "https://sqs/1/high"),
            ("MINUTEHAND_QUEUE_NORMAL", "https://sqs/1/normal"),
            ("MINUTEHAND_QUEUE_LOW", "https://sqs/1/low"),
            ("MINUTEHAND_QUEUE_CRITICAL_LONG", "https://sqs/1/critical-long"),
            ("MINUTEHAND_QUEUE_HIGH_LONG", "https://sqs/1/high-long"),
            ("MINUTEHAND_QUEUE_NORMAL_LONG", "https://sqs/1/normal-long"),
            ("MINUTEHAND_QUEUE_LOW_LONG", "https://sqs/1/low-long"),
        ])
    }

    fn read(name: &'static str, value: &'static str) -> Result<Settings, SettingError> {
        let mut all = all();
        all.insert(name, value);
        Settings::read(&Environment::new(move |name| all.get(name).map(ToString::to_string)))
    }

    #[test]
    fn a_variable_that_is_not_set_has_a_default() {
        let settings = read("MINUTEHAND_BUS", "").unwrap();

        assert_eq!((settings.bus, settings.listing), (None, Listing::ByHour));
        assert_eq!(settings.early, Duration::from_secs(1));
        for lane in Lane::ALL {
            assert_eq!(settings.queues.url(lane), format!("https://sqs/1/{}", lane.as_str()));
        }
    }

    #[test]
    fn each_invalid_setting_is_refused_by_its_name() {
        for (name, value) in [
            ("MINUTEHAND_STATE_TABLE", ""),
            ("MINUTEHAND_TIMERS_TABLE", "two words"),
            ("MINUTEHAND_QUEUE_LOW", ""),
            ("MINUTEHAND_QUEUE_HIGH_LONG", ""),
            ("MINUTEHAND_RUNS_INDEX", "yes"),
            ("MINUTEHAND_EARLY_SECONDS", "-1"),
            ("MINUTEHAND_EARLY_SECONDS", "31"),
            ("MINUTEHAND_TRACE_RATIO", "1.1"),
        ] {
            let refused = read(name, value).unwrap_err().to_string();
            assert!(refused.starts_with(name) && refused.contains("must be"), "{refused}");
        }
    }

    fn reach(asked: &'static str, runtime: Option<&'static str>) -> Result<Reach, SettingError> {
        let lookup = move |name: &str| match name {
            "MINUTEHAND_REACH" => Some(asked.to_owned()),
            "AWS_LAMBDA_RUNTIME_API" => runtime.map(str::to_owned),
            _ => None,
        };
        Environment::new(lookup).reach()
    }

    #[test]
    fn private_targets_are_called_only_where_the_deployment_allows_them() {
        for (asked, allowed) in [("", Reach::Public), ("public", Reach::Public), ("private", Reach::Private)] {
            assert_eq!(reach(asked, None), Ok(allowed), "{asked:?}");
            assert_eq!(reach(asked, Some("127.0.0.1:9001")), Ok(allowed), "{asked:?}");
        }
        assert!(reach("everything", None).is_err());
    }

    /// There it is the runtime's own API, which hands out what every tenant's hints say. Tried: without `bounded`, both words
    /// reach it.
    #[test]
    fn a_function_never_reaches_its_own_machine_whatever_is_set() {
        for asked in ["loopback", "local"] {
            assert_eq!(reach(asked, None), Ok(Reach::Loopback));
            assert_eq!(reach(asked, Some("127.0.0.1:9001")), Ok(Reach::Private));
        }
    }
}
