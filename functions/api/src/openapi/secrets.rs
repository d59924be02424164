//! The documentation of the routes of secrets.

use http::StatusCode;
use minutehand_wire::{Page, SecretRequest, SecretView, SecretsQuery};
use serde_json::{Value, json};

use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use crate::problem::Kind;

pub(crate) fn list_secrets() -> OperationDoc {
    OperationDoc::new(Tag::Secrets, "list_secrets", "List secrets")
        .more("By name. What they say is shown to nobody.")
        .query::<SecretsQuery>()
        .shows(ResponseDoc::json::<Page<SecretView>>(StatusCode::OK, "A page of secrets."))
}

pub(crate) fn get_secret() -> OperationDoc {
    OperationDoc::new(Tag::Secrets, "get_secret", "Show a secret's name and age")
        .shows(ResponseDoc::json::<SecretView>(StatusCode::OK, "What may be shown of it."))
}

pub(crate) fn put_secret() -> OperationDoc {
    OperationDoc::new(Tag::Secrets, "put_secret", "Write a secret")
        .more(
            "Written again it is rotated: within five seconds every call says the new value, and the old one is good for nothing. \
             A deployment without a key to seal secrets with refuses it.",
        )
        .takes::<SecretRequest>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<SecretView>(StatusCode::CREATED, "It is written; there was none of that name."))
        .shows(ResponseDoc::json::<SecretView>(StatusCode::OK, "It is written again."))
        .example("a token", json!({ "value": "Bearer 2b1f8c" }), StatusCode::CREATED, written())
}

pub(crate) fn delete_secret() -> OperationDoc {
    OperationDoc::new(Tag::Secrets, "delete_secret", "Delete a secret")
        .more("A job that names it keeps its name; its calls fail with `secret` until it is written again.")
        .shows(ResponseDoc::nothing(StatusCode::NO_CONTENT, "It is gone."))
}

fn written() -> Value {
    json!({ "name": "billing", "version": 1, "created_at": "2027-01-15T08:00:00.000Z", "rotated_at": null })
}
