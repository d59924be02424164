//! The documentation of the routes of calendars.

use http::StatusCode;
use minutehand_wire::{
    CalendarChangeView, CalendarQuery, CalendarRequest, CalendarView, DeleteCalendarQuery, ImportRequest, Page,
};
use serde_json::{Value, json};

use super::operation_doc::{AnswerHeader, OperationDoc, ResponseDoc, Tag};
use crate::problem::Kind;

pub(crate) fn list_calendars() -> OperationDoc {
    OperationDoc::new(Tag::Calendars, "list_calendars", "List calendars")
        .more("All of them, by name.")
        .shows(ResponseDoc::json::<Page<CalendarView>>(StatusCode::OK, "All calendars."))
}

pub(crate) fn get_calendar() -> OperationDoc {
    OperationDoc::new(Tag::Calendars, "get_calendar", "Show a calendar")
        .shows(ResponseDoc::json::<CalendarView>(StatusCode::OK, "What it says.").with(AnswerHeader::ETag))
}

pub(crate) fn put_calendar() -> OperationDoc {
    OperationDoc::new(Tag::Calendars, "put_calendar", "Make a calendar, or write it anew")
        .more(
            "The whole of it. What has not started of the jobs that heed it goes by what it says now; a fire that it moves and that has not begun \
             is not lost. Where many jobs heed it, those that are left follow within minutes: `under_way` says so. With `dry_run` nothing is \
             written: the answer says what would be touched.",
        )
        .query::<CalendarQuery>()
        .takes::<CalendarRequest>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<CalendarChangeView>(StatusCode::CREATED, "It is made.").with(AnswerHeader::ETag))
        .shows(ResponseDoc::json::<CalendarChangeView>(StatusCode::OK, "It is written anew, or would be.").with(AnswerHeader::ETagIfThere))
        .example("holidays", holidays(), StatusCode::CREATED, made())
}

pub(crate) fn import_calendar() -> OperationDoc {
    OperationDoc::new(Tag::Calendars, "import_calendar", "Take the all-day events of an iCalendar file among a calendar's dates")
        .more(
            "Events of whole days, once or with `RRULE:FREQ=YEARLY`. What is not understood is not guessed: it is in `passed_over`, with its \
             reason. A calendar that is not there is made.",
        )
        .query::<CalendarQuery>()
        .takes::<ImportRequest>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::json::<CalendarChangeView>(StatusCode::CREATED, "It is made.").with(AnswerHeader::ETag))
        .shows(ResponseDoc::json::<CalendarChangeView>(StatusCode::OK, "It is written anew, or would be.").with(AnswerHeader::ETagIfThere))
        .example("a holiday", json!({ "ics": ICS, "timezone": "America/New_York" }), StatusCode::CREATED, imported())
}

pub(crate) fn delete_calendar() -> OperationDoc {
    OperationDoc::new(Tag::Calendars, "delete_calendar", "Delete a calendar")
        .more("Refused while jobs heed it, unless `force` is given: then they go on without it.")
        .query::<DeleteCalendarQuery>()
        .if_match()
        .refuses(Kind::Conflict)
        .shows(ResponseDoc::nothing(StatusCode::NO_CONTENT, "It is gone."))
        .shows(ResponseDoc::json::<CalendarChangeView>(StatusCode::OK, "What that would touch; nothing was changed."))
}

const ICS: &str = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20270704\r\nSUMMARY:Independence Day\r\nEND:VEVENT\r\nEND:VCALENDAR";

fn imported() -> Value {
    let mut imported = made();
    imported["calendar"]["excluded_dates"] = json!([{ "date": "2027-07-04", "reason": "Independence Day" }]);
    imported
}

fn holidays() -> Value {
    json!({
        "timezone": "America/New_York",
        "excluded_dates": [{ "date": "2027-07-04", "reason": "Independence Day" }, { "date": "--12-25", "reason": "Christmas" }],
    })
}

fn made() -> Value {
    json!({
        "dry_run": false,
        "calendar": {
            "name": "us-holidays", "generation": 1, "description": null, "timezone": "America/New_York",
            "excluded_dates": [{ "date": "2027-07-04", "reason": "Independence Day" }, { "date": "--12-25", "reason": "Christmas" }],
            "excluded_times": [], "allowed_times": [], "business_days": null, "maintenance": [],
            "created_at": "2027-01-15T08:00:00.000Z", "changed_at": "2027-01-15T08:00:00.000Z", "under_way": false,
        },
        "jobs_changed": 0,
        "touches": null,
        "passed_over": [],
    })
}
