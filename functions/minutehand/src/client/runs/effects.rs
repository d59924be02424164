//! `minutehand runs effects`: what a run's workers claimed before they did it, and what came of it.

use clap::Args;
use minutehand_client::calls;
use minutehand_client::wire::{EffectView, EffectsQuery};

use crate::client::cells::or_dash;
use crate::client::failure::Failure;
use crate::client::id;
use crate::client::instant::short;
use crate::client::list::Paging;
use crate::client::session::{Paper, Session};
use crate::client::table::{Cell, HELD, Table};

#[derive(Debug, Args)]
pub(crate) struct Effects {
    /// The run
    #[arg(value_name = "RUN", value_parser = id)]
    run: String,
    #[command(flatten)]
    paging: Paging,
}

impl Effects {
    pub(super) async fn execute(self, session: &Session) -> Result<(), Failure> {
        let list = calls::list_run_effects(&self.run, &EffectsQuery::default());
        session.list(list, &self.paging, "No effects.", table).await
    }
}

fn table(effects: &[EffectView], _paper: Paper) -> Table {
    let mut table = Table::new(&["EFFECT", "CLAIMED", "ATTEMPT", "PREVENTED", "~OUTCOME"]);
    for effect in effects {
        let outcome = match effect.said_at {
            Some(_) => or_dash(effect.outcome.text()),
            None => Cell::new("not known", HELD),
        };
        table.row(vec![
            Cell::from(&effect.key),
            Cell::from(short(effect.claimed_at.0)),
            Cell::from(effect.attempt.to_string()),
            Cell::from(effect.prevented.to_string()),
            outcome,
        ]);
    }
    table
}
