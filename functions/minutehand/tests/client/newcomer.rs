//! A newcomer, who has set nothing: what the server left in the data directory is enough.

use std::path::Path;

use crate::command::{Done, client, run};
use crate::server::{Server, minutehand};

/// A server that makes its own key, in `data` of this directory.
fn serve(directory: &Path) -> Server {
    let mut command = minutehand();
    command.args(["serve", "--listen", "127.0.0.1:0"]).current_dir(directory);
    Server::started(command)
}

fn ask(directory: &Path, url: &str, words: &[&str]) -> Done {
    let mut command = client(url, words);
    command.current_dir(directory);
    run(command)
}

#[test]
fn the_key_of_the_first_start_is_found_and_said_only_when_asked() {
    let directory = tempfile::tempdir().expect("a directory");
    let server = serve(directory.path());
    let url = format!("http://{}", server.address());

    let quiet = ask(directory.path(), &url, &["jobs", "create", "--noop", "--on-demand"]);
    let verbose = ask(directory.path(), &url, &["jobs", "list", "--verbose"]);

    assert_eq!((quiet.code, quiet.stderr.as_str()), (0, ""), "{quiet:?}");
    assert!(verbose.stderr.contains("is asked with the admin key in data/admin.key"), "{verbose:?}");
    assert!(verbose.stderr.contains(": 200 OK in "), "{verbose:?}");
    assert!(!verbose.stderr.contains("mh_"), "a key is never said: {verbose:?}");
}

#[test]
fn elsewhere_a_key_is_asked_for() {
    let (home, elsewhere) = (tempfile::tempdir().expect("a directory"), tempfile::tempdir().expect("a directory"));
    let server = serve(home.path());

    let done = ask(elsewhere.path(), &format!("http://{}", server.address()), &["jobs", "list"]);

    assert_eq!(done.code, 4, "{done:?}");
    assert!(done.stderr.contains("--key gives one, or else MINUTEHAND_KEY"), "{done:?}");
}

#[test]
fn where_nobody_listens_it_says_how_to_start_one() {
    let directory = tempfile::tempdir().expect("a directory");

    let done = ask(directory.path(), "http://127.0.0.1:1", &["jobs", "list"]);

    assert_eq!(done.code, 1, "{done:?}");
    assert!(done.stderr.contains("cannot reach http://127.0.0.1:1/: nobody listens there\n"), "{done:?}");
    assert!(done.stderr.contains("`minutehand serve` starts one"), "{done:?}");
}
