//! The sweeper that the minute's tick wakes; and a tick, where the minute is large, through the queue of sweeps.

// A pass is futures inside of futures, from the event down to the request; optimized, they are deeper than 128.
#![recursion_limit = "256"]

use std::collections::BTreeSet;
use std::num::NonZeroU16;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use minutehand_cloud::{Cloud, Environment, Measuring, NoTargets, Settings, Sweeps, Switch, aws, logs};
use minutehand_domain::Moment;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::Store as _;
use minutehand_io::{Fault, Ports as _};
use minutehand_protocol::sweep::Pass;
use minutehand_sweeper::{
    Group, Waking, sweep_shards, tell_of_a_push, tell_of_the_oldest_letter, tick_in_groups, until,
};
use serde_json::Value;
use tokio::time::timeout;

/// What was measured has yet to be told, and behind a pass that took its time little is left of the invocation.
const LETTERS_TAKE: Duration = Duration::from_secs(2);

struct Sweeper {
    ports: Cloud<NoTargets>,
    sweeps: Sweeps,
    switch: Option<Switch>,
    shards_per_sweep: u16,
    measuring: Measuring,
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
        let deadline = Moment::from_millis(event.context.deadline.try_into().unwrap_or(i64::MAX));
        async move { sweeper.sweep(&event.payload, until(deadline)).await }
    }))
    .await
}

impl Sweeper {
    async fn start(environment: &Environment) -> Result<Self, Error> {
        let settings = Settings::read(environment)?;
        let queue: String = environment.required("MINUTEHAND_SWEEPS_QUEUE", "the URL of an SQS queue")?;
        let each = environment.required::<NonZeroU16>("MINUTEHAND_SHARDS_PER_SWEEP", "a number from 1 to 64")?;
        let aws = aws().await;
        let measuring = Measuring::of("sweeper", environment)?;
        let ports = Cloud::new(settings, &aws, NoTargets).observed(measuring.sink(), measuring.spans());
        let switch = Switch::of(&aws, environment)?;
        Ok(Self { ports, sweeps: Sweeps::new(&aws, queue), switch, shards_per_sweep: each.get(), measuring })
    }

    async fn sweep(&self, event: &Value, until: Moment) -> Result<(), Error> {
        let waking = Waking::of(event);
        waking.tell(self.ports.events().sink());
        let hand_out = |group: Group| self.sweeps.hand_out(group.to_message());
        let swept = match waking {
            Waking::Groups(records) => sweep_shards(&self.ports, self.shards_in(records), until, hand_out).await,
            Waking::Tick | Waking::Switch => tick_in_groups(&self.ports, self.shards_per_sweep, until, hand_out).await,
        };
        tokio::join!(self.ports.flush_events(), self.push_switch(waking, &swept), self.measure_letters(waking));
        self.measuring.tell(None).await;
        let Pass { buckets, timers_read, hinted, looked_at, moved, later, corrupt, unfinished, overtaken, .. } = swept?;
        tracing::info!(buckets, timers_read, hinted, looked_at, moved, later, corrupt, unfinished, overtaken, "swept");
        Ok(())
    }

    /// Behind the pass, and beside what else is sent then: it delays nothing that is due.
    async fn push_switch(&self, waking: Waking<'_>, swept: &Result<Pass, Fault>) {
        let Some(switch) = self.switch.as_ref().filter(|_| waking.pushes_after(swept)) else { return };
        let pushed = switch.push(self.ports.clock().now()).await;
        tell_of_a_push(&pushed, self.ports.events().sink());
    }

    /// Once a minute, and not for each of its groups.
    async fn measure_letters(&self, waking: Waking<'_>) {
        if !matches!(waking, Waking::Groups(_)) {
            let telling = tell_of_the_oldest_letter(&self.ports, self.ports.events().sink());
            if let Err(why) = timeout(LETTERS_TAKE, telling).await {
                tracing::warn!(%why, "how old the oldest dead letter is was not read in time");
            }
        }
    }

    /// A message that names no group is used up: the next tick sweeps what it meant.
    fn shards_in(&self, records: &[Value]) -> Vec<u16> {
        let mut shards = BTreeSet::new();
        for message in records.iter().filter_map(|record| record.get("body")?.as_str()) {
            match Group::parse(message.as_bytes(), self.ports.store().shards()) {
                Ok(group) => shards.extend(group.shards()),
                Err(why) => tracing::error!(told = message, %why, "this names no group of shards"),
            }
        }
        shards.into_iter().collect()
    }
}
