//! A courier: whoever asks for the same thing of the same queue at the same time travels with one request of up to ten.
//!
//! There is no timer that makes a lone one wait. It goes at once; who comes while it is under way goes together when it is
//! back, and ten need not wait for that. So an idle queue is as quick as SQS, and a busy one costs a tenth.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};
use tokio::task::{JoinSet, yield_now};
use tokio::time::{Instant, sleep_until};

use super::{PORT, message};
use crate::Fault;

/// What SQS takes in one batch.
const PARCELS: usize = 10;
/// Requests of one kind under way to one queue at a time: at 10 ms each, 16,000 hints a second.
const AT_ONCE: usize = 16;
/// Nobody waits longer for another's request to come back before a request of its own starts: one that is stuck must not
/// hold up the others, and a healthy one takes a tenth of this.
const PATIENCE: Duration = Duration::from_millis(100);

/// One kind of request to one queue.
pub(super) trait Route: Send + Sync + 'static {
    type Parcel: Send + Sync + 'static;

    /// What a parcel adds to the size of a request.
    fn bytes(parcel: &Self::Parcel) -> usize;

    /// One request: an answer to each parcel, in their order, or one fault that all of them met.
    fn carry(&self, parcels: &[Self::Parcel]) -> impl Future<Output = Result<Vec<Result<(), Fault>>, Fault>> + Send;
}

pub(super) struct Courier<R: Route> {
    office: Arc<Office<R>>,
}

struct Office<R: Route> {
    route: R,
    desk: Mutex<Desk<R::Parcel>>,
    /// Somebody has come to the desk.
    bell: Notify,
}

/// Who waits to be carried.
struct Desk<P> {
    waiting: VecDeque<Waiting<P>>,
    /// A courier is at work and will look here again.
    attended: bool,
}

struct Waiting<P> {
    parcel: P,
    bytes: usize,
    since: Instant,
    answer: oneshot::Sender<Result<(), Fault>>,
}

impl<R: Route> Courier<R> {
    pub(super) fn new(route: R) -> Self {
        let desk = Mutex::new(Desk { waiting: VecDeque::new(), attended: false });
        Self { office: Arc::new(Office { route, desk, bell: Notify::new() }) }
    }

    /// Has a parcel carried, and says what became of it. The request is not the caller's own: a caller that is dropped
    /// takes nobody down with it, and its parcel is left behind if it has not gone yet.
    pub(super) async fn take(&self, parcel: R::Parcel) -> Result<(), Fault> {
        let (answer, answered) = oneshot::channel();
        let bytes = R::bytes(&parcel);
        let was_attended = self.office.desk().leave(Waiting { parcel, bytes, since: Instant::now(), answer });
        if was_attended {
            self.office.bell.notify_one();
        } else {
            tokio::spawn(Arc::clone(&self.office).attend());
        }
        answered.await.unwrap_or_else(|_gone| Err(Fault::unavailable(PORT, "the request was given up")))
    }
}

impl<R: Route> Office<R> {
    /// Carries until nobody waits and nothing is under way.
    async fn attend(self: Arc<Self>) {
        let mut under_way = JoinSet::new();
        loop {
            // Who comes at this very moment comes along.
            yield_now().await;
            while let Some(batch) = self.desk().batch(under_way.len(), Instant::now()) {
                under_way.spawn(Arc::clone(&self).deliver(batch));
            }
            if under_way.is_empty() && self.desk().leave_unattended() {
                return;
            }
            let patient = self.desk().patient_until().filter(|_| under_way.len() < AT_ONCE);
            tokio::select! {
                Some(_back) = under_way.join_next() => {}
                () = self.bell.notified() => {}
                () = sleep_until(patient.unwrap_or_else(Instant::now)), if patient.is_some() => {}
            }
        }
    }

    async fn deliver(self: Arc<Self>, batch: Vec<Waiting<R::Parcel>>) {
        let (parcels, waiting): (Vec<_>, Vec<_>) =
            batch.into_iter().filter(Waiting::is_wanted).map(|waiting| (waiting.parcel, waiting.answer)).unzip();
        if parcels.is_empty() {
            return;
        }
        let answers = match self.route.carry(&parcels).await {
            Ok(answers) => answers,
            Err(fault) => vec![Err(fault); parcels.len()],
        };
        for (waiting, answer) in waiting.into_iter().zip(answers) {
            let _nobody_waits_any_more = waiting.send(answer);
        }
    }

    fn desk(&self) -> MutexGuard<'_, Desk<R::Parcel>> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<P> Desk<P> {
    /// Says whether a courier was at work; if not, one must be sent for.
    fn leave(&mut self, waiting: Waiting<P>) -> bool {
        self.waiting.push_back(waiting);
        std::mem::replace(&mut self.attended, true)
    }

    /// Says whether the courier may go: nobody waits.
    fn leave_unattended(&mut self) -> bool {
        self.attended = !self.waiting.is_empty();
        !self.attended
    }

    /// Until when the first who waits is content to.
    fn patient_until(&self) -> Option<Instant> {
        self.waiting.front().map(|first| first.since + PATIENCE)
    }

    /// Whose request starts now, while others are under way.
    fn batch(&mut self, under_way: usize, now: Instant) -> Option<Vec<Waiting<P>>> {
        let fitting = self.fitting();
        let full = fitting == PARCELS || fitting < self.waiting.len();
        let impatient = self.patient_until().is_some_and(|patient| now >= patient);
        let goes = fitting > 0 && under_way < AT_ONCE && (under_way == 0 || full || impatient);
        goes.then(|| self.waiting.drain(..fitting).collect())
    }

    /// How many of those who wait one request takes: always the first, whose own size the port has looked at.
    fn fitting(&self) -> usize {
        let sizes = self.waiting.iter().take(PARCELS).map(|waiting| waiting.bytes);
        let together = sizes.scan(0, |sum, bytes| {
            *sum += bytes;
            Some(*sum)
        });
        together.enumerate().take_while(|(place, bytes)| *place == 0 || *bytes <= message::BYTES).count()
    }
}

impl<P> Waiting<P> {
    fn is_wanted(&self) -> bool {
        !self.answer.is_closed()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A desk where somebody waits with each of these sizes, since now.
    fn desk(sizes: &[usize], now: Instant) -> Desk<()> {
        let waiting = |bytes: &usize| Waiting { parcel: (), bytes: *bytes, since: now, answer: oneshot::channel().0 };
        Desk { waiting: sizes.iter().map(waiting).collect(), attended: true }
    }

    #[test]
    fn who_waits_goes_alone_when_nothing_is_under_way_and_otherwise_by_tens() {
        let now = Instant::now();
        for (waiting, under_way, goes) in [
            (0, 0, None),
            (1, 0, Some(1)),
            (1, 1, None),
            (9, 1, None),
            (10, 1, Some(10)),
            (25, 0, Some(10)),
            (25, AT_ONCE - 1, Some(10)),
            (25, AT_ONCE, None),
        ] {
            let batch = desk(&vec![400; waiting], now).batch(under_way, now);
            assert_eq!(batch.map(|batch| batch.len()), goes, "{waiting} wait, {under_way} under way");
        }
    }

    /// Tried: without the look at how long the first has waited, it waits for a request that is stuck.
    #[test]
    fn nobody_waits_for_a_request_that_is_stuck() {
        let now = Instant::now();

        assert!(desk(&[400], now).batch(1, now + PATIENCE - Duration::from_millis(1)).is_none());
        assert!(desk(&[400], now).batch(1, now + PATIENCE).is_some());
        assert!(desk(&[400], now).batch(AT_ONCE, now + PATIENCE).is_none(), "there is an end to it");
    }

    #[test]
    fn a_batch_is_never_larger_than_one_message_may_be() {
        let now = Instant::now();
        for (sizes, goes) in [
            (vec![message::BYTES * 2], 1),
            (vec![message::BYTES, 1], 1),
            (vec![message::BYTES / 2, message::BYTES / 2, 1], 2),
            (vec![message::BYTES / 10; 11], 10),
        ] {
            assert_eq!(desk(&sizes, now).batch(0, now).map(|batch| batch.len()), Some(goes), "{sizes:?}");
        }
    }
}
