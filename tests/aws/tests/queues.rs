//! Queues on SQS: the facts that hold of all queues, on ministack and in real time; and what no emulator does, against an SQS
//! that does as it is told.

#[path = "queues/batches.rs"]
mod batches;
#[path = "queues/queues.rs"]
mod queues;
#[path = "queues/receiving.rs"]
mod receiving;

use std::sync::Arc;
use std::time::Duration;

use minutehand_aws_tests::ministack::{Authorization, Ministack};
use minutehand_io::clock::SystemClock;
use minutehand_io::queues::sqs::{EARLY, SqsQueues};
use minutehand_tests::conformance::queues::Arena;
use minutehand_tests::queue_facts;

use self::queues::make_queues;

queue_facts! { #[tokio::test] Sqs::hiding, Sqs::hiding_briefly }

/// Much longer than deliveries may be late: what comes for nothing but that it is over comes too late.
const VISIBILITY: Duration = Duration::from_secs(45);
/// For the facts that wait it out: longer than a busy machine takes to hide what it has received.
const BRIEF_VISIBILITY: Duration = Duration::from_secs(10);
/// What is hidden is hidden for whole seconds, ministack looks every tenth of one, and the machine may be busy. Less than what is left of a poll of
/// twenty seconds when the fact of the waiting receiver sends: a poll that goes on to its end comes too late.
const LATE: Duration = Duration::from_secs(15);

/// Queues of their own on a ministack of their own: it starts in less time than one fact waits.
struct Sqs {
    queues: Arc<SqsQueues<SystemClock>>,
    visibility: Duration,
    _aws: Ministack,
}

impl Sqs {
    async fn hiding() -> Option<Self> {
        Self::hiding_for(VISIBILITY).await
    }

    async fn hiding_briefly() -> Option<Self> {
        Self::hiding_for(BRIEF_VISIBILITY).await
    }

    async fn hiding_for(visibility: Duration) -> Option<Self> {
        let aws = Ministack::start(Authorization::Off)?;
        let client = aws.sqs();
        let queues = make_queues(&client).await;
        let queues = SqsQueues::new(client, queues, SystemClock, EARLY).with_visibility(visibility);
        Some(Self { queues: Arc::new(queues), visibility, _aws: aws })
    }
}

impl Arena for Sqs {
    type Queues = SqsQueues<SystemClock>;
    type Clock = SystemClock;

    fn queues(&self) -> &Arc<SqsQueues<SystemClock>> {
        &self.queues
    }

    fn clock(&self) -> &SystemClock {
        &SystemClock
    }

    fn visibility(&self) -> Duration {
        self.visibility
    }

    /// As wished, and rounded down to the second.
    fn early(&self) -> Duration {
        EARLY + Duration::from_secs(1)
    }

    fn late(&self) -> Duration {
        LATE
    }
}
