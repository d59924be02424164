//! The clock: what time it is, and waiting until it is later.

use std::future::Future;
use std::time::Duration;

use minutehand_domain::Moment;

pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Moment;
    /// How long this process has been at it, whatever its clock was set to meanwhile: two of these say how much time lies between them. Where
    /// nobody sets the clock, the clock says it.
    fn steady(&self) -> Duration {
        self.now().since(Moment::EPOCH)
    }
    fn sleep_until(&self, moment: Moment) -> impl Future<Output = ()> + Send;
    /// For so long, whatever the clock is set to meanwhile. Where nobody sets the clock, it says when that is over.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send {
        self.sleep_until(self.now() + time)
    }
}

#[cfg(any(feature = "aws", feature = "embedded"))]
pub use system::SystemClock;

#[cfg(any(feature = "aws", feature = "embedded"))]
mod system {
    use std::sync::LazyLock;
    use std::time::{Duration, Instant, SystemTime};

    use super::{Clock, Future, Moment};

    /// The operating system's clock.
    #[derive(Clone, Copy, Debug, Default)]
    pub struct SystemClock;

    /// A wall clock may be set during a sleep; no sleeper is late by more than this.
    const LONGEST_NAP: Duration = Duration::from_secs(30);

    impl Clock for SystemClock {
        fn now(&self) -> Moment {
            let since_epoch = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            Moment::EPOCH + since_epoch
        }

        fn steady(&self) -> Duration {
            static BEGUN: LazyLock<Instant> = LazyLock::new(Instant::now);
            BEGUN.elapsed()
        }

        fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send {
            tokio::time::sleep(time)
        }

        fn sleep_until(&self, moment: Moment) -> impl Future<Output = ()> + Send {
            async move {
                loop {
                    let left = moment.since(self.now());
                    if left.is_zero() {
                        return;
                    }
                    tokio::time::sleep(left.min(LONGEST_NAP)).await;
                }
            }
        }
    }
}
