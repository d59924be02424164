//! Just enough HTTP/1.1 to load a server without using up its cores: prebuilt request bytes over a kept-alive socket, and
//! answers with a length. A client library would cost about as much as the measured server.

use std::net::SocketAddr;
use std::ops::Range;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::failure::{Failure, Outcome};

/// Larger than any answer to a single job or run.
const USUAL_ANSWER: usize = 4096;

pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer<'a> {
    pub status: u16,
    pub body: &'a [u8],
}

/// A complete answer: its status, and the position of its body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Whole {
    pub status: u16,
    pub body: Range<usize>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Outcome<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::with_capacity(USUAL_ANSWER) })
    }

    pub async fn ask(&mut self, request: &[u8]) -> Outcome<Answer<'_>> {
        self.stream.write_all(request).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Failure::said("the server closed the connection before it answered");
            }
            if let Some(Whole { status, body }) = Whole::of(&self.buffer)? {
                return Ok(Answer { status, body: &self.buffer[body] });
            }
        }
    }
}

impl Answer<'_> {
    pub fn expect(self, status: u16) -> Outcome<Self> {
        if self.status == status {
            return Ok(self);
        }
        Failure::said(format!("status {} instead of {status}: {}", self.status, String::from_utf8_lossy(self.body)))
    }
}

impl Whole {
    /// None while bytes are missing.
    pub fn of(bytes: &[u8]) -> Outcome<Option<Self>> {
        let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return Ok(None) };
        let (head, begin) = (&bytes[..end], end + 4);
        match (status_of(head), length_of(head)) {
            (Some(status), Some(length)) if bytes.len() >= begin + length => {
                Ok(Some(Self { status, body: begin..begin + length }))
            }
            (Some(_), Some(_)) => Ok(None),
            _ => Failure::said(format!("an answer without status or length: {}", String::from_utf8_lossy(head))),
        }
    }
}

/// `HTTP/1.1 201 Created`
fn status_of(head: &[u8]) -> Option<u16> {
    let digits = head.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    str::from_utf8(digits).ok()?.parse().ok()
}

fn length_of(head: &[u8]) -> Option<usize> {
    const NAME: &[u8] = b"content-length:";
    let mut lines = head.split(|byte| *byte == b'\n');
    let line = lines.find(|line| line.get(..NAME.len()).is_some_and(|name| name.eq_ignore_ascii_case(NAME)))?;
    str::from_utf8(&line[NAME.len()..]).ok()?.trim().parse().ok()
}

pub fn get(path: &str, key: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\n\r\n").into_bytes()
}

pub fn post(path: &str, key: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nhost: bench\r\nauthorization: Bearer {key}\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// The text of a string field, found without parsing the rest. Only for answers without other texts of that name.
pub fn text_field<'a>(body: &'a [u8], name: &str) -> Option<&'a str> {
    let (_, rest) = str::from_utf8(body).ok()?.split_once(&format!("\"{name}\":\""))?;
    rest.split_once('"').map(|(text, _)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ANSWER: &[u8] =
        b"HTTP/1.1 201 Created\r\nContent-Type: application/json\r\nContent-Length: 13\r\n\r\n{\"id\":\"abc\"}\n";

    #[test]
    fn an_answer_is_whole_with_its_last_byte_and_not_before() {
        for end in 0..ANSWER.len() {
            assert_eq!(Whole::of(&ANSWER[..end]).unwrap(), None, "{end}");
        }

        let whole = Whole::of(ANSWER).unwrap().unwrap();

        assert_eq!(whole.status, 201);
        assert_eq!(&ANSWER[whole.body], b"{\"id\":\"abc\"}\n");
    }

    #[test]
    fn an_answer_without_a_length_is_a_failure_and_no_endless_wait() {
        assert!(Whole::of(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n").is_err());
        assert!(Whole::of(b"SSH-2.0\r\n\r\n").is_err());
    }

    #[test]
    fn a_text_field_is_found_anywhere() {
        let body = br#"{"next_run_at":"2026-11-20T12:30:00.000Z","next_run_id":"run7","note":null}"#;

        assert_eq!(text_field(body, "next_run_id"), Some("run7"));
        assert_eq!(text_field(body, "note"), None);
        assert_eq!(text_field(body, "run_id"), None, "a field's name is its whole name");
    }
}
