//! Breakdown: the CPU time of the server, the load generator and all other processes while the throughput was measured.

use std::time::Duration;

use crate::failure::Outcome;
use crate::lag::count;
use crate::sheet::Reading;
use crate::stage::Server;
use crate::usage::{Times, Usage, transactions, whole_machine};

/// A run is made of these: its timer, its job, the claim, the record, and the timer's end.
const WRITES_PER_RUN: f64 = 5.0;

/// The usage so far, or between two readings.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    server: Usage,
    generator: Usage,
    machine: Duration,
    commits: usize,
}

impl Taken {
    pub(super) fn now(server: &Server) -> Outcome<Self> {
        Ok(Self {
            server: Usage::of(server.pid())?,
            generator: Usage::of(std::process::id())?,
            machine: whole_machine()?,
            commits: transactions(&server.store_file())?,
        })
    }

    pub(super) fn until_now(self, server: &Server) -> Outcome<Self> {
        let now = Self::now(server)?;
        Ok(Self {
            server: now.server - self.server,
            generator: now.generator - self.generator,
            machine: now.machine.saturating_sub(self.machine),
            commits: now.commits - self.commits,
        })
    }

    /// The usage per run.
    pub(super) fn readings(&self, runs: usize, wall: Duration) -> Vec<Reading> {
        let Self { server: Usage { handlers, writer, bytes_written }, generator, .. } = self;
        let (runs, commits, seconds) = (count(runs), count(self.commits), wall.as_secs_f64());
        let micros = |what, span: Duration| Reading::new(what, "µs/run", span.as_secs_f64() * 1e6 / runs);
        let share = |what, span: Duration| Reading::new(what, "% of the time", 100.0 * span.as_secs_f64() / seconds);
        let others = self.machine.saturating_sub(self.server.cpu() + self.generator.cpu());
        vec![
            micros("CPU, HTTP + protocol + reads: user", handlers.user),
            micros("CPU, HTTP + protocol + reads: system", handlers.system),
            micros("CPU, store's writer: user", writer.user),
            micros("CPU, store's writer: system", writer.system),
            micros("CPU, load generator: user", generator.handlers.user),
            micros("CPU, load generator: system", generator.handlers.system),
            Reading::new("cores taken by others", "cores", others.as_secs_f64() / seconds),
            share("writer on a core", writer.cpu()),
            share("writer waiting for a core", writer.waited_for_a_core),
            share("writer waiting for the disk, or for work", asleep(*writer, wall)),
            Reading::new("commits", "/s", commits / seconds),
            Reading::new("writes in a commit", "", WRITES_PER_RUN * runs / commits),
            Reading::new("written to the disk", "bytes/run", count(*bytes_written) / runs),
        ]
    }
}

/// The time neither on a core nor waiting for one.
fn asleep(thread: Times, wall: Duration) -> Duration {
    wall.saturating_sub(thread.cpu() + thread.waited_for_a_core)
}
