//! Asking before a call: whoever a job names as its hook is asked inside the run's lease, in a time of its own, and says whether the
//! target is called, and with what.

use minutehand_domain::body::Json;
use minutehand_domain::hook::{BeforeHook, OnError};
use minutehand_domain::id::RunKey;
use minutehand_domain::limits::PAYLOAD_BYTES;
use minutehand_domain::run::lease_id::LeaseId;
use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::target::Target;
use minutehand_io::Ports;
use minutehand_io::clock::Clock as _;
use minutehand_io::targets::{Answer, Call, Material, Targets as _, veto_in};
use minutehand_protocol::run::claim::ClaimedRun;
use minutehand_protocol::run::hooked::{given_by, told_before};

/// What whoever was asked said.
pub(crate) enum Said {
    /// The target is called, with this in the place of what it was to be given.
    GoOn(Option<Json>),
    /// The run is not to be: why, in a sentence.
    Veto(String),
    /// Nothing of use, and then the attempt has failed.
    Fail(AttemptError),
}

/// `material`: what its call takes.
pub(crate) async fn ask<D: Ports>(ports: &D, claimed: &ClaimedRun, before: &BeforeHook, material: &Material) -> Said {
    match answer(ports, claimed, before, material).await {
        Answer::Succeeded { result: None } | Answer::Accepted { .. } => Said::GoOn(None),
        Answer::Succeeded { result: Some(json) } => match given_by(&json) {
            Ok(given) => Said::GoOn(given),
            Err(()) => failed(before, &format!("it answered more than {PAYLOAD_BYTES} bytes, or no JSON")),
        },
        Answer::Failed { error, .. } => match veto_in(&error) {
            Some(told) => Said::Veto(told),
            None => failed(before, &format!("{}: {}", error.code, error.message)),
        },
        Answer::TimedOut => failed(before, &format!("it did not answer within {} s", before.timeout.as_secs())),
    }
}

fn failed(before: &BeforeHook, why: &str) -> Said {
    match before.on_error {
        OnError::Fail => Said::Fail(ErrorCode::Hook.error(&format!("the hook before the call: {why}"))),
        OnError::GoOn => Said::GoOn(None),
    }
}

async fn answer<D: Ports>(ports: &D, claimed: &ClaimedRun, before: &BeforeHook, material: &Material) -> Answer {
    let ClaimedRun { run, order, payload, hint, .. } = claimed;
    let now = ports.clock().now();
    let (target, told) = (Target::Http(before.target.clone()), told_before(run, payload.as_ref(), now));
    let call = Call {
        target: &target,
        tenant: &run.tenant,
        run: RunKey::asking(run.key),
        attempt: run.fence,
        scheduled_at: run.nominal(),
        now,
        payload: Some(&told),
        follows: run.follows.map(|follows| follows.run),
        // It is asked within the attempt.
        trace: &run.attempt_context(run.fence),
        task: order.task.as_ref(),
        material,
        timeout: before.timeout,
        lease: LeaseId::of(hint, run.fence),
    };
    ports.targets().call(call).await
}
