//! Following one run until it has ended, and being patient with a server that is away for a moment.

use std::time::{Duration, Instant};

use super::super::answer::Answer;
use super::super::request::Request;
use super::super::session::{Paper, Session, note, print};
use super::super::trouble::Trouble;
use super::run::{Run, card};
use super::seen::Seen;
use super::show;

/// Between two looks.
const LOOK: Duration = Duration::from_secs(1);
/// A run that was just asked for has often ended before a second is over: the first looks are closer together.
const FIRST_LOOKS: [Duration; 3] = [Duration::from_millis(50), Duration::from_millis(150), Duration::from_millis(400)];
/// How long a server may be away: a restart takes less.
const AWAY: Duration = Duration::from_secs(60);

/// Waits between looks, longer where it is told to, and gives up on a server that is away for long.
#[derive(Debug, Default)]
pub(crate) struct Patience {
    looks: usize,
    away_since: Option<Instant>,
    told_to_wait: Option<Duration>,
}

impl Patience {
    pub(crate) async fn wait(&mut self) {
        let usual = FIRST_LOOKS.get(self.looks).copied().unwrap_or(LOOK);
        self.looks += 1;
        tokio::time::sleep(self.told_to_wait.take().unwrap_or(usual).max(usual)).await;
    }

    /// What a look found; nothing, where the server is away and may come back.
    pub(crate) fn took<T>(&mut self, look: Result<T, Trouble>) -> Result<Option<T>, Trouble> {
        let trouble = match look {
            Ok(found) => {
                self.away_since = None;
                return Ok(Some(found));
            }
            Err(trouble) => trouble,
        };
        let since = *self.away_since.get_or_insert_with(|| {
            note(&format!("{trouble}; trying again"));
            Instant::now()
        });
        if !trouble.passes() || since.elapsed() > AWAY {
            return Err(trouble);
        }
        self.told_to_wait = trouble.retry_after().map(|seconds| Duration::from_secs(seconds).min(AWAY));
        Ok(None)
    }
}

/// Asks for a run, and waits until it has ended. Machines get it as it ended and nothing else.
pub(crate) async fn asked_for(session: &Session, request: &Request) -> Result<(), Trouble> {
    let run: Run = session.ask(request).await?.read()?;
    until_over(session, &run.id, false).await
}

/// With `each_change`, machines too get every change, a line each.
pub(crate) async fn until_over(session: &Session, id: &str, each_change: bool) -> Result<(), Trouble> {
    let (mut seen, mut patience) = (Seen::default(), Patience::default());
    let mut look = Some(session.ask(&show(id)).await?);
    loop {
        if let Some(answer) = look {
            let run: Run = answer.read()?;
            tell(session, &run, &answer, &mut seen, each_change)?;
            if run.is_over() {
                return ended(&run);
            }
        }
        patience.wait().await;
        look = patience.took(session.ask(&show(id)).await)?;
    }
}

fn tell(session: &Session, run: &Run, answer: &Answer, seen: &mut Seen, each_change: bool) -> Result<(), Trouble> {
    let news = !seen.news(vec![run]).is_empty();
    match (session.json, each_change) {
        (true, true) if news => print(&format!("{}\n", answer.text)),
        (true, false) if run.is_over() => print(&format!("{}\n", answer.text)),
        (false, false) if run.is_over() => print(&card(run, Paper::here())),
        (false, true) if news => print(&format!("{}\n", run.line())),
        _ => Ok(()),
    }
}

fn ended(run: &Run) -> Result<(), Trouble> {
    if run.status == "succeeded" {
        return Ok(());
    }
    let why = Some(run.why()).filter(|why| !why.is_empty()).map(|why| format!(": {why}")).unwrap_or_default();
    Err(Trouble::RunEnded(format!("the run ended as {}{why}", run.status)))
}

impl AsRef<Run> for Run {
    fn as_ref(&self) -> &Run {
        self
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::super::super::problem::Problem;
    use super::*;

    fn refused(status: u16) -> Trouble {
        Trouble::Refused(Problem::read(StatusCode::from_u16(status).unwrap(), Some(7), "").into())
    }

    #[test]
    fn a_server_that_is_away_for_a_moment_is_waited_for() {
        let mut patience = Patience::default();

        assert!(matches!(patience.took::<()>(Err(refused(503))), Ok(None)));
        assert_eq!(patience.told_to_wait, Some(Duration::from_secs(7)));
        assert!(matches!(patience.took(Ok(())), Ok(Some(()))));
        assert_eq!(patience.away_since, None);
    }

    #[test]
    fn a_server_that_says_no_is_not_asked_again() {
        for status in [401, 403, 404, 422] {
            assert!(Patience::default().took::<()>(Err(refused(status))).is_err(), "{status}");
        }
    }

    #[test]
    fn a_server_that_stays_away_is_given_up() {
        let away_since = Instant::now().checked_sub(AWAY + LOOK);
        let mut patience = Patience { away_since, ..Patience::default() };

        assert!(patience.took::<()>(Err(refused(503))).is_err());
    }
}
