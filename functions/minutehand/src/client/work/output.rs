//! What a command writes: each line is a line of the run's log; one that begins with two colons says something of the run.

use std::io::{BufRead as _, BufReader, Read};

use minutehand_client::worker::Context;
use serde_json::value::RawValue;

/// A longer line is several: no checkpoint and no result is longer.
const LINE_BYTES: u64 = 320 * 1024;
/// What an error says of a line.
const QUOTED_CHARS: usize = 1000;

/// What is worth remembering of it: its last line that is not blank.
#[derive(Debug, Default)]
pub(super) struct Heard {
    last_line: Option<String>,
}

impl Heard {
    /// As a failure quotes it.
    pub(super) fn quoted(&self) -> Option<String> {
        self.last_line.as_ref().map(|line| line.chars().take(QUOTED_CHARS).collect())
    }

    /// None where it is no JSON.
    pub(super) fn result(self) -> Option<Box<RawValue>> {
        self.last_line.and_then(|line| RawValue::from_string(line.trim().to_owned()).ok())
    }
}

/// Until nobody writes any more.
pub(super) fn hear(stream: impl Read, ctx: &Context, speaks: bool) -> Heard {
    let (mut reader, mut heard) = (BufReader::new(stream), Heard::default());
    let mut bytes = Vec::new();
    while let Ok(1..) = reader.by_ref().take(LINE_BYTES).read_until(b'\n', &mut bytes) {
        let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
        bytes.clear();
        if speaks && said(&line, ctx) {
            continue;
        }
        ctx.log(&line);
        if !line.trim().is_empty() {
            heard.last_line = Some(line);
        }
    }
    heard
}

/// `::progress 0.5 adding` and `::checkpoint {"page": 7}`.
fn said(line: &str, ctx: &Context) -> bool {
    let Some((word, rest)) = line.strip_prefix("::").and_then(|line| line.split_once(' ')) else { return false };
    match word {
        "progress" => {
            let (fraction, stage) = rest.split_once(' ').unwrap_or((rest, ""));
            let Ok(fraction) = fraction.parse() else { return false };
            ctx.progress(fraction);
            if !stage.is_empty() {
                ctx.stage(stage);
            }
            true
        }
        "checkpoint" => RawValue::from_string(rest.to_owned()).is_ok_and(|json| ctx.keep(&json).is_ok()),
        _ => false,
    }
}
