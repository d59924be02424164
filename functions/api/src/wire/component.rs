//! A component of the OpenAPI document that is no struct of ours: a marker, what it is called there, and its schema.

/// `component!(Marker = "Name", schema)`.
macro_rules! component {
    ($marker:ident = $name:literal, $schema:expr) => {
        pub(crate) struct $marker;

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
