//! Conversation a history: what is asked next, made of what was answered so far, to whomever.

use std::time::Duration;

use minutehand_domain::Moment;
use minutehand_domain::run::lease_id::LeaseId;
use serde_json::{Map, Value, json};

use super::script::{Asking, Step, Who};
use crate::graphs::workflow_id;
use crate::random::Random;
use crate::roles::{ROUTES, address};
use crate::world::Answer;

/// Of each kind so many are remembered.
const REMEMBERED: usize = 24;
const WORDS: [&str; 4] = ["a", "ab", "b", "nightly"];

/// Of a run that somebody has.
const EFFECT: &str = "/v1/runs/{run_id}/effects/{effect}";
const EFFECTS: &str = "/v1/runs/{run_id}/effects";

pub(super) struct Conversation {
    random: Random,
    /// How often time has passed, and what each of the two has asked since: both are given the same chance for the same.
    epoch: u64,
    asked: [u64; 2],
    known: [Known; 2],
    /// Of the lease that the path names which is being made.
    token: String,
}

/// What somebody has been told.
#[derive(Default)]
struct Known {
    jobs: Vec<String>,
    workflows: Vec<String>,
    runs: Vec<String>,
    /// Runs that failed.
    letters: Vec<String>,
    workflow_runs: Vec<String>,
    operations: Vec<String>,
    keys: Vec<String>,
    /// Leases, with their tokens.
    leases: Vec<(String, String)>,
    secrets: Vec<String>,
    /// Of the secrets that calls need, which are written under few names.
    names: Vec<String>,
    /// With the address that gave it.
    cursors: Vec<(String, String)>,
}

impl Conversation {
    pub(super) fn new(random: Random) -> Self {
        Self { random, epoch: 0, asked: [0; 2], known: <[Known; 2]>::default(), token: String::new() }
    }

    pub(super) fn next(&mut self, now: Moment) -> Step {
        match self.random.below(10) {
            0 => {
                self.epoch += 1;
                self.asked = [0; 2];
                Step::Pass(*self.random.pick(&[1, 1, 2, 30, 60, 90, 600, 5000]))
            }
            1 => Step::Work,
            _ => Step::Ask(self.asking(now)),
        }
    }

    pub(super) fn note(&mut self, asking: &Asking, answer: &Answer) {
        let Ok(json) = serde_json::from_str::<Value>(&answer.text) else { return };
        let known = &mut self.known[asking.about as usize];
        known.learn(&json);
        if let Some(cursor) = json.get("next_cursor").and_then(Value::as_str) {
            let address = asking.path.split("cursor=").next().unwrap_or_default().trim_end_matches(['&', '?']);
            remember(&mut known.cursors, (address.to_owned(), cursor.to_owned()));
        }
    }

    fn asking(&mut self, now: Moment) -> Asking {
        let about = if self.random.one_in(2) { Who::One } else { Who::Two };
        let (method, route, role) = self.route();
        self.asked[about as usize] += 1;
        // Where jobs are made both are given chance of their own: timers lie together, each under its job's id, which nobody
        // can choose and chance does not give twice. With the same ids this test saw one's timer overwrite the other's.
        let makes_jobs = matches!(
            (method, route),
            ("POST", "/v1/jobs" | "/v1/jobs/batch" | "/v1/workflows" | "/v1/operations" | "/v1/jobs/{job_id}/backfill")
        );
        let own = if makes_jobs { about as u64 + 1 } else { 0 };
        let chance = (own << 32) + self.epoch * 1000 + self.asked[about as usize];
        let by_host = if role == "host" {
            // A repair is of all tenants together, and says so to nobody but the deployment's own key.
            !self.random.one_in(6) && route != "/v1/repair"
        } else {
            (route.starts_with("/v1/keys") || route == "/v1/audit") && self.random.one_in(3)
        };
        let mut asking = Asking {
            about,
            key: self.key(about, by_host),
            method,
            route,
            path: self.path(about, method, route, now),
            headers: Vec::new(),
            body: self.body(about, method, route, now),
            chance,
        };
        match asking.key.as_str() {
            Who::HOST_KEY => speak_of(about, &mut asking),
            // Nobody but the deployment may; who tries is told so, whether that tenant is there or not.
            _ if self.random.one_in(8) => speak_of(about.other(), &mut asking),
            _ => {}
        }
        if method != "GET" && self.random.one_in(6) {
            asking.headers.push(("idempotency-key", self.idempotency_key()));
        }
        if matches!(method, "PATCH" | "DELETE") && self.random.one_in(4) {
            asking.headers.push(("if-match", format!("\"{}\"", self.random.below(4))));
        }
        asking
    }

    /// Most of the time something is made to speak of.
    fn route(&mut self) -> (&'static str, &'static str, &'static str) {
        let wanted = match self.random.below(8) {
            0 if self.random.one_in(2) => {
                let of_letters = ROUTES.iter().filter(|(_, route, _)| route.starts_with("/v1/dead-letters"));
                // Of one, whoever is second is refused.
                let often = |route: &str| if route.contains('{') { 6 } else { 1 };
                let of_letters: Vec<_> = of_letters.flat_map(|of| std::iter::repeat_n(of, often(of.1))).collect();
                return **self.random.pick(&of_letters);
            }
            0 | 1 => ("POST", "/v1/jobs"),
            2 | 3 if self.random.one_in(3) => {
                let acts = ROUTES.iter().filter(|(_, route, _)| route.starts_with("/v1/workflow-runs"));
                // What was not cancelled is not resumed.
                let often = |route: &str| match route.rsplit_once('/') {
                    Some((_, "cancel")) => 12,
                    Some((_, "resume")) => 24,
                    _ => 3,
                };
                let acts: Vec<_> = acts.flat_map(|act| std::iter::repeat_n(act, often(act.1))).collect();
                return **self.random.pick(&acts);
            }
            4 if self.random.one_in(3) => {
                let often = |method: &str| if method == "PUT" { 3 } else { 1 };
                let is_of_one =
                    |route: &str| ["/v1/notifications/", "/v1/calendars/"].iter().any(|of| route.starts_with(of));
                let of_rules = ROUTES.iter().filter(|(_, route, _)| is_of_one(route));
                let of_rules: Vec<_> = of_rules.flat_map(|of| std::iter::repeat_n(of, often(of.0))).collect();
                return **self.random.pick(&of_rules);
            }
            2 => ("POST", "/v1/jobs/{job_id}/run"),
            3 if self.random.one_in(2) => ("POST", "/v1/runs/{run_id}/retry"),
            4 if self.random.one_in(2) => ("POST", "/v1/workflows"),
            5 if self.random.one_in(8) => ("DELETE", "/v1/keys/{key_id}"),
            5 if self.random.one_in(4) => ("POST", "/v1/keys/{key_id}/rotate"),
            7 if self.random.one_in(6) => ("POST", "/v1/keys"),
            7 if self.random.one_in(5) => ("PUT", "/v1/secrets/{secret}"),
            7 if self.random.one_in(4) => ("GET", "/v1/secrets/{secret}"),
            7 if self.random.one_in(2) => {
                let of_operations = ROUTES
                    .iter()
                    .filter(|(_, route, _)| route.starts_with("/v1/operations") || route.ends_with("/backfill"));
                // What small ones are asked for is done at once, and can be neither paused nor cancelled.
                let often = |route: &str| match route.rsplit_once('/') {
                    Some((_, "backfill")) => 12,
                    Some((_, "pause" | "resume" | "cancel")) => 30,
                    _ => 5,
                };
                let of_operations: Vec<_> = of_operations.flat_map(|of| std::iter::repeat_n(of, often(of.1))).collect();
                return **self.random.pick(&of_operations);
            }
            6 if self.random.one_in(2) => ("POST", "/v1/leases"),
            6 if self.random.one_in(2) => {
                let of_leases = ROUTES
                    .iter()
                    .filter(|(_, route, _)| route.starts_with("/v1/leases/") || [EFFECT, EFFECTS].contains(route));
                // An effect is claimed by whoever has the run at that moment alone.
                let often = |route: &str| match route {
                    EFFECT | EFFECTS => 4,
                    route if route.ends_with("/heartbeat") || route.ends_with("/hand-back") => 2,
                    route if route.ends_with("/complete") => 2,
                    _ => 1,
                };
                let of_leases: Vec<_> = of_leases.flat_map(|of| std::iter::repeat_n(of, often(of.1))).collect();
                return **self.random.pick(&of_leases);
            }
            _ => return *self.random.pick(&ROUTES),
        };
        *ROUTES.iter().find(|(method, route, _)| (*method, *route) == wanted).expect("both are there")
    }

    /// Their own admin key, a key they made, the deployment's, or what is none: a secret of the other's under their own name.
    fn key(&mut self, about: Who, by_host: bool) -> String {
        if by_host {
            return Who::HOST_KEY.to_owned();
        }
        let other = about.other();
        let (own, foreign) = (&self.known[about as usize].secrets, &self.known[other as usize].secrets);
        match self.random.below(12) {
            0 | 1 if !own.is_empty() => self.random.pick(own).clone(),
            2 if !foreign.is_empty() => {
                let stolen = self.random.pick(foreign);
                stolen.replacen(&format!("mh_{}_", other.tenant()), &format!("mh_{}_", about.tenant()), 1)
            }
            _ => about.key().to_owned(),
        }
    }

    fn path(&mut self, about: Who, method: &str, route: &'static str, now: Moment) -> String {
        let id = match route {
            "/v1/jobs/{job_id}/run" if self.random.one_in(2) => Some(workflow_id(about.workflow()).job().to_string()),
            route if route.starts_with("/v1/jobs/{") => self.of(about, |known| &known.jobs),
            route if route.starts_with("/v1/operations/{") => self.of(about, |known| &known.operations),
            route if route.starts_with("/v1/workflow-runs/{") => self.of(about, |known| &known.workflow_runs),
            route if route.starts_with("/v1/workflows/{") => self.of(about, |known| &known.workflows),
            EFFECT | EFFECTS if method == "POST" => {
                let (lease, token) = self.lease(about);
                self.token = token;
                lease.parse::<LeaseId>().ok().map(|lease| lease.run.to_string())
            }
            route if route.starts_with("/v1/runs/{") => self.of(about, |known| &known.runs),
            route if route.starts_with("/v1/dead-letters/{") && self.random.one_in(6) => {
                self.of(about, |known| &known.runs)
            }
            route if route.starts_with("/v1/dead-letters/{") => self.of(about, |known| &known.letters),
            route if route.starts_with("/v1/leases/{") => {
                let lease = self.lease(about);
                self.token.clone_from(&lease.1);
                Some(lease.0)
            }
            route if route.starts_with("/v1/keys/{") => self.of(about, |known| &known.keys),
            // Few names, so that both have the same.
            route if route.starts_with("/v1/notifications/{") || route.starts_with("/v1/calendars/{") => {
                Some((*self.random.pick(&WORDS)).to_owned())
            }
            route if route.starts_with("/v1/secrets/{") && method == "PUT" => {
                Some((*self.random.pick(&WORDS)).to_owned())
            }
            route if route.starts_with("/v1/secrets/{") => self.of(about, |known| &known.names),
            _ => Some(about.tenant().to_owned()),
        };
        let id = id.unwrap_or_else(|| "job_00000000000000000000000000".to_owned());
        let route_of_first = route.replace("{version}", "1");
        let path = match route.split_once("{task_key}") {
            Some((before, after)) => {
                let task = match after {
                    "/approve" | "/reject" => "ask",
                    "/branches" | "/branches/held" => "many",
                    _ => *self.random.pick(&["load", "send", "many", "after"]),
                };
                let is_about_one = task == "many" && method == "POST" && after != "/branches/held";
                let branch = if is_about_one { "?branch=1" } else { "" };
                format!("{}{task}{after}{branch}", address(before, &id))
            }
            None => address(&route_of_first, &id),
        };
        let query = if method == "GET" { self.query(about, route, now) } else { String::new() };
        let Some((address, cursor)) = self.cursor(about) else { return path + &query };
        if method != "GET"
            || !matches!(
                route,
                "/v1/jobs"
                    | "/v1/workflows"
                    | "/v1/fires"
                    | "/v1/runs"
                    | "/v1/operations"
                    | "/v1/dead-letters"
                    | "/v1/keys"
                    | "/v1/secrets"
                    | "/v1/notifications"
                    | "/v1/audit"
                    | "/v1/jobs/{job_id}/runs"
                    | "/v1/workflow-runs"
                    | "/v1/workflow-runs/{run_id}/tasks"
                    | "/v1/workflow-runs/{run_id}/events"
                    | "/v1/workflow-runs/{run_id}/tasks/{task_key}/branches"
                    | "/v1/workflows/{workflow_id}/runs"
                    | "/v1/workflows/{workflow_id}/versions"
            )
        {
            return path + &query;
        }
        match self.random.below(4) {
            // On with the list it came from, or with whatever this is.
            0 | 1 if address.starts_with(&path) => with(&address, &format!("cursor={cursor}")),
            2 => with(&(path + &query), &format!("cursor={cursor}")),
            _ => path + &query,
        }
    }

    fn query(&mut self, about: Who, route: &str, now: Moment) -> String {
        let mut said = Vec::new();
        let word = |random: &mut Random| (*random.pick(&WORDS)).to_owned();
        let statuses = ["succeeded", "failed", "timed_out", "cancelled", "queued", "scheduled", "running", "skipped"];
        match route {
            "/v1/jobs" | "/v1/workflows" => {
                for filter in ["tag", "name", "owner"] {
                    if self.random.one_in(6) {
                        said.push(format!("{filter}={}", word(&mut self.random)));
                    }
                }
                if self.random.one_in(6) {
                    said.push(format!("status={}", self.random.pick(&["active", "paused", "completed", "cancelled"])));
                }
                if route == "/v1/jobs" && self.random.one_in(3) {
                    said.push(format!("expand={}", self.random.pick(&["health", "last_run"])));
                }
            }
            "/v1/fires" => {
                if self.random.one_in(3) {
                    said.push(format!("to={}", now + Duration::from_secs(*self.random.pick(&[60, 4000, 500_000]))));
                }
                if self.random.one_in(3) {
                    said.push(format!("per_job={}", 1 + self.random.below(3)));
                }
            }
            "/v1/runs" | "/v1/jobs/{job_id}/runs" | "/v1/workflows/{workflow_id}/runs" => {
                if self.random.one_in(4) {
                    said.push(format!("status={}", self.random.pick(&statuses)));
                }
                if self.random.one_in(4) {
                    let back = Duration::from_secs(*self.random.pick(&[10, 5000, 400_000]));
                    said.push(format!("from={}", now - back));
                }
                if route == "/v1/runs" && self.random.one_in(3) {
                    said.extend(self.of(about, |known| &known.jobs).map(|job| format!("job_id={job}")));
                }
            }
            "/v1/dead-letters" | "/v1/dead-letters/groups" => {
                if self.random.one_in(4) {
                    said.push(format!("tag={}", word(&mut self.random)));
                }
                if self.random.one_in(4) {
                    said.push(format!("error={}", self.random.pick(&["http_5xx", "connect", "dns"])));
                }
                if self.random.one_in(4) {
                    said.extend(self.of(about, |known| &known.jobs).map(|job| format!("job_id={job}")));
                }
            }
            "/v1/jobs/{job_id}/why" => {
                let away = Duration::from_secs(*self.random.pick(&[0, 1, 30, 60, 5000]));
                let at = if self.random.one_in(2) { now - away } else { now + away };
                return format!("?at={at}");
            }
            "/v1/workflow-runs" => {
                if self.random.one_in(4) {
                    said.push(format!("status={}", self.random.pick(&["waiting", "cancelled", "queued"])));
                }
                if self.random.one_in(6) {
                    said.push("version=1".to_owned());
                }
            }
            route if route.ends_with("/tasks") || route.ends_with("/branches") || route.ends_with("/events") => {
                if !route.starts_with("/v1/workflow-runs/") {
                    return String::new();
                }
            }
            "/v1/audit" if self.random.one_in(3) => {
                let back = Duration::from_secs(*self.random.pick(&[10, 5000, 400_000]));
                said.push(format!("from={}", now - back));
            }
            "/v1/operations" => {
                if self.random.one_in(4) {
                    said.push(format!("kind={}", self.random.pick(&["backfill", "pause_jobs", "retry_runs"])));
                }
                if self.random.one_in(4) {
                    said.push(format!("state={}", self.random.pick(&["done", "running", "cancelled"])));
                }
            }
            "/v1/secrets" | "/v1/notifications" | "/v1/audit" => {}
            "/v1/stats" if self.random.one_in(2) => said.push("minutes=1440".to_owned()),
            _ => return String::new(),
        }
        if self.random.one_in(2) && route != "/v1/stats" {
            said.push(format!("limit={}", 1 + self.random.below(3)));
        }
        if said.is_empty() { String::new() } else { format!("?{}", said.join("&")) }
    }

    fn body(&mut self, about: Who, method: &str, route: &str, now: Moment) -> Option<String> {
        let body = match (method, route) {
            ("POST", "/v1/jobs") => self.job(now),
            ("POST", "/v1/jobs/batch") => json!({"jobs": [self.job(now), self.job(now), self.job(now)]}),
            ("POST", "/v1/workflows") | ("PUT", "/v1/workflows/{workflow_id}") => self.workflow(method, about, now),
            ("POST", "/v1/workflows/{workflow_id}/run") => json!({"params": about.tenant()}),
            ("PATCH", _) => self.patch(now),
            ("POST", "/v1/schedules/preview") => json!({"schedule": self.schedule(now), "count": 3}),
            ("POST", route) if route.ends_with("/branches/held") => {
                json!({"verdict": self.random.pick(&["retry", "skip"])})
            }
            ("POST", route) if route.starts_with("/v1/workflow-runs/") => {
                if self.random.one_in(2) {
                    json!({})
                } else {
                    json!({"note": self.random.pick(&WORDS)})
                }
            }
            ("POST", "/v1/dead-letters/redrive" | "/v1/dead-letters/dismiss") => self.many(about),
            ("POST", "/v1/dead-letters/{run_id}/redrive") if self.random.one_in(2) => {
                json!({"patch": [{"op": "add", "path": "", "value": about.tenant()}], "note": self.random.pick(&WORDS)})
            }
            ("POST", route) if route.starts_with("/v1/dead-letters/{") => json!({"note": about.tenant()}),
            ("POST", "/v1/leases") => {
                json!({"pool": "web1", "worker_id": self.random.pick(&WORDS), "wait_seconds": 0, "max": 1 + self.random.below(2)})
            }
            ("POST", EFFECTS) => json!({"key": self.random.pick(&WORDS), "token": self.token}),
            ("POST", EFFECT) if self.random.one_in(2) => json!({"token": self.token}),
            ("POST", EFFECT) => json!({"token": self.token, "outcome": about.tenant()}),
            ("POST", "/v1/leases/complete") => {
                let (lease, token) = self.lease(about);
                json!({"results": [{"lease_id": lease, "token": token, "result": about.tenant()}]})
            }
            ("POST", "/v1/leases/{lease_id}/fail") => {
                json!({"token": self.token, "error": {"code": "x", "message": about.tenant()}})
            }
            ("POST", "/v1/leases/{lease_id}/heartbeat") => {
                let tenant = about.tenant();
                json!({"token": self.token, "stage": tenant, "checkpoint": tenant, "logs": [tenant], "progress": 0.5})
            }
            ("POST", route) if route.starts_with("/v1/leases/{") => json!({"token": self.token}),
            ("POST", "/v1/keys") => self.new_key(),
            ("POST", "/v1/jobs/{job_id}/run" | "/v1/runs/{run_id}/retry") => self.wish(about),
            ("POST", "/v1/keys/{key_id}/rotate" | "/v1/signing-secret/rotate") => {
                json!({"grace_seconds": self.random.pick(&[0, 60, 3600])})
            }
            ("POST", "/v1/operations") => self.operation(),
            ("POST", "/v1/jobs/{job_id}/backfill") => {
                let back = Duration::from_secs(*self.random.pick(&[600, 5000, 500_000, 500_000]));
                let most = *self.random.pick(&[3, 200, 200, 200]);
                json!({"from": now - back, "to": now, "max_runs": most, "dry_run": self.random.one_in(6)})
            }
            ("PUT", "/v1/secrets/{secret}") => json!({"value": format!("of {}", about.tenant())}),
            ("PUT", "/v1/calendars/{calendar}") => {
                json!({"timezone": "UTC", "excluded_dates": [{"date": "2027-01-18", "reason": about.tenant()}]})
            }
            ("POST", "/v1/calendars/{calendar}/import") => {
                let event = "BEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20270704\r\nSUMMARY:".to_owned() + about.tenant();
                json!({"ics": format!("BEGIN:VCALENDAR\r\n{event}\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n")})
            }
            ("PUT", "/v1/notifications/{notification}") => {
                json!({"when": ["failed"], "to": {"webhook": {"url": "https://a.example/", "headers": {"x-a": about.tenant()}}}})
            }
            ("PUT", _) => self.quota(),
            _ => return None,
        };
        Some(body.to_string())
    }

    /// One that was taken, with its token; mostly one of the last.
    fn lease(&mut self, about: Who) -> (String, String) {
        let known = &self.known[about as usize].leases;
        let none = || ("lease_0".to_owned(), "mt_0".to_owned());
        let last = known.last().cloned().unwrap_or_else(none);
        if known.is_empty() || self.random.one_in(2) { last } else { self.random.pick(known).clone() }
    }

    fn job(&mut self, now: Moment) -> Value {
        let mut job = json!({"target": {"noop": {}}, "schedule": self.schedule(now)});
        let fields = job.as_object_mut().unwrap();
        for field in ["name", "owner"] {
            if self.random.one_in(2) {
                fields.insert(field.to_owned(), json!(self.random.pick(&WORDS)));
            }
        }
        if self.random.one_in(2) {
            fields.insert("tags".to_owned(), json!([self.random.pick(&WORDS), self.random.pick(&WORDS)]));
        }
        if self.random.one_in(3) {
            fields.insert("payload".to_owned(), json!("x".repeat(*self.random.pick(&[1, 600]))));
        }
        if self.random.one_in(4) {
            let (name, url) = (self.random.pick(&WORDS), "https://a.example/");
            let headers = json!({"x-token": {"secret": name}, "cookie": "c", "x-a": "a"});
            fields.insert("target".to_owned(), json!({"http": {"url": url, "headers": headers}}));
        }
        if self.random.one_in(4) {
            fields.insert("target".to_owned(), json!({"worker": {"pool": "web1", "handler": "send"}}));
        }
        if self.random.one_in(3) {
            fields.insert("idempotency_key".to_owned(), json!(self.idempotency_key()));
        }
        if self.random.one_in(3) {
            let retries = self.random.below(3);
            fields.insert("retry".to_owned(), json!({"max_retries": retries, "initial_delay_seconds": 1}));
        }
        if self.random.one_in(20) {
            fields.insert("nmae".to_owned(), json!("typo"));
        }
        job
    }

    /// Two tasks, the second of which calls a workflow now and then.
    fn workflow(&mut self, method: &str, about: Who, now: Moment) -> Value {
        let mut tasks = vec![json!({"key": "a", "target": {"noop": {}}, "payload": "{{params}}"})];
        let called = if self.random.one_in(3) { self.of(about, |known| &known.workflows) } else { None };
        let target = called.map_or_else(|| json!({"noop": {}}), |id| json!({"workflow": {"id": id}}));
        tasks.push(json!({"key": self.random.pick(&["b", "c"]), "depends_on": ["a"], "target": target}));
        let mut workflow =
            json!({"name": self.random.pick(&WORDS), "tags": [self.random.pick(&WORDS)], "tasks": tasks});
        if self.random.one_in(4) {
            workflow["schedule"] = self.schedule(now);
        }
        if method == "POST" && self.random.one_in(3) {
            workflow["idempotency_key"] = json!(self.idempotency_key());
        }
        workflow
    }

    fn schedule(&mut self, now: Moment) -> Value {
        match self.random.below(7) {
            0 => json!({}),
            1 => json!({"at": now + Duration::from_secs(30)}),
            2 => json!({"after_seconds": 2}),
            3 => json!({"every_seconds": self.random.pick(&[30, 60, 3600])}),
            4 => json!({"cron": "*/5 * * * *"}),
            5 => json!({"every_seconds": 10, "max_fires": 3}),
            _ => json!({"on_demand": true}),
        }
    }

    fn patch(&mut self, now: Moment) -> Value {
        let mut patch = Map::new();
        if self.random.one_in(2) {
            patch.insert("name".to_owned(), json!(self.random.pick(&WORDS)));
        }
        if self.random.one_in(3) {
            patch.insert("schedule".to_owned(), self.schedule(now));
        }
        if self.random.one_in(3) {
            patch.insert("payload".to_owned(), json!({"a": self.random.below(3)}));
        }
        patch.into()
    }

    fn wish(&mut self, about: Who) -> Value {
        let mut wish = Map::new();
        if self.random.one_in(3) {
            wish.insert("payload".to_owned(), json!(about.tenant()));
        }
        if self.random.one_in(2) {
            wish.insert("idempotency_key".to_owned(), json!(self.idempotency_key()));
        }
        wish.into()
    }

    fn operation(&mut self) -> Value {
        let (act, what) = *self.random.pick(&[
            ("pause", "jobs"),
            ("resume", "jobs"),
            ("cancel", "jobs"),
            ("cancel", "runs"),
            ("retry", "runs"),
        ]);
        let mut filter = Map::new();
        if self.random.one_in(2) {
            filter.insert("tag".to_owned(), json!(self.random.pick(&WORDS)));
        }
        let mut asked = json!({"act": act, "dry_run": self.random.one_in(3)});
        asked[what] = filter.into();
        if self.random.one_in(3) {
            asked["idempotency_key"] = json!(self.idempotency_key());
        }
        asked
    }

    /// Letters by their ids, some of them the other's, or by a filter.
    fn many(&mut self, about: Who) -> Value {
        let note = about.tenant();
        let named: Vec<String> = (0..3).filter_map(|_| self.of(about, |known| &known.letters)).collect();
        if named.is_empty() || self.random.one_in(2) {
            json!({"filter": {}, "note": note})
        } else {
            json!({"run_ids": named, "note": note})
        }
    }

    fn new_key(&mut self) -> Value {
        let mut key =
            json!({"name": self.random.pick(&WORDS), "role": self.random.pick(&["viewer", "operator", "admin"])});
        if self.random.one_in(3) {
            key["idempotency_key"] = json!(self.idempotency_key());
        }
        key
    }

    /// Tight ones seldom: who may do nothing sees nothing.
    fn quota(&mut self) -> Value {
        match self.random.below(4) {
            0 => json!({"max_jobs": 3}),
            1 => json!({"max_fires_per_minute": 20}),
            2 => json!({"max_requests_per_second": 3}),
            _ => json!({}),
        }
    }

    fn idempotency_key(&mut self) -> String {
        format!("k{}", self.random.below(6))
    }

    /// Something of their own, or now and then of the other's.
    fn of(&mut self, about: Who, kind: impl Fn(&Known) -> &Vec<String>) -> Option<String> {
        let whose = if self.random.one_in(4) { 1 - about as usize } else { about as usize };
        let there = kind(&self.known[whose]);
        (!there.is_empty()).then(|| self.random.pick(there).clone())
    }

    fn cursor(&mut self, about: Who) -> Option<(String, String)> {
        let whose = if self.random.one_in(3) { 1 - about as usize } else { about as usize };
        let there = &self.known[whose].cursors;
        (!there.is_empty()).then(|| self.random.pick(there).clone())
    }
}

impl Known {
    fn learn(&mut self, json: &Value) {
        match json {
            Value::Array(items) => items.iter().for_each(|item| self.learn(item)),
            Value::Object(fields) => {
                let job = fields.get("job_id").and_then(Value::as_str);
                let is_workflows = [Who::One, Who::Two].map(|who| workflow_id(who.workflow()).job().to_string());
                if job.is_some_and(|job| is_workflows.iter().any(|of| of == job))
                    && let Some(run) = fields.get("run_id").and_then(Value::as_str)
                {
                    remember(&mut self.workflow_runs, run.to_owned());
                }
                let has_failed = fields.get("status").is_some_and(|status| status == "failed");
                if let Some(run) = fields.get("run_id").and_then(Value::as_str).filter(|_| has_failed) {
                    remember(&mut self.letters, run.to_owned());
                }
                let text = |name| fields.get(name).and_then(Value::as_str).map(ToOwned::to_owned);
                if let Some(lease) = text("lease_id").zip(text("token")) {
                    remember(&mut self.leases, lease);
                }
                for (name, value) in fields {
                    match (name.as_str(), value.as_str()) {
                        ("job_id", Some(id)) => remember(&mut self.jobs, id.to_owned()),
                        ("workflow_id", Some(id)) => remember(&mut self.workflows, id.to_owned()),
                        ("run_id" | "next_run_id", Some(id)) => remember(&mut self.runs, id.to_owned()),
                        ("workflow_run_id", Some(id)) => remember(&mut self.workflow_runs, id.to_owned()),
                        ("operation_id" | "backfill_id", Some(id)) => remember(&mut self.operations, id.to_owned()),
                        ("key_id", Some(id)) => remember(&mut self.keys, id.to_owned()),
                        ("name", Some(name)) if fields.contains_key("rotated_at") => {
                            remember(&mut self.names, name.to_owned());
                        }
                        ("secret", Some(text)) if text.starts_with("mh_") => {
                            remember(&mut self.secrets, text.to_owned());
                        }
                        _ => self.learn(value),
                    }
                }
            }
            _ => {}
        }
    }
}

/// Names the tenant that the request speaks of, where a request can.
fn speak_of(whom: Who, asking: &mut Asking) {
    match asking.route {
        "/v1/keys" if asking.method == "POST" => {
            let body = asking.body.take().and_then(|body| serde_json::from_str::<Value>(&body).ok());
            let mut body = body.unwrap_or_else(|| json!({}));
            body["tenant"] = json!(whom.tenant());
            asking.body = Some(body.to_string());
        }
        route if route.starts_with("/v1/keys") || route == "/v1/audit" => {
            let path = asking.path.split('?').next().unwrap_or_default();
            asking.path = format!("{path}?tenant={}", whom.tenant());
        }
        route if route.starts_with("/v1/quotas/") => asking.path = address(route, whom.tenant()),
        _ => {}
    }
}

fn remember<T: PartialEq>(known: &mut Vec<T>, new: T) {
    if !known.contains(&new) {
        known.push(new);
    }
    if known.len() > REMEMBERED {
        known.remove(0);
    }
}

fn with(path: &str, parameter: &str) -> String {
    format!("{path}{}{parameter}", if path.contains('?') { '&' } else { '?' })
}
