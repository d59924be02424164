//! A thing, as a kind of item that no store knows of: it has an attribute of each sort, so that any update can be asked of it.

use std::collections::BTreeSet;

use minutehand_domain::Moment;
use minutehand_io::Fault;
use minutehand_io::store::item::{Item, Reader, Stored, Writer, later_shape};
use minutehand_io::store::place::Place;
use minutehand_io::store::update::{Action, Condition, Expression, Path, Update, Value};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use crate::conformance::world::at;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thing {
    pub count: u64,
    pub open: bool,
    pub inside: Inside,
    #[serde(default)]
    pub words: BTreeSet<String>,
    pub note: Option<String>,
    /// Not there in things of a former release.
    #[serde(default)]
    pub tries: u64,
    /// When it expires.
    pub until: Moment,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Inside {
    pub stage: String,
}

impl Item for Thing {
    const KIND: &'static str = "thing";
    const SETS: &'static [&'static str] = &["words"];

    type Key = String;

    fn place(name: &String) -> Place {
        Place::named(name)
    }

    fn expires_at(&self) -> Option<Moment> {
        Some(self.until)
    }
}

impl Stored for Thing {
    fn write<W: Writer>(&self, writer: W) -> Result<W::Written, Fault> {
        writer.shape(1, self)
    }

    fn read<R: Reader>(shape: u8, reader: R) -> Result<Self, Fault> {
        match shape {
            1 => reader.shape(),
            later => Err(later_shape::<Self>(later)),
        }
    }
}

/// Any update: it does to a thing what its expression says.
#[derive(Clone, Debug)]
pub struct Change {
    pub begin: Option<Thing>,
    pub expression: Expression,
}

impl Update for Change {
    type Item = Thing;

    fn begin(&self) -> Option<Thing> {
        self.begin.clone()
    }

    fn apply(&self, thing: &Thing) -> Option<Thing> {
        let mut thing = thing.clone();
        let holds = self.expression.conditions.iter().all(|condition| thing.meets(condition));
        self.expression.actions.iter().for_each(|action| thing.take(action));
        holds.then_some(thing)
    }

    fn expression(&self) -> Expression {
        self.expression.clone()
    }
}

impl Thing {
    fn meets(&self, condition: &Condition) -> bool {
        match condition {
            Condition::Is(path, value) => self.value(path).as_ref() == Some(value),
            Condition::IsLess(path, value) => match (self.value(path), value) {
                (Some(Value::Text(is)), Value::Text(than)) => is < *than,
                (Some(Value::Number(is)), Value::Number(than)) => is < *than,
                _ => false,
            },
            Condition::Holds(_, word) => self.words.contains(word),
            Condition::HoldsNot(_, word) => !self.words.contains(word),
            Condition::HoldsFewerThan(_, most) => (self.words.len() as u64) < *most,
        }
    }

    fn value(&self, path: Path) -> Option<Value> {
        match path {
            COUNT => Some(Value::Number(self.count)),
            OPEN => Some(Value::Bool(self.open)),
            STAGE => Some(Value::Text(self.inside.stage.clone())),
            NOTE => self.note.clone().map(Value::Text),
            other => panic!("a thing has no {other:?}"),
        }
    }

    fn take(&mut self, action: &Action) {
        match action {
            Action::Set(COUNT, Value::Number(count)) => self.count = *count,
            Action::Set(OPEN, Value::Bool(open)) => self.open = *open,
            Action::Set(STAGE, Value::Text(stage)) => self.inside.stage.clone_from(stage),
            Action::Set(NOTE, Value::Text(note)) => self.note = Some(note.clone()),
            Action::Set(UNTIL, Value::Text(until)) => self.until = Moment::parse(until).expect("a moment"),
            Action::Insert(_, word) => drop(self.words.insert(word.clone())),
            Action::Remove(_, word) => drop(self.words.remove(word)),
            Action::ExpireAt(_) => {}
            Action::Set(other, value) => panic!("a thing has no {other:?} that is {value:?}"),
        }
    }
}

const COUNT: Path = &["count"];
const OPEN: Path = &["open"];
const STAGE: Path = &["inside", "stage"];
const NOTE: Path = &["note"];
const UNTIL: Path = &["until"];

/// Of what a store refuses as well.
pub fn any_change() -> impl Strategy<Value = Change> {
    let actions = (prop::collection::vec(any_action(), 0..3), prop::option::of(0..600_u64));
    (prop::option::weighted(0.7, any_thing()), prop::collection::vec(any_condition(), 0..2), actions).prop_map(
        |(begin, conditions, (mut actions, until))| {
            if let Some(until) = until.map(at) {
                actions.extend([Action::Set(UNTIL, Value::Text(until.to_string())), Action::ExpireAt(until)]);
            }
            Change { begin, expression: Expression { conditions, actions } }
        },
    )
}

/// Mostly such as an update may begin with.
fn any_thing() -> impl Strategy<Value = Thing> {
    let words = prop_oneof![8 => Just(BTreeSet::new()), 1 => prop::collection::btree_set(any_word(), 1..3)];
    let note = prop_oneof![8 => Just(None), 1 => any_word().prop_map(Some)];
    let tries = prop_oneof![8 => Just(0), 1 => 1..3_u64];
    (0..3_u64, any::<bool>(), any_word(), words, (note, tries), 0..600_u64).prop_map(
        |(count, open, stage, words, (note, tries), until)| Thing {
            count,
            open,
            inside: Inside { stage },
            words,
            note,
            tries,
            until: at(until),
        },
    )
}

fn any_condition() -> impl Strategy<Value = Condition> {
    let set: Path = &["words"];
    prop_oneof![
        1 => any_value().prop_map(|(path, value)| Condition::Is(path, value)),
        1 => any_value().prop_filter("a truth has no order", |(path, _)| *path != OPEN)
            .prop_map(|(path, value)| Condition::IsLess(path, value)),
        1 => any_word().prop_map(move |word| Condition::Holds(set, word)),
        3 => any_word().prop_map(move |word| Condition::HoldsNot(set, word)),
        3 => (0..4_u64).prop_map(move |most| Condition::HoldsFewerThan(set, most)),
    ]
}

fn any_action() -> impl Strategy<Value = Action> {
    prop_oneof![
        any_value().prop_map(|(path, value)| Action::Set(path, value)),
        any_word().prop_map(|word| Action::Insert("words", word)),
        any_word().prop_map(|word| Action::Remove("words", word)),
    ]
}

fn any_value() -> impl Strategy<Value = (Path, Value)> {
    prop_oneof![
        (0..3_u64).prop_map(|count| (COUNT, Value::Number(count))),
        any::<bool>().prop_map(|open| (OPEN, Value::Bool(open))),
        any_word().prop_map(|stage| (STAGE, Value::Text(stage))),
        any_word().prop_map(|note| (NOTE, Value::Text(note))),
    ]
}

fn any_word() -> impl Strategy<Value = String> {
    prop_oneof![Just("a".to_owned()), Just("b".to_owned()), Just("c".to_owned())]
}
