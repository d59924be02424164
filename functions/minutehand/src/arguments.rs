//! The arguments of the command line.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory as _, FromArgMatches as _, Parser, Subcommand};
use minutehand_api::{MOST_WATCHED, Watched};
use minutehand_domain::Moment;
use minutehand_domain::schedule::cron::EDITION;
use minutehand_domain::trace::Sampling;
use minutehand_io::targets::http::Reach;
use minutehand_otel::DEFAULT_ENDPOINT;

use crate::client::{self, Connection, EXIT_CODES};
use crate::serve_error::ServeError;
use crate::tls::Files;

/// The version with the edition of the time zones: builds with different editions may fire at different instants.
static VERSION: LazyLock<String> = LazyLock::new(|| format!("{} (time zones {})", env!("CARGO_PKG_VERSION"), EDITION));

const EXAMPLES: &str = "\
Examples:
  minutehand                                   # leave it running
  minutehand jobs create --noop --every 10s    # in another terminal
  minutehand runs tail
  minutehand preview '0 2 1 * *' --tz Europe/Paris";

/// A job scheduler that fires each occurrence once, on time, and can prove what happened.
#[derive(Debug, Parser)]
#[command(name = "minutehand", version = VERSION.as_str(), args_conflicts_with_subcommands = true)]
#[command(next_help_heading = "Options of serve, which is what happens without a command")]
#[command(after_help = format!("{EXAMPLES}\n\n{EXIT_CODES}"))]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    serve: Serve,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Start the whole scheduler on this machine (this is also what happens without a command)
    #[command(after_help = "\
Examples:
  minutehand serve
  minutehand serve --memory --listen 127.0.0.1:0
  minutehand serve --data /var/lib/minutehand")]
    Serve(Serve),
    /// Make timers again from the jobs and runs, and list what cannot be read: of a data directory that nothing serves, or of a server
    /// that goes on meanwhile, with the deployment's own key
    #[command(after_help = "\
A check lists what cannot be read by its key, the first word of its line, such as heads:chjpcrbndht00. What nobody can read is discarded by that
key, one item at a time: what lay there is kept in a file of the data directory, discarded-DATE.jsonl, for its owner only; of a run, what was
written beneath it stays in the store, and its job may begin that occurrence once more. What can be read is not discarded, nor what a later release wrote.

Examples:
  minutehand repair --check
  minutehand repair --data /var/lib/minutehand
  minutehand repair --data /var/lib/minutehand --discard $KEY
  minutehand repair --server https://minutehand.example.com --check

Exit codes: 0 done, or nothing found; 1 it could not be done; 6 a check found something.")]
    Repair(Repair),
    /// Shrink a store's file to what it holds, of a data directory that nothing serves
    #[command(after_help = "\
Examples:
  minutehand compact
  minutehand compact --data /var/lib/minutehand

What has expired leaves room in the file that is written into again, so that a file need not be compacted: do it when much has expired
at once and the disk is wanted for other things. Exit codes: 0 done; 1 it could not be done.")]
    Compact(Compact),
    /// What an archive holds of the runs that were deleted from the store
    #[command(subcommand, after_help = "Exit codes: 0 done; 1 it could not be done.")]
    Archive(Archive),
    /// Write all that a process keeps into a file, while it goes on; or what a data directory holds that nothing serves
    #[command(after_help = "\
It holds what every tenant keeps, and is made for its owner only. The files admin.key and secrets.key of the data directory are not in it:
keep copies of them elsewhere, or the restored secrets cannot be opened.

Examples:
  minutehand backup monday.backup
  minutehand backup monday.backup --force --server https://minutehand.example.com
  minutehand backup monday.backup --data /var/lib/minutehand

Exit codes: 0 done, and read once more to its end; 1 it could not be made; 4 with another key than the deployment's own.")]
    Backup(Backup),
    /// Make a data directory of a backup
    #[command(after_help = "\
The directory must be empty, but for the keys that you put there. What was due since the backup is caught up as each job says, and what
ran since runs once more.

Examples:
  minutehand restore monday.backup --data /var/lib/minutehand")]
    Restore(Restore),
    #[command(flatten)]
    Client(client::Command),
}

/// The chosen command.
#[derive(Debug)]
pub(crate) enum Chosen {
    Serve(Serve),
    Repair(Repair),
    Compact(Compact),
    ListArchive(ArchiveList),
    Backup(Backup),
    Restore(Restore),
    Client(client::Command),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Serve {
    /// Where the HTTP API listens; port 0 takes any free one
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080", env = "MINUTEHAND_LISTEN")]
    pub(crate) listen: SocketAddr,
    /// Where everything is kept; survives `kill -9` with nothing acknowledged lost
    #[arg(long, value_name = "DIRECTORY", default_value = "data", env = "MINUTEHAND_DATA")]
    pub(crate) data: PathBuf,
    /// Keep nothing: everything is gone when the process ends
    #[arg(long, conflicts_with = "data")]
    pub(crate) memory: bool,
    /// A directory that gets runs that are over before they are deleted, as compressed JSON; where they go unkept without it
    #[arg(long, value_name = "DIRECTORY", env = "MINUTEHAND_ARCHIVE", conflicts_with = "aws")]
    pub(crate) archive: Option<PathBuf>,
    /// Keep everything in DynamoDB, SQS and EventBridge, at the usual AWS settings or `AWS_ENDPOINT_URL`; which tables and
    /// queues, `MINUTEHAND_STATE_TABLE` and its like say
    #[arg(long, conflicts_with_all = ["data", "memory"])]
    pub(crate) aws: bool,
    /// The admin's key; without it one is made at the first start and kept in the data directory
    #[arg(long, value_name = "KEY", env = "MINUTEHAND_KEY", hide_env_values = true)]
    pub(crate) key: Option<String>,
    /// Where HTTP targets may be; each includes the one before. Without it `loopback` while only this machine can reach the
    /// API (and without `--aws`), else `public`
    #[arg(long, value_name = "REACH", env = "MINUTEHAND_REACH", value_parser = reaches())]
    pub(crate) reach: Option<Reach>,
    /// Services of AWS that jobs may call by an alias, as JSON or as the path of a file with it, such as
    /// `{"orders": {"sqs": "https://sqs…"}}`; called with the usual AWS settings
    #[arg(long, value_name = "JSON|FILE", env = "MINUTEHAND_TARGETS", hide_env_values = true)]
    pub(crate) targets: Option<String>,
    /// The certificate with which the API speaks HTTPS, as PEM, and behind it those that lead to a root; read again when it changes
    #[arg(long, value_name = "FILE", env = "MINUTEHAND_TLS_CERT", requires = "tls_key")]
    pub(crate) tls_cert: Option<PathBuf>,
    /// The certificate's key, as PEM
    #[arg(long, value_name = "FILE", env = "MINUTEHAND_TLS_KEY", requires = "tls_cert")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Which part of the runs is traced whose creator says nothing of a trace, from 0 to 1; the others are as their creators' traces are
    #[arg(long, value_name = "RATIO", default_value = "1", env = "MINUTEHAND_TRACE_RATIO")]
    pub(crate) trace_ratio: Sampling,
    /// A job whose last success and delay are among the metrics, as `job_…` or `tenant/job_…`; may be given up to 20 times
    #[arg(long, value_name = "JOB", env = "MINUTEHAND_WATCH_JOBS", value_delimiter = ',')]
    pub(crate) watch_job: Vec<Watched>,
    /// Where spans and metrics are exported to by OTLP, such as `http://collector:4318`; without a URL `http://localhost:4318`. Without it where
    /// `OTEL_EXPORTER_OTLP_ENDPOINT` says, else nowhere; in a binary built with `--features otel`
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = DEFAULT_ENDPOINT)]
    pub(crate) otlp_endpoint: Option<String>,
    /// How many runs are carried out at the same time
    #[arg(long, value_name = "RUNS", default_value_t = 512, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) at_once: u32,
    /// How long running attempts may take to finish after SIGTERM, before they are handed back
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub(crate) drain_seconds: u64,
}

/// A job may be made by everybody who reaches the API; a target on this machine may be meant for nobody else. So the widest reach
/// is the default only where the two are the same. What `--aws` keeps is shared: its jobs come in through other doors too.
impl Serve {
    pub(crate) fn reach(&self) -> Reach {
        let is_for_this_machine = !self.aws && self.listen.ip().to_canonical().is_loopback();
        self.reach.unwrap_or(if is_for_this_machine { Reach::Loopback } else { Reach::Public })
    }

    /// None where the API is to speak plain HTTP.
    pub(crate) fn tls_files(&self) -> Option<Files> {
        let (certificates, key) = self.tls_cert.clone().zip(self.tls_key.clone())?;
        Some(Files { certificates, key })
    }

    /// The jobs that are watched one by one, unless those are too many.
    pub(crate) fn watched(&self) -> Result<Vec<Watched>, ServeError> {
        let watched = self.watch_job.clone();
        if watched.len() > MOST_WATCHED { Err(ServeError::TooManyWatched(watched.len())) } else { Ok(watched) }
    }

    /// It was not asked for, but taken from where the API listens: a proxy makes that untrue.
    pub(crate) fn assumes_that_its_users_are_here(&self) -> bool {
        self.reach.is_none() && self.reach() == Reach::Loopback
    }
}

fn reaches() -> impl TypedValueParser<Value = Reach> {
    let described = |reach: Reach| match reach {
        Reach::Public => PossibleValue::new(reach.as_str()).help("Addresses on the internet"),
        Reach::Private => {
            PossibleValue::new(reach.as_str()).help("Also private networks, this machine as one of their hosts")
        }
        // What it was called before.
        Reach::Loopback => PossibleValue::new(reach.as_str()).help("Also this machine itself").alias("local"),
    };
    PossibleValuesParser::new(Reach::ALL.map(described)).try_map(|word| word.parse().map_err(|()| "no reach"))
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Repair {
    /// The data directory
    #[arg(long, value_name = "DIRECTORY", default_value = "data", env = "MINUTEHAND_DATA")]
    pub(crate) data: PathBuf,
    /// List what would be done, and change nothing
    #[arg(long)]
    pub(crate) check: bool,
    /// Delete the item under this key before timers are made again, where nobody can read it; in a data directory alone
    #[arg(long, value_name = "KEY", conflicts_with_all = ["check", "server"])]
    pub(crate) discard: Option<String>,
    /// Not a directory, but what this server keeps, while it goes on
    #[arg(long, value_name = "URL")]
    server: Option<String>,
    /// The deployment's own key; without one, a server on this machine is asked with the admin key in ./data
    #[arg(long, value_name = "KEY", env = "MINUTEHAND_KEY", hide_env_values = true)]
    key: Option<String>,
    /// Print what the server says of it as JSON, for machines
    #[arg(long, requires = "server")]
    json: bool,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Compact {
    /// The data directory
    #[arg(long, value_name = "DIRECTORY", default_value = "data", env = "MINUTEHAND_DATA")]
    pub(crate) data: PathBuf,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Backup {
    /// Where it is written to
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Not of a server, but of this data directory, which nothing may be serving
    #[arg(long, value_name = "DIRECTORY")]
    pub(crate) data: Option<PathBuf>,
    /// Write over the file, where it is there
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

#[derive(Clone, Debug, Args)]
pub(crate) struct Restore {
    /// The backup
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The data directory that is made
    #[arg(long, value_name = "DIRECTORY", default_value = "data", env = "MINUTEHAND_DATA")]
    pub(crate) data: PathBuf,
}

#[derive(Clone, Debug, Subcommand)]
pub(crate) enum Archive {
    /// List its files: of which day and which tenant each is, and how many runs it holds
    #[command(after_help = "\
Examples:
  minutehand archive list --archive /var/lib/minutehand/archive
  minutehand archive list --archive archive --tenant acme --from 2026-11-01 --to 2026-11-30 --json
  zcat /var/lib/minutehand/archive/acme/2026/11/25/*.jsonl.gz | jq -r .run_id

A run that was archived twice, because the process died before it was deleted, is counted once in its file. A file that has lost its end
is told of; what it lacks lies in a later one.")]
    List(ArchiveList),
}

#[derive(Clone, Debug, Args)]
pub(crate) struct ArchiveList {
    /// The archive
    #[arg(long, value_name = "DIRECTORY", env = "MINUTEHAND_ARCHIVE")]
    pub(crate) archive: PathBuf,
    /// Only this tenant's
    #[arg(long)]
    tenant: Option<String>,
    /// Only of runs that ended on this day (in UTC) or later
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    from: Option<String>,
    /// Only of runs that ended on this day or earlier
    #[arg(long, value_name = "YYYY-MM-DD", value_parser = day)]
    to: Option<String>,
    /// Print a line of JSON for each file, for machines
    #[arg(long)]
    pub(crate) json: bool,
}

impl ArchiveList {
    /// Whether it is about a file of this tenant and day.
    pub(crate) fn names(&self, tenant: &str, day: &str) -> bool {
        self.tenant.as_deref().is_none_or(|asked| asked == tenant)
            && self.from.as_deref().is_none_or(|from| from <= day)
            && self.to.as_deref().is_none_or(|to| day <= to)
    }
}

fn day(text: &str) -> Result<String, &'static str> {
    let is_one = text.len() == 10 && Moment::parse(&format!("{text}T00:00:00Z")).is_some();
    if is_one { Ok(text.to_owned()) } else { Err("write a day as 2026-11-25") }
}

impl Repair {
    /// None for a data directory.
    pub(crate) fn connection(&self) -> Option<Connection> {
        let server = self.server.clone()?;
        Some(Connection { server, key: self.key.clone(), json: self.json, verbose: false })
    }
}

impl Arguments {
    /// Or the process ends, with what is wrong with it.
    pub(crate) fn of_the_command_line() -> Self {
        Self::read(std::env::args_os()).unwrap_or_else(|error| error.exit())
    }

    fn read(words: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Self, clap::Error> {
        let mut command = Self::command();
        let matches = command.try_get_matches_from_mut(words)?;
        if names_two_places(&matches) {
            let said = "the argument '--data <DIRECTORY>' cannot be used with '--server <URL>': one of them is asked";
            return Err(command.error(ErrorKind::ArgumentConflict, said));
        }
        Self::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
    }

    pub(crate) fn chosen(self) -> Chosen {
        match self.command {
            Some(Command::Serve(serve)) => Chosen::Serve(serve),
            Some(Command::Repair(repair)) => Chosen::Repair(repair),
            Some(Command::Compact(compact)) => Chosen::Compact(compact),
            Some(Command::Archive(Archive::List(list))) => Chosen::ListArchive(list),
            Some(Command::Backup(backup)) => Chosen::Backup(backup),
            Some(Command::Restore(restore)) => Chosen::Restore(restore),
            Some(Command::Client(client)) => Chosen::Client(client),
            None => Chosen::Serve(self.serve),
        }
    }
}

/// Which of two places is meant, nobody can tell. What a variable says does not count: it may be set for other commands.
fn names_two_places(matches: &ArgMatches) -> bool {
    let Some(("backup" | "repair", named)) = matches.subcommand() else { return false };
    ["data", "server"].iter().all(|place| named.value_source(place) == Some(ValueSource::CommandLine))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn parsed(words: &[&str]) -> Result<Chosen, clap::Error> {
        Arguments::read([&["minutehand"], words].concat()).map(Arguments::chosen)
    }

    fn serving(words: &[&str]) -> Serve {
        match parsed(words) {
            Ok(Chosen::Serve(serve)) => serve,
            other => panic!("{words:?}: {other:?}"),
        }
    }

    #[test]
    fn what_is_backed_up_or_repaired_is_named_once() {
        for words in [&["backup", "a.backup"][..], &["repair"]] {
            let with = |more: &[&str]| parsed(&[words, more].concat());
            assert!(with(&["--data", "kept"]).is_ok(), "{words:?}");
            assert!(with(&["--server", "http://127.0.0.1:1"]).is_ok(), "{words:?}");

            let refused = with(&["--data", "kept", "--server", "http://127.0.0.1:1"]).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::ArgumentConflict, "{words:?}");
        }
    }

    #[test]
    fn without_a_command_it_serves() {
        assert_eq!(serving(&[]).listen.port(), 8080);
        assert!(serving(&["--memory"]).memory);
        assert!(serving(&["serve", "--memory"]).memory);
    }

    #[test]
    fn memory_data_and_aws_contradict_each_other() {
        for both in [["--memory", "--aws"], ["--data=x", "--aws"], ["--memory", "--data=x"]] {
            assert!(parsed(&both).is_err(), "{both:?}");
        }
    }

    #[test]
    fn this_machine_is_within_reach_only_while_nobody_else_reaches_the_api() {
        for (words, reach) in [
            (&[][..], Reach::Loopback),
            (&["--memory"], Reach::Loopback),
            (&["--listen=[::1]:8080"], Reach::Loopback),
            (&["--listen=0.0.0.0:8080"], Reach::Public),
            (&["--listen=[::]:8080"], Reach::Public),
            (&["--listen=10.0.0.1:8080"], Reach::Public),
            (&["--aws"], Reach::Public),
            (&["--listen=0.0.0.0:8080", "--reach=loopback"], Reach::Loopback),
            (&["--reach=private"], Reach::Private),
            (&["--reach=public"], Reach::Public),
            (&["--aws", "--reach=local"], Reach::Loopback),
        ] {
            let serve = serving(words);
            assert_eq!(serve.reach(), reach, "{words:?}");
            let is_said = words.iter().any(|word| word.starts_with("--reach"));
            assert_eq!(serve.assumes_that_its_users_are_here(), reach == Reach::Loopback && !is_said, "{words:?}");
        }
        assert!(parsed(&["--reach=everything"]).is_err());
    }

    #[test]
    fn a_command_of_the_client_serves_nothing() {
        for words in [&["jobs", "list"][..], &["runs", "tail"], &["preview", "@daily"], &["stats"], &["keys", "list"]] {
            assert!(matches!(parsed(words), Ok(Chosen::Client(_))), "{words:?}");
        }
        assert!(parsed(&["--memory", "jobs", "list"]).is_err());
        assert!(parsed(&["jobs", "list", "--memory"]).is_err());
    }

    #[test]
    fn a_repair_is_of_a_directory_or_of_a_server() {
        for (words, server) in [
            (&["repair"][..], None),
            (&["repair", "--check", "--data=x"], None),
            (&["repair", "--check", "--server=http://x"], Some("http://x")),
        ] {
            let Ok(Chosen::Repair(repair)) = parsed(words) else { panic!("{words:?}") };
            assert_eq!(repair.connection().map(|connection| connection.server).as_deref(), server, "{words:?}");
        }
        assert!(parsed(&["repair", "--json"]).is_err(), "the lines of a directory are for people");
    }

    #[test]
    fn an_item_is_discarded_from_a_directory_and_by_no_check() {
        let Ok(Chosen::Repair(repair)) = parsed(&["repair", "--data=x", "--discard=heads:chjpcrbndht00"]) else {
            panic!()
        };
        assert_eq!(repair.discard.as_deref(), Some("heads:chjpcrbndht00"));
        for beside in ["--check", "--server=http://x"] {
            assert!(parsed(&["repair", "--discard=heads:chjpcrbndht00", beside]).is_err(), "{beside}");
        }
    }

    #[test]
    fn common_options_may_be_anywhere_after_the_command() {
        for words in [&["jobs", "--json", "list"][..], &["jobs", "list", "--json", "--key=k", "--server=http://x"]] {
            assert!(matches!(parsed(words), Ok(Chosen::Client(_))), "{words:?}");
        }
    }

    #[test]
    fn every_command_has_an_example_in_its_help() {
        fn look(command: &clap::Command) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let is_group = command.get_subcommands().next().is_some();
            assert!(help.contains("Examples:") || is_group && help.contains("Exit codes:"), "{}", command.get_name());
            command.get_subcommands().for_each(look);
        }
        let whole = Arguments::command();

        whole.clone().debug_assert();
        look(&whole);
    }

    #[test]
    fn every_example_is_understood() {
        fn helps(command: &clap::Command) -> String {
            let own = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            command.get_subcommands().map(helps).fold(own, |all, help| format!("{all}\n{help}"))
        }
        let examples = format!("{}\n{}", include_str!("../../../docs/cli.md"), helps(&Arguments::command()));
        let lines: Vec<&str> = examples.lines().filter_map(command_in).collect();

        for line in &lines {
            let parsed = Arguments::try_parse_from(words(line));
            assert!(parsed.is_ok(), "{line}: {}", parsed.unwrap_err());
        }
        assert!(lines.len() > 70, "only {} were found", lines.len());
    }

    /// What has no flag is said in a file, and a reader takes that for what no page names.
    #[test]
    fn every_flag_of_a_command_stands_in_a_page() {
        fn flags(command: &clap::Command) -> BTreeSet<String> {
            let own = command.get_arguments().filter(|argument| !argument.is_hide_set());
            let own = own.filter_map(|argument| Some(format!("--{}", argument.get_long()?)));
            own.chain(command.get_subcommands().flat_map(flags)).collect()
        }
        let pages = [
            include_str!("../../../README.md"),
            include_str!("../../../docs/cli.md"),
            include_str!("../../../docs/operations.md"),
            include_str!("../../../docs/policies.md"),
            include_str!("../../../docs/workers.md"),
            include_str!("../../../docs/workflows.md"),
            include_str!("../../../docs/targets.md"),
            include_str!("../../../docs/api.md"),
        ]
        .concat();
        let said: BTreeSet<_> = pages.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').collect();

        let missing: Vec<_> =
            flags(&Arguments::command()).into_iter().filter(|flag| !said.contains(flag.as_str())).collect();

        assert_eq!(missing, Vec::<String>::new());
    }

    /// Somebody types them at three in the morning: so each is whole, and names what is to be filled in as a variable of the shell.
    #[test]
    fn every_command_of_a_runbook_is_understood() {
        let page = include_str!("../../../docs/operations.md");
        let (_, runbooks) = page.split_once("\n## Runbooks\n").expect("runbooks");
        let typed: Vec<&str> = runbooks.split('`').skip(1).step_by(2).flat_map(str::lines).collect();
        let commands: Vec<&str> = typed.iter().filter_map(|line| command_in(line)).collect();

        for line in &typed {
            assert!(!line.contains('…'), "something is left out: {line}");
        }
        for command in &commands {
            let words = words(command)
                .into_iter()
                .map(|word| if word == "INSTANT" { "2030-01-01T00:00:00Z".to_owned() } else { word });
            let parsed = Arguments::try_parse_from(words);
            assert!(parsed.is_ok(), "{command}: {}", parsed.unwrap_err());
        }
        assert!(commands.len() > 35, "only {} were found", commands.len());
    }

    /// The `minutehand` command that a line of shell begins with or pipes into, if there is one.
    fn command_in(line: &str) -> Option<&str> {
        let line = line.trim_start().split(" #").next()?;
        let begin =
            if line.starts_with("minutehand") { 0 } else { line.find("(minutehand ").or(line.find("| minutehand "))? };
        let command = line[begin..].trim_start_matches(['(', '|', ' ']);
        if command != "minutehand" && !command.starts_with("minutehand ") {
            return None;
        }
        [" | ", " || ", " && ", " > "].iter().try_fold(command, |command, end| command.split(end).next())
    }

    /// Splits a line like a shell, as far as the examples need it: single quotes, and names for ids.
    fn words(line: &str) -> Vec<String> {
        let parts = line.split('\'').enumerate().flat_map(|(index, part)| match index % 2 {
            0 => part.replace('$', "").split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        });
        parts.collect()
    }
}
