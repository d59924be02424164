//! The front of the real process against bad clients: slow, incomplete, never reading, too large, too many. Good clients are
//! served meanwhile.
//!
//! The bounds are made short, so that the tests are; the real ones are in `src/front/bounds.rs`.

#[path = "support/client.rs"]
#[expect(dead_code, reason = "what process.rs asks more of it")]
mod client;
#[path = "support/open_files.rs"]
mod open_files;
#[path = "support/patience.rs"]
#[expect(dead_code, reason = "here no instant is waited for; process.rs waits for some")]
mod patience;
#[path = "support/server.rs"]
#[expect(dead_code, reason = "what process.rs asks more of it")]
mod server;

#[path = "front/crowded.rs"]
mod crowded;
#[path = "front/malformed.rs"]
mod malformed;
#[path = "front/raw.rs"]
mod raw;
#[path = "front/shares.rs"]
mod shares;
#[path = "front/slow.rs"]
mod slow;
#[path = "front/watched.rs"]
mod watched;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use self::server::{KEY, Server, serve};

/// Every bound, in milliseconds: so far apart that a test can recognize which one applied.
const BOUNDS: &str = "head=500,idle=1000,frame=400,body=1500,answer=700";
const HEAD: Duration = Duration::from_millis(500);
const IDLE: Duration = Duration::from_millis(1_000);
const FRAME: Duration = Duration::from_millis(400);
const BODY: Duration = Duration::from_millis(1_500);
/// A busy machine is late by less than that.
const LATE: Duration = Duration::from_secs(5);

/// The process with short bounds.
fn bounded(data: &Path, more: &str) -> Server {
    let mut command = serve(data);
    command.env("MINUTEHAND_FRONT", format!("{BOUNDS},{more}"));
    Server::started(command)
}

/// The same, with a limit on open files: the hard one as well, to which the process raises the soft one.
fn bounded_with_files(data: &Path, files: u32, more: &str) -> Server {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("ulimit -n {files}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_minutehand")]);
    command.args(["serve", "--listen", "127.0.0.1:0", "--data"]).arg(data).env("MINUTEHAND_KEY", KEY);
    command.env("MINUTEHAND_FRONT", format!("{BOUNDS},{more}"));
    Server::started(command)
}
