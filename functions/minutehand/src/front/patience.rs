//! Patience: for how long a connection waits for its other end to say what it wants, and to take what it is sent. What the
//! kernel keeps for it is the kernel's; what does not fit waits here, and not for ever, however slowly some of it goes.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Sleep, sleep};

use super::Bounds;

pub(super) struct Patient<'a, I> {
    io: I,
    conversation: &'a Conversation,
    bounds: Bounds,
    /// Before which request, and until when its head must be there: from the connection on, and then from its first byte on.
    heading: Option<(u64, Pin<Box<Sleep>>)>,
    /// Since something was not taken; until nothing is left to be taken.
    waiting: Option<Pin<Box<Sleep>>>,
}

/// How far the two have come: a request is under way, or has been answered, and the next one may begin.
#[derive(Debug, Default)]
pub(super) struct Conversation(AtomicU64);

impl Conversation {
    pub(super) fn request_begins(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn request_is_answered(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn is_under_way(&self) -> bool {
        !self.turn().is_multiple_of(2)
    }

    fn turn(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl<'a, I> Patient<'a, I> {
    pub(super) fn new(io: I, conversation: &'a Conversation, bounds: Bounds) -> Self {
        let heading = Some((conversation.turn(), Box::pin(sleep(bounds.head))));
        Self { io, conversation, bounds, heading, waiting: None }
    }

    /// A head that has begun must be there in time. Where none has, it is an idle connection, and hyper counts.
    fn heard(&mut self, read: Poll<io::Result<()>>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let turn = self.conversation.turn();
        self.heading.take_if(|(before, _)| *before != turn);
        if self.conversation.is_under_way() {
            return read;
        }
        match (&mut self.heading, &read) {
            (Some((_, until)), Poll::Pending) => until.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into())),
            (None, Poll::Ready(Ok(()))) => {
                self.heading = Some((turn, Box::pin(sleep(self.bounds.head))));
                read
            }
            _ => read,
        }
    }

    /// A write that must wait, waits no longer than it may.
    fn bounded<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_pending() {
            let within = self.bounds.answer;
            let waiting = self.waiting.get_or_insert_with(|| Box::pin(sleep(within)));
            return waiting.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        written
    }
}

impl<I: Read + Unpin> Read for Patient<'_, I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.io).poll_read(cx, buffer);
        self.heard(read, cx)
    }
}

impl<I: Write + Unpin> Write for Patient<'_, I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.bounded(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.bounded(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    /// Asked for when all that there was has been written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        if flushed.is_ready() {
            self.waiting = None;
        }
        self.bounded(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.io).poll_shutdown(cx);
        self.bounded(shut, cx)
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::time::Duration;

    use hyper_util::rt::TokioIo;
    use tokio::io::{AsyncReadExt as _, DuplexStream, duplex};
    use tokio::time::Instant;

    use super::*;

    const WITHIN: Duration = Duration::from_secs(30);

    fn bounds() -> Bounds {
        Bounds { answer: WITHIN, ..Bounds::of_this_process() }
    }

    /// Writes until nothing is left, as hyper does.
    async fn write(patient: &mut Patient<'_, TokioIo<DuplexStream>>, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = poll_fn(|cx| Pin::new(&mut *patient).poll_write(cx, bytes)).await?;
            bytes = &bytes[written..];
        }
        poll_fn(|cx| Pin::new(&mut *patient).poll_flush(cx)).await
    }

    /// Tried: with a deadline that begins again whenever something is taken, all of it goes, in three hours.
    #[tokio::test(start_paused = true)]
    async fn an_answer_of_which_a_little_is_taken_now_and_then_is_given_up() {
        let (here, mut there) = duplex(64);
        let (conversation, begin) = (Conversation::default(), Instant::now());
        let mut patient = Patient::new(TokioIo::new(here), &conversation, bounds());
        let sipping = tokio::spawn(async move {
            while there.read_u8().await.is_ok() {
                sleep(WITHIN / 30).await;
            }
        });

        let gone = write(&mut patient, &[0; 10_000]).await;

        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begin.elapsed(), WITHIN);
        sipping.abort();
    }

    /// Each answer has its time anew.
    #[tokio::test(start_paused = true)]
    async fn answers_that_are_taken_in_time_are_no_trouble_however_many() {
        let (here, mut there) = duplex(64);
        let (conversation, begin) = (Conversation::default(), Instant::now());
        let mut patient = Patient::new(TokioIo::new(here), &conversation, bounds());
        let _reading = tokio::spawn(async move {
            while there.read_u8().await.is_ok() {
                sleep(WITHIN / 300).await;
            }
        });

        for _ in 0..10 {
            write(&mut patient, &[0; 200]).await.unwrap();
        }

        assert!(begin.elapsed() > WITHIN * 5, "{:?}", begin.elapsed());
    }
}
