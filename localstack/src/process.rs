//! Processes on this machine: the functions that an emulator started, and `minutehand serve` as it is built with AWS.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use minutehand_aws_tests::dynamo::tables;
use minutehand_aws_tests::ministack::{Ministack, REGION};
use minutehand_aws_tests::workspace;
use minutehand_domain::lane::Lane;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::api_client::ApiClient;
use crate::deployment::Deployment;

/// Of the processes that have no deployment.
const KEY: &str = "a-key-that-only-tests-know";

/// In a fault of minutes each attempt warns of it.
const QUIET: &str = "error";

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
    let settings = settings_of(deployment).map(|(name, value)| (name.to_owned(), value.to_owned()));
    serve_with(aws, &deployment.key, settings.into()).await
}

/// The same with these settings, whatever they name.
pub async fn serve_with(aws: &Ministack, key: &str, settings: Vec<(String, String)>) -> Served {
    let mut command = serve_command(key);
    command.arg("--aws").envs(emulator(&aws.endpoint())).envs(settings);
    started(command, key).await
}

/// The same over the tables of a DynamoDB, named as a test names them, and over queues that it makes on an emulator.
pub async fn serve_over_tables(dynamo: &str, aws: &Ministack) -> Served {
    let tables = tables();
    let mut command = serve_command(KEY);
    command.arg("--aws").env("RUST_LOG", QUIET).envs(emulator(&aws.endpoint())).envs([
        ("AWS_ENDPOINT_URL_DYNAMODB", dynamo),
        ("MINUTEHAND_STATE_TABLE", &tables.state),
        ("MINUTEHAND_TIMERS_TABLE", &tables.timers),
    ]);
    for lane in Lane::ALL {
        let made = aws.sqs().create_queue().queue_name(lane.as_str()).send().await.expect("ministack makes queues");
        let variable = format!("MINUTEHAND_QUEUE_{}", lane.as_str().replace('-', "_").to_uppercase());
        command.env(variable, made.queue_url.expect("a queue has a URL"));
    }
    started(command, KEY).await
}

/// The same over files, and without AWS.
pub async fn serve_alone(folder: &Path) -> Served {
    let mut command = serve_command(KEY);
    command.arg("--data").arg(folder).env("RUST_LOG", QUIET);
    started(command, KEY).await
}

/// The same over files, with services of AWS that its jobs may call.
pub async fn serve_over_files(aws: &Ministack, folder: &Path, targets: &Value) -> Served {
    let mut command = serve_command(KEY);
    command.envs(emulator(&aws.endpoint())).arg("--data").arg(folder).args(["--targets", &targets.to_string()]);
    started(command, KEY).await
}

impl Served {
    /// A client of it.
    pub fn api(&self) -> ApiClient {
        ApiClient::new(&self.url, &self.key)
    }

    /// Sends SIGSTOP: its sockets stay open, and it does nothing more.
    pub fn hang(&self) {
        kill_process(Pid::from_child(&self.process), Signal::STOP).expect("it runs");
    }

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

fn serve_command(key: &str) -> Command {
    let mut command = Command::new(workspace::target().join("deployed/minutehand"));
    command.env_clear().args(["serve", "--listen", "127.0.0.1:0"]);
    command.env("MINUTEHAND_KEY", key).env("MINUTEHAND_REACH", "private");
    command
}

fn emulator(endpoint: &str) -> [(&'static str, &str); 4] {
    [
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_REGION", REGION),
        ("AWS_ACCESS_KEY_ID", "test"),
        ("AWS_SECRET_ACCESS_KEY", "test"),
    ]
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

async fn started(command: Command, key: &str) -> Served {
    let key = key.to_owned();
    tokio::task::spawn_blocking(move || start(command, key)).await.expect("it starts")
}

fn start(mut command: Command, key: String) -> Served {
    let mut process = command.stdout(Stdio::piped()).spawn().expect("infra/build has built it");
    let mut said = BufReader::new(process.stdout.take().expect("it is piped")).lines();
    let listens = said.by_ref().map_while(Result::ok).find_map(|line| {
        let (_, rest) = line.split_once("listens on ")?;
        rest.split_whitespace().next().map(ToOwned::to_owned)
    });
    Served { url: listens.expect("it says where it listens"), key, process, _said: said }
}
