//! A session: one command with its server, and how its answers are shown.

use std::io::{self, IsTerminal as _, Write as _};

use minutehand_domain::Moment;
use serde::de::DeserializeOwned;
use terminal_size::{Width, terminal_size};

use super::answer::Answer;
use super::connection::Connection;
use super::instant::now;
use super::request::Request;
use super::server::Server;
use super::table::{FAINT, tame};
use super::trouble::Trouble;

#[derive(Debug)]
pub(crate) struct Session {
    server: Server,
    pub(crate) json: bool,
}

/// What a view is drawn on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Paper {
    /// Without end where nobody looks.
    pub(crate) width: usize,
    pub(crate) now: Moment,
}

impl Session {
    pub(crate) fn open(connection: &Connection) -> Result<Self, Trouble> {
        let url = connection.url()?;
        let key = connection.key(&url);
        if connection.verbose {
            let from = key.as_ref().map_or("no key", |key| &key.origin);
            eprintln!("{url} is asked with {from}");
        }
        let server = Server::new(url, key.as_ref().map(|key| key.text.as_str()), connection.verbose)?;
        Ok(Self { server, json: connection.json })
    }

    pub(crate) async fn ask(&self, request: &Request) -> Result<Answer, Trouble> {
        let answer = self.server.ask(request).await?;
        if answer.replayed {
            note("this is the answer to an earlier request with the same idempotency key");
        }
        Ok(answer)
    }

    /// The answer's JSON as it is, or what the view makes of it.
    pub(crate) async fn ask_and_show<T: DeserializeOwned>(
        &self,
        request: &Request,
        view: impl FnOnce(&T, Paper) -> String,
    ) -> Result<(), Trouble> {
        let answer = self.ask(request).await?;
        self.show(&answer, view)
    }

    pub(crate) fn show<T: DeserializeOwned>(
        &self,
        answer: &Answer,
        view: impl FnOnce(&T, Paper) -> String,
    ) -> Result<(), Trouble> {
        if self.json {
            return print(&format!("{}\n", answer.text));
        }
        print(&view(&answer.read()?, Paper::here()))
    }

    /// For an answer that has no body: machines need no sentence, the exit code is theirs.
    pub(crate) fn done(&self, sentence: &str) -> Result<(), Trouble> {
        if self.json { Ok(()) } else { print(&format!("{sentence}\n")) }
    }
}

impl Paper {
    pub(crate) fn here() -> Self {
        let width = terminal_size().filter(|_| io::stdout().is_terminal()).map(|(Width(width), _)| width.into());
        Self { width: width.unwrap_or(usize::MAX), now: now() }
    }
}

/// Colours are left out where nobody sees them, or `NO_COLOR` says so.
pub(crate) fn print(text: &str) -> Result<(), Trouble> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// What is worth saying beside the answer, and must not be part of it.
pub(crate) fn note(text: &str) {
    let _said = writeln!(anstream::stderr(), "{FAINT}{}{FAINT:#}", tame(text));
}
