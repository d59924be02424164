//! The documentation of the routes of schedules.

use http::StatusCode;
use minutehand_wire::{FiresQuery, FiresView, NextQuery, PreviewRequest, PreviewView, WhyQuery, WhyView};
use serde_json::{Value, json};

use super::operation_doc::{OperationDoc, ResponseDoc, Tag};

pub(crate) fn preview_schedule() -> OperationDoc {
    OperationDoc::new(Tag::Schedules, "preview_schedule", "Preview a schedule")
        .more("In words, and by its next instants with what daylight saving does to them.")
        .takes::<PreviewRequest>()
        .shows(ResponseDoc::json::<PreviewView>(StatusCode::OK, "What a job with this schedule would fire."))
        .example("a night that has no 02:30", spring(), StatusCode::OK, spring_shown())
}

pub(crate) fn next_fires() -> OperationDoc {
    OperationDoc::new(Tag::Schedules, "next_fires", "Show when a job fires next")
        .query::<NextQuery>()
        .shows(ResponseDoc::json::<PreviewView>(StatusCode::OK, "What the job fires next, as it stands."))
}

pub(crate) fn explain_instant() -> OperationDoc {
    OperationDoc::new(Tag::Schedules, "explain_instant", "Say what an instant of a job came to, or will, and which rule decided")
        .more(
            "Of what is past its records tell, of what is to come the job as it stands. Of a time before the schedules that the job \
             remembers, today's and the one before it, only what is on record is told.",
        )
        .query::<WhyQuery>()
        .shows(ResponseDoc::json::<WhyView>(StatusCode::OK, "What became of it."))
}

pub(crate) fn list_fires() -> OperationDoc {
    OperationDoc::new(Tag::Schedules, "list_fires", "Show what fires next across all jobs")
        .more(
            "In the order of time, by the schedules as they stand: an occurrence that was cancelled ahead of its time is among them, and a job \
             that is paused or deleted fires nothing. Of each job so many are shown as `per_job` says, counted from `from`. 10,000 jobs are asked \
             at most; where there are more, `complete` is false.",
        )
        .query::<FiresQuery>()
        .shows(ResponseDoc::json::<FiresView>(StatusCode::OK, "A page of fires."))
}

fn spring() -> Value {
    json!({
        "schedule": { "cron": "30 2 * * *", "timezone": "America/New_York" },
        "from": "2027-03-13T00:00:00-05:00",
        "count": 2
    })
}

fn spring_shown() -> Value {
    json!({
        "description": "at 02:30 every day, New York time; in the spring gap at 03:00",
        "fires": [
            {
                "at": "2027-03-13T07:30:00.000Z", "effective_at": "2027-03-13T07:30:00.000Z",
                "local": "2027-03-13T02:30:00-05:00", "note": null,
            },
            {
                "at": "2027-03-14T07:00:00.000Z", "effective_at": "2027-03-14T07:00:00.000Z",
                "local": "2027-03-14T03:00:00-04:00", "note": "shifted",
            }
        ],
        "exhausted": false
    })
}
