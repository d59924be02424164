//! Held: the cost of holding jobs that are due much later, busy and idle, and of a restart with them after a SIGKILL.

use std::time::Duration;

use super::noop_job;
use crate::client::{Accepted, Pace};
use crate::failure::{Outcome, ensure};
use crate::lag::{count, millis};
use crate::sheet::{Must, Reading};
use crate::stage::{Server, Stage};
use crate::usage::{Usage, resident};

const JOBS: usize = 100_000;
const DUE_AFTER_SECONDS: u32 = 3600;
/// A pause after the last submission, in which requests under way end.
const CALM: Duration = Duration::from_secs(3);
const IDLE: Duration = Duration::from_secs(10);
/// One of this many jobs is read back.
const SAMPLE: usize = 100;

pub(super) fn meaning(stage: &Stage) -> String {
    format!(
        "{JOBS} no-op jobs due in an hour, one POST each over {} connections. Memory: VmRSS of the process (redb's page cache,\n  \
         at most 256 MiB, is in it); disk: the blocks of its directory; both also less what an empty one has. Idle: the\n  \
         CPU it takes in {IDLE:?}. Then SIGKILL and restart: every {SAMPLE}th job must read back.",
        stage.connections
    )
}

pub(super) async fn measure(stage: &Stage) -> Outcome<Vec<Reading>> {
    let server = stage.server()?;
    let mut client = stage.client(&server).await?;
    let empty = Held::now(&server)?;
    let job = noop_job(&format!(r#"{{"after_seconds":{DUE_AFTER_SECONDS}}}"#));
    let jobs = client.submit(JOBS, &job, Pace::Flat).await?;
    tokio::time::sleep(CALM).await;
    let full = Held::now(&server)?;
    let idle = idle_cpu(&server).await?;

    let server = stage.kill_and_restart(server)?;
    let after = resident(server.pid())?;
    read_back(stage, &server, &jobs).await?;
    let took = jobs[JOBS - 1].answered_at - jobs[0].sent_at;
    Ok(vec![
        Reading::new("submissions", "/s", count(JOBS) / took.as_secs_f64()),
        Reading::new("memory, of the process", "MiB", mebibytes(full.memory)),
        Reading::new("memory, for each job", "bytes", count(full.memory.saturating_sub(empty.memory)) / count(JOBS)),
        Reading::new("disk, of the directory", "MiB", mebibytes(full.disk)),
        Reading::new("disk, for each job", "bytes", count(full.disk.saturating_sub(empty.disk)) / count(JOBS)),
        Reading::new("CPU while idle", "% of a core", idle).must_be(Must::AtMost(1.0)),
        Reading::new("killed: ready again after", "ms", millis(server.ready_after)).must_be(Must::AtMost(1000.0)),
        Reading::new("memory, after the restart", "MiB", mebibytes(after)),
    ])
}

/// The memory and disk of a process at a moment, in bytes.
struct Held {
    memory: usize,
    disk: usize,
}

impl Held {
    fn now(server: &Server) -> Outcome<Self> {
        Ok(Self { memory: resident(server.pid())?, disk: server.disk_bytes()? })
    }
}

async fn idle_cpu(server: &Server) -> Outcome<f64> {
    let before = Usage::of(server.pid())?;
    tokio::time::sleep(IDLE).await;
    let took = (Usage::of(server.pid())? - before).cpu();
    Ok(100.0 * took.as_secs_f64() / IDLE.as_secs_f64())
}

async fn read_back(stage: &Stage, server: &Server, jobs: &[Accepted]) -> Outcome<()> {
    let mut client = stage.client(server).await?;
    let paths = jobs.iter().step_by(SAMPLE).map(|each| format!("/v1/jobs/{}", each.job)).collect::<Vec<_>>();
    let found = client.get_all(&paths, |body| Ok(Some(body.len()))).await?;
    ensure(found.iter().all(Option::is_some), || "an acknowledged job is gone after a kill".to_owned())
}

fn mebibytes(bytes: usize) -> f64 {
    count(bytes) / count(1024 * 1024)
}
