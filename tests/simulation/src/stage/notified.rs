//! Rules of notifications on a stage: they are written, and what they told is read.

use std::collections::BTreeMap;
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::notification::{Rule, To, When, Whose, Window};
use minutehand_domain::run::{Run, Skip, State};
use minutehand_domain::target::{HttpTarget, Method, Timeouts};
use minutehand_io::Ports as _;
use minutehand_io::store::{Guard, RunBody, RunsOf, Store as _};
use minutehand_judge::notified as judge;
use serde_json::Value;

use super::{Answer, Stage, moment};
use crate::notified::{Notified, address};
use crate::witness::at_once;

impl Stage {
    /// A rule of the stage's tenant: all of its failures, in digests of a minute.
    pub fn rule(&self) -> Rule {
        self.rule_refusing(0)
    }

    /// The same, of whose messages so many in a hundred are refused.
    pub fn rule_refusing(&self, refused: u8) -> Rule {
        let (name, http) = (
            "on-call".parse().expect("a name"),
            HttpTarget {
                url: address(refused),
                method: Method::Post,
                headers: BTreeMap::new(),
                timeouts: Timeouts::default(),
            },
        );
        Rule {
            tenant: self.tenant.clone(),
            id: Rule::id_of(&self.tenant, &name, moment(0)),
            name,
            when: [When::Failed].into(),
            whose: Whose::All,
            in_a_row: 1,
            late: Duration::from_secs(5),
            digest: Duration::from_secs(60),
            cooldown: Duration::ZERO,
            to: To::Webhook(http),
            enabled: true,
            created_at: moment(0),
            changed_at: moment(0),
            deleted_at: None,
        }
    }

    /// Writes a rule, over what stands there.
    pub fn write_rule(&self, at: i64, rule: Rule) -> Answer<()> {
        self.act(at, "operator", move |ports| async move {
            let seen = ports.store().get::<Rule>(&rule.tenant, rule.name.clone()).await?;
            let guard = seen.map_or(Guard::Absent, |seen| seen.guard());
            let put = ports.store().put(&rule.tenant, rule.name.clone(), &rule, guard).await?;
            assert!(put.is_written(), "nobody else writes it");
            Ok(())
        })
    }

    /// What was told, in the order of its telling, tries that were refused among it.
    pub fn notified(&self) -> Vec<Notified> {
        self.world.seen().notified.clone()
    }

    /// The messages of a rule that were made, in the judge's words.
    pub fn messages(&self, rule: &Rule) -> Vec<judge::Message> {
        let within = RunsOf { job: rule.id, window: Moment::EPOCH..Moment::END };
        let page = at_once(self.world.whole_store().list::<Run>(&rule.tenant, within, None, 10_000)).expect("memory");
        page.items.iter().rev().map(|run| self.message(run)).collect()
    }

    fn message(&self, run: &Run) -> judge::Message {
        let window = Window::told_by(run.key).expect("it is of a window");
        let status = match &run.state {
            State::Skipped { why: Skip::Cooldown, .. } => "held back".to_owned(),
            _other => run.status(self.now()).to_owned(),
        };
        let body = self.body_of(run);
        let told: Value = body.as_deref().map_or(Value::Null, |text| serde_json::from_str(text).expect("JSON"));
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let runs = told["data"]["runs"].as_array().cloned().unwrap_or_default();
        judge::Message {
            key: run.key.to_string(),
            from: window.begin().millis(),
            to: window.end.millis(),
            count: told["data"]["count"].as_u64().unwrap_or_default(),
            named: runs.iter().map(|run| (word(&run["what"]), word(&run["run_id"]))).collect(),
            status,
            body: body.unwrap_or_default(),
        }
    }

    fn body_of(&self, run: &Run) -> Option<String> {
        use minutehand_domain::body::Body;
        match run.payload.as_ref()? {
            Body::Empty => None,
            Body::Inside(json) => Some(json.as_str().to_owned()),
            Body::Apart(digest) => {
                let key = (run.key, *digest);
                let kept = at_once(self.world.whole_store().get::<RunBody>(&run.tenant, key)).expect("memory");
                kept.map(|seen| seen.item.json.as_str().to_owned())
            }
        }
    }

    /// What was received or refused, in the judge's words.
    pub fn sent(&self, rule: &Rule) -> Vec<judge::Sent> {
        let of_it = |notified: &Notified| notified.run.job == rule.id;
        let sent = self.notified().into_iter().filter(of_it);
        sent.map(|Notified { at, run, body }| judge::Sent { at, key: run.to_string(), body }).collect()
    }
}
