//! A deployment: the template's stack on an emulator, deployed by the same scripts that people use.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::process::{Command, Stdio};

use serde_json::Value;
use tempfile::TempDir;

use crate::ministack::REGION;
use crate::python::Tools;
use crate::workspace;

pub struct Deployment {
    endpoint: String,
    stack: String,
    /// The admin key; the stack knows its hash.
    pub key: String,
    tools: Tools,
    outputs: BTreeMap<String, String>,
    /// A home without AWS settings of the developer who runs the tests.
    home: TempDir,
}

/// Builds the three bootstraps from the present sources. One test builds and the others wait; their own build is then fast.
pub fn build_functions() {
    let folder = workspace::target().join("lambda");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let lock = File::create(folder.join("lock")).expect("a lock file can be made");
    lock.lock().expect("the lock is waited for");
    let mut build = Command::new(workspace::root().join("infra/build"));
    // Cargo's variables for tests are inputs of ring's build: passing them on would rebuild everything.
    for (name, _) in std::env::vars() {
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            build.env_remove(name);
        }
    }
    run(&mut build);
}

impl Deployment {
    /// Deploys with the template's parameters, as `Name=Value`.
    pub fn new(tools: &Tools, endpoint: &str, stack: &str, parameters: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("tests can make directories");
        let key = format!("mh_the_admin_key_of_{stack}");
        let (endpoint, stack, tools) = (endpoint.to_owned(), stack.to_owned(), tools.clone());
        let mut deployment = Self { endpoint, stack, key, tools, outputs: BTreeMap::new(), home };
        deployment.update(parameters);
        deployment
    }

    /// Updates the stack to the present template and bootstraps. A parameter that is not named keeps its value.
    pub fn update(&mut self, parameters: &[&str]) {
        let mut script = self.with_settings(Command::new(workspace::root().join("localstack/bootstrap")));
        script.env("MINUTEHAND_STACK", &self.stack).env("MINUTEHAND_KEY", &self.key).args(parameters);
        let said = run(&mut script);
        let pairs = said.lines().filter_map(|line| line.split_once('\t'));
        self.outputs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    }

    /// One of the stack's outputs.
    pub fn output(&self, name: &str) -> &str {
        self.outputs.get(name).unwrap_or_else(|| panic!("the stack has no output {name}: {:?}", self.outputs))
    }

    /// The emulator's address of the API.
    pub fn url(&self, path: &str) -> String {
        format!("{}/_aws/execute-api/{}/$default{path}", self.endpoint, self.output("ApiId"))
    }

    /// Runs the minute's tick now; returns when the sweep is done.
    pub fn tick(&self) {
        let answer = self.home.path().join("answer");
        let mut invoke = self.with_settings(Command::new(&self.tools.aws));
        invoke.args(["lambda", "invoke", "--function-name", self.output("SweeperFunctionName"), "--payload", "{}"]);
        let said = run(invoke.arg(&answer));
        let said: Value = serde_json::from_str(&said).expect("the command line prints JSON");
        let answer = fs::read_to_string(answer).unwrap_or_default();
        assert!(said["FunctionError"].is_null(), "the sweep failed: {answer}");
    }

    /// The emulator's address and credentials, and no settings of the developer who runs the tests.
    fn with_settings(&self, mut command: Command) -> Command {
        let tools = self.tools.aws.parent().expect("a program is in a folder");
        let path = std::env::var("PATH").unwrap_or_default();
        command.env_clear().env("PATH", format!("{}:{path}", tools.display())).env("HOME", self.home.path());
        command.env("CARGO_TARGET_DIR", workspace::target()).env("AWS_ENDPOINT_URL", &self.endpoint);
        command.envs([
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_DEFAULT_REGION", REGION),
        ]);
        command
    }
}

fn run(command: &mut Command) -> String {
    let output = command.stdin(Stdio::null()).output().expect("the command starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?} failed:\n{said}{complaint}");
    said
}
