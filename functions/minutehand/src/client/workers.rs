//! `minutehand workers` and `minutehand pools`: who carries runs out elsewhere, and what waits for them.

use clap::{Args, Subcommand};
use minutehand_client::calls;
use minutehand_client::wire::{PoolView, PoolsQuery, WorkerView, WorkersQuery};

use super::cells::or_dash;
use super::connection::Connection;
use super::failure::Failure;
use super::instant::{away, short};
use super::list::Paging;
use super::session::{Paper, Session};
use super::table::{BAD, Cell, GOOD, HELD, PLAIN, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum Workers {
    /// List workers: when each was last heard of, and what it has
    #[command(
        visible_alias = "ls",
        after_help = "\
A worker is dead when three of its heartbeats are missing; a day later it is forgotten.

Examples:
  minutehand workers list
  minutehand workers list --pool web1 --json | jq -r '.items[] | select(.status == \"dead\") | .worker_id'"
    )]
    List(List),
}

#[derive(Debug, Args)]
pub(crate) struct List {
    /// Of this pool
    #[arg(long, value_name = "POOL")]
    pool: Option<String>,
    #[command(flatten)]
    paging: Paging,
}

/// Pools: who works for each, and how much waits in it.
#[derive(Debug, Args)]
pub(crate) struct Pools {
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl Workers {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        let Self::List(list) = self;
        let query = WorkersQuery { pool: list.pool.clone(), ..WorkersQuery::default() };
        session.list(calls::list_workers(&query), &list.paging, "No workers.", table).await
    }
}

impl Pools {
    pub(crate) async fn execute(self) -> Result<(), Failure> {
        let session = Session::open(&self.connection)?;
        session.list(calls::list_pools(&PoolsQuery::default()), &self.paging, "No pools.", pools).await
    }
}

fn table(workers: &[WorkerView], paper: Paper) -> Table {
    let mut table = Table::new(&["WORKER", "POOL", "STATUS", "LAST SEEN", "SLOTS", "HAS", "~HANDLERS"]);
    for worker in workers {
        let style = match worker.status.as_str() {
            "live" => GOOD,
            "draining" => HELD,
            "dead" => BAD,
            _later_word => PLAIN,
        };
        table.row(vec![
            Cell::from(&worker.worker_id),
            Cell::from(&worker.pool),
            Cell::new(&worker.status, style),
            Cell::from(away(worker.last_seen_at.0, paper.now)),
            or_dash(worker.slots.map(|slots| slots.to_string()).as_deref()),
            Cell::from(worker.holds.len().to_string()),
            Cell::from(worker.handlers.as_ref().map_or_else(|| "all".to_owned(), |names| names.join(" "))),
        ]);
    }
    table
}

fn pools(pools: &[PoolView], _paper: Paper) -> Table {
    let mut table = Table::new(&[
        "POOL",
        "LIVE",
        "DRAINING",
        "DEAD",
        "SLOTS",
        "RUNNING",
        "CRITICAL",
        "HIGH",
        "NORMAL",
        "LOW",
        "WAITING SINCE",
    ]);
    for pool in pools {
        let count = |count: u64| Cell::from(count.to_string());
        let waiting = &pool.waiting;
        table.row(vec![
            Cell::from(&pool.pool),
            count(pool.workers.live),
            count(pool.workers.draining),
            count(pool.workers.dead),
            count(pool.slots),
            count(pool.running),
            count(waiting.critical),
            count(waiting.high),
            count(waiting.normal),
            count(waiting.low),
            or_dash(pool.waiting_since.map(|at| short(at.0)).as_deref()),
        ]);
    }
    table
}
