//! The shapes on the wire. Requests parse themselves and refuse what they do not know; answers show what is there.

pub(crate) mod body_view;
pub(crate) mod instant;
pub(crate) mod job_request;
pub(crate) mod job_view;
pub(crate) mod page;
pub(crate) mod preview_view;
pub(crate) mod retry_request;
pub(crate) mod run_view;
pub(crate) mod schedule_request;
pub(crate) mod target_request;
