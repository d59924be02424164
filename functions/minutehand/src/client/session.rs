//! A session: one command with its server, and how its answers are shown.

use std::io::{self, IsTerminal as _, Write as _};

use minutehand_client::{Answer, Call, Client, Exchange, server_url};
use minutehand_domain::Moment;
use serde::de::DeserializeOwned;
use terminal_size::{Width, terminal_size};

use super::connection::Connection;
use super::failure::Failure;
use super::instant::now;
use super::table::{FAINT, tame};

#[derive(Debug)]
pub(crate) struct Session {
    client: Client,
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
    pub(crate) fn open(connection: &Connection) -> Result<Self, Failure> {
        let url = server_url(&connection.server)?;
        let key = connection.key(&url);
        if connection.verbose {
            let from = key.as_ref().map_or("no key", |key| &key.origin);
            eprintln!("{url} is asked with {from}");
        }
        let client = Client::at(url, key.as_ref().map(|key| key.text.as_str()))?;
        let client = if connection.verbose { client.watched(show_exchange) } else { client };
        Ok(Self { client, json: connection.json })
    }

    /// For who speaks to the server for long.
    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) async fn send<T>(&self, call: &Call<T>) -> Result<Answer<T>, Failure> {
        let answer = self.send_once(call).await?;
        if answer.replayed() {
            note("this is the answer to an earlier request with the same idempotency key");
        }
        Ok(answer)
    }

    /// Of a request that is one by itself: what it means that it was answered before, its caller says.
    pub(crate) async fn send_once<T>(&self, call: &Call<T>) -> Result<Answer<T>, Failure> {
        Ok(self.client.send(call).await?)
    }

    /// The answer's JSON as it is, or what the view makes of it.
    pub(crate) async fn show_answer<T: DeserializeOwned>(
        &self,
        call: &Call<T>,
        view: impl FnOnce(&T, Paper) -> String,
    ) -> Result<(), Failure> {
        let answer = self.send(call).await?;
        self.show(&answer, view)
    }

    pub(crate) fn show<T: DeserializeOwned>(
        &self,
        answer: &Answer<T>,
        view: impl FnOnce(&T, Paper) -> String,
    ) -> Result<(), Failure> {
        if self.json {
            return print(&format!("{}\n", answer.text()));
        }
        print(&view(&answer.read()?, Paper::here()))
    }

    /// For an answer that has no body: machines need no sentence, the exit code is theirs.
    pub(crate) fn done(&self, sentence: &str) -> Result<(), Failure> {
        if self.json { Ok(()) } else { print(&format!("{sentence}\n")) }
    }
}

impl Paper {
    pub(crate) fn here() -> Self {
        let width = terminal_size().filter(|_| io::stdout().is_terminal()).map(|(Width(width), _)| width.into());
        Self { width: width.unwrap_or(usize::MAX), now: now() }
    }
}

fn show_exchange(exchange: &Exchange<'_>) {
    let Exchange { method, url, status, request_id, took } = exchange;
    eprintln!("{method} {url}: {status} in {} ms, {}", took.as_millis(), request_id.unwrap_or("-"));
}

/// Colours are left out where nobody sees them, or `NO_COLOR` says so.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// What is worth saying beside the answer, and must not be part of it.
pub(crate) fn note(text: &str) {
    let _written = writeln!(anstream::stderr(), "{FAINT}{}{FAINT:#}", tame(text));
}
