//! A download: an answer that is too long to be held, piece by piece as it comes.

use std::time::Duration;

use bytes::Bytes;
use http::response;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;

use crate::call::Call;
use crate::client::Client;
use crate::error::ClientError;

/// To the next piece: whoever makes it reads a disk, and is slowed down by whoever takes it.
const PIECE: Duration = Duration::from_secs(60);

#[derive(Debug)]
pub struct Download {
    body: Incoming,
    server: String,
}

impl Download {
    pub(crate) fn new(body: Incoming, server: String) -> Self {
        Self { body, server }
    }

    /// The next piece, and none at the end. An answer that broke off has no end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, ClientError> {
        let unreachable = |why| ClientError::Unreachable { server: self.server.clone(), why };
        loop {
            let piece = tokio::time::timeout(PIECE, self.body.frame()).await;
            match piece.map_err(|_| unreachable(format!("nothing came for {} s", PIECE.as_secs())))? {
                None => return Ok(None),
                Some(Err(error)) => return Err(unreachable(format!("the answer broke off: {error}"))),
                Some(Ok(frame)) => {
                    if let Ok(bytes) = frame.into_data() {
                        return Ok(Some(bytes));
                    }
                }
            }
        }
    }

    /// All of it, where it turned out to be short.
    pub(crate) async fn whole(mut self, most: usize) -> Result<String, ClientError> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.next().await?.filter(|_| bytes.len() < most) {
            bytes.extend_from_slice(&piece);
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}

impl Client {
    /// Begins to read the answer of a call that is no JSON.
    pub async fn download(&self, call: &Call<Bytes>) -> Result<Download, ClientError> {
        let (head, body): (response::Parts, Incoming) = self.begin(call).await?;
        let download = Download::new(body, self.url().to_string());
        if head.status.is_success() {
            return Ok(download);
        }
        Err(Self::refused(&head, &download.whole(REFUSAL_BYTES).await?))
    }
}

/// What is read of a refusal.
const REFUSAL_BYTES: usize = 64 * 1024;
