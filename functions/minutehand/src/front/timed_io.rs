//! Timed IO: how long a connection waits for the head of a request, and for the client to read an answer. The kernel buffers
//! a part of the answer; the rest waits here, and not for ever, however slowly the client reads.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use hyper::rt::{Read, ReadBufCursor, Write};
use tokio::time::{Sleep, sleep};

use super::Bounds;
use super::places::Place;

pub(super) struct TimedIo<'a, I> {
    io: I,
    turns: &'a Turns,
    /// Who is told when all is written; nobody in tests of the times.
    place: Option<&'a Place>,
    bounds: Bounds,
    /// The turn before the request, and the deadline of its head: from the connection on for the first request, and from its
    /// first byte on for later ones.
    head_deadline: Option<(u64, Pin<Box<Sleep>>)>,
    /// The deadline of a blocked answer: set when a write blocks, cleared when all is written.
    write_deadline: Option<Pin<Box<Sleep>>>,
}

/// Counts the beginnings and ends of requests: an odd number means that a request is under way.
#[derive(Debug, Default)]
pub(super) struct Turns(AtomicU64);

impl Turns {
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

impl<'a, I> TimedIo<'a, I> {
    pub(super) fn new(io: I, turns: &'a Turns, bounds: Bounds) -> Self {
        let head_deadline = Some((turns.turn(), Box::pin(sleep(bounds.head))));
        Self { io, turns, place: None, bounds, head_deadline, write_deadline: None }
    }

    pub(super) fn in_place(self, place: &'a Place) -> Self {
        Self { place: Some(place), ..self }
    }

    /// A head that has begun must be complete in time. Before its first byte the connection is idle, and hyper's limit applies.
    fn bound_head(&mut self, read: Poll<io::Result<()>>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let turn = self.turns.turn();
        self.head_deadline.take_if(|(before, _)| *before != turn);
        if self.turns.is_under_way() {
            return read;
        }
        match (&mut self.head_deadline, &read) {
            (Some((_, until)), Poll::Pending) => until.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into())),
            (None, Poll::Ready(Ok(()))) => {
                self.head_deadline = Some((turn, Box::pin(sleep(self.bounds.head))));
                read
            }
            _ => read,
        }
    }

    /// A write that blocks fails at its deadline.
    fn bound_write<T>(&mut self, written: Poll<io::Result<T>>, cx: &mut Context<'_>) -> Poll<io::Result<T>> {
        if written.is_pending() {
            let within = self.bounds.answer;
            let write_deadline = self.write_deadline.get_or_insert_with(|| Box::pin(sleep(within)));
            return write_deadline.as_mut().poll(cx).map(|()| Err(io::ErrorKind::TimedOut.into()));
        }
        written
    }
}

impl<I: Read + Unpin> Read for TimedIo<'_, I> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: ReadBufCursor<'_>) -> Poll<io::Result<()>> {
        let read = Pin::new(&mut self.io).poll_read(cx, buffer);
        self.bound_head(read, cx)
    }
}

impl<I: Write + Unpin> Write for TimedIo<'_, I> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write(cx, bytes);
        self.bound_write(written, cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.io).poll_write_vectored(cx, slices);
        self.bound_write(written, cx)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }

    /// Called when all bytes have been written.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.io).poll_flush(cx);
        if flushed.is_ready() {
            self.write_deadline = None;
            self.place.inspect(|place| place.all_is_written());
        }
        self.bound_write(flushed, cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.io).poll_shutdown(cx);
        self.bound_write(shut, cx)
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
    async fn write(timed: &mut TimedIo<'_, TokioIo<DuplexStream>>, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let written = poll_fn(|cx| Pin::new(&mut *timed).poll_write(cx, bytes)).await?;
            bytes = &bytes[written..];
        }
        poll_fn(|cx| Pin::new(&mut *timed).poll_flush(cx)).await
    }

    /// Tried: with a deadline that restarts with each byte read, all of it is written, in three hours.
    #[tokio::test(start_paused = true)]
    async fn an_answer_that_is_read_too_slowly_is_given_up() {
        let (here, mut there) = duplex(64);
        let (turns, begin) = (Turns::default(), Instant::now());
        let mut timed = TimedIo::new(TokioIo::new(here), &turns, bounds());
        let sipping = tokio::spawn(async move {
            while there.read_u8().await.is_ok() {
                sleep(WITHIN / 30).await;
            }
        });

        let gone = write(&mut timed, &[0; 10_000]).await;

        assert_eq!(gone.unwrap_err().kind(), io::ErrorKind::TimedOut);
        assert_eq!(begin.elapsed(), WITHIN);
        sipping.abort();
    }

    /// Each answer has a deadline of its own.
    #[tokio::test(start_paused = true)]
    async fn answers_that_are_read_in_time_are_written_however_many() {
        let (here, mut there) = duplex(64);
        let (turns, begin) = (Turns::default(), Instant::now());
        let mut timed = TimedIo::new(TokioIo::new(here), &turns, bounds());
        let _reading = tokio::spawn(async move {
            while there.read_u8().await.is_ok() {
                sleep(WITHIN / 300).await;
            }
        });

        for _ in 0..10 {
            write(&mut timed, &[0; 200]).await.unwrap();
        }

        assert!(begin.elapsed() > WITHIN * 5, "{:?}", begin.elapsed());
    }
}
