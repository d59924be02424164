//! The documentation of the routes of keys.

use http::StatusCode;
use minutehand_wire::{KeyRequest, KeyView, KeysQuery, Page, RotateRequest, TenantQuery};
use serde_json::{Value, json};

use super::operation_doc::AnswerHeader::Replayed;
use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use crate::problem::Kind;

pub(crate) fn create_key() -> OperationDoc {
    OperationDoc::new(Tag::Keys, "create_key", "Make a key")
        .takes::<KeyRequest>()
        .once()
        .more("None is made for a tenant that is being erased.")
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<KeyView>(StatusCode::CREATED, "The key, and this once its secret.").makes("key_id"))
        .shows(
            ResponseDoc::json::<KeyView>(
                StatusCode::OK,
                "The key that the same request made before, without its secret.",
            )
            .with(Replayed),
        )
        .example("for a build", json!({ "name": "ci", "role": "operator" }), StatusCode::CREATED, made())
}

pub(crate) fn list_keys() -> OperationDoc {
    OperationDoc::new(Tag::Keys, "list_keys", "List keys")
        .more("In the order they were made, revoked ones among them.")
        .query::<KeysQuery>()
        .shows(ResponseDoc::json::<Page<KeyView>>(StatusCode::OK, "A page of keys."))
}

pub(crate) fn revoke_key() -> OperationDoc {
    OperationDoc::new(Tag::Keys, "revoke_key", "Revoke a key")
        .more("It opens nothing from now on, and is still listed. Revoking twice is revoking once.")
        .query::<TenantQuery>()
        .shows(ResponseDoc::nothing(StatusCode::NO_CONTENT, "It is revoked."))
}

pub(crate) fn rotate_key() -> OperationDoc {
    OperationDoc::new(Tag::Keys, "rotate_key", "Give a key another secret")
        .more("The former one opens until the grace ends.")
        .query::<TenantQuery>()
        .may_take::<RotateRequest>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<KeyView>(StatusCode::OK, "The key, and this once its new secret."))
        .example("within a day", json!({ "grace_seconds": 86400 }), StatusCode::OK, made())
}

fn made() -> Value {
    json!({
        "key_id": "key_06hhgq2g004p7hrx",
        "name": "ci",
        "role": "operator",
        "tenant": "acme",
        "created_at": "2027-01-15T08:00:00.000Z",
        "revoked_at": null,
        "expires_at": null,
        "last_used_at": null,
        "secret": "mh_acme_06hhgq2g004p7hrx_0c20a1g7104gm2rc1m70y40h28"
    })
}
