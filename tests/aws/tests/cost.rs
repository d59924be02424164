//! What a run costs, as the table itself says: units and messages by kind of run and size of payload. The figures stand in
//! docs/costs.md, which this test holds to be true; `MINUTEHAND_UPDATE_DOCS=1` writes them there anew.

#![expect(clippy::print_stdout, reason = "the table is what this is for")]

#[path = "cost/capacity.rs"]
mod capacity;
#[path = "cost/prices.rs"]
mod prices;

use std::fmt::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

use http::StatusCode;
use minutehand_aws_tests::large_stack::with_a_large_stack;
use minutehand_aws_tests::stage::{BEGIN, Bill, Stage};
use minutehand_domain::Moment;
use minutehand_domain::id::JobId;
use minutehand_domain::timer::Obligation;
use minutehand_io::store::dynamo::Listing;
use prices::{EVENT, GB_SECONDS, INVOCATION, READ, SQS, WRITE};
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_secs(60);

/// A batch of ten hints is one invocation of an executor of 256 MB, the template's default, which holds them up to a second
/// until they are due.
const BATCH: f64 = 10.0;
const EXECUTOR_GB: f64 = 0.25;
const HELD_SECONDS: f64 = 1.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    OneTime,
    CronOnTime,
    Every,
    Retried,
    Late,
    Skipped,
}

impl Kind {
    const ALL: [Self; 6] = [Self::OneTime, Self::CronOnTime, Self::Every, Self::Retried, Self::Late, Self::Skipped];

    const fn name(self) -> &'static str {
        match self {
            Self::OneTime => "one-time, whole life",
            Self::CronOnTime => "cron, each minute",
            Self::Every => "every 10 s",
            Self::Retried => "one-time, retried once",
            Self::Late => "one-time, its hint lost",
            Self::Skipped => "skipped: its job paused",
        }
    }
}

/// Of one run.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    writes: f64,
    reads: f64,
    messages: f64,
}

impl Cost {
    fn of(before: &Bill, after: &Bill, runs: u32) -> Self {
        let (table, runs) = (after.table - before.table, f64::from(runs));
        let messages = f64::from(u32::try_from(after.messages - before.messages).unwrap());
        Self { writes: table.write_units / runs, reads: table.read_units / runs, messages: messages / runs }
    }

    /// For a million of them, in dollars, where hints travel by tens. A message sent is also received and deleted, and the
    /// end of a run is told on the bus.
    fn dollars(self) -> f64 {
        let requests = (self.messages + 2.0) / BATCH;
        let executor = (INVOCATION + HELD_SECONDS * EXECUTOR_GB * GB_SECONDS) / BATCH;
        self.writes * WRITE + self.reads * READ + requests * SQS + executor + EVENT
    }
}

fn payload(bytes: usize) -> Value {
    // Two quotes are part of it.
    Value::from("x".repeat(bytes - 2))
}

fn job(schedule: &Value, bytes: usize) -> Value {
    json!({
        "name": "monthly-billing",
        "schedule": schedule,
        "target": {"http": {"url": "https://billing.example.com/hooks/monthly", "method": "POST"}},
        "payload": payload(bytes),
        "retry": {"max_retries": 3, "initial_delay_seconds": 20, "jitter": "none"},
    })
}

fn at(moment: Moment) -> Value {
    json!({"at": moment.to_string()})
}

fn shard_of(job: &str) -> u16 {
    Obligation::Occurrence(job.parse::<JobId>().unwrap()).shard(64)
}

async fn measure(kind: Kind, bytes: usize, listing: Listing) -> Cost {
    let stage = Stage::new(listing).await;
    match kind {
        Kind::OneTime | Kind::Retried => one_time(&stage, kind, bytes).await,
        Kind::CronOnTime => recurring(&stage, &json!({"cron": "* * * * *"}), 1, bytes).await,
        Kind::Every => recurring(&stage, &json!({"every_seconds": 10}), 6, bytes).await,
        Kind::Late => late(&stage, bytes).await,
        Kind::Skipped => skipped(&stage, bytes).await,
    }
}

/// Created, due in ten minutes, carried out; and all that is swept meanwhile.
async fn one_time(stage: &Stage, kind: Kind, bytes: usize) -> Cost {
    let due = BEGIN + 10 * MINUTE;
    let before = stage.bill();
    let job = stage.create(&job(&at(due), bytes)).await;
    let deployed = deploy(stage, &job).await;
    stage.live_until(due - MINUTE, shard_of(&job)).await;
    stage.target_fails(kind == Kind::Retried);
    stage.sweep(shard_of(&job)).await;
    stage.work_until(due).await;
    stage.target_fails(false);
    stage.live_until(due + 3 * MINUTE, shard_of(&job)).await;
    let after = stage.bill();
    assert_eq!(ended(stage, &job).await, [("succeeded".to_owned(), 1 + usize::from(kind == Kind::Retried))]);
    without(Cost::of(&before, &after, 1), deployed)
}

/// Five minutes of a job that goes on.
async fn recurring(stage: &Stage, schedule: &Value, runs_a_minute: u32, bytes: usize) -> Cost {
    let job = stage.create(&job(schedule, bytes)).await;
    let shard = shard_of(&job);
    stage.live_until(BEGIN + 8 * MINUTE, shard).await;
    let before = stage.bill();
    stage.live_until(BEGIN + 13 * MINUTE, shard).await;
    let after = stage.bill();
    let runs = ended(stage, &job).await;
    assert!(runs.len() >= 12 * runs_a_minute as usize, "{}", runs.len());
    Cost::of(&before, &after, 5 * runs_a_minute)
}

async fn late(stage: &Stage, bytes: usize) -> Cost {
    let due = BEGIN + Duration::from_secs(20);
    let before = stage.bill();
    let job = stage.create(&job(&at(due), bytes)).await;
    let deployed = deploy(stage, &job).await;
    stage.purge();
    stage.jump_to(due + Duration::from_secs(40));
    stage.live_until(due + 4 * MINUTE, shard_of(&job)).await;
    let after = stage.bill();
    assert_eq!(ended(stage, &job).await, [("succeeded".to_owned(), 1)]);
    without(Cost::of(&before, &after, 1), deployed)
}

/// One occurrence, promised before the pause, is looked at twice and then recorded.
async fn skipped(stage: &Stage, bytes: usize) -> Cost {
    let due = BEGIN + 10 * MINUTE;
    let job = stage.create(&job(&at(due), bytes)).await;
    let _deployed = deploy(stage, &job).await;
    stage.ask("POST", &format!("/v1/jobs/{job}/pause"), None).await;
    let before = stage.bill();
    stage.live_until(due + 20 * MINUTE, shard_of(&job)).await;
    let after = stage.bill();
    assert_eq!(ended(stage, &job).await, [("skipped".to_owned(), 0)]);
    Cost::of(&before, &after, 1)
}

/// The first sweep of a shard looks back an hour, once and for all runs: what it costs more than one that finds nothing.
async fn deploy(stage: &Stage, job: &str) -> Cost {
    let before = stage.bill();
    stage.sweep(shard_of(job)).await;
    Cost::of(&before, &stage.bill(), 1)
}

fn without(cost: Cost, part: Cost) -> Cost {
    Cost { writes: cost.writes - part.writes, reads: cost.reads - part.reads, messages: cost.messages - part.messages }
}

/// How each run of a job ended, and after how many attempts.
async fn ended(stage: &Stage, job: &str) -> Vec<(String, usize)> {
    let path = format!("/v1/jobs/{job}/runs?limit=1000&from={BEGIN}");
    let (status, runs) = stage.ask("GET", &path, None).await;
    assert_eq!(status, 200, "{runs}");
    let runs = runs["items"].as_array().unwrap().iter();
    let attempts = |run: &Value| run["attempts"].as_array().map_or(0, Vec::len);
    runs.map(|run| (run["status"].as_str().unwrap().to_owned(), attempts(run))).collect()
}

const PAYLOADS: [(usize, &str); 4] = [(200, "0.2 KB"), (1024, "1 KB"), (10 * 1024, "10 KB"), (256 * 1024, "256 KB")];

#[test]
fn what_a_run_costs_is_what_the_documents_say() {
    with_a_large_stack(async || {
        let mut table = String::from(
            "| run | payload | write units | read units | messages | $ per million | with the index: write units | $ per million |\n\
         |---|---|---|---|---|---|---|---|\n",
        );
        for kind in Kind::ALL {
            for (bytes, size) in PAYLOADS {
                // In boxes: each is a whole stage, and two of them took the two megabytes of a test's stack.
                let of = |listing| Box::pin(measure(kind, bytes, listing));
                let (plain, listed) = tokio::join!(of(Listing::Off), of(Listing::ByHour));
                hold_to_the_design(kind, bytes, plain, listed);
                let Cost { writes, reads, messages } = plain;
                writeln!(
                    table,
                    "| {} | {size} | {writes:.1} | {reads:.1} | {messages:.1} | {:.2} | {:.1} | {:.2} |",
                    kind.name(),
                    plain.dollars(),
                    listed.writes,
                    listed.dollars(),
                )
                .unwrap();
            }
        }
        println!("{table}");
        hold_the_document_to("runs", &table);
    });
}

fn hold_to_the_design(kind: Kind, bytes: usize, plain: Cost, listed: Cost) {
    let most = match (kind, bytes) {
        (Kind::CronOnTime, 200) => 4.0,
        (Kind::OneTime, 200) => 5.0,
        _ => return,
    };
    assert!(plain.writes <= most, "{kind:?}: {plain:?}");
    assert!(listed.writes <= most + 1.0, "{kind:?} with the index: {listed:?}");
}

/// A tick that finds nothing: what a deployment costs in which nothing happens.
#[tokio::test]
async fn what_an_idle_deployment_costs_is_what_the_documents_say() {
    let stage = Stage::new(Listing::Off).await;
    stage.live_until(BEGIN + 5 * MINUTE, 0).await;
    let before = stage.idle_bill();
    stage.live_until(BEGIN + 15 * MINUTE, 0).await;

    let tick = Cost::of(&before, &stage.idle_bill(), 10);
    let (writes, reads) = (64.0 * tick.writes, 64.0 * tick.reads);
    let month = 43_200.0 / 1e6 * (writes * WRITE + reads * READ);
    let text = format!(
        "A tick of all 64 shards that finds nothing: {writes:.0} write units, {reads:.0} read units, which is \
         {month:.2} $ a month.\n"
    );

    println!("{text}");
    assert!(month < 10.0, "{month}");
    hold_the_document_to("idle", &text);
}

/// What clients ask of the API, in units of the table; its function's time comes on top.
#[test]
fn what_a_request_costs_is_what_the_documents_say() {
    with_a_large_stack(async || {
        let mut table = String::from("| request | write units | read units | $ per million |\n|---|---|---|---|\n");
        for (name, cost) in [reading().await, running().await, listing().await, limited().await].concat() {
            let Cost { writes, reads, .. } = cost;
            writeln!(table, "| {name} | {writes:.1} | {reads:.1} | {:.2} |", writes * WRITE + reads * READ).unwrap();
        }
        println!("{table}");
        hold_the_document_to("requests", &table);
    });
}

/// One job, by each kind of key.
async fn reading() -> Vec<(&'static str, Cost)> {
    let stage = Stage::new(Listing::ByHour).await;
    let job = format!("/v1/jobs/{}", stage.create(&job(&json!({"cron": "0 0 1 1 *"}), 200)).await);
    let (_, key) = stage.ask("POST", "/v1/keys", Some(&json!({"name": "ci", "role": "viewer"}))).await;
    let key = key["secret"].as_str().expect("it is shown once");

    let by_the_deployments = asked(&stage, stage.ask("GET", &job, None)).await;
    let first_in_an_hour = asked(&stage, stage.ask_by(key, "GET", &job, None)).await;
    let by_a_tenants = asked(&stage, stage.ask_by(key, "GET", &job, None)).await;
    stage.jump_to(stage.now() + Duration::from_secs(6));
    let after_a_while = asked(&stage, stage.ask_by(key, "GET", &job, None)).await;

    vec![
        ("`GET /v1/jobs/{id}` by the deployment's key", by_the_deployments),
        ("the same by a tenant's key, which is looked up each time", by_a_tenants),
        ("the same for the first time in an hour, when the key's use is noted", first_in_an_hour),
        ("the same five seconds after the tenant's last, when its quota is read again", after_a_while),
    ]
}

/// A job that only runs when it is asked to.
async fn running() -> Vec<(&'static str, Cost)> {
    let stage = Stage::new(Listing::ByHour).await;
    let run = format!("/v1/jobs/{}/run", stage.create(&job(&json!({"on_demand": true}), 200)).await);
    let once = json!({"idempotency_key": "once"});

    let plain = asked(&stage, stage.ask("POST", &run, None)).await;
    let first = asked(&stage, stage.ask("POST", &run, Some(&once))).await;
    let again = asked(&stage, stage.ask("POST", &run, Some(&once))).await;

    vec![
        ("`POST /v1/jobs/{id}/run`, with the index", plain),
        ("the same with an idempotency key", first),
        ("the same key again", again),
    ]
}

/// Twenty runs of one job in the last ten minutes, and a day in which there was nothing.
async fn listing() -> Vec<(&'static str, Cost)> {
    let stage = Stage::new(Listing::ByHour).await;
    let job = stage.create(&job(&json!({"every_seconds": 30}), 200)).await;
    stage.live_until(BEGIN + 10 * MINUTE, shard_of(&job)).await;
    let (end, day_later) = (stage.now() + Duration::from_secs(1), BEGIN + 48 * 60 * MINUTE);
    let of_the_hour = format!("/v1/runs?from={BEGIN}&to={end}");
    let of_the_job = format!("/v1/jobs/{job}/runs?from={BEGIN}&to={end}");
    let of_a_day = format!("/v1/runs?from={}&to={day_later}", day_later - 24 * 60 * MINUTE);

    assert_eq!(ended(&stage, &job).await.len(), 20);
    let by_job = asked(&stage, stage.ask("GET", &of_the_job, None)).await;
    let across = asked(&stage, stage.ask("GET", &of_the_hour, None)).await;
    let failed = asked(&stage, stage.ask("GET", &format!("{of_the_hour}&status=failed"), None)).await;
    let letters = asked(&stage, stage.ask("GET", "/v1/dead-letters", None)).await;
    let nothing = asked(&stage, stage.ask("GET", &of_a_day, None)).await;

    vec![
        ("`GET /v1/jobs/{id}/runs`, twenty of them", by_job),
        ("`GET /v1/runs` within one hour, the same twenty", across),
        ("`GET /v1/runs?status=failed` of it, without any", failed),
        ("`GET /v1/dead-letters`, without any", letters),
        ("`GET /v1/runs` of a day without any", nothing),
    ]
}

/// A hundred jobs, and one more.
async fn limited() -> Vec<(&'static str, Cost)> {
    let stage = Stage::new(Listing::ByHour).await;
    // Their ids follow from their keys: how they lie in their partitions is the same each time.
    let one = |number: u32| {
        let mut one = job(&json!({"cron": "0 0 1 1 *"}), 200);
        one["idempotency_key"] = format!("job {number}").into();
        one
    };
    for number in 0..100 {
        stage.create(&one(number)).await;
    }

    let unlimited = asked(&stage, stage.ask("POST", "/v1/jobs", Some(&one(100)))).await;
    let (status, _) = stage.ask("PUT", "/v1/quotas/acme", Some(&json!({"max_jobs": 1000}))).await;
    assert!(status.is_success());
    let counted = asked(&stage, stage.ask("POST", "/v1/jobs", Some(&one(101)))).await;
    let reckoned = asked(&stage, stage.ask("POST", "/v1/jobs", Some(&one(102)))).await;

    vec![
        ("`POST /v1/jobs` with an idempotency key", unlimited),
        ("the same under a quota on jobs, when its hundred are counted: once a minute", counted),
        ("the same until they are counted again", reckoned),
    ]
}

/// What comes on top where runs share a limit, or their ends are counted: each as the difference to runs without.
#[test]
fn what_comes_on_top_of_a_run_costs_what_the_documents_say() {
    with_a_large_stack(async || {
        let mut table =
            String::from("| on top | write units | read units | messages | $ per million |\n|---|---|---|---|---|\n");
        for (name, cost, most) in Box::pin(limits()).await {
            assert!(cost.writes <= most, "{name}: {cost:?}");
            writeln!(table, "{}", on_top(name, cost)).unwrap();
        }
        println!("{table}");
        hold_the_document_to("limits", &table);
    });
}

/// Each with the most write units that it may take: of a place that was waited for two are of updates that the full slot refused.
///
/// Removed: the items of a wide slot are read by their list. The place of a thousand was 86 read units.
async fn limits() -> Vec<(&'static str, Cost, f64)> {
    let counting = json!({"health": "full"});
    let nothing = json!({});
    let [key, wide] = [1, 1000].map(|limit| json!({"concurrency": {"key": "k", "limit": limit}}));
    let [often, seldom] = [60_000, 6].map(|per_minute| json!({"rate": {"key": "k", "per_minute": per_minute}}));
    let (one, of_a_key, in_turn) = tokio::join!(one_asked_for(&nothing), one_asked_for(&key), one_asked_for(&often));
    let counted = without(one_asked_for(&counting).await, one);
    let of_many = without(one_asked_for(&wide).await, one);
    let (two, of_one_key) = tokio::join!(one_behind_another(&nothing), one_behind_another(&key));
    let (apart, in_turns) = tokio::join!(two_at_once(&nothing), two_at_once(&seldom));

    let (place, turn) = (without(of_a_key, one), without(in_turn, one));
    let waited_for = without(without(of_one_key, two), place);
    let later = without(without(in_turns, apart), turn);
    vec![
        ("a place of a key that is free", place, 2.0),
        ("the same of a thousand places", of_many, 2.0),
        ("a place that was waited for", waited_for, 7.0),
        ("a turn that is now", turn, 1.0),
        ("a turn that comes later", later, 4.0),
        ("an end that is counted", counted, 1.0),
    ]
}

fn on_top(name: &str, Cost { writes, reads, messages }: Cost) -> String {
    let dollars = writes * WRITE + reads * READ + messages / BATCH * SQS;
    format!("| {name} | {writes:.1} | {reads:.1} | {messages:.1} | {dollars:.2} |")
}

/// A job that runs when it is asked to, and shares this with others.
fn sharing(limits: &Value) -> Value {
    let mut sharing = job(&json!({"on_demand": true}), 200);
    sharing.as_object_mut().unwrap().extend(limits.as_object().unwrap().clone());
    sharing
}

async fn one_asked_for(limits: &Value) -> Cost {
    let stage = Stage::new(Listing::Off).await;
    let job = stage.create(&sharing(limits)).await;
    let before = stage.bill();
    ask_for(&stage, &job).await;
    stage.work_until(stage.now() + MINUTE).await;
    let after = stage.bill();
    assert_eq!(ended(&stage, &job).await, [("succeeded".to_owned(), 1)]);
    Cost::of(&before, &after, 1)
}

/// The first waits out a backoff when the second is asked for.
async fn one_behind_another(limits: &Value) -> Cost {
    let stage = Stage::new(Listing::Off).await;
    let (first, second) = (stage.create(&sharing(limits)).await, stage.create(&sharing(limits)).await);
    let before = stage.bill();
    stage.target_fails(true);
    ask_for(&stage, &first).await;
    stage.work_until(stage.now() + Duration::from_secs(5)).await;
    stage.target_fails(false);
    ask_for(&stage, &second).await;
    stage.work_until(stage.now() + MINUTE).await;
    let after = stage.bill();
    assert_eq!(ended(&stage, &first).await, [("succeeded".to_owned(), 2)]);
    assert_eq!(ended(&stage, &second).await, [("succeeded".to_owned(), 1)]);
    Cost::of(&before, &after, 1)
}

async fn two_at_once(limits: &Value) -> Cost {
    let stage = Stage::new(Listing::Off).await;
    let job = stage.create(&sharing(limits)).await;
    let before = stage.bill();
    for _ in 0..2 {
        ask_for(&stage, &job).await;
    }
    stage.work_until(stage.now() + MINUTE).await;
    let after = stage.bill();
    assert_eq!(ended(&stage, &job).await, [("succeeded".to_owned(), 1), ("succeeded".to_owned(), 1)]);
    Cost::of(&before, &after, 1)
}

async fn ask_for(stage: &Stage, job: &str) {
    let (status, run) = stage.ask("POST", &format!("/v1/jobs/{job}/run"), None).await;
    assert_eq!(status, StatusCode::ACCEPTED, "{run}");
}

/// What a worker elsewhere costs: its run, from when it was asked for to its end, and what it asks beside that.
#[test]
fn what_a_worker_costs_is_what_the_documents_say() {
    with_a_large_stack(async || {
        let mut table =
            String::from("| worker | write units | read units | messages | $ per million |\n|---|---|---|---|---|\n");
        for (name, cost) in workers().await {
            writeln!(table, "{}", on_top(name, cost)).unwrap();
        }
        println!("{table}");
        hold_the_document_to("workers", &table);
    });
}

async fn workers() -> Vec<(&'static str, Cost)> {
    let stage = Stage::new(Listing::Off).await;
    let mut of_a_pool = job(&json!({"on_demand": true}), 200);
    of_a_pool["target"] = json!({"worker": {"pool": "web1", "handler": "send"}});
    let job = stage.create(&of_a_pool).await;
    let take = json!({"pool": "web1", "worker_id": "web1-a", "max": 1, "wait_seconds": 0});

    let nothing = asked(&stage, stage.ask("POST", "/v1/leases", Some(&take))).await;
    let nothing_again = asked(&stage, stage.ask("POST", "/v1/leases", Some(&take))).await;
    let before = stage.bill();
    ask_for(&stage, &job).await;
    stage.work_until(stage.now() + Duration::from_secs(1)).await;
    let (_, answer) = stage.ask("POST", "/v1/leases", Some(&take)).await;
    let lease = &answer["leases"][0];
    let (path, token) =
        (format!("/v1/leases/{}", lease["lease_id"].as_str().expect("it was offered")), &lease["token"]);
    let asked_for_and_taken = Cost::of(&before, &stage.bill(), 1);

    stage.jump_to(stage.now() + Duration::from_secs(20));
    let beat = json!({"token": token});
    let heartbeat = asked(&stage, stage.ask("POST", &format!("{path}/heartbeat"), Some(&beat))).await;
    stage.jump_to(stage.now() + Duration::from_secs(20));
    let telling =
        json!({"token": token, "progress": 0.5, "stage": "sending", "checkpoint": {"sent": 1}, "logs": ["one of two"]});
    let told = asked(&stage, stage.ask("POST", &format!("{path}/heartbeat"), Some(&telling))).await;
    let before = stage.bill();
    let (status, done) = stage.ask("POST", &format!("{path}/complete"), Some(&json!({"token": token}))).await;
    assert!(status.is_success(), "{done}");
    let completed = Cost::of(&before, &stage.bill(), 1);

    let run = Cost {
        writes: asked_for_and_taken.writes + completed.writes,
        reads: asked_for_and_taken.reads + completed.reads,
        messages: asked_for_and_taken.messages + completed.messages,
    };
    assert_eq!(ended(&stage, &job).await, [("succeeded".to_owned(), 1)]);
    vec![
        ("a run that was asked for, offered, taken and completed", run),
        ("a heartbeat", heartbeat),
        ("a heartbeat with progress, a stage, a checkpoint and a log line", told),
        ("`POST /v1/leases` that finds nothing, for the first time", nothing),
        ("the same again", nothing_again),
    ]
}

/// What the tasks of a workflow cost, each as the difference that so many more of them make.
#[test]
fn what_a_task_costs_is_what_the_documents_say() {
    with_a_large_stack(async || {
        let mut table =
            String::from("| in a workflow | write units | read units | $ per million |\n|---|---|---|---|\n");
        for (name, cost, most) in graphs().await {
            assert!(cost.writes <= most, "{name}: {cost:?}");
            let dollars = cost.writes * WRITE + cost.reads * READ;
            writeln!(table, "| {name} | {:.2} | {:.2} | {dollars:.2} |", cost.writes, cost.reads).unwrap();
        }
        println!("{table}");
        hold_the_document_to("tasks", &table);
    });
}

/// Each with the write units that the design allows it.
async fn graphs() -> Vec<(&'static str, Cost, f64)> {
    let (chains, joins) = tokio::join!(more_of(chain, [10, 30]), more_of(joined, [10, 40]));
    let (ends, branches) = tokio::join!(more_of(side_by_side, [10, 40]), more_of(branched, [70, 270]));
    vec![
        ("a task with one parent", chains, 5.0),
        ("a task without a parent, and its edge to the end", ends, 6.0),
        ("the same, and its edge to a join of many", joins, 6.1),
        ("a branch of a `for_each` of more than 64", branches, 6.1),
    ]
}

/// The branches of a `for_each` of more than 64 lie in sixteen parts, each a partition: none takes much more than its share.
#[test]
fn branches_are_spread_over_partitions() {
    with_a_large_stack(async || {
        let [state, timers] = burst_of(300).await;

        assert!(state.hottest * 4 <= state.all, "{state:?}");
        assert!(timers.hottest * 3 <= timers.all, "{timers:?}");
    });
}

/// The most that a `for_each` has. Its branches weigh evenly by then, and so do the 157 leaves of their join.
#[test]
#[ignore = "in an unoptimized build it takes many minutes"]
fn ten_thousand_branches_are_spread_over_partitions() {
    with_a_large_stack(async || {
        let [state, timers] = burst_of(10_000).await;

        assert!(state.hottest * 10 <= state.all, "{state:?}");
        assert!(timers.hottest * 4 <= timers.all, "{timers:?}");
    });
}

/// Writes to one table.
#[derive(Clone, Copy, Debug)]
struct Burst {
    all: u32,
    /// To the partition that took the most.
    hottest: u32,
}

/// What a run of so many branches writes to the state and to the timers.
async fn burst_of(branches: u32) -> [Burst; 2] {
    let stage = Stage::new(Listing::Off).await;
    let id = workflow(&stage, &branched(branches)).await;
    let _what_making_it_took = stage.dynamo().partitions.take();
    carried_out(&stage, &id).await;

    let taken = stage.dynamo().partitions.take();
    ["state", "timers"].map(|table| {
        let ours = taken.iter().filter(|((name, _), load)| name == table && load.writes > 0);
        let writes: Vec<u32> = ours.map(|(_, load)| load.writes).collect();
        let burst = Burst { all: writes.iter().sum(), hottest: writes.iter().max().copied().unwrap_or_default() };
        println!("{table}: {branches} branches, {burst:?} of {} partitions", writes.len());
        burst
    })
}

/// The cost of each one that the larger of two graphs has more.
async fn more_of(graph: impl Fn(u32) -> Value, [small, large]: [u32; 2]) -> Cost {
    let (few, many) = (run_of(&graph(small)).await, run_of(&graph(large)).await);
    let each = |few: f64, many: f64| (many - few) / f64::from(large - small);
    Cost {
        writes: each(few.writes, many.writes),
        reads: each(few.reads, many.reads),
        messages: each(few.messages, many.messages),
    }
}

/// Of a whole run of a workflow.
async fn run_of(workflow: &Value) -> Cost {
    let stage = Stage::new(Listing::Off).await;
    let id = self::workflow(&stage, workflow).await;
    let before = stage.bill();
    let after = carried_out(&stage, &id).await;
    Cost::of(&before, &after, 1)
}

async fn workflow(stage: &Stage, workflow: &Value) -> String {
    let (status, created) = stage.ask("POST", "/v1/workflows", Some(workflow)).await;
    assert_eq!(status, StatusCode::CREATED, "{created}");
    created["workflow_id"].as_str().expect("it has an id").to_owned()
}

/// Runs a workflow to its end, and answers with the bill then.
async fn carried_out(stage: &Stage, id: &str) -> Bill {
    let (status, run) = stage.ask("POST", &format!("/v1/workflows/{id}/run"), Some(&json!({}))).await;
    assert!(status.is_success(), "{run}");
    stage.work_until(stage.now() + Duration::from_secs(300)).await;
    let bill = stage.bill();
    let (_, run) = stage.ask("GET", &format!("/v1/runs/{}", run["run_id"].as_str().unwrap()), None).await;
    assert_eq!(run["status"], "succeeded", "{run}");
    bill
}

fn task(key: &str, depends_on: &[String]) -> Value {
    let target = json!({"http": {"url": "https://billing.example.com/hooks/monthly"}});
    json!({"key": key, "depends_on": depends_on, "target": target})
}

fn chain(length: u32) -> Value {
    let before = |n: u32| n.checked_sub(1).map(|before| format!("t{before}"));
    let tasks = (0..length).map(|n| task(&format!("t{n}"), &before(n).into_iter().collect::<Vec<_>>()));
    json!({"name": "chain", "tasks": tasks.collect::<Vec<_>>()})
}

fn side_by_side(width: u32) -> Value {
    json!({"name": "side by side", "tasks": (0..width).map(|n| task(&format!("t{n}"), &[])).collect::<Vec<_>>()})
}

fn joined(width: u32) -> Value {
    let keys: Vec<_> = (0..width).map(|n| format!("t{n}")).collect();
    let tasks = keys.iter().map(|key| task(key, &[])).chain([task("join", &keys)]);
    json!({"name": "joined", "tasks": tasks.collect::<Vec<_>>()})
}

fn branched(width: u32) -> Value {
    let mut each = task("each", &[]);
    each["for_each"] = (0..width).collect();
    json!({"name": "branched", "tasks": [each]})
}

async fn asked(stage: &Stage, asking: impl Future<Output = (StatusCode, Value)>) -> Cost {
    let before = stage.api.bill();
    let (status, answer) = asking.await;
    assert!(status.is_success(), "{status} {answer}");
    Cost::of(&before, &stage.api.bill(), 1)
}

fn hold_the_document_to(name: &str, truth: &str) {
    hold_to("costs.md", name, truth);
}

/// The part of a page of docs/ between `<!-- name -->` and `<!-- /name -->`.
fn hold_to(page: &str, name: &str, truth: &str) {
    /// What is written anew is read and written by one at a time.
    static PAGES: Mutex<()> = Mutex::new(());

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(page);
    let (begin, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let pages = PAGES.lock().expect("nobody fails while writing");
    let text = std::fs::read_to_string(&path).unwrap();
    let (head, rest) = text.split_once(&begin).expect("the document has this part");
    let (said, tail) = rest.split_once(&end).expect("and its end");
    if std::env::var_os("MINUTEHAND_UPDATE_DOCS").is_some() {
        std::fs::write(&path, format!("{head}{begin}{truth}{end}{tail}")).unwrap();
        return;
    }
    drop(pages);
    assert_eq!(said, truth, "docs/{page} says otherwise; MINUTEHAND_UPDATE_DOCS=1 writes it anew");
}
