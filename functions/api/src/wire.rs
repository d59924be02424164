//! The shapes on the wire. Requests parse themselves and refuse what they do not know; answers show what is there.

pub(crate) mod body_view;
pub(crate) mod catch_up_request;
pub(crate) mod component;
pub(crate) mod grace;
pub(crate) mod instant;
pub(crate) mod job_request;
pub(crate) mod job_view;
pub(crate) mod key_view;
pub(crate) mod kinds;
pub(crate) mod object;
pub(crate) mod page;
pub(crate) mod preview_view;
pub(crate) mod quota_view;
pub(crate) mod retry_request;
pub(crate) mod run_status;
pub(crate) mod run_view;
pub(crate) mod schedule_request;
pub(crate) mod target_request;
pub(crate) mod texts;
pub(crate) mod whole_number;
pub(crate) mod words;
