//! A deployment: the template's stack on an emulator, deployed by the same scripts that people use.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use minutehand_aws_tests::bootstraps::output_of;
use minutehand_aws_tests::ministack::REGION;
use minutehand_aws_tests::python::Tools;
use minutehand_aws_tests::workspace;
use serde_json::{Value, json};
use tempfile::TempDir;

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
        let said = output_of(&mut script);
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
        self.invoke("SweeperFunctionName", &json!({}));
    }

    /// Runs a function that an output names, with this event; returns when it has done so.
    pub fn invoke(&self, output: &str, event: &Value) {
        let [answer, payload] = ["answer", "event"].map(|name| self.home.path().join(name));
        fs::write(&payload, event.to_string()).expect("a home can be written into");
        let payload = format!("fileb://{}", payload.display());
        let mut invoke = self.with_settings(Command::new(&self.tools.aws));
        invoke.args(["lambda", "invoke", "--function-name", self.output(output), "--payload", &payload]);
        let said = output_of(invoke.arg(&answer));
        let said: Value = serde_json::from_str(&said).expect("the command line prints JSON");
        let answer = fs::read_to_string(answer).unwrap_or_default();
        assert!(said["FunctionError"].is_null(), "{output} failed: {answer}");
    }

    /// Brings what is in a bucket that an output names into a directory.
    pub fn bring(&self, output: &str, directory: &Path) {
        let mut sync = self.with_settings(Command::new(&self.tools.aws));
        output_of(sync.args(["s3", "sync", &format!("s3://{}", self.output(output))]).arg(directory));
    }

    /// Has a shell do that, in a folder that has the admin key as `admin.key`, and says what it wrote. It finds `minutehand` as `infra/build` built it.
    pub fn shell(&self, script: &str) -> String {
        fs::write(self.home.path().join("admin.key"), &self.key).expect("a home can be written into");
        let mut shell = self.with_settings(Command::new("bash"));
        output_of(shell.current_dir(self.home.path()).args(["-euo", "pipefail", "-c", script]))
    }

    /// The emulator's address and credentials, and no settings of the developer who runs the tests.
    fn with_settings(&self, mut command: Command) -> Command {
        let tools = self.tools.aws.parent().expect("a program is in a folder");
        let (built, path) = (workspace::target().join("deployed"), std::env::var("PATH").unwrap_or_default());
        let path = format!("{}:{}:{path}", tools.display(), built.display());
        command.env_clear().env("PATH", path).env("HOME", self.home.path());
        command.env("CARGO_TARGET_DIR", workspace::target()).env("AWS_ENDPOINT_URL", &self.endpoint);
        command.envs([
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_DEFAULT_REGION", REGION),
        ]);
        command
    }
}
