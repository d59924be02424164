//! The template as AWS would get it. Emulators drop or accept much that AWS does not: those things are asserted here, and
//! the linter, run on what the SAM transform makes of it, is the gate for the rest.
//!
//! Each fact names what was broken in the template, once, to see it fail.

#[path = "template/alarms.rs"]
mod alarms;
#[path = "template/functions.rs"]
mod functions;
#[path = "template/http.rs"]
mod http;
#[path = "template/names.rs"]
mod names;
#[path = "template/permissions.rs"]
mod permissions;
#[path = "template/queues.rs"]
mod queues;
#[path = "template/rules.rs"]
mod rules;
#[path = "template/settings.rs"]
mod settings;
#[path = "template/sources.rs"]
mod sources;
#[path = "template/switch.rs"]
mod switch;
#[path = "template/tables.rs"]
mod tables;

use std::sync::OnceLock;

use minutehand_aws_tests::python;
use minutehand_aws_tests::template::Template;

/// Transformed once for all facts of a process; `None` where there is no Python.
fn template() -> Option<&'static Template> {
    static TEMPLATE: OnceLock<Option<Template>> = OnceLock::new();
    TEMPLATE.get_or_init(|| python::tools().map(|tools| Template::transformed(&tools))).as_ref()
}

/// Tried: a queue with `VisibilityTimout`, a table key without its definition. (A `BatchSize` of 20 without a window it does not
/// find: that is a fact of its own.)
#[test]
fn the_linter_finds_nothing_in_the_transformed_template() {
    let Some(tools) = python::tools() else { return };

    let findings = Template::transformed(&tools).findings(&tools);

    assert_eq!(findings, "");
}
