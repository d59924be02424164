//! Failing: each reason not to start is one clear line and a non-zero exit.

use std::fs;
use std::net::TcpListener;
use std::process::Command;
use std::time::Duration;

use crate::server::{Process, Server, minutehand, serve};

/// A start that fails does so at once.
const AT_ONCE: Duration = Duration::from_secs(10);

/// It ends by itself, with one line, which says all of `words`.
fn refuses(command: Command, words: &[&str]) {
    let ended = Process::start(command).ended(AT_ONCE);

    assert!(!ended.status.success(), "{ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let [line] = lines.as_slice() else { panic!("not one line: {ended:?}") };
    assert!(line.starts_with("minutehand: ") && words.iter().all(|word| line.contains(word)), "{line}");
    assert!(!ended.stdout.contains("listens"), "{ended:?}");
}

#[test]
fn a_data_directory_that_another_process_uses_is_refused() {
    let data = tempfile::tempdir().unwrap();
    let _first = Server::on(data.path());

    refuses(serve(data.path()), &["another process has this store open", &data.path().display().to_string()]);
}

#[test]
fn a_file_that_is_no_store_is_refused_and_left_alone() {
    let garbage = [b"not a store".to_vec(), vec![0; 64 * 1024], vec![0xa5; 1024 * 1024], vec![]];
    for bytes in garbage {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("minutehand.redb"), &bytes).unwrap();

        refuses(serve(data.path()), &["damaged", &data.path().display().to_string()]);

        assert_eq!(fs::read(data.path().join("minutehand.redb")).unwrap(), bytes);
    }
}

#[test]
fn a_store_whose_pages_were_overwritten_is_refused() {
    let data = tempfile::tempdir().unwrap();
    Server::on(data.path()).kill();
    let file = data.path().join("minutehand.redb");
    let mut bytes = fs::read(&file).unwrap();
    let half = bytes.len() / 2;
    bytes[64..half].fill(0xa5);
    fs::write(&file, bytes).unwrap();

    refuses(serve(data.path()), &["damaged"]);
}

/// Below a file there is no directory to be made, not for root either.
#[test]
fn a_data_directory_that_cannot_be_made_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("file");
    fs::write(&file, "").unwrap();

    refuses(serve(&file), &["cannot be written to"]);
    refuses(serve(&file.join("data")), &["cannot be written to"]);
}

#[test]
fn a_port_in_use_is_refused() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let data = tempfile::tempdir().unwrap();

    let mut command = minutehand();
    command.args(["serve", "--listen", &address, "--data"]).arg(data.path());

    refuses(command, &["cannot listen on", &address]);
}

#[test]
fn a_weak_key_is_refused() {
    let data = tempfile::tempdir().unwrap();
    for weak in ["short", "long enough but with blanks"] {
        let mut command = serve(data.path());
        command.env("MINUTEHAND_KEY", weak);

        refuses(command, &["the admin key must have at least 16 characters"]);
    }
}
