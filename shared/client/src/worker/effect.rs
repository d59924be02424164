//! An effect: what a handler does to the world outside, and must not do twice however often its run is tried.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use minutehand_wire::{EffectAnswerView, EffectRequest, Json};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::value::{RawValue, to_raw_value};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tracing::warn;

use super::context::Notes;
use super::not_done::NotDone;
use super::{FIRST_WAIT, REQUEST, chance, is_final, send};
use crate::calls;
use crate::client::Client;
use crate::error::ClientError;

/// Between two tries at the same request at most.
const LONGEST_WAIT: Duration = Duration::from_secs(2);

/// An effect that was claimed, now or before.
#[derive(Clone)]
pub struct Effect {
    key: String,
    is_first: bool,
    outcome: Option<Box<RawValue>>,
    ledger: Arc<Ledger>,
}

/// Where effects are claimed.
pub(super) enum Ledger {
    Server(Book),
    /// Without a server.
    Inline(Arc<Notes>),
}

/// The ledger of one run, as its holder writes in it.
pub(super) struct Book {
    pub(super) client: Client,
    pub(super) run: String,
    pub(super) token: String,
    /// The lease is lost, or the run over.
    pub(super) over: watch::Receiver<bool>,
}

impl Effect {
    /// It is to be made now. Where it is not, somebody claimed it before, and made it perhaps.
    pub fn is_first(&self) -> bool {
        self.is_first
    }

    /// What came of it, where it was claimed before and that was said.
    pub fn outcome<T: DeserializeOwned>(&self) -> serde_json::Result<Option<T>> {
        self.outcome.as_ref().map(|outcome| serde_json::from_str(outcome.get())).transpose()
    }

    /// Says what came of it, for whoever comes later. What serializes to null says nothing.
    pub async fn done(&self, outcome: &impl Serialize) -> Result<(), NotDone> {
        let outcome = to_raw_value(outcome)?;
        if outcome.get() != "null" {
            self.ledger.ask(&self.key, Some(outcome)).await?;
        }
        Ok(())
    }
}

impl fmt::Debug for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { key, is_first, outcome, .. } = self;
        write!(f, "effect {key}: first {is_first}, outcome {outcome:?}")
    }
}

impl Ledger {
    pub(super) async fn claim(self: &Arc<Self>, key: &str) -> Result<Effect, NotDone> {
        let (is_first, outcome) = self.ask(key, None).await?;
        Ok(Effect { key: key.to_owned(), is_first, outcome, ledger: Arc::clone(self) })
    }

    async fn ask(&self, key: &str, outcome: Option<Box<RawValue>>) -> Result<(bool, Option<Box<RawValue>>), NotDone> {
        match self {
            Self::Server(book) => book.ask(key, outcome).await,
            Self::Inline(notes) => Ok(notes.effect(key, outcome)),
        }
    }
}

impl Book {
    /// Until the server has heard it, or the lease is lost, or the run over. Sent again, it is the same claim.
    async fn ask(&self, key: &str, outcome: Option<Box<RawValue>>) -> Result<(bool, Option<Box<RawValue>>), NotDone> {
        let is_claim = outcome.is_none();
        let request =
            EffectRequest { key: key.to_owned(), token: self.token.clone(), outcome: outcome.map(Json::from) };
        let mark = format!("{:016x}{:016x}", chance().to_bits(), chance().to_bits());
        let call = calls::claim_effect(&self.run, &request).once(is_claim.then_some(mark.as_str()));
        let mut wait = FIRST_WAIT;
        loop {
            if *self.over.borrow() {
                return Err(NotDone::Cancelled);
            }
            match timeout(REQUEST, send(&self.client, &call)).await {
                Ok(Ok(answer)) => return Ok(known(&answer)),
                Ok(Err(ClientError::Refused(no))) if is_claim && no.problem.status == 409 => {
                    return Err(NotDone::Cancelled); // another has the run
                }
                Ok(Err(why)) if is_final(&why) => {
                    return Err(NotDone::failed("effect_refused", &why.to_string()).for_good());
                }
                Ok(Err(why)) => warn!(run = self.run, %why, "an effect is not answered"),
                Err(_late) => warn!(run = self.run, "an effect is not answered in time"),
            }
            sleep(wait.mul_f64(0.75 + chance() / 4.0)).await;
            wait = (wait * 2).min(LONGEST_WAIT);
        }
    }
}

fn known(answer: &EffectAnswerView) -> (bool, Option<Box<RawValue>>) {
    let outcome = answer.outcome.text().and_then(|text| RawValue::from_string(text.to_owned()).ok());
    (answer.first, outcome.filter(|outcome| outcome.get() != "null"))
}
