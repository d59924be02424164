//! The stage: starts servers on fresh data, kills them and starts them again.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

use crate::client::Client;
use crate::failure::{Failure, Outcome, ensure};

/// The key of the servers started here.
pub const KEY: &str = "mh_a_key_that_opens_nothing_else";

/// The measured binary.
#[derive(Clone, Debug)]
pub struct Stage {
    pub binary: PathBuf,
    /// Data directories are made in here.
    pub directory: PathBuf,
    pub connections: usize,
    pub jobs: usize,
}

/// A `minutehand` process. It is killed when this is dropped.
pub struct Server {
    child: Child,
    address: SocketAddr,
    data: TempDir,
    /// From the start of the process to the line that says it listens.
    pub ready_after: Duration,
    _stdout: BufReader<ChildStdout>,
}

impl Stage {
    /// A new process on new data.
    pub fn server(&self) -> Outcome<Server> {
        Server::start(&self.binary, tempfile::Builder::new().prefix("minutehand-bench-").tempdir_in(&self.directory)?)
    }

    pub async fn client(&self, server: &Server) -> Outcome<Client> {
        self.connected(server, self.connections).await
    }

    /// A client with so many connections.
    pub async fn connected(&self, server: &Server, connections: usize) -> Outcome<Client> {
        Client::connect(server.address, connections).await
    }

    /// Kills the server with SIGKILL and starts it on the same data.
    pub fn kill_and_restart(&self, server: Server) -> Outcome<Server> {
        Server::start(&self.binary, server.kill()?)
    }
}

impl Server {
    fn start(binary: &Path, data: TempDir) -> Outcome<Self> {
        let begin = Instant::now();
        let mut child = Command::new(binary)
            .args(["serve", "--listen", "127.0.0.1:0", "--key", KEY, "--data"])
            .arg(data.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()?;
        let stdout = child.stdout.take().ok_or_else(|| Failure::Said("a process without a stdout".to_owned()))?;
        let mut stdout = BufReader::new(stdout);
        let address = address_said(&mut stdout)?;
        Ok(Self { child, address, data, ready_after: begin.elapsed(), _stdout: stdout })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn store_file(&self) -> PathBuf {
        self.data.path().join("minutehand.redb")
    }

    /// The size of its data on the disk, in bytes.
    pub fn disk_bytes(&self) -> Outcome<usize> {
        const BLOCK: u64 = 512;
        let mut blocks = 0;
        for entry in fs::read_dir(self.data.path())? {
            blocks += entry?.metadata()?.blocks();
        }
        Ok(usize::try_from(blocks * BLOCK).unwrap_or(usize::MAX))
    }

    /// SIGKILL: nothing is flushed or logged.
    fn kill(mut self) -> Outcome<TempDir> {
        self.child.kill()?;
        self.child.wait()?;
        let unused = tempfile::Builder::new().tempdir()?;
        Ok(std::mem::replace(&mut self.data, unused))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may be dead already, which is fine.
        let _killed = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// The welcome says `… listens on http://127.0.0.1:4711 and keeps …`.
fn address_said(stdout: &mut impl BufRead) -> Outcome<SocketAddr> {
    let mut line = String::new();
    while stdout.read_line(&mut line)? > 0 {
        if let Some(address) = address_in(&line) {
            return Ok(address);
        }
        line.clear();
    }
    Failure::said("the server ended before it said where it listens")
}

fn address_in(line: &str) -> Option<SocketAddr> {
    line.split_once("listens on http://")?.1.split(' ').next()?.trim().parse().ok()
}

/// Builds the release binary of the server: `target/release/minutehand`.
pub fn build() -> Outcome<PathBuf> {
    let status = Command::new("cargo").args(["build", "--release", "-p", "minutehand"]).status()?;
    ensure(status.success(), || "the server does not build".to_owned())?;
    let here = std::env::current_exe()?;
    let target =
        here.ancestors().nth(2).ok_or_else(|| Failure::Said("cargo runs from a target directory".to_owned()))?;
    Ok(target.join("release").join("minutehand"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_welcome_has_the_address() {
        let mut output =
            "\nMinutehand 0.1.0 listens on http://127.0.0.1:4711 and keeps everything in data\n".as_bytes();

        assert_eq!(address_said(&mut output).unwrap().port(), 4711);
        assert!(address_said(&mut &b"cannot listen\n"[..]).is_err());
    }
}
