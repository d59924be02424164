//! `minutehand audit`: what admins did.

use clap::Args;
use minutehand_client::wire::{ActView, AuditQuery, Instant, Page};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;

use super::connection::Connection;
use super::failure::Failure;
use super::id;
use super::instant::{Since, now, short};
use super::list::Paging;
use super::session::{Paper, Session};
use super::table::{Cell, Table};

#[derive(Debug, Args)]
pub(crate) struct Ask {
    /// Done at or after this instant, or this long ago: 2030-01-01T00:00:00Z, 2h, 7d; all that is kept without
    #[arg(long, value_name = "INSTANT")]
    from: Option<Since>,
    /// Done before this instant, or this long ago
    #[arg(long, value_name = "INSTANT")]
    to: Option<Since>,
    /// Of another tenant; only the deployment's own key may say so
    #[arg(long, value_parser = id)]
    tenant: Option<String>,
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl Ask {
    pub(crate) async fn execute(self) -> Result<(), Failure> {
        let session = Session::open(&self.connection)?;
        session.list(self.call(now()), &self.paging, "Nothing is on record.", table).await
    }

    fn call(&self, now: Moment) -> Call<Page<ActView>> {
        let instant = |since: Since| Instant(since.seen_from(now));
        let (from, to, tenant) = (self.from.map(instant), self.to.map(instant), self.tenant.clone());
        calls::list_audit(&AuditQuery { from, to, tenant, ..AuditQuery::default() })
    }
}

fn table(acts: &[ActView], _paper: Paper) -> Table {
    let mut table = Table::new(&["AT", "DEED", "~SUBJECT", "OUTCOME", "BY", "~NAME", "~NOTE"]);
    for act in acts {
        table.row(vec![
            Cell::from(short(act.at.0)),
            Cell::from(&act.deed),
            Cell::from(&act.subject),
            Cell::from(act.outcome.to_string()),
            Cell::from(&act.by),
            act.by_name.as_ref().map_or_else(|| Cell::faint("-"), Cell::from),
            Cell::from(act.note.as_deref().unwrap_or_default()),
        ]);
    }
    table
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use url::Url;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        ask: Ask,
    }

    #[test]
    fn the_window_is_an_instant_or_how_long_ago() {
        let now = Moment::parse("2027-01-15T08:00:00Z").unwrap();
        for (words, query) in [
            (&[][..], None),
            (&["--from=1d"], Some("from=2027-01-14T08%3A00%3A00.000Z")),
            (&["--to=2027-01-01T00:00:00Z", "--tenant=acme"], Some("to=2027-01-01T00%3A00%3A00.000Z&tenant=acme")),
        ] {
            let ask = Line::try_parse_from([&["audit"], words].concat()).unwrap().ask;

            assert_eq!(ask.call(now).url(&Url::parse("http://h").unwrap()).query(), query, "{words:?}");
        }
    }
}
