//! Following one run until it has ended, and being patient with a server that is away for a moment.

use std::time::{Duration, Instant};

use minutehand_client::wire::{RunStatus, RunView};
use minutehand_client::{Answer, Call, calls};

use super::super::failure::Failure;
use super::super::session::{Paper, Session, note, print};
use super::run::{card, is_over, line, why};
use super::watch_list::WatchList;
use crate::client::workflow_runs::{failed_tasks, in_words};

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// A run that was just asked for has often ended before a second is over: the first looks are closer together.
const FIRST_LOOKS: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(150), Duration::from_millis(400)];
/// How long a server may be away: a restart takes less.
const AWAY: Duration = Duration::from_secs(60);

/// Waits between looks, longer where the server says so, and gives up on a server that is away for long.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    looks: usize,
    away_since: Option<Instant>,
    retry_after: Option<Duration>,
}

impl Patience {
    pub(crate) async fn wait(&mut self) {
        let usual = FIRST_LOOKS.get(self.looks).copied().unwrap_or(LOOK);
        self.looks += 1;
        tokio::time::sleep(self.retry_after.take().unwrap_or(usual).max(usual)).await;
    }

    /// What a look found; nothing, where the server is away and may come back.
    pub(crate) fn answer_of<T>(&mut self, look: Result<T, Failure>) -> Result<Option<T>, Failure> {
        let failure = match look {
            Ok(found) => {
                self.away_since = None;
                return Ok(Some(found));
            }
            Err(failure) => failure,
        };
        if !failure.may_pass() {
            return Err(failure);
        }
        let since = *self.away_since.get_or_insert_with(|| {
            note(&format!("{failure}; trying again"));
            Instant::now()
        });
        if since.elapsed() > AWAY {
            return Err(failure);
        }
        self.retry_after = failure.retry_after().map(|seconds| Duration::from_secs(seconds).min(AWAY));
        Ok(None)
    }
}

/// Asks for a run, and waits until it has ended. Machines get it as it ended and nothing else.
pub(crate) async fn until_ended(session: &Session, call: &Call<RunView>) -> Result<(), Failure> {
    let run = session.send(call).await?.read()?;
    follow(session, &run.run_id, false).await
}

/// The same of a workflow's run: which of its tasks failed, and why, is said too.
pub(crate) async fn until_graph_ended(session: &Session, call: &Call<RunView>) -> Result<(), Failure> {
    let run = session.send(call).await?.read()?;
    match follow(session, &run.run_id, false).await {
        Err(Failure::RunEnded { said, .. }) => {
            let said = said.strip_suffix(": task").map_or(said.clone(), |said| format!("{said}: {}", in_words("task")));
            let failed = failed_tasks(session, &run.run_id).await;
            Err(Failure::RunEnded { said, failed })
        }
        done => done,
    }
}

/// Until it has ended. With `each_change`, machines too get every change, a line each.
pub(crate) async fn follow(session: &Session, run: &str, each_change: bool) -> Result<(), Failure> {
    let (mut watch_list, mut patience) = (WatchList::default(), Patience::default());
    let look = calls::get_run(run);
    let mut answer = Some(session.send(&look).await?);
    loop {
        if let Some(answer) = answer {
            let run = answer.read()?;
            show_change(session, &run, &answer, &mut watch_list, each_change)?;
            if is_over(&run) {
                return ended(&run);
            }
        }
        patience.wait().await;
        answer = patience.answer_of(session.send(&look).await)?;
    }
}

fn show_change(
    session: &Session,
    run: &RunView,
    answer: &Answer<RunView>,
    watch_list: &mut WatchList,
    each_change: bool,
) -> Result<(), Failure> {
    let changed = !watch_list.changed(vec![run]).is_empty();
    match (session.json, each_change) {
        (true, true) if changed => print(&format!("{}\n", answer.text())),
        (true, false) if is_over(run) => print(&format!("{}\n", answer.text())),
        (false, false) if is_over(run) => print(&card(run, Paper::here())),
        (false, true) if changed => print(&format!("{}\n", line(run))),
        _ => Ok(()),
    }
}

fn ended(run: &RunView) -> Result<(), Failure> {
    if run.status == RunStatus::Succeeded {
        return Ok(());
    }
    let why = Some(why(run)).filter(|why| !why.is_empty()).map(|why| format!(": {why}")).unwrap_or_default();
    Err(Failure::RunEnded { said: format!("the run ended as {}{why}", run.status), failed: Vec::new() })
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use minutehand_client::Refused;

    use super::*;

    fn refused(status: u16) -> Failure {
        Failure::Refused(Refused::read(StatusCode::from_u16(status).unwrap(), Some(7), "").into())
    }

    #[test]
    fn a_server_that_is_away_for_a_moment_is_waited_for() {
        let mut patience = Patience::default();

        assert!(matches!(patience.answer_of::<()>(Err(refused(503))), Ok(None)));
        assert_eq!(patience.retry_after, Some(Duration::from_secs(7)));
        assert!(matches!(patience.answer_of(Ok(())), Ok(Some(()))));
        assert_eq!(patience.away_since, None);
    }

    #[test]
    fn a_server_that_says_no_is_not_asked_again() {
        for status in [401, 403, 404, 422] {
            assert!(Patience::default().answer_of::<()>(Err(refused(status))).is_err(), "{status}");
        }
    }

    #[test]
    fn a_server_that_stays_away_is_given_up() {
        let away_since = Instant::now().checked_sub(AWAY + LOOK);
        let mut patience = Patience { away_since, ..Patience::default() };

        assert!(patience.answer_of::<()>(Err(refused(503))).is_err());
    }
}
