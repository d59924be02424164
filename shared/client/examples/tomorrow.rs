//! Makes a job for tomorrow, and shows what comes next: `cargo run -p minutehand-client --example tomorrow -- URL KEY`.

use minutehand_client::wire::{JobRequest, NextQuery, ScheduleSpec, TargetSpec};
use minutehand_client::{Client, ClientError};

#[tokio::main]
async fn main() -> Result<(), ClientError> {
    let mut words = std::env::args().skip(1);
    let url = words.next().unwrap_or_else(|| "http://127.0.0.1:8080".to_owned());
    let client = Client::new(&url, &words.next().unwrap_or_default())?;

    let schedule = ScheduleSpec { after_seconds: Some(86_400), ..ScheduleSpec::default() };
    let job = JobRequest { schedule: Some(schedule), target: TargetSpec::default(), ..JobRequest::default() };
    let job = client.create_job(&job, Some("the example's")).await?;

    let next = client.next_fires(&job.job_id, &NextQuery::default()).await?;
    eprintln!("{}: {}", job.job_id, next.description);
    Ok(())
}
