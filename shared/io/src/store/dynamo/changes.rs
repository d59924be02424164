//! Changes: an update as DynamoDB is asked for it, a condition and the actions that are made where it holds. Names and values
//! go apart from the expressions, so that none of them can be a word that DynamoDB reserves.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use super::items::{Attributes, EXPIRES_AT, PARTITION, SHAPE, VERSION, WRITE, expiry, number, text};
use crate::store::Version;
use crate::store::update::{Action, Condition, Expression, Value};

pub(super) struct Change {
    pub(super) condition: String,
    pub(super) actions: String,
    pub(super) names: HashMap<String, String>,
    pub(super) values: HashMap<String, AttributeValue>,
}

/// A change in the making.
#[derive(Default)]
struct Asked {
    conditions: Vec<String>,
    sets: Vec<String>,
    inserts: Vec<String>,
    removes: Vec<String>,
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
}

/// The change that an update asks for. What stands there must be in a shape that this release knows; where nothing stands
/// it is made from `begin`, or refused. It is signed with whose writing it is, and with the version of a life that it begins.
pub(super) fn change(
    expression: Expression,
    begin: Option<Attributes>,
    newest: u8,
    (first, write): (Version, AttributeValue),
) -> Change {
    let mut asked = Asked::default();
    match begin {
        Some(attributes) => asked.begin_from(attributes, &expression),
        None => asked.must_stand(),
    }
    asked.must_be_known(newest);
    expression.conditions.into_iter().for_each(|condition| asked.must(condition));
    expression.actions.into_iter().for_each(|action| asked.make(action));
    asked.sign(first, write);
    asked.whole()
}

impl Asked {
    fn must_stand(&mut self) {
        let partition = self.name(&[PARTITION]);
        self.conditions.push(format!("attribute_exists({partition})"));
    }

    fn must_be_known(&mut self, newest: u8) {
        let (shape, newest) = (self.name(&[SHAPE]), self.value(number(newest.into())));
        self.conditions.push(format!("(attribute_not_exists({shape}) OR {shape} <= {newest})"));
    }

    /// Its attributes where there are none. Those that an action makes, and its sets, are made by the actions alone.
    fn begin_from(&mut self, attributes: Attributes, expression: &Expression) {
        for (name, value) in attributes {
            if expression.actions.iter().any(|action| action.touches(&name)) || matches!(value, AttributeValue::Ss(_)) {
                continue;
            }
            let (name, value) = (self.name(&[&name]), self.value(value));
            self.sets.push(format!("{name} = if_not_exists({name}, {value})"));
        }
    }

    fn must(&mut self, condition: Condition) {
        let condition = match condition {
            Condition::Is(path, value) => format!("{} = {}", self.name(path), self.value(plain(value))),
            Condition::IsLess(path, value) => format!("{} < {}", self.name(path), self.value(plain(value))),
            Condition::Holds(path, word) => format!("contains({}, {})", self.name(path), self.value(text(word))),
            Condition::HoldsNot(path, word) => {
                format!("(NOT contains({}, {}))", self.name(path), self.value(text(word)))
            }
            Condition::HoldsFewerThan(path, most) => {
                let none_fit = most == 0;
                let (set, most) = (self.name(path), self.value(number(most)));
                if none_fit {
                    // Nor into a set that is not there: without this the two stores differ (`dynamodb_and_memory_give_the_same_answers`).
                    format!("(attribute_exists({set}) AND size({set}) < {most})")
                } else {
                    format!("(attribute_not_exists({set}) OR size({set}) < {most})")
                }
            }
        };
        self.conditions.push(condition);
    }

    fn make(&mut self, action: Action) {
        match action {
            Action::Set(path, value) => {
                let set = format!("{} = {}", self.name(path), self.value(plain(value)));
                self.sets.push(set);
            }
            Action::ExpireAt(at) => {
                let set = format!("{} = {}", self.name(&[EXPIRES_AT]), self.value(expiry(at)));
                self.sets.push(set);
            }
            Action::Insert(set, word) => {
                let insert = format!("{} {}", self.name(&[set]), self.value(AttributeValue::Ss(vec![word])));
                self.inserts.push(insert);
            }
            Action::Remove(set, word) => {
                let remove = format!("{} {}", self.name(&[set]), self.value(AttributeValue::Ss(vec![word])));
                self.removes.push(remove);
            }
        }
    }

    /// Another writing of the item, and whose.
    fn sign(&mut self, Version(first): Version, write: AttributeValue) {
        let (version, before, one) = (self.name(&[VERSION]), self.value(number(first - 1)), self.value(number(1)));
        self.sets.push(format!("{version} = if_not_exists({version}, {before}) + {one}"));
        let (name, write) = (self.name(&[WRITE]), self.value(write));
        self.sets.push(format!("{name} = {write}"));
    }

    fn whole(self) -> Change {
        let clause = |word: &str, of: &[String]| (!of.is_empty()).then(|| format!("{word} {}", of.join(", ")));
        let clauses = [clause("SET", &self.sets), clause("ADD", &self.inserts), clause("DELETE", &self.removes)];
        let actions = clauses.into_iter().flatten().collect::<Vec<_>>().join(" ");
        Change { condition: self.conditions.join(" AND "), actions, names: self.names, values: self.values }
    }

    /// What stands for a path: `#name.#inside`.
    fn name(&mut self, path: &[&str]) -> String {
        let segments: Vec<_> = path.iter().map(|name| (format!("#{name}"), (*name).to_owned())).collect();
        let path = segments.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>().join(".");
        self.names.extend(segments);
        path
    }

    fn value(&mut self, value: AttributeValue) -> String {
        let name = format!(":v{}", self.values.len());
        self.values.insert(name.clone(), value);
        name
    }
}

fn plain(value: Value) -> AttributeValue {
    match value {
        Value::Text(said) => text(said),
        Value::Number(digits) => number(digits),
        Value::Bool(truth) => AttributeValue::Bool(truth),
    }
}
