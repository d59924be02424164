//! Processes on this machine: the functions that an emulator started, and `minutehand serve` as it is built with AWS.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use minutehand_aws_tests::ministack::{Ministack, REGION};
use minutehand_aws_tests::workspace;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::deployment::Deployment;

/// Kills the running bootstraps of a function, wherever they were unpacked to, and returns their number. They are recognized
/// by Lambda's environment, and by this test's own emulator as their parent.
pub fn kill_bootstraps(of: &Ministack, function: &str) -> usize {
    let parent = of.process_id();
    let all = fs::read_dir("/proc").expect("this is Linux").flatten();
    let ours = all.filter(|process| runs(&process.path(), parent, function));
    ours.filter_map(|process| process.file_name().to_str()?.parse().ok())
        .filter_map(Pid::from_raw)
        .filter(|id| kill_process(*id, Signal::KILL).is_ok())
        .count()
}

fn runs(process: &Path, parent: u32, function: &str) -> bool {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let environment = fs::read(process.join("environ")).unwrap_or_default();
    let named = |variable: &[u8]| {
        let name = variable.strip_prefix(b"AWS_LAMBDA_FUNCTION_NAME=").unwrap_or_default();
        String::from_utf8_lossy(name).to_lowercase().contains(function)
    };
    status.lines().any(|line| line == format!("PPid:\t{parent}")) && environment.split(|byte| *byte == 0).any(named)
}

/// A process that serves until it is dropped.
#[derive(Debug)]
pub struct Served {
    process: Child,
    pub url: String,
    pub key: String,
    /// Kept open while the process runs: it may print more.
    _said: Lines<BufReader<ChildStdout>>,
}

/// Starts the binary that `infra/build` built, over the tables and queues of a deployment, and waits until it prints its address.
pub async fn serve_on(aws: &Ministack, deployment: &Deployment) -> Served {
    let (mut command, key) = (serve_command(aws, &deployment.key), deployment.key.clone());
    command.arg("--aws").envs(settings_of(deployment));
    tokio::task::spawn_blocking(move || start(command, key)).await.expect("it starts")
}

/// The same over files, with services of AWS that its jobs may call.
pub async fn serve_over_files(aws: &Ministack, folder: &Path, targets: &Value) -> Served {
    let key = "a-key-that-only-tests-know";
    let mut command = serve_command(aws, key);
    command.arg("--data").arg(folder).args(["--targets", &targets.to_string()]);
    tokio::task::spawn_blocking(move || start(command, key.to_owned())).await.expect("it starts")
}

impl Served {
    /// Sends SIGTERM and returns the exit status.
    pub fn terminate(mut self) -> ExitStatus {
        kill_process(Pid::from_child(&self.process), Signal::TERM).expect("it runs");
        self.process.wait().expect("a child")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _it_may_be_gone = self.process.kill();
        let _it_is_dead = self.process.wait();
    }
}

fn serve_command(aws: &Ministack, key: &str) -> Command {
    let mut command = Command::new(workspace::target().join("deployed/minutehand"));
    command.env_clear().args(["serve", "--listen", "127.0.0.1:0"]).envs([
        ("AWS_ENDPOINT_URL", aws.endpoint().as_str()),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
        ("MINUTEHAND_KEY", key),
        ("MINUTEHAND_REACH", "private"),
    ]);
    command
}

fn settings_of(deployment: &Deployment) -> [(&'static str, &str); 11] {
    [
        ("MINUTEHAND_STATE_TABLE", deployment.output("StateTableName")),
        ("MINUTEHAND_TIMERS_TABLE", deployment.output("TimersTableName")),
        ("MINUTEHAND_QUEUE_CRITICAL", deployment.output("CriticalQueueUrl")),
        ("MINUTEHAND_QUEUE_HIGH", deployment.output("HighQueueUrl")),
        ("MINUTEHAND_QUEUE_NORMAL", deployment.output("NormalQueueUrl")),
        ("MINUTEHAND_QUEUE_LOW", deployment.output("LowQueueUrl")),
        ("MINUTEHAND_QUEUE_CRITICAL_LONG", deployment.output("CriticalLongQueueUrl")),
        ("MINUTEHAND_QUEUE_HIGH_LONG", deployment.output("HighLongQueueUrl")),
        ("MINUTEHAND_QUEUE_NORMAL_LONG", deployment.output("NormalLongQueueUrl")),
        ("MINUTEHAND_QUEUE_LOW_LONG", deployment.output("LowLongQueueUrl")),
        ("MINUTEHAND_BUS", deployment.output("BusName")),
    ]
}

fn start(mut command: Command, key: String) -> Served {
    let mut process = command.stdout(Stdio::piped()).spawn().expect("it was built");
    let mut said = BufReader::new(process.stdout.take().expect("it is piped")).lines();
    let listens = said.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("listens on ")?;
        rest.split_whitespace().next().map(ToOwned::to_owned)
    });
    Served { url: listens.expect("it says where it listens"), key, process, _said: said }
}
