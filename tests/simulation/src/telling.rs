//! Who is told of the ends of runs, and who is asked before their calls: how they behave is said by the address that they are called at,
//! and what they were told is noted for the judge.

use std::collections::BTreeMap;

use minutehand_domain::id::RunKey;
use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::target::{HttpTarget, Method, Timeouts};
use minutehand_io::targets::{Answer, Call};
use minutehand_judge::callbacks::{Asked, Called, Said, Told};
use serde_json::Value;

const ADDRESS: &str = "https://told.example/";

/// How somebody behaves who is told, or asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Telling {
    /// Whether it is asked before a call.
    pub asked: bool,
    /// How long it takes to answer, in milliseconds.
    pub takes: i64,
    /// How many of a hundred calls come to nothing, and how many others say no.
    pub fails: i64,
    pub vetoes: i64,
}

/// What was seen of them.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    pub told: Vec<Told>,
    pub asked: Vec<Asked>,
    pub calls: Vec<Called>,
    /// What each hook was told, by the run and its attempt.
    pub given: BTreeMap<(String, u32), Value>,
}

impl Telling {
    /// Who hears what it is told, at once.
    pub const HEARS: Self = Self { asked: false, takes: 50, fails: 0, vetoes: 0 };
    /// Who lets each call be.
    pub const LETS: Self = Self { asked: true, takes: 50, fails: 0, vetoes: 0 };

    pub fn target(self) -> HttpTarget {
        let url = format!("{ADDRESS}{}/{}/{}/{}", u8::from(self.asked), self.takes, self.fails, self.vetoes);
        HttpTarget { url, method: Method::Post, headers: [].into(), timeouts: Timeouts::default() }
    }

    pub fn of(url: &str) -> Option<Self> {
        let mut numbers = url.strip_prefix(ADDRESS)?.split('/').map(|text| text.parse::<i64>().ok());
        let mut next = || numbers.next().flatten();
        Some(Self { asked: next()? == 1, takes: next()?, fails: next()?, vetoes: next()? })
    }

    fn said(self, roll: i64) -> Said {
        if roll < self.fails {
            Said::Nothing
        } else if roll < self.fails + self.vetoes {
            Said::Veto
        } else {
            Said::GoOn
        }
    }

    pub(crate) fn answer(self, roll: i64, is_too_slow: bool) -> Answer {
        let failed = |code: ErrorCode, message: &str| {
            let error: AttemptError = code.error(message);
            Answer::Failed { error, retry_after: None }
        };
        match self.said(roll) {
            _ if is_too_slow => Answer::TimedOut,
            Said::GoOn => Answer::Succeeded { result: None },
            Said::Veto => failed(ErrorCode::Http4xx, "the target answered 409 Conflict: not today"),
            Said::Nothing => failed(ErrorCode::Http5xx, "the target answered 500 Internal Server Error"),
        }
    }
}

impl Seen {
    /// A call of a target.
    pub(crate) fn called(&mut self, run: RunKey, fence: u32, at: i64) {
        self.calls.push(Called { run: run.to_string(), fence, at });
    }

    /// `span`: from when until when the call lasted.
    pub(crate) fn told(&mut self, telling: Telling, call: &Call<'_>, span: (i64, i64), roll: i64) {
        let body: Value = call.payload.and_then(|body| serde_json::from_str(body.as_str()).ok()).unwrap_or_default();
        let is_too_slow = telling.takes > i64::try_from(call.timeout.as_millis()).unwrap_or(i64::MAX);
        let said = if is_too_slow { Said::Nothing } else { telling.said(roll) };
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if telling.asked {
            let run = word(&body["data"]["run_id"]);
            self.asked.push(Asked { run: run.clone(), fence: call.attempt, at: span.1, said });
            self.given.insert((run, call.attempt), body);
        } else {
            let (of, kind) = (word(&body["data"]["run_id"]), word(&body["type"]));
            self.told.push(Told { of, kind, at: span.0, heard: said == Said::GoOn });
        }
    }
}
