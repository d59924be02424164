//! Words: the enums of the domain, as the OpenAPI document lists them. They are spelled by the types that are read and
//! written, and none can be forgotten: a new variant does not compile until it is named here.

use minutehand_domain::access::Role;
use minutehand_domain::callback::End;
use minutehand_domain::health::Extent;
use minutehand_domain::hook::OnError;
use minutehand_domain::id::Origin;
use minutehand_domain::notification::When;
use minutehand_domain::order::Delivery;
use minutehand_domain::priority::Priority;
use minutehand_domain::retry::{Backoff, Jitter};
use minutehand_domain::run::ErrorCode;
use minutehand_domain::schedule::OnExcluded;
use minutehand_domain::schedule::cron::{DayRule, DstGap, DstOverlap, Note};
use minutehand_domain::target::Method;
use minutehand_domain::workflow::definition::{NoAnswer, OnFailure};
use minutehand_domain::workflow::edge::{On, Rule};
use schemars::json_schema;

use crate::component::component;

macro_rules! words {
    ($marker:ident = $name:literal, $type:ty: $($variant:ident),+; $said:literal) => {
        component!(
            $marker = $name,
            json_schema!({ "type": "string", "description": $said, "enum": [$(<$type>::$variant),+] })
        );
        const _: fn($type) = |word| match word { $(<$type>::$variant)|+ => () };
    };
}

words!(PriorityWord = "Priority", Priority: Critical, High, Normal, Low;
    "Which queue a run travels on. A flood of one priority never waits on another.");
words!(HealthExtentWord = "HealthExtent", Extent: Newest, Full;
    "What a job's health is made of: its newest runs, or also of all that ended in the last day. Of the latter each end costs one write more.");
words!(DeliveryWord = "Delivery", Delivery: AtLeastOnce, AtMostOnce, EffectivelyOnce;
    "`at_most_once` is never tried again once the target may have been reached; `effectively_once` is tried again as `at_least_once` \
     is, by a target that claims what it does to the world outside before it does it.");
words!(BackoffWord = "Backoff", Backoff: Fixed, Linear, Exponential;
    "How the delay grows from one retry to the next.");
words!(JitterWord = "Jitter", Jitter: None, Equal, Full, Decorrelated;
    "How much of a delay is chance: none of it, half, all, or a walk between the first delay and three times the last one.");
words!(MethodWord = "HttpMethod", Method: Get, Post, Put, Patch, Delete;
    "The method of the call.");
words!(OriginWord = "Origin", Origin: Schedule, Manual, Backfill, Redrive, Task, Callback, Resume, Follow, Notification;
    "What brought a run about: its job's schedule, somebody who wanted it now, or what a span of the past had been due, or another try, the \
     workflow that it is a task of, the end of a run that it tells of, somebody who went on with a workflow's run that had failed, the end \
     of a run of the job that its job runs behind, or a notification that it is a message of.");
words!(EndWord = "End", End: Succeeded, Failed, TimedOut, Cancelled, Skipped;
    "How a run ended.");
words!(OnErrorWord = "OnError", OnError: Fail, GoOn;
    "What becomes of an attempt whose hook answers neither that it goes on nor that it does not: the attempt has failed, or the \
     target is called all the same.");
words!(NotifiedOfWord = "NotifiedOf", When: Failed, DeadLetter, Missed, Late, Sla, Recovered;
    "What is told of a run: `failed`: it failed or timed out, as often in a row as `after_in_a_row` says; `dead_letter`: the same, however \
     often; `missed`: it did not fire, since it was too late or a later one fired in its stead; `late`: it began more than `late_seconds` \
     after it was due; `sla`: it has missed its SLA; `recovered`: it succeeded after `after_in_a_row` failures in a row.");
words!(RoleWord = "Role", Role: Viewer, Operator, Admin, Host;
    "What a key may do; each may also do what those before it may. `host` is the deployment's own key.");
words!(DayRuleWord = "Days", DayRule: Either, Both;
    "Where both day fields are restricted: either of them is enough, or a day has to be in both.");
words!(DstGapWord = "DstGap", DstGap: NextValid, Skip;
    "What becomes of a local time that does not exist: it fires once at the first instant after the gap, or not at all.");
words!(DstOverlapWord = "DstOverlap", DstOverlap: ByKind, First, Second, Both;
    "When a local time fires that comes twice: `by_kind` is the first time for a time of day, and both for a rhythm.");
words!(NoteWord = "Note", Note: Shifted, Repeated, Moved, Jittered;
    "What happened to an occurrence: `shifted`: its local time does not exist that day and it fires after the gap; `repeated`: \
     its local time comes twice and this is the second; `moved`: a calendar takes `at`, and it fires at `effective_at`; `jittered`: it is spread, and starts at `effective_at`.");
words!(OnExcludedWord = "OnExcluded", OnExcluded: Skip, Move;
    "What becomes of a fire that a calendar takes: it is skipped, or it moves to the next instant that all calendars allow.");
words!(OnWord = "EdgeOn", On: Success, Failure, Finished;
    "For which end of the task before it an edge holds: it succeeded; it failed, timed out or was rejected; or either of \
     these, or it was skipped.");
words!(RuleWord = "EdgeRule", Rule: All, Any, NoneFailed;
    "What a task asks of its edges: that each holds; that one holds, for the first of which it starts; or that no task before \
     it failed and at least one succeeded.");
words!(OnFailureWord = "OnFailure", OnFailure: FailFast, Continue, Hold;
    "What becomes of a run one of whose tasks failed, unless that was allowed: nothing more starts; all goes on that does not \
     need it; or what needs it waits for an operator's verdict.");
words!(NoAnswerWord = "NoAnswer", NoAnswer: Approve, Reject, Fail;
    "What counts as the answer to an approval where none came in time; `fail` is that it timed out.");

component!(
    OutcomeWord = "Outcome",
    json_schema!({
        "type": "string", "description": "How an attempt ended.", "enum": ["succeeded", "failed", "timed_out", "lost"],
    })
);

component!(ErrorCodeWord = "ErrorCode", {
    let codes = ErrorCode::ALL.map(|code| format!("- `{}`: {}", code.as_str(), code.sentence())).join("\n");
    json_schema!({
        "type": "string",
        "description": format!("A stable word for how an attempt went wrong.\n\n{codes}"),
        "enum": ErrorCode::ALL.map(ErrorCode::as_str),
    })
});
