//! All ports in one trait. The handlers are generic over it.

use minutehand_domain::run::Claimant;
use minutehand_domain::trace::Sampling;

use crate::chance::Chance;
use crate::clock::Clock;
use crate::events::Events;
use crate::plans::Plans;
use crate::queues::Queues;
use crate::quotas::Quotas;
use crate::rules::Rules;
use crate::store::Store;
use crate::targets::Targets;
use crate::vault::Vault;

pub trait Ports: Send + Sync + 'static {
    type Store: Store;
    type Queues: Queues;
    type Targets: Targets;
    type Vault: Vault;
    type Events: Events;
    type Clock: Clock;
    type Chance: Chance;

    fn store(&self) -> &Self::Store;
    fn queues(&self) -> &Self::Queues;
    fn targets(&self) -> &Self::Targets;
    fn vault(&self) -> &Self::Vault;
    fn events(&self) -> &Self::Events;
    fn clock(&self) -> &Self::Clock;
    fn chance(&self) -> &Self::Chance;
    /// The plans that this process has compiled.
    fn plans(&self) -> &Plans;
    /// What this process remembers of quotas.
    fn quotas(&self) -> &Quotas;
    /// And of rules of notifications.
    fn rules(&self) -> &Rules;

    /// Which part of the traces this process keeps that nobody decided about before.
    fn sampling(&self) -> Sampling {
        Sampling::ALL
    }

    /// This process as a claimant of runs, and whether it has the store to itself.
    fn me(&self) -> Claimant;
}
