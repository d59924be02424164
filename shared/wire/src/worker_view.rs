//! Workers and pools, as they are shown.

use minutehand_domain::Moment;
use minutehand_domain::limits::PAGE;
use minutehand_domain::pool::presence::{Presence, Status};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::instant::Instant;
use crate::page::DEFAULT_LIMIT;
use crate::texts::{CursorText, PoolText, RunIdText};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkersQuery {
    /// Only those of this pool.
    #[schemars(with = "Option<PoolText>")]
    pub pool: Option<String>,
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PoolsQuery {
    /// How many at most.
    #[schemars(range(min = 1, max = PAGE), extend("default" = DEFAULT_LIMIT))]
    pub limit: Option<usize>,
    #[schemars(with = "Option<CursorText>")]
    pub cursor: Option<String>,
}

/// A worker, as it was last heard of: up to ten seconds behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkerView {
    pub worker_id: String,
    pub pool: String,
    /// `live`, `draining` (it takes no more), or `dead` (three heartbeats are missing). A day later it is forgotten.
    pub status: String,
    pub first_seen_at: Instant,
    pub last_seen_at: Instant,
    /// For how long from each heartbeat on it has its runs.
    pub lease_seconds: u64,
    /// How many runs it carries out at a time, where it says so.
    pub slots: Option<u32>,
    /// What it can do; null: whatever there is.
    pub handlers: Option<Vec<String>>,
    /// What it has.
    pub holds: Vec<HoldView>,
}

/// A run that a worker has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Hold")]
pub struct HoldView {
    #[schemars(with = "RunIdText")]
    pub run_id: String,
    pub lease_expires_at: Instant,
}

/// A pool: who works for it, and what waits in it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PoolView {
    pub pool: String,
    pub workers: WorkersCounted,
    /// How many runs its live workers carry out at a time, as far as they say so.
    pub slots: u64,
    /// How many they have.
    pub running: u64,
    /// What is ready and nobody has taken.
    pub waiting: WaitingCounted,
    /// Since when the longest has waited.
    pub waiting_since: Option<Instant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WorkersCounted {
    pub live: u64,
    pub draining: u64,
    pub dead: u64,
}

/// By priority. Each is counted to a thousand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WaitingCounted {
    pub critical: u64,
    pub high: u64,
    pub normal: u64,
    pub low: u64,
}

impl WorkerView {
    pub fn of(presence: &Presence, now: Moment) -> Self {
        let hold = |run: &str, until: Moment| HoldView { run_id: run.to_owned(), lease_expires_at: Instant(until) };
        Self {
            worker_id: presence.worker.to_string(),
            pool: presence.pool.to_string(),
            status: presence.status(now).as_str().to_owned(),
            first_seen_at: Instant(presence.first_seen),
            last_seen_at: Instant(presence.last_seen),
            lease_seconds: presence.lease.as_secs(),
            slots: presence.slots,
            handlers: presence.handlers.as_ref().map(|names| names.iter().map(ToString::to_string).collect()),
            holds: presence.held(now).map(|one| hold(&one.run.to_string(), one.until)).collect(),
        }
    }
}

impl WorkersCounted {
    pub fn of(presences: &[Presence], now: Moment) -> Self {
        let count = |status| presences.iter().filter(|one| one.status(now) == status).count() as u64;
        Self { live: count(Status::Live), draining: count(Status::Draining), dead: count(Status::Dead) }
    }
}
