//! The state of the API: what one process needs to answer requests, beside the ports.

use std::fmt;
use std::sync::Arc;

use minutehand_domain::id::Tenant;
use minutehand_domain::target::{HttpTarget, Target};
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::targets::{Declared, TargetRefusal};
use minutehand_wire as wire;

use crate::backup::Backups;
use crate::body_budget::BodyBudget;
use crate::health::LastLook;
use crate::key_uses::KeyUses;
use crate::keyring::Keyring;
use crate::meters::Meters;
use crate::metrics::Metrics;
use crate::pools::NamedPools;
use crate::presences::Presences;
use crate::problem::Problem;
use crate::refusals::Refusals;
use crate::strangers::Strangers;

pub(crate) struct AppState<D> {
    pub ports: Arc<D>,
    pub keys: Keyring,
    pub key_uses: KeyUses,
    pub presences: Arc<Presences>,
    pub pools: NamedPools,
    pub target_check: TargetCheck,
    pub meters: Meters,
    pub refusals: Refusals,
    pub strangers: Strangers,
    pub health: LastLook,
    /// The memory that request bodies share.
    pub body_budget: BodyBudget,
    pub metrics: Option<Metrics>,
    pub backups: Option<Backups>,
}

impl<D: Ports> AppState<D> {
    /// A problem that stands within an answer, where who looks at the whole answer would not see it: counted and told as that of a request is.
    pub(crate) fn problem_within(&self, tenant: &Tenant, problem: &Problem, request: &str) -> wire::Problem {
        if let Some(over) = problem.over {
            self.ports.events().emit(&Event::Refused { over });
            self.refusals.note(tenant, over, self.ports.clock().now());
        }
        if let Some(fault) = &problem.fault {
            tracing::error!(request, %fault, "a part of a request met a fault");
        }
        problem.with_request_id(request)
    }
}

/// Whether this deployment may call a target, as far as that is known when the job is created.
#[derive(Clone)]
pub struct TargetCheck {
    http: Arc<Check>,
    pub(crate) declared: Declared,
}

type Check = dyn Fn(&HttpTarget) -> Result<(), TargetRefusal> + Send + Sync;

impl TargetCheck {
    pub fn new(check: impl Fn(&HttpTarget) -> Result<(), TargetRefusal> + Send + Sync + 'static) -> Self {
        Self { http: Arc::new(check), declared: Declared::default() }
    }

    /// With what the operator declared.
    #[must_use]
    pub fn declaring(self, declared: Declared) -> Self {
        Self { declared, ..self }
    }

    /// The field at fault, and why.
    pub(crate) fn check(&self, tenant: &Tenant, target: &Target) -> Result<(), (&'static str, String)> {
        let checked = match target {
            Target::Http(http) => (self.http)(http),
            Target::Service(service) => self.declared.find(tenant, service).map(|_where_it_leads| ()),
            Target::Noop | Target::Workflow(_) | Target::Worker(_) => Ok(()),
        };
        checked.map_err(|TargetRefusal { field, detail }| (field, detail))
    }
}

impl fmt::Debug for TargetCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TargetCheck")
    }
}
