//! Targets: what an attempt calls.

pub mod callers;
pub mod declared;
#[cfg(feature = "http")]
pub mod http;
mod known_secrets;
mod known_values;
mod material;
mod secrets;
#[cfg(all(feature = "aws", feature = "http"))]
pub mod services;
#[cfg(feature = "http")]
mod stamps;
mod veto;

pub use callers::{Callers, NoServices, Services, Transport};
pub use declared::{DeclarationError, Declared};
pub use known_secrets::KNOWN_FOR;
pub use known_values::VALUE_KNOWN_FOR;
pub use material::{Material, NoValue};
pub use secrets::signing_secrets;
pub use veto::veto_in;

use std::future::Future;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::order::TaskName;
use minutehand_domain::run::AttemptError;
use minutehand_domain::run::lease_id::LeaseId;
use minutehand_domain::target::Target;
use minutehand_domain::trace::TraceContext;

use crate::Fault;
use crate::chance::Chance;
use crate::vault::Vault;

/// Why a target may not be called, as far as that is known without calling it: the field at fault, and a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetRefusal {
    pub field: &'static str,
    pub detail: String,
}

pub trait Targets: Send + Sync + 'static {
    /// Reads whatever a call takes beside its order. It is done before the claim: a fault here is the world's, costs no attempt
    /// and gives the hint back. Most targets take nothing.
    fn prepare(
        &self,
        _upcoming: Upcoming<'_>,
        _chance: &impl Chance,
        _vault: &impl Vault,
    ) -> impl Future<Output = Result<Material, Fault>> + Send {
        async { Ok(Material::default()) }
    }

    /// Makes one call within `call.timeout` and returns its outcome. Every failure is an answer, never a fault.
    fn call(&self, call: Call<'_>) -> impl Future<Output = Answer> + Send;
}

/// A call that is about to be claimed.
#[derive(Clone, Copy, Debug)]
pub struct Upcoming<'a> {
    pub target: &'a Target,
    pub tenant: &'a Tenant,
    pub payload: Option<&'a Json>,
    pub now: Moment,
}

#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    pub target: &'a Target,
    pub tenant: &'a Tenant,
    pub run: RunKey,
    /// From 1.
    pub attempt: u32,
    pub scheduled_at: Moment,
    pub now: Moment,
    pub payload: Option<&'a Json>,
    /// The run whose end brought it about, where one did.
    pub follows: Option<RunKey>,
    /// The span that it is: whoever is called goes on below it.
    pub trace: &'a TraceContext,
    /// Which task of a workflow it is, where it is one.
    pub task: Option<&'a TaskName>,
    /// What was read for it before the claim.
    pub material: &'a Material,
    pub timeout: Duration,
    /// Under which the target can say later how it went, if it takes the run on.
    pub lease: LeaseId,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    Succeeded {
        result: Option<Json>,
    },
    /// The target has taken it on, and says later how it went: by the call's lease, with this token.
    Accepted {
        token: String,
    },
    Failed {
        error: AttemptError,
        retry_after: Option<Duration>,
    },
    TimedOut,
}

impl Answer {
    /// How the call went, in a word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Succeeded { .. } => "succeeded",
            Self::Accepted { .. } => "accepted",
            Self::Failed { .. } => "failed",
            Self::TimedOut => "timed_out",
        }
    }
}
