//! The archiver that the stream of the table wakes, some minutes after DynamoDB has deleted what expired.

// Reading a run is futures inside of futures, from the event down to the request.
#![recursion_limit = "256"]

use std::process::ExitCode;
use std::sync::Arc;

use lambda_runtime::{Error, LambdaEvent, service_fn};
use minutehand_archiver::{Archived, Batch, archive};
use minutehand_cloud::{Cloud, Environment, Measuring, NoTargets, Settings, archive_bucket, aws, logs};
use minutehand_io::Ports as _;
use minutehand_io::bucket::Bucket;
use minutehand_io::metrics::ARCHIVED;

struct Archiver {
    ports: Cloud<NoTargets>,
    bucket: Bucket,
    measuring: Measuring,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    logs::to_stdout();
    logs::exit_code(serve().await)
}

async fn serve() -> Result<(), Error> {
    let archiver = Arc::new(Archiver::start(&Environment::of_this_process()).await?);
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Batch>| {
        let archiver = Arc::clone(&archiver);
        async move { archiver.archive(&event.payload).await }
    }))
    .await
}

impl Archiver {
    async fn start(environment: &Environment) -> Result<Self, Error> {
        let settings = Settings::read(environment)?;
        let aws = aws().await;
        let bucket = archive_bucket(&aws, environment)?;
        let measuring = Measuring::of("archiver", environment)?;
        let ports = Cloud::new(settings, &aws, NoTargets).observed(measuring.sink(), measuring.spans());
        Ok(Self { ports, bucket, measuring })
    }

    /// A fault gives the batch back to the stream, which tries it again.
    async fn archive(&self, batch: &Batch) -> Result<(), Error> {
        let done = archive(&self.ports, &self.bucket, batch).await;
        if let Ok(archived) = &done {
            self.tell(*archived);
        }
        self.ports.flush_events().await;
        self.measuring.tell(None).await;
        done?;
        Ok(())
    }

    fn tell(&self, Archived { runs, partial, unreadable, objects }: Archived) {
        tracing::info!(runs, partial, unreadable, objects, "archived");
        let sink = self.ports.events().sink();
        for (outcome, count) in [("archived", runs - partial), ("partial", partial), ("unreadable", unreadable)]
            .into_iter()
            .filter(|one| one.1 > 0)
        {
            #[expect(clippy::cast_precision_loss, reason = "a batch is small")]
            sink.add(&ARCHIVED, &[outcome], count as f64);
        }
    }
}
