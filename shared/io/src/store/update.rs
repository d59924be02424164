//! An update: one change of one item that needs no read. Where a put-as-seen would have 64 writers of one item try again and
//! again, each update is made where the item lies: one conditional write on DynamoDB, one step of the embedded writer.
//!
//! It is said twice, as what the item becomes and as what DynamoDB is asked; that both mean the same is what the suite of the
//! stores' agreement shows. What DynamoDB cannot say as memory can is refused by every store: [`check`] names it.

use minutehand_domain::Moment;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value as Json};

use super::item::{Form, Item, Reader, Writer};
use crate::Fault;

pub trait Update: Clone + Send + Sync + 'static {
    type Item: Item;

    /// What it begins from where nothing stands. None: without an item there is nothing to update.
    ///
    /// DynamoDB asks its conditions of the item that is absent, and gives the item that stands each attribute that it lacks. So
    /// an update that begins something may ask only that a set lacks a word or has room, may set only what is inside of
    /// nothing, and begins with empty sets, in the first shape, and with nothing that an item of the kind may be without
    /// (but for what its absence says too), unless an action makes it. And where it expires, every item of its kind does.
    fn begin(&self) -> Option<Self::Item> {
        None
    }

    /// What the item becomes; none where it does not admit this.
    fn apply(&self, item: &Self::Item) -> Option<Self::Item>;

    /// The same as conditions and actions on the attributes of the item's shape. Every shape that this release reads must
    /// have them where they are named. No two actions change the same attribute.
    fn expression(&self) -> Expression;
}

/// All conditions must hold for any of the actions to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Expression {
    pub conditions: Vec<Condition>,
    pub actions: Vec<Action>,
}

/// Where an attribute is: its name, behind the names of what it is inside of.
pub type Path = &'static [&'static str];

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    Text(String),
    Number(u64),
    Bool(bool),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    Is(Path, Value),
    /// It is there, and sorts before the value.
    IsLess(Path, Value),
    /// The set holds the word.
    Holds(Path, String),
    /// The set does not, or is empty.
    HoldsNot(Path, String),
    /// The set has fewer words than so many.
    HoldsFewerThan(Path, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    Set(Path, Value),
    /// Puts a word into a set. A set is never inside of something.
    Insert(&'static str, String),
    /// Takes a word out of a set.
    Remove(&'static str, String),
    /// Sets when the item expires.
    ExpireAt(Moment),
}

const PORT: &str = "the store";

/// Whether every store can mean the same by an update; a fault that no other try mends where not.
pub(super) fn check<U: Update>(update: &U) -> Result<(), Fault> {
    let expression = update.expression();
    let begun = update.begin().map(|begin| is_no_beginning(&begin, &expression)).transpose()?.flatten();
    let why = expression.actions_meet().or(begun);
    why.map_or(Ok(()), |why| Err(Fault::illegal(PORT, format!("an update of a {} {why}", U::Item::KIND))))
}

/// Why an item cannot be made where nothing stands; none where it can.
fn is_no_beginning<T: Item>(begin: &T, expression: &Expression) -> Result<Option<String>, Fault> {
    if let Some(why) = expression.asks_of_what_is_absent() {
        return Ok(Some(why.to_owned()));
    }
    let begin = begin.write(Named)?;
    if begin.shape != 1 {
        return Ok(Some(format!("begins in shape {}, which what stands may not have", begin.shape)));
    }
    Ok(begin.attributes.keys().find_map(|name| begin.is_refused::<T>(name, expression)))
}

impl Expression {
    fn actions_meet(&self) -> Option<String> {
        let names = self.actions.iter().map(Action::path);
        let mut before: Vec<&[&str]> = Vec::new();
        for path in names {
            if before.iter().any(|other| path.starts_with(other) || other.starts_with(path)) {
                return Some(format!("changes `{}` twice", path.join(".")));
            }
            before.push(path);
        }
        None
    }

    fn asks_of_what_is_absent(&self) -> Option<&'static str> {
        let asks = self.conditions.iter().any(Condition::needs_an_item);
        let reaches = self.actions.iter().any(|action| action.path().len() > 1);
        match (asks, reaches) {
            (true, _) => Some("begins an item of which it asks something first"),
            (false, true) => Some("begins an item and sets what is inside of something"),
            (false, false) => None,
        }
    }
}

impl Condition {
    /// Where nothing stands it does not hold, whatever the update begins from.
    fn needs_an_item(&self) -> bool {
        match self {
            Self::Is(..) | Self::IsLess(..) | Self::Holds(..) => true,
            Self::HoldsNot(..) | Self::HoldsFewerThan(..) => false,
        }
    }
}

impl Action {
    fn path(&self) -> &[&str] {
        match self {
            Self::Set(path, _) => path,
            Self::Insert(set, _) | Self::Remove(set, _) => std::slice::from_ref(set),
            Self::ExpireAt(_) => &["expires_at"],
        }
    }

    /// Whether it changes an attribute, or something inside of it.
    pub(super) fn touches(&self, attribute: &str) -> bool {
        self.path().first() == Some(&attribute)
    }
}

/// An item's attributes by their names, and the number of their shape.
struct Attributes {
    shape: u8,
    attributes: Map<String, Json>,
}

impl Attributes {
    /// Why an update may not begin with this attribute.
    fn is_refused<T: Item>(&self, name: &str, expression: &Expression) -> Option<String> {
        if T::SETS.contains(&name) {
            let has_words = self.attributes[name].as_array().is_some_and(|words| !words.is_empty());
            return has_words.then(|| format!("begins with words in the set `{name}`"));
        }
        let is_made = expression.actions.iter().any(|action| action.touches(name));
        let without = self.attributes.iter().filter(|(other, _)| *other != name);
        let without = Self {
            shape: self.shape,
            attributes: without.map(|(name, value)| (name.clone(), value.clone())).collect(),
        };
        // Where it says what its absence would say, it may be given to what stands too.
        let changes_what_lacks_it =
            |lacking: T| lacking.write(Named).is_ok_and(|read| read.attributes != self.attributes);
        let is_optional = !is_made && T::read(self.shape, without).is_ok_and(changes_what_lacks_it);
        is_optional.then(|| format!("begins with `{name}`, which what stands may be without"))
    }
}

struct Named;

impl Writer for Named {
    type Written = Attributes;

    fn form(&self) -> Form {
        Form::Attributes
    }

    /// Nothing is no attribute.
    fn shape<S: Serialize>(self, number: u8, shape: &S) -> Result<Attributes, Fault> {
        let written = serde_json::to_value(shape).map_err(|error| Fault::unreadable(PORT, error.to_string()))?;
        let Json::Object(mut attributes) = written else {
            return Err(Fault::unreadable(PORT, "an item has no attributes"));
        };
        attributes.retain(|_, value| !value.is_null());
        Ok(Attributes { shape: number, attributes })
    }
}

impl Reader for Attributes {
    fn form(&self) -> Form {
        Form::Attributes
    }

    fn has(&self, attribute: &str) -> bool {
        self.attributes.contains_key(attribute)
    }

    fn shape<S: DeserializeOwned>(self) -> Result<S, Fault> {
        let attributes = Json::Object(self.attributes);
        serde_json::from_value(attributes).map_err(|error| Fault::unreadable(PORT, error.to_string()))
    }
}
