//! The headers of W3C's *Trace Context*, parsed and printed. What is no context is as if there were none: nobody's request fails because of
//! how a proxy of his spells a trace.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::TraceContext;
use crate::limits::{TRACESTATE_BYTES, TRACESTATE_MEMBERS};

/// What the systems that a trace passed through noted: `vendor=what,other=what`, the newest first.
#[derive(Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TraceState(String);

/// `00-` and two ids and `-01`.
const LENGTH: usize = 55;
const SAMPLED: u8 = 1;

impl TraceContext {
    /// What `traceparent` says, and `tracestate` with it. None where that is no context; a state that is none is left out.
    ///
    /// A version after 00 may say more than we know: its first four fields are as those of 00.
    pub fn parse(traceparent: &str, tracestate: Option<&str>) -> Option<Self> {
        let told = traceparent.trim_matches([' ', '\t']);
        let rest = told.get(LENGTH..)?;
        let [version] = bytes(told.get(..2)?)?;
        let is_whole = if version == 0 { rest.is_empty() } else { rest.is_empty() || rest.starts_with('-') };
        let is_spelled = [2, 35, 52].iter().all(|at| told.as_bytes()[*at] == b'-');
        if version == 0xff || !is_whole || !is_spelled {
            return None;
        }
        let [flags] = bytes(told.get(53..LENGTH)?)?;
        Some(Self {
            trace: told.get(3..35)?.parse().ok()?,
            span: told.get(36..52)?.parse().ok()?,
            sampled: flags & SAMPLED != 0,
            state: tracestate.and_then(TraceState::parse),
        })
    }
}

/// As `traceparent` says it.
impl fmt::Display for TraceContext {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

/// Lower-case hex of so many bytes.
pub(super) fn bytes<const N: usize>(hex: &str) -> Option<[u8; N]> {
    let nibble = |c: u8| match c {
        b'0'..=b'9' => Some(c - b'0'),
        b'a'..=b'f' => Some(c - b'a' + 10),
        _ => None,
    };
    let (pairs, []) = hex.as_bytes().as_chunks::<2>() else { return None };
    let mut bytes = [0; N];
    if pairs.len() != N {
        return None;
    }
    for (byte, [high, low]) in bytes.iter_mut().zip(pairs) {
        *byte = nibble(*high)? << 4 | nibble(*low)?;
    }
    Some(bytes)
}

impl TraceState {
    /// None where it is empty, longer than we keep, or not spelled as it should be: half a list would say something else.
    pub fn parse(told: &str) -> Option<Self> {
        let members: Vec<&str> = told
            .split(',')
            .map(|member| member.trim_matches([' ', '\t']))
            .filter(|member| !member.is_empty())
            .collect();
        let keys = members.iter().map(|member| key_of(member)).collect::<Option<BTreeSet<_>>>()?;
        let whole = members.join(",");
        let is_kept = !whole.is_empty() && whole.len() <= TRACESTATE_BYTES && members.len() <= TRACESTATE_MEMBERS;
        (is_kept && keys.len() == members.len()).then_some(Self(whole))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for TraceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// The key of a member, where both halves of it are legal.
fn key_of(member: &str) -> Option<&str> {
    let (key, value) = member.split_once('=')?;
    let begins = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_key = |c: char| begins(c) || matches!(c, '_' | '-' | '*' | '/' | '@');
    let is_value = |c: char| matches!(c, ' '..='~') && c != ',' && c != '=';
    let legal_key = key.len() <= 256 && key.starts_with(begins) && key.chars().all(is_key);
    let legal_value = (1..=256).contains(&value.len()) && value.chars().all(is_value);
    (legal_key && legal_value).then_some(key)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::trace::{SpanId, TraceId};

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_traceparent_is_read_as_the_recommendation_says_or_is_none() {
        let zeros = ("0".repeat(32), "0".repeat(16));
        let cases: Vec<(String, Option<bool>)> = vec![
            (format!("00-{TRACE}-{SPAN}-01"), Some(true)),
            (format!("00-{TRACE}-{SPAN}-00"), Some(false)),
            // Other flags are of later recommendations.
            (format!("00-{TRACE}-{SPAN}-02"), Some(false)),
            (format!("00-{TRACE}-{SPAN}-ff"), Some(true)),
            (format!(" 00-{TRACE}-{SPAN}-01\t"), Some(true)),
            // A later version: its first four fields.
            (format!("01-{TRACE}-{SPAN}-01"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-00-what-the-future-will-be-like"), Some(false)),
            (format!("cc-{TRACE}-{SPAN}-01-"), Some(true)),
            (format!("cc-{TRACE}-{SPAN}-01.what"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            // Version 00 is exactly so long.
            (format!("00-{TRACE}-{SPAN}-01-"), None),
            (format!("00-{TRACE}-{SPAN}-01-more"), None),
            (format!("00-{TRACE}-{SPAN}-0"), None),
            (format!("00-{TRACE}-{SPAN}"), None),
            (format!("0-{TRACE}-{SPAN}-01"), None),
            // All zeros.
            (format!("00-{}-{SPAN}-01", zeros.0), None),
            (format!("00-{TRACE}-{}-01", zeros.1), None),
            // Upper case, other letters, other separators.
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00-{TRACE}-{}-01", SPAN.to_uppercase()), None),
            (format!("00-{TRACE}-{SPAN}-0A"), None),
            (format!("0x-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}g-{SPAN}-01", &TRACE[..31]), None),
            (format!("00_{TRACE}_{SPAN}_01"), None),
            (format!("00-{TRACE}{SPAN}--01"), None),
            (format!("00-{}ä-{SPAN}-01", &TRACE[..30]), None),
            (String::new(), None),
        ];

        for (told, sampled) in cases {
            let parsed = TraceContext::parse(&told, None);
            assert_eq!(parsed.as_ref().map(|context| context.sampled), sampled, "{told}");
            if let Some(context) = parsed {
                assert_eq!((context.trace.to_string(), context.span.to_string()), (TRACE.to_owned(), SPAN.to_owned()));
            }
        }
    }

    #[test]
    fn a_tracestate_is_kept_whole_or_left_out() {
        let of = |count: usize, value: usize| {
            let members: Vec<String> = (0..count).map(|n| format!("k{n:02}={}", "v".repeat(value))).collect();
            members.join(",")
        };
        let kept = [
            ("rojo=00f067aa0ba902b7,congo=t61rcWkgMzE", "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"),
            (" rojo=1 ,, congo=2\t", "rojo=1,congo=2"),
            ("fw529a3039@dt=FfAMFhn", "fw529a3039@dt=FfAMFhn"),
            ("0a*/-_=a b", "0a*/-_=a b"),
            (&of(32, 5), &of(32, 5)),
            (&of(1, 256), &of(1, 256)),
        ];
        let dropped = [
            "",
            " , ",
            "rojo",
            "rojo=",
            "=1",
            "Rojo=1",
            "@rojo=1",
            "ro jo=1",
            "rojo=1=2",
            "rojo=ä",
            "rojo=1,rojo=2",
            "rojo=1,congo",
            &of(33, 1),
            &of(1, 257),
            &of(4, 150),
        ];

        for (told, state) in kept {
            assert_eq!(TraceState::parse(told).as_ref().map(TraceState::as_str), Some(state), "{told}");
        }
        for told in dropped {
            assert_eq!(TraceState::parse(told), None, "{told}");
        }
    }

    #[test]
    fn a_state_that_is_none_leaves_the_context_as_it_is() {
        let told = format!("00-{TRACE}-{SPAN}-01");

        let context = TraceContext::parse(&told, Some("no state")).unwrap();

        assert_eq!((context.to_string(), context.state), (told, None));
    }

    proptest! {
        #[test]
        fn what_is_printed_is_read_again(trace in any::<[u8; 16]>(), span in any::<[u8; 8]>(), sampled: bool) {
            let (Some(trace), Some(span)) = (TraceId::from_bytes(trace), SpanId::from_bytes(span)) else { return Ok(()) };
            let context = TraceContext { trace, span, sampled, state: None };
            prop_assert_eq!(TraceContext::parse(&context.to_string(), None), Some(context));
        }

        #[test]
        fn any_text_is_a_context_or_none(told in "\\PC{0,70}", state in "\\PC{0,70}") {
            let _whichever = TraceContext::parse(&told, Some(&state));
        }
    }
}
