//! A lease that is held: what is to be said of it, how its run ended, and until when it is this worker's by the clock of this machine.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use minutehand_wire::{
    CompleteRequest, FailRequest, HandBackRequest, HeartbeatRequest, HeartbeatView, Json, LeaseView, WorkerError,
};
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::context::{Context, Sink};
use super::effect::Book;
use super::not_done::NotDone;
use super::{FIRST_WAIT, REQUEST, chance, is_final};
use crate::client::Client;
use crate::error::ClientError;

/// What the server takes with a heartbeat.
const LINES: usize = 100;
/// Of all its lines: beside the largest checkpoint there is room for so much.
const LOG_BYTES: usize = 48 * 1024;
const CODE_CHARS: usize = 64;
/// Lines that wait for a heartbeat; the oldest give way, and that is said.
const WAITING_LINES: usize = 1_000;
/// What failed is said again soon: the lease runs meanwhile.
const LONGEST_BEAT_WAIT: Duration = Duration::from_secs(2);

pub(super) struct Held {
    lease: LeaseView,
    seconds: Duration,
    said: Arc<Said>,
    cancelled: watch::Sender<bool>,
    lost: watch::Sender<bool>,
    /// It was told to stop because the worker goes away.
    is_leaving: AtomicBool,
    end: Mutex<Option<oneshot::Sender<Ended>>>,
    ended: Mutex<Option<oneshot::Receiver<Ended>>>,
}

/// How a run ends, as its holder says.
#[derive(Clone, Debug)]
pub(super) enum Ended {
    Done(Box<RawValue>),
    Failed(WorkerError),
    HandedBack,
}

/// What the handler said and the server has not heard.
struct Said {
    waiting: Mutex<Waiting>,
    urgent: Notify,
    sent: Mutex<Option<watch::Sender<u64>>>,
    /// As it was when nothing more is sent.
    closed: watch::Receiver<u64>,
}

#[derive(Debug, Default)]
struct Waiting {
    progress: Option<f64>,
    stage: Option<String>,
    checkpoint: Option<Box<RawValue>>,
    lines: VecDeque<String>,
    dropped: usize,
    number: u64,
}

/// Until when the lease is ours.
struct Ours {
    until: Instant,
    expires: i64,
    deadline: i64,
}

impl Held {
    pub(super) fn new(lease: LeaseView, seconds: Duration) -> Self {
        let (end, ended) = oneshot::channel();
        let (sent, closed) = watch::channel(0);
        let said = Said { waiting: Mutex::default(), urgent: Notify::new(), sent: Mutex::new(Some(sent)), closed };
        Self {
            lease,
            seconds,
            said: Arc::new(said),
            cancelled: watch::channel(false).0,
            lost: watch::channel(false).0,
            is_leaving: AtomicBool::new(false),
            end: Mutex::new(Some(end)),
            ended: Mutex::new(Some(ended)),
        }
    }

    pub(super) fn context(&self, client: Client) -> Context {
        let sink: Arc<dyn Sink> = Arc::<Said>::clone(&self.said);
        let (run, token) = (self.lease.run_id.clone(), self.lease.token.clone());
        let book = Book { client, run, token, lost: self.lost.subscribe() };
        Context::new(&self.lease, self.cancelled.subscribe(), sink, book)
    }

    /// The worker goes away: the handler is to stop.
    pub(super) fn leave(&self) {
        self.is_leaving.store(true, Ordering::Relaxed);
        self.cancelled.send_replace(true);
    }

    /// The first to say how it ends is heard.
    pub(super) fn end(&self, ended: Ended) {
        if let Some(end) = lock(&self.end).take() {
            let _heard = end.send(ended);
        }
    }

    pub(super) async fn lost(&self) {
        let mut lost = self.lost.subscribe();
        let _lost = lost.wait_for(|is| *is).await.is_ok();
    }

    /// What a handler's end is for the server.
    pub(super) fn outcome(&self, done: Result<Box<RawValue>, NotDone>) -> Ended {
        let (code, message, retryable) = match done {
            Ok(result) => return Ended::Done(result),
            Err(NotDone::HandBack) => return Ended::HandedBack,
            Err(NotDone::Cancelled) if self.is_leaving.load(Ordering::Relaxed) => return Ended::HandedBack,
            Err(NotDone::Cancelled) => ("cancelled".to_owned(), "it was told to stop".to_owned(), true),
            Err(NotDone::Failed { code, message, retryable }) => (word(&code), message, retryable),
        };
        Ended::Failed(WorkerError { code, message, retryable })
    }

    /// Keeps the lease until its handler has ended, and says how. What ends after the lease is lost is not said.
    pub(super) async fn live(&self, client: &Client) {
        let Some(mut ended) = lock(&self.ended).take() else { return };
        let mut ours = Ours::of(&self.lease, self.seconds);
        let mut wait = None;
        let ended = loop {
            let pause = wait.unwrap_or_else(|| self.pause()).min(ours.left());
            tokio::select! {
                biased;
                ended = &mut ended => break ended.unwrap_or(Ended::HandedBack),
                () = self.said.urgent.notified(), if wait.is_none() => {}
                () = sleep(pause) => {}
            }
            if ours.left().is_zero() {
                self.lose("its heartbeats did not arrive in time");
            } else {
                wait = self.beat_or_wait(client, &mut ours, wait).await;
            }
            if self.is_lost() {
                break ended.await.unwrap_or(Ended::HandedBack);
            }
        };
        self.tell(client, &mut ours, ended).await;
        self.said.close();
    }

    fn pause(&self) -> Duration {
        self.seconds.div_f64(3.0).mul_f64(0.8 + chance() / 5.0)
    }

    fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    fn lose(&self, why: &str) {
        warn!(run = self.lease.run_id, why, "the lease is lost");
        self.said.close();
        self.lost.send_replace(true);
        self.cancelled.send_replace(true);
    }

    /// How long to wait until it is said again; none where it went well.
    async fn beat_or_wait(&self, client: &Client, ours: &mut Ours, wait: Option<Duration>) -> Option<Duration> {
        let Err(why) = self.beat(client, ours).await else { return None };
        if is_final(&why) {
            self.refused_beat(&why);
            return None;
        }
        warn!(run = self.lease.run_id, %why, "a heartbeat failed");
        Some(longer(wait))
    }

    async fn beat(&self, client: &Client, ours: &mut Ours) -> Result<(), ClientError> {
        let (mut request, number) = self.said.taken();
        request.token.clone_from(&self.lease.token);
        request.lease_seconds = Some(self.seconds.as_secs());
        let begin = Instant::now();
        let most = REQUEST.min(ours.left().max(Duration::from_millis(100)));
        let answer = timeout(most, client.keep_lease(&self.lease.lease_id, &request)).await;
        match answer.unwrap_or_else(|_| Err(late(client))) {
            Ok(view) => {
                ours.heard(&view, begin, self.seconds);
                self.said.was_sent(number);
                if view.cancel_requested {
                    self.cancelled.send_replace(true);
                }
                Ok(())
            }
            Err(why) => {
                self.said.put_back(request);
                Err(why)
            }
        }
    }

    fn refused_beat(&self, why: &ClientError) {
        if is_of_the_lease(why) {
            self.lose(&why.to_string());
            return;
        }
        // What was said with it is at fault, and would be again: the lease is kept without.
        warn!(run = self.lease.run_id, %why, "what is said with a heartbeat is refused, and left out");
        let (_, number) = self.said.taken();
        self.said.was_sent(number);
    }

    /// Says how it went, until the server has heard it or the lease is over.
    async fn tell(&self, client: &Client, ours: &mut Ours, mut ended: Ended) {
        let mut wait = None;
        while !self.is_lost() {
            if ours.left().is_zero() {
                return self.lose("how it ended could not be said in time");
            }
            let Err(why) = self.tell_once(client, ours, &ended).await else { return };
            warn!(run = self.lease.run_id, %why, "how it ended is not taken");
            if is_final(&why) {
                if is_of_the_lease(&why) || !matches!(ended, Ended::Done(_)) {
                    return;
                }
                let error = WorkerError { code: word("result_refused"), message: why.to_string(), retryable: false };
                ended = Ended::Failed(error);
            } else {
                let pause = longer(wait);
                wait = Some(pause);
                sleep(pause).await;
            }
        }
    }

    /// What the handler said last is said before its end.
    async fn tell_once(&self, client: &Client, ours: &mut Ours, ended: &Ended) -> Result<(), ClientError> {
        while self.said.is_waiting() && !self.is_lost() {
            match self.beat(client, ours).await {
                Err(why) if is_final(&why) => self.refused_beat(&why),
                said => said?,
            }
        }
        if self.is_lost() {
            return Ok(());
        }
        let most = REQUEST.min((self.seconds / 3).max(Duration::from_secs(1)));
        timeout(most, self.say(client, ended)).await.unwrap_or_else(|_| Err(late(client)))
    }

    async fn say(&self, client: &Client, ended: &Ended) -> Result<(), ClientError> {
        let (lease, token) = (&self.lease.lease_id, self.lease.token.clone());
        match ended {
            Ended::Done(result) => {
                let result = (result.get() != "null").then(|| Json::from(result.clone()));
                client.complete_lease(lease, &CompleteRequest { token, result }).await.map(drop)
            }
            Ended::Failed(error) => {
                client.fail_lease(lease, &FailRequest { token, error: error.clone() }).await.map(drop)
            }
            Ended::HandedBack => client.hand_back_lease(lease, &HandBackRequest { token }).await.map(drop),
        }
    }
}

impl Said {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// What goes with the next heartbeat, and the number of the last of it.
    fn taken(&self) -> (HeartbeatRequest, u64) {
        let mut waiting = self.waiting();
        let most = as_many(&waiting.lines);
        let mut logs: Vec<String> = waiting.lines.drain(..most).collect();
        if let Some(first) = logs.first_mut().filter(|_| waiting.dropped > 0) {
            *first = format!("({} lines before this one were too many)", waiting.dropped);
            waiting.dropped = 0;
        }
        let request = HeartbeatRequest {
            progress: waiting.progress.take(),
            stage: waiting.stage.take(),
            checkpoint: waiting.checkpoint.take().map(Json::from),
            logs,
            ..HeartbeatRequest::default()
        };
        (request, waiting.number)
    }

    /// What did not arrive; what was said since is newer.
    fn put_back(&self, request: HeartbeatRequest) {
        let HeartbeatRequest { progress, stage, checkpoint, logs, .. } = request;
        let mut waiting = self.waiting();
        waiting.progress = waiting.progress.or(progress);
        waiting.stage = waiting.stage.take().or(stage);
        let checkpoint = checkpoint.and_then(|json| RawValue::from_string(json.text().to_owned()).ok());
        waiting.checkpoint = waiting.checkpoint.take().or(checkpoint);
        logs.into_iter().rev().for_each(|line| waiting.lines.push_front(line));
    }

    fn is_waiting(&self) -> bool {
        let waiting = self.waiting();
        let is_nothing = waiting.progress.is_none() && waiting.stage.is_none() && waiting.checkpoint.is_none();
        !is_nothing || !waiting.lines.is_empty()
    }

    fn was_sent(&self, number: u64) {
        if let Some(sent) = &*lock(&self.sent) {
            sent.send_replace(number);
        }
        if self.waiting().lines.len() >= LINES {
            self.urgent.notify_one();
        }
    }

    fn close(&self) {
        lock(&self.sent).take();
    }

    fn say(&self, is_urgent: bool, say: impl FnOnce(&mut Waiting)) -> u64 {
        let mut waiting = self.waiting();
        say(&mut waiting);
        waiting.number += 1;
        if is_urgent || waiting.lines.len() == LINES {
            self.urgent.notify_one();
        }
        waiting.number
    }
}

impl Sink for Said {
    fn keep(&self, value: Box<RawValue>, is_urgent: bool) -> u64 {
        self.say(is_urgent, |waiting| waiting.checkpoint = Some(value))
    }

    fn progress(&self, fraction: f64) {
        self.say(false, |waiting| waiting.progress = Some(fraction));
    }

    fn stage(&self, stage: String) {
        self.say(false, |waiting| waiting.stage = Some(stage));
    }

    fn line(&self, line: String) {
        self.say(false, |waiting| {
            waiting.lines.push_back(line);
            if waiting.lines.len() > WAITING_LINES {
                waiting.lines.pop_front();
                waiting.dropped += 1;
            }
        });
    }

    fn sent(&self) -> watch::Receiver<u64> {
        lock(&self.sent).as_ref().map_or_else(|| self.closed.clone(), watch::Sender::subscribe)
    }
}

impl Ours {
    fn of(lease: &LeaseView, seconds: Duration) -> Self {
        let (expires, deadline) = (lease.lease_expires_at.0.millis(), lease.deadline_at.0.millis());
        Self { until: Instant::now() + seconds, expires, deadline }
    }

    fn left(&self) -> Duration {
        self.until.saturating_duration_since(Instant::now())
    }

    /// Counted from when it was asked for. One that is not kept for as long as that: by as much as the server's own clock moved its end.
    fn heard(&mut self, view: &HeartbeatView, begin: Instant, seconds: Duration) {
        let expires = view.lease_expires_at.0.millis();
        let moved = Duration::from_millis(u64::try_from(expires - self.expires).unwrap_or(0));
        let is_whole = !view.cancel_requested && expires < self.deadline;
        self.until = if is_whole { begin + seconds } else { (self.until + moved).min(begin + seconds) };
        self.expires = expires;
    }
}

/// The lease is over, or was never ours.
fn is_of_the_lease(why: &ClientError) -> bool {
    matches!(why, ClientError::Refused(no) if matches!(no.problem.status, 401 | 403 | 404 | 409))
}

fn late(client: &Client) -> ClientError {
    ClientError::Unreachable { server: client.url().to_string(), why: "no answer in time".to_owned() }
}

fn longer(wait: Option<Duration>) -> Duration {
    wait.map_or(FIRST_WAIT, |wait| (wait * 2).min(LONGEST_BEAT_WAIT)).mul_f64(0.75 + chance() / 4.0)
}

/// How many lines go with one heartbeat.
fn as_many(lines: &VecDeque<String>) -> usize {
    let sizes = lines.iter().take(LINES).scan(0, |size, line| {
        // Each character that JSON escapes has two of them: control characters were taken out.
        *size += 2 * line.len();
        Some(*size)
    });
    sizes.take_while(|size| *size <= LOG_BYTES).count()
}

/// What the server takes as one.
fn word(text: &str) -> String {
    let kept = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-') { c } else { '_' };
    let word: String = text.chars().map(kept).take(CODE_CHARS).collect();
    if word.is_empty() { "error".to_owned() } else { word }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
