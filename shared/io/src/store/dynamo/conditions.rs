//! Conditions: what must be true where a write is made, for it to be made. One write, one guarantee, one name.

use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_domain::timer::TimerStamp;

use super::items::{Attributes, GENERATION, PARTITION, VERSION, WRITE, WRITTEN, number, text};
use crate::store::{Guard, Version};

/// An expression with the names and values that it speaks of. Names go apart from the expression, so that none of them can
/// be a word that DynamoDB reserves.
pub(super) struct Condition {
    pub(super) expression: &'static str,
    pub(super) names: &'static [(&'static str, &'static str)],
    pub(super) values: Vec<(&'static str, AttributeValue)>,
}

/// Of any number who write, one does: the others find what it wrote.
pub(super) fn nothing_stands_there() -> Condition {
    Condition {
        expression: "attribute_not_exists(#partition)",
        names: &[("#partition", PARTITION)],
        values: Vec::new(),
    }
}

/// Nobody has written since: what is replaced is what was seen.
pub(super) fn it_stands_as_seen(seen: Version) -> Condition {
    Condition {
        expression: "#version = :seen",
        names: &[("#version", VERSION)],
        values: vec![(":seen", number(seen.0))],
    }
}

/// No timer of a later generation stands there: that one is the promise of a change too. Where an answer was lost the SDK puts
/// again what it has put, which is of its own generation.
pub(super) fn no_later_timer_stands_there(generation: u64) -> Condition {
    Condition {
        expression: "attribute_not_exists(#partition) OR #generation <= :generation",
        names: &[("#partition", PARTITION), ("#generation", GENERATION)],
        values: vec![(":generation", number(generation))],
    }
}

/// The timer is the one that was seen: one that was put anew since still means something.
pub(super) fn it_bears_this_stamp(stamp: TimerStamp) -> Condition {
    Condition {
        expression: "#generation = :generation AND #written = :written",
        names: &[("#generation", GENERATION), ("#written", WRITTEN)],
        values: vec![(":generation", number(stamp.generation)), (":written", text(stamp.written.to_string()))],
    }
}

/// By what a timer is told from one that was put anew, and by what an item is.
pub(super) const STAMP: [(&str, &str); 2] = [("#one", GENERATION), ("#other", WRITTEN)];
pub(super) const WRITING: [(&str, &str); 2] = [("#one", VERSION), ("#other", WRITE)];

/// What cannot be read is what was met: a later write has left a mark of its own.
pub(super) fn it_stands_as_read(item: &Attributes, marks: &'static [(&'static str, &'static str); 2]) -> Condition {
    let [one, other] = marks.map(|(_, attribute)| item.get(attribute));
    let expression = match (one, other) {
        (Some(_), Some(_)) => "#one = :one AND #other = :other",
        (Some(_), None) => "#one = :one AND attribute_not_exists(#other)",
        (None, Some(_)) => "attribute_not_exists(#one) AND #other = :other",
        (None, None) => "attribute_not_exists(#one) AND attribute_not_exists(#other)",
    };
    let values = [(":one", one), (":other", other)];
    let values = values.into_iter().filter_map(|(name, value)| Some((name, value?.clone()))).collect();
    Condition { expression, names: marks, values }
}

/// What is written once is there, whatever it is.
pub(super) fn something_stands_there() -> Condition {
    Condition { expression: "attribute_exists(#partition)", names: &[("#partition", PARTITION)], values: Vec::new() }
}

pub(super) fn of(guard: Guard) -> Condition {
    match guard {
        Guard::Absent => nothing_stands_there(),
        Guard::Seen(version) => it_stands_as_seen(version),
    }
}
