//! A small typed client of Minutehand's API.
//!
//! ```no_run
//! use minutehand_client::wire::{HttpTarget, JobRequest, ScheduleSpec, TargetSpec};
//! use minutehand_client::{Client, ClientError};
//!
//! # async fn example() -> Result<(), ClientError> {
//! let client = Client::new("http://127.0.0.1:8080", "a key")?;
//!
//! let job = JobRequest {
//!     name: Some("monthly-billing".to_owned()),
//!     schedule: Some(ScheduleSpec {
//!         cron: Some("0 2 1 * *".to_owned()),
//!         timezone: Some("Europe/Paris".to_owned()),
//!         ..ScheduleSpec::default()
//!     }),
//!     target: TargetSpec::Http(HttpTarget { url: "https://example.com/bill".to_owned(), ..HttpTarget::default() }),
//!     ..JobRequest::default()
//! };
//! // With an idempotency key, creating twice answers with the same job.
//! let job = client.create_job(&job, Some("billing-2026")).await?;
//!
//! match client.job(&job.job_id).await {
//!     Ok(job) => println!("{} fires at {:?}", job.job.job_id, job.job.next_run_at),
//!     Err(ClientError::Refused(no)) => println!("{}: {}", no.problem.status, no.problem.detail),
//!     Err(why) => return Err(why),
//! }
//! # Ok(())
//! # }
//! ```
//!
//! Each operation of the API is a [`Call`], said once in [`calls`]: what it sends, and what its answer reads as. The methods
//! of [`Client`] send it and read the answer; who wants the answer's own text sends the call itself ([`Client::send`]).
//! Nothing is tried again unless [`Retries`] are given.

mod answer;
mod call;
pub mod calls;
mod client;
mod download;
mod error;
mod retries;
mod transport;
pub mod worker;

pub use minutehand_wire as wire;

pub use self::answer::Answer;
pub use self::call::{Call, is_id};
pub use self::client::{Client, server_url};
pub use self::download::Download;
pub use self::error::{ClientError, NOBODY_LISTENS, Refused};
pub use self::retries::Retries;
pub use self::transport::Exchange;
