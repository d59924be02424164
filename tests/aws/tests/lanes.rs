//! Lanes on SQS: the facts that hold of all lanes, on ministack and in real time; and what no emulator does, against an SQS
//! that does as it is told.

#[path = "lanes/batches.rs"]
mod batches;
#[path = "lanes/queues.rs"]
mod queues;
#[path = "lanes/receiving.rs"]
mod receiving;

use std::sync::Arc;
use std::time::Duration;

use minutehand_aws_tests::ministack::{Authorization, Ministack};
use minutehand_io::clock::SystemClock;
use minutehand_io::lanes::sqs::{EARLY, SqsLanes};
use minutehand_tests::conformance::lanes::Arena;
use minutehand_tests::lane_facts;

use self::queues::make_queues;

lane_facts! { #[tokio::test] Sqs::make }

/// Short, because facts wait it out.
const VISIBILITY: Duration = Duration::from_secs(5);

/// Lanes of their own on a ministack of their own: it starts in less time than one fact waits.
struct Sqs {
    lanes: Arc<SqsLanes<SystemClock>>,
    _aws: Ministack,
}

impl Sqs {
    async fn make() -> Option<Self> {
        let aws = Ministack::start(Authorization::Off)?;
        let client = aws.sqs();
        let queues = make_queues(&client).await;
        let lanes = SqsLanes::new(client, queues, SystemClock, EARLY).with_visibility(VISIBILITY);
        Some(Self { lanes: Arc::new(lanes), _aws: aws })
    }
}

impl Arena for Sqs {
    type Lanes = SqsLanes<SystemClock>;
    type Clock = SystemClock;

    fn lanes(&self) -> &Arc<SqsLanes<SystemClock>> {
        &self.lanes
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
