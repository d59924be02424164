//! Texts of a known form, as the OpenAPI document describes them.

use std::borrow::Cow;

use chrono_tz::{IANA_TZDB_VERSION, TZ_VARIANTS};
use minutehand_domain::limits::{EFFECT_CHARS, EXPRESSION_CHARS, IDEMPOTENCY_KEY_CHARS, URL_CHARS, WORD_CHARS};
use minutehand_domain::schedule::cron::MAX_BYTES;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::component::component;
use crate::lease::{NAME_MOST, NAME_PATTERN, TOKEN_CHARS};

component!(
    JobIdText = "JobId",
    json_schema!({ "type": "string", "pattern": id_pattern("job", &[16]), "description": "Which job." })
);
component!(
    // Without the number that tells apart what was asked for by hand, and with it.
    RunIdText = "RunId",
    json_schema!({ "type": "string", "pattern": id_pattern("run", &[23, 31]), "description": "Which run." })
);
component!(
    WorkflowIdText = "WorkflowId",
    json_schema!({ "type": "string", "pattern": id_pattern("wf", &[16]), "description": "Which workflow." })
);
component!(
    OperationIdText = "OperationId",
    json_schema!({ "type": "string", "pattern": id_pattern("op", &[16]), "description": "Which operation." })
);
component!(TaskKeyText = "TaskKey", key_like("What a task is called in its workflow."));
component!(
    ExpressionText = "Expression",
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": EXPRESSION_CHARS,
        "examples": ["tasks[\"check\"].result.ok", "params.countries"],
        "description": "CEL over `params` and the tasks before: `tasks[\"a\"].status`, `.result`, and of a for_each `.results`.",
    })
);
component!(
    KeyIdText = "KeyId",
    json_schema!({ "type": "string", "pattern": id_pattern("key", &[10]), "description": "Which key. It is no secret." })
);
component!(PoolText = "PoolName", name_like("Which pool of workers."));
component!(AliasText = "Alias", name_like("What the operator of the deployment calls a service that jobs may call."));
component!(GroupText = "MessageGroup", name_like("What messages are in order with."));
component!(HandlerText = "HandlerName", name_like("What a worker does, in a word."));
component!(WorkerText = "WorkerName", name_like("Which worker."));
component!(
    // A run's key, the fence, and what is behind it.
    LeaseIdText = "LeaseId",
    json_schema!({ "type": "string", "pattern": id_pattern("lease", &[60]), "description": "Which lease. It is no secret." })
);
component!(
    TokenText = "LeaseToken",
    json_schema!({ "type": "string", "minLength": 1, "maxLength": TOKEN_CHARS, "description": "What shows whose a lease is: a secret." })
);
component!(
    EffectText = "EffectKey",
    json_schema!({
        "type": "string", "pattern": "^[!-\"$-~]+$", "minLength": 1, "maxLength": EFFECT_CHARS,
        "description": "What a run calls one of its effects: visible ASCII, and no `#`.",
    })
);
// What gateways change in a path is in none.
component!(
    EffectInPathText = "EffectKeyInPath",
    json_schema!({
        "type": "string", "pattern": "^[!\"$&-.0->@-[\\]-~]+$", "minLength": 1, "maxLength": EFFECT_CHARS,
        "description": "What a run calls one of its effects: visible ASCII, and none of `#`, `%`, `/`, `?` and `\\`.",
    })
);
component!(CalendarNameText = "CalendarName", key_like("Which calendar."));
component!(NotificationText = "NotificationName", key_like("Which notification."));
component!(SecretNameText = "SecretName", key_like("Which secret. Its name is no secret."));
component!(
    TenantText = "Tenant",
    json_schema!({
        "type": "string", "pattern": "^[a-z0-9-]+$", "minLength": 1, "maxLength": WORD_CHARS,
        "description": "Whose things these are.",
    })
);
component!(
    CursorText = "Cursor",
    json_schema!({
        "type": "string", "pattern": "^[0-9a-hjkmnp-tv-z]+$",
        "description": "Where a list goes on: opaque, and good only for the query that gave it.",
    })
);
component!(
    EtagText = "ETag",
    json_schema!({
        "type": "string", "pattern": "^\"[^\"]+\"$", "examples": ["\"3\""],
        "description": "Two answers with the same tag show the same. A job's is its generation; any other is opaque.",
    })
);
component!(
    ZoneText = "TimeZone",
    json_schema!({
        "type": "string", "enum": TZ_VARIANTS.map(chrono_tz::Tz::name).to_vec(),
        "description": format!("An IANA time zone, of the edition {IANA_TZDB_VERSION}."),
    })
);
component!(
    CronText = "Cron",
    json_schema!({
        "type": "string", "pattern": cron_pattern(), "maxLength": MAX_BYTES,
        "examples": ["0 2 1 * *", "*/5 9-17 * * MON-FRI", "0 2 LW * *", "H 4 * * *", "@daily", "@every 90s", "rate(5 minutes)"],
        "description": "Five fields: minute, hour, day of the month, month and day of the week; six with seconds before them, \
            seven with years behind. Or a word like `@daily`, a span like `@every 90s`, or what EventBridge understands: \
            `cron(…)`, `rate(…)`, `at(…)`. docs/schedules.md has the whole dialect.",
    })
);
component!(
    UrlText = "TargetUrl",
    json_schema!({
        "type": "string", "pattern": URL, "maxLength": URL_CHARS, "examples": ["https://example.com/hooks/billing"],
        "description": "Where the call goes: no user name and no password. Which addresses may be called is the deployment's \
            to say: `--reach` of `minutehand serve`, or `MINUTEHAND_REACH`, is `public`, `private` or `loopback`.",
    })
);

/// A word that a client chooses, and that stands in addresses.
fn key_like(description: &str) -> Schema {
    json_schema!({
        "type": "string", "pattern": "^[A-Za-z0-9_-]+$", "minLength": 1, "maxLength": WORD_CHARS,
        "description": description,
    })
}

fn name_like(description: &str) -> Schema {
    json_schema!({
        "type": "string", "pattern": NAME_PATTERN, "minLength": 1, "maxLength": NAME_MOST, "description": description,
    })
}

/// From one to so many characters, none of them a control character.
pub struct Line<const MOST: usize>;

impl<const MOST: usize> JsonSchema for Line<MOST> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("LineOf{MOST}").into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "type": "string", "minLength": 1, "maxLength": MOST, "pattern": "^[^\\u0000-\\u001f\\u007f-\\u009f]+$",
        })
    }
}

/// An idempotency key as a header can carry it: the white space at its ends would get lost.
pub fn header_key() -> Schema {
    json_schema!({
        "type": "string", "minLength": 1, "maxLength": IDEMPOTENCY_KEY_CHARS, "pattern": "^[!-~]([ -~]*[!-~])?$",
    })
}

/// The letters of our base 32, and how many of them so many bytes take; the last one carries the bits that are left.
fn id_pattern(prefix: &str, bytes: &[usize]) -> String {
    const LETTERS: &str = "[0-9a-hjkmnp-tv-z]";
    let spelled = |bytes: &usize| {
        let last = match bytes * 8 % 5 {
            0 => LETTERS,
            1 => "[0g]",
            2 => "[08gr]",
            3 => "[048cgmrw]",
            _ => "[02468acegjmprtwy]",
        };
        format!("{LETTERS}{{{}}}{last}", (bytes * 8).div_ceil(5) - 1)
    };
    format!("^{prefix}_({})$", bytes.iter().map(spelled).collect::<Vec<_>>().join("|"))
}

/// A host by name or address, perhaps a port, a path, a query. What a URL parser would mend on the way is not asked for.
const URL: &str = concat!(
    r"^https?://([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?([.][A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*",
    r"|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?([/?#][A-Za-z0-9._~:/?#!$&'()*+,;=%-]*)?$"
);

/// Fields, each a list; or one of the short forms. That a name is one and that a date exists is more than a pattern can say.
fn cron_pattern() -> String {
    let ours = |seconds: &str, years: &str| {
        let [minute, hour, day, month, weekday] = FIELDS.map(|(any, value, more)| list(any, value, more));
        format!("{seconds}{minute}{BLANK}+{hour}{BLANK}+{day}{BLANK}+{month}{BLANK}+{weekday}{years}")
    };
    let seconds = format!("{}{BLANK}+", list("[*]", SIXTY, ""));
    let years = format!("{BLANK}+{}", list("[*]", "(19[789][0-9]|2[01][0-9]{2})", ""));
    let fields = format!("({seconds})?{}|{}", ours("", ""), ours(&seconds, &years));
    // The same alternatives serve EventBridge, whose years stand behind five fields.
    let event_bridge = format!("{CRON}[(]{BLANK}*{}{BLANK}*[)]", ours("", &years));
    let span = format!("@{EVERY}{BLANK}+([0-9]+[dhms])+");
    let rate = format!("{RATE}[(][ ]*[0-9]+[ ]+[A-Za-z]+[ ]*[)]");
    let at = format!("{AT}[(][0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}T[0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}[)]");
    format!("^{BLANK}*({fields}|{event_bridge}|@[A-Za-z_]+|{span}|{rate}|{at}){BLANK}*$")
}

const BLANK: &str = r"[ \t]";
const CRON: &str = "[Cc][Rr][Oo][Nn]";
const EVERY: &str = "[Ee][Vv][Ee][Rr][Yy]";
const RATE: &str = "[Rr][Aa][Tt][Ee]";
const AT: &str = "[Aa][Tt]";
const SIXTY: &str = "[0-5]?[0-9]";

/// What stands for any value, a value, and what else an item may be: `L` and `W` of days, `L` and `#` of weekdays.
const FIELDS: [(&str, &str, &str); 5] = [
    ("[*]", SIXTY, ""),
    ("[*]", "([01]?[0-9]|2[0-3])", ""),
    ("[*?]", "(0?[1-9]|[12][0-9]|3[01])", "|[Ll](-[0-9]{1,2})?[Ww]?|[0-9]{1,2}[Ww]"),
    ("[*]", "(0?[1-9]|1[0-2]|[A-Za-z]{3})", ""),
    ("[*?]", "(0?[0-7]|[A-Za-z]{3})", "|(0?[0-7]|[A-Za-z]{3})?[Ll]|(0?[0-7]|[A-Za-z]{3})#[1-5]"),
];

fn list(any: &str, value: &str, more: &str) -> String {
    let step = "(/[0-9]{1,3})?";
    let item = format!("(({any}|{value}(-{value})?|[Hh]([(]{value}-{value}[)])?){step}{more})");
    format!("{item}(,{item})*")
}
