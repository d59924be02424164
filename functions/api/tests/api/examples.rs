//! The pages of examples, `docs/api.md` and others: every command is run, in order, and answered as the page shows.

mod page;
mod shown;

use std::collections::{BTreeMap, BTreeSet};

use axum::body::Body;
use http::Request;
use minutehand_api::{Backups, Keyring, Metrics, TargetCheck};
use minutehand_domain::id::Tenant;
use minutehand_domain::job::Job;
use minutehand_domain::run::{AttemptError, ErrorCode, Outcome, Run};
use minutehand_domain::target::Target;
use minutehand_io::targets::Declared;
use minutehand_io::targets::http::{Reach, check_target};
use minutehand_protocol::run::claim::ClaimedRun;
use prometheus::Registry;
use serde_json::Value;

use self::page::{Command, Example};
use crate::roles::{OPEN, ROUTES};
use crate::world::{Answer, World, echo, failed, succeeded};

const PAGE: &str = include_str!("../../../../docs/api.md");
const WORKFLOWS: &str = include_str!("../../../../docs/workflows.md");
const POLICIES: &str = include_str!("../../../../docs/policies.md");
const WORKERS: &str = include_str!("../../../../docs/workers.md");
const TARGETS: &str = include_str!("../../../../docs/targets.md");
const KEY: &str = "the key of this deployment";

/// What `minutehand serve` would be, with nobody listening at any target.
fn world() -> World {
    let metrics = Metrics::new(Registry::new()).unwrap();
    let check = TargetCheck::new(|target| check_target(target, Reach::Loopback)).declaring(declared());
    let backups = Backups::new(|| Some(Body::from("all of it")));
    World::hosted(Keyring::single(KEY, Tenant::deployment()), check, Some(metrics), Some(backups))
}

/// What the page of targets shows how to declare.
fn declared() -> Declared {
    let (_, from) = TARGETS.split_once("```json\n").unwrap();
    Declared::read(from.split_once("```").unwrap().0).unwrap()
}

fn end(job: &Job, _run: &Run) -> Outcome {
    match job.definition.target {
        Target::Noop | Target::Workflow(_) | Target::Worker(_) | Target::Service(_) => succeeded(),
        Target::Http(_) => failed(ErrorCode::Connect),
    }
}

/// What is behind a task's target, as the page of workflows says.
fn answered(claimed: &ClaimedRun) -> Outcome {
    match &claimed.order.target {
        Target::Http(http) if http.url.ends_with("/broken") => {
            let error = AttemptError { retryable: false, ..ErrorCode::Http4xx.error("400 Bad Request") };
            Outcome::Failed { error, retry_after: None }
        }
        Target::Http(_) | Target::Noop | Target::Workflow(_) | Target::Worker(_) | Target::Service(_) => echo(claimed),
    }
}

async fn run(world: &World, command: &Command) -> Answer {
    let request = Request::builder().method(command.method.as_str()).uri(&command.path);
    let request = command.headers.iter().fold(request, |request, (name, value)| request.header(name, value));
    let answer = world.send(request.body(Body::from(command.body.clone())).unwrap()).await;
    world.work_on(|job, run| Some(end(job, run)), answered).await;
    world.pass(1);
    answer
}

fn is_of(path: &str, route: &str) -> bool {
    let (path, route): (Vec<_>, Vec<_>) =
        (path.split('?').next().unwrap().split('/').collect(), route.split('/').collect());
    path.len() == route.len() && path.iter().zip(route).all(|(part, of)| of.starts_with('{') || *part == of)
}

#[tokio::test]
async fn every_example_is_answered_as_the_page_shows() {
    let routes: Vec<_> = ROUTES.iter().map(|(method, route, _)| (*method, *route)).chain(OPEN).collect();

    let mut met = BTreeSet::new();
    for page in [PAGE, WORKFLOWS, POLICIES, WORKERS] {
        met.extend(met_on(page, &routes).await);
    }

    let missing: Vec<_> = routes.iter().filter(|route| !met.contains(*route) && route.1 != "/openapi.json").collect();
    assert!(missing.is_empty(), "no example shows {missing:?}");
}

type Address = (&'static str, &'static str);

/// The routes that a page shows.
async fn met_on(page: &str, routes: &[Address]) -> Vec<Address> {
    let world = world();
    let mut known = BTreeMap::from([("MINUTEHAND_KEY".to_owned(), KEY.to_owned())]);
    let mut met = Vec::new();
    for Example { commands, shown } in page::examples(page) {
        let last = commands.len() - 1;
        for (number, command) in commands.iter().enumerate() {
            let command = command.read(&known);
            let answer = run(&world, &command).await;
            if let Some(shown) = shown.as_ref().filter(|_| number == last) {
                shown.compare(&answer, &mut known).unwrap_or_else(|why| panic!("{command:?}\n{why}\n{answer:?}"));
            } else {
                assert!(answer.status.is_success(), "{command:?}\n{answer:?}");
            }
            if answer.status.is_success() {
                let of = |(method, route): &&Address| *method == command.method && is_of(&command.path, route);
                met.extend(routes.iter().find(of));
            }
        }
    }
    met
}

/// By status and type, in the page and in the description that is made from the code.
#[tokio::test]
async fn the_page_lists_the_problems_that_there_are() {
    let described = world().send(Request::builder().uri("/openapi.json").body(Body::empty()).unwrap()).await;
    let described = described.json();

    let (mut texts, mut told) = (vec![&described], BTreeSet::new());
    while let Some(value) = texts.pop() {
        match value {
            Value::Array(items) => texts.extend(items),
            Value::Object(fields) => texts.extend(fields.values()),
            Value::String(text) => told.extend(page::problems(text)),
            _ => {}
        }
    }

    assert!(told.len() > 10, "{told:?}");
    assert_eq!(page::problems(PAGE).collect::<BTreeSet<_>>(), told);
}

#[test]
fn what_is_shown_is_compared() {
    use self::shown::Shown;

    let answer = Answer {
        status: http::StatusCode::OK,
        headers: http::HeaderMap::from_iter([(http::header::ETAG, http::HeaderValue::from_static("\"1\""))]),
        text: r#"{"job_id":"job_1","n":7,"list":[{"a":1,"b":null}]}"#.to_owned(),
    };
    for (shown, fits) in [
        ("HTTP/1.1 200 OK\n", true),
        ("HTTP/1.1 201 Created\n", false),
        ("HTTP/1.1 200 Fine\n", false),
        ("HTTP/1.1 200 OK\netag: \"1\"\n", true),
        ("HTTP/1.1 200 OK\netag: \"2\"\n", false),
        ("HTTP/1.1 200 OK\nlocation: x\n", false),
        ("HTTP/1.1 200 OK\n\n{\"job_id\": \"<JOB>\", \"n\": \"<number>\", \"list\": [{\"a\": 1, \"b\": null}]}", true),
        ("HTTP/1.1 200 OK\n\n{\"job_id\": \"<KNOWN>\", \"…\": \"…\"}", false),
        ("HTTP/1.1 200 OK\n\n{\"job_id\": \"job_<one>\", \"list\": [\"…\"], \"…\": \"…\"}", true),
        ("HTTP/1.1 200 OK\n\n{\"job_id\": \"run_<one>\", \"…\": \"…\"}", false),
        ("HTTP/1.1 200 OK\n\n{\"n\": 7}", false),
        ("HTTP/1.1 200 OK\n\n{\"n\": 8, \"…\": \"…\"}", false),
        ("HTTP/1.1 200 OK\n\n{\"m\": \"<any>\", \"…\": \"…\"}", false),
        ("HTTP/1.1 200 OK\n\n{\"list\": [], \"…\": \"…\"}", false),
        ("HTTP/1.1 200 OK\n\n{\"list\": [{\"a\": \"<n>\", \"…\": \"…\"}], \"…\": \"…\"}", true),
    ] {
        let mut known = BTreeMap::from([("KNOWN".to_owned(), "job_2".to_owned())]);

        let compared = Shown::read(shown).compare(&answer, &mut known);

        assert_eq!(compared.is_ok(), fits, "{shown}: {compared:?}");
        assert_eq!(known.get("JOB").map_or("job_1", String::as_str), "job_1");
    }
}
