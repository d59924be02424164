//! The documentation of the routes of the signing secret.

use http::StatusCode;
use minutehand_wire::{RotateRequest, SigningSecretView};
use serde_json::json;

use super::operation_doc::{OperationDoc, ResponseDoc, Tag};

pub(crate) fn get_signing_secret() -> OperationDoc {
    OperationDoc::new(Tag::Signing, "get_signing_secret", "Show since when the signing secret is the same")
        .more("The secret itself is shown once, by the answer that makes it anew.")
        .shows(ResponseDoc::json::<SigningSecretView>(StatusCode::OK, "What may be rendered of it."))
}

pub(crate) fn rotate_signing_secret() -> OperationDoc {
    let shown = json!({
        "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "created_at": "2027-01-15T08:00:00.000Z",
        "previous_expires_at": null
    });
    OperationDoc::new(Tag::Signing, "rotate_signing_secret", "Make the signing secret anew")
        .more("Calls are signed with the former one too, until the grace ends.")
        .may_take::<RotateRequest>()
        .shows(ResponseDoc::json::<SigningSecretView>(StatusCode::OK, "The new secret, this once."))
        .example("the first", json!({ "grace_seconds": 86400 }), StatusCode::OK, shown)
}
