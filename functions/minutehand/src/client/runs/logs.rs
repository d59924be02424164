//! `minutehand runs logs`: what a run's workers said, line by line; with `--follow` as they say it.

use clap::Args;
use minutehand_client::calls;
use minutehand_client::wire::{LogLineView, LogsQuery, LogsView};

use super::super::failure::Failure;
use super::super::id;
use super::super::instant::precise;
use super::super::session::{Session, note, print};
use super::super::table::{Cell, FAINT};
use super::follow::Patience;
use super::run::is_over;

/// What one request reads.
const PAGE: usize = 1000;

#[derive(Debug, Args)]
pub(crate) struct Logs {
    /// The run
    #[arg(value_name = "RUN", value_parser = id)]
    run: String,
    /// Only the last so many lines
    #[arg(long, short = 'n', value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=1000))]
    tail: Option<u16>,
    /// Go on showing what comes, until the run has ended
    #[arg(long, short = 'f')]
    follow: bool,
}

impl Logs {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        let tail = LogsQuery { tail: self.tail.map(usize::from), ..LogsQuery::default() };
        let first = if self.tail.is_some() { tail } else { from(0) };
        let next = self.show(session, &first).await?;
        if self.follow { self.go_on(session, next).await } else { Ok(()) }
    }

    async fn go_on(&self, session: &Session, mut next: u32) -> Result<(), Failure> {
        let mut patience = Patience::default();
        loop {
            // Looked at before the last lines are read: what is said until the end is shown.
            let look = session.send(&calls::get_run(&self.run)).await.and_then(|answer| Ok(answer.read()?));
            let over = patience.answer_of(look)?.is_some_and(|run| is_over(&run));
            if let Some(read) = patience.answer_of(self.show(session, &from(next)).await)? {
                next = read;
            }
            if over {
                return Ok(());
            }
            patience.wait().await;
        }
    }

    /// Until there are no more; what to go on with.
    async fn show(&self, session: &Session, query: &LogsQuery) -> Result<u32, Failure> {
        let mut query = query.clone();
        loop {
            let view: LogsView = session.send(&calls::list_run_logs(&self.run, &query)).await?.read()?;
            let first = view.items.first().map_or(view.next, |line| line.number);
            if query.from.is_some_and(|from| from < view.dropped && first > from) {
                note(&format!("the oldest {} lines are not kept any more", view.dropped));
            }
            for line in &view.items {
                print(&drawn(line, session.json))?;
            }
            if view.items.len() < PAGE {
                return Ok(view.next);
            }
            query = from(view.next);
        }
    }
}

fn from(line: u32) -> LogsQuery {
    LogsQuery { from: Some(line), limit: Some(PAGE), ..LogsQuery::default() }
}

fn drawn(line: &LogLineView, json: bool) -> String {
    if json {
        return format!("{}\n", serde_json::to_string(line).expect("a line is JSON"));
    }
    let text = Cell::from(&line.line).painted();
    format!("{FAINT}{}  {}{FAINT:#}  {text}\n", precise(line.at.0), line.attempt)
}
