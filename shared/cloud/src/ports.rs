//! The ports of AWS: DynamoDB, SQS, EventBridge, and the system's clock and chance.

use std::fmt;
use std::ops::Add as _;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, SdkConfig};
use minutehand_domain::id::Worker;
use minutehand_domain::run::{Claimant, ErrorCode};
use minutehand_domain::trace::Sampling;
use minutehand_io::Ports;
use minutehand_io::chance::{Chance as _, SystemChance};
use minutehand_io::clock::SystemClock;
use minutehand_io::events::bridge::Bus;
use minutehand_io::metrics::measured::Measured;
use minutehand_io::metrics::{Measure, STORE_UNITS, TELEMETRY_DROPPED, THROTTLES, Unmeasured};
use minutehand_io::plans::Plans;
use minutehand_io::queues::sqs::SqsQueues;
use minutehand_io::quotas::Quotas;
use minutehand_io::rules::Rules;
use minutehand_io::spans::{Spanned, Spans};
use minutehand_io::store::dynamo::{DynamoStore, Spent};
use minutehand_io::targets::{Answer, Call, Targets};
use minutehand_io::vault::kms::Kms;

use crate::settings::Settings;

/// A request that AWS does not answer is retried after this, and given up after three times as long: a claim and its record
/// need several requests, and a lease must outlive them.
const ATTEMPT: Duration = Duration::from_secs(3);

/// The longest a flush of events may take.
const FLUSH_WITHIN: Duration = Duration::from_secs(2);

/// The ports of AWS, generic over the targets: only an executor calls any.
pub struct Cloud<T> {
    store: Arc<DynamoStore>,
    queues: SqsQueues<SystemClock>,
    targets: T,
    vault: Kms,
    events: Told,
    metered: Mutex<Metered>,
    plans: Plans,
    quotas: Quotas,
    rules: Rules,
    sampling: Sampling,
    me: Claimant,
}

/// Events become measurements and spans, and go to the bus.
type Told = Measured<Spanned<Arc<Bus>>>;

/// What of the store has been measured.
#[derive(Debug, Default)]
struct Metered {
    spent: Spent,
    throttled: u64,
    /// Events that never reached the bus.
    lost: u64,
}

/// The targets of a process that calls none.
#[derive(Clone, Copy, Debug)]
pub struct NoTargets;

/// The AWS configuration from the usual sources: the environment, the profile.
pub async fn aws() -> SdkConfig {
    let patience = TimeoutConfig::builder().operation_attempt_timeout(ATTEMPT).operation_timeout(3 * ATTEMPT).build();
    aws_config::defaults(BehaviorVersion::latest()).timeout_config(patience).load().await
}

impl<T> Cloud<T> {
    pub fn new(settings: Settings, aws: &SdkConfig, targets: T) -> Self {
        let Settings { tables, queues, bus, listing, early, secrets_key, sampling } = settings;
        let bus = Arc::new(Bus::new(aws_sdk_eventbridge::Client::new(aws), bus));
        Self {
            store: Arc::new(DynamoStore::new(aws_sdk_dynamodb::Client::new(aws), tables, listing)),
            queues: SqsQueues::new(aws_sdk_sqs::Client::new(aws), queues, SystemClock, early),
            targets,
            vault: Kms::new(aws_sdk_kms::Client::new(aws), secrets_key),
            events: Measured::new(Spanned::new(bus, None), Arc::new(Unmeasured)),
            metered: Mutex::default(),
            plans: Plans::default(),
            quotas: Quotas::default(),
            rules: Rules::default(),
            sampling,
            me: Claimant { worker: Worker(SystemChance.number()), exclusive_store: false },
        }
    }

    /// These ports with targets over the same store.
    #[must_use]
    pub fn calling<U>(self, targets: impl FnOnce(Arc<DynamoStore>) -> U) -> Cloud<U> {
        let Self { store, queues, targets: _, vault, events, metered, plans, quotas, rules, sampling, me } = self;
        let targets = targets(Arc::clone(&store));
        Cloud { store, queues, targets, vault, events, metered, plans, quotas, rules, sampling, me }
    }

    /// These ports, whose events are measured into this, and made spans of for whoever keeps them.
    #[must_use]
    pub fn observed(self, into: Arc<dyn Measure>, spans: Option<Arc<dyn Spans>>) -> Self {
        let bus = Arc::clone(self.events.next().next());
        Self { events: Measured::new(Spanned::new(bus, spans), into), ..self }
    }

    /// What the store was asked for, and what was lost on its way to the bus, since this was called before.
    fn measure_what_was_spent(&self) {
        let all = self.store.spent().into_values().fold(Spent::default(), Spent::add);
        let now = Metered { spent: all, throttled: self.store.throttled(), lost: self.events.next().next().lost() };
        let mut metered = self.metered.lock().unwrap_or_else(PoisonError::into_inner);
        let Spent { read_units, write_units, .. } = now.spent - metered.spent;
        #[expect(clippy::cast_precision_loss, reason = "nobody is refused so often, and no more is lost")]
        let [throttled, lost] = [(now.throttled, metered.throttled), (now.lost, metered.lost)]
            .map(|(now, was)| now.saturating_sub(was) as f64);
        *metered = now;
        let measured = [(&STORE_UNITS, "read", read_units), (&STORE_UNITS, "write", write_units)];
        for (metric, what, units) in measured.into_iter().filter(|(_, _, units)| *units > 0.0) {
            self.events.sink().add(metric, &[what], units);
        }
        if throttled > 0.0 {
            self.events.sink().add(&THROTTLES, &[], throttled);
        }
        if lost > 0.0 {
            self.events.sink().add(&TELEMETRY_DROPPED, &["events"], lost);
        }
    }

    /// Sends the buffered events, within a time by which an answer may be delayed. A function is frozen between two
    /// invocations, and one that answers too late is killed: an event is not worth that.
    pub async fn flush_events(&self) {
        if tokio::time::timeout(FLUSH_WITHIN, self.events.next().next().flush()).await.is_err() {
            tracing::warn!("the bus does not answer: some events are lost");
        }
        self.measure_what_was_spent();
    }
}

impl<T: Targets> Ports for Cloud<T> {
    type Store = DynamoStore;
    type Queues = SqsQueues<SystemClock>;
    type Targets = T;
    type Vault = Kms;
    type Events = Told;
    type Clock = SystemClock;
    type Chance = SystemChance;

    fn store(&self) -> &DynamoStore {
        &self.store
    }

    fn queues(&self) -> &SqsQueues<SystemClock> {
        &self.queues
    }

    fn targets(&self) -> &T {
        &self.targets
    }

    fn vault(&self) -> &Kms {
        &self.vault
    }

    fn events(&self) -> &Told {
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

impl Targets for NoTargets {
    async fn call(&self, _call: Call<'_>) -> Answer {
        let error = ErrorCode::Unavailable.error("this process calls no targets");
        Answer::Failed { error, retry_after: None }
    }
}

impl<T> fmt::Debug for Cloud<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cloud as {}", self.me.worker)
    }
}
