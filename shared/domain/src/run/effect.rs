//! An effect: what a run does to the world outside, and must not do twice however often it is tried. A worker claims it before it makes it and
//! says what came of it; whoever comes later is told so, and decides.
//!
//! The ledger cannot know whether an effect was made whose claimant was never heard of again. It says which of the two it is: an outcome, or
//! none.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::Moment;
use crate::body::Json;
use crate::id::{NotAnId, RunKey, Tenant, base32, digest_of_key, sixteen_bytes};
use crate::limits::EFFECT_CHARS;
use crate::spelled::{spelled_as_text, spelled_for_people};

/// What a run calls one of its effects.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct EffectName(String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("an effect's key has from 1 to {EFFECT_CHARS} visible ASCII characters, and no `#`")]
pub struct NotAnEffectName;

/// An effect as the ledger has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    pub tenant: Tenant,
    pub run: RunKey,
    pub name: EffectName,
    pub claimed: Claimed,
    pub outcome: Option<Told>,
    /// How often somebody else was about to make it.
    pub prevented: u32,
}

/// Who claimed it, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claimed {
    pub at: Moment,
    /// The claim of the run whose holder it was.
    pub fence: u32,
    /// Which request it was, so that the same one again is the same claim.
    pub request: Option<RequestMark>,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    pub at: Moment,
    pub fence: u32,
    pub outcome: Json,
}

/// A request's idempotency key, in 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(remote = "Self")]
pub struct RequestMark([u8; 16]);

spelled_for_people!(RequestMark);

/// What the holder of a run asks of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wish {
    /// To be the one who makes it. The same request again is the same claim.
    Claim(Option<RequestMark>),
    /// To say what came of it.
    Tell(Json),
}

/// What it is answered, with the effect as it stands then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is the holder's to make, now.
    First(Effect),
    /// Somebody was about to make it before, and perhaps did.
    Before(Effect),
    Told(Effect),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum EffectRefusal {
    #[error("nobody has claimed this effect: claim it before it is made, and say then what came of it")]
    NotClaimed,
    #[error("something else was said of this effect before")]
    SaidOtherwise,
}

impl Effect {
    /// What the holder of a claim is answered, of what stands there or of nothing yet.
    pub fn answer(there: Option<&Self>, of: EffectOf<'_>, by: Asking, wish: &Wish) -> Result<Answer, EffectRefusal> {
        match (wish, there) {
            (Wish::Claim(request), None) => Ok(Answer::First(Self::new(of, by, *request))),
            (Wish::Claim(request), Some(there)) if there.claimed.is_by(by.fence, *request) => {
                Ok(Answer::First(there.clone()))
            }
            (Wish::Claim(_), Some(there)) => {
                Ok(Answer::Before(Self { prevented: there.prevented.saturating_add(1), ..there.clone() }))
            }
            (Wish::Tell(_), None) => Err(EffectRefusal::NotClaimed),
            (Wish::Tell(outcome), Some(there)) => match &there.outcome {
                None => Ok(Answer::Told(Self { outcome: Some(by.tells(outcome)), ..there.clone() })),
                Some(told) if told.outcome == *outcome => Ok(Answer::Told(there.clone())),
                Some(_) => Err(EffectRefusal::SaidOtherwise),
            },
        }
    }

    fn new(of: EffectOf<'_>, by: Asking, request: Option<RequestMark>) -> Self {
        let EffectOf { tenant, run, name } = of;
        let claimed = Claimed { at: by.at, fence: by.fence, request };
        Self { tenant: tenant.clone(), run, name: name.clone(), claimed, outcome: None, prevented: 0 }
    }
}

impl Answer {
    pub fn effect(&self) -> &Effect {
        match self {
            Self::First(effect) | Self::Before(effect) | Self::Told(effect) => effect,
        }
    }
}

/// Which effect of which run.
#[derive(Clone, Copy, Debug)]
pub struct EffectOf<'a> {
    pub tenant: &'a Tenant,
    pub run: RunKey,
    pub name: &'a EffectName,
}

/// Which claim of the run asks, and when.
#[derive(Clone, Copy, Debug)]
pub struct Asking {
    pub at: Moment,
    pub fence: u32,
}

impl Asking {
    fn tells(self, outcome: &Json) -> Told {
        Told { at: self.at, fence: self.fence, outcome: outcome.clone() }
    }
}

impl Claimed {
    /// A request that has no mark is never the same as another.
    fn is_by(&self, fence: u32, request: Option<RequestMark>) -> bool {
        self.fence == fence && self.request.is_some() && self.request == request
    }
}

impl RequestMark {
    pub fn of(tenant: &Tenant, idempotency_key: &str) -> Self {
        Self(digest_of_key("effect", tenant, idempotency_key))
    }

    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }
}

impl fmt::Display for RequestMark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&base32(&self.0))
    }
}

impl FromStr for RequestMark {
    type Err = NotAnId;

    fn from_str(text: &str) -> Result<Self, NotAnId> {
        sixteen_bytes(text).map(Self)
    }
}

spelled_as_text!(EffectName);

impl EffectName {
    /// Whether a path can name it: gateways hand paths on decoded, so that an escaped `/` is one of the path's own, and what stands behind an escaped `?` is cut off.
    pub fn fits_in_a_path(&self) -> bool {
        !matches!(self.0.as_str(), "." | "..") && !self.0.contains(['/', '\\', '?', '%'])
    }
}

impl FromStr for EffectName {
    type Err = NotAnEffectName;

    fn from_str(text: &str) -> Result<Self, NotAnEffectName> {
        let legal = |byte: u8| byte.is_ascii_graphic() && byte != b'#';
        let is_name = (1..=EFFECT_CHARS).contains(&text.len()) && text.bytes().all(legal);
        if is_name { Ok(Self(text.to_owned())) } else { Err(NotAnEffectName) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::JobId;

    const AT: Moment = Moment::from_secs(1_800_000_000);

    const FIVE: Option<RequestMark> = Some(RequestMark::from_bytes([5; 16]));
    const SIX: Option<RequestMark> = Some(RequestMark::from_bytes([6; 16]));

    fn answer(there: Option<&Effect>, fence: u32, wish: &Wish) -> Result<Answer, EffectRefusal> {
        let (tenant, name) = (Tenant::deployment(), "charge:7".parse().unwrap());
        let run = RunKey::occurrence(JobId::from_bytes([3; 16]), AT);
        Effect::answer(there, EffectOf { tenant: &tenant, run, name: &name }, Asking { at: AT, fence }, wish)
    }

    fn first(request: Option<RequestMark>) -> Effect {
        answer(None, 1, &Wish::Claim(request)).unwrap().effect().clone()
    }

    #[test]
    fn the_first_claim_wins_and_only_the_same_request_is_the_first_again() {
        let cases = [
            (FIVE, 1, FIVE, true),  // its answer was lost
            (FIVE, 1, SIX, false),  // the same worker once more
            (FIVE, 2, FIVE, false), // the next holder, who happens to count alike
            (FIVE, 1, None, false),
            (None, 1, None, false), // two requests without a mark are not one
        ];
        for (before, fence, again, is_first) in cases {
            let there = first(before);
            let before_it = || Answer::Before(Effect { prevented: 1, ..there.clone() });
            let expected = if is_first { Answer::First(there.clone()) } else { before_it() };

            assert_eq!(answer(Some(&there), fence, &Wish::Claim(again)), Ok(expected), "{before:?} {fence} {again:?}");
        }
    }

    #[test]
    fn what_came_of_it_is_said_once() {
        let tell = |outcome: u8| Wish::Tell(Json::of(&serde_json::json!(outcome)));
        let said = answer(Some(&first(None)), 1, &tell(1)).unwrap().effect().clone();

        assert!(said.outcome.as_ref().is_some_and(|told| told.outcome.as_str() == "1" && told.fence == 1));
        assert_eq!(answer(Some(&said), 2, &tell(1)), Ok(Answer::Told(said.clone())), "by the next holder, too");
        assert_eq!(answer(Some(&said), 1, &tell(2)), Err(EffectRefusal::SaidOtherwise));
        assert_eq!(answer(None, 1, &tell(1)), Err(EffectRefusal::NotClaimed));
    }

    #[test]
    fn a_key_of_an_effect_is_one_visible_word() {
        for good in ["charge", "mail/7", "a", "sent:2027-01-15", &"x".repeat(EFFECT_CHARS)] {
            assert!(good.parse::<EffectName>().is_ok(), "{good}");
        }
        for bad in ["", "two words", "ä", "tab\t", "a#b", &"x".repeat(EFFECT_CHARS + 1)] {
            assert_eq!(bad.parse::<EffectName>(), Err(NotAnEffectName), "{bad}");
        }
    }

    #[test]
    fn a_path_names_what_no_gateway_changes() {
        let fits = |name: &str| name.parse::<EffectName>().unwrap().fits_in_a_path();

        for name in ["mail", "charge:7", "a..b", "...", "x=1&y={2}", "a+b"] {
            assert!(fits(name), "{name}");
        }
        for name in ["charge/7", "mail?to=a", "100%", "x%41", "a\\b", ".", ".."] {
            assert!(!fits(name), "{name}");
        }
    }
}
