//! `minutehand runs tail`: each change of a run is a line, as it happens.

use std::borrow::Borrow;

use clap::Args;
use minutehand_client::wire::{Json, Page, RunView, RunsQuery};
use minutehand_client::{Call, calls};

use super::super::failure::Failure;
use super::super::id;
use super::super::session::{Session, note, print};
use super::follow::{Patience, follow};
use super::list;
use super::run::line;
use super::watch_list::WatchList;

/// What one look reads at a time; more new runs than this within a second are read page by page.
const PAGE: usize = 200;
/// A look is polite: beyond this the newest are shown, and it says that it is not all.
const PAGES: usize = 5;
/// Runs that were left behind by newer ones and have not ended are read one by one, so many at each look.
const LEFT_BEHIND: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// This run, until it has ended
    #[arg(value_name = "RUN", value_parser = id, conflicts_with = "job")]
    run: Option<String>,
    /// The runs of this job
    #[arg(long, value_name = "JOB", value_parser = id)]
    job: Option<String>,
    /// How many of the runs of the last 24 hours are shown first
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 10, conflicts_with = "run")]
    #[arg(value_parser = clap::value_parser!(u16).range(0..=200))]
    lines: u16,
}

/// A run as it was read, and as it was written.
struct Read {
    run: RunView,
    text: Json,
}

impl Borrow<RunView> for Read {
    fn borrow(&self) -> &RunView {
        &self.run
    }
}

impl Tail {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        if let Some(run) = &self.run {
            return follow(session, run, true).await;
        }
        tokio::select! {
            ended = self.without_end(session) => ended,
            interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
        }
    }

    async fn without_end(&self, session: &Session) -> Result<(), Failure> {
        let query = RunsQuery { limit: Some(PAGE), ..RunsQuery::default() };
        let list = list(self.job.as_deref(), query);
        let (mut watch_list, mut patience) = (WatchList::default(), Patience::default());
        let begin = watch_list.changed(page(session, &list, None).await?.0);
        // Newest first is how they are listed, newest last how they are followed.
        show(session, begin.iter().take(self.lines.into()).rev())?;
        loop {
            patience.wait().await;
            if let Some(read) = patience.answer_of(look(session, &list, &watch_list).await)? {
                show(session, watch_list.changed(read).iter().rev())?;
            }
        }
    }
}

/// Everything that may have changed since the last look, newest first.
async fn look(session: &Session, list: &Call<Page<RunView>>, watch_list: &WatchList) -> Result<Vec<Read>, Failure> {
    let (mut read, mut cursor) = page(session, list, None).await?;
    let mut pages = 1;
    while cursor.is_some() && read.last().is_some_and(|last| !watch_list.knows(&last.run)) {
        if pages == PAGES {
            note("more runs than can be followed: these are the newest");
            break;
        }
        let (more, next) = page(session, list, cursor.as_ref()).await?;
        read.extend(more);
        (cursor, pages) = (next, pages + 1);
    }
    let left_behind = watch_list.unfinished().filter(|id| !read.iter().any(|read| read.run.run_id == *id));
    let left_behind: Vec<String> = left_behind.take(LEFT_BEHIND).map(str::to_owned).collect();
    for id in left_behind {
        let answer = session.send(&calls::get_run(&id)).await?;
        read.push(Read { run: answer.read()?, text: answer.read_as()? });
    }
    Ok(read)
}

async fn page(
    session: &Session,
    list: &Call<Page<RunView>>,
    cursor: Option<&String>,
) -> Result<(Vec<Read>, Option<String>), Failure> {
    let answer = session.send(&list.clone().with_query("cursor", cursor)).await?;
    let page: Page<Json> = answer.read_as()?;
    let runs: Vec<RunView> = answer.read_parts(&page.items)?;
    let read = runs.into_iter().zip(page.items).map(|(run, text)| Read { run, text });
    Ok((read.collect(), page.next_cursor))
}

fn show<'a>(session: &Session, runs: impl Iterator<Item = &'a Read>) -> Result<(), Failure> {
    for read in runs {
        print(&if session.json { format!("{}\n", read.text.text()) } else { format!("{}\n", line(&read.run)) })?;
    }
    Ok(())
}
