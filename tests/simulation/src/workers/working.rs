//! A worker of a history, as an honest kit would be written, and as machines then treat it: it dies, it is put to sleep, its heartbeats are
//! lost. It has a clock of its own that only runs, and knows of its runs what it was answered and nothing else.

use std::time::Duration;

use minutehand_domain::body::Json;
use minutehand_domain::pool::WorkerName;
use minutehand_domain::run::effect::{Answer as EffectAnswer, EffectName, EffectOf, EffectRefusal, RequestMark, Wish};
use minutehand_domain::run::logbook::Entry;
use minutehand_domain::run::{AttemptError, Run};
use minutehand_judge::workers::{Answer, Claim, Kept, Saying, Take, Word};
use minutehand_protocol::run::effect::effect;
use minutehand_protocol::run::lease::{Beaten, Report, Said, Shown, complete, give_back, heartbeat};
use minutehand_protocol::run::take::{Taken, Wanted, take};
use serde_json::json;

use super::Shop;
use crate::dice::Dice;
use crate::ports::SimPorts;

const LEASE: Duration = Duration::from_secs(30);
const LEASE_MILLIS: i64 = 30_000;
/// As kits do: at a third of the lease.
const BEAT: i64 = LEASE_MILLIS / 3;
/// Between two questions where there was nothing.
const PAUSE: i64 = 3_000;
/// Runs that a worker has at a time.
const SLOTS: usize = 4;

#[derive(Clone)]
pub(super) struct Worker {
    shop: Shop,
    name: WorkerName,
}

/// A run that this worker has.
struct Held {
    taken: Taken,
    /// Its number among the takes of the history.
    take: usize,
    run: u64,
    /// Until when it holds itself for the holder; never beyond when the attempt has taken as long as it may.
    until: i64,
    deadline: i64,
}

/// What a heartbeat came to.
enum Beat {
    Kept,
    CancelRequested,
    Lost,
}

impl Worker {
    pub(super) fn new(shop: &Shop, name: &str) -> Self {
        Self { shop: shop.clone(), name: name.parse().expect("a name") }
    }

    /// It asks and works until the history ends.
    pub(super) fn begin(self) {
        let process = self.shop.sim().process("worker", 0);
        let (sim, its) = (self.shop.sim().clone(), process.clone());
        sim.spawn(&process, async move {
            loop {
                let taken = self.ask().await;
                let had_none = taken.is_empty();
                for held in taken {
                    let worker = self.clone();
                    self.shop.sim().spawn(&its, async move { worker.carry_out(held).await });
                }
                if had_none {
                    self.rest(PAUSE).await;
                }
            }
        });
    }

    async fn rest(&self, millis: i64) {
        self.shop.sim().sleep_until(self.shop.sim().now() + millis).await;
    }

    fn chance(&self, share: f64) -> bool {
        self.shop.is_rough() && self.shop.sim().dice(|dice| dice.chance(share))
    }

    async fn ask(&self) -> Vec<Held> {
        let asked_at = self.shop.sim().now();
        let wanted = Wanted {
            pool: self.shop.pool.clone(),
            worker: self.name.clone(),
            handlers: None,
            max: SLOTS,
            lease: LEASE,
        };
        let tenant = self.shop.tenant.clone();
        let took = self.shop.request(move |ports| async move { take(&ports, &tenant, &wanted).await }).await;
        took.map(|took| took.taken).unwrap_or_default().into_iter().map(|taken| self.begun(taken, asked_at)).collect()
    }

    fn begun(&self, taken: Taken, asked_at: i64) -> Held {
        let mut heard = self.shop.heard();
        let next = u64::try_from(heard.runs.len()).unwrap_or(u64::MAX);
        let run = *heard.runs.entry(taken.run.key).or_insert(next);
        let given = taken.checkpoint.as_ref().and_then(|json| json.as_str().parse().ok());
        let timeout = i64::try_from(taken.order.terms.timeout.as_millis()).unwrap_or(i64::MAX);
        let deadline = asked_at.saturating_add(timeout);
        let until = deadline.min(asked_at + LEASE_MILLIS);
        let (fence, at) = (taken.run.fence, self.shop.sim().now());
        heard.takes.push(Take { run, fence, asked_at, at, over: until, said: None, given, kept: Vec::new() });
        Held { take: heard.takes.len() - 1, run, taken, until, deadline }
    }

    async fn carry_out(&self, mut held: Held) {
        if self.chance(0.03) {
            self.shop.sim().count("worker died at once");
            return self.note(&held, |take, now| take.over = take.over.min(now));
        }
        let (sim, takes) =
            (self.shop.sim(), self.shop.sim().dice(|dice| dice.pick(&[200, 200, 4_000, 25_000, 50_000])));
        let done_at = sim.now() + takes;
        while sim.now() < done_at {
            let next = done_at.min(sim.now() + BEAT);
            sim.sleep_until(next).await;
            if next == done_at || self.chance(0.1) {
                continue; // done, or the heartbeat is lost
            }
            if self.chance(0.05) {
                self.shop.sim().count("worker died in the middle");
                return self.note(&held, |take, now| take.over = take.over.min(now));
            }
            if self.chance(0.05) {
                self.shop.sim().count("worker slept past its lease");
                self.rest(LEASE_MILLIS * 3).await;
            }
            match self.beat(&mut held).await {
                Beat::Kept => {}
                Beat::CancelRequested => {
                    sim.count("worker saw the cancellation");
                    return self.say(&held, Word::Failed).await;
                }
                Beat::Lost => return sim.count("worker lost its lease"),
            }
        }
        if self.chance(0.05) {
            self.steal(&held).await;
        }
        if sim.dice(|dice| dice.chance(0.5)) && !self.pay(&held).await {
            return self.note(&held, |take, now| take.over = take.over.min(now));
        }
        self.say(&held, self.word()).await;
    }

    /// Makes an effect, once for the run. False where it dies in the middle of it, or has the run no more.
    async fn pay(&self, held: &Held) -> bool {
        let (asked_at, mark) = (self.shop.sim().now(), self.mark());
        let mut answer = None;
        for _ in 0..3 {
            answer = self.of_the_effect(held, Wish::Claim(Some(mark))).await;
            if answer.is_some() {
                break;
            }
        }
        let Some(Said::Taken(Ok(answer))) = answer else { return answer.is_none() };
        let is_first = matches!(answer, EffectAnswer::First(_));
        let told = answer.effect().outcome.as_ref().and_then(|told| told.outcome.as_str().parse().ok());
        let (run, fence) = (held.run, held.taken.run.fence);
        let claim = Claim { run, fence, asked_at, is_first, told, said: None };
        let nth = self.shop.heard().claimed(claim);
        if !is_first {
            return true;
        }
        self.shop.sim().count("effect made");
        if self.chance(0.2) {
            self.shop.sim().count("worker died in the middle of an effect");
            return false;
        }
        let value = self.shop.next_value();
        self.shop.heard().claims[nth].said = Some(Kept { value, acknowledged: None });
        let said = self.of_the_effect(held, Wish::Tell(Json::of(&json!(value)))).await;
        if let Some(Said::Taken(Ok(_))) = said {
            let now = self.shop.sim().now();
            self.shop.heard().claims[nth].said = Some(Kept { value, acknowledged: Some(now) });
        }
        true
    }

    /// What tells this request from all others.
    fn mark(&self) -> RequestMark {
        let number = self.shop.sim().dice(Dice::number);
        RequestMark::of(&self.shop.tenant, &number.to_string())
    }

    async fn of_the_effect(&self, held: &Held, wish: Wish) -> Option<Said<Result<EffectAnswer, EffectRefusal>>> {
        let (tenant, run, token) = (self.shop.tenant.clone(), held.taken.run.key, held.taken.token.clone());
        let asking = move |ports: SimPorts| async move {
            let name: EffectName = "pay".parse().expect("a key");
            effect(&ports, EffectOf { tenant: &tenant, run, name: &name }, &token, &wish).await
        };
        self.shop.request(asking).await
    }

    fn word(&self) -> Word {
        match self.shop.sim().dice(|dice| dice.within(0..20)) {
            0..=2 => Word::Failed,
            3 => Word::FailedForGood,
            4 if self.shop.is_rough() => Word::HandedBack,
            _ => Word::Succeeded(self.shop.next_value()),
        }
    }

    async fn beat(&self, held: &mut Held) -> Beat {
        let (sent, tenant) = (self.shop.sim().now(), self.shop.tenant.clone());
        let (lease, token) = (held.taken.lease, held.taken.token.clone());
        let value = (self.shop.sim().dice(|dice| dice.chance(0.6))).then(|| self.shop.next_value());
        let entry = Entry { checkpoint: value.map(|value| Json::of(&json!(value))), ..Entry::default() };
        let nth = value.map(|value| self.keeps(held, value));
        let beaten = self
            .shop
            .request(move |ports| async move {
                heartbeat(&ports, Shown { tenant: &tenant, lease, token: &token }, LEASE, &entry).await
            })
            .await;
        match beaten {
            Some(Said::Taken(Beaten { cancel_requested, .. })) => {
                if !cancel_requested {
                    held.until = held.deadline.min(sent + LEASE_MILLIS);
                }
                let until = held.until;
                self.note(held, |take, now| {
                    take.over = until;
                    if let Some(nth) = nth {
                        take.kept[nth].acknowledged = Some(now);
                    }
                });
                if cancel_requested { Beat::CancelRequested } else { Beat::Kept }
            }
            Some(Said::Refused(..) | Said::NotYours | Said::NotFound) => {
                self.note(held, |take, now| take.over = take.over.min(now));
                Beat::Lost
            }
            // By its own clock it has the run no more.
            None if self.shop.sim().now() >= held.until => Beat::Lost,
            None => Beat::Kept,
        }
    }

    fn keeps(&self, held: &Held, value: u64) -> usize {
        let mut heard = self.shop.heard();
        let kept = &mut heard.takes[held.take].kept;
        kept.push(Kept { value, acknowledged: None });
        kept.len() - 1
    }

    async fn say(&self, held: &Held, word: Word) {
        let (tenant, lease, token) = (self.shop.tenant.clone(), held.taken.lease, held.taken.token.clone());
        // From here on it has let go of the run, whoever hears of it.
        self.note(held, |take, now| {
            take.over = take.over.min(now);
            take.said = Some(Saying { word, answer: Answer::None });
        });
        let said = self
            .shop
            .request(move |ports| async move {
                let shown = Shown { tenant: &tenant, lease, token: &token };
                match word {
                    Word::Succeeded(value) => {
                        complete(&ports, shown, &Report::Succeeded(Some(Json::of(&json!(value))))).await
                    }
                    Word::Failed => complete(&ports, shown, &failed(true)).await,
                    Word::FailedForGood => complete(&ports, shown, &failed(false)).await,
                    Word::HandedBack => give_back(&ports, shown).await,
                }
            })
            .await;
        let answer = match said {
            Some(Said::Taken(_)) => Answer::Taken,
            Some(_) => Answer::Refused,
            None => Answer::None,
        };
        self.note(held, |take, _now| take.said = Some(Saying { word, answer }));
    }

    /// Somebody who knows the lease's name, which is no secret, and not its token.
    async fn steal(&self, held: &Held) {
        let (tenant, lease) = (self.shop.tenant.clone(), held.taken.lease);
        let said: Option<Said<Run>> = self
            .shop
            .request(move |ports| async move {
                let shown = Shown { tenant: &tenant, lease, token: "mt_00000000000000000000000000" };
                complete(&ports, shown, &Report::Succeeded(None)).await
            })
            .await;
        self.shop.sim().count("another token shown");
        if let Some(Said::Taken(_)) = said {
            self.shop.heard().thefts.push(held.run);
        }
    }

    fn note(&self, held: &Held, note: impl FnOnce(&mut Take, i64)) {
        let now = self.shop.sim().now();
        note(&mut self.shop.heard().takes[held.take], now);
    }
}

fn failed(retryable: bool) -> Report {
    Report::Failed(AttemptError { retryable, ..AttemptError::new("simulated", "it did not work") })
}
