//! A hint as a message's body: JSON, so that an operator can read the messages of a queue.

use minutehand_domain::Moment;
use minutehand_domain::hint::Hint;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::timer::{TimerKey, TimerStamp};
use serde::{Deserialize, Serialize};

use super::PORT;
use crate::Fault;
use crate::shapes::run_key::RunKeyV1;
use crate::shapes::timer::{TimerKeyV1, TimerStampV1};
use crate::shapes::{Of, Shape as _, in_shape, shapes};

/// The largest message, and the largest batch, that SQS accepted before the bound became a mebibyte; some regions and
/// emulators still accept no more. A hint has less than a thousandth of it.
pub(super) const BYTES: usize = 256 * 1024;

/// The version of a message that says none.
const FIRST: u16 = 1;

#[derive(Deserialize)]
struct Version {
    #[serde(default = "first")]
    version: u16,
}

shapes! { HintV1 => Hint }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Hint")]
struct HintV1 {
    tenant: Tenant,
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    #[serde(with = "TimerKeyV1")]
    timer: TimerKey,
    #[serde(rename = "mark", with = "TimerStampV1")]
    stamp: TimerStamp,
    /// A release before this does not say it, and does not mind it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sent: Option<Moment>,
}

const fn first() -> u16 {
    FIRST
}

pub fn write(hint: &Hint) -> Result<String, Fault> {
    let body =
        serde_json::to_string(&in_shape::<HintV1, _>(hint)).map_err(|error| Fault::illegal(PORT, error.to_string()))?;
    if body.len() > BYTES {
        return Err(Fault::illegal(PORT, format!("a message of {} bytes, and SQS takes {BYTES}", body.len())));
    }
    Ok(body)
}

/// The hint in the body of a message. Anybody with write access to the queue may have written it.
pub fn read(body: &str) -> Result<Hint, Fault> {
    let read = |error: serde_json::Error| Fault::unreadable(PORT, error.to_string());
    let Version { version } = serde_json::from_str(body).map_err(read)?;
    if version != FIRST {
        return Err(Fault::unreadable(PORT, format!("a hint has version {version}, this release reads {FIRST}")));
    }
    let Of::<HintV1, _>(hint, _) = serde_json::from_str(body).map_err(read)?;
    // A tenant becomes part of a key.
    Tenant::new(hint.tenant.as_str()).map_err(|error| Fault::unreadable(PORT, error.to_string()))?;
    Ok(hint)
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::{JobId, RunKey};
    use minutehand_domain::timer::{Obligation, TimerKey, TimerStamp};
    use proptest::prelude::*;

    use super::*;

    const JOB: JobId = JobId::from_bytes([7; 16]);

    fn any_moment() -> impl Strategy<Value = Moment> {
        (0..=Moment::END.millis()).prop_map(Moment::from_millis)
    }

    fn any_run() -> impl Strategy<Value = RunKey> {
        (any::<[u8; 16]>(), any_moment(), any::<bool>(), any::<u64>()).prop_map(|(job, at, manual, number)| {
            let job = JobId::from_bytes(job);
            if manual { RunKey::manual(job, at, number) } else { RunKey::occurrence(job, at) }
        })
    }

    fn any_obligation() -> impl Strategy<Value = Obligation> {
        prop_oneof![
            any::<[u8; 16]>().prop_map(|job| Obligation::Occurrence(JobId::from_bytes(job))),
            (any::<[u8; 16]>(), any_moment())
                .prop_map(|(job, at)| Obligation::MovedOccurrence(JobId::from_bytes(job), at)),
            any_run().prop_map(Obligation::Run),
        ]
    }

    prop_compose! {
        fn any_hint()(
            tenant in "[a-z0-9-]{1,64}",
            run in any_run(),
            (due, obligation) in (any_moment(), any_obligation()),
            (generation, written) in (any::<u64>(), any_moment()),
            sent in proptest::option::of(any_moment()),
        ) -> Hint {
            let tenant = Tenant::new(&tenant).unwrap();
            Hint { tenant, run, timer: TimerKey { due, obligation }, stamp: TimerStamp { generation, written }, sent }
        }
    }

    /// Tried: without the look at the version, it is read as a hint of today.
    #[test]
    fn a_message_of_a_later_version_is_unreadable_and_one_that_says_none_is_of_the_first() {
        let key = TimerKey::occurrence(JOB, Moment::EPOCH);
        let stamp = TimerStamp { generation: 7, written: Moment::EPOCH };
        let hint = Hint { tenant: Tenant::new("acme").unwrap(), run: key.run_key(), timer: key, stamp, sent: None };
        let body = write(&hint).unwrap();

        assert!(!body.contains("version"), "{body}");
        assert_eq!(read(&body), Ok(hint));
        let later = body.replacen('{', r#"{"version":2,"more":[],"#, 1);
        assert!(matches!(read(&later), Err(Fault::Unreadable { .. })), "{later}");
    }

    proptest! {
        #[test]
        fn a_hint_reads_back_as_it_was_written(hint in any_hint()) {
            let body = write(&hint).unwrap();

            prop_assert!(body.len() < 1024, "{body}");
            prop_assert_eq!(read(&body), Ok(hint));
        }

        #[test]
        fn any_text_is_unreadable(text in "\\PC{0,200}") {
            let unreadable = matches!(read(&text), Err(Fault::Unreadable { .. }));
            prop_assert!(unreadable);
        }

        /// A valid message with one character changed: still a hint, or unreadable, and no panic.
        #[test]
        fn a_damaged_hint_never_panics(hint in any_hint(), at in any::<prop::sample::Index>(), to in "[ -~]") {
            let mut body = write(&hint).unwrap();
            let at = at.index(body.len());
            body.replace_range(at..=at, &to);

            let sound = match read(&body) {
                Ok(other) => !format!("{other:?}").is_empty(),
                Err(fault) => matches!(fault, Fault::Unreadable { .. }),
            };
            prop_assert!(sound);
        }
    }

    /// Tried: without the check of the tenant, `acme#other` would become part of a key.
    #[test]
    fn a_hint_with_an_invalid_tenant_is_unreadable() {
        let timer = TimerKey::occurrence(JOB, Moment::EPOCH);
        let stamp = TimerStamp { generation: 1, written: Moment::EPOCH };
        let hint = Hint { tenant: Tenant::new("acme").unwrap(), run: timer.run_key(), timer, stamp, sent: None };

        let forged = write(&hint).unwrap().replace("acme", "acme#other");

        assert!(matches!(read(&forged), Err(Fault::Unreadable { .. })));
    }
}
