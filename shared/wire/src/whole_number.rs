//! A whole number on the wire, however it is spelled: `5.0` is an integer to JSON Schema, and what some clients write.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// Beyond it not every whole number is one that a double can tell from its neighbours.
const MOST: f64 = 9_007_199_254_740_991.0;

pub fn whole_number<'de, D: Deserializer<'de>, N: TryFrom<u64>>(deserializer: D) -> Result<Option<N>, D::Error> {
    let Some(WholeNumber(number)) = Option::deserialize(deserializer)? else { return Ok(None) };
    N::try_from(number).map(Some).map_err(|_| D::Error::custom(format_args!("{number} is too large")))
}

struct WholeNumber(u64);

impl<'de> Deserialize<'de> for WholeNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u64(Number)
    }
}

struct Number;

impl Visitor<'_> for Number {
    type Value = WholeNumber;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a whole number")
    }

    fn visit_u64<E>(self, number: u64) -> Result<WholeNumber, E> {
        Ok(WholeNumber(number))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<WholeNumber, E> {
        if (0.0..=MOST).contains(&number) && number.fract() == 0.0 {
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is whole and fits")]
            return Ok(WholeNumber(number as u64));
        }
        Err(E::invalid_type(serde::de::Unexpected::Float(number), &self))
    }
}
