//! Rules of notifications as a process remembers them: they are asked for at the end of each run, and change seldom.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::limits::NOTIFICATIONS;
use minutehand_domain::notification::Rule;

use crate::Fault;
use crate::store::Store;

/// How old what is remembered may be: so long a changed rule takes to be in force everywhere.
pub const RULES_READ_AGAIN: Duration = Duration::from_secs(5);
/// And of a tenant that has none, which most have: so long the first one takes. Such a tenant pays one read a minute and process.
pub const NO_RULES_READ_AGAIN: Duration = Duration::from_secs(60);
/// Rules that are read: those that may be, and as many that were written beside each other.
const AT_MOST: usize = 2 * NOTIFICATIONS;
/// Tenants of whom anything is remembered.
const TENANTS: usize = 10_000;

#[derive(Default)]
pub struct Rules {
    known: Mutex<BTreeMap<Tenant, Known>>,
    /// Nobody makes any.
    are_none: bool,
}

/// A tenant's rules, and when they were read.
type Known = (Arc<[Rule]>, Moment);

impl Rules {
    /// Those of a deployment in which nobody makes any: nothing is read.
    pub fn none() -> Self {
        Self { are_none: true, ..Self::default() }
    }

    /// Whether it is known, and no read needed, that a tenant has none.
    pub fn knows_none(&self, tenant: &Tenant, now: Moment) -> bool {
        self.are_none || self.remembered(tenant, now).is_some_and(|rules| rules.is_empty())
    }

    /// A tenant's rules. Where they cannot be read nobody knows whom an end concerns: it is the caller's to ask again. One that cannot be
    /// read tells nothing, and keeps none beside it from telling.
    pub async fn of<S: Store>(&self, store: &S, tenant: &Tenant, now: Moment) -> Result<Arc<[Rule]>, Fault> {
        if self.are_none {
            return Ok(Arc::from([]));
        }
        match self.remembered(tenant, now) {
            Some(rules) => Ok(rules),
            None => self.read(store, tenant, now).await,
        }
    }

    /// The same, as they stand now.
    pub async fn read<S: Store>(&self, store: &S, tenant: &Tenant, now: Moment) -> Result<Arc<[Rule]>, Fault> {
        let page = Box::pin(store.list::<Rule>(tenant, (), None, AT_MOST)).await?;
        for left in &page.unreadable {
            tracing::error!(key = left.key, why = %left.why, "a notification that cannot be read tells nothing");
        }
        let rules: Arc<[Rule]> = page.items.into();
        self.remember(tenant, &rules, now);
        Ok(rules)
    }

    /// Of a tenant whose rules this process has just changed.
    pub fn forget(&self, tenant: &Tenant) {
        self.known.lock().unwrap_or_else(PoisonError::into_inner).remove(tenant);
    }

    fn remembered(&self, tenant: &Tenant, now: Moment) -> Option<Arc<[Rule]>> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let (rules, at) = known.get(tenant)?;
        let keeps = if rules.is_empty() { NO_RULES_READ_AGAIN } else { RULES_READ_AGAIN };
        (now >= *at && now.since(*at) < keeps).then(|| Arc::clone(rules))
    }

    fn remember(&self, tenant: &Tenant, rules: &Arc<[Rule]>, now: Moment) {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= TENANTS && !known.contains_key(tenant) {
            known.clear();
        }
        known.insert(tenant.clone(), (Arc::clone(rules), now));
    }
}

impl fmt::Debug for Rules {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Rules")
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use minutehand_domain::notification::{SlackUrl, To, When, Whose};

    use super::*;
    use crate::store::Guard;
    use crate::store::embedded::MemoryStore;

    const NOW: Moment = Moment::from_secs(1_000);

    fn rule(tenant: &Tenant) -> Rule {
        let name = "on-call".parse().unwrap();
        Rule {
            tenant: tenant.clone(),
            id: Rule::id_of(tenant, &name, NOW),
            name,
            when: [When::Failed].into(),
            whose: Whose::All,
            in_a_row: 1,
            late: Duration::from_secs(5),
            digest: Duration::from_secs(60),
            cooldown: Duration::ZERO,
            to: To::Slack(SlackUrl("https://example.com/".to_owned())),
            enabled: true,
            created_at: NOW,
            changed_at: NOW,
            deleted_at: None,
        }
    }

    #[tokio::test]
    async fn rules_are_read_again_when_they_are_old_or_forgotten() {
        let (store, rules, tenant) = (MemoryStore::in_memory(), Rules::default(), Tenant::new("acme").unwrap());

        let before = rules.of(&store, &tenant, NOW).await.unwrap().len();
        let rule = rule(&tenant);
        let put = store.put(&tenant, rule.name.clone(), &rule, Guard::Absent).await.unwrap();
        let meanwhile = rules.of(&store, &tenant, NOW + NO_RULES_READ_AGAIN / 2).await.unwrap().len();
        let knows_none = rules.knows_none(&tenant, NOW + NO_RULES_READ_AGAIN / 2);
        let after = rules.of(&store, &tenant, NOW + NO_RULES_READ_AGAIN).await.unwrap().len();
        rules.forget(&tenant);
        let forgotten = rules.of(&store, &tenant, NOW).await.unwrap().len();
        let another = rules.of(&store, &Tenant::new("other").unwrap(), NOW).await.unwrap().len();
        let of_none = Rules::none().of(&store, &tenant, NOW).await.unwrap().len();

        assert!(put.is_written() && knows_none);
        assert_eq!([before, meanwhile, after, forgotten, another, of_none], [0, 0, 1, 1, 0, 0]);
    }
}
