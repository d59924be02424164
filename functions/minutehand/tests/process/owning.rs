//! Owning: the data directory is for the user who runs the process, and nobody else on the machine.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::patience::eventually;
use crate::releases::{of, unpack};
use crate::server::{Server, serve};
use crate::{SOON, create};

/// Tried: with `create_dir_all` and redb's own `create`, as it was, they are 777 and 666 here, and 755 and 644 anywhere.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_data_directory_is_for_its_owner_only_whatever_the_umask() {
    let above = tempfile::tempdir().unwrap();
    let data = above.path().join("data");
    let mut command = Command::new("sh");
    command.args(["-c", "umask 000; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_minutehand")]);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(&data).env_remove("MINUTEHAND_KEY");

    let server = Server::started(command);
    let modes = modes_in(&data);

    assert_eq!(mode_of(&data), 0o700);
    let files: Vec<&str> = modes.keys().map(String::as_str).collect();
    assert!(["admin.key", "minutehand.lock", "minutehand.redb"].iter().all(|name| files.contains(name)), "{files:?}");
    assert!(modes.values().all(|mode| *mode == 0o600), "{modes:?}");
    assert!(!server.stderr().contains("chmod"), "{}", server.stderr());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_earlier_releases_directory_that_others_may_read_opens_as_it_is_and_is_warned_of() {
    let above = tempfile::tempdir().unwrap();
    let data = above.path().join("data");
    fs::create_dir(&data).unwrap();
    unpack(&of("dc7fa05"), &data);
    fs::write(data.join("admin.key"), "mh_a-key-of-an-earlier-release\n").unwrap();
    for (path, mode) in [(data.clone(), 0o755), (data.join("minutehand.redb"), 0o644), (data.join("admin.key"), 0o640)]
    {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    let server = Server::on(&data);
    create(&server.client(), json!({ "target": { "noop": {} } })).await;

    for (name, mode, wanted) in [("", "755", "700"), ("minutehand.redb", "644", "600"), ("admin.key", "640", "600")] {
        let path = if name.is_empty() { data.clone() } else { data.join(name) };
        let path = path.display();
        let warning = format!("may use {path} (mode {mode}), and the secrets in it: chmod {wanted} {path}");
        eventually(SOON, &warning, || async { server.stderr().contains(&warning).then_some(()) }).await;
    }
    assert_eq!(server.stderr().matches("chmod").count(), 3, "the lock is new: {}", server.stderr());
    assert_eq!((mode_of(&data), mode_of(&data.join("minutehand.redb"))), (0o755, 0o644));
    server.kill();
    for (path, mode) in [(data.clone(), 0o700), (data.join("minutehand.redb"), 0o600), (data.join("admin.key"), 0o600)]
    {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }
    assert!(!Server::started(serve(&data)).stop().stderr.contains("chmod"));
}

fn modes_in(directory: &Path) -> BTreeMap<String, u32> {
    let entries = fs::read_dir(directory).unwrap().flatten();
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), mode_of(&entry.path()))).collect()
}

fn mode_of(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}
