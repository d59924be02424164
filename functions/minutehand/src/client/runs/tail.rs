//! `minutehand runs tail`: each change of a run is a line, as it happens.

use clap::Args;
use serde_json::value::RawValue;

use super::super::answer::Page;
use super::super::request::{Request, id};
use super::super::session::{Session, note, print};
use super::super::trouble::Trouble;
use super::follow::{Patience, until_over};
use super::run::Run;
use super::seen::Seen;
use super::{list, show};

/// What one look reads at a time; more new runs than this within a second are read page by page.
const PAGE: usize = 200;
/// A look is polite: beyond this the newest are shown, and it says that it is not all.
const PAGES: usize = 5;
/// Runs that were left behind by newer ones and have not ended are asked for one by one, so many at each look.
const LEFT_BEHIND: usize = 20;

#[derive(Debug, Args)]
pub(crate) struct Tail {
    /// This run, until it has ended
    #[arg(value_name = "RUN", value_parser = id, conflicts_with = "job")]
    run: Option<String>,
    /// The runs of this job
    #[arg(long, value_name = "JOB", value_parser = id)]
    job: Option<String>,
    /// How many of the runs that are there already are shown first
    #[arg(long, short = 'n', value_name = "COUNT", default_value_t = 10, conflicts_with = "run")]
    lines: usize,
}

/// A run as it was read, and as it was written.
struct Read {
    run: Run,
    text: Box<RawValue>,
}

impl AsRef<Run> for Read {
    fn as_ref(&self) -> &Run {
        &self.run
    }
}

impl Tail {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Trouble> {
        if let Some(run) = &self.run {
            return until_over(session, run, true).await;
        }
        tokio::select! {
            ended = self.without_end(session) => ended,
            interrupted = tokio::signal::ctrl_c() => Ok(interrupted?),
        }
    }

    async fn without_end(&self, session: &Session) -> Result<(), Trouble> {
        let request = list(self.job.as_deref());
        let (mut seen, mut patience) = (Seen::default(), Patience::default());
        let begin = seen.news(page(session, &request, None).await?.0);
        // Newest first is how they are listed, newest last how they are followed.
        tell(session, begin.iter().take(self.lines).rev())?;
        loop {
            patience.wait().await;
            if let Some(read) = patience.took(look(session, &request, &seen).await)? {
                tell(session, seen.news(read).iter().rev())?;
            }
        }
    }
}

/// Everything that may have changed since the last look, newest first.
async fn look(session: &Session, request: &Request, seen: &Seen) -> Result<Vec<Read>, Trouble> {
    let (mut read, mut cursor) = page(session, request, None).await?;
    let mut pages = 1;
    while cursor.is_some() && read.last().is_some_and(|last| !seen.knows(&last.run)) {
        if pages == PAGES {
            note("more runs than can be followed: these are the newest");
            break;
        }
        let (more, next) = page(session, request, cursor.as_ref()).await?;
        read.extend(more);
        (cursor, pages) = (next, pages + 1);
    }
    let left_behind = seen.unfinished().filter(|id| !read.iter().any(|read| read.run.id == *id));
    let left_behind: Vec<String> = left_behind.take(LEFT_BEHIND).map(str::to_owned).collect();
    for id in left_behind {
        let answer = session.ask(&show(&id)).await?;
        read.push(Read { run: answer.read()?, text: answer.read()? });
    }
    Ok(read)
}

async fn page(
    session: &Session,
    request: &Request,
    cursor: Option<&String>,
) -> Result<(Vec<Read>, Option<String>), Trouble> {
    let request = request.clone().query("limit", Some(PAGE)).query("cursor", cursor);
    let answer = session.ask(&request).await?;
    let page: Page = answer.read()?;
    let runs: Vec<Run> = answer.items(&page)?;
    let read = runs.into_iter().zip(page.items).map(|(run, text)| Read { run, text });
    Ok((read.collect(), page.next_cursor))
}

fn tell<'a>(session: &Session, runs: impl Iterator<Item = &'a Read>) -> Result<(), Trouble> {
    for read in runs {
        print(&if session.json { format!("{}\n", read.text) } else { format!("{}\n", read.run.line()) })?;
    }
    Ok(())
}
