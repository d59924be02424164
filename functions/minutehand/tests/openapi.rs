//! The OpenAPI document, checked by other tools: it is valid, and the real process conforms to it under thousands of requests
//! that schemathesis generates from it.
//!
//! By hand: `minutehand serve --memory`, and in `functions/minutehand/tests/openapi`
//! `PYTHONPATH=. MINUTEHAND_KEY=… st run http://127.0.0.1:8080/openapi.json --seed 7`.

#[path = "support/client.rs"]
#[expect(dead_code, reason = "other tests ask more of it")]
mod client;
#[path = "support/server.rs"]
#[expect(dead_code, reason = "other tests ask more of it")]
mod server;

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use minutehand_python::{Requirements, Venv};
use server::{KEY, Server, minutehand};

const REQUIREMENTS: Requirements = Requirements {
    path: "functions/minutehand/tests/openapi/requirements.txt",
    text: include_str!("openapi/requirements.txt"),
    tests: "the tests of the OpenAPI document",
};
/// Fewer would mean that something keeps schemathesis from sending requests.
const LEAST_CASES: usize = 5_000;

#[tokio::test]
async fn the_document_is_valid_openapi() {
    let Some(venv) = REQUIREMENTS.installed() else { return };
    let server = in_memory();
    let (folder, document) = (tempfile::tempdir().expect("a folder"), server.client().get("/openapi.json").await.body);
    let file = folder.path().join("openapi.json");
    fs::write(&file, document.to_string()).expect("it can be written");

    let said = say(Command::new(venv.program("openapi-spec-validator")).arg("--schema").arg("3.1").arg(&file));

    assert!(said.contains("openapi.json: OK"), "{said}");
}

#[test]
fn every_request_is_answered_as_documented() {
    let Some(venv) = REQUIREMENTS.installed() else { return };
    let (server, leavings) = (in_memory(), tempfile::tempdir().expect("a folder"));

    let said = say(schemathesis(&venv, &server).current_dir(leavings.path()));

    let cases = generated(&said);
    let summary = said.split_once("API Operations:").map_or(said.as_str(), |(_, summary)| summary);
    writeln!(io::stderr(), "schemathesis: {}", summary.trim_end()).expect("the terminal can be written to");
    assert!(cases.is_some_and(|cases| cases >= LEAST_CASES), "{cases:?} cases:\n{said}");
    let log = server.stderr();
    assert!(!log.contains("panicked") && !log.contains("met a fault"), "{log}");
}

fn in_memory() -> Server {
    let mut command = minutehand();
    command.args(["serve", "--listen", "127.0.0.1:0", "--memory"]).env("MINUTEHAND_KEY", KEY);
    Server::started(command)
}

fn schemathesis(venv: &Venv, server: &Server) -> Command {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/openapi");
    let mut command = Command::new(venv.program("st"));
    command
        .env("PYTHONPATH", &folder)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("MINUTEHAND_KEY", KEY)
        .arg("--config-file")
        .arg(folder.join("schemathesis.toml"))
        .args(["run", &format!("http://{}/openapi.json", server.address()), "--no-color"]);
    command
}

/// What it says, if it is content.
fn say(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("an installed program");
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(output.status.success(), "{command:?}:\n{said}");
    said
}

/// The number in `6646 generated, 6646 passed`.
fn generated(said: &str) -> Option<usize> {
    let (before, _) = said.split_once(" generated")?;
    before.rsplit(char::is_whitespace).next()?.parse().ok()
}
