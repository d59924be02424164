//! What the routes of the signing secret say.

use http::StatusCode;
use serde_json::json;

use super::says::{Says, Shows, Tag};
use crate::signing::SecretView;
use crate::wire::grace::RotateRequest;

pub(crate) fn get_signing_secret() -> Says {
    Says::new(Tag::Signing, "get_signing_secret", "Show since when the signing secret is the same")
        .more("The secret itself is shown once, by the answer that makes it anew.")
        .shows(Shows::json::<SecretView>(StatusCode::OK, "What may be told of it."))
}

pub(crate) fn rotate_signing_secret() -> Says {
    let shown = json!({
        "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "created_at": "2027-01-15T08:00:00.000Z",
        "previous_expires_at": null
    });
    Says::new(Tag::Signing, "rotate_signing_secret", "Make the signing secret anew")
        .more("Calls are signed with the former one too, until the grace ends.")
        .may_take::<RotateRequest>()
        .shows(Shows::json::<SecretView>(StatusCode::OK, "The new secret, this once."))
        .example("the first", json!({ "grace_seconds": 86400 }), StatusCode::OK, shown)
}
