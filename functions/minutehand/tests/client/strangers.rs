//! Strangers: what answers is no Minutehand, or something stands in front of it.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::thread;

use crate::command::{Done, client, run};

/// Answers the first request with this head, and then this body so many times, for as long as it is read.
fn answering(head: &'static str, body: &'static str, times: usize) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("bound"));
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("somebody asks");
        let _request = stream.read(&mut [0; 4096]).expect("a request");
        let _written = stream.write_all(head.as_bytes());
        // Fails where the other side has read enough.
        (0..times).all(|_| stream.write_all(body.as_bytes()).is_ok());
    });
    url
}

fn listed(url: &str) -> Done {
    let mut command = client(url, &["jobs", "list"]);
    command.env("MINUTEHAND_KEY", "a-key-for-strangers");
    run(command)
}

#[test]
fn an_answer_without_end_is_not_read_to_its_end() {
    let url = answering("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", "                ", 4 << 20);

    let done = listed(&url);

    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("more than 16 MiB"), "{done:?}");
}

#[test]
fn an_answer_that_is_no_json_is_said() {
    let url = answering("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n", "<html>hello</html>", 1);

    let done = listed(&url);

    assert_eq!((done.code, done.stdout.as_str()), (1, ""), "{done:?}");
    assert!(done.stderr.contains("cannot be understood"), "{done:?}");
}

#[test]
fn a_gateways_own_no_is_a_sentence_too() {
    let url = answering("HTTP/1.1 502 Bad Gateway\r\nconnection: close\r\n\r\n", "<html>\u{1b}[2J</html>", 1);

    let done = listed(&url);

    assert_eq!((done.code, done.stderr.as_str()), (1, "minutehand: Bad Gateway (502)\n"), "{done:?}");
}

#[test]
fn a_redirect_is_not_followed_with_the_key() {
    let head = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

    let done = listed(&answering(head, "", 0));

    assert_eq!((done.code, done.stderr.as_str()), (1, "minutehand: Found (302)\n"), "{done:?}");
}

#[test]
fn an_answer_that_breaks_off_is_nobody_answering() {
    let url = answering("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n", "{", 1);

    let done = listed(&url);

    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("the answer broke off"), "{done:?}");
}
