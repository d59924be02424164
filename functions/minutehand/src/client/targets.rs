//! `minutehand targets`: what jobs may call by an alias.

use clap::Args;
use minutehand_client::calls;
use minutehand_client::wire::{DeclaredView, TargetsQuery};

use super::connection::Connection;
use super::failure::Failure;
use super::list::Paging;
use super::session::{Paper, Session};
use super::table::{Cell, Table};

/// The services of AWS that jobs may call.
#[derive(Debug, Args)]
pub(crate) struct Targets {
    #[command(flatten)]
    paging: Paging,
    #[command(flatten)]
    pub(crate) connection: Connection,
}

impl Targets {
    pub(crate) async fn execute(self) -> Result<(), Failure> {
        let session = Session::open(&self.connection)?;
        session
            .list(calls::list_targets(&TargetsQuery::default()), &self.paging, "No targets are declared.", table)
            .await
    }
}

fn table(targets: &[DeclaredView], _paper: Paper) -> Table {
    let mut table = Table::new(&["ALIAS", "KIND"]);
    for target in targets {
        table.row(vec![Cell::from(&target.alias), Cell::from(&target.kind)]);
    }
    table
}
