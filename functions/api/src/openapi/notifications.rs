//! The documentation of the routes of notifications.

use http::StatusCode;
use minutehand_wire::{NotificationRequest, NotificationView, NotificationsQuery, Page, RunView};
use serde_json::{Value, json};

use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use crate::body::Nothing;
use crate::problem::Kind;

pub(crate) fn list_notifications() -> OperationDoc {
    OperationDoc::new(Tag::Notifications, "list_notifications", "List notifications")
        .more("By name. Of where they lead to only the host is shown.")
        .query::<NotificationsQuery>()
        .shows(ResponseDoc::json::<Page<NotificationView>>(StatusCode::OK, "A page of notifications."))
}

pub(crate) fn get_notification() -> OperationDoc {
    OperationDoc::new(Tag::Notifications, "get_notification", "Show a notification")
        .more("With what became of its newest hundred messages: how many were sent, failed or held back, and the last error.")
        .shows(ResponseDoc::json::<NotificationView>(StatusCode::OK, "The notification."))
}

pub(crate) fn put_notification() -> OperationDoc {
    OperationDoc::new(Tag::Notifications, "put_notification", "Write a notification")
        .more(
            "The whole of it: what is left out has its default. It is in force within five seconds, a tenant's first one within a minute. \
             Each end that it is about is told once, in the digest of its window. Runs that tell of others are never told of.",
        )
        .takes::<NotificationRequest>()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<NotificationView>(StatusCode::CREATED, "It is written; there was none of that name."))
        .shows(ResponseDoc::json::<NotificationView>(StatusCode::OK, "It is written again."))
        .example("failures to a chat", asked(), StatusCode::CREATED, written())
}

pub(crate) fn delete_notification() -> OperationDoc {
    OperationDoc::new(Tag::Notifications, "delete_notification", "Delete a notification")
        .more("What it has gathered is told to nobody.")
        .shows(ResponseDoc::nothing(StatusCode::NO_CONTENT, "It is gone."))
}

pub(crate) fn try_notification() -> OperationDoc {
    OperationDoc::new(Tag::Notifications, "test_notification", "Send a test message")
        .more("As a digest is sent, also where the notification is not enabled. The run says whether it was received.")
        .may_take::<Nothing>()
        .refuses(Kind::Conflict)
        .shows(
            ResponseDoc::json::<RunView>(StatusCode::ACCEPTED, "The run of the message: it is queued.").makes("run_id"),
        )
}

fn asked() -> Value {
    json!({
        "when": ["failed", "recovered"], "after_in_a_row": 3, "tags": ["billing"], "cooldown_seconds": 900,
        "to": { "slack": { "url": "https://hooks.example.com/services/T000/B000/secret" } },
    })
}

fn written() -> Value {
    json!({
        "name": "on-call", "when": ["failed", "recovered"], "after_in_a_row": 3, "jobs": null, "tags": ["billing"],
        "late_seconds": 5, "digest_seconds": 60, "cooldown_seconds": 900,
        "to": { "slack": { "host": "hooks.example.com" } }, "enabled": true,
        "created_at": "2027-01-15T08:00:00.000Z", "changed_at": "2027-01-15T08:00:00.000Z",
    })
}
