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

queue_facts! { #[tokio::test] Sqs::make }

/// Short, because facts wait it out.
const VISIBILITY: Duration = Duration::from_secs(5);

/// Queues of their own on a ministack of their own: it starts in less time than one fact waits.
struct Sqs {
    queues: Arc<SqsQueues<SystemClock>>,
    _aws: Ministack,
}

impl Sqs {
    async fn make() -> Option<Self> {
        let aws = Ministack::start(Authorization::Off)?;
        let client = aws.sqs();
        let queues = make_queues(&client).await;
        let queues = SqsQueues::new(client, queues, SystemClock, EARLY).with_visibility(VISIBILITY);
        Some(Self { queues: Arc::new(queues), _aws: aws })
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
        VISIBILITY
    }

    /// As wished, and rounded down to the second.
    fn early(&self) -> Duration {
        EARLY + Duration::from_secs(1)
    }

    /// Rounded up to the second; ministack looks every tenth of one, and the machine may be busy.
    fn late(&self) -> Duration {
        Duration::from_millis(2500)
    }
}
