//! Load: clients that create and change jobs of every kind, and record their requests and the answers. Without an answer they
//! repeat the request with the same key until there is one; some send only once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::Method;
use minutehand_judge::Status;
use serde_json::{Value, json};
use tokio::task::JoinSet;

use crate::asked::{Asked, Kind};
use crate::caller::{Caller, Whereabouts};
use crate::client::{instant, rfc3339, text};
use crate::dice::Dice;
use crate::patience::now;
use crate::target::Target;

const HANDS: u64 = 16;
/// Milliseconds between the actions of one client: with 16 clients some 250 requests a second.
const PACE: (u64, u64) = (20, 100);
/// Recurring jobs of one client: each fires some 20 times.
const RECURRING: usize = 3;

pub(crate) struct Load {
    clients: JoinSet<Vec<Asked>>,
    over: Arc<AtomicBool>,
}

struct LoadClient {
    whereabouts: Whereabouts,
    url: String,
    dice: Dice,
    number: u64,
    /// Recurring jobs end then.
    last_fire: i64,
    jobs: Vec<Asked>,
    over: Arc<AtomicBool>,
}

impl Load {
    pub(crate) fn start(whereabouts: &Whereabouts, target: &Target, dice: &Dice, last_fire: i64) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mut clients = JoinSet::new();
        for number in 0..HANDS {
            let client = LoadClient {
                whereabouts: whereabouts.clone(),
                url: target.url(""),
                dice: dice.for_hand(number),
                number,
                last_fire,
                jobs: Vec::new(),
                over: Arc::clone(&over),
            };
            clients.spawn(client.work());
        }
        Self { clients, over }
    }

    /// Waits until every client has finished.
    pub(crate) async fn stop(self) -> Vec<Asked> {
        self.over.store(true, Ordering::Relaxed);
        self.clients.join_all().await.into_iter().flatten().collect()
    }
}

impl LoadClient {
    async fn work(mut self) -> Vec<Asked> {
        let mut caller = Caller::to(&self.whereabouts);
        while !self.over.load(Ordering::Relaxed) {
            let recurring = self.recurring();
            match self.dice.between(0, 99) {
                0..=9 if recurring.len() < RECURRING => self.create_recurring(&mut caller).await,
                0..=13 if !recurring.is_empty() => {
                    let chosen = self.dice.next() % recurring.len() as u64;
                    self.change(recurring[usize::try_from(chosen).unwrap_or(0)], &mut caller).await;
                }
                0..=15 => self.create_without_a_key(&mut caller).await,
                _ => self.create_single(&mut caller).await,
            }
            let pause = self.dice.between(PACE.0, PACE.1);
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        self.jobs
    }

    /// Jobs of this client that may still be changed: nobody else changes them.
    fn recurring(&self) -> Vec<usize> {
        let open = |asked: &Asked| {
            matches!(asked.kind, Kind::Every { .. }) && asked.made.is_some() && asked.status() != Status::Cancelled
        };
        (0..self.jobs.len()).filter(|n| open(&self.jobs[*n])).collect()
    }

    async fn create_recurring(&mut self, caller: &mut Caller) {
        let seconds = i64::try_from(self.dice.between(1, 2)).unwrap_or(1);
        if now() + 3_000 > self.last_fire {
            return;
        }
        let kind = Kind::Every { seconds, end: self.last_fire };
        let schedule = json!({ "every_seconds": seconds, "end_at": rfc3339(self.last_fire) });
        self.create(kind, "/ok".to_owned(), json!({ "schedule": schedule }), caller).await;
    }

    /// Immediate, or due in one to three seconds; quick, slow, failing at first, or at most once.
    async fn create_single(&mut self, caller: &mut Caller) {
        let path = match self.dice.between(0, 9) {
            0 => format!("/slow/{}", self.dice.between(200, 1_200)),
            1 => format!("/fail/{}", self.dice.between(1, 2)),
            _ => "/ok".to_owned(),
        };
        match self.dice.between(0, 9) {
            0..=2 => {
                let due = now() + i64::try_from(self.dice.between(1_000, 3_000)).unwrap_or(0);
                self.create(Kind::At(due), path, json!({ "schedule": { "at": rfc3339(due) } }), caller).await;
            }
            3 => self.create(Kind::OnceAtMost, path, json!({ "delivery": "at_most_once" }), caller).await,
            _ => self.create(Kind::Now, path, json!({}), caller).await,
        }
    }

    async fn create(&mut self, kind: Kind, path: String, more: Value, caller: &mut Caller) {
        let name = self.next_name();
        let job = self.job(&name, &path, more);
        let mut asked = Asked::new(name.clone(), kind);
        let answer = caller.insist(Method::POST, "/v1/jobs", Some(&name), Some(&job)).await;
        asked.creations += u32::from(answer.status == 201);
        asked.replays += u32::from(answer.replayed);
        // What recurs until an instant that passed while nobody answered was never made, or is answered again.
        let impossible = answer.status == 422 && matches!(kind, Kind::Every { .. });
        assert!(impossible || matches!(answer.status, 200 | 201), "{} {}", answer.status, answer.body);
        asked.made = (!impossible).then_some(answer.body);
        asked.unanswered = caller.unanswered();
        self.jobs.push(asked);
    }

    /// Whoever gives no key may ask only once; whether it came to be without an answer, reading back tells.
    async fn create_without_a_key(&mut self, caller: &mut Caller) {
        let name = self.next_name();
        let job = self.job(&name, "/ok", json!({}));
        let mut asked = Asked::new(name, Kind::Now);
        match caller.once(Method::POST, "/v1/jobs", Some(&job)).await {
            Some(answer) if answer.status == 201 => (asked.creations, asked.made) = (1, Some(answer.body)),
            Some(answer) => assert_eq!(answer.status, 503, "{}", answer.body),
            None => {}
        }
        asked.unanswered = caller.unanswered();
        self.jobs.push(asked);
    }

    async fn change(&mut self, index: usize, caller: &mut Caller) {
        let status = self.jobs[index].status();
        let path = format!("/v1/jobs/{}", text(self.jobs[index].made.as_ref().expect("made"), "job_id"));
        match (self.dice.between(0, 9), status) {
            (0..=4, _) => self.run_now(index, &path, caller).await,
            (5, _) => {
                caller.insist(Method::DELETE, &path, None, None).await;
                let gone = caller.insist(Method::GET, &path, None, None).await;
                self.jobs[index].told(&gone, Status::Cancelled);
            }
            (_, Status::Active) => self.post_change(index, &format!("{path}/pause"), Status::Paused, caller).await,
            (_, _) => self.post_change(index, &format!("{path}/resume"), Status::Active, caller).await,
        }
        self.jobs[index].unanswered += caller.unanswered();
    }

    async fn post_change(&mut self, index: usize, path: &str, to: Status, caller: &mut Caller) {
        let answer = caller.insist(Method::POST, path, None, Some(&json!({}))).await;
        self.jobs[index].told(&answer, to);
    }

    /// Asking twice is two runs, so an answer that did not come is not asked for again.
    async fn run_now(&mut self, index: usize, path: &str, caller: &mut Caller) {
        match caller.once(Method::POST, &format!("{path}/run"), Some(&json!({}))).await {
            Some(answer) if answer.status == 202 => {
                let run = (instant(&answer.body, "scheduled_at"), answer.text("run_id"));
                self.jobs[index].runs.push(run);
            }
            Some(answer) => assert_eq!(answer.status, 503, "{}", answer.body),
            None => {}
        }
    }

    fn next_name(&self) -> String {
        format!("client {} job {}", self.number, self.jobs.len())
    }

    fn job(&self, name: &str, path: &str, more: Value) -> Value {
        let mut job = json!({
            "name": name,
            "target": { "http": { "url": format!("{}{path}", self.url) } },
            "retry": { "max_retries": 5, "backoff": "fixed", "initial_delay_seconds": 1, "jitter": "none" },
        });
        if let Value::Object(more) = more {
            job.as_object_mut().expect("an object").extend(more);
        }
        job
    }
}
