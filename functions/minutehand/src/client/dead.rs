//! `minutehand dead`: what failed for good, and what is done about it.

use clap::{ArgGroup, Args, Subcommand};
use minutehand_client::wire::letter::ORIGINS;
use minutehand_client::wire::{
    DismissManyRequest, GroupView, GroupsQuery, GroupsView, Instant, LetterDoneView, LetterFilter, LetterStatus,
    LettersDoneView, LettersQuery, NoteRequest, Page, PatchStep, RedriveManyRequest, RedriveRequest, RunView,
};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;
use minutehand_domain::id::Origin;
use minutehand_domain::priority::Priority;

use super::failure::Failure;
use super::input::Json;
use super::instant::{Since, away, now};
use super::list::{Paging, onward};
use super::runs::run::{card, table};
use super::session::{Paper, Session, note};
use super::table::{Cell, STRONG, Table};
use super::{id, one_of};

const STATUSES: [&str; 2] = ["failed", "timed_out"];
/// What says which letters are wanted.
const FILTERS: [&str; 8] = ["job", "tag", "error", "status", "priority", "origin", "from", "to"];
/// As many as are seen to in one request.
const AT_ONCE: u16 = 100;

#[derive(Debug, Subcommand)]
pub(crate) enum Dead {
    /// List runs that failed for good and were neither tried again nor dismissed, newest first; of the last 30 days without --from
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand dead list
  minutehand dead list --tag billing --error http_5xx --from 7d
  minutehand dead list --job job_06gzmvcpq5xc3xgyx14fxfeyh0 --all --json | jq -r '.items[].run_id'"
    )]
    List(List),
    /// Group them by what they died of, the largest group first
    #[command(after_help = "\
Numbers, ids and what stands in quotes are # in a message.

Examples:
  minutehand dead groups
  minutehand dead groups --from 1d --json | jq -r '.items[] | [.count, .error, .message] | @tsv'")]
    Groups(Groups),
    /// Show one, with all its attempts
    #[command(after_help = "\
Examples:
  minutehand dead show run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0")]
    Show(One),
    /// Try again: one, several, or the newest hundred that a filter finds; each once, however often it is asked for
    #[command(after_help = "\
A patch is RFC 6902: a list of steps with op, path and value.

Examples:
  minutehand dead redrive run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --note 'the disk is free again'
  minutehand dead redrive run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --patch '[{\"op\": \"replace\", \"path\": \"/to\", \"value\": \"b\"}]'
  minutehand dead redrive --matching --tag billing --error http_5xx --dry-run
  minutehand dead redrive --matching --tag billing --error http_5xx --note 'the bank answers again'
  minutehand dead redrive --matching --every")]
    Redrive(Redrive),
    /// Leave it at that: one, several, or the newest hundred that a filter finds
    #[command(after_help = "\
Examples:
  minutehand dead dismiss run_06gzmvcprnx78eemf65jcaymk00t3ykdjv2g0 --note 'paid by hand'
  minutehand dead dismiss --matching --job job_06gzmvcpq5xc3xgyx14fxfeyh0 --error dns")]
    Dismiss(Dismiss),
}

#[derive(Debug, Args)]
pub(crate) struct Filter {
    /// Of this job
    #[arg(long, value_name = "JOB", value_parser = id)]
    job: Option<String>,
    /// Of jobs with this tag
    #[arg(long)]
    tag: Option<String>,
    /// That died of this: the code of an error, or the reason of a run
    #[arg(long, value_name = "CODE")]
    error: Option<String>,
    /// That ended so
    #[arg(long, value_parser = one_of::<LetterStatus>(STATUSES))]
    status: Option<LetterStatus>,
    /// Of this priority
    #[arg(long, value_parser = one_of::<Priority>(Priority::ALL.map(Priority::as_str)))]
    priority: Option<Priority>,
    /// Brought about by this
    #[arg(long, value_parser = one_of::<Origin>(ORIGINS.map(Origin::as_str)))]
    origin: Option<Origin>,
    /// Scheduled at or after this instant, or this long ago: 2030-01-01T00:00:00Z, 2h, 7d
    #[arg(long, value_name = "INSTANT")]
    from: Option<Since>,
    /// Scheduled before this instant, or this long ago
    #[arg(long, value_name = "INSTANT")]
    to: Option<Since>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    filter: Filter,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct Groups {
    #[command(flatten)]
    filter: Filter,
    /// How many groups
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1000))]
    limit: Option<u16>,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The run
    #[arg(value_name = "RUN", value_parser = id)]
    run: String,
}

// Without a filter it would be all of them, which is asked for by a word of its own.
/// Runs by their names, or those that a filter finds.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("which").args(["runs", "matching"]).required(true))]
#[command(group = ArgGroup::new("wanted").args(FILTERS).arg("every").multiple(true))]
pub(crate) struct Which {
    /// The runs, up to a hundred
    #[arg(value_name = "RUN", value_parser = id, num_args = 0..=100, conflicts_with = "wanted")]
    runs: Vec<String>,
    /// The newest hundred that the filter finds; all flags that are given must hold
    #[arg(long, requires = "wanted")]
    matching: bool,
    #[command(flatten)]
    filter: Filter,
    /// Of --matching: all of the last 30 days
    #[arg(long, conflicts_with_all = FILTERS)]
    every: bool,
    /// Of --matching: list what it would be done to, and do nothing
    #[arg(long, requires = "matching")]
    dry_run: bool,
    /// Of --matching: `next_cursor` of the answer before
    #[arg(long, value_name = "CURSOR", requires = "matching")]
    cursor: Option<String>,
    /// Why: the runs show it, and so does the audit
    #[arg(long)]
    note: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Redrive {
    #[command(flatten)]
    which: Which,
    /// The JSON that the target receives this time; @FILE takes it from a file, @- from stdin
    #[arg(long, value_name = "JSON", conflicts_with = "patch")]
    payload: Option<Json>,
    /// A JSON patch of what it was given; @FILE takes it from a file, @- from stdin
    #[arg(long, value_name = "JSON")]
    patch: Option<Json>,
}

#[derive(Debug, Args)]
pub(crate) struct Dismiss {
    #[command(flatten)]
    which: Which,
}

impl Dead {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::List(list) => list.filter.list(&list.paging, session).await,
            Self::Groups(groups) => groups.execute(session).await,
            Self::Show(One { run }) => session.show_answer(&calls::get_run(&run), card).await,
            Self::Redrive(Redrive { which, .. }) | Self::Dismiss(Dismiss { which }) if which.dry_run => {
                which.listed(session).await
            }
            Self::Redrive(redrive) => redrive.execute(session).await,
            Self::Dismiss(Dismiss { which }) => which.dismiss(session).await,
        }
    }
}

impl Filter {
    fn read(&self, now: Moment) -> LetterFilter {
        let instant = |since: Since| Instant(since.seen_from(now));
        LetterFilter {
            job_id: self.job.clone(),
            tag: self.tag.clone(),
            error: self.error.clone(),
            status: self.status,
            priority: self.priority,
            origin: self.origin,
            from: self.from.map(instant),
            to: self.to.map(instant),
        }
    }

    /// The list of those that it finds.
    fn call(&self, now: Moment) -> Call<Page<RunView>> {
        let LetterFilter { job_id, tag, error, status, priority, origin, from, to } = self.read(now);
        let (limit, cursor) = (None, None);
        calls::list_dead_letters(&LettersQuery {
            limit,
            cursor,
            job_id,
            tag,
            error,
            status,
            priority,
            origin,
            from,
            to,
        })
    }

    async fn list(&self, paging: &Paging, session: &Session) -> Result<(), Failure> {
        let view = |runs: &[RunView], paper| table(runs, self.job.is_some(), paper);
        session.list(self.call(now()), paging, "No dead letters.", view).await
    }
}

impl Groups {
    async fn execute(self, session: &Session) -> Result<(), Failure> {
        let answer = session.send(&self.call(now())).await?;
        session.show(&answer, groups_view)?;
        if !session.json {
            let groups = answer.read()?;
            if let Some(at) = groups.read_back_to {
                note(&format!("older letters were not read: --to {} shows their groups", at.0));
            } else if !groups.complete {
                note("there are more groups: --limit");
            }
        }
        Ok(())
    }

    fn call(&self, now: Moment) -> Call<GroupsView> {
        let LetterFilter { job_id, tag, error, status, priority, origin, from, to } = self.filter.read(now);
        let limit = self.limit.map(usize::from);
        calls::group_dead_letters(&GroupsQuery { limit, job_id, tag, error, status, priority, origin, from, to })
    }
}

impl Which {
    /// The one run that is named.
    fn only(&self) -> Option<&str> {
        match self.runs.as_slice() {
            [run] => Some(run),
            _several_or_none => None,
        }
    }

    fn named(&self) -> Option<Vec<String>> {
        (!self.matching).then(|| self.runs.clone())
    }

    fn found(&self, now: Moment) -> Option<LetterFilter> {
        self.matching.then(|| self.filter.read(now))
    }

    /// What would be done something to, as one request sees to it.
    async fn listed(&self, session: &Session) -> Result<(), Failure> {
        let paging = Paging { limit: Some(AT_ONCE), cursor: self.cursor.clone(), all: false };
        self.filter.list(&paging, session).await
    }

    async fn dismiss(&self, session: &Session) -> Result<(), Failure> {
        if let Some(run) = self.only() {
            let request = NoteRequest { note: self.note.clone() };
            return session.show_answer(&calls::dismiss_dead_letter(run, &request), card).await;
        }
        let request = self.dismissal(now());
        told(session, &calls::dismiss_dead_letters(&request), request.filter.as_ref()).await
    }

    fn dismissal(&self, now: Moment) -> DismissManyRequest {
        let (cursor, note) = (self.cursor.clone(), self.note.clone());
        DismissManyRequest { run_ids: self.named(), filter: self.found(now), cursor, note }
    }
}

impl Redrive {
    async fn execute(&self, session: &Session) -> Result<(), Failure> {
        let Some(run) = self.which.only() else {
            let request = self.many(now())?;
            return told(session, &calls::redrive_dead_letters(&request), request.filter.as_ref()).await;
        };
        let answer = session.send_once(&calls::redrive_dead_letter(run, &self.one()?)).await?;
        if answer.replayed() {
            note(&format!("{run} was tried again before, as:"));
        }
        session.show(&answer, card)
    }

    fn patch(&self) -> Result<Option<Vec<PatchStep>>, Failure> {
        let Some(patch) = self.patch.as_ref().map(Json::read).transpose()? else { return Ok(None) };
        let read = serde_json::from_str(patch.text());
        read.map(Some).map_err(|why| Failure::Usage(format!("--patch is not a list of steps (RFC 6902): {why}")))
    }

    fn one(&self) -> Result<RedriveRequest, Failure> {
        let payload = self.payload.as_ref().map(Json::read).transpose()?;
        Ok(RedriveRequest { payload, patch: self.patch()?, note: self.which.note.clone() })
    }

    fn many(&self, now: Moment) -> Result<RedriveManyRequest, Failure> {
        let RedriveRequest { payload, patch, note } = self.one()?;
        let (run_ids, filter, cursor) = (self.which.named(), self.which.found(now), self.which.cursor.clone());
        Ok(RedriveManyRequest { run_ids, filter, cursor, payload, patch, note })
    }
}

async fn told(session: &Session, call: &Call<LettersDoneView>, found: Option<&LetterFilter>) -> Result<(), Failure> {
    let answer = session.send(call).await?;
    session.show(&answer, done_view)?;
    let done = answer.read()?;
    if let Some(cursor) = done.next_cursor.as_ref().filter(|_| !session.json) {
        let window = found.map_or([None, None], |filter| [filter.from, filter.to]).map(|at| at.map(|at| at.0));
        note(&format!("there are more: again, or with {}", onward(window, cursor)));
    }
    all_done(&done.results)
}

fn all_done(results: &[LetterDoneView]) -> Result<(), Failure> {
    let refused = results.iter().filter(|done| done.problem.is_some()).count();
    let unknown = results.iter().filter(|done| done.status == 404).count();
    if refused == 0 { Ok(()) } else { Err(Failure::Some { refused, all: results.len(), unknown }) }
}

fn done_view(done: &LettersDoneView, paper: Paper) -> String {
    let mut table = Table::new(&["LETTER", "STATUS", "RUN", "~PROBLEM"]);
    for LetterDoneView { run_id, status, run, problem } in &done.results {
        table.row(vec![
            Cell::from(run_id),
            Cell::from(status.to_string()),
            run.as_ref().map_or_else(|| Cell::faint("-"), |run| Cell::from(&run.run_id)),
            Cell::from(problem.as_ref().map_or("", |problem| problem.detail.as_str())),
        ]);
    }
    if table.is_empty() { "No dead letters.\n".to_owned() } else { table.draw(paper.width) }
}

fn groups_view(groups: &GroupsView, paper: Paper) -> String {
    let mut table = Table::new(&["COUNT", "ERROR", "LAST", "FIRST", "JOB", "SAMPLE", "~MESSAGE"]);
    for GroupView { job_id, error, message, count, first_at, last_at, sample_run_id } in &groups.items {
        table.row(vec![
            Cell::new(count.to_string(), STRONG),
            Cell::from(error),
            Cell::from(away(last_at.0, paper.now)),
            Cell::from(away(first_at.0, paper.now)),
            Cell::from(job_id),
            Cell::from(sample_run_id),
            Cell::from(message),
        ]);
    }
    if table.is_empty() { "No dead letters.\n".to_owned() } else { table.draw(paper.width) }
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;
    use clap::Parser;
    use serde_json::json;
    use url::Url;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        dead: Dead,
    }

    fn parsed(words: &[&str]) -> Result<Dead, clap::Error> {
        Line::try_parse_from([&["minutehand"], words].concat()).map(|line| line.dead)
    }

    fn sent(words: &[&str]) -> (String, Option<String>) {
        let now = Moment::parse("2030-01-02T00:00:00Z").unwrap();
        match parsed(words).unwrap_or_else(|why| panic!("{why}")) {
            Dead::List(list) => parts(&list.filter.call(now)),
            Dead::Groups(groups) => parts(&groups.call(now)),
            Dead::Redrive(redrive) => match redrive.which.only() {
                Some(run) => parts(&calls::redrive_dead_letter(run, &redrive.one().unwrap())),
                None => parts(&calls::redrive_dead_letters(&redrive.many(now).unwrap())),
            },
            Dead::Dismiss(Dismiss { which }) => parts(&calls::dismiss_dead_letters(&which.dismissal(now))),
            Dead::Show(_) => panic!("it is sent as it is"),
        }
    }

    fn parts<T>(call: &Call<T>) -> (String, Option<String>) {
        let url = call.url(&Url::parse("http://h").unwrap());
        (format!("{} {}", call.method(), &url.as_str()[8..]), call.body().map(str::to_owned))
    }

    #[test]
    fn each_command_is_a_call() {
        let cases: [(&[&str], &str, Option<&str>); 9] = [
            (&["list"], "GET /v1/dead-letters", None),
            (
                &["list", "--job=job_1", "--error=dns", "--status=timed_out", "--from=1d"],
                "GET /v1/dead-letters?job_id=job_1&error=dns&status=timed_out&from=2030-01-01T00%3A00%3A00.000Z",
                None,
            ),
            (&["groups", "--limit=5", "--tag=a"], "GET /v1/dead-letters/groups?limit=5&tag=a", None),
            (&["redrive", "run_1"], "POST /v1/dead-letters/run_1/redrive", None),
            (
                &["redrive", "run_1", r#"--patch=[{"op": "add", "path": "/a", "value": 1.10}]"#],
                "POST /v1/dead-letters/run_1/redrive",
                Some(r#"{"patch":[{"op":"add","path":"/a","value":1.10}]}"#),
            ),
            (
                &["redrive", "run_1", "run_2", "--note=n"],
                "POST /v1/dead-letters/redrive",
                Some(r#"{"run_ids":["run_1","run_2"],"note":"n"}"#),
            ),
            (
                &["dismiss", "--matching", "--error=dns"],
                "POST /v1/dead-letters/dismiss",
                Some(r#"{"filter":{"error":"dns"}}"#),
            ),
            (&["redrive", "--matching", "--every"], "POST /v1/dead-letters/redrive", Some(r#"{"filter":{}}"#)),
            (&["list", "--origin=backfill"], "GET /v1/dead-letters?origin=backfill", None),
        ];
        for (words, address, body) in cases {
            assert_eq!(sent(words), (address.to_owned(), body.map(str::to_owned)), "{words:?}");
        }
    }

    #[test]
    fn what_says_neither_which_nor_all_is_refused_before_it_is_sent() {
        for words in [
            &["redrive"][..],
            &["dismiss", "--tag=a"],
            &["redrive", "run_1", "--matching"],
            &["show"],
            &["redrive", "--matching"],
            &["dismiss", "--matching", "--note=n"],
            &["redrive", "--every"],
            &["redrive", "--matching", "--every", "--tag=a"],
            &["redrive", "run_1", "--tag=a"],
            &["dismiss", "run_1", "--dry-run"],
        ] {
            assert!(parsed(words).is_err(), "{words:?}");
        }
        assert!(parsed(&["dismiss", "--matching", "--from=1d", "--dry-run"]).is_ok());
    }

    #[test]
    fn letters_are_found_by_whatever_can_have_brought_them_about() {
        let all = (0..=u8::MAX).filter_map(Origin::of_code);
        for origin in all {
            let is_none = matches!(origin, Origin::Task | Origin::Callback | Origin::Notification);
            let asked = parsed(&["list", "--origin", origin.as_str()]);
            assert_eq!(asked.is_err(), is_none, "{}", origin.as_str());
        }
    }

    #[test]
    fn groups_are_a_table() {
        let groups = json!({"items": [{"job_id": "job_1", "error": "http_5xx", "message": "# Busy", "count": 7,
            "first_at": "2030-01-01T00:00:00.000Z", "last_at": "2030-01-01T23:59:00.000Z", "sample_run_id": "run_1"}],
            "letters": 7, "complete": true, "read_back_to": null});
        let paper = Paper { width: 200, now: Moment::parse("2030-01-02T00:00:00Z").unwrap() };

        let drawn = strip_str(&groups_view(&serde_json::from_value(groups).unwrap(), paper)).to_string();

        assert!(drawn.starts_with("COUNT  ERROR     LAST"), "{drawn}");
        assert!(drawn.contains("7      http_5xx  1m ago"), "{drawn}");
        assert!(drawn.contains("job_1  run_1   # Busy"), "{drawn}");
    }
}
