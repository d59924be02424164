//! An update: one change of one item that needs no read. Where a put-as-seen would have 64 writers of one item try again and
//! again, each update is made where the item lies: one conditional write on DynamoDB, one step of the embedded writer.
//!
//! It is said twice, as what the item becomes and as what DynamoDB is asked; that both mean the same is what the suite of the
//! stores' agreement shows.

use minutehand_domain::Moment;

use super::item::Item;

pub trait Update: Clone + Send + Sync + 'static {
    type Item: Item;

    /// What it begins from where nothing stands. None: without an item there is nothing to update.
    fn begin(&self) -> Option<Self::Item> {
        None
    }

    /// What the item becomes; none where it does not admit this.
    fn apply(&self, item: &Self::Item) -> Option<Self::Item>;

    /// The same as conditions and actions on the attributes of the item's shape. Every shape that this release reads must
    /// have them where they are named.
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
