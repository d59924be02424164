//! Components of the OpenAPI document that are no struct of ours, and what differs between a request and an answer.

use std::borrow::Cow;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};

/// A marker, what it is called in the document, and its schema: `component!(Marker = "Name", schema)`.
macro_rules! component {
    ($marker:ident = $name:literal, $schema:expr) => {
        pub struct $marker;

        impl schemars::JsonSchema for $marker {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                $schema
            }
        }
    };
}

pub(crate) use component;

/// A field that is one thing where it is asked for and another where it is shown: what may be left out of a request stands
/// in every answer.
pub(crate) struct AskedOrShown<A, S>(PhantomData<(A, S)>);

impl<A: JsonSchema, S: JsonSchema> JsonSchema for AskedOrShown<A, S> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", A::schema_name(), S::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        if generator.contract().is_serialize() {
            generator.subschema_for::<S>()
        } else {
            generator.subschema_for::<A>()
        }
    }
}
