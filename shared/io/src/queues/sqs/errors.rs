//! Errors of SQS as faults: `Unavailable` where a retry can help, `Illegal` where it never will.

use aws_sdk_sqs::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::BatchResultErrorEntry;

use super::PORT;
use crate::Fault;

/// Codes of requests that are wrong in themselves. Errors of the deployment (a missing queue, a missing permission) are not
/// among them: a retry works once they are corrected.
const ILLEGAL: [&str; 11] = [
    "BatchEntryIdsNotDistinct",
    "BatchRequestTooLong",
    "EmptyBatchRequest",
    "InvalidAddress",
    "InvalidAttributeValue",
    "InvalidBatchEntryId",
    "InvalidMessageContents",
    "InvalidParameterValue",
    "MissingParameter",
    "TooManyEntriesInBatchRequest",
    "ValidationException",
];

/// A request that failed, after the SDK's own retries.
pub(super) fn fault<E, R>(error: &SdkError<E, R>) -> Fault
where
    E: ProvideErrorMetadata + std::error::Error + 'static,
    R: std::fmt::Debug,
{
    let why = DisplayErrorContext(error).to_string();
    match error {
        SdkError::ConstructionFailure(_) => Fault::illegal(PORT, why),
        SdkError::ServiceError(service) => fault_of(service.err().code().unwrap_or_default(), why),
        _not_answered => Fault::unavailable(PORT, why),
    }
}

/// An entry of a batch that failed.
pub(super) fn entry_fault(entry: &BatchResultErrorEntry) -> Fault {
    fault_of(entry.code(), format!("{}: {}", entry.code(), entry.message().unwrap_or_default()))
}

/// Whether the error says that a receipt is of an old delivery. SQS has three codes for it; the third is for a message that
/// is gone, and wrong requests share it, so the parameter's name decides.
pub(super) fn is_of_an_old_receipt(entry: &BatchResultErrorEntry) -> bool {
    match plain(entry.code()) {
        "ReceiptHandleIsInvalid" | "MessageNotInflight" => true,
        "InvalidParameterValue" => {
            entry.message().is_some_and(|message| message.contains("for parameter ReceiptHandle"))
        }
        _another => false,
    }
}

fn fault_of(code: &str, why: String) -> Fault {
    if ILLEGAL.contains(&plain(code)) { Fault::illegal(PORT, why) } else { Fault::unavailable(PORT, why) }
}

/// Some codes still carry the name space of the older query protocol.
fn plain(code: &str) -> &str {
    code.rsplit('.').next().unwrap_or(code)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(code: &str, message: &str) -> BatchResultErrorEntry {
        BatchResultErrorEntry::builder().id("0").sender_fault(true).code(code).message(message).build().unwrap()
    }

    #[test]
    fn a_code_decides_whether_a_retry_can_help() {
        for (code, never) in [
            ("InvalidMessageContents", true),
            ("AWS.SimpleQueueService.BatchRequestTooLong", true),
            ("InternalError", false),
            ("ServiceUnavailable", false),
            ("AWS.SimpleQueueService.NonExistentQueue", false),
            ("AccessDeniedException", false),
            ("", false),
        ] {
            assert_eq!(matches!(entry_fault(&entry(code, "")), Fault::Illegal { .. }), never, "{code}");
        }
    }

    #[test]
    fn an_old_receipt_is_known_by_each_of_its_names() {
        let gone = "Value AQEB for parameter ReceiptHandle is invalid. Reason: Message does not exist or is not available \
                    for visibility timeout change.";
        let wrong = "Value 99999 for parameter VisibilityTimeout is invalid.";
        for (code, message, old) in [
            ("ReceiptHandleIsInvalid", "", true),
            ("AWS.SimpleQueueService.MessageNotInflight", "", true),
            ("InvalidParameterValue", gone, true),
            ("InvalidParameterValue", wrong, false),
            ("InternalError", gone, false),
        ] {
            assert_eq!(is_of_an_old_receipt(&entry(code, message)), old, "{code}: {message}");
        }
    }
}
