//! Shapes: how the types of the domain lie in a store, and in a message. A shape is written down field by field beside what it is a shape of,
//! and never changes: the compiler refuses one that its type has outgrown, and the table of golden shapes one that was edited.
//! What a type has more is another shape, with the next number; what an older one lacks is said where it is read.
//!
//! They are serde's remote definitions: what is written is read off the type itself, so that no shape is built to be written.

pub(crate) mod body;
pub(crate) mod bounds;
pub(crate) mod calendar;
pub(crate) mod callback;
pub(crate) mod cron;
pub(crate) mod definition;
pub(crate) mod follow;
pub(crate) mod priority;
pub(crate) mod retention;
pub(crate) mod run_key;
pub(crate) mod schedule;
pub(crate) mod span;
pub(crate) mod target;
pub(crate) mod terms;
pub(crate) mod timer;
pub(crate) mod trace;

use std::marker::PhantomData;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// How a `T` is stored.
pub(crate) trait Shape<T> {
    fn serialize<S: Serializer>(item: &T, serializer: S) -> Result<S::Ok, S::Error>;
    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<T, D::Error>;
}

/// Says of serde's remote definitions what they are shapes of.
macro_rules! shapes {
    ($($shape:ty => $of:ty),* $(,)?) => {
        $(impl $crate::shapes::Shape<$of> for $shape {
            fn serialize<S: serde::Serializer>(item: &$of, serializer: S) -> Result<S::Ok, S::Error> {
                <$shape>::serialize(item, serializer)
            }

            fn deserialize<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<$of, D::Error> {
                <$shape>::deserialize(deserializer)
            }
        })*
    };
}

pub(crate) use shapes;

/// To be written in this shape.
pub(crate) struct In<'a, V, T>(&'a T, PhantomData<V>);

pub(crate) fn in_shape<V: Shape<T>, T>(item: &T) -> In<'_, V, T> {
    In(item, PhantomData)
}

impl<V: Shape<T>, T> Serialize for In<'_, V, T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        V::serialize(self.0, serializer)
    }
}

/// What was read in this shape.
pub(crate) struct Of<V, T>(pub(crate) T, pub(crate) PhantomData<V>);

impl<'de, V: Shape<T>, T> Deserialize<'de> for Of<V, T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        V::deserialize(deserializer).map(|item| Self(item, PhantomData))
    }
}

/// An option of what has this shape.
pub(crate) struct Maybe<V>(PhantomData<V>);

impl<V> Maybe<V> {
    #[expect(clippy::ref_option, reason = "serde hands the field itself")]
    pub(crate) fn serialize<T, S: Serializer>(item: &Option<T>, serializer: S) -> Result<S::Ok, S::Error>
    where
        V: Shape<T>,
    {
        item.as_ref().map(in_shape::<V, T>).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error>
    where
        V: Shape<T>,
    {
        Ok(Option::<Of<V, T>>::deserialize(deserializer)?.map(|of| of.0))
    }
}

/// A list of what has this shape.
pub(crate) struct Many<V>(PhantomData<V>);

impl<V> Many<V> {
    pub(crate) fn serialize<T, S: Serializer>(items: &[T], serializer: S) -> Result<S::Ok, S::Error>
    where
        V: Shape<T>,
    {
        serializer.collect_seq(items.iter().map(in_shape::<V, T>))
    }

    pub(crate) fn deserialize<'de, T, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        V: Shape<T>,
    {
        Ok(Vec::<Of<V, T>>::deserialize(deserializer)?.into_iter().map(|of| of.0).collect())
    }
}

/// The first of a list, in a shape that has room for one: whatever has more is written in another shape.
pub(crate) struct First<V>(PhantomData<V>);

impl<V> First<V> {
    pub(crate) fn serialize<T, S: Serializer>(items: &[T], serializer: S) -> Result<S::Ok, S::Error>
    where
        V: Shape<T>,
    {
        items.first().map(in_shape::<V, T>).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, T, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<T>, D::Error>
    where
        V: Shape<T>,
    {
        Ok(Option::<Of<V, T>>::deserialize(deserializer)?.into_iter().map(|of| of.0).collect())
    }
}
