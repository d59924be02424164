//! `minutehand repair`: cursors and timers of a data directory are made again from its jobs and runs, and what nobody can read
//! is listed. For after a clock that was ahead, a store that was taken back, or damage.

use std::io::{self, Write as _};
use std::sync::Arc;

use minutehand_domain::head::Head;
use minutehand_domain::id::Tenant;
use minutehand_domain::run::Run;
use minutehand_io::events::Log;
use minutehand_io::events::tally::Tally;
use minutehand_io::store::embedded::{Embedded, Engine, Everybodys, FileStore};
use minutehand_io::store::item::Item;
use minutehand_io::store::{Cursor, Discard, Store as _, Unreadable};
use minutehand_io::targets::http::{HttpCaller, Reach};
use minutehand_io::vault::key_file::KeyFile;
use minutehand_io::{Fault, Ports as _};
use minutehand_protocol::sweep::forget_hints;
use minutehand_protocol::sweep::repair::{Found, repair_job, repair_run};
use prometheus::Registry;

use crate::arguments::Repair;
use crate::local::Local;
use crate::serve_error::ServeError;

/// Items read at once.
const PAGE: usize = 1000;

/// What was found, in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    jobs: u64,
    runs: u64,
    without_timer: u64,
    overdue: u64,
    ahead: u64,
    later: u64,
    corrupt: u64,
}

impl Summary {
    /// What is overdue may wait elsewhere for its next hint, and is no finding.
    pub(crate) fn found_something(&self) -> bool {
        self.without_timer + self.ahead + self.later + self.corrupt > 0
    }
}

pub(crate) async fn repair(options: &Repair) -> Result<Summary, ServeError> {
    let directory = &options.data;
    // To look at nothing must not make a store.
    if !FileStore::is_in(directory) {
        return Err(ServeError::NoDirectory(directory.clone()));
    }
    let opened = FileStore::open(directory).map_err(|why| ServeError::Store { directory: directory.clone(), why })?;
    let http = HttpCaller::new(Reach::Public)?;
    let ports = Local::new(Arc::new(opened), http, KeyFile::in_memory(), Tally::new(Log, &Registry::new())?);
    let summary = Repairing { ports: &ports, check: options.check, summary: Summary::default() }.all().await?;
    writeln!(io::stdout(), "{}", said(&summary, options.check))?;
    Ok(summary)
}

fn said(summary: &Summary, check: bool) -> String {
    let Summary { jobs, runs, without_timer, overdue, ahead, later, corrupt } = summary;
    let made = if check { "" } else { ", made again" };
    format!(
        "{jobs} jobs and {runs} runs under way\n\
         {without_timer} without a timer{made}\n\
         {overdue} overdue{}\n\
         {ahead} jobs that count from a time that has not come{}\n\
         {later} items of a later release, {corrupt} corrupt",
        if check { "" } else { ", promised once more" },
        if check { "" } else { ", set to now" },
    )
}

struct Repairing<'a, E: Engine> {
    ports: &'a Local<Embedded<E>>,
    check: bool,
    summary: Summary,
}

impl<E: Engine> Repairing<'_, E> {
    async fn all(mut self) -> Result<Summary, ServeError> {
        let mut behind = None;
        loop {
            let page = self.page::<Head>(behind)?;
            for job in page.items.into_iter().filter_map(Head::into_job) {
                self.summary.jobs += 1;
                let found = repair_job(self.ports, &job, self.check).await;
                self.note("job", &job.id.to_string(), found)?;
            }
            behind = page.next;
            if behind.is_none() {
                break;
            }
        }
        self.runs().await?;
        for left in self.ports.store().unreadable_timers()? {
            self.list(&left)?;
        }
        self.cursor().await?;
        Ok(self.summary)
    }

    async fn runs(&mut self) -> Result<(), ServeError> {
        let mut behind = None;
        loop {
            let page = self.page::<Run>(behind)?;
            for run in page.items.into_iter().filter(|run| !run.is_finished()) {
                self.summary.runs += 1;
                let found = repair_run(self.ports, &run, self.check).await;
                self.note("run", &run.key.to_string(), found)?;
            }
            behind = page.next;
            if behind.is_none() {
                return Ok(());
            }
        }
    }

    /// The first pass after a start gives all hints again, from the first timer on.
    async fn cursor(&mut self) -> Result<(), ServeError> {
        let store = self.ports.store();
        match store.get::<Cursor>(&Tenant::deployment(), 0).await {
            Err(why) if why.is_of_an_item() => {
                self.list(&Unreadable { key: "cursors 0".to_owned(), timer: None, why })?;
                if !self.check {
                    store.discard::<Cursor>(&Tenant::deployment(), 0, Discard::Unreadable).await?;
                }
            }
            read => {
                read?;
                if !self.check {
                    forget_hints(self.ports, 0, store.first_timer()?).await?;
                }
            }
        }
        Ok(())
    }

    fn page<T: Item>(&mut self, behind: Option<Vec<u8>>) -> Result<Everybodys<T>, ServeError> {
        let page = self.ports.store().everybodys::<T>(behind, PAGE)?;
        for left in &page.unreadable {
            self.list(left)?;
        }
        Ok(page)
    }

    fn note(&mut self, kind: &str, id: &str, found: Result<Found, Fault>) -> Result<(), ServeError> {
        let line = match found {
            Ok(Found::Whole) => return Ok(()),
            Ok(Found::WithoutTimer(at)) => {
                self.summary.without_timer += 1;
                format!("{kind} {id}: no timer at {at}")
            }
            Ok(Found::Overdue(at)) => {
                self.summary.overdue += 1;
                format!("{kind} {id}: overdue since {at}, and no timer there")
            }
            Ok(Found::Ahead(since)) => {
                self.summary.ahead += 1;
                format!("{kind} {id}: counts from {since}")
            }
            Err(why) if why.is_of_an_item() => {
                let key = format!("{kind} {id}");
                return self.list(&Unreadable { key, timer: None, why });
            }
            Err(fault) => return Err(fault.into()),
        };
        Ok(writeln!(io::stdout(), "{line}")?)
    }

    fn list(&mut self, left: &Unreadable) -> Result<(), ServeError> {
        let counter = match left.why {
            Fault::Later { .. } => &mut self.summary.later,
            _ => &mut self.summary.corrupt,
        };
        *counter += 1;
        Ok(writeln!(io::stdout(), "{}: {}", left.key, left.why)?)
    }
}
