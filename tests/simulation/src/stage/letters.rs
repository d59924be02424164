//! Clerks: people who look through the dead letters of a stage's job and do something about them, each by one of the protocol's flows or
//! through the API; and what the judge of letters is told of it.

use std::sync::PoisonError;

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::id::RunKey;
use minutehand_domain::run::{Edit, Run, Said, State};
use minutehand_io::store::{RunsOf, Store as _};
use minutehand_judge::letters::{self, RunId, Told, What};
use minutehand_protocol::run::letter::{Dismissed, Redriven, dismiss, redrive};
use minutehand_protocol::run::on_demand::{self, Answered, redrive as retry};

use super::{Answer, Stage};
use crate::client::Client;
use crate::witness::at_once;

/// As many letters as a clerk looks at.
const LOOKED_AT: usize = 20;

fn id_of(key: RunKey) -> RunId {
    (key.at.millis(), key.discriminator)
}

impl Stage {
    /// Tries the run of this instant again, as a dead letter.
    pub fn redrive(&self, at: i64, name: &'static str, instant: i64) -> Answer<Redriven> {
        let (stage, key) = (self.clone(), self.key(instant));
        self.act(at, name, move |ports| async move {
            let by = By::host();
            let redriven =
                redrive(&ports, &stage.tenant, key, &Edit::AsItWas, Said { by: Some(&by), note: None }).await?;
            if let Redriven::Queued(run) = &redriven {
                stage.know(|driven| driven.tell_of(run.key, None));
            }
            Ok(redriven)
        })
    }

    pub fn dismiss(&self, at: i64, name: &'static str, instant: i64) -> Answer<Dismissed> {
        let (stage, key) = (self.clone(), self.key(instant));
        self.act(at, name, move |ports| async move {
            let by = By::host();
            dismiss(&ports, &stage.tenant, key, Said { by: Some(&by), note: Some("let it rest") }).await
        })
    }

    /// Asks for another try, however many there are.
    pub fn retry(&self, at: i64, name: &'static str, instant: i64) -> Answer<Answered> {
        self.retry_of(at, name, self.key(instant))
    }

    pub fn retry_of(&self, at: i64, name: &'static str, key: RunKey) -> Answer<Answered> {
        let stage = self.clone();
        self.act(at, name, move |ports| async move {
            let of = ports_run(&ports, &stage, key).await?;
            let wish = on_demand::RunRequest { payload: None, by: By::host(), note: None, trace: None, once: None };
            let answered = retry(&ports, &of, wish).await?;
            if let Answered::Queued(run) = &answered {
                stage.know(|driven| driven.tell_of(run.key, None));
            }
            Ok(answered)
        })
    }

    /// The other tries at the run of this instant.
    pub fn tries_at(&self, instant: i64) -> Vec<Run> {
        let of = self.key(instant);
        self.every_run().into_iter().filter(|run| run.redrive_of == Some(of)).collect()
    }

    fn every_run(&self) -> Vec<Run> {
        let all = RunsOf { job: self.id, window: Moment::EPOCH..Moment::END };
        at_once(self.world.whole_store().list::<Run>(&self.tenant, all, None, 10_000)).expect("memory").items
    }

    /// Through the API: reads the list, and does something about the letter that stands there at this place.
    pub fn clerk(&self, at: i64, what: What, place: usize) {
        let stage = self.clone();
        let _nobody_asks = self.act(at, "clerk", move |ports| async move {
            let client = Client::of(ports, stage.tenant.clone());
            let listed = client.command("GET", &format!("/v1/dead-letters?limit={LOOKED_AT}")).await;
            let letters: Vec<RunKey> = keys(&listed.body["items"]);
            let Some(key) = letters.get(place % letters.len().max(1)).copied() else { return Ok(()) };
            let (run, word) = (id_of(key), if what == What::Redrive { "redrive" } else { "dismiss" });
            let number = stage.acts(letters::Act { run, what, told: None });
            let answer = client.command("POST", &format!("/v1/dead-letters/{key}/{word}")).await;
            let made = answer.body["run_id"].as_str().and_then(|id| id.parse().ok());
            let told = match (answer.status.as_u16(), what) {
                (200 | 202, What::Redrive) => Told::Done(made.map(id_of)),
                (200, What::Dismiss) => Told::Done(None),
                (409, _) => Told::Refused,
                (503, _) => return Ok(()),
                (other, _) => panic!("a clerk was answered with {other}: {}", answer.body),
            };
            stage.sim.count(format!("clerk: {word} {}", answer.status.as_u16()));
            stage.was_answered(number, told);
            if let (202, Some(key)) = (answer.status.as_u16(), made) {
                stage.know(|driven| driven.tell_of(key, None));
            }
            Ok(())
        });
    }

    /// Through the API, when nothing goes wrong: all letters, page by page.
    pub fn letters(&self, at: i64) -> Answer<Vec<RunId>> {
        let stage = self.clone();
        self.act(at, "reader", move |ports| async move {
            let client = Client::of(ports, stage.tenant.clone());
            let (mut found, mut cursor) = (Vec::new(), String::new());
            loop {
                let page = client.command("GET", &format!("/v1/dead-letters?limit=3{cursor}")).await;
                assert_eq!(page.status, 200, "{}", page.body);
                found.extend(keys(&page.body["items"]).into_iter().map(id_of));
                let Some(next) = page.body["next_cursor"].as_str() else { return Ok(found) };
                cursor = format!("&cursor={next}");
            }
        })
    }

    /// What the judge of letters is told, with what a list showed last.
    pub fn account_of_letters(&self, listed: Vec<RunId>) -> letters::Account {
        let mut account = letters::Account { listed, ..letters::Account::default() };
        for run in self.every_run() {
            let id = id_of(run.key);
            if matches!(run.state, State::Failed { .. } | State::TimedOut { .. }) {
                account.failed.insert(id);
            }
            if run.is_finished() {
                account.over.insert(id);
            }
            account.tries.extend(run.redrive_of.map(|of| (id_of(of), id)));
        }
        account.acts.clone_from(&self.acts.lock().unwrap_or_else(PoisonError::into_inner));
        account
    }

    fn acts(&self, act: letters::Act) -> usize {
        let mut acts = self.acts.lock().unwrap_or_else(PoisonError::into_inner);
        acts.push(act);
        acts.len() - 1
    }

    fn was_answered(&self, number: usize, told: Told) {
        self.acts.lock().unwrap_or_else(PoisonError::into_inner)[number].told = Some(told);
    }
}

async fn ports_run(ports: &crate::ports::SimPorts, stage: &Stage, key: RunKey) -> Result<Run, minutehand_io::Fault> {
    use minutehand_io::Ports as _;

    let seen = ports.store().get::<Run>(&stage.tenant, key).await?;
    Ok(seen.expect("it has a record").item)
}

fn keys(items: &serde_json::Value) -> Vec<RunKey> {
    let items = items.as_array().into_iter().flatten();
    items.filter_map(|run| run["run_id"].as_str()?.parse().ok()).collect()
}
