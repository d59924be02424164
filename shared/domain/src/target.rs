//! A target: what an attempt calls.

mod credential;
mod service;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use self::credential::names_a_credential;
pub use self::service::{AliasName, Asks, ServiceKind, ServiceTarget};
use crate::limits::DEFAULT_CONNECT_SECONDS;
use crate::pool::{HandlerName, PoolName};
use crate::secret::SecretName;
use crate::workflow::WorkflowId;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    Http(HttpTarget),
    /// Does nothing and succeeds: for trying schedules out, and for measuring everything but the target.
    Noop,
    /// Its tasks are carried out, each as a run of its own. What a run is given are the workflow's parameters.
    Workflow(WorkflowTarget),
    /// A worker of a pool takes it and carries it out.
    Worker(WorkerTarget),
    /// What the operator declared under an alias is asked for.
    Service(ServiceTarget),
}

impl Target {
    /// Which kind it is, in a word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Http(_) => "http",
            Self::Noop => "noop",
            Self::Workflow(_) => "workflow",
            Self::Worker(_) => "worker",
            Self::Service(service) => service.asks.kind().as_str(),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkerTarget {
    pub pool: PoolName,
    /// What the worker is to do.
    pub handler: HandlerName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorkflowTarget {
    pub id: WorkflowId,
    /// None: the newest when a run is claimed.
    pub version: Option<u32>,
}

#[derive(Clone, PartialEq, Eq)]
pub struct HttpTarget {
    pub url: String,
    pub method: Method,
    pub headers: BTreeMap<String, Header>,
    pub timeouts: Timeouts,
}

/// How long the phases of a call may take, where the job says so. The whole takes as long as the job's terms say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timeouts {
    /// Name, connection and TLS together.
    pub connect: Option<Duration>,
    /// From the beginning of the call until the head of an answer is there.
    pub first_byte: Option<Duration>,
}

/// What a header of a call says.
#[derive(Clone, PartialEq, Eq)]
pub enum Header {
    Text(String),
    /// What the tenant's secret of this name says when the call is made.
    Secret(SecretName),
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    Get,
    #[default]
    Post,
    Put,
    Patch,
    Delete,
}

impl Target {
    /// Whose workers carry it out, where workers do.
    pub fn pool(&self) -> Option<&PoolName> {
        match self {
            Self::Worker(worker) => Some(&worker.pool),
            Self::Http(_) | Self::Noop | Self::Workflow(_) | Self::Service(_) => None,
        }
    }

    /// Whether an executor calls it, and what it is given is more than a look: a worker takes runs itself, and a workflow's tasks travel by themselves.
    pub const fn is_called(&self) -> bool {
        match self {
            Self::Http(_) | Self::Noop | Self::Service(_) => true,
            Self::Worker(_) | Self::Workflow(_) => false,
        }
    }

    /// The secrets that a call needs.
    pub fn secrets(&self) -> BTreeSet<SecretName> {
        match self {
            Self::Http(http) => http.secrets(),
            Self::Noop | Self::Workflow(_) | Self::Worker(_) | Self::Service(_) => BTreeSet::new(),
        }
    }
}

impl Timeouts {
    /// What a call has for its name, connection and TLS where nobody says: a host that does not answer a SYN in this time is down, and a
    /// retry with backoff serves better than a longer wait.
    pub const CONNECT: Duration = Duration::from_secs(DEFAULT_CONNECT_SECONDS);

    pub fn connect(&self) -> Duration {
        self.connect.unwrap_or(Self::CONNECT)
    }

    pub const fn is_said(&self) -> bool {
        self.connect.is_some() || self.first_byte.is_some()
    }
}

/// The host of an address with its port, and what stands behind that.
pub fn host_and_rest(url: &str) -> (&str, &str) {
    let behind_scheme = url.split_once("://").map_or(url, |(_scheme, behind)| behind);
    behind_scheme.split_at(behind_scheme.find(['/', '?', '#']).unwrap_or(behind_scheme.len()))
}

impl HttpTarget {
    /// The secrets that its headers name.
    pub fn secrets(&self) -> BTreeSet<SecretName> {
        self.headers.values().filter_map(Header::secret).cloned().collect()
    }

    /// What its headers say that are shown to nobody.
    pub fn credentials(&self) -> Vec<&str> {
        let credentials = self.headers.iter().filter(|(name, _)| names_a_credential(name));
        credentials.filter_map(|(_, header)| header.text()).collect()
    }

    /// The header of this name, however it is spelled.
    pub fn header(&self, name: &str) -> Option<&Header> {
        self.headers.iter().find(|(other, _)| other.eq_ignore_ascii_case(name)).map(|(_, header)| header)
    }
}

impl Header {
    /// What it says, where it says so itself.
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Secret(_) => None,
        }
    }

    pub fn secret(&self) -> Option<&SecretName> {
        match self {
            Self::Text(_) => None,
            Self::Secret(name) => Some(name),
        }
    }
}

impl From<&str> for Header {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

/// What a header says may be a credential: nothing of it goes into a log.
impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(_) => f.write_str("Text"),
            Self::Secret(name) => write!(f, "Secret({})", name.as_str()),
        }
    }
}

impl fmt::Debug for HttpTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {:?}", self.method.as_str(), self.url, self.headers)
    }
}

impl Method {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}
