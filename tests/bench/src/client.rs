//! The load generator: kept-alive connections on one thread, each sending its next request as soon as it has an answer.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use minutehand_domain::Moment;
use minutehand_io::clock::{Clock as _, SystemClock};

use crate::failure::{Failure, Outcome, ensure};
use crate::http::{self, Connection, text_field};
use crate::stage::KEY;

/// How fast jobs are submitted.
#[derive(Clone, Copy, Debug)]
pub enum Pace {
    /// A job as soon as a connection is free.
    Flat,
    /// One job per interval, whether or not the previous one was answered.
    Every(Duration),
}

pub struct Client {
    connections: Vec<Connection>,
}

/// A job whose 201 has arrived.
#[derive(Clone, Debug)]
pub struct Accepted {
    pub job: String,
    /// Its only run, which the answer names before the run exists.
    pub run: String,
    pub sent: Moment,
    pub sent_at: Instant,
    pub answered_at: Instant,
}

impl Client {
    pub async fn connect(address: SocketAddr, connections: usize) -> Outcome<Self> {
        let connections = try_join_all((0..connections).map(|_| Connection::open(address))).await?;
        Ok(Self { connections })
    }

    /// Submits the same job many times, one request each. The results are in the order of the answers.
    pub async fn submit(&mut self, jobs: usize, job: &str, pace: Pace) -> Outcome<Vec<Accepted>> {
        let request = http::post("/v1/jobs", KEY, job);
        let (next, begin) = (AtomicUsize::new(0), Instant::now());
        let submitting = self.connections.iter_mut().map(async |connection| {
            let mut accepted = Vec::with_capacity(jobs);
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= jobs {
                    return Ok::<_, Failure>(accepted);
                }
                pace.wait(begin, number).await;
                accepted.push(submit(connection, &request).await?);
            }
        });
        let mut accepted = try_join_all(submitting).await?.concat();
        accepted.sort_unstable_by_key(|each| each.answered_at);
        Ok(accepted)
    }

    /// Posts the same body many times, as many at once as there are connections; what is read of each answer, in no order.
    pub async fn post_many(
        &mut self,
        times: usize,
        path: &str,
        body: &str,
        read: impl Fn(&[u8]) -> Option<String>,
    ) -> Outcome<Vec<String>> {
        let (request, next, read) = (http::post(path, KEY, body), AtomicUsize::new(0), &read);
        let posting = self.connections.iter_mut().map(async |connection| {
            let mut told = Vec::new();
            while next.fetch_add(1, Ordering::Relaxed) < times {
                let answer = connection.ask(&request).await?;
                ensure((200..300).contains(&answer.status), || String::from_utf8_lossy(answer.body).into_owned())?;
                told.extend(read(answer.body));
            }
            Ok::<_, Failure>(told)
        });
        Ok(try_join_all(posting).await?.concat())
    }

    /// Posts once.
    pub async fn post<T>(&mut self, path: &str, body: &str, read: impl Fn(&[u8]) -> Outcome<T>) -> Outcome<T> {
        let request = http::post(path, KEY, body);
        let answer = self.connections[0].ask(&request).await?;
        ensure((200..300).contains(&answer.status), || String::from_utf8_lossy(answer.body).into_owned())?;
        read(answer.body)
    }

    /// Gets all paths, as many at once as there are connections; the answers are in the order of the paths.
    pub async fn get_all<T>(
        &mut self,
        paths: &[String],
        read: impl Fn(&[u8]) -> Outcome<Option<T>>,
    ) -> Outcome<Vec<Option<T>>> {
        let (next, read) = (AtomicUsize::new(0), &read);
        let getting = self.connections.iter_mut().map(async |connection| {
            let mut got = Vec::new();
            while let Some((number, path)) = nth(paths, next.fetch_add(1, Ordering::Relaxed)) {
                let answer = connection.ask(&http::get(path, KEY)).await?;
                // A run that has not been claimed yet does not exist.
                let item = if answer.status == 404 { None } else { read(answer.expect(200)?.body)? };
                got.push((number, item));
            }
            Ok::<_, Failure>(got)
        });
        let mut got = try_join_all(getting).await?.into_iter().flatten().collect::<Vec<_>>();
        got.sort_unstable_by_key(|(number, _)| *number);
        Ok(got.into_iter().map(|(_, item)| item).collect())
    }

    pub async fn get<T>(&mut self, path: String, read: impl Fn(&[u8]) -> Outcome<Option<T>>) -> Outcome<Option<T>> {
        Ok(self.get_all(&[path], read).await?.pop().flatten())
    }
}

impl Pace {
    async fn wait(self, begin: Instant, number: usize) {
        if let Self::Every(span) = self {
            let after = span * u32::try_from(number).unwrap_or(u32::MAX);
            tokio::time::sleep_until((begin + after).into()).await;
        }
    }
}

impl Accepted {
    pub fn took(&self) -> Duration {
        self.answered_at - self.sent_at
    }
}

async fn submit(connection: &mut Connection, request: &[u8]) -> Outcome<Accepted> {
    let (sent, sent_at) = (SystemClock.now(), Instant::now());
    let body = connection.ask(request).await?.expect(201)?.body;
    let answered_at = Instant::now();
    match (text_field(body, "job_id"), text_field(body, "next_run_id")) {
        (Some(job), Some(run)) => Ok(Accepted { job: job.into(), run: run.into(), sent, sent_at, answered_at }),
        _ => Failure::said(format!("an accepted job without its run: {}", String::from_utf8_lossy(body))),
    }
}

fn nth(paths: &[String], number: usize) -> Option<(usize, &str)> {
    paths.get(number).map(|path| (number, path.as_str()))
}
