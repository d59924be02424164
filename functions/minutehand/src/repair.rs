//! `minutehand repair`: timers and cursors are made again from the jobs and runs, and what nobody can read is listed; of a data
//! directory that nobody serves, or through the API of a server that goes on. For after a clock that was ahead, a store that was
//! taken back, a table of timers that was lost, or damage.

mod discarding;

use std::io::{self, Write as _};
use std::path::Path;
use std::sync::Arc;

use minutehand_client::calls;
use minutehand_client::wire::{RepairRequest, RepairView};
use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::audit::{Act, ActKey, Deed, Outcome};
use minutehand_domain::id::Tenant;
use minutehand_domain::repair::Summary;
use minutehand_io::Ports;
use minutehand_io::chance::Chance as _;
use minutehand_io::clock::Clock as _;
use minutehand_io::events::Log;
use minutehand_io::metrics::Unmeasured;
use minutehand_io::metrics::measured::Measured;
use minutehand_io::spans::Spanned;
use minutehand_io::store::embedded::FileStore;
use minutehand_io::targets::http::{HttpCaller, Reach};
use minutehand_io::vault::key_file::KeyFile;
use minutehand_protocol::audit::on_record;
use minutehand_protocol::sweep::repair::{Position, Repair, Repaired, repair};

use self::discarding::discard;
use crate::client::{Connection, Failure, Session};
use crate::local::Local;
use crate::serve_error::ServeError;
use crate::targets::Services;

/// What is on record as repaired, where it is not one item.
const SUBJECT: &str = "timers";

/// What is overdue may wait elsewhere for its next hint, and is no finding.
pub(crate) fn is_sound(view: &RepairView) -> bool {
    view.without_timer + view.unsettled + view.ahead + view.later + view.corrupt == 0
}

/// Of a directory that nobody serves. A check changes nothing of it, not even what a release changes in a store that it opens. What is to be discarded
/// goes first, since timers may be made again in its place.
pub(crate) async fn repair_directory(
    directory: &Path,
    check: bool,
    discarded: Option<&str>,
) -> Result<RepairView, ServeError> {
    let unusable = |why| ServeError::Store { directory: directory.to_owned(), why };
    // To look at nothing must not make a store.
    if !FileStore::is_in(directory).map_err(unusable)? {
        return Err(ServeError::NoDirectory(directory.to_owned()));
    }
    FileStore::look_through(directory).map_err(unusable)?;
    let opened = if check { FileStore::to_look(directory) } else { FileStore::open(directory) }.map_err(unusable)?;
    let http = HttpCaller::new(Reach::Public)?;
    let ports = Local::new(
        Arc::new(opened),
        http,
        Services::default(),
        KeyFile::in_memory(),
        Measured::new(Spanned::new(Log, None), Arc::new(Unmeasured)),
    );
    let call = Repair { check, until: Moment::END };
    let outcome_of = |done: &Result<_, ServeError>| done.is_ok().then_some(Outcome::Done);
    let repaired = if check {
        all(&ports, call).await
    } else if let Some(key) = discarded {
        let not_discarded = |why| ServeError::NotDiscarded { key: key.to_owned(), why };
        let corrupt = ports.store().corrupt_at(key).map_err(not_discarded)?;
        let discarding = async {
            discard(ports.store(), directory, &corrupt, ports.clock().now()).await?;
            all(&ports, call).await
        };
        on_record(&ports, act(&ports, &corrupt.key()), discarding, outcome_of).await
    } else {
        on_record(&ports, act(&ports, SUBJECT), all(&ports, call), outcome_of).await
    }?;
    say_all(&repaired, check)?;
    Ok(repaired)
}

async fn all<D: Ports>(ports: &D, call: Repair) -> Result<RepairView, ServeError> {
    let (mut position, mut summary) = (Some(Position::default()), Summary::default());
    while let Some(from) = position {
        let repaired: Repaired = repair(ports, from, call).await?;
        summary = summary.and(repaired.summary);
        say(&RepairView::of(&Summary::default(), &repaired.findings, None))?;
        position = repaired.next;
    }
    Ok(RepairView::of(&summary, &[], None))
}

fn act<D: Ports>(ports: &D, subject: &str) -> Act {
    Act {
        tenant: Tenant::deployment(),
        key: ActKey { at: ports.clock().now(), number: ports.chance().number() },
        by: By::host(),
        by_name: None,
        deed: Deed::Repair.as_str().into(),
        subject: subject.to_owned(),
        request_id: String::new(),
        outcome: None,
        note: None,
    }
}

/// Of a server that goes on meanwhile, call by call.
pub(crate) async fn repair_server(connection: &Connection, check: bool) -> Result<RepairView, Failure> {
    let session = Session::open(connection)?;
    let (mut cursor, mut whole) = (None::<String>, RepairView::of(&Summary::default(), &[], None));
    loop {
        let answer = session.send(&calls::repair(&RepairRequest { check, cursor: cursor.take() })).await?.read()?;
        if !session.json {
            say(&answer)?;
        }
        cursor.clone_from(&answer.next_cursor);
        whole = whole.and(answer);
        if cursor.is_none() {
            break;
        }
    }
    if session.json {
        let whole = serde_json::to_string(&whole).map_err(io::Error::other)?;
        writeln!(io::stdout(), "{whole}")?;
    } else {
        say_all(&whole, check)?;
    }
    Ok(whole)
}

/// What was found, a line each.
fn say(view: &RepairView) -> io::Result<()> {
    view.findings.iter().try_for_each(|finding| writeln!(io::stdout(), "{finding}"))
}

/// All of it, in numbers.
fn say_all(view: &RepairView, check: bool) -> io::Result<()> {
    let RepairView { jobs, runs, without_timer, overdue, unsettled, ahead, later, corrupt, .. } = view;
    let made = if check { "" } else { ", made again" };
    writeln!(
        io::stdout(),
        "{jobs} jobs and {runs} runs under way\n\
         {without_timer} without a timer{made}\n\
         {overdue} overdue{}\n\
         {unsettled} over and not settled{}\n\
         {ahead} jobs that count from a time that has not come{}\n\
         {later} items of a later release, {corrupt} corrupt",
        if check { "" } else { ", promised once more" },
        if check { "" } else { ", to be looked at now" },
        if check { "" } else { ", set to now" },
    )
}
