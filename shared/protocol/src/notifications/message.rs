//! A message that somebody asks for: whether a rule reaches whom it is to tell. It is a run like that of a digest, by a key of its own.

use minutehand_domain::access::By;
use minutehand_domain::hint::Hint;
use minutehand_domain::lane::Lane;
use minutehand_domain::limits::INLINE_PAYLOAD_BYTES;
use minutehand_domain::notification::window::asked_for;
use minutehand_domain::notification::{Message, Rule};
use minutehand_domain::run::Run;
use minutehand_domain::timer::TimerKey;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::{Fault, Ports};

use crate::bodies::{self, BodyOf};
use crate::born::{born, quota_bound};
use crate::timers::hinting::hint;
use crate::timers::promise::promise;

/// Queues a test of the rule, also of one that is not enabled. None where this asker was so slow that its promise was given up.
pub async fn test<D: Ports>(ports: &D, rule: &Rule, by: By) -> Result<Option<Run>, Fault> {
    let now = ports.clock().now();
    let (key, order) = (asked_for(rule.id, now, ports.chance().number()), rule.order());
    let body = Message::Test { at: now }.body(rule);
    let run = Run { asked_by: Some(by), ..Run::new(rule.tenant.clone(), key, order.priority) };
    let run = quota_bound(ports, &run).await;
    let payload = bodies::keep_of(ports, BodyOf::run(&run, now), Some(body), INLINE_PAYLOAD_BYTES).await?;
    let run = Run { payload: Some(payload), ..run };
    let timer = promise(ports, &rule.tenant, TimerKey::run(key, now), 0).await?;
    if !born(ports, &run, "none", now).await?.is_written() {
        return Ok(None);
    }
    let lane = Lane::of(order.priority, &order.terms);
    let _a_lost_hint_is_found_overdue = hint(ports, lane, &Hint::of(&timer), now).await;
    Ok(Some(run))
}
