//! A lease that is held: what is to be said of it, how its run ended, and until when it is this worker's by the clock of this machine.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use std::{iter, mem};

use minutehand_wire::{
    CompleteRequest, FailRequest, HandBackRequest, HeartbeatRequest, HeartbeatView, Json, LeaseView, WorkerError,
};
use serde_json::value::RawValue;
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::context::{Context, Kept, Sink, json_of};
use super::effect::Book;
use super::not_done::NotDone;
use super::{FIRST_WAIT, REQUEST, chance, is_final, send};
use crate::calls;
use crate::client::Client;
use crate::error::ClientError;

/// What the server takes with a heartbeat.
const LINES: usize = 100;
/// Of all its lines: beside the largest checkpoint there is room for so much.
const LOG_BYTES: usize = 48 * 1024;
const CODE_CHARS: usize = 64;
const MESSAGE_CHARS: usize = 1_024;
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
    /// Nothing more is said of it.
    over: watch::Sender<bool>,
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
    kept: Mutex<Option<watch::Sender<Kept>>>,
    /// As it was when nothing more is sent.
    closed: watch::Receiver<Kept>,
}

#[derive(Debug, Default)]
struct Waiting {
    progress: Option<f64>,
    stage: Option<String>,
    checkpoint: Option<Box<RawValue>>,
    lines: VecDeque<String>,
    dropped: usize,
    /// Of the last checkpoint.
    number: u64,
}

/// What one heartbeat says.
struct Beat {
    said: HeartbeatRequest,
    /// Of its checkpoint.
    number: u64,
    /// How many lines were thrown away before its own.
    dropped: usize,
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
        let has = json_of(&lease.checkpoint);
        let (kept, closed) = watch::channel(Kept { has, ..Kept::default() });
        let said = Said { waiting: Mutex::default(), urgent: Notify::new(), kept: Mutex::new(Some(kept)), closed };
        Self {
            lease,
            seconds,
            said: Arc::new(said),
            cancelled: watch::channel(false).0,
            lost: watch::channel(false).0,
            over: watch::channel(false).0,
            is_leaving: AtomicBool::new(false),
            end: Mutex::new(Some(end)),
            ended: Mutex::new(Some(ended)),
        }
    }

    pub(super) fn context(&self, client: Client) -> Context {
        let sink: Arc<dyn Sink> = Arc::<Said>::clone(&self.said);
        let (run, token) = (self.lease.run_id.clone(), self.lease.token.clone());
        let book = Book { client, run, token, over: self.over.subscribe() };
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
        let message = message.chars().take(MESSAGE_CHARS).collect();
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
        self.close();
    }

    fn pause(&self) -> Duration {
        self.seconds.div_f64(3.0).mul_f64(0.8 + chance() / 5.0)
    }

    fn is_lost(&self) -> bool {
        *self.lost.borrow()
    }

    fn lose(&self, why: &str) {
        warn!(run = self.lease.run_id, why, "the lease is lost");
        self.close();
        self.lost.send_replace(true);
        self.cancelled.send_replace(true);
    }

    /// A handler that waits for an answer is told that none comes.
    fn close(&self) {
        self.said.close();
        self.over.send_replace(true);
    }

    /// How long to wait until it is said again; none where it went well.
    async fn beat_or_wait(&self, client: &Client, ours: &mut Ours, wait: Option<Duration>) -> Option<Duration> {
        let Err(why) = self.beat(client, ours).await else { return None };
        if is_of_the_lease(&why) {
            self.lose(&why.to_string());
            return None;
        }
        warn!(run = self.lease.run_id, %why, "a heartbeat failed");
        Some(longer(wait))
    }

    /// Says all that waits. Where that is refused its parts are sent one by one, so that only what is at fault is left out.
    async fn beat(&self, client: &Client, ours: &mut Ours) -> Result<(), ClientError> {
        let beat = self.said.taken();
        match self.exchange(client, ours, &beat).await {
            Err(why) if is_of_what_was_said(&why) => self.say_singly(client, ours, beat).await,
            Err(why) => {
                self.said.put_back(beat);
                Err(why)
            }
            Ok(()) => Ok(()),
        }
    }

    async fn say_singly(&self, client: &Client, ours: &mut Ours, beat: Beat) -> Result<(), ClientError> {
        let mut beats = beat.singly().into_iter();
        while let Some(beat) = beats.next() {
            match self.exchange(client, ours, &beat).await {
                Err(why) if is_of_what_was_said(&why) => self.leave_out(&beat, &why),
                Err(why) => {
                    self.said.put_back(beat);
                    beats.for_each(|rest| self.said.put_back(rest));
                    return Err(why);
                }
                Ok(()) => {}
            }
        }
        Ok(())
    }

    async fn exchange(&self, client: &Client, ours: &mut Ours, beat: &Beat) -> Result<(), ClientError> {
        let (token, lease_seconds) = (self.lease.token.clone(), Some(self.seconds.as_secs()));
        let request = HeartbeatRequest { token, lease_seconds, logs: beat.lines(), ..beat.said.clone() };
        let call = calls::keep_lease(&self.lease.lease_id, &request);
        let begin = Instant::now();
        let most = REQUEST.min(ours.left().max(Duration::from_millis(100)));
        let view = timeout(most, send(client, &call)).await.unwrap_or_else(|_| Err(late(client)))?;
        ours.heard(&view, begin, self.seconds);
        self.said.was_sent(beat);
        if view.cancel_requested {
            self.cancelled.send_replace(true);
        }
        Ok(())
    }

    /// It would be refused again.
    fn leave_out(&self, beat: &Beat, why: &ClientError) {
        warn!(run = self.lease.run_id, part = name_of(&beat.said), %why, "what is said is refused, and left out");
        if beat.said.checkpoint.is_some() {
            self.said.tell(|kept| kept.refused = Some((beat.number, why.to_string())));
        }
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
                Err(why) if is_of_the_lease(&why) => self.lose(&why.to_string()),
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
                send(client, &calls::complete_lease(lease, &CompleteRequest { token, result })).await.map(drop)
            }
            Ended::Failed(error) => {
                send(client, &calls::fail_lease(lease, &FailRequest { token, error: error.clone() })).await.map(drop)
            }
            Ended::HandedBack => {
                send(client, &calls::hand_back_lease(lease, &HandBackRequest { token })).await.map(drop)
            }
        }
    }
}

impl Said {
    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        lock(&self.waiting)
    }

    /// What goes with the next heartbeat.
    fn taken(&self) -> Beat {
        let mut waiting = self.waiting();
        // That some are missing is a line as well.
        let most = as_many(&waiting.lines, if waiting.dropped > 0 { LINES - 1 } else { LINES });
        let dropped = if most > 0 { mem::take(&mut waiting.dropped) } else { 0 };
        let said = HeartbeatRequest {
            progress: waiting.progress.take(),
            stage: waiting.stage.take(),
            checkpoint: waiting.checkpoint.take().map(Json::from),
            logs: waiting.lines.drain(..most).collect(),
            ..HeartbeatRequest::default()
        };
        Beat { said, number: waiting.number, dropped }
    }

    /// What did not arrive; what was said since is newer.
    fn put_back(&self, beat: Beat) {
        let HeartbeatRequest { progress, stage, checkpoint, logs, .. } = beat.said;
        let mut waiting = self.waiting();
        waiting.progress = waiting.progress.or(progress);
        waiting.stage = waiting.stage.take().or(stage);
        waiting.checkpoint = waiting.checkpoint.take().or_else(|| raw(checkpoint.as_ref()));
        logs.into_iter().rev().for_each(|line| waiting.lines.push_front(line));
        waiting.dropped += beat.dropped;
        waiting.shed();
    }

    fn is_waiting(&self) -> bool {
        let waiting = self.waiting();
        let is_nothing = waiting.progress.is_none() && waiting.stage.is_none() && waiting.checkpoint.is_none();
        !is_nothing || !waiting.lines.is_empty()
    }

    fn was_sent(&self, beat: &Beat) {
        if let Some(has) = raw(beat.said.checkpoint.as_ref()) {
            self.tell(|kept| (kept.sent, kept.has) = (beat.number, Some(has)));
        }
        if self.waiting().lines.len() >= LINES {
            self.urgent.notify_one();
        }
    }

    /// A handler that waits for its checkpoint.
    fn tell(&self, what: impl FnOnce(&mut Kept)) {
        if let Some(kept) = &*lock(&self.kept) {
            kept.send_modify(what);
        }
    }

    fn close(&self) {
        lock(&self.kept).take();
    }

    fn say(&self, is_urgent: bool, say: impl FnOnce(&mut Waiting)) {
        let mut waiting = self.waiting();
        say(&mut waiting);
        if is_urgent || waiting.lines.len() == LINES {
            self.urgent.notify_one();
        }
    }
}

impl Sink for Said {
    fn keep(&self, number: u64, value: Box<RawValue>, is_urgent: bool) {
        self.say(is_urgent, |waiting| (waiting.checkpoint, waiting.number) = (Some(value), number));
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
            waiting.shed();
        });
    }

    fn kept(&self) -> watch::Receiver<Kept> {
        lock(&self.kept).as_ref().map_or_else(|| self.closed.clone(), watch::Sender::subscribe)
    }
}

impl Waiting {
    fn shed(&mut self) {
        let over = self.lines.len().saturating_sub(WAITING_LINES);
        self.lines.drain(..over);
        self.dropped += over;
    }
}

impl Beat {
    /// That lines are missing is said where they would be. It is never one of the lines that wait, or it could be thrown away as those were,
    /// and its count with it.
    fn lines(&self) -> Vec<String> {
        let notice = (self.dropped > 0).then(|| format!("({} lines before this one were too many)", self.dropped));
        notice.into_iter().chain(self.said.logs.iter().cloned()).collect()
    }

    /// One for each part. The first says nothing: it keeps the lease though others are refused.
    fn singly(self) -> Vec<Self> {
        let HeartbeatRequest { progress, stage, checkpoint, logs, .. } = self.said;
        let nothing = HeartbeatRequest::default;
        let all = [
            HeartbeatRequest { progress, ..nothing() },
            HeartbeatRequest { stage, ..nothing() },
            HeartbeatRequest { checkpoint, ..nothing() },
            HeartbeatRequest { logs, ..nothing() },
        ];
        let given = all.into_iter().filter(|part| *part != nothing());
        let of = |said: HeartbeatRequest| {
            let dropped = if said.logs.is_empty() { 0 } else { self.dropped };
            Self { said, number: self.number, dropped }
        };
        iter::once(nothing()).chain(given).map(of).collect()
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

/// What is said would be refused again; the lease is as good as before.
fn is_of_what_was_said(why: &ClientError) -> bool {
    is_final(why) && !is_of_the_lease(why)
}

fn raw(json: Option<&Json>) -> Option<Box<RawValue>> {
    json.map(|json| json.raw().to_owned())
}

fn name_of(part: &HeartbeatRequest) -> &'static str {
    match part {
        HeartbeatRequest { progress: Some(_), .. } => "progress",
        HeartbeatRequest { stage: Some(_), .. } => "stage",
        HeartbeatRequest { checkpoint: Some(_), .. } => "checkpoint",
        HeartbeatRequest { logs, .. } if !logs.is_empty() => "logs",
        HeartbeatRequest { .. } => "a bare heartbeat",
    }
}

fn late(client: &Client) -> ClientError {
    ClientError::Unreachable { server: client.url().to_string(), why: "no answer in time".to_owned() }
}

fn longer(wait: Option<Duration>) -> Duration {
    wait.map_or(FIRST_WAIT, |wait| (wait * 2).min(LONGEST_BEAT_WAIT)).mul_f64(0.75 + chance() / 4.0)
}

/// How many lines go with one heartbeat.
fn as_many(lines: &VecDeque<String>, most: usize) -> usize {
    let sizes = lines.iter().take(most).scan(0, |size, line| {
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

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use serde_json::value::to_raw_value;
    use serde_json::{Value, json};

    use super::*;

    /// What a server was sent, without what each heartbeat has.
    type Heard = Arc<Mutex<Vec<Value>>>;

    /// It answers what it hears with this status; what the client said before is there, and this as the last.
    fn answering(status: fn(&[Value]) -> u16) -> (Client, Heard) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = Client::new(&format!("http://{}", listener.local_addr().unwrap()), "a key").unwrap();
        let heard = Heard::default();
        let hearing = Arc::clone(&heard);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let said = said(&mut stream);
                let mut heard = lock(&hearing);
                heard.push(said);
                stream.write_all(answer(status(&heard)).as_bytes()).unwrap();
            }
        });
        (client, heard)
    }

    fn said(stream: &mut TcpStream) -> Value {
        let (mut text, mut piece) = (String::new(), [0; 4096]);
        loop {
            let most = stream.read(&mut piece).unwrap();
            text.push_str(std::str::from_utf8(&piece[..most]).unwrap());
            let body = text.split_once("\r\n\r\n").and_then(|(_, body)| serde_json::from_str::<Value>(body).ok());
            if let Some(mut body) = body {
                body.as_object_mut().unwrap().retain(|name, _| !matches!(name.as_str(), "token" | "lease_seconds"));
                return body;
            }
        }
    }

    fn answer(status: u16) -> String {
        let body = json!({ "lease_expires_at": "2030-01-01T00:01:00Z", "cancel_requested": false, "title": "no more than that" });
        let run = json!({ "run_id": "run_1", "status": "succeeded", "due_at": null });
        let both = body.as_object().unwrap().iter().chain(run.as_object().unwrap());
        let text = Value::Object(both.map(|(name, value)| (name.clone(), value.clone())).collect()).to_string();
        format!("HTTP/1.1 {status} It\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{text}", text.len())
    }

    fn held() -> Held {
        let lease = json!({
            "lease_id": "lease_1", "token": "mt_1", "handler": "count", "run_id": "run_1", "job_id": "job_1", "attempt": 1,
            "fence": 1, "idempotency_key": "run_1", "scheduled_at": "2030-01-01T00:00:00Z", "payload": null,
            "lease_expires_at": "2030-01-01T00:00:30Z", "deadline_at": "2030-01-02T00:00:00Z",
        });
        Held::new(serde_json::from_value(lease).unwrap(), Duration::from_secs(30))
    }

    /// A handler says this of its run, and is done.
    async fn told(client: &Client, say: impl AsyncFnOnce(&Context)) -> Context {
        let held = held();
        let ctx = held.context(client.clone());
        let handler = async {
            say(&ctx).await;
            held.end(Ended::Done(raw_of(&Value::Null)));
        };
        in_time(async { tokio::join!(held.live(client), handler) }).await;
        ctx
    }

    async fn in_time<T>(what: impl Future<Output = T>) -> T {
        timeout(Duration::from_secs(20), what).await.expect("it ends")
    }

    fn raw_of(value: &Value) -> Box<RawValue> {
        to_raw_value(value).unwrap()
    }

    /// Far more than the server reads.
    fn large() -> Value {
        json!("x".repeat(5_000_000))
    }

    fn is_bad(said: &Value) -> bool {
        said["checkpoint"] == "bad"
    }

    /// Tried: where what is refused counts as sent, `keep_now` returns; where nothing is said singly, the line is not heard alone.
    #[tokio::test]
    async fn what_is_refused_is_left_out_alone_and_whoever_waits_for_it_is_told() {
        let (client, heard) = answering(|heard| if heard.last().is_some_and(is_bad) { 413 } else { 200 });
        let (mut bad, mut good) = (Ok(()), Ok(()));

        told(&client, async |ctx| {
            ctx.log("a line");
            bad = ctx.keep_now(&"bad").await;
            assert_eq!(ctx.checkpoint_text(), None);
            good = ctx.keep_now(&"good").await;
        })
        .await;

        assert_eq!((bad, good), (Err(NotDone::failed("checkpoint_refused", "no more than that (413)")), Ok(())));
        let beats = [
            json!({ "checkpoint": "bad", "logs": ["a line"] }),
            json!({}),
            json!({ "checkpoint": "bad" }),
            json!({ "logs": ["a line"] }),
            json!({ "checkpoint": "good" }),
        ];
        assert_eq!(lock(&heard)[..5], beats);
    }

    /// Tried: where only the part that did not arrive waits again, nobody hears of the others.
    #[tokio::test]
    async fn what_did_not_arrive_waits_again_beside_what_is_refused() {
        let (client, heard) = answering(|heard| match heard {
            [.., last] if is_bad(last) => 413,
            [_, _, _] => 503,
            _ => 200,
        });
        let mut kept = Ok(());

        told(&client, async |ctx| {
            ctx.progress(0.5);
            ctx.log("a line");
            kept = ctx.keep_now(&"bad").await;
        })
        .await;

        assert!(matches!(kept, Err(NotDone::Failed { .. })), "{kept:?}");
        let whole = json!({ "progress": 0.5, "checkpoint": "bad", "logs": ["a line"] });
        let (progress, bad, line) =
            (json!({ "progress": 0.5 }), json!({ "checkpoint": "bad" }), json!({ "logs": ["a line"] }));
        let beats = [whole.clone(), json!({}), progress.clone(), whole, json!({}), progress, bad, line];
        assert_eq!(lock(&heard)[..8], beats);
    }

    /// Removed: `keep` knows how large one may be. The large ones took the place of the good one and were left out, so that nothing was kept.
    #[tokio::test]
    async fn a_checkpoint_that_is_too_large_takes_nobodys_place() {
        let (client, heard) = answering(|_| 200);
        let (mut later, mut now) = (Ok(()), Ok(()));

        let ctx = told(&client, async |ctx| {
            ctx.keep(&"good").unwrap();
            later = ctx.keep(&large()).map_err(|error| error.to_string());
            now = ctx.keep_now(&large()).await;
        })
        .await;

        let why = "a checkpoint has at most 262144 bytes, and this one has 5000002";
        assert_eq!((later, now), (Err(why.to_owned()), Err(NotDone::failed("checkpoint_refused", why))));
        assert_eq!(lock(&heard)[0], json!({ "checkpoint": "good" }));
        assert_eq!(ctx.checkpoint_text().unwrap(), "\"good\"");
    }

    /// Past `keep`, which lets no such checkpoint through. Removed: what is sent is measured. The server was sent all of it.
    #[tokio::test]
    async fn what_the_server_would_not_read_is_not_sent() {
        let (client, heard) = answering(|_| 200);
        let held = held();
        held.said.line("a line".to_owned());
        held.said.keep(1, raw_of(&large()), true);
        held.end(Ended::Done(raw_of(&large())));

        in_time(held.live(&client)).await;

        let heard = lock(&heard);
        assert_eq!((heard.len(), &heard[0], &heard[1]), (3, &json!({}), &json!({ "logs": ["a line"] })));
        assert_eq!(heard[2]["error"]["code"], "result_refused");
        let message = heard[2]["error"]["message"].as_str().unwrap();
        assert!(message.starts_with("a request has at most 327680 bytes, and this one has 50000"), "{message}");
    }

    /// Removed: an error's message is cut. It was no request that can be sent, and nobody was told that the attempt had failed.
    #[tokio::test]
    async fn a_long_message_is_cut() {
        let (client, heard) = answering(|_| 200);
        let held = held();
        held.end(held.outcome(Err(NotDone::failed("too_long", large().as_str().unwrap()))));

        in_time(held.live(&client)).await;

        assert_eq!(lock(&heard)[0]["error"]["message"], "x".repeat(1_024));
    }

    /// Removed: a checkpoint is kept from when it was handed over. Where nobody waited for the answer it was the one before for ever, and the
    /// next holder found another. Without a way back it stays the bad one.
    #[tokio::test]
    async fn what_nobody_waited_for_is_kept_unless_it_is_refused() {
        let (client, _) = answering(|heard| if heard.last().is_some_and(is_bad) { 413 } else { 200 });
        let mut seen = Vec::new();

        told(&client, async |ctx| {
            ctx.keep_now(&"good").await.unwrap();
            tokio::select! {
                biased;
                kept = ctx.keep_now(&"bad") => panic!("{kept:?} at once"),
                () = async {} => {}
            }
            seen.extend(ctx.checkpoint_text());
            ctx.keep_now(&"bad").await.unwrap_err();
            seen.extend(ctx.checkpoint_text());
        })
        .await;

        assert_eq!(seen, ["\"bad\"", "\"good\""]);
    }

    /// Removed: the count waits apart from the lines. It was one of them, thrown away by the next that were too many.
    #[test]
    fn lines_that_were_too_many_are_counted_through_an_outage() {
        let held = held();
        let say = |lines: usize| (0..lines).for_each(|at| held.said.line(format!("line {at}")));
        say(1_500);

        held.said.put_back(held.said.taken());
        say(1_000);
        let (beat, again) = (held.said.taken(), held.said.taken());

        assert_eq!(beat.lines()[..2], ["(1500 lines before this one were too many)", "line 0"]);
        assert_eq!((beat.lines().len(), again.lines().len()), (100, 100));
        assert_eq!(again.lines()[0], "line 99");
    }

    /// Removed: an effect hears that the run is over. It was claimed for ever.
    #[tokio::test]
    async fn nothing_is_waited_for_when_the_run_is_over() {
        let (client, _) = answering(|heard| if heard.len() > 1 { 503 } else { 200 });

        let ctx = told(&client, async |_| {}).await;

        assert_eq!(in_time(ctx.keep_now(&"late")).await, Err(NotDone::Cancelled));
        assert_eq!(in_time(ctx.effect("late")).await.map(|_| ()), Err(NotDone::Cancelled));
    }
}
