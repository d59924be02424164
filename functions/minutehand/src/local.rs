//! The ports of one machine: an embedded store, queues in memory, HTTP targets, and the system's clock and chance.

use std::fmt;
use std::sync::Arc;

use minutehand_domain::id::Worker;
use minutehand_domain::run::Claimant;
use minutehand_domain::trace::Sampling;
use minutehand_io::Ports;
use minutehand_io::chance::{Chance as _, SystemChance};
use minutehand_io::clock::SystemClock;
use minutehand_io::events::Log;
use minutehand_io::metrics::measured::Measured;
use minutehand_io::plans::Plans;
use minutehand_io::queues::embedded::EmbeddedQueues;
use minutehand_io::quotas::Quotas;
use minutehand_io::rules::Rules;
use minutehand_io::spans::Spanned;
use minutehand_io::store::Store;
use minutehand_io::targets::Callers;
use minutehand_io::targets::http::HttpCaller;
use minutehand_io::vault::key_file::KeyFile;

use crate::targets::Services;

/// The ports over a store in a file or in memory.
pub(crate) struct Local<S> {
    store: Arc<S>,
    queues: EmbeddedQueues<SystemClock>,
    targets: Callers<HttpCaller, S, Services>,
    vault: KeyFile,
    events: Measured<Spanned<Log>>,
    plans: Plans,
    quotas: Quotas,
    rules: Rules,
    sampling: Sampling,
    me: Claimant,
}

impl<S: Store> Local<S> {
    /// This process has the embedded store to itself, so a lease of any other worker belongs to a dead process.
    pub(crate) fn new(
        store: Arc<S>,
        http: HttpCaller,
        services: Services,
        vault: KeyFile,
        events: Measured<Spanned<Log>>,
    ) -> Self {
        let me = Claimant { worker: Worker(SystemChance.number()), exclusive_store: true };
        let targets = Callers::with(http, services, Arc::clone(&store));
        Self {
            store,
            queues: EmbeddedQueues::new(SystemClock),
            targets,
            vault,
            events,
            plans: Plans::default(),
            quotas: Quotas::default(),
            rules: Rules::default(),
            sampling: Sampling::default(),
            me,
        }
    }

    /// The same, which keeps this part of the traces.
    #[must_use]
    pub(crate) fn sampling(self, sampling: Sampling) -> Self {
        Self { sampling, ..self }
    }
}

impl<S: Store> Ports for Local<S> {
    type Store = S;
    type Queues = EmbeddedQueues<SystemClock>;
    type Targets = Callers<HttpCaller, S, Services>;
    type Vault = KeyFile;
    type Events = Measured<Spanned<Log>>;
    type Clock = SystemClock;
    type Chance = SystemChance;

    fn store(&self) -> &S {
        &self.store
    }

    fn queues(&self) -> &EmbeddedQueues<SystemClock> {
        &self.queues
    }

    fn targets(&self) -> &Callers<HttpCaller, S, Services> {
        &self.targets
    }

    fn vault(&self) -> &KeyFile {
        &self.vault
    }

    fn events(&self) -> &Measured<Spanned<Log>> {
        &self.events
    }

    fn clock(&self) -> &SystemClock {
        &SystemClock
    }

    fn chance(&self) -> &SystemChance {
        &SystemChance
    }

    fn plans(&self) -> &Plans {
        &self.plans
    }

    fn quotas(&self) -> &Quotas {
        &self.quotas
    }

    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn sampling(&self) -> Sampling {
        self.sampling
    }

    fn me(&self) -> Claimant {
        self.me
    }
}

impl<S> fmt::Debug for Local<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Local as {}", self.me.worker)
    }
}
