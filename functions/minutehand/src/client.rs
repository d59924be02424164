//! The client: `minutehand` as those use it who have a server already.
//!
//! What is said on the command line becomes a call of `minutehand-client`, which a `session` sends to the server that the
//! `connection` names; its answer is shown as a `table`, or is a `failure`. Each command has a module of its own.

mod audit;
mod backfill;
mod bulk;
mod calendars;
mod cells;
mod clock;
mod completion;
pub(crate) mod connection;
mod dead;
mod failure;
mod fires;
mod input;
mod instant;
mod jobs;
mod keys;
mod list;
mod notifications;
mod operations;
mod preview;
mod problem;
mod quotas;
mod runs;
mod secrets;
mod session;
mod signing_secret;
mod span;
mod stats;
mod table;
mod targets;
mod tenants;
mod why;
#[cfg(unix)]
mod work;
mod workers;
mod workflow_runs;
mod workflows;
mod yaml;

use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use minutehand_client::is_id;
use serde::de::DeserializeOwned;
use serde_json::Value;

use self::bulk::Bulk;
use self::calendars::Calendars;
use self::completion::Completion;
pub(crate) use self::connection::Connection;
use self::dead::Dead;
pub(crate) use self::failure::{EXIT_CODES, Failure};
use self::jobs::Jobs;
use self::keys::Keys;
use self::notifications::Notifications;
use self::operations::Operations;
use self::quotas::Quotas;
use self::runs::Runs;
use self::secrets::Secrets;
pub(crate) use self::session::Session;
use self::signing_secret::SigningSecret;
use self::targets::Targets;
use self::tenants::Tenants;
#[cfg(unix)]
pub(crate) use self::work::{GUARD, guard};
use self::workers::{Pools, Workers};
use self::workflow_runs::WorkflowRuns;
use self::workflows::Workflows;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Make, show, change and run jobs
    #[command(after_help = EXIT_CODES)]
    Jobs(Group<Jobs>),
    /// Show, follow, retry and cancel runs
    #[command(after_help = EXIT_CODES)]
    Runs(Group<Runs>),
    /// Show what failed for good; try it again, or dismiss it
    #[command(visible_alias = "dead-letters", after_help = EXIT_CODES)]
    Dead(Group<Dead>),
    /// Make, show, change and run graphs of tasks
    #[command(visible_alias = "workflow", after_help = EXIT_CODES)]
    Workflows(Group<Workflows>),
    /// Show, follow and steer runs of workflows: answer approvals, decide about failures that are held
    #[command(after_help = EXIT_CODES)]
    WorkflowRuns(Group<WorkflowRuns>),
    /// Show who carries runs out elsewhere
    #[command(after_help = EXIT_CODES)]
    Workers(Group<Workers>),
    /// List pools: who works for each, and how much waits in it
    #[command(after_help = "\
Examples:
  minutehand pools
  minutehand pools --json | jq -r '.items[] | select(.workers.live == 0 and .waiting_since) | .pool'")]
    Pools(Pools),
    /// List the services of AWS that jobs may call: their aliases, which the operator of the deployment declared
    #[command(after_help = "\
Examples:
  minutehand targets
  minutehand targets --json | jq -r '.items[] | select(.kind == \"sqs\") | .alias'")]
    Targets(Targets),
    /// Say when a cron expression fires, in words and in instants
    #[command(after_help = "\
Examples:
  minutehand preview '0 2 1 * *' --tz Europe/Paris
  minutehand preview '30 2 * * *' --tz America/New_York --from 2027-03-13T00:00:00Z --count 3
  minutehand preview @hourly --json | jq -r '.fires[].at'")]
    Preview(preview::Ask),
    /// Say what an instant of a job came to, or will, and which rule decided; or where the time of a run went
    #[command(after_help = "\
Examples:
  minutehand why job_06gzmvcpq5xc3xgyx14fxfeyh0 --at 2027-03-14T02:30:00-05:00
  minutehand why run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0
  minutehand why run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --json | jq '.stages[] | select(.seconds > 1)'")]
    Why(why::Ask),
    /// Show what fires next, across all jobs
    #[command(after_help = "\
Examples:
  minutehand fires
  minutehand fires --from 6h --to 10h --per-job 100
  minutehand fires --per-job 1 --json | jq -r '.items[] | [.effective_at, .job_id] | @tsv'")]
    Fires(fires::Ask),
    /// Make up for what a job was due in a span of the past
    #[command(after_help = "\
By the schedule that is in force now. What has run is not run again.

Examples:
  minutehand backfill job_06gzmvcpq5xc3xgyx14fxfeyh0 --from 7d --dry-run
  minutehand backfill job_06gzmvcpq5xc3xgyx14fxfeyh0 --from 2030-01-01T00:00:00Z --to 2030-02-01T00:00:00Z --wait
  minutehand operations cancel op_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Backfill(backfill::Ask),
    /// Pause, resume or cancel many jobs; cancel, retry or dismiss many runs
    #[command(after_help = EXIT_CODES)]
    Bulk(Group<Bulk>),
    /// Show, pause, resume and cancel what is done to many at once, backfills among them
    #[command(visible_alias = "ops", after_help = EXIT_CODES)]
    Operations(Group<Operations>),
    /// Make, list, revoke and rotate API keys
    #[command(after_help = EXIT_CODES)]
    Keys(Group<Keys>),
    /// Show and set a tenant's limits
    #[command(after_help = EXIT_CODES)]
    Quotas(Group<Quotas>),
    /// Erase a tenant whole
    #[command(after_help = EXIT_CODES)]
    Tenants(Group<Tenants>),
    /// Write, show, import and delete calendars: when nothing fires of the jobs that heed them
    #[command(after_help = EXIT_CODES)]
    Calendars(Group<Calendars>),
    /// Write, list and delete what calls need and nobody is shown
    #[command(after_help = EXIT_CODES)]
    Secrets(Group<Secrets>),
    /// Write, list, try out and delete notifications: whom the ends of runs are told to, in digests
    #[command(after_help = EXIT_CODES)]
    Notifications(Group<Notifications>),
    /// Show what admins did to keys, secrets, quotas and the signing secret, what people did to jobs and runs, and repairs, newest first
    #[command(after_help = "\
Examples:
  minutehand audit
  minutehand audit --from 7d --all
  minutehand audit --json | jq -r '.items[] | select(.outcome != \"done\")'")]
    Audit(audit::Ask),
    /// Show and rotate the secret by which calls to targets are signed
    #[command(after_help = EXIT_CODES)]
    SigningSecret(Group<SigningSecret>),
    /// Show how things go: counts, rate and lag of the last runs
    #[command(after_help = "\
Examples:
  minutehand stats
  minutehand stats --minutes 5
  minutehand stats --json | jq .lag_ms.p99")]
    Stats(stats::Ask),
    /// Work for a pool: take its runs and carry them out by commands of this host, which a file names
    #[cfg(unix)]
    #[command(after_help = WORK)]
    Work(work::Ask),
    /// Print a completion script for a shell
    #[command(after_help = "\
Examples:
  minutehand completion bash > ~/.local/share/bash-completion/completions/minutehand
  minutehand completion zsh > \"${fpath[1]}/_minutehand\"
  minutehand completion fish > ~/.config/fish/completions/minutehand.fish")]
    Completion(Completion),
}

/// For `work --help`.
#[cfg(unix)]
const WORK: &str = "\
Examples:
  minutehand work --pool web1 --commands commands.toml
  minutehand work --pool web1 --commands commands.toml --check
  minutehand work --pool web1 --commands commands.toml --name web1-a --slots 8 --server https://minutehand.example.com

The file:
  [command.\"invoice.send\"]                        # the handler that jobs name
  run = [\"python3\", \"send.py\", \"{invoice}\"]       # no shell; {invoice} is a field of the payload, and one argument
  user = \"invoices\"                               # needs root
  directory = \"/srv/invoices\"
  env = { MODE = \"live\" }                         # beside PATH, HOME and LANG
  pass_env = [\"SMTP_PASSWORD\"]
  time_limit_seconds = 600
  kill_grace_seconds = 10                         # between SIGTERM and SIGKILL
  result = \"last_line\"                            # of stdout, where it is JSON
  [command.\"invoice.send\".exit]                   # success, fail, retry or hand_back
  3 = \"fail\"                                      # else 0 is success, and anything else is tried again

The payload is its stdin too. MINUTEHAND_RUN, _ATTEMPT, _FENCE, _IDEMPOTENCY_KEY and _CHECKPOINT tell of the run. Each line that
it writes is a line of the run's log; `::progress 0.5 sending` and `::checkpoint {\"page\": 7}` say how far it is.";

/// Commands about one thing.
#[derive(Debug, Args)]
pub(crate) struct Group<C: Subcommand> {
    #[command(subcommand)]
    command: C,
    #[command(flatten)]
    connection: Connection,
}

/// Carries the command out; its exit code is what it came to.
pub(crate) async fn client(command: Command) -> ExitCode {
    let verbose = command.connection().is_some_and(|connection| connection.verbose);
    match execute(command).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.exit(verbose),
    }
}

async fn execute(command: Command) -> Result<(), Failure> {
    match command {
        Command::Jobs(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Runs(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Dead(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Workflows(Group { command, connection }) => match command.alone() {
            Some(validate) => validate.execute(connection.json),
            None => command.execute(&Session::open(&connection)?).await,
        },
        Command::WorkflowRuns(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Workers(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Pools(pools) => pools.execute().await,
        Command::Targets(targets) => targets.execute().await,
        Command::Preview(preview) => preview.execute().await,
        Command::Why(why) => why.execute().await,
        Command::Fires(fires) => fires.execute().await,
        Command::Backfill(backfill) => backfill.execute().await,
        Command::Bulk(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Operations(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Keys(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Quotas(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Tenants(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Calendars(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Secrets(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Notifications(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Audit(audit) => audit.execute().await,
        Command::SigningSecret(Group { command, connection }) => command.execute(&Session::open(&connection)?).await,
        Command::Stats(stats) => stats.execute().await,
        #[cfg(unix)]
        Command::Work(work) => work.execute().await,
        Command::Completion(completion) => completion.execute(),
    }
}

impl Command {
    /// None where no server is asked.
    fn connection(&self) -> Option<&Connection> {
        match self {
            Self::Jobs(group) => Some(&group.connection),
            Self::Runs(group) => Some(&group.connection),
            Self::Dead(group) => Some(&group.connection),
            Self::Workflows(group) => Some(&group.connection),
            Self::WorkflowRuns(group) => Some(&group.connection),
            Self::Workers(group) => Some(&group.connection),
            Self::Pools(pools) => Some(&pools.connection),
            Self::Targets(targets) => Some(&targets.connection),
            Self::Preview(preview) => Some(&preview.connection),
            Self::Why(why) => Some(&why.connection),
            Self::Fires(fires) => Some(&fires.connection),
            Self::Backfill(backfill) => Some(&backfill.connection),
            Self::Bulk(group) => Some(&group.connection),
            Self::Operations(group) => Some(&group.connection),
            Self::Keys(group) => Some(&group.connection),
            Self::Quotas(group) => Some(&group.connection),
            Self::Tenants(group) => Some(&group.connection),
            Self::Calendars(group) => Some(&group.connection),
            Self::Secrets(group) => Some(&group.connection),
            Self::Notifications(group) => Some(&group.connection),
            Self::Audit(audit) => Some(&audit.connection),
            Self::SigningSecret(group) => Some(&group.connection),
            Self::Stats(stats) => Some(&stats.connection),
            #[cfg(unix)]
            Self::Work(work) => Some(&work.connection),
            Self::Completion(_) => None,
        }
    }
}

/// An id as the path names it. Checked here, because `..` in a path would mean another request.
fn id(text: &str) -> Result<String, String> {
    if is_id(text) { Ok(text.to_owned()) } else { Err("an id has only letters, digits, _ and -".to_owned()) }
}

/// One of the API's words: those of the enum that it is read into.
fn one_of<T>(words: impl IntoIterator<Item = &'static str>) -> impl TypedValueParser<Value = T>
where
    T: DeserializeOwned + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(words).try_map(|word| serde_json::from_value(Value::String(word)))
}
