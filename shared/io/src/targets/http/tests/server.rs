//! A target that writes raw bytes, so that it can also misbehave.

use std::future::Future;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

pub(in crate::targets) struct Server {
    pub(in crate::targets) address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    seen: Seen,
}

/// The requests, as received.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<String>>>);

impl Server {
    /// Answers every request on every connection with these bytes.
    pub(in crate::targets) async fn answering(answer: impl Into<String>) -> Self {
        let seen = Seen::default();
        let (answer, noting) = (answer.into(), seen.clone());
        let server = Self::talking(move |mut stream| {
            let (answer, noting) = (answer.clone(), noting.clone());
            async move {
                while let Some(request) = read_request(&mut stream).await {
                    noting.0.lock().unwrap().push(request);
                    stream.write_all(answer.as_bytes()).await.unwrap();
                }
            }
        });
        Self { seen, ..server.await }
    }

    /// Runs `talk` on each connection.
    pub(in crate::targets) async fn talking<F>(talk: impl Fn(TcpStream) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let counting = Arc::clone(&accepted);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                counting.fetch_add(1, Ordering::Relaxed);
                tokio::spawn(talk(stream));
            }
        });
        Self { address, accepted, seen: Seen::default() }
    }

    pub(in crate::targets) fn url(&self, scheme: &str) -> String {
        format!("{scheme}://{}/hook?a=b#c", self.address)
    }

    pub(in crate::targets) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::Relaxed)
    }

    pub(in crate::targets) fn requests(&self) -> Vec<String> {
        self.seen.0.lock().unwrap().clone()
    }
}

/// Head and body; none when the peer has closed.
pub(in crate::targets) async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut request = Vec::new();
    while !is_whole(&request) {
        if stream.read_buf(&mut request).await.ok()? == 0 {
            return None;
        }
    }
    String::from_utf8(request).ok()
}

fn is_whole(request: &[u8]) -> bool {
    let text = String::from_utf8_lossy(request);
    let Some((head, body)) = text.split_once("\r\n\r\n") else { return false };
    let length =
        head.lines().find_map(|line| line.strip_prefix("content-length: ")).map_or(0, |length| length.parse().unwrap());
    body.len() >= length
}
