//! Parameters: what a workflow's run is given. A JSON schema says what they may be; its `default`s stand in for what was left out.

mod counted;
mod defaults;
mod looks;

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};
use thiserror::Error;

use self::counted::{Counted, has_named_parts};
use self::defaults::Defaults;
use super::expression::pattern::places;
use crate::body::Json;
use crate::limits::{PARAMS_LOOKS, PARAMS_SCHEMA_BYTES, PATTERN_BYTES, SCHEMA_DEPTH, SCHEMA_PATTERNS};

/// Problems that one answer names.
const PROBLEMS: usize = 8;
const WHY_CHARS: usize = 200;
/// What all patterns of a schema may have compiled; and each gets its share. With what the crate keeps beside that, no more than 20 MB were seen.
const PATTERNS_BYTES: usize = 2 << 20;
/// The same of what is stored, which may be from when each pattern had ten megabytes, and there was no bound for all.
const STORED_PATTERNS_BYTES: usize = 32 << 20;
const STORED_PATTERN_BYTES: usize = 10 << 20;
/// What a place of a pattern takes compiled, if it is no more than a letter.
const PLACE_BYTES: usize = 72;
/// A match remembers what it has found out in so much; beyond that it finds it out again.
const MATCH_BYTES: usize = 256 * 1024;
/// Bytes of patterns times their `\`: to translate so much takes a fifth of a second.
const TRANSLATED: usize = 1_000_000;

#[derive(Clone)]
pub struct ParamsSchema {
    source: Json,
    schema: Value,
    defaults: Defaults,
    /// Or why it is too large to be: of what is stored only.
    compiled: Result<Arc<Compiled>, NoSchema>,
}

struct Compiled {
    validator: Validator,
    /// How many each of its patterns has.
    places: BTreeMap<String, u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {why}")]
pub struct NoSchema {
    /// Where in the schema.
    pub at: String,
    pub why: String,
}

/// One thing that parameters are not.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{at}: {why}")]
pub struct BadParams {
    /// A JSON pointer into the parameters.
    pub at: String,
    pub why: String,
}

impl ParamsSchema {
    /// A schema may refer to parts of itself and to nothing else; not in a circle, and not so often that looking at parameters would
    /// take long: forty schemas that refer to each other twice are a million millions. Its patterns are matched in linear time.
    pub fn new(source: Json) -> Result<Self, NoSchema> {
        if source.len() > PARAMS_SCHEMA_BYTES {
            return Err(whole(format!("it has {} bytes, and at most {PARAMS_SCHEMA_BYTES}", source.len())));
        }
        let schema = object(&source)?;
        let counted = Counted::of(&schema).map_err(whole)?;
        is_bearable(&counted).map_err(whole)?;
        let compiled = Compiled::new(&schema, &counted, (PATTERN_BYTES, PATTERNS_BYTES))?;
        Ok(Self { defaults: Defaults::of(source.as_str()), compiled: Ok(Arc::new(compiled)), source, schema })
    }

    /// As it was stored, perhaps before there were the bounds of today. It can be read, whatever it is beyond; and where its patterns are
    /// larger than a process can bear, its runs are refused and say so.
    pub fn stored(source: Json) -> Result<Self, NoSchema> {
        let schema = object(&source)?;
        let counted = Counted::of(&schema).map_err(whole)?;
        let compiled = Compiled::new(&schema, &counted, (STORED_PATTERN_BYTES, STORED_PATTERNS_BYTES)).map(Arc::new);
        Ok(Self { defaults: Defaults::of(source.as_str()), source, schema, compiled })
    }

    /// As it was written.
    pub fn source(&self) -> &Json {
        &self.source
    }

    /// The parameters with the schema's defaults, if they are what it asks for. All that was given stays as it was written, digit for digit.
    pub fn admit(&self, given: Option<&Json>) -> Result<Json, Vec<BadParams>> {
        let bad = |why| vec![BadParams { at: String::new(), why }];
        let compiled = self.compiled.as_ref().map_err(|no| bad(format!("the workflow's `params`{no}")))?;
        let given = given.cloned().unwrap_or_else(|| Json::of(&Value::Object(Map::new())));
        let filled = self.defaults.put_into(given.as_str());
        // Compacted, it bears no marks: where a default is put in, no reference has ever been one.
        let written = filled.map_or(given, |filled| Json::compacted(&filled));
        let params: Value = serde_json::from_str(written.as_str()).map_err(|error| bad(error.to_string()))?;
        if !looks::are_few(&self.schema, &params, &compiled.places) {
            return Err(bad(format!(
                "by the workflow's schema they take more than {PARAMS_LOOKS} looks, one for each schema at each value: they need shorter \
                 lists and texts, or the schema fewer alternatives and smaller patterns"
            )));
        }
        let bad: Vec<_> = compiled
            .validator
            .iter_errors(&params)
            .take(PROBLEMS)
            .map(|error| BadParams { at: error.instance_path().to_string(), why: short(&error.to_string()) })
            .collect();
        if bad.is_empty() { Ok(written) } else { Err(bad) }
    }
}

impl Compiled {
    /// `most`: what one pattern may have compiled, and all together.
    fn new(schema: &Value, counted: &Counted<'_>, most: (usize, usize)) -> Result<Self, NoSchema> {
        if counted.translated() > TRANSLATED {
            return Err(whole(
                "its patterns are too long and have too many `\\`: `[0-9]` says what `\\d` says".to_owned(),
            ));
        }
        // The oldest draft says `id`, which elsewhere is anybody's word.
        let is_old = |schema: &Value| schema.to_string().contains("draft-04");
        if has_named_parts(schema, "$id") || has_named_parts(schema, "id") && is_old(schema) {
            return Err(whole(
                "an `$id` stands at its top or nowhere: its parts are referred to as `#/$defs/…`".to_owned(),
            ));
        }
        let share = most.0.min(most.1 / counted.patterns.len().max(1));
        let validator = build(schema, share).map_err(|error| no_schema(&error, share))?;
        // Where only the crate understands it, it is as large as it may be.
        let largest = u64::try_from(share / PLACE_BYTES).unwrap_or(u64::MAX);
        let of = |pattern: &&str| ((*pattern).to_owned(), places(pattern).unwrap_or(largest));
        Ok(Self { validator, places: counted.patterns.iter().map(of).collect() })
    }
}

fn build(schema: &Value, pattern_bytes: usize) -> Result<Validator, ValidationError<'_>> {
    let patterns = PatternOptions::regex().size_limit(pattern_bytes).dfa_size_limit(MATCH_BYTES);
    jsonschema::options().with_pattern_options(patterns).build(schema)
}

fn no_schema(error: &ValidationError<'_>, most: usize) -> NoSchema {
    match error.kind() {
        ValidationErrorKind::Format { format } if format == "regex" => no_pattern(error, most),
        _ => NoSchema { at: error.instance_path().to_string(), why: error.to_string() },
    }
}

/// The crate does not say whether it is none, or one too large.
fn no_pattern(error: &ValidationError<'_>, most: usize) -> NoSchema {
    let pattern = short(&error.instance().to_string());
    let why = format!(
        "{pattern} is no pattern, or compiled it takes more than the {} KiB that it may take here: how long a text may be is better said \
         by `maxLength`, and `[A-Za-z]` is smaller than `\\p{{L}}`",
        most / 1024
    );
    NoSchema { at: error.schema_path().to_string(), why }
}

fn whole(why: String) -> NoSchema {
    NoSchema { at: String::new(), why }
}

fn object(source: &Json) -> Result<Value, NoSchema> {
    let schema: Value = serde_json::from_str(source.as_str()).map_err(|error| whole(error.to_string()))?;
    if schema.is_object() { Ok(schema) } else { Err(whole("a schema is an object".to_owned())) }
}

/// What is compiled is kept for as long as its workflow is used, and takes a place for each schema that is as long as the way to it.
fn is_bearable(counted: &Counted<'_>) -> Result<(), String> {
    let patterns = counted.patterns.len();
    if patterns > SCHEMA_PATTERNS {
        return Err(format!("it has at most {SCHEMA_PATTERNS} patterns, and this one has {patterns}"));
    }
    if counted.deepest > SCHEMA_DEPTH {
        return Err(format!("with what it refers to it is nested more than {SCHEMA_DEPTH} deep"));
    }
    Ok(())
}

/// The crate repeats the value that is not right, of whatever length.
fn short(why: &str) -> String {
    let mut chars = why.chars();
    let short: String = chars.by_ref().take(WHY_CHARS).collect();
    if chars.next().is_some() { short + "…" } else { short }
}

/// Two schemas are the same that were written alike.
impl PartialEq for ParamsSchema {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for ParamsSchema {}

impl fmt::Debug for ParamsSchema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema(value: &Value) -> ParamsSchema {
        ParamsSchema::new(Json::of(value)).unwrap()
    }

    /// A schema of so many properties, each with its pattern.
    fn patterns(number: usize, of: impl Fn(usize) -> String) -> Json {
        let each = |n: usize| (format!("p{n}"), json!({"pattern": of(n)}));
        Json::of(&json!({"properties": (0..number).map(each).collect::<Map<_, _>>()}))
    }

    /// So many schemas, each inside of the one before.
    fn nested(deep: usize) -> Value {
        let innermost = json!({"properties": {"a": {"type": "integer"}}});
        (0..deep).fold(innermost, |inner, _| json!({"anyOf": [inner], "unevaluatedProperties": false}))
    }

    fn given(text: &str) -> Json {
        Json::compact(serde_json::from_str(text).unwrap())
    }

    #[test]
    fn what_was_left_out_has_its_default_and_all_else_stays_as_it_was_written() {
        let schema = schema(&json!({"type": "object", "properties": {
            "n": {"type": "number"},
            "deep": {"type": "object", "default": {}, "properties": {"x": {"default": [1]}}}
        }}));

        let filled = schema.admit(Some(&given(r#"{"n": 1.50}"#))).unwrap();
        let whole = schema.admit(Some(&given(r#"{"n": 1.50, "deep": {"x": null}}"#))).unwrap();
        let none = schema.admit(None).unwrap();

        assert_eq!(filled.as_str(), r#"{"n":1.50,"deep":{"x":[1]}}"#);
        assert_eq!(whole.as_str(), r#"{"n":1.50,"deep":{"x":null}}"#);
        assert_eq!(none, Json::of(&json!({"deep": {"x": [1]}})));
    }

    /// Removed: defaults are put into the text. One that was put in had all else written anew: `12345678901234567890123` became
    /// 1.2345678901234568e+22.
    #[test]
    fn a_default_is_put_in_as_it_is_written_and_changes_nothing_else() {
        let source = r#"{"properties": {"m": {"default": 1.10}, "at": {"default": {}, "properties": {"x": {"default": null}}},
            "gr\u00f6\u00dfe": {"default": "a\/b"}, "deep": {"properties": {"big": {"default": 18446744073709551616}}}}}"#;
        let schema = ParamsSchema::new(given(source)).unwrap();
        let defaults = r#""at":{"x":null},"größe":"a\/b","m":1.10"#;
        for (written, expected) in [
            (
                r#"{"account":12345678901234567890123,"s":"\u00e4"}"#,
                format!(r#"{{"account":12345678901234567890123,"s":"\u00e4",{defaults}}}"#),
            ),
            (
                r#"{"z":1e2,"deep":{"k\u0065y":[1.50]}}"#,
                format!(r#"{{"z":1e2,"deep":{{"k\u0065y":[1.50],"big":18446744073709551616}},{defaults}}}"#),
            ),
            (
                r#"{"m":null,"at":{},"gr\u00f6\u00dfe":-0,"deep":7}"#,
                r#"{"m":null,"at":{"x":null},"gr\u00f6\u00dfe":-0,"deep":7}"#.to_owned(),
            ),
            (r#"{"m":1,"at":{"x":2.0},"größe":0}"#, r#"{"m":1,"at":{"x":2.0},"größe":0}"#.to_owned()),
            ("{}", format!("{{{defaults}}}")),
            ("[1.50]", "[1.50]".to_owned()),
        ] {
            assert_eq!(schema.admit(Some(&given(written))).unwrap().as_str(), expected, "{written}");
        }
    }

    #[test]
    fn what_it_does_not_ask_for_is_named_by_its_place() {
        let schema = schema(&json!({"required": ["day"], "properties": {"n": {"type": "integer", "minimum": 1}}}));

        let bad = schema.admit(Some(&given(r#"{"n": 0}"#))).unwrap_err();

        assert_eq!(bad.iter().map(|bad| bad.at.as_str()).collect::<std::collections::BTreeSet<_>>(), ["", "/n"].into());
        assert!(bad.iter().any(|bad| bad.why.contains("day")), "{bad:?}");
    }

    #[test]
    fn what_is_no_schema_is_refused_and_so_is_one_that_lies_elsewhere() {
        for bad in [
            json!([]),
            json!({"type": "nothing"}),
            json!({"$ref": "https://example.com/schema.json"}),
            json!({"pattern": "("}),
        ] {
            assert!(ParamsSchema::new(Json::of(&bad)).is_err(), "{bad}");
        }
        assert!(ParamsSchema::new(Json::of(&json!({"$defs": {"a": {}}, "$ref": "#/$defs/a"}))).is_ok());
    }

    /// Removed: schemas are not counted through their references. Each level takes twice as long as the one before.
    #[test]
    fn a_schema_that_would_take_for_ever_is_refused() {
        let twice =
            |to: usize| json!({"allOf": [{"$ref": format!("#/$defs/d{to}")}, {"$ref": format!("#/$defs/d{to}")}]});
        let mut definitions: Map<String, Value> = (0..40).map(|n| (format!("d{n}"), twice(n + 1))).collect();
        definitions.insert("d40".to_owned(), json!({}));
        let mut called_default = json!({"properties": {"default": {"$ref": "#/$defs/d0"}}});
        called_default["$defs"] = definitions.clone().into();
        for bad in [
            json!({"$ref": "#/$defs/d0", "$defs": definitions}),
            called_default,
            json!({"properties": {"a": {"$ref": "#"}}}),
            json!({"$ref": "#/$defs/a", "$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}}),
            json!({"items": (0..10_001).map(|_| json!({})).collect::<Vec<_>>()}),
        ] {
            assert!(ParamsSchema::new(Json::of(&bad)).is_err());
        }
        assert!(ParamsSchema::new(Json::of(&json!({"enum": (0..20_000).collect::<Vec<_>>()}))).is_ok());
    }

    #[test]
    fn what_people_ask_of_texts_is_no_large_pattern() {
        let usual = [
            r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,63}$",
            r"^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$",
            r"^\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])T[\d:]{8}(\.\d+)?(Z|[+-]\d{2}:\d{2})$",
            r"^((25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)\.){3}(25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)$",
            r"^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|:((:[0-9a-fA-F]{1,4}){1,7}|:))$",
            r"^\p{L}[\p{L}\p{N} '-]*$",
            r"^.{1,200}$",
            r"^arn:aws:iam::\d{12}:role/[\w+=,.@-]{1,64}$",
            r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$",
            r"^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)*$",
        ];

        assert!(ParamsSchema::new(patterns(usual.len(), |n| usual[n].to_owned())).is_ok(), "all in one");
        for pattern in usual {
            assert!(ParamsSchema::new(patterns(1, |_| pattern.to_owned())).is_ok(), "{pattern}");
        }
    }

    /// Removed: the bounds of patterns. Forty such took 344 MB for each time that the workflow was read; and two thousand `\d` a second.
    #[test]
    fn patterns_that_would_take_the_memory_or_the_time_of_all_are_refused() {
        for (large, why) in [
            (patterns(1, |_| r"\pL{150}0".to_owned()), "more than the 256 KiB"),
            (patterns(40, |n| format!(r"^\pL{{3}}{n}")), "more than the 51 KiB"),
            (patterns(SCHEMA_PATTERNS + 1, |n| format!("^a[{n}]")), "at most 100 patterns"),
            (patterns(1, |_| r"\d".repeat(2_000)), "too long"),
            (Json::of(&json!({"patternProperties": {r"\pL{150}0": {}}})), "more than the 256 KiB"),
        ] {
            let refusal = ParamsSchema::new(large).unwrap_err();
            assert!(refusal.why.contains(why), "{refusal}");
        }
        let at = ParamsSchema::new(patterns(1, |_| r"\pL{150}0".to_owned())).unwrap_err().at;
        assert_eq!(at, "/properties/p0/pattern");
        assert!(ParamsSchema::new(patterns(SCHEMA_PATTERNS, |n| format!("^a[{n}]"))).is_ok());
    }

    /// Removed: the bound of the depth. Nine thousand schemas, each in the one before by way of references, took 195 MB.
    #[test]
    fn a_schema_that_is_long_or_deep_is_refused() {
        let to = |n: usize| (format!("d{n}"), json!({"items": {"$ref": format!("#/$defs/d{}", n + 1)}}));
        let chain = |long: usize| {
            let mut definitions: Map<String, Value> = (0..long).map(to).collect();
            definitions.insert(format!("d{long}"), json!({}));
            Json::of(&json!({"$ref": "#/$defs/d0", "$defs": definitions}))
        };
        let long = Json::of(&json!({"description": "x".repeat(PARAMS_SCHEMA_BYTES)}));

        assert!(ParamsSchema::new(chain(SCHEMA_DEPTH)).unwrap_err().why.contains("deep"));
        assert!(ParamsSchema::new(long).unwrap_err().why.contains("bytes"));
        assert!(ParamsSchema::new(chain(SCHEMA_DEPTH / 3)).is_ok());
    }

    #[test]
    fn what_was_stored_before_the_bounds_is_read_and_refuses_only_what_cannot_be_borne() {
        let text = given(r#"{"p0": "abc"}"#);
        for stored in [
            patterns(1, |_| r"^\pL{1,150}$".to_owned()),
            patterns(150, |n| format!("^a|{n}|[b]")),
            Json::of(&json!({"description": "x".repeat(2 * PARAMS_SCHEMA_BYTES)})),
        ] {
            assert!(ParamsSchema::new(stored.clone()).is_err());
            assert!(ParamsSchema::stored(stored).unwrap().admit(Some(&text)).is_ok());
        }

        let unbearable = ParamsSchema::stored(patterns(40, |n| format!(r"\pL{{150}}{n}"))).unwrap();
        let bad = unbearable.admit(Some(&text)).unwrap_err();
        assert!(bad[0].why.contains("is no pattern, or compiled it takes more"), "{bad:?}");
        assert!(ParamsSchema::stored(Json::of(&json!([]))).is_err());
    }

    /// Removed: the count of looks. The first two took a second and 800 MB each, and would take a minute with ten times as many items; the
    /// third takes twice as long for each level more; what is missing in the fourth took 350 MB; and of the last each took a second.
    #[test]
    fn parameters_that_would_take_for_ever_to_look_at_are_refused() {
        let consts: Vec<_> = (0..2_000).map(|n| json!({"const": n})).collect();
        let names: Vec<_> = (0..2_000).map(|n| n.to_string()).collect();
        let lists: Vec<_> = (0..5_000).map(|n| json!([n])).collect();
        for (asked, params) in [
            (json!({"items": {"anyOf": consts}}), json!(vec![-1; 1_000])),
            (json!({"items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"oneOf": consts}}}), json!(vec![-1; 1_000])),
            (nested(16), json!({"a": 1})),
            (json!({"items": {"required": names}}), json!(vec![json!({}); 500])),
            (json!({"items": {"enum": lists}}), json!(vec![json!([-1]); 20_000])),
            (json!({"additionalProperties": {"pattern": "[ab]*a[ab]{3000}[^a]"}}), json!({"s": "a".repeat(40_000)})),
            (json!({"patternProperties": {"[ab]*a[ab]{3000}[^a]": {}}}), json!({"a".repeat(40_000): 1})),
        ] {
            let bad = schema(&asked).admit(Some(&Json::of(&params))).unwrap_err();
            assert!(bad[0].why.contains("looks"), "{bad:?}");
        }
    }

    #[test]
    fn long_lists_and_texts_are_looked_at() {
        let country: Vec<_> = (0..250).map(|n| format!("c{n}")).collect();
        let person = json!({"type": "object", "required": ["id", "in"], "properties": {
            "id": {"type": "integer", "minimum": 0},
            "in": {"enum": country},
            "to": {"anyOf": [{"type": "null"}, {"pattern": "^[^@ ]+@[^@ ]+$"}]}
        }});
        let people = json!(vec![json!({"id": 12, "in": "c7", "to": "a@example.com"}); 5_000]);
        let uuids = json!(vec!["123e4567-e89b-12d3-a456-426614174000"; 6_000]);
        let uuid = json!({"pattern": "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$"});
        let letter = json!({"properties": {"body": {"pattern": r"^[^\x00]+$"}, "from": {"pattern": "@"}}});

        for (asked, params) in [
            (json!({"items": person}), people),
            (json!({"items": uuid}), uuids),
            (letter, json!({"body": "x".repeat(250_000), "from": "a@b"})),
        ] {
            assert!(schema(&asked).admit(Some(&Json::of(&params))).is_ok(), "{asked}");
        }
    }

    /// Removed: parts may have names. `#/$defs/d0` inside of `e` is its own, while those at the top were counted: each level took twice as long.
    #[test]
    fn what_is_referred_to_cannot_be_hidden_by_a_name() {
        let hidden = |id: &str| {
            let twice = json!({"allOf": [{"$ref": "#/$defs/d1"}, {"$ref": "#/$defs/d1"}]});
            let inner = json!({id: "http://x/e", "$ref": "#/$defs/d0", "$defs": {"d0": twice, "d1": {}}});
            json!({"$ref": "#/$defs/e", "$defs": {"e": inner, "d0": {}, "d1": {}}})
        };
        let mut old = hidden("id");
        old["$schema"] = json!("http://json-schema.org/draft-04/schema#");

        assert!(ParamsSchema::new(Json::of(&hidden("$id"))).unwrap_err().why.contains("$id"));
        assert!(ParamsSchema::new(Json::of(&old)).unwrap_err().why.contains("$id"));
        assert!(ParamsSchema::stored(Json::of(&hidden("$id"))).unwrap().admit(None).is_err());
        let usual =
            json!({"$id": "http://x/y", "properties": {"id": {"type": "string"}, "$id": {"default": {"$id": "a"}}}});
        assert!(ParamsSchema::new(Json::of(&usual)).is_ok());
    }

    #[test]
    fn a_pattern_that_would_go_back_for_ever_does_not() {
        let schema = schema(&json!({"properties": {"s": {"pattern": "^(a+)+$"}}}));

        let bad = schema.admit(Some(&Json::of(&json!({"s": format!("{}!", "a".repeat(50_000))}))));

        assert_eq!(bad.unwrap_err().len(), 1);
    }
}
