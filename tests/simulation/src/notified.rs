//! Those whom rules of notifications tell: they note what they are told, and answer or do not.

use minutehand_domain::id::RunKey;
use minutehand_io::targets::{Answer, Call};

/// Where the messages of rules go in the simulation; behind it stands how many in a hundred are refused.
const HOST: &str = "https://notified.example/";

/// What somebody was told: once more where it was tried again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notified {
    pub at: i64,
    pub run: RunKey,
    pub body: String,
}

/// An address at which so many in a hundred messages are refused.
pub fn address(refused: u8) -> String {
    format!("{HOST}{refused}")
}

/// How many in a hundred are refused at this address; none where it is another's.
pub(crate) fn refusing(url: &str) -> Option<i64> {
    url.strip_prefix(HOST)?.parse().ok()
}

impl Notified {
    pub(crate) fn of(call: &Call<'_>, at: i64) -> Self {
        Self { at, run: call.run, body: call.payload.map(|json| json.as_str().to_owned()).unwrap_or_default() }
    }
}

pub(crate) fn answer(refused: bool) -> Answer {
    if refused {
        let error = minutehand_domain::run::AttemptError::new("http_500", "nobody listens");
        return Answer::Failed { error, retry_after: None };
    }
    Answer::Succeeded { result: None }
}
