//! Exporting: what the real process tells a collector by OTLP, and what it costs where that hangs or is away.

use std::process::Command;
use std::time::{Duration, Instant};

use opentelemetry_proto::tonic::metrics::v1::metric::Data;
use opentelemetry_proto::tonic::metrics::v1::number_data_point::Value as Number;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::client::Client;
use crate::collector::{Collector, texts};
use crate::patience::{eventually, say};
use crate::server::{Server, serve};
use crate::{SOON, create, finished_runs};

/// A server that is told to export to there, with these variables.
fn exporting(data: &TempDir, endpoint: &str, set: &[(&str, &str)]) -> Server {
    let mut command: Command = serve(data.path());
    command.args(["--drain-seconds", "1", "--otlp-endpoint", endpoint]).envs(set.iter().copied());
    Server::started(command)
}

/// Nobody listens there: no test asks for a port by its number, and the system gives none below 1024.
const NOWHERE: &str = "http://127.0.0.1:1";

async fn metrics(client: &Client) -> String {
    client.get("/metrics").await.body.as_str().expect("a text").to_owned()
}

async fn metric(client: &Client, line: &str) -> u64 {
    let text = metrics(client).await;
    let value = text.lines().find_map(|other| other.strip_prefix(line)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {line} in {text}")).parse().expect("a whole number")
}

async fn dropped(client: &Client, signal: &str) -> u64 {
    metric(client, &format!("minutehand_telemetry_dropped_total{{signal=\"{signal}\"}}")).await
}

/// It failed where the readings of the metrics, five a second here, had the first span of a batch wait anew.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_its_attempts_and_the_metrics_are_told_to_a_collector() {
    let (data, collector) = (tempfile::tempdir().unwrap(), Collector::start().await);
    let set =
        [("OTEL_METRIC_EXPORT_INTERVAL", "200"), ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")];
    let server = exporting(&data, &collector.url(), &set);
    let client = server.client();
    let retry = json!({ "max_retries": 1, "initial_delay_seconds": 1, "backoff": "fixed", "jitter": "none" });
    let failing = json!({ "target": { "http": { "url": "http://127.0.0.1:1/" } }, "retry": retry });
    let job = create(&client, failing).await;
    let runs = finished_runs(&client, &job, 1).await;

    let heard = eventually(SOON, "a run, two attempts and the end of it among the metrics", async || {
        let heard = collector.heard();
        let ended = matches!(&heard.metric("minutehand_runs_total")?.data, Some(Data::Sum(sum))
            if sum.data_points.iter().any(|point| point.value == Some(Number::AsDouble(1.0))));
        (ended && heard.named("run").len() == 1 && heard.named("attempt").len() == 2).then_some(heard)
    })
    .await;

    let ([run], [first, second]) = (&heard.named("run")[..], &heard.named("attempt")[..]) else { unreachable!() };
    assert_eq!(texts(&run.attributes)["minutehand.run"], runs[0]["run_id"].as_str().unwrap());
    assert_eq!((run.trace_id.len(), run.span_id.len(), &run.parent_span_id[..]), (16, 8, &[][..]));
    for attempt in [first, second] {
        assert_eq!((&attempt.trace_id, &attempt.parent_span_id), (&run.trace_id, &run.span_id));
        assert_eq!(texts(&attempt.attributes)["error.type"], "connect");
        assert!(run.start_time_unix_nano <= attempt.start_time_unix_nano, "{attempt:?}");
        assert!(attempt.end_time_unix_nano <= run.end_time_unix_nano, "{attempt:?}");
    }
    assert_eq!(first.links, []);
    assert_eq!((&second.links[0].trace_id, &second.links[0].span_id), (&first.trace_id, &first.span_id));
    assert_eq!(heard.resource["service.name"], "minutehand");
    assert_eq!(heard.resource["deployment.environment.name"], "test");
    let Some(Data::Histogram(lag)) = &heard.metric("minutehand_run_lag_seconds").unwrap().data else {
        panic!("a histogram")
    };
    assert_eq!(lag.data_points.iter().map(|point| point.count).sum::<u64>(), 1);
    assert_eq!((dropped(&client, "traces").await, dropped(&client, "metrics").await), (0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_sent_yet_is_sent_when_the_process_stops() {
    let (data, collector) = (tempfile::tempdir().unwrap(), Collector::start().await);
    let server = exporting(&data, &collector.url(), &[]);
    let client = server.client();
    let job = create(&client, json!({ "target": { "noop": {} } })).await;
    let _ended = finished_runs(&client, &job, 1).await;

    let ended = server.stop();

    assert!(ended.status.success(), "{ended:?}");
    let heard = collector.heard();
    assert_eq!((heard.named("run").len(), heard.named("attempt").len()), (1, 1));
    assert!(heard.metric("minutehand_attempts_total").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_exported_unless_it_is_asked_for() {
    let (data, collector) = (tempfile::tempdir().unwrap(), Collector::start().await);
    let mut command = serve(data.path());
    command.env("OTEL_SERVICE_NAME", "jobs").env("OTEL_METRIC_EXPORT_INTERVAL", "10");
    let server = Server::started(command);
    let client = server.client();
    let job = create(&client, json!({ "target": { "noop": {} } })).await;
    let _ended = finished_runs(&client, &job, 1).await;
    assert_eq!((dropped(&client, "traces").await, dropped(&client, "metrics").await), (0, 0));
    assert!(!server.stop().stderr.contains("OTLP"));
    assert_eq!((collector.heard().spans.len(), collector.heard().metrics.len()), (0, 0));
}

/// The variables are often set for everything on a machine. Removed, one after the other: a variable that means nothing is passed over, and it
/// would not start; what may be a password is left out of what is said.
#[tokio::test(flavor = "multi_thread")]
async fn a_variable_that_means_nothing_is_said_and_an_argument_refused() {
    let (data, endpoint) = (tempfile::tempdir().unwrap(), "https://user:word@otlp.example");
    let mut command = serve(data.path());
    command.env("OTEL_EXPORTER_OTLP_ENDPOINT", endpoint);
    let said = Server::started(command).stop().stderr;

    let wrong = Server::started_or_ended({
        let mut command = serve(data.path());
        command.args(["--otlp-endpoint", endpoint]);
        command
    });

    let Err(ended) = wrong else { panic!("it started") };
    assert!(ended.complaints()[0].contains("--otlp-endpoint is"), "{ended:?}");
    assert!(said.contains("nothing is exported") && !said.contains("word"), "{said}");
    assert!(!ended.complaints().concat().contains("word"), "{ended:?}");
}

const AT_ONCE: u64 = 1000;
/// Until the queue is full: it holds 4,096 spans, and a run has two.
const FILLING: u64 = 3;
/// Those that are measured, behind that.
const MEASURED: u64 = 4;
const ROUNDS: u64 = FILLING + MEASURED;

/// What a busy machine may add to each of them beside what it adds to some, in milliseconds.
const SLACK: f64 = 250.0;

/// A server with jobs that run, round by round.
struct Working {
    what: &'static str,
    server: Server,
    _data: TempDir,
}

impl Working {
    fn start(what: &'static str, endpoint: Option<&str>) -> Self {
        let data = tempfile::tempdir().unwrap();
        // No batch is given up meanwhile, so that the queue is full in the end.
        let set = [("OTEL_EXPORTER_OTLP_TIMEOUT", "600000")];
        let server = endpoint.map_or_else(|| Server::on(data.path()), |endpoint| exporting(&data, endpoint, &set));
        Self { what, server, _data: data }
    }

    /// A thousand jobs that are due at once; until all have run. The mean from due to begun in milliseconds: of a thousand runs the same number as their sum
    /// in seconds.
    async fn round(&self, number: u64) -> f64 {
        let client = self.server.client();
        let before = late_in_all(&client).await;
        let job = |job| json!({ "name": format!("{number} {job}"), "target": { "noop": {} } });
        let jobs: Vec<Value> = (0..AT_ONCE).map(job).collect();
        let made = client.post("/v1/jobs/batch", json!({ "jobs": jobs })).await;
        assert_eq!(made.status, 200, "{}", made.body);
        let wanted = AT_ONCE * (number + 1);
        eventually(Duration::from_secs(120), "all have run", async || {
            let run = metric(&client, "minutehand_runs_total{status=\"succeeded\"}").await;
            (run >= wanted).then_some(())
        })
        .await;
        late_in_all(&client).await - before
    }
}

/// From due to begun: the seconds of all runs so far together.
async fn late_in_all(client: &Client) -> f64 {
    let text = metrics(client).await;
    let sums = text.lines().filter_map(|line| line.strip_prefix("minutehand_run_lag_seconds_sum{"));
    sums.map(|sum| sum.rsplit(' ').next().unwrap_or_default().parse::<f64>().expect("seconds")).sum()
}

fn least_and_most(lags: &[f64]) -> (f64, f64) {
    lags.iter().fold((f64::INFINITY, 0.0), |(least, most), lag| (f64::min(least, *lag), f64::max(most, *lag)))
}

/// A busy machine makes some rounds slow, a collector that is waited for each of them: so the best round with one is compared with the worst without, and as
/// much is allowed above that as the best without lies below it. More spans than the queue holds. Which bounds were removed, and seen to be missed: the tests of `minutehand-otel`.
#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_hangs_or_is_away_makes_no_run_late_and_holds_no_end_up() {
    let hanging = Collector::hanging().await;
    let (without, hangs, gone) = (
        Working::start("nobody is told", None),
        Working::start("the collector hangs", Some(&hanging.url())),
        Working::start("the collector is away", Some(NOWHERE)),
    );

    let mut lags: [Vec<f64>; 3] = Default::default();
    for number in 0..ROUNDS {
        for (working, lags) in [&without, &hangs, &gone].into_iter().zip(&mut lags) {
            let lag = working.round(number).await;
            if number >= FILLING {
                lags.push(lag);
            }
        }
    }

    let [usual, while_it_hangs, while_it_is_away] = lags;
    let (least, most) = least_and_most(&usual);
    for (working, lags) in [(hangs, while_it_hangs), (gone, while_it_is_away)] {
        let (client, (best, _)) = (working.server.client(), least_and_most(&lags));
        let lost = dropped(&client, "traces").await;
        let told = format!("{best:.0} ms late at best, {least:.0} to {most:.0} ms without");
        say(&format!("{}: {told}; {lost} spans dropped", working.what));
        assert!(best <= most + (most - least) + SLACK, "{}: {told}", working.what);
        // Two spans of each run, the queue, and a batch under way.
        let told = 2 * AT_ONCE * ROUNDS;
        assert!(lost >= told - 4096 - 512 && lost < told, "{}: {lost} of {told}", working.what);
        assert_eq!(dropped(&without.server.client(), "traces").await, 0);
        let begin = Instant::now();
        let ended = working.server.stop();
        // A second to drain, five for the collector, and what a busy machine adds.
        assert!(
            ended.status.success() && begin.elapsed() < Duration::from_secs(20),
            "{:?}: {ended:?}",
            begin.elapsed()
        );
    }
}

/// Removed: links are left out of what is told.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_links_to_whoever_made_its_job_and_is_told_only_where_that_is_sampled() {
    let (data, collector) = (tempfile::tempdir().unwrap(), Collector::start().await);
    let server = exporting(&data, &collector.url(), &[]);
    for sampled in ["00", "01"] {
        let job = crate::tracing::create(&server, sampled, &json!({ "target": { "noop": {} } })).await;
        let _ended = finished_runs(&server.client(), &job, 1).await;
    }

    assert!(server.stop().status.success());

    let heard = collector.heard();
    let [run] = heard.named("run")[..] else { panic!("{:?}", heard.spans) };
    let trace = b"\x4b\xf9\x2f\x35\x77\xb3\x4d\xa6\xa3\xce\x92\x9d\x0e\x0e\x47\x36";
    assert_eq!(
        (&run.links[0].trace_id[..], run.links[0].trace_state.as_str(), run.links[0].flags),
        (&trace[..], "rojo=1", 1)
    );
    assert_ne!(&run.trace_id[..], trace);
}
