//! Traces: what a request says of the trace that it is made in is kept with what it makes, shown, and passed on.

use std::time::Duration;

use minutehand_domain::run::{ErrorCode, Run};
use minutehand_domain::trace::{Sampling, SpanId, TraceContext};
use minutehand_domain::workflow::definition::Definition;
use serde_json::{Value, json};

use crate::graphs::{task, workflow_id};
use crate::world::{ACME_KEY, Answer, START, World, failed, request, succeeded};

const DAY: Duration = Duration::from_secs(86_400);

const ONE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
const OTHER: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00";

async fn within(world: &World, headers: &[(&str, &str)], path: &str, body: &Value) -> Answer {
    let request = request("POST", path, ACME_KEY).header("content-type", "application/json");
    let request = headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    world.send(request.body(body.to_string().into()).unwrap()).await
}

fn context(traceparent: &str) -> TraceContext {
    TraceContext::parse(traceparent, None).unwrap()
}

fn on_demand() -> Value {
    json!({"schedule": {"on_demand": true}, "target": {"noop": {}}, "retry": {"max_retries": 0}})
}

async fn stored(world: &World, id: &str) -> Run {
    world.stored_run(id).await.unwrap()
}

#[tokio::test]
async fn the_trace_that_a_job_was_made_in_is_kept_and_its_runs_link_to_it() {
    let world = World::new();
    let made =
        within(&world, &[("traceparent", ONE), ("tracestate", "rojo=1,congo=2")], "/v1/jobs", &on_demand()).await;
    let run = world.run_of(&made.word("/job_id")).await;
    world.work(|_, _| succeeded()).await;

    let job = world.get(&format!("/v1/jobs/{}", made.word("/job_id"))).await;
    let shown = world.get(&format!("/v1/runs/{run}")).await;

    let creator = json!({"traceparent": ONE, "tracestate": "rojo=1,congo=2"});
    assert_eq!(
        [made.field("/trace"), job.field("/trace"), shown.field("/trace/creator")],
        [(); 3].map(|()| creator.clone())
    );
    let run = stored(&world, &run).await;
    assert_eq!(shown.word("/trace/trace_id"), run.trace_id().to_string());
    assert_ne!(run.trace_id(), context(ONE).trace, "what lies hours apart is a link, and no child");
    assert_eq!(run.links().iter().map(|link| link.span).collect::<Vec<_>>(), [context(ONE).span]);
    assert_eq!((shown.field("/trace/sampled"), run.context().sampled), (json!(true), true));
}

#[tokio::test]
async fn what_is_no_trace_is_as_if_there_were_none() {
    let world = World::new();
    let state = "k=v,".repeat(40);
    for headers in [
        &[("traceparent", "00-4BF92F3577B34DA6A3CE929D0E0E4736-00F067AA0BA902B7-01")][..],
        &[("traceparent", "00-00000000000000000000000000000000-00f067aa0ba902b7-01")],
        &[("traceparent", "no trace")],
        &[("traceparent", ONE), ("traceparent", OTHER)],
        &[("tracestate", "rojo=1")],
    ] {
        let made = within(&world, headers, "/v1/jobs", &on_demand()).await;
        assert_eq!((made.status.as_u16(), made.json().get("trace")), (201, None), "{headers:?}");
    }

    let kept = within(&world, &[("traceparent", ONE), ("tracestate", &state)], "/v1/jobs", &on_demand()).await;

    assert_eq!(kept.field("/trace"), json!({"traceparent": ONE}), "a state that is none leaves the parent");
}

/// Tried: without the trace of whoever asks, the run links to its job's creator.
#[tokio::test]
async fn a_run_that_is_asked_for_is_as_its_askers_trace_is() {
    let world = World::new();
    let job = within(&world, &[("traceparent", ONE)], "/v1/jobs", &on_demand()).await.word("/job_id");

    let asked = within(&world, &[("traceparent", OTHER)], &format!("/v1/jobs/{job}/run"), &json!({})).await;

    assert_eq!(asked.word("/trace/creator/traceparent"), OTHER, "{}", asked.text);
    assert_eq!(asked.field("/trace/sampled"), json!(false));
    let run = stored(&world, &asked.word("/run_id")).await;
    assert_eq!(run.links(), [context(OTHER)]);
}

/// Tried: without the trace in the operation's stored shape, what its later looks make links to its job's creator.
#[tokio::test]
async fn what_a_backfill_makes_is_as_its_askers_trace_is_though_it_is_made_by_a_later_look() {
    let world = World::new();
    let hourly = json!({"schedule": {"cron": "0 * * * *"}, "target": {"noop": {}}});
    let job = within(&world, &[("traceparent", ONE)], "/v1/jobs", &hourly).await.word("/job_id");
    let span = json!({"from": (START - DAY * 30).to_string(), "to": START.to_string()});

    let asked = within(&world, &[("traceparent", OTHER)], &format!("/v1/jobs/{job}/backfill"), &span).await;
    assert_eq!((asked.status.as_u16(), asked.field("/runs")), (202, json!(720)), "{}", asked.text);
    let at_first = creators(&world, &job).await;
    for _ in 0..60 {
        world.pass(6);
        world.work(|_, _| succeeded()).await;
    }

    let creators = creators(&world, &job).await;
    assert!(at_first.len() < 720, "{}", at_first.len());
    assert_eq!(creators, vec![json!({"sampled": false, "creator": {"traceparent": OTHER}}); 720]);
}

/// What is shown of the traces of a job's backfilled runs, but for their own ids.
async fn creators(world: &World, job: &str) -> Vec<Value> {
    let page = world.get(&format!("/v1/jobs/{job}/runs?from=2020-01-01T00:00:00Z&limit=1000")).await;
    let runs = page.field("/items").as_array().unwrap().clone();
    let backfilled = runs.into_iter().filter(|run| run["origin"] == "backfill");
    let shown = |run: Value| json!({"sampled": run["trace"]["sampled"], "creator": run["trace"]["creator"]});
    backfilled.map(shown).collect()
}

/// What was decided at a birth is kept: another process may have another ratio. Tried: with it decided anew by whoever claims.
#[tokio::test]
async fn a_ratio_decides_once_at_the_birth_of_a_run() {
    let world = World::new();
    let job = world.job_of(on_demand()).await;
    let every = world.job(json!({"every_seconds": 3600})).await;
    *world.ports.sampling.lock().unwrap() = Sampling::NONE;
    let dropped = world.run_of(&job).await;
    world.pass(3600);
    world.work(|_, _| failed(ErrorCode::Http4xx)).await;
    let occurrence = world.get(&format!("/v1/jobs/{every}/runs")).await.word("/items/0/run_id");
    *world.ports.sampling.lock().unwrap() = Sampling::ALL;

    let again = world.tell(&format!("/v1/runs/{dropped}/retry")).await.word("/run_id");
    world.work(|_, _| succeeded()).await;
    let kept = world.run_of(&job).await;
    *world.ports.sampling.lock().unwrap() = Sampling::NONE;
    world.work(|_, _| failed(ErrorCode::Http4xx)).await;
    let kept_again = world.tell(&format!("/v1/runs/{kept}/retry")).await.word("/run_id");

    for (id, sampled) in [(dropped, false), (occurrence, false), (again, false), (kept, true), (kept_again, true)] {
        assert_eq!(stored(&world, &id).await.is_sampled(), sampled, "{id}");
    }
}

#[tokio::test]
async fn another_try_links_to_the_run_before_and_is_sampled_as_that() {
    let world = World::new();
    let job = within(&world, &[("traceparent", OTHER)], "/v1/jobs", &on_demand()).await.word("/job_id");
    let before = world.run_of(&job).await;
    world.work(|_, _| failed(ErrorCode::Http4xx)).await;

    let path = format!("/v1/runs/{before}/retry");
    let again = within(&world, &[("traceparent", ONE)], &path, &json!({})).await.word("/run_id");

    let (before, again) = (stored(&world, &before).await, stored(&world, &again).await);
    assert_eq!(again.links(), [context(OTHER), before.context()]);
    assert!(!again.is_sampled() && again.trace_id() != before.trace_id());
}

#[tokio::test]
async fn who_is_told_of_an_end_is_in_a_trace_that_links_to_it() {
    let world = World::new();
    let mut asked = on_demand();
    asked["callback"] = json!({"url": "https://example.com/told"});
    let job = within(&world, &[("traceparent", OTHER)], "/v1/jobs", &asked).await.word("/job_id");
    let run = world.run_of(&job).await;
    world.work(|_, _| succeeded()).await;

    let teller = world.get(&format!("/v1/runs/{run}")).await.word("/callback/run_id");

    let (run, teller) = (stored(&world, &run).await, stored(&world, &teller).await);
    assert_eq!(teller.links().last(), Some(&run.context()));
    assert!(!teller.is_sampled());
}

#[tokio::test]
async fn a_follower_links_to_the_run_that_it_follows() {
    let world = World::new();
    let first = within(&world, &[("traceparent", OTHER)], "/v1/jobs", &on_demand()).await.word("/job_id");
    let behind = world.job(json!({"after": {"job": first}})).await;
    let run = world.run_of(&first).await;
    world.work(|_, _| succeeded()).await;

    let follower = world.get(&format!("/v1/jobs/{behind}/runs")).await.word("/items/0/run_id");

    let (run, follower) = (stored(&world, &run).await, stored(&world, &follower).await);
    assert_eq!(follower.links(), [run.context()]);
    assert!(!follower.is_sampled());
}

/// Tried: with tasks that are born without the tasks before them; and with tasks that name them though nobody is told of their spans.
#[tokio::test]
async fn tasks_are_in_the_trace_of_their_workflows_run_and_link_to_the_tasks_before_them() {
    for (said, is_sampled) in [(ONE, true), (OTHER, false)] {
        let world = World::new();
        let tasks = vec![task("a", &[]), task("b", &[]), task("c", &["a", "b"])];
        world.workflow(1, Definition::new(tasks)).await;
        let path = format!("/v1/workflows/{}/run", workflow_id(1));
        let run = within(&world, &[("traceparent", said)], &path, &json!({})).await.word("/run_id");
        world.carry_on().await;

        let shown = world.get(&format!("/v1/runs/{run}")).await;
        let mut of = Vec::new();
        for key in ["a", "b", "c"] {
            let id = world.task(&run, key).await["run_id"].as_str().unwrap().to_owned();
            of.push(stored(&world, &id).await);
        }

        let whole = stored(&world, &run).await;
        assert_eq!(shown.word("/trace/trace_id"), whole.trace_id().to_string());
        let is_of_it = |task: &Run| task.trace_id() == whole.trace_id() && task.is_sampled() == is_sampled;
        assert!(of.iter().all(is_of_it), "{of:?}");
        let links = |run: &Run| run.links().iter().map(|link| link.span).collect::<Vec<_>>();
        assert_eq!([links(&of[0]), links(&of[1])], [vec![], vec![]]);
        let before = if is_sampled { vec![SpanId::of_run(of[0].key), SpanId::of_run(of[1].key)] } else { vec![] };
        assert_eq!(links(&of[2]), before);
    }
}

/// Tried: with the span of the run for that of its attempt.
#[tokio::test]
async fn a_worker_is_told_of_the_span_that_its_attempt_is() {
    let world = World::new();
    let run = world.ready(json!({"timeout_seconds": 3600})).await;
    let first = world.taken().await;
    world.pass(120);
    world.offer().await;
    let second = world.taken().await;

    let stored = stored(&world, &run).await;
    let told = [1, 2].map(|attempt| json!(stored.attempt_context(attempt).to_string()));
    assert_eq!([&first.0["traceparent"], &second.0["traceparent"]], [&told[0], &told[1]]);
    assert_ne!(told[0], told[1]);
    assert_eq!(first.0.get("tracestate"), None);
}

/// What a caller carries is for whoever it calls, and not for whom a job calls later on. Tried: with `baggage` read as a state.
#[tokio::test]
async fn baggage_is_kept_nowhere() {
    let world = World::new();
    let headers = [("traceparent", ONE), ("baggage", "who=nobody-may-know")];

    let made = within(&world, &headers, "/v1/jobs", &on_demand()).await;
    let path = format!("/v1/jobs/{}/run", made.word("/job_id"));
    let run = within(&world, &headers, &path, &json!({})).await;

    let kept =
        format!("{:?}{:?}", world.stored_job(&made.word("/job_id")).await, stored(&world, &run.word("/run_id")).await);
    assert!(kept.contains("4bf92f3577b34da6a3ce929d0e0e4736"), "{kept}");
    assert!(!kept.contains("nobody-may-know") && !run.text.contains("nobody-may-know"), "{kept}");
}
