//! Raw: a connection that can send any bytes, in any pieces.

use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use crate::server::KEY;

/// Longer than any bound of these tests.
const PATIENCE: Duration = Duration::from_secs(20);
/// What the kernel keeps of an answer that is not read, at the reader's end.
const SMALL: u32 = 4 * 1024;

pub(crate) struct Raw {
    stream: TcpStream,
    heard: Vec<u8>,
    /// Just before it connected, or last said something at once: whatever the other end counts from then on, it began to count later.
    since: Instant,
    /// From then until it was last seen to be cut.
    lasted: Duration,
}

impl Raw {
    pub(crate) async fn to(address: SocketAddr) -> Self {
        let since = Instant::now();
        Self::of(TcpStream::connect(address).await.expect("it listens"), since)
    }

    /// A connection that has little room for what it does not read.
    pub(crate) async fn deaf(address: SocketAddr) -> Self {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(SMALL).expect("a small one");
        let since = Instant::now();
        Self::of(socket.connect(address).await.expect("it listens"), since)
    }

    fn of(stream: TcpStream, since: Instant) -> Self {
        Self { stream, heard: Vec::new(), since, lasted: Duration::ZERO }
    }

    /// The other end may have gone; who cares will notice.
    pub(crate) async fn say(&mut self, what: &[u8]) -> bool {
        self.since = Instant::now();
        self.write(what).await
    }

    async fn write(&mut self, what: &[u8]) -> bool {
        self.stream.write_all(what).await.is_ok()
    }

    /// Listens until it has heard this.
    pub(crate) async fn hears(&mut self, what: &str) {
        let hearing = async {
            while !String::from_utf8_lossy(&self.heard).contains(what) {
                assert!(!self.is_over(PATIENCE).await, "it is cut");
            }
        };
        timeout(PATIENCE, hearing).await.expect("it hears it at last");
    }

    /// Says no more, and listens.
    pub(crate) async fn half_close(&mut self) {
        let _gone = self.stream.shutdown().await;
    }

    /// Says a byte now and then until it is cut or has nothing left to say. How long it could.
    pub(crate) async fn trickle(&mut self, what: &[u8], each: Duration) -> Duration {
        let begin = Instant::now();
        for byte in what {
            if !self.write(&[*byte]).await || self.is_over(each).await {
                break;
            }
            assert!(begin.elapsed() < PATIENCE, "it is still there");
        }
        self.lasted = self.since.elapsed();
        begin.elapsed()
    }

    /// Everything that is answered until it is cut, and how long that took.
    pub(crate) async fn until_cut(&mut self) -> (String, Duration) {
        let begin = Instant::now();
        let over = async { while !self.is_over(PATIENCE).await {} };
        timeout(PATIENCE, over).await.expect("it is cut at last");
        self.lasted = self.since.elapsed();
        (String::from_utf8_lossy(&self.heard).into_owned(), begin.elapsed())
    }

    /// How long it was there, from just before it connected or last said something at once: never less than the other end counted, however
    /// slow this one was.
    pub(crate) fn lasted(&self) -> Duration {
        self.lasted
    }

    /// Never reads, and knocks until it hears that nobody is there.
    pub(crate) async fn until_nobody_is_there(&self) -> Duration {
        let begin = Instant::now();
        loop {
            match self.stream.try_write(b"x") {
                Err(error) if error.kind() != ErrorKind::WouldBlock => return begin.elapsed(),
                _ => sleep(Duration::from_millis(20)).await,
            }
            assert!(begin.elapsed() < PATIENCE, "it is still there");
        }
    }

    /// Reads a little now and then until it is cut. How long it could.
    pub(crate) async fn sip_until_cut(&mut self, bytes: usize, each: Duration) -> Duration {
        let (begin, mut sip) = (Instant::now(), vec![0; bytes]);
        loop {
            // What was sent before the cut may still be read; that it was cut is heard when something is said.
            let ended = matches!(self.stream.try_read(&mut sip), Ok(0));
            let reset = |error: std::io::Error| error.kind() != ErrorKind::WouldBlock;
            if ended || self.stream.try_write(b"x").is_err_and(reset) {
                return begin.elapsed();
            }
            assert!(begin.elapsed() < PATIENCE, "it is still there");
            sleep(each).await;
        }
    }

    /// Listens for so long; whether the other end is gone.
    async fn is_over(&mut self, within: Duration) -> bool {
        match timeout(within, self.stream.read_buf(&mut self.heard)).await {
            Ok(Ok(read)) => read == 0,
            Ok(Err(_reset)) => true,
            Err(_nothing) => false,
        }
    }
}

/// The head of a request with the tests' key, without its end.
pub(crate) fn head(first: &str) -> String {
    format!("{first}\r\nhost: localhost\r\nauthorization: Bearer {KEY}\r\n")
}

pub(crate) fn get(path: &str) -> String {
    head(&format!("GET {path} HTTP/1.1")) + "\r\n"
}

/// The head of a post whose body is yet to come.
pub(crate) fn post(path: &str, length: &str) -> String {
    head(&format!("POST {path} HTTP/1.1")) + "content-type: application/json\r\n" + length + "\r\n\r\n"
}
