//! The documentation of the route of the audit.

use http::StatusCode;
use minutehand_domain::limits::AUDIT_DAYS;
use minutehand_wire::{ActView, AuditQuery, Page};

use super::operation_doc::{OperationDoc, ResponseDoc, Tag};

pub(crate) fn list_audit() -> OperationDoc {
    const { assert!(AUDIT_DAYS == 400, "say so below") };
    OperationDoc::new(Tag::Audit, "list_audit", "List what admins did")
        .more("Newest first: keys, secrets, quotas, the signing secret and repairs. An act is on record before it is done, for 400 days.")
        .query::<AuditQuery>()
        .shows(ResponseDoc::json::<Page<ActView>>(StatusCode::OK, "A page of acts."))
}
