//! The real process: started on a free port, known to be ready by what it says, and gone when the test is.

use std::io::Read;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::client::Client;

pub(crate) const KEY: &str = "a-key-that-only-tests-know";

/// Far longer than a start takes; the tests that measure it say how long it may take.
const START: Duration = Duration::from_secs(20);
const LOOK: Duration = Duration::from_millis(2);

pub(crate) struct Server {
    process: Process,
    address: SocketAddr,
}

/// A started process and what it has said so far.
pub(crate) struct Process {
    child: Child,
    stdout: Said,
    stderr: Said,
}

/// How a process ended.
#[derive(Debug)]
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// `minutehand` with nothing of the environment that would change what it does.
pub(crate) fn minutehand() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_minutehand"));
    for name in [
        "MINUTEHAND_KEY",
        "MINUTEHAND_DATA",
        "MINUTEHAND_LISTEN",
        "MINUTEHAND_REACH",
        "MINUTEHAND_ARCHIVE",
        "MINUTEHAND_TLS_CERT",
        "MINUTEHAND_TLS_KEY",
        "MINUTEHAND_TRACE_RATIO",
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "OTEL_EXPORTER_OTLP_HEADERS",
        "OTEL_EXPORTER_OTLP_TIMEOUT",
        "OTEL_METRIC_EXPORT_INTERVAL",
        "OTEL_RESOURCE_ATTRIBUTES",
        "OTEL_SERVICE_NAME",
        "RUST_LOG",
        "RUST_BACKTRACE",
    ] {
        command.env_remove(name);
    }
    command
}

/// `minutehand serve` on a free port and this data, with the tests' key.
pub(crate) fn serve(data: &Path) -> Command {
    let mut command = minutehand();
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).env("MINUTEHAND_KEY", KEY);
    command
}

impl Server {
    pub(crate) fn on(data: &Path) -> Self {
        Self::started(serve(data))
    }

    pub(crate) fn started(command: Command) -> Self {
        Self::started_or_ended(command).unwrap_or_else(|ended| panic!("it did not start: {ended:?}"))
    }

    /// Waits for the line that says where it listens, or for it to end without.
    pub(crate) fn started_or_ended(command: Command) -> Result<Self, Ended> {
        let mut process = Process::start(command);
        let begin = Instant::now();
        loop {
            if let Some(address) = process.stdout.address() {
                return Ok(Self { process, address });
            }
            if process.child.try_wait().expect("a child").is_some() {
                return Err(process.ended(START));
            }
            assert!(begin.elapsed() < START, "it neither starts nor ends: {}", process.stderr.so_far());
            thread::sleep(LOOK);
        }
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.pid()
    }

    pub(crate) fn client(&self) -> Client {
        Client::new(self.address, Some(KEY))
    }

    /// SIGKILL: it is not asked, and nothing of it is left when this returns.
    pub(crate) fn kill(self) {
        drop(self.process);
    }

    pub(crate) fn terminate(&self) {
        signal(self.pid(), Signal::TERM);
    }

    /// SIGTERM, and how it ended.
    pub(crate) fn stop(self) -> Ended {
        self.terminate();
        self.ended(START)
    }

    /// Waits for it to end by itself.
    pub(crate) fn ended(self, within: Duration) -> Ended {
        self.process.ended(within)
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.process.child.try_wait().expect("a child").is_none()
    }

    /// What it has written to stdout so far.
    pub(crate) fn stdout(&self) -> String {
        self.process.stdout()
    }

    /// What it has written to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        self.process.stderr()
    }
}

impl Process {
    pub(crate) fn start(mut command: Command) -> Self {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the binary under test");
        let stdout = Said::by(child.stdout.take().expect("piped"));
        let stderr = Said::by(child.stderr.take().expect("piped"));
        Self { child, stdout, stderr }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What it has written to stdout so far.
    pub(crate) fn stdout(&self) -> String {
        self.stdout.so_far()
    }

    /// What it has written to stderr so far.
    pub(crate) fn stderr(&self) -> String {
        self.stderr.so_far()
    }

    pub(crate) fn ended(mut self, within: Duration) -> Ended {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("a child") {
                break status;
            }
            assert!(begin.elapsed() < within, "still there after {within:?}: {}", self.stderr.so_far());
            thread::sleep(LOOK);
        };
        Ended { status, stdout: self.stdout.heard_out(), stderr: self.stderr.heard_out() }
    }
}

pub(crate) fn signal(pid: u32, signal: Signal) {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).expect("a process id");
    kill_process(pid, signal).expect("it is our child and still there");
}

impl Drop for Process {
    fn drop(&mut self) {
        // Fails where it is gone already.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

impl Ended {
    /// The lines by which it says why it ended.
    pub(crate) fn complaints(&self) -> Vec<&str> {
        self.stderr.lines().filter(|line| line.starts_with("minutehand: ")).collect()
    }
}

/// What a stream has said, read by a thread of its own so that the process never waits for us.
struct Said {
    text: Arc<Mutex<String>>,
    reader: Option<JoinHandle<()>>,
}

impl Said {
    fn by(mut stream: impl Read + Send + 'static) -> Self {
        let text = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&text);
        let reader = thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(read @ 1..) = stream.read(&mut buffer) {
                heard.lock().expect("no reader panics").push_str(&String::from_utf8_lossy(&buffer[..read]));
            }
        });
        Self { text, reader: Some(reader) }
    }

    fn so_far(&self) -> String {
        self.text.lock().expect("no reader panics").clone()
    }

    fn heard_out(&mut self) -> String {
        if let Some(reader) = self.reader.take() {
            reader.join().expect("no reader panics");
        }
        self.so_far()
    }

    fn address(&self) -> Option<SocketAddr> {
        let text = self.so_far();
        let (_, rest) = text.split_once("listens on http")?;
        let (_, rest) = rest.split_once("://")?;
        rest.split_once(' ').and_then(|(address, _)| address.parse().ok())
    }
}
