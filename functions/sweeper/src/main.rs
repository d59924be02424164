//! The sweeper that the minute's tick wakes; and a tick, where the minute is large, through the queue of sweeps.

use std::num::NonZeroU16;
use std::process::ExitCode;
use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use minutehand_cloud::{Cloud, Environment, NoTargets, Settings, Sweeps, aws, logs};
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports as _};
use minutehand_protocol::sweep::Pass;
use minutehand_sweeper::{Group, sweep_shards, tick_in_groups};
use serde_json::Value;

struct Sweeper {
    ports: Cloud<NoTargets>,
    sweeps: Sweeps,
    shards_per_sweep: u16,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    logs::to_stdout();
    logs::exit_code(serve().await)
}

async fn serve() -> Result<(), Error> {
    let sweeper = Arc::new(Sweeper::start(&Environment::of_this_process()).await?);
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| {
        let sweeper = Arc::clone(&sweeper);
        async move { sweeper.sweep(&event.payload).await }
    }))
    .await
}

impl Sweeper {
    async fn start(environment: &Environment) -> Result<Self, Error> {
        let settings = Settings::read(environment)?;
        let queue: String = environment.required("MINUTEHAND_SWEEPS_QUEUE", "the URL of an SQS queue")?;
        let each = environment.required::<NonZeroU16>("MINUTEHAND_SHARDS_PER_SWEEP", "a number from 1 to 64")?;
        let aws = aws().await;
        let ports = Cloud::new(settings, &aws, NoTargets);
        Ok(Self { ports, sweeps: Sweeps::new(&aws, queue), shards_per_sweep: each.get() })
    }

    async fn sweep(&self, event: &Value) -> Result<(), Error> {
        let swept = match groups_in(event) {
            Some(messages) => self.sweep_groups(messages).await,
            None => {
                tick_in_groups(&self.ports, self.shards_per_sweep, |group: Group| {
                    self.sweeps.hand_out(group.to_message())
                })
                .await
            }
        };
        self.ports.flush_events().await;
        let Pass { buckets, timers_read, hinted, looked_at, moved, unreadable } = swept?;
        tracing::info!(buckets, timers_read, hinted, looked_at, moved, unreadable, "swept");
        Ok(())
    }

    /// A message that names no group is used up: the next tick sweeps what it meant.
    async fn sweep_groups(&self, messages: Vec<&str>) -> Result<Pass, Fault> {
        let mut whole = Pass::default();
        for message in messages {
            match Group::parse(message.as_bytes(), self.ports.store().shards()) {
                Ok(group) => whole = whole.and(sweep_shards(&self.ports, group.shards()).await?),
                Err(why) => tracing::error!(told = message, %why, "this names no group of shards"),
            }
        }
        Ok(whole)
    }
}

/// The messages of the queue of sweeps, where it is that queue that wakes us. Whatever else does is a tick.
fn groups_in(event: &Value) -> Option<Vec<&str>> {
    let records = event.get("Records")?.as_array()?;
    Some(records.iter().filter_map(|record| record.get("body")?.as_str()).collect())
}
