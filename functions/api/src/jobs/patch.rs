//! Changing a job by a merge-patch: what the patch says is laid over the job as it was asked for, and the whole is
//! checked as if it had come anew. A schedule that comes out as it was is not touched, nor are its occurrences.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use minutehand_domain::Moment;
use minutehand_domain::job::{Change, Definition, Job, JobRefusal, Status};
use minutehand_domain::limits::INLINE_PAYLOAD_BYTES;
use minutehand_domain::secret::named_in;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_protocol::bodies;
use minutehand_protocol::job::change::{Want, change};
use minutehand_wire::catch_up::CatchUpPolicy;
use minutehand_wire::job_request::CheckedJob;
use minutehand_wire::overlap::OverlapPolicy;
use minutehand_wire::schedule::SCHEDULE_KINDS;
use minutehand_wire::target::TARGET_KINDS;
use minutehand_wire::{BodyView, JobRequest, JobView};
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::{RawValue, to_raw_value};

use super::{answer_to, is_nobodys_own};
use crate::app_state::AppState;
use crate::body::{Body, parse};
use crate::following::it_may_follow;
use crate::keyring::Caller;
use crate::merge::{self, fields_of, without_excluded};
use crate::params::JobPath;
use crate::precondition::IfMatch;
use crate::problem::{Kind, Problem};
use crate::secrets::{Naming, must_be_there};
use crate::workflows::its_workflow_must_be_there;

/// Parts of a job with known fields, beside the kinds of targets; a payload and headers may have any.
const STRUCTS: [&str; 12] = [
    "schedule",
    "after",
    "target",
    "timeouts",
    "retry",
    "catch_up",
    "overlap",
    "concurrency",
    "rate",
    "callback",
    "hooks",
    "before",
];

pub(crate) async fn patch<D: Ports>(
    State(app): State<Arc<AppState<D>>>,
    caller: Caller,
    JobPath(id): JobPath,
    precondition: IfMatch,
    body: Body,
) -> Result<Response, Problem> {
    let patch = Patch { app: &app, precondition, changes: body.raw()? };
    let changed = change(&*app.ports, caller.tenant(), id, &patch).await?;
    answer_to(&*app.ports, changed).await
}

/// A patch of the version that the client saw.
struct Patch<'a, D> {
    app: &'a AppState<D>,
    precondition: IfMatch,
    changes: &'a RawValue,
}

impl<D: Ports> Want for Patch<'_, D> {
    type No = Problem;

    async fn of(&self, job: &Job) -> Result<Option<Change>, Problem> {
        self.precondition.check(job)?;
        is_nobodys_own(job)?;
        change_of(self.app, job, self.changes).await
    }
}

/// The change that the patch makes; none if it changes nothing.
async fn change_of<D: Ports>(app: &AppState<D>, job: &Job, patch: &RawValue) -> Result<Option<Change>, Problem> {
    let ports = &*app.ports;
    let payload = bodies::fetch(ports, &job.tenant, job.id, &job.definition.payload).await?;
    let stays_data =
        !speaks_of(patch, "payload") && payload.as_ref().is_some_and(|payload| named_in(payload).is_empty());
    let shown = if stays_data { None } else { payload.as_ref() };
    let asked = asked_of(job, BodyView::of(shown), ports.clock().now());
    let merged = merged(&asked, patch)?;
    // The domain says this too; but a deleted job's patch is not worth understanding.
    if job.status == Status::Cancelled {
        return Err(Problem::new(Kind::Conflict, JobRefusal::Cancelled.to_string()));
    }
    let checked = checked(app, &with_its_nulls(&merged, patch), job, ports.clock().now())?;
    // What it gives to a workflow is said as that, too.
    let same_payload = checked.payload == payload || stays_data && checked.payload.is_none();
    let same_calls = checked.definition.target == job.definition.target
        && checked.definition.callback == job.definition.callback
        && checked.definition.hooks == job.definition.hooks;
    if !same_payload || !same_calls {
        let naming = Naming { text: merged.get(), otherwise: "/payload" };
        must_be_there(ports, &job.tenant, &checked.secrets, naming).await?;
        its_workflow_must_be_there(ports, &job.tenant, &checked.definition.target).await?;
        app.pools.note(ports, &job.tenant, checked.definition.target.pool()).await;
    }
    let payload = if same_payload {
        job.definition.payload.clone()
    } else {
        bodies::keep(ports, &job.tenant, job.id, checked.payload, INLINE_PAYLOAD_BYTES).await?
    };
    let definition = Definition { payload, ..checked.definition };
    let definition = (definition != job.definition).then_some(definition);
    let schedule = (checked.schedule != job.schedule).then_some(checked.schedule);
    if let Some(new) = &schedule {
        it_may_follow(ports, &job.tenant, job.id, new).await?;
        app.meters.admit_job(ports, &job.tenant, new, Some(job)).await?;
    }
    Ok((schedule.is_some() || definition.is_some()).then_some(Change::Edit { schedule, definition }))
}

/// Whether the patch says what becomes of a field. A payload of which it says nothing is not read as one that a client writes: what
/// was stored before payloads named secrets goes on naming none.
fn speaks_of(patch: &RawValue, field: &str) -> bool {
    fields_of(patch).is_some_and(|changes| changes.get(field).is_some())
}

/// The request that would make the job as it is.
fn asked_of(job: &Job, payload: BodyView, now: Moment) -> Box<RawValue> {
    let shown = to_raw_value(&JobView::of(job, payload, now)).expect("a job is JSON");
    let mut fields = fields_of(&shown).expect("a job is an object");
    for field in JobView::NOT_ASKED {
        fields.remove(field);
    }
    to_raw_value(&fields).expect("JSON of JSON")
}

/// What is left of a field beside its change.
type RestOf = fn(&RawValue, &RawValue) -> Box<RawValue>;

fn merged(asked: &RawValue, patch: &RawValue) -> Result<Box<RawValue>, Problem> {
    let (Some(mut fields), Some(changes)) = (fields_of(asked), fields_of(patch)) else {
        return Err(Problem::new(Kind::Invalid, "a merge-patch of a job is an object"));
    };
    if changes.get("idempotency_key").is_some() {
        return Err(Problem::field(Kind::Invalid, "/idempotency_key", "belongs to the job's creation"));
    }
    let rests: [(&str, RestOf); 4] = [
        ("schedule", |field, change| without_calendars(&without_excluded(field, change, &SCHEDULE_KINDS), change)),
        ("target", |field, change| without_excluded(field, change, TARGET_KINDS)),
        ("catch_up", |field, change| without_fields_of_others(field, change, CatchUpPolicy::goes_without)),
        ("overlap", |field, change| without_fields_of_others(field, change, OverlapPolicy::goes_without)),
    ];
    for (name, rest_of) in rests {
        if let (Some(field), Some(change)) = (fields.get(name), changes.get(name)) {
            let rest = rest_of(field, change);
            fields.set(name, rest);
        }
    }
    Ok(merge::merge(Some(&to_raw_value(&fields).expect("JSON of JSON")), patch))
}

/// What a job says of a policy, without the fields that go with others than the one that the patch names or resets to the default.
fn without_fields_of_others<P: Default + DeserializeOwned>(
    field: &RawValue,
    patch: &RawValue,
    goes_without: fn(P) -> &'static [&'static str],
) -> Box<RawValue> {
    let (Some(mut fields), Some(changes)) = (fields_of(field), fields_of(patch)) else { return field.to_owned() };
    let named = changes.get("policy").and_then(|policy| serde_json::from_str::<Option<P>>(policy.get()).ok());
    for field in named.map(Option::unwrap_or_default).map_or(&[][..], goes_without) {
        fields.remove(field);
    }
    to_raw_value(&fields).expect("JSON of JSON")
}

/// What a job says of its schedule, without its calendars where the patch names one that does not fire by itself; and without what becomes of what
/// calendars take, where the patch takes them away. An answer shows that word also where nobody asked for it.
fn without_calendars(schedule: &RawValue, patch: &RawValue) -> Box<RawValue> {
    let (Some(mut fields), Some(changes)) = (fields_of(schedule), fields_of(patch)) else { return schedule.to_owned() };
    let calendars =
        changes.get("calendars").and_then(|names| serde_json::from_str::<Option<Vec<Value>>>(names.get()).ok());
    let is_asked_for = |kind: &&str| changes.get(kind).is_some_and(|it| !["null", "false"].contains(&it.get()));
    let fires_not_by_itself = ["after", "on_demand"].iter().any(is_asked_for);
    if fires_not_by_itself {
        fields.remove("calendars");
    }
    if fires_not_by_itself || calendars.is_some_and(|names| names.unwrap_or_default().is_empty()) {
        fields.remove("on_excluded");
    }
    to_raw_value(&fields).expect("JSON of JSON")
}

/// Puts the patch's nulls back into the merged job: null means absent, and an unknown field is then seen and refused.
fn with_its_nulls(merged: &RawValue, patch: &RawValue) -> Box<RawValue> {
    let (Some(mut fields), Some(changes)) = (fields_of(merged), fields_of(patch)) else { return merged.to_owned() };
    for (name, change) in changes.in_order() {
        match fields.get(name) {
            None if change.get() == "null" => fields.set(name, change.to_owned()),
            Some(part) if has_known_fields(name) => {
                let part = with_its_nulls(part, change);
                fields.set(name, part);
            }
            _ => {}
        }
    }
    to_raw_value(&fields).expect("JSON of JSON")
}

fn has_known_fields(name: &str) -> bool {
    STRUCTS.contains(&name) || TARGET_KINDS.iter().any(|kind| kind.named == Some(name))
}

/// A credential that comes back as the mask it was shown as stays what it is.
fn checked<D>(app: &AppState<D>, merged: &RawValue, job: &Job, now: Moment) -> Result<CheckedJob, Problem> {
    let check = &|target: &_| app.target_check.check(&job.tenant, target);
    Ok(parse::<JobRequest>(merged.get())?.unmasked(&job.definition).checked_over(job, now, check)?)
}
