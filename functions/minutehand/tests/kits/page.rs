//! The page of workers, `docs/workers.md`: its examples are run, each as the page says.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::actor::Kit;
use crate::patience::eventually;
use crate::server::{KEY, Process, Server, minutehand};

const PAGE: &str = include_str!("../../../../docs/workers.md");
const EXAMPLE: &str = include_str!("../../../../shared/client/examples/send.rs");
const PATIENCE: Duration = Duration::from_secs(60);

/// What a reader has in front of them: a folder with what the page shows.
struct Desk(TempDir);

#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_python_sends_an_invoice() {
    if !Kit::Python.is_there() {
        return;
    }
    let desk = Desk::with(&["shared/kits/python/minutehand_worker.py"]);
    desk.put(&["send.py", "test_send.py"], "python");
    desk.tests("python3", &["-B", "test_send.py"]);

    let run = desk.run(desk.starts("python3", &["-B", "send.py"])).await;

    assert_eq!(run["result"], json!({ "pages": 3 }), "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_typescript_sends_an_invoice() {
    if !Kit::TypeScript.is_there() {
        return;
    }
    let desk = Desk::with(&["shared/kits/typescript/minutehand-worker.mjs"]);
    desk.put(&["send.mjs", "test_send.mjs"], "ts");
    desk.tests("node", &["test_send.mjs"]);

    let run = desk.run(desk.starts("node", &["./send.mjs"])).await;

    assert_eq!(run["result"], json!({ "pages": 3 }), "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_in_rust_sends_an_invoice() {
    assert_eq!(blocks("rust"), [EXAMPLE], "the page shows what is run");
    let desk = Desk::with(&[]);

    let run = desk.run(Kit::Rust.starts("rust::example")).await;

    assert_eq!(run["result"], json!({ "pages": 3 }), "{run}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_example_of_a_command_sends_an_invoice() {
    let desk = Desk::with(&[]);
    desk.put(&["commands.toml"], "toml");
    let lines: Vec<_> = blocks("console")[0].lines().map(|line| line.strip_prefix("$ minutehand ").unwrap()).collect();
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let mut check = minutehand();
    let checked = Process::start({
        check.args(words(lines[0])).current_dir(desk.path());
        check
    })
    .ended(PATIENCE);

    let mut work = minutehand();
    work.args(words(lines[1])).current_dir(desk.path());
    let run = desk.run(work).await;

    assert!(checked.status.success(), "{checked:?}");
    assert_eq!(run["result"], json!({ "exit_code": 0 }), "{run}");
}

impl Desk {
    fn with(files: &[&str]) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..");
        for file in files {
            let from = root.join(file);
            fs::copy(&from, folder.path().join(from.file_name().expect("a file"))).expect("it can be copied");
        }
        Self(folder)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    /// The blocks of a kind, each under its name.
    fn put(&self, names: &[&str], kind: &str) {
        let blocks = blocks(kind);
        assert_eq!(blocks.len(), names.len(), "{kind}");
        for (name, block) in names.iter().zip(blocks) {
            fs::write(self.path().join(name), block).expect("it can be written");
        }
    }

    fn starts(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.path());
        command
    }

    fn tests(&self, program: &str, arguments: &[&str]) {
        let ended = Process::start(self.starts(program, arguments)).ended(PATIENCE);
        assert!(ended.status.success(), "{ended:?}");
    }

    /// The run of the page's own job, by this worker.
    async fn run(&self, mut worker: Command) -> Value {
        let mut serve = minutehand();
        serve.args(["serve", "--listen", "127.0.0.1:0", "--memory"]).env("MINUTEHAND_KEY", KEY);
        let server = Server::started(serve);
        let client = server.client();
        let target = json!({ "worker": { "pool": "web1", "handler": "invoice.send" } });
        let job = json!({ "schedule": { "on_demand": true }, "target": target, "payload": { "invoice": 7 } });
        let job = client.post("/v1/jobs", job).await.text("job_id");
        let run = client.post(&format!("/v1/jobs/{job}/run"), json!({})).await.text("run_id");
        worker.env("MINUTEHAND_URL", format!("http://{}", server.address())).env("MINUTEHAND_KEY", KEY);

        let _worker = Process::start(worker);

        let is_over = || async {
            let seen = client.get(&format!("/v1/runs/{run}")).await.body;
            ["succeeded", "failed"].contains(&seen["status"].as_str()?).then_some(seen)
        };
        eventually(PATIENCE, "it is sent", is_over).await
    }
}

fn blocks(kind: &str) -> Vec<&'static str> {
    let fences = PAGE.split("```").skip(1).step_by(2);
    fences.filter_map(|fence| fence.split_once('\n')).filter(|(of, _)| *of == kind).map(|(_, text)| text).collect()
}
