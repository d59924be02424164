//! The documentation of the routes of quotas.

use http::StatusCode;
use minutehand_wire::{QuotaRequest, QuotaView};
use serde_json::json;

use super::operation_doc::{OperationDoc, ResponseDoc, Tag};
use crate::problem::Kind;

pub(crate) fn get_own_quota() -> OperationDoc {
    OperationDoc::new(Tag::Quotas, "get_own_quota", "Show your own quota").shows(shown())
}

pub(crate) fn get_quota() -> OperationDoc {
    OperationDoc::new(Tag::Quotas, "get_quota", "Show a tenant's quota").shows(shown())
}

pub(crate) fn put_quota() -> OperationDoc {
    let (request, answer) = (
        json!({ "max_jobs": 10000, "max_requests_per_second": 50 }),
        json!({
            "tenant": "acme", "max_jobs": 10000, "max_fires_per_minute": null, "max_concurrent_runs": null,
            "max_requests_per_second": 50, "max_catch_up_per_minute": null, "retention_days": null
        }),
    );
    OperationDoc::new(Tag::Quotas, "put_quota", "Set a tenant's quota")
        .more(
            "All of it: what is not named is not limited, but for what is made up for and for how long what is over is kept, which have a default. \
             None is set for a tenant that is being erased.",
        )
        .takes::<QuotaRequest>()
        .refuses(Kind::Conflict)
        .shows(shown())
        .example("two bounds", request, StatusCode::OK, answer)
}

fn shown() -> ResponseDoc {
    ResponseDoc::json::<QuotaView>(StatusCode::OK, "The quota as it is now.")
}
