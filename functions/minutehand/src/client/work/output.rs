//! What a command writes: each line is a line of the run's log; one that begins with two colons says something of the run.

use std::io::{BufRead as _, BufReader, Read};

use minutehand_client::worker::Context;
use minutehand_domain::limits::RESULT_BYTES;
use serde_json::value::RawValue;

use super::running::VARIABLE_BYTES;

/// A longer line is several, none of which is a checkpoint or a result: neither may be as long.
const LINE_BYTES: usize = 320 * 1024;
/// What an error says of a line.
const QUOTED_CHARS: usize = 1000;

/// What is worth remembering of it: its last line that is not blank.
#[derive(Debug, Default)]
pub(super) struct Heard {
    last_line: Option<Line>,
}

#[derive(Debug)]
struct Line {
    text: String,
    /// And not one of several that a longer one was.
    is_whole: bool,
}

impl Heard {
    /// As a failure quotes it.
    pub(super) fn quoted(&self) -> Option<String> {
        self.last_line.as_ref().map(|line| line.text.chars().take(QUOTED_CHARS).collect())
    }

    /// Whether it has more than a result may have.
    pub(super) fn is_too_long(&self) -> bool {
        self.last_line.as_ref().is_some_and(|line| !line.is_whole || line.text.trim().len() > RESULT_BYTES)
    }

    /// None where it is no JSON.
    pub(super) fn result(self) -> Option<Box<RawValue>> {
        self.last_line.and_then(|line| RawValue::from_string(line.text.trim().to_owned()).ok())
    }
}

/// Until nobody writes any more.
pub(super) fn hear(stream: impl Read, ctx: &Context, speaks: bool) -> Heard {
    let (mut reader, mut heard) = (BufReader::new(stream), Heard::default());
    let (mut bytes, mut goes_on) = (Vec::new(), false);
    while let Ok(1..) = reader.by_ref().take(LINE_BYTES as u64).read_until(b'\n', &mut bytes) {
        let text = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
        let is_cut = bytes.len() == LINE_BYTES && !bytes.ends_with(b"\n");
        let is_whole = !is_cut && !goes_on;
        goes_on = is_cut;
        bytes.clear();
        if speaks && is_whole && said(&text, ctx) {
            continue;
        }
        ctx.log(&text);
        if !text.trim().is_empty() {
            heard.last_line = Some(Line { text, is_whole });
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
        "checkpoint" => RawValue::from_string(rest.to_owned()).is_ok_and(|json| kept(&json, ctx)),
        _ => false,
    }
}

/// What the next attempt could not be given is not kept: that attempt would not begin. The one before stays.
fn kept(checkpoint: &RawValue, ctx: &Context) -> bool {
    if checkpoint.get().len() <= VARIABLE_BYTES {
        return ctx.keep(&checkpoint).is_ok();
    }
    ctx.log("minutehand: this checkpoint is not kept: it has more than 120 KiB, which no variable has");
    true
}
