//! End to end: the stack of `template.yaml`, put by the scripts that people use on a ministack that enforces each role, with
//! the real bootstraps; jobs come in over its HTTP API, and a hook on this machine hears of them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Read as _;
use std::ops::Range;
use std::process::Command;
use std::time::Duration;

use aws_sdk_scheduler::operation::get_schedule::GetScheduleOutput;
use aws_sdk_scheduler::types::ScheduleState;
use aws_sdk_sqs::types::QueueAttributeName;
use flate2::read::MultiGzDecoder;
use minutehand_aws_tests::bootstraps::build_functions;
use minutehand_aws_tests::ministack::{Authorization, Ministack};
use minutehand_aws_tests::stream::{EXPIRY, image, removed};
use minutehand_aws_tests::{python, workspace};
use minutehand_domain::Moment;
use minutehand_domain::id::JobId;
use minutehand_domain::timer::Obligation;
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_localstack::api_client::ApiClient;
use minutehand_localstack::deployment::Deployment;
use minutehand_localstack::hook::{Called, Hook};
use minutehand_localstack::process::{kill_bootstraps, serve_on, serve_over_files, serve_with};
use minutehand_localstack::worker::Worker;
use serde_json::{Value, json};

/// A deployed Minutehand of the fact's own.
struct World {
    deployment: Deployment,
    api: ApiClient,
    hook: Hook,
    aws: Ministack,
}

impl World {
    /// None where there is no Python.
    async fn deployed() -> Option<Self> {
        Self::deployed_with(&[]).await
    }

    async fn deployed_with(parameters: &'static [&str]) -> Option<Self> {
        Self::deployed_on(Ministack::start(Authorization::On)?, parameters).await
    }

    async fn deployed_on(aws: Ministack, parameters: &'static [&str]) -> Option<Self> {
        let tools = python::tools()?;
        let endpoint = aws.endpoint();
        let deployment = tokio::task::spawn_blocking(move || {
            build_functions();
            Deployment::new(&tools, &endpoint, "minutehand", parameters)
        });
        let deployment = deployment.await.expect("it is deployed");
        let api = ApiClient::new(&deployment.url(""), &deployment.key);
        Some(Self { deployment, api, hook: Hook::start().await, aws })
    }

    /// How many messages a queue has, whether somebody is at them or not.
    async fn held_by(&self, queue: &str) -> u32 {
        use QueueAttributeName::{
            ApproximateNumberOfMessages as Waiting, ApproximateNumberOfMessagesNotVisible as Held,
        };
        let asked = self.aws.sqs().get_queue_attributes().queue_url(self.deployment.output(queue));
        let said =
            asked.set_attribute_names(Some(vec![Waiting, Held])).send().await.expect("ministack counts messages");
        let counts = said.attributes.expect("it says how many");
        [Waiting, Held].iter().map(|name| counts[name].parse::<u32>().expect("a number")).sum()
    }

    fn tick(&self) {
        tokio::task::block_in_place(|| self.deployment.tick());
    }
}

fn shard_of(job: &str) -> u16 {
    Obligation::Occurrence(job.parse::<JobId>().expect("an id")).shard(64)
}

fn after(seconds: u64) -> Moment {
    SystemClock.now() + Duration::from_secs(seconds)
}

fn once(url: &str, due: Moment) -> Value {
    json!({
        "schedule": {"at": due.to_string()},
        "target": {"http": {"url": url}},
        "timeout_seconds": 5,
        "retry": {"max_retries": 2, "initial_delay_seconds": 1, "jitter": "none"},
    })
}

/// In milliseconds: a timer whose hint is lost is found when it is thirty seconds overdue, so what is called sooner was hinted. How much sooner is
/// for a busy machine to say.
const HINTED: Range<i64> = 0..28_000;

fn outcomes(run: &Value) -> Vec<&str> {
    let attempts = run["attempts"].as_array().expect("a run has attempts");
    attempts.iter().map(|attempt| attempt["outcome"].as_str().unwrap_or("under way")).collect()
}

/// How late it was, in milliseconds.
fn lag(called: &Called) -> i64 {
    called.at - Moment::parse(&called.scheduled_at).expect("an instant").millis()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_created_over_the_api_is_fired_once_on_time_and_one_that_fails_is_retried() {
    let Some(world) = World::deployed().await else { return };
    // The functions start with their first work.
    world.api.ended_runs(&world.api.create(&once(&world.hook.ok(), after(1))).await).await;

    let due = after(6);
    let mut good = Vec::new();
    for priority in ["critical", "high", "normal", "low"] {
        let mut job = once(&world.hook.ok(), due);
        job["priority"] = priority.into();
        good.push(world.api.create(&job).await);
    }
    let failing = world.api.create(&once(&world.hook.fails_once(), due)).await;

    for job in &good {
        let runs = world.api.ended_runs(job).await;
        assert_eq!((runs.len(), runs[0]["status"].as_str()), (1, Some("succeeded")), "{runs:?}");
        let calls = world.hook.calls_of(job);
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert!(HINTED.contains(&lag(&calls[0])), "{} ms late", lag(&calls[0]));
    }
    let runs = world.api.ended_runs(&failing).await;
    assert_eq!(outcomes(&runs[0]), ["failed", "succeeded"], "{runs:?}");
}

/// Its queue, event source and permissions are others than those of a short call.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_call_runs_from_the_long_queue_of_its_priority() {
    let Some(world) = World::deployed().await else { return };
    let mut long = Vec::new();
    for priority in ["critical", "high", "normal", "low"] {
        let mut job = once(&world.hook.ok(), after(2));
        (job["priority"], job["timeout_seconds"]) = (priority.into(), 120.into());
        long.push(world.api.create(&job).await);
    }

    for job in &long {
        let runs = world.api.ended_runs(job).await;
        assert_eq!((runs.len(), runs[0]["status"].as_str()), (1, Some("succeeded")), "{runs:?}");
    }
}

/// Of the priority `normal` two invocations may run at once at the scale `small`, of ten hints each: twice as many calls of one tenant as would fill both
/// hang, and meanwhile another's of the same priority begin on time. The emulator starts more invocations at once than AWS would, so that it is the queues which
/// say that nobody waited behind a call that hangs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_calls_that_hang_delay_no_short_ones() {
    let Some(world) = World::deployed().await else { return };
    world.api.ended_runs(&world.api.create(&once(&world.hook.ok(), after(1))).await).await;
    let mut hanging = Vec::new();
    for _ in 0..40 {
        let mut job = once(&world.hook.hangs(), after(2));
        (job["timeout_seconds"], job["retry"]) = (600.into(), json!({"max_retries": 0}));
        hanging.push(world.api.create(&job).await);
    }
    let began = world.hook.first_call_of(&hanging[0]).await;

    let (acme, _key) = acme(&world).await;
    let mut short = Vec::new();
    for seconds in [6, 8, 10, 12] {
        short.push(acme.create(&once(&world.hook.ok(), after(seconds))).await);
    }
    let mut lags = Vec::new();
    for job in &short {
        let runs = acme.ended_runs(job).await;
        assert_eq!((runs.len(), runs[0]["status"].as_str()), (1, Some("succeeded")), "{runs:?}");
        lags.push(lag(&world.hook.calls_of(job)[0]));
    }

    let (long, normal) = (world.held_by("NormalLongQueueUrl").await, world.held_by("NormalQueueUrl").await);
    let now = SystemClock.now().millis();
    assert!(now - began.at < 590_000, "too late to tell: by now calls that hang have timed out");
    assert!(lags.iter().all(|late| HINTED.contains(late)), "{lags:?} ms late");
    assert!(long == 40 && normal <= 4, "{long} in the long queue, {normal} in the other");
}

/// Another tenant, by a key of its own.
async fn acme(world: &World) -> (ApiClient, Value) {
    let wanted = json!({"name": "ci", "role": "admin", "tenant": "acme"});
    let (status, key) = world.api.ask("POST", "/v1/keys", Some(&wanted)).await;
    assert_eq!(status, 201, "{key}");
    (world.api.by(key["secret"].as_str().expect("it is shown once")), key)
}

/// Each function by what its role lets it do: the API reads through the indexes, the executor makes the signing secret.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_works_by_a_key_of_its_own_sees_its_runs_only_and_its_calls_are_signed() {
    let Some(world) = World::deployed().await else { return };
    world.api.ended_runs(&world.api.create(&once(&world.hook.ok(), after(1))).await).await;
    let (acme, key) = acme(&world).await;

    let good = acme.create(&once(&world.hook.ok(), after(1))).await;
    let mut hopeless = once(&world.hook.fails_once(), after(1));
    hopeless["retry"] = json!({"max_retries": 0});
    let failing = acme.create(&hopeless).await;
    for job in [&good, &failing] {
        assert_eq!(acme.ended_runs(job).await.len(), 1);
    }

    let from = SystemClock.now() - Duration::from_secs(600);
    assert_eq!(
        jobs_of_runs(&acme, &format!("/v1/runs?from={from}")).await,
        BTreeSet::from([good.clone(), failing.clone()])
    );
    assert_eq!(jobs_of_runs(&acme, &format!("/v1/runs?from={from}&status=failed")).await, BTreeSet::from([failing]));
    assert!(world.hook.calls_of(&good)[0].signature.starts_with("v1,"), "{:?}", world.hook.calls_of(&good));
    let (_, secret) = acme.ask("GET", "/v1/signing-secret", None).await;
    assert!(secret["created_at"].is_string() && secret["secret"].is_null(), "{secret}");
    let (status, _) = acme.ask("DELETE", &format!("/v1/keys/{}", key["key_id"].as_str().expect("a key")), None).await;
    assert_eq!((status.as_u16(), acme.ask("GET", "/v1/jobs", None).await.0.as_u16()), (204, 401));
}

async fn jobs_of_runs(api: &ApiClient, list: &str) -> BTreeSet<String> {
    let (status, runs) = api.ask("GET", list, None).await;
    assert_eq!(status, 200, "{runs}");
    let runs = runs["items"].as_array().expect("a list").iter();
    runs.map(|run| run["job_id"].as_str().expect("of a job").to_owned()).collect()
}

/// Its message comes back when its lease is over: five seconds for the call, thirty for the record, from when it was claimed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_whose_bootstrap_is_killed_is_tried_again_when_its_lease_is_over() {
    let Some(world) = World::deployed().await else { return };
    let job = world.api.create(&once(&world.hook.hangs_once(), after(2))).await;
    world.hook.first_call_of(&job).await;

    let killed = kill_bootstraps(&world.aws, "executor");

    assert!(killed > 0, "it was under way");
    let runs = world.api.ended_runs(&job).await;
    assert_eq!(outcomes(&runs[0]), ["lost", "succeeded"], "{runs:?}");
    let claimed = runs[0]["attempts"][0]["started_at"].as_str().and_then(Moment::parse).expect("an instant");
    let again = world.hook.calls_of(&job)[1].at - claimed.millis();
    assert!(again >= 35_000, "while the lease held nobody else may call: {again} ms");
}

/// The API's own hints are gone before the tick, and there is no other: what fires is what the sweeper hinted, in four invocations, as a quarter of
/// the shards is each one's.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_deployed_sweeper_hands_out_groups_of_shards_and_hints_in_all_of_them() {
    let Some(world) = World::deployed_with(&["ShardsPerSweep=16"]).await else { return };
    stop_ticks(&world).await;
    let due = after(60);
    let mut jobs = Vec::new();
    for _ in 0..8 {
        jobs.push(world.api.create(&once(&world.hook.ok(), due)).await);
    }
    let groups: BTreeSet<u16> = jobs.iter().map(|job| shard_of(job) / 16).collect();
    assert!(groups.iter().any(|group| *group > 0), "one in sixty thousand: try again");

    world.aws.sqs().purge_queue().queue_url(world.deployment.output("NormalQueueUrl")).send().await.expect("purged");
    world.tick();

    for job in &jobs {
        let runs = world.api.ended_runs(job).await;
        assert_eq!((runs.len(), outcomes(&runs[0])), (1, vec!["succeeded"]), "{runs:?}");
        let calls = world.hook.calls_of(job);
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert!(HINTED.contains(&lag(&calls[0])), "{} ms late", lag(&calls[0]));
    }
}

/// Nothing is lost with a queue but time: the sweep finds what is thirty seconds overdue. No tick but those of the test comes in between.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_in_a_purged_queue_runs_all_the_same() {
    let Some(world) = World::deployed().await else { return };
    stop_ticks(&world).await;
    world.tick();
    let due = after(20);
    let job = world.api.create(&once(&world.hook.ok(), due)).await;

    world.aws.sqs().purge_queue().queue_url(world.deployment.output("NormalQueueUrl")).send().await.expect("purged");
    SystemClock.sleep_until(due + Duration::from_secs(20)).await;
    assert_eq!(world.hook.calls_of(&job), [], "its hint is gone");
    SystemClock.sleep_until(due + Duration::from_secs(31)).await;
    world.tick();

    let runs = world.api.ended_runs(&job).await;
    assert_eq!(outcomes(&runs[0]), ["succeeded"], "{runs:?}");
    assert_eq!(world.hook.calls_of(&job).len(), 1);
}

/// An update may end a function in the middle of a request, and its client asks again; or in the middle of a run (AWS lets
/// it finish, ministack does not), and its lease is lost: the run is then tried again, and comes out once all the same. A call that takes its five
/// seconds, as it may while the machine is busy with the update, is tried again too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn under_a_stack_update_every_job_runs_once() {
    let Some(World { mut deployment, api, hook, aws: _aws }) = World::deployed().await else { return };
    let updating = tokio::task::spawn_blocking(move || {
        deployment.update(&["EarlySeconds=2", "RunsIndex=off"]);
        deployment
    });

    let mut jobs = Vec::new();
    while !updating.is_finished() || jobs.len() < 20 {
        let key = format!("job {}", jobs.len());
        jobs.push(api.create_surely(&once(&hook.ok(), after(3)), &key).await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let _deployment = updating.await.expect("it is updated");

    for job in &jobs {
        let runs = api.ended_runs(job).await;
        let outcomes = outcomes(&runs[0]);
        let (last, earlier) = outcomes.split_last().expect("it was tried");
        assert_eq!((runs.len(), *last), (1, "succeeded"), "{runs:?}");
        assert!(earlier.iter().all(|outcome| ["lost", "timed_out"].contains(outcome)), "{runs:?}");
        assert!((1..=outcomes.len()).contains(&hook.calls_of(job).len()), "{job}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_minutes_tick_is_deployed_and_wakes_the_sweeper() {
    let Some(world) = World::deployed().await else { return };

    let tick = world.aws.scheduler().get_schedule().name("minutehand-tick").send().await.expect("there is a tick");

    assert_eq!(tick.schedule_expression(), Some("rate(1 minute)"));
    assert_eq!(tick.state(), Some(&ScheduleState::Enabled));
    let wakes = tick.target().map(|target| target.arn().to_owned()).unwrap_or_default();
    assert!(wakes.ends_with(&format!(":function:{}", world.deployment.output("SweeperFunctionName"))), "{wakes}");
}

const TICK: [&str; 2] = ["default", "minutehand-tick"];
const SWITCH: [&str; 2] = ["minutehand-switch", "minutehand-switch"];

async fn schedule(world: &World, [group, name]: [&str; 2]) -> GetScheduleOutput {
    world.aws.scheduler().get_schedule().group_name(group).name(name).send().await.expect("there is one")
}

/// The same schedule with another expression or state.
async fn rescheduled(world: &World, at: [&str; 2], expression: &str, state: ScheduleState) {
    let (was, [group, name]) = (schedule(world, at).await, at);
    let update = world.aws.scheduler().update_schedule().group_name(group).name(name);
    let update = update.schedule_expression(expression).state(state).set_target(was.target);
    update.set_flexible_time_window(was.flexible_time_window).send().await.expect("it is updated");
}

/// Who sweeps from now on is asked to by the test.
async fn stop_ticks(world: &World) {
    rescheduled(world, TICK, "rate(1 minute)", ScheduleState::Disabled).await;
}

/// What the head of the runbooks has people type, on AWS.
fn head_of_the_runbooks() -> String {
    commands_behind("where it runs on AWS:")
}

/// The first block of commands behind these words of the operations page.
fn commands_behind(words: &str) -> String {
    let page = fs::read_to_string(workspace::root().join("docs/operations.md")).expect("there is one");
    let (_, rest) = page.split_once(words).expect("it says so");
    let (_, block) = rest.split_once("```sh\n").expect("a block of commands");
    block.split_once("```").expect("it ends").0.to_owned()
}

/// They are typed here as they stand there: the tick stops, and goes on as it was; and one parameter is another while all others stay.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_head_of_the_runbooks_turns_the_tick_off_and_on_and_sets_a_parameter() {
    let Some(world) = World::deployed_with(&["EarlySeconds=2"]).await else { return };
    let typed = |what: &str| world.deployment.shell(&format!("{}\n{what}", head_of_the_runbooks()));
    let whole = |it: GetScheduleOutput| {
        (it.state, it.target, it.schedule_expression, it.flexible_time_window, it.description, it.group_name)
    };
    let parameters = || {
        let all = "aws cloudformation describe-stacks --stack-name $STACK --query Stacks[0].Parameters";
        let all: Vec<Value> = serde_json::from_str(&typed(all)).expect("a list");
        let pair = |each: Value| (each["ParameterKey"].to_string(), each["ParameterValue"].to_string());
        all.into_iter().map(pair).collect::<BTreeMap<_, _>>()
    };

    let was = whole(schedule(&world, TICK).await);
    tokio::task::block_in_place(|| typed("tick DISABLED"));
    let stopped = whole(schedule(&world, TICK).await);
    assert_eq!(stopped.0, Some(ScheduleState::Disabled));
    tokio::task::block_in_place(|| typed("tick ENABLED"));
    assert_eq!(whole(schedule(&world, TICK).await), was);

    let mut before = tokio::task::block_in_place(parameters);
    tokio::task::block_in_place(|| typed("parameter LogLevel debug"));
    let after = tokio::task::block_in_place(parameters);
    before.insert("\"LogLevel\"".to_owned(), "\"debug\"".to_owned());
    assert_eq!(after, before);
}

/// What the section about a restore has people type: until there is the other table, the repair beside the process over that, and what comes last.
fn commands_of_a_restore() -> [String; 3] {
    let block = commands_behind("### Restoring on AWS");
    let (first, rest) = block.split_once("MINUTEHAND_STATE_TABLE=$RESTORED minutehand serve --aws").expect("a process");
    let (_, rest) = rest.split_once('\n').expect("a line behind it");
    let (repair, last) = rest.split_once('\n').expect("a repair, and what is to be done behind it");
    [first, repair, last].map(ToOwned::to_owned)
}

/// Nobody waits here for AWS, what `jq` is asked for Python writes, and the command line that the tests have asks the emulator for its queues where
/// it is told to.
const AS_TYPED_HERE: &str = r#"
sleep() { :; }
aws() { command aws --endpoint-url "$AWS_ENDPOINT_URL" "$@"; }
jq() {
  python3 -c 'import json, shlex, sys
for name, value in json.load(sys.stdin).items(): print(f"export {name}={shlex.quote(value)}")'
}
"#;
const SETTINGS: &str = "--- the settings of the process";

/// They are typed as they stand there, and the process is started by the settings that they have found. The emulator knows no point in time, and
/// restores what there is. Beside the hints, which the commands purge, the timers are gone, so that a repair alone knows what was due.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_commands_of_a_restore_have_a_process_run_what_the_restored_table_holds() {
    let Some(world) = World::deployed().await else { return };
    let job = world.api.create(&once(&world.hook.ok(), after(100))).await;
    let [first, repair, last] = commands_of_a_restore();
    let (names, _) = first.split_once("tick DISABLED").expect("what is named before anything is done");
    let typed = |what: &str| {
        let all = format!("{}{AS_TYPED_HERE}{what}", head_of_the_runbooks());
        tokio::task::block_in_place(|| world.deployment.shell(&all))
    };

    let found = typed(&format!("{first}\necho '{SETTINGS}'; env"));
    let stopped = SystemClock.now().millis();
    let mappings = "aws lambda list-event-source-mappings --function-name $EXECUTOR --query EventSourceMappings[].State --output text";
    let pollers = || {
        let said = typed(&format!("{names}\n{mappings}"));
        said.split_whitespace().map(ToOwned::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(pollers(), ["Disabled"; 8], "they would hide what the process is to have");
    lose_timers(&world).await;
    assert_eq!(world.held_by("NormalQueueUrl").await, 0, "the hint is gone");
    let (_, settings) = found.split_once(SETTINGS).expect("it came to its end");
    let settings =
        settings.lines().filter_map(|line| line.split_once('=')).filter(|(name, _)| name.starts_with("MINUTEHAND_"));
    let mut settings: Vec<_> = settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let restored = format!("{}-restored", world.deployment.output("StateTableName"));
    assert!(settings.len() > 10, "{settings:?}");
    settings.push(("MINUTEHAND_STATE_TABLE".to_owned(), restored.clone()));
    let served = serve_with(&world.aws, &world.deployment.key, settings).await;
    assert!(repair.contains("http://127.0.0.1:8080"), "{repair}");
    let repaired = typed(&format!("{names}\n{}", repair.replace("http://127.0.0.1:8080", &served.url)));

    let runs = served.api().ended_runs(&job).await;
    assert_eq!(outcomes(&runs[0]), ["succeeded"], "{repaired}: {runs:?}");
    let calls = world.hook.calls_of(&job);
    assert!(
        calls.len() == 1 && calls[0].at > stopped,
        "by the process alone: {calls:?}, and the functions stopped at {stopped}"
    );
    typed(&format!("{names}\n{last}"));
    let said =
        |what: &str| typed(&format!("aws dynamodb {what} --output text --table-name {restored}")).trim().to_owned();
    let goes = said("describe-time-to-live --query TimeToLiveDescription.[TimeToLiveStatus,AttributeName]");
    let is_kept = said("describe-table --query Table.DeletionProtectionEnabled");
    assert_eq!((goes.as_str(), is_kept.as_str()), ("ENABLED\texpires_at", "True"));
    assert_eq!(pollers(), ["Enabled"; 8]);
    assert_eq!(schedule(&world, TICK).await.state, Some(ScheduleState::Enabled));
}

async fn lose_timers(world: &World) {
    let (client, table) = (world.aws.dynamodb(), world.deployment.output("TimersTableName"));
    let all = client.scan().table_name(table).send().await.expect("a small table");
    for item in all.items() {
        let erase = client.delete_item().table_name(table);
        erase.key("pk", item["pk"].clone()).key("sk", item["sk"].clone()).send().await.expect("it goes");
    }
}

fn at(moment: Moment) -> String {
    format!("at({})", moment.to_utc().format("%Y-%m-%dT%H:%M:%S"))
}

/// The tick is turned off and the queue purged, so that nobody sweeps what is due. Then the switch's minutes are over at once, by the
/// hand of the test, so that it need not wait for them: it fires as it is, wakes the function by its own role, and what was due runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn when_ticks_stop_the_switch_wakes_the_sweeper_and_what_was_due_runs() {
    let Some(world) = World::deployed_with(&["SwitchMinutes=3"]).await else { return };
    let made = schedule(&world, SWITCH).await;
    world.tick();
    let pushed = schedule(&world, SWITCH).await;
    stop_ticks(&world).await;
    let due = after(20);
    let job = world.api.create(&once(&world.hook.ok(), due)).await;
    world.aws.sqs().purge_queue().queue_url(world.deployment.output("NormalQueueUrl")).send().await.expect("purged");
    SystemClock.sleep_until(due + Duration::from_secs(31)).await;
    assert_eq!(world.hook.calls_of(&job), [], "nobody sweeps");

    let fires = at(after(1));
    rescheduled(&world, SWITCH, &fires, ScheduleState::Enabled).await;

    let runs = world.api.ended_runs(&job).await;
    assert_eq!(outcomes(&runs[0]), ["succeeded"], "{runs:?}");
    assert_eq!(made.schedule_expression(), Some("at(2099-12-31T23:59:59)"));
    assert!(pushed.schedule_expression() < Some(at(after(180)).as_str()), "the tick pushed it: {pushed:?}");
    assert_eq!((&pushed.target, &pushed.description), (&made.target, &made.description), "only its time changes");
    let begun = SystemClock.now();
    while schedule(&world, SWITCH).await.schedule_expression() == Some(fires.as_str()) {
        assert!(SystemClock.now().since(begun) < Duration::from_secs(60), "the pass that it asked for pushes it again");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    let again = schedule(&world, SWITCH).await.schedule_expression.expect("an instant");
    assert!((fires..=at(after(181))).contains(&again), "by three minutes: {again}");
}

/// Beside the deployed functions, which do the same work: of the two that hear of a run, one carries it out.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_process_serves_the_same_tables_and_queues() {
    let Some(world) = World::deployed().await else { return };
    let served = serve_on(&world.aws, &world.deployment).await;
    let local = ApiClient::new(&served.url, &served.key);

    let due = after(4);
    let mut jobs = Vec::new();
    for api in [&local, &world.api, &local, &world.api] {
        jobs.push(api.create(&once(&world.hook.ok(), due)).await);
    }

    for job in &jobs {
        for api in [&local, &world.api] {
            let runs = api.ended_runs(job).await;
            assert_eq!(outcomes(&runs[0]), ["succeeded"], "{runs:?}");
        }
        let calls = world.hook.calls_of(job);
        assert_eq!(calls.len(), 1, "{calls:?}");
        assert!(lag(&calls[0]) >= 0, "{} ms early", -lag(&calls[0]));
    }
    let ended = tokio::task::spawn_blocking(|| served.terminate()).await.expect("it ends");
    assert!(ended.success(), "{ended:?}");
}

/// In seconds: a worker on a busy machine asks for more in time.
const LEASE: u64 = 15;

/// The scene of the kits, played with the Python one: what a worker elsewhere is given by the functions, keeps, and goes on from when the one
/// before was killed. Its role lets the API do all of it. A lease that is lost for want of time is one more attempt.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_of_the_python_kit_works_for_the_deployed_stack() {
    let Some(world) = World::deployed().await else { return };
    let (url, key) = (world.deployment.url(""), world.deployment.key.clone());
    let wish = |payload: Value| {
        let target = json!({"worker": {"pool": "web1", "handler": "act"}});
        json!({"target": target, "payload": payload, "retry": {"max_retries": 3, "initial_delay_seconds": 1}})
    };
    let added = world.api.create(&wish(json!({"scene": "add", "numbers": [1, 2, 3]}))).await;
    let first = Worker::start_with_leases(&url, &key, "web1", LEASE);
    let sums = world.api.ended_runs(&added).await;
    let sum = world.api.ended_run(sums[0]["run_id"].as_str().unwrap()).await;

    let counted = world.api.create(&wish(json!({"scene": "count"}))).await;
    first.tells("half way");
    drop(first);
    let _second = Worker::start_with_leases(&url, &key, "web1", LEASE);
    // The sweep finds a lease that ran out when it is thirty seconds overdue.
    tokio::time::sleep(Duration::from_secs(LEASE + 30 + 5)).await;
    world.tick();

    let runs = world.api.ended_runs(&counted).await;
    assert_eq!(sum["result"]["sum"], json!(6), "{sum}");
    let outcomes = outcomes(&runs[0]);
    let (last, earlier) = outcomes.split_last().expect("it was tried");
    assert!(*last == "succeeded" && !earlier.is_empty(), "{runs:?}");
    assert!(earlier.iter().all(|outcome| *outcome == "lost"), "{runs:?}");
    assert!(runs[0]["result"]["from"].as_u64() >= Some(3), "it goes on from the checkpoint: {runs:?}");
}

const TWO_QUEUES: &[&str] = &[
    r#"Targets={
        "orders": {"sqs": "https://sqs.us-east-1.amazonaws.com/000000000000/orders"},
        "books": {"sqs": "https://sqs.us-east-1.amazonaws.com/000000000000/books"}
    }"#,
    "SqsTargetArns=arn:aws:sqs:us-east-1:000000000000:orders",
];

/// Both queues are declared and there; the executor may send to one of them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_sends_to_a_declared_queue_that_the_executor_has_a_right_to() {
    let Some(aws) = Ministack::start(Authorization::On) else { return };
    let mut urls = Vec::new();
    for name in ["orders", "books"] {
        urls.push(aws.sqs().create_queue().queue_name(name).send().await.unwrap().queue_url.unwrap());
    }
    let Some(world) = World::deployed_on(aws, TWO_QUEUES).await else { return };
    let wish = |alias: &str| json!({"target": {"sqs": {"alias": alias}}, "payload": {"order": 7}});

    let (sent, refused) = (world.api.create(&wish("orders")).await, world.api.create(&wish("books")).await);
    let (status, unknown) = world.api.ask("POST", "/v1/jobs", Some(&wish("elsewhere"))).await;

    let runs = world.api.ended_runs(&sent).await;
    assert_eq!(outcomes(&runs[0]), ["succeeded"], "{runs:?}");
    let heard = world.aws.sqs().receive_message().queue_url(&urls[0]).wait_time_seconds(20).send().await.unwrap();
    assert_eq!(heard.messages()[0].body(), Some(r#"{"order":7}"#));
    let runs = world.api.ended_runs(&refused).await;
    assert_eq!(runs[0]["attempts"][0]["error"]["code"], "service_refused", "{runs:?}");
    assert_eq!(status, 422, "{unknown}");
}

/// Without a deployment: the store is a file, the queue is on the emulator.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_of_one_process_over_files_sends_to_a_declared_queue() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let queue = aws.sqs().create_queue().queue_name("orders").send().await.unwrap().queue_url.unwrap();
    tokio::task::spawn_blocking(build_functions).await.expect("it is built");
    let (data, targets) = (tempfile::tempdir().unwrap(), json!({"orders": {"sqs": queue}}));
    let served = serve_over_files(&aws, data.path(), &targets).await;
    let api = ApiClient::new(&served.url, &served.key);

    let wish = json!({"target": {"sqs": {"alias": "orders"}}, "payload": {"order": 7}});
    let runs = api.ended_runs(&api.create(&wish).await).await;

    assert_eq!(outcomes(&runs[0]), ["succeeded"], "{runs:?}");
    let heard = aws.sqs().receive_message().queue_url(&queue).wait_time_seconds(20).send().await.unwrap();
    assert_eq!(heard.messages()[0].body(), Some(r#"{"order":7}"#));
}

/// The function is one that is at hand: the sweeper, to which no word of a job means anything but that it is woken.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_job_calls_a_function_that_is_declared_when_the_stack_is_there_already() {
    let Some(World { mut deployment, api, aws: _aws, .. }) = World::deployed().await else { return };
    let function = deployment.output("SweeperFunctionName").to_owned();
    let arn = format!("arn:aws:lambda:us-east-1:000000000000:function:{function}");
    let wish = json!({"target": {"lambda": {"alias": "sweep"}}, "payload": {}});
    let (before, _) = api.ask("POST", "/v1/jobs", Some(&wish)).await;

    let declared = tokio::task::spawn_blocking(move || {
        let targets = json!({"sweep": {"lambda": arn}});
        deployment.update(&[&format!("Targets={targets}"), &format!("LambdaTargetArns={arn}")]);
        deployment
    });
    let _deployment = declared.await.expect("it is updated");

    let runs = api.ended_runs(&api.create(&wish).await).await;
    assert_eq!((before.as_u16(), outcomes(&runs[0])), (422, vec!["succeeded"]), "{runs:?}");
}

/// The emulator deletes nothing that has expired: what the stream would tell is told in its place, of what stands there. The role that puts it into the
/// bucket is the template's, and what is brought here is listed as any other archive.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_expired_is_in_the_bucket_and_is_listed_as_an_archive() {
    let Some(world) = World::deployed_with(&["Archive=on"]).await else { return };
    let wish = json!({"target": {"http": {"url": world.hook.echoes()}}, "payload": {"long": "x".repeat(5_000)}});
    let runs = world.api.ended_runs(&world.api.create(&wish).await).await;
    let run = world.api.ended_run(runs[0]["run_id"].as_str().unwrap()).await;
    let scan = world.aws.dynamodb().scan().table_name(world.deployment.output("StateTableName")).send().await;
    let gone: Vec<Value> =
        scan.expect("a small table").items().iter().map(|item| removed("e1", Some(EXPIRY), &image(item))).collect();

    let archive = tempfile::tempdir().unwrap();
    tokio::task::block_in_place(|| {
        world.deployment.invoke("ArchiverFunctionName", &json!({"Records": gone}));
        world.deployment.bring("ArchiveBucketName", archive.path());
    });

    let day = run["finished_at"].as_str().unwrap()[..10].replace('-', "/");
    let file = archive.path().join("default").join(day).join(format!("e1-{}.jsonl.gz", gone.len()));
    let mut text = String::new();
    MultiGzDecoder::new(fs::File::open(file).expect("it is there")).read_to_string(&mut text).expect("gzip");
    let kept: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(kept, [run]);
    let listed = Command::new(workspace::target().join("deployed/minutehand"))
        .args(["archive", "list", "--json", "--archive"])
        .arg(archive.path())
        .output()
        .expect("it was built");
    let listed: Value = serde_json::from_slice(&listed.stdout).expect("one file");
    assert_eq!((&listed["tenant"], &listed["runs"]), (&json!("default"), &json!(1)));
}

/// A branch for each country, a join of what they found, and what runs whatever happened, all through the functions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_graph_runs_from_end_to_end_on_the_deployed_stack() {
    let Some(world) = World::deployed().await else { return };
    let echo = json!({"http": {"url": world.hook.echoes()}});
    let definition = json!({
        "name": "countries",
        "params": {"required": ["countries"], "properties": {"countries": {"type": "array"}}},
        "tasks": [
            {"key": "begin", "target": {"noop": {}}},
            {"key": "report", "depends_on": ["begin"], "for_each": {"items": "params.countries", "max_concurrent": 2},
             "target": echo, "payload": {"country": "{{item}}"}},
            {"key": "send", "depends_on": ["report"], "target": echo, "payload": "{{tasks.report.results}}"},
        ],
        "finally": [{"key": "log", "target": echo, "payload": "{{outcome}}"}],
        "output": "{{tasks.send.result}}",
    });
    let (status, workflow) = world.api.ask("POST", "/v1/workflows", Some(&definition)).await;
    assert_eq!(status, 201, "{workflow}");
    let workflow = workflow["workflow_id"].as_str().unwrap();

    let run = format!("/v1/workflows/{workflow}/run");
    let (status, run) = world.api.ask("POST", &run, Some(&json!({"params": {"countries": ["at", "de", "ch"]}}))).await;
    assert_eq!(status, 202, "{run}");
    let run = world.api.ended_run(run["run_id"].as_str().unwrap()).await;

    assert_eq!(run["status"], "succeeded", "{run}");
    assert_eq!(run["result"], json!([{"country": "at"}, {"country": "de"}, {"country": "ch"}]), "{run}");
}
