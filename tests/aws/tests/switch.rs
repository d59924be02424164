//! The dead man's switch on an emulator's Scheduler, which fires one-time schedules (it looks every ten seconds, in real time). The functions'
//! handlers run here, over DynamoDB in this process and a clock that jumps; what fires comes through a queue, as the event of a pass.

use std::time::{Duration, Instant};

use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::operation::get_schedule::GetScheduleOutput;
use aws_sdk_scheduler::types::{FlexibleTimeWindow, FlexibleTimeWindowMode, ScheduleState, Target};
use http::StatusCode;
use minutehand_aws_tests::ministack::{ACCOUNT, Authorization, Ministack, REGION};
use minutehand_aws_tests::python;
use minutehand_aws_tests::scripted::{Answer, Scripted};
use minutehand_aws_tests::stage::Stage;
use minutehand_aws_tests::template::Template;
use minutehand_cloud::Switch;
use minutehand_domain::Moment;
use minutehand_domain::switch::Push;
use minutehand_io::Fault;
use minutehand_io::clock::{Clock as _, SystemClock};
use minutehand_io::store::dynamo::Listing;
use minutehand_sweeper::Waking;
use serde_json::{Value, json};

const MINUTE: Duration = Duration::from_secs(60);
/// The shortest that a busy machine keeps up with: a pass, and a pause, are to be over long before.
const AHEAD: Duration = Duration::from_secs(24);
/// Between two ticks here, in which nothing may fire.
const PAUSE: i32 = 5;
/// For longer than it would take to fire.
const TICKS: usize = 8;
/// For a push, which takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(20);
const NAME: &str = "prod-switch";

/// A switch as the template makes it, but that it wakes a queue.
struct Kept {
    aws: Ministack,
    switch: Switch,
    queue: String,
}

impl Kept {
    /// None where there is no Python.
    async fn new() -> Option<Self> {
        let (tools, aws) = (python::tools()?, Ministack::start(Authorization::Off)?);
        let properties = Template::transformed(&tools).properties("Switch").clone();
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let queue = aws.sqs().create_queue().queue_name("woken").send().await.unwrap().queue_url.unwrap();
        let target = Target::builder()
            .arn(format!("arn:aws:sqs:{REGION}:{ACCOUNT}:woken"))
            .role_arn(format!("arn:aws:iam::{ACCOUNT}:role/switch"))
            .input(text(&properties["Target"]["Input"]));
        aws.scheduler().create_schedule_group().name(NAME).send().await.unwrap();
        let create = aws.scheduler().create_schedule().group_name(NAME).name(NAME);
        let create =
            create.schedule_expression(text(&properties["ScheduleExpression"])).target(target.build().unwrap());
        create.description(text(&properties["Description"])).flexible_time_window(off()).send().await.unwrap();
        let switch = Switch::new(&aws.sdk(), NAME.to_owned(), AHEAD).within(PATIENCE);
        Some(Self { aws, switch, queue })
    }

    /// The event that it wakes somebody by, where it does so within these seconds.
    async fn woken(&self, seconds: i32) -> Option<Value> {
        let receive = self.aws.sqs().receive_message().queue_url(&self.queue).wait_time_seconds(seconds);
        let received = receive.send().await.expect("a queue answers");
        received.messages().first().map(|message| serde_json::from_str(message.body().unwrap()).expect("JSON"))
    }

    async fn schedule(&self) -> GetScheduleOutput {
        scheduled(&self.aws.scheduler()).await.expect("it is there")
    }
}

fn off() -> FlexibleTimeWindow {
    FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build().unwrap()
}

async fn scheduled(client: &Client) -> Option<GetScheduleOutput> {
    client.get_schedule().group_name(NAME).name(NAME).send().await.ok()
}

fn fires_at(schedule: &GetScheduleOutput) -> Moment {
    let expression = schedule.schedule_expression().unwrap_or_default();
    let local = expression.strip_prefix("at(").and_then(|rest| rest.strip_suffix(')')).expect("an instant");
    Moment::parse(&format!("{local}Z")).expect("an instant")
}

/// As the function does: the event is read, the shards are swept, and the switch is pushed by whoever is to.
async fn wake(stage: &Stage, switch: &Switch, event: &Value) -> Option<Push> {
    let waking = Waking::of(event);
    let swept = stage.tick().await;
    let pushes = waking.pushes_after(&swept);
    stage.work_until(stage.now() + MINUTE).await;
    if pushes { Some(switch.push(SystemClock.now()).await.expect("the emulator answers")) } else { None }
}

async fn status_of_the_run(stage: &Stage, job: &str) -> Value {
    let (_, runs) = stage.ask("GET", &format!("/v1/jobs/{job}/runs"), None).await;
    runs["items"][0]["status"].clone()
}

/// Tried: ticks of which only the first pushes; ticks that do not push at all.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ticks_hold_it_back_and_when_they_stop_it_fires_and_the_pass_it_asks_for_catches_up() {
    let Some(kept) = Kept::new().await else { return };
    let stage = Stage::new(Listing::ByHour).await;
    for _ in 0..TICKS {
        let pushed = wake(&stage, &kept.switch, &json!({"source": "aws.scheduler"})).await;
        assert!(matches!(pushed, Some(Push::To(_) | Push::Recent)), "{pushed:?}");
        assert_eq!(kept.woken(PAUSE).await, None, "it was pushed in time");
    }
    // Due behind the horizon of the last pass: no hint of it was sent, and none is while nobody sweeps.
    let due = stage.now() + 7 * MINUTE;
    let wish = json!({"target": {"http": {"url": "https://example.com"}}, "schedule": {"at": due.to_string()}});
    let job = stage.create(&wish).await;
    let last = fires_at(&kept.schedule().await);

    stage.work_until(due + MINUTE).await;
    let before = status_of_the_run(&stage, &job).await;
    let event = match kept.woken(20).await {
        Some(event) => event,
        None => kept.woken(20).await.expect("ticks have stopped, so it fires"),
    };
    let fired = SystemClock.now();
    let pushed = wake(&stage, &kept.switch, &event).await;

    assert!(before != "succeeded", "nobody has swept: {before}");
    assert!(fired >= last, "not before its time");
    assert_eq!((&event, Waking::of(&event)), (&json!({"switch": "fired"}), Waking::Switch));
    assert_eq!(status_of_the_run(&stage, &job).await, "succeeded", "what was due meanwhile has run");
    let schedule = kept.schedule().await;
    assert!(matches!(pushed, Some(Push::To(at)) if at > fired && at == fires_at(&schedule)), "{pushed:?}");
}

/// Tried: pushes that leave out the target's input, or the description.
#[tokio::test]
async fn one_that_is_disabled_stays_so_and_one_that_is_gone_is_not_made_again() {
    let Some(kept) = Kept::new().await else { return };
    let client = kept.aws.scheduler();
    let made = kept.schedule().await;

    let twice = [kept.switch.push(SystemClock.now()).await, kept.switch.push(SystemClock.now()).await];
    let pushed = kept.schedule().await;
    let disable = client.update_schedule().group_name(NAME).name(NAME).state(ScheduleState::Disabled);
    let disable = disable.schedule_expression("at(2027-01-15T08:00:00)").flexible_time_window(off());
    disable.set_target(pushed.target.clone()).send().await.unwrap();
    let while_off = kept.switch.push(SystemClock.now()).await;
    let disabled = kept.schedule().await;
    client.delete_schedule().group_name(NAME).name(NAME).send().await.unwrap();
    let while_gone = kept.switch.push(SystemClock.now()).await;

    assert!(matches!(twice, [Ok(Push::To(at)), Ok(Push::Recent)] if at == fires_at(&pushed)), "{twice:?}");
    assert_eq!((&pushed.target, &pushed.description), (&made.target, &made.description), "only its time has changed");
    assert_eq!(while_off, Ok(Push::Off));
    assert_eq!(disabled.state(), Some(&ScheduleState::Disabled));
    assert_eq!(disabled.schedule_expression(), Some("at(2027-01-15T08:00:00)"));
    let Err(Fault::Unavailable { why, .. }) = &while_gone else { panic!("{while_gone:?}") };
    assert!(why.contains("ResourceNotFoundException"), "{why}");
    assert!(scheduled(&client).await.is_none());
}

/// Tried: a limit of nine seconds, which is the SDK's own patience.
#[tokio::test]
async fn a_scheduler_that_is_away_costs_two_seconds_and_is_a_fault_and_no_more() {
    let silent = Scripted::start(|_, _| Answer::None).await;
    let refusing = Scripted::start(|_, _| Answer::Error(StatusCode::FORBIDDEN, "AccessDeniedException")).await;
    let begun = Instant::now();

    let unanswered = Switch::new(&silent.sdk(), NAME.to_owned(), AHEAD).push(SystemClock.now()).await;
    let took = begun.elapsed();
    let refused = Switch::new(&refusing.sdk(), NAME.to_owned(), AHEAD).push(SystemClock.now()).await;

    assert!(matches!(&unanswered, Err(Fault::Unavailable { why, .. }) if why.contains("2 s")), "{unanswered:?}");
    assert!((Duration::from_secs(2)..Duration::from_secs(9)).contains(&took), "{took:?}");
    assert!(matches!(&refused, Err(Fault::Unavailable { why, .. }) if why.contains("AccessDenied")), "{refused:?}");
    assert_eq!(refusing.asked().len(), 1, "what may not be read is not written");
}
