//! The fields of a job as flags, and how they are laid over a file's.

use clap::Args;
use minutehand_client::wire::{self, OverlapPolicy, OverlapSpec};
use minutehand_domain::Moment;
use minutehand_domain::target::ServiceKind;
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

use super::super::clock::{CLOCK_FIELDS, ClockFlags};
use super::super::failure::Failure;
use super::super::id;
use super::super::input::{Json, Source};
use super::super::instant::instant;
use super::super::span::Span;

/// A job's body, field by field; what no flag touches stays as it was written.
pub(crate) type Fields = BTreeMap<String, wire::Json>;

/// The ways to say when, of which a schedule has one.
const WHENS: [&str; 6] = ["at", "after_seconds", "every_seconds", "cron", "after", "on_demand"];
const ENDS_OF_BEFORE: [&str; 3] = ["success", "failure", "finished"];
const ENDS: [&str; 5] = ["succeeded", "failed", "timed_out", "cancelled", "skipped"];
const PRIORITIES: [&str; 4] = ["critical", "high", "normal", "low"];
const HEALTH_EXTENTS: [&str; 2] = ["newest", "full"];
const CATCH_UPS: [&str; 3] = ["last", "none", "all"];
const ON_EXCLUDED: [&str; 2] = ["skip", "move"];
const METHODS: [&str; 5] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/// What people write by hand. Everything else a job can have is said in a file.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct JobFlags {
    /// For you to find it again
    #[arg(long)]
    name: Option<String>,
    /// A cron expression: five fields, six with seconds, seven with years; or @daily, @every 90s, rate(5 minutes)
    #[arg(long, value_name = "EXPRESSION", group = "when", help_heading = "When")]
    cron: Option<String>,
    #[command(flatten)]
    clock: ClockFlags,
    /// Again and again after this long, such as 90s, 5m or 1d
    #[arg(long, value_name = "SPAN", group = "when", conflicts_with = "ClockFlags", help_heading = "When")]
    every: Option<Span>,
    /// Once, this long from now; or behind each run of a job which ends so: its id, and for an end other than success `:failure` or
    /// `:finished`
    #[arg(long, value_name = "SPAN|JOB[:END]", value_parser = after, group = "when", conflicts_with = "ClockFlags", help_heading = "When")]
    after: Option<After>,
    /// Once, at this instant, such as 2030-01-01T00:00:00Z
    #[arg(long, value_name = "INSTANT", value_parser = instant, group = "when", conflicts_with = "ClockFlags", help_heading = "When")]
    at: Option<Moment>,
    /// Only when it is asked to, by `jobs run`
    #[arg(long, group = "when", conflicts_with = "ClockFlags", help_heading = "When")]
    on_demand: bool,
    /// At most so much later than it says, the same for each time: spreads many jobs of one instant
    #[arg(long, value_name = "SPAN", conflicts_with = "on_demand", help_heading = "When")]
    jitter: Option<Span>,
    /// Heed this calendar: what it takes does not fire then; can be given again
    #[arg(long, value_name = "NAME", value_parser = id, conflicts_with = "on_demand", help_heading = "When")]
    calendar: Vec<String>,
    /// What becomes of what a calendar takes: it is skipped, or moves to the next instant that all of them allow; `skip` without
    #[arg(long, value_name = "POLICY", value_parser = ON_EXCLUDED, help_heading = "When")]
    on_excluded: Option<String>,
    /// Which of the times that could not be met are made up for; `last` without
    #[arg(long, value_name = "POLICY", value_parser = CATCH_UPS, help_heading = "When")]
    catch_up: Option<String>,
    /// Of those at most so many begin in a minute; with `--catch-up all`
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), help_heading = "When")]
    catch_up_rate: Option<u64>,
    /// Call this address
    #[arg(long, help_heading = "What")]
    url: Option<String>,
    /// How it is called; POST without
    #[arg(long, value_name = "METHOD", ignore_case = true, value_parser = METHODS, conflicts_with = "noop", help_heading = "What")]
    method: Option<String>,
    /// A header of the call; can be given again
    #[arg(long, value_name = "NAME: VALUE", value_parser = header, conflicts_with = "noop", help_heading = "What")]
    header: Vec<(String, String)>,
    /// A header of the call whose value a secret says: its name and the secret's; can be given again
    #[arg(long, value_name = "NAME: SECRET", value_parser = header, conflicts_with = "noop", help_heading = "What")]
    secret_header: Vec<(String, String)>,
    /// The target takes its runs on, and says later how they went: an attempt may then take a week
    #[arg(long = "async", conflicts_with = "noop", help_heading = "What")]
    takes_on: bool,
    /// Call nothing; for trying out schedules
    #[arg(long, conflicts_with = "url", help_heading = "What")]
    noop: bool,
    /// A worker of this pool carries it out
    #[arg(long, value_name = "POOL", conflicts_with_all = ["url", "noop", "method", "header", "secret_header", "takes_on"], requires = "handler", help_heading = "What")]
    pool: Option<String>,
    /// What the worker is to do
    #[arg(long, value_name = "HANDLER", conflicts_with_all = ["url", "noop"], help_heading = "What")]
    handler: Option<String>,
    /// Call what the operator declared under an alias: its kind and the alias, such as sqs:orders
    #[arg(long, value_name = "KIND:ALIAS", value_parser = declared, conflicts_with_all = ["url", "noop", "method", "header", "secret_header", "takes_on", "pool", "handler"], help_heading = "What")]
    to: Option<(String, String)>,
    /// The JSON that the target receives; @FILE takes it from a file, @- from stdin
    #[arg(long, value_name = "JSON", help_heading = "What")]
    payload: Option<Json>,
    /// Who goes first where not all can
    #[arg(long, value_parser = PRIORITIES)]
    priority: Option<String>,
    /// How long one attempt may take, such as 30s
    #[arg(long, value_name = "SPAN")]
    timeout: Option<Span>,
    /// How long after it was due a run is to have ended, such as 10m; one that has not is told of
    #[arg(long, value_name = "SPAN")]
    sla: Option<Span>,
    /// For how many days what is over of it is kept; the tenant's quota bounds that
    #[arg(long, value_name = "DAYS")]
    retention: Option<u64>,
    /// What its health is made of: its newest runs, or also all that ended in the last day
    #[arg(long, value_parser = HEALTH_EXTENTS)]
    health: Option<String>,
    /// How often it is tried again after a failure
    #[arg(long, value_name = "COUNT")]
    retries: Option<u64>,
    /// At most so many runs of this key at once, of this job and of all others that have it
    #[arg(long, value_name = "KEY=LIMIT", value_parser = key_and_number)]
    concurrency: Option<(String, u64)>,
    /// What becomes of a run that comes while another is under way: `skip`, `queue`, `cancel_previous`, or `allow`; with a number for how many
    /// may wait (`queue=3`), or be under way at once (`allow=2`)
    #[arg(long, value_name = "POLICY", value_parser = overlap)]
    overlap: Option<OverlapSpec>,
    /// Who is told of the end of a run: a URL
    #[arg(long, value_name = "URL")]
    callback: Option<String>,
    /// The ends that it is told of, such as `failed,timed_out`; all but `skipped` where nothing is said
    #[arg(long, value_name = "ENDS", value_delimiter = ',', value_parser = ENDS)]
    callback_on: Vec<String>,
    /// Who is asked before the target is called, and may hold it back: a URL
    #[arg(long, value_name = "URL")]
    before_hook: Option<String>,
    /// Who is told of every end of a run: a URL
    #[arg(long, value_name = "URL")]
    after_hook: Option<String>,
    /// At most so many attempts of this key begin in a minute, of this job and of all others that have it
    #[arg(long, value_name = "KEY=PER_MINUTE", value_parser = key_and_number)]
    rate: Option<(String, u64)>,
    /// A word to filter by; can be given again, and then all of them are the job's tags
    #[arg(long)]
    tag: Vec<String>,
    /// Whose it is; lists can be filtered by it
    #[arg(long)]
    owner: Option<String>,
    /// The fields as JSON, from a file or from stdin (-); flags go before what it says
    #[arg(long, short, value_name = "FILE")]
    file: Option<Source>,
}

/// After a while, or behind another job.
#[derive(Clone, Debug, PartialEq, Eq)]
enum After {
    Span(Span),
    Job { job: String, on: Option<String> },
}

impl After {
    fn said(&self) -> (&'static str, Value) {
        match self {
            Self::Span(Span(seconds)) => ("after_seconds", json!(seconds)),
            // Said aloud: a job that is changed would keep the end that it had.
            Self::Job { job, on } => ("after", json!({ "job": job, "on": on.as_deref().unwrap_or("success") })),
        }
    }
}

fn after(text: &str) -> Result<After, String> {
    if !text.starts_with("job_") {
        return text.parse().map(After::Span).map_err(|why| format!("{why}; or give the id of a job"));
    }
    let (job, on) = text.split_once(':').map_or((text, None), |(job, on)| (job, Some(on)));
    if let Some(on) = on.filter(|on| !ENDS_OF_BEFORE.contains(on)) {
        return Err(format!("a job ends in success or failure, or is finished either way: `{on}` is none of them"));
    }
    Ok(After::Job { job: job.to_owned(), on: on.map(ToOwned::to_owned) })
}

impl JobFlags {
    /// What the file says, under what the flags say.
    pub(crate) fn read(&self) -> Result<Fields, Failure> {
        let payload_from_stdin = self.payload.as_ref().is_some_and(Json::is_stdin);
        if self.file == Some(Source::Stdin) && payload_from_stdin {
            return Err(Failure::Usage("stdin cannot be both the file and the payload".to_owned()));
        }
        let fields = self.file.as_ref().map(of_file).transpose()?.unwrap_or_default();
        let payload = self.payload.as_ref().map(Json::read).transpose()?;
        self.over(fields, payload)
    }

    fn over(&self, mut fields: Fields, payload: Option<wire::Json>) -> Result<Fields, Failure> {
        let words =
            [("name", &self.name), ("priority", &self.priority), ("owner", &self.owner), ("health", &self.health)];
        for (name, word) in words {
            set(&mut fields, name, word.as_ref().map(|word| json!(word)));
        }
        set(&mut fields, "timeout_seconds", self.timeout.map(|Span(seconds)| json!(seconds)));
        set(&mut fields, "sla_seconds", self.sla.map(|Span(seconds)| json!(seconds)));
        set(&mut fields, "retention_days", self.retention.map(|days| json!(days)));
        let concurrency = self.concurrency.as_ref().map(|(key, limit)| json!({ "key": key, "limit": limit }));
        set(&mut fields, "concurrency", concurrency);
        set(&mut fields, "overlap", self.overlap.as_ref().map(|overlap| json!(overlap)));
        inside(&mut fields, "callback", self.callback.is_some() || !self.callback_on.is_empty(), |callback| {
            callback.extend(self.callback.as_ref().map(|url| ("url".to_owned(), json!(url))));
            callback.extend((!self.callback_on.is_empty()).then(|| ("on".to_owned(), json!(self.callback_on))));
        })?;
        let hooks = [("before", &self.before_hook), ("after", &self.after_hook)];
        inside(&mut fields, "hooks", hooks.iter().any(|(_, url)| url.is_some()), |named| {
            for (name, url) in hooks.into_iter().filter_map(|(name, url)| Some((name, url.as_ref()?))) {
                object_in(named, name).insert("url".to_owned(), json!(url));
            }
        })?;
        let rate = self.rate.as_ref().map(|(key, per_minute)| json!({ "key": key, "per_minute": per_minute }));
        set(&mut fields, "rate", rate);
        set(&mut fields, "tags", (!self.tag.is_empty()).then(|| json!(self.tag)));
        inside(&mut fields, "retry", self.retries.is_some(), |retry| {
            retry.insert("max_retries".to_owned(), json!(self.retries));
        })?;
        let has_catch_up = self.catch_up.is_some() || self.catch_up_rate.is_some();
        inside(&mut fields, "catch_up", has_catch_up, |catch_up| {
            catch_up.extend(self.catch_up.as_ref().map(|policy| ("policy".to_owned(), json!(policy))));
            catch_up.extend(self.catch_up_rate.map(|rate| ("rate_per_minute".to_owned(), json!(rate))));
        })?;
        inside(&mut fields, "schedule", self.has_schedule(), |schedule| self.schedule(schedule))?;
        inside(&mut fields, "target", self.has_target(), |target| self.target(target))?;
        fields.extend(payload.map(|payload| ("payload".to_owned(), payload)));
        Ok(fields)
    }

    fn when(&self) -> Option<(&'static str, Value)> {
        let at = self.at.map(|at| ("at", json!(at.to_string())));
        at.or(self.after.as_ref().map(After::said))
            .or(self.every.map(|Span(seconds)| ("every_seconds", json!(seconds))))
            .or(self.cron.as_ref().map(|cron| ("cron", json!(cron))))
            .or(self.on_demand.then_some(("on_demand", json!(true))))
    }

    fn has_schedule(&self) -> bool {
        self.when().is_some()
            || self.clock.is_given()
            || self.jitter.is_some()
            || !self.calendar.is_empty()
            || self.on_excluded.is_some()
    }

    /// A clock is a cron expression's and goes with it.
    fn schedule(&self, schedule: &mut Map<String, Value>) {
        if let Some((name, when)) = self.when() {
            for other in WHENS.into_iter().filter(|other| *other != name) {
                schedule.remove(other);
            }
            if name != "cron" {
                schedule.retain(|field, _| !CLOCK_FIELDS.contains(&field.as_str()));
            }
            schedule.insert(name.to_owned(), when);
        }
        self.clock.onto(schedule);
        if let Some(Span(seconds)) = self.jitter {
            schedule.insert("jitter_seconds".to_owned(), json!(seconds));
        }
        if !self.calendar.is_empty() {
            schedule.insert("calendars".to_owned(), json!(self.calendar));
        }
        if let Some(policy) = &self.on_excluded {
            schedule.insert("on_excluded".to_owned(), json!(policy));
        }
    }

    fn has_target(&self) -> bool {
        self.noop
            || self.to.is_some()
            || self.pool.is_some()
            || self.handler.is_some()
            || self.url.is_some()
            || self.method.is_some()
            || self.takes_on
            || self.headers().next().is_some()
    }

    fn target(&self, target: &mut Map<String, Value>) {
        if self.noop {
            target.retain(|other, _| other == "noop");
            target.insert("noop".to_owned(), json!({}));
            return;
        }
        if let Some((kind, alias)) = &self.to {
            target.retain(|other, _| other == kind);
            object_in(target, kind).insert("alias".to_owned(), json!(alias));
            return;
        }
        if self.pool.is_some() || self.handler.is_some() {
            target.retain(|other, _| other == "worker");
            let worker = object_in(target, "worker");
            let words = [("pool", &self.pool), ("handler", &self.handler)];
            let given = words.into_iter().filter_map(|(name, word)| Some((name.to_owned(), json!(word.as_ref()?))));
            worker.extend(given);
            return;
        }
        if self.url.is_some() {
            target.retain(|other, _| other == "http");
        }
        let http = object_in(target, "http");
        if let Some(url) = &self.url {
            http.insert("url".to_owned(), json!(url));
        }
        if let Some(method) = &self.method {
            http.insert("method".to_owned(), json!(method.to_ascii_uppercase()));
        }
        if self.takes_on {
            http.insert("async".to_owned(), json!(true));
        }
        for (name, value) in self.headers() {
            let headers = object_in(http, "headers");
            // A header's name is the same in every spelling.
            headers.retain(|other, _| !other.eq_ignore_ascii_case(name));
            headers.insert(name.clone(), value);
        }
    }

    fn headers(&self) -> impl Iterator<Item = (&String, Value)> {
        let texts = self.header.iter().map(|(name, text)| (name, json!(text)));
        texts.chain(self.secret_header.iter().map(|(name, secret)| (name, json!({ "secret": secret }))))
    }
}

/// `billing=4`. A key may have a `=` in it, a number has none.
fn overlap(text: &str) -> Result<OverlapSpec, String> {
    let (policy, number) = text.split_once('=').map_or((text, None), |(policy, number)| (policy, Some(number)));
    let policy = match policy {
        "allow" => OverlapPolicy::Allow,
        "skip" => OverlapPolicy::Skip,
        "queue" => OverlapPolicy::Queue,
        "cancel_previous" => OverlapPolicy::CancelPrevious,
        other => return Err(format!("`{other}` is none of skip, queue, cancel_previous and allow")),
    };
    let number = number.map(|number| number.parse().map_err(|_| format!("`{number}` is no number: say it as queue=3")));
    let (max, max_waiting) = match (policy, number.transpose()?) {
        (OverlapPolicy::Allow, max) => (max, None),
        (OverlapPolicy::Queue, max_waiting) => (None, max_waiting),
        (OverlapPolicy::Skip | OverlapPolicy::CancelPrevious, None) => (None, None),
        (OverlapPolicy::Skip | OverlapPolicy::CancelPrevious, Some(_)) => {
            return Err("a number goes with queue and allow".to_owned());
        }
    };
    Ok(OverlapSpec { policy: Some(policy.into()), max, max_waiting })
}

fn key_and_number(text: &str) -> Result<(String, u64), String> {
    let (key, number) = text.rsplit_once('=').ok_or("say it as KEY=NUMBER, such as billing=4")?;
    let number =
        number.parse().map_err(|_| format!("`{number}` is no number: say it as KEY=NUMBER, such as billing=4"))?;
    Ok((key.to_owned(), number))
}

fn of_file(source: &Source) -> Result<Fields, Failure> {
    let text = source.read()?;
    serde_json::from_str(&text).map_err(|why| Failure::Usage(format!("{source} is not a job as a JSON object: {why}")))
}

fn set(fields: &mut Fields, name: &str, value: Option<Value>) {
    fields.extend(value.map(|value| (name.to_owned(), wire::Json::of(&value))));
}

/// Changes the object that a field is, if there is anything to change. A field that is no object is the file's mistake,
/// and not ours to mend.
fn inside(
    fields: &mut Fields,
    name: &'static str,
    wanted: bool,
    change: impl FnOnce(&mut Map<String, Value>),
) -> Result<(), Failure> {
    if !wanted {
        return Ok(());
    }
    let given = fields.get(name).filter(|given| given.text() != "null").map(|given| serde_json::from_str(given.text()));
    let wrong = |_| Failure::Usage(format!("the file's `{name}` is no object, so no flag can change it"));
    let mut object: Map<String, Value> = given.transpose().map_err(wrong)?.unwrap_or_default();
    change(&mut object);
    fields.insert(name.to_owned(), wire::Json::of(&object));
    Ok(())
}

fn object_in<'a>(object: &'a mut Map<String, Value>, name: &str) -> &'a mut Map<String, Value> {
    let inner = object.entry(name).or_insert_with(|| json!({}));
    if !inner.is_object() {
        *inner = json!({});
    }
    inner.as_object_mut().expect("it was just made one")
}

/// As curl takes it: `Name: value`.
fn declared(text: &str) -> Result<(String, String), String> {
    let kinds = ServiceKind::ALL.map(ServiceKind::as_str);
    match text.split_once(':') {
        Some((kind, alias)) if kinds.contains(&kind) => Ok((kind.to_owned(), alias.to_owned())),
        _ => Err(format!("write it as KIND:ALIAS, with one of {}", kinds.join(", "))),
    }
}

fn header(text: &str) -> Result<(String, String), String> {
    match text.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write a header as 'Name: value'".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        flags: JobFlags,
    }

    fn flags(words: &[&str]) -> JobFlags {
        Line::try_parse_from([&["jobs"], words].concat()).unwrap_or_else(|why| panic!("{why}")).flags
    }

    fn body(words: &[&str], file: &str) -> Value {
        let flags = flags(words);
        let payload = flags.payload.as_ref().map(|payload| payload.read().unwrap());
        let fields = flags.over(serde_json::from_str(file).unwrap(), payload).unwrap();
        serde_json::to_value(fields).unwrap()
    }

    #[test]
    fn each_flag_is_a_field_of_the_job() {
        let cases = [
            (vec!["--noop"], json!({"target": {"noop": {}}})),
            (vec!["--url=http://x/"], json!({"target": {"http": {"url": "http://x/"}}})),
            (
                vec!["--url=http://x/", "--secret-header", "X-A: stripe"],
                json!({"target": {"http": {"url": "http://x/", "headers": {"X-A": {"secret": "stripe"}}}}}),
            ),
            (
                vec!["--url=http://x/", "--async", "--timeout=2h"],
                json!({"target": {"http": {"url": "http://x/", "async": true}}, "timeout_seconds": 7200}),
            ),
            (
                vec!["--url=http://x/", "--method=put", "--header", "X-A: b: c", "--header", "x-d:e"],
                json!({"target": {"http": {"url": "http://x/", "method": "PUT", "headers": {"X-A": "b: c", "x-d": "e"}}}}),
            ),
            (vec!["--every=90s"], json!({"schedule": {"every_seconds": 90}})),
            (vec!["--after=5m"], json!({"schedule": {"after_seconds": 300}})),
            (vec!["--at=2030-01-01T01:00:00+01:00"], json!({"schedule": {"at": "2030-01-01T00:00:00.000Z"}})),
            (vec!["--on-demand"], json!({"schedule": {"on_demand": true}})),
            (vec!["--after=90s"], json!({"schedule": {"after_seconds": 90}})),
            (vec!["--after=job_06b"], json!({"schedule": {"after": {"job": "job_06b", "on": "success"}}})),
            (vec!["--after=job_06b:failure"], json!({"schedule": {"after": {"job": "job_06b", "on": "failure"}}})),
            (vec!["--cron=0 2 * * *"], json!({"schedule": {"cron": "0 2 * * *"}})),
            (
                vec!["--cron=0 2 * * *", "--tz=Europe/Paris"],
                json!({"schedule": {"cron": "0 2 * * *", "timezone": "Europe/Paris"}}),
            ),
            (
                vec!["--cron=0 2 13 * FRI", "--days=both", "--dst-gap=skip", "--dst-overlap=second", "--jitter=5m"],
                json!({"schedule": {
                    "cron": "0 2 13 * FRI", "days": "both", "dst_gap": "skip", "dst_overlap": "second",
                    "jitter_seconds": 300,
                }}),
            ),
            (
                vec!["--every=1h", "--catch-up=none"],
                json!({"schedule": {"every_seconds": 3600}, "catch_up": {"policy": "none"}}),
            ),
            (
                vec!["--every=1h", "--catch-up=all", "--catch-up-rate=30"],
                json!({"schedule": {"every_seconds": 3600}, "catch_up": {"policy": "all", "rate_per_minute": 30}}),
            ),
            (vec!["--every=1h", "--jitter=30s"], json!({"schedule": {"every_seconds": 3600, "jitter_seconds": 30}})),
            (vec!["--payload={\"a\": [1]}"], json!({"payload": {"a": [1]}})),
            (vec!["--payload=null"], json!({"payload": null})),
            (vec!["--priority=high", "--timeout=2m"], json!({"priority": "high", "timeout_seconds": 120})),
            (vec!["--sla=10m"], json!({"sla_seconds": 600})),
            (vec!["--retention=90"], json!({"retention_days": 90})),
            (vec!["--retries=0"], json!({"retry": {"max_retries": 0}})),
            (vec!["--concurrency=billing=4"], json!({"concurrency": {"key": "billing", "limit": 4}})),
            (vec!["--overlap=skip"], json!({"overlap": {"policy": "skip"}})),
            (vec!["--overlap=queue"], json!({"overlap": {"policy": "queue"}})),
            (vec!["--overlap=queue=3"], json!({"overlap": {"policy": "queue", "max_waiting": 3}})),
            (vec!["--overlap=allow=2"], json!({"overlap": {"policy": "allow", "max": 2}})),
            (vec!["--overlap=cancel_previous"], json!({"overlap": {"policy": "cancel_previous"}})),
            (vec!["--callback=https://a.b"], json!({"callback": {"url": "https://a.b"}})),
            (vec!["--callback-on=failed,timed_out"], json!({"callback": {"on": ["failed", "timed_out"]}})),
            (
                vec!["--before-hook=https://a.b", "--after-hook=https://c.d"],
                json!({"hooks": {"before": {"url": "https://a.b"}, "after": {"url": "https://c.d"}}}),
            ),
            (vec!["--rate=a=b=100"], json!({"rate": {"key": "a=b", "per_minute": 100}})),
            (vec!["--tag=a", "--tag=b"], json!({"tags": ["a", "b"]})),
            (vec!["--name=n", "--owner=o"], json!({"name": "n", "owner": "o"})),
            (vec![], json!({})),
        ];
        for (words, fields) in cases {
            assert_eq!(body(&words, "{}"), fields, "{words:?}");
        }
    }

    #[test]
    fn a_flag_goes_before_what_the_file_says() {
        let file = r#"{"name": "f", "sla_seconds": 9, "retry": {"backoff": "fixed", "max_retries": 9},
            "schedule": {"cron": "0 2 * * *", "timezone": "Asia/Tokyo", "max_fires": 3},
            "target": {"http": {"url": "http://f/", "headers": {"x-a": "f", "x-b": "f"}}}}"#;
        let cases = [
            (vec!["--name=n"], "/name", json!("n")),
            (vec!["--name=n"], "/sla_seconds", json!(9)),
            (vec!["--retries=1"], "/retry", json!({"backoff": "fixed", "max_retries": 1})),
            (vec!["--every=5s"], "/schedule", json!({"every_seconds": 5, "max_fires": 3})),
            (
                vec!["--tz=Europe/Paris"],
                "/schedule",
                json!({"cron": "0 2 * * *", "timezone": "Europe/Paris", "max_fires": 3}),
            ),
            (vec!["--cron=@daily"], "/schedule", json!({"cron": "@daily", "timezone": "Asia/Tokyo", "max_fires": 3})),
            (
                vec!["--header=X-A: n"],
                "/target",
                json!({"http": {"url": "http://f/", "headers": {"X-A": "n", "x-b": "f"}}}),
            ),
            (vec!["--noop"], "/target", json!({"noop": {}})),
        ];
        for (words, pointer, value) in cases {
            assert_eq!(body(&words, file).pointer(pointer), Some(&value), "{words:?}");
        }
    }

    #[test]
    fn no_digit_of_a_files_payload_is_lost() {
        let fields = serde_json::from_str(r#"{"payload": {"n": 1.000000000000000000001}}"#).unwrap();

        let fields = flags(&["--noop"]).over(fields, None).unwrap();

        assert_eq!(fields["payload"].text(), r#"{"n": 1.000000000000000000001}"#);
    }

    #[test]
    fn a_file_whose_field_has_the_wrong_shape_is_not_mended() {
        let fields = serde_json::from_str(r#"{"schedule": "daily"}"#).unwrap();

        let refused = flags(&["--every=5s"]).over(fields, None);

        assert!(matches!(refused, Err(Failure::Usage(why)) if why.contains("`schedule`")));
    }

    #[test]
    fn flags_that_contradict_each_other_are_refused() {
        let cases = [
            vec!["--every=5s", "--after=5s"],
            vec!["--cron=@daily", "--on-demand"],
            vec!["--every=5s", "--tz=UTC"],
            vec!["--after=5s", "--dst-gap=skip"],
            vec!["--cron=@daily", "--dst-gap=jump"],
            vec!["--on-demand", "--jitter=5s"],
            vec!["--noop", "--url=http://x/"],
            vec!["--noop", "--method=GET"],
            vec!["--every=soon"],
            vec!["--at=tomorrow"],
            vec!["--priority=urgent"],
            vec!["--header=nothing"],
            vec!["--payload=hello"],
            vec!["--retries=-1"],
        ];
        for words in cases {
            assert!(Line::try_parse_from([&["jobs"], &words[..]].concat()).is_err(), "{words:?}");
        }
    }

    #[test]
    fn a_limit_without_a_number_is_refused_before_it_is_sent() {
        let overlaps = ["--overlap=none", "--overlap=skip=2", "--overlap=queue=many"];
        let limits = ["--concurrency=billing", "--concurrency=billing=", "--rate=4", "--rate=bank=many"];
        for words in limits.into_iter().chain(overlaps) {
            assert!(Line::try_parse_from(["jobs", words]).is_err(), "{words}");
        }
    }
}
