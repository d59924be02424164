//! Files: a process may have so many open, and so may its machine. Where none is left, that says nothing of a name or of an address: other calls end, and
//! what needs a file waits for one.

use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

use tokio::time::sleep;

/// A process that has all its files open has many calls under way, and some of them end meanwhile.
const AGAIN_AFTER: Duration = Duration::from_millis(100);
/// None is left to the process, and none to the machine: the numbers of every Unix, for which `std` has no names.
const EMFILE: i32 = 24;
const ENFILE: i32 = 23;

/// Opens it once there is a file for it. How long that may take is the caller's to say.
pub(super) async fn once_one_is_free<T, F>(open: impl Fn() -> F) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    loop {
        match open().await {
            Err(error) if none_was_left(&error) => sleep(AGAIN_AFTER).await,
            opened => return opened,
        }
    }
}

/// Waits until there is a file, as `has_one` sees it.
pub(super) async fn until(has_one: fn() -> bool) {
    while !has_one() {
        sleep(AGAIN_AFTER).await;
    }
}

/// Whether a socket could be opened now.
pub(super) fn is_one_free() -> bool {
    UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map_or_else(|error| !none_was_left(&error), |_| true)
}

fn none_was_left(error: &io::Error) -> bool {
    cfg!(unix) && matches!(error.raw_os_error(), Some(EMFILE | ENFILE))
}

/// The error of a process that has no file left.
#[cfg(test)]
pub(super) fn none_left() -> io::Error {
    io::Error::from_raw_os_error(EMFILE)
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::future::ready;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn what_finds_no_file_is_tried_again_until_there_is_one() {
        for none in [EMFILE, ENFILE] {
            let (begin, tries) = (Instant::now(), Cell::new(0));
            let opened = once_one_is_free(|| {
                tries.set(tries.get() + 1);
                ready(if tries.get() > 3 { Ok(()) } else { Err(io::Error::from_raw_os_error(none)) })
            });

            assert!(opened.await.is_ok());
            assert_eq!((tries.get(), begin.elapsed()), (4, 3 * AGAIN_AFTER));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_for_another_reason_fails_at_once() {
        let begin = Instant::now();

        let refused = once_one_is_free(|| ready(Err::<(), _>(io::ErrorKind::ConnectionRefused.into()))).await;

        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
        assert_eq!(begin.elapsed(), Duration::ZERO);
    }
}
