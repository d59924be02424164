//! Ministack: a separate AWS for each test, started on a free loopback port and ended with the test. No Docker.
//!
//! A test begins with `let Some(aws) = Ministack::start(Authorization::Off) else { return };`: without Python,
//! [`python::tools`] has printed so.

use std::fs::{self, File};
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_sqs::config::{Credentials, SharedCredentialsProvider};
use rustix::process::{Pid, Signal, kill_process_group};
use tempfile::TempDir;

use crate::python;

/// Whether requests are checked against the policies of their signer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authorization {
    Off,
    On,
}

/// Tries: another process may take the port between the search for it and ministack's start.
const TRIES: usize = 3;
/// A hundred times as long as a start takes on an idle machine.
const START: Duration = Duration::from_secs(30);
const LOOK: Duration = Duration::from_millis(10);

pub const REGION: &str = "us-east-1";
pub const ACCOUNT: &str = "000000000000";

pub struct Ministack {
    process: Child,
    port: u16,
    /// Its working folder, with its log and the functions that it has unpacked.
    home: TempDir,
}

impl Ministack {
    /// Starts it and waits until it is ready; none without Python.
    pub fn start(authorization: Authorization) -> Option<Self> {
        let program = python::tools()?.ministack;
        let mut said = String::new();
        for _ in 0..TRIES {
            let mut started = Self::spawn(Command::new(&program), authorization);
            if started.becomes_ready() {
                return Some(started);
            }
            said = started.said();
        }
        panic!("ministack did not start: {said}")
    }

    pub fn endpoint(&self) -> String {
        endpoint(self.port)
    }

    /// The SDK configuration for it, independent of the environment of the tests.
    pub fn sdk(&self) -> SdkConfig {
        sdk_for(&self.endpoint())
    }

    pub fn sqs(&self) -> aws_sdk_sqs::Client {
        aws_sdk_sqs::Client::new(&self.sdk())
    }

    pub fn eventbridge(&self) -> aws_sdk_eventbridge::Client {
        aws_sdk_eventbridge::Client::new(&self.sdk())
    }

    pub fn dynamodb(&self) -> aws_sdk_dynamodb::Client {
        aws_sdk_dynamodb::Client::new(&self.sdk())
    }

    pub fn scheduler(&self) -> aws_sdk_scheduler::Client {
        aws_sdk_scheduler::Client::new(&self.sdk())
    }

    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Its log so far, for the message of a failing test.
    pub fn said(&self) -> String {
        fs::read_to_string(self.home.path().join("said")).unwrap_or_default()
    }

    /// Functions inherit its environment, so it is cleared and has the endpoint of AWS. It gets a process group of its own,
    /// because it starts processes too.
    fn spawn(mut command: Command, authorization: Authorization) -> Self {
        let (home, port) = (tempfile::tempdir().expect("tests can make directories"), free_port());
        let said = File::create(home.path().join("said")).expect("an empty directory takes a file");
        let said_too = said.try_clone().expect("a file can be written by two");
        command.env_clear().current_dir(home.path()).envs([("HOME", home.path()), ("TMPDIR", home.path())]);
        command.envs(std::env::var_os("PATH").map(|path| ("PATH", path)));
        command.env("GATEWAY_PORT", port.to_string()).env("BIND_HOST", Ipv4Addr::LOCALHOST.to_string());
        command.env("AWS_ENDPOINT_URL", endpoint(port));
        command.env("AUTH", if authorization == Authorization::On { "true" } else { "false" });
        let process = command.stdin(Stdio::null()).stdout(said).stderr(said_too).process_group(0).spawn();
        Self { process: process.expect("an installed ministack runs"), port, home }
    }

    /// True if it is ready; false if it has ended.
    fn becomes_ready(&mut self) -> bool {
        let begin = Instant::now();
        while !self.is_ready() {
            if self.process.try_wait().expect("a child").is_some() {
                return false;
            }
            assert!(begin.elapsed() < START, "ministack neither starts nor ends: {}", self.said());
            thread::sleep(LOOK);
        }
        true
    }

    /// Read from its own log: another process on the port would answer too.
    fn is_ready(&self) -> bool {
        self.said().contains(&format!("Running on {}", self.endpoint()))
    }
}

/// Kills the whole group: a function's bootstrap outlives its parent.
impl Drop for Ministack {
    fn drop(&mut self) {
        let group = Pid::from_child(&self.process);
        let _nothing_of_it_is_left = kill_process_group(group, Signal::KILL);
        let _it_is_dead = self.process.wait();
    }
}

/// The SDK configuration for an AWS at this endpoint.
pub fn sdk_for(endpoint: &str) -> SdkConfig {
    let credentials = Credentials::new("test", "test", None, None, "tests");
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .region(Region::new(REGION))
        .endpoint_url(endpoint)
        .build()
}

fn endpoint(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}

fn free_port() -> u16 {
    let free = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    free.as_ref().map(SocketAddr::port).map_err(io::Error::to_string).expect("the loopback has free ports")
}
