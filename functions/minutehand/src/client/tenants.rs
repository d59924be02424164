//! `minutehand tenants`: erasing one whole.

use std::io::{self, IsTerminal as _, Write as _};

use clap::{Args, Subcommand};
use minutehand_client::calls;

use super::failure::Failure;
use super::id;
use super::operations::card;
use super::session::Session;

#[derive(Debug, Subcommand)]
pub(crate) enum Tenants {
    /// Erase all that is kept for a tenant, with the deployment's own key: there is no way back
    #[command(after_help = "\
Its keys open nothing from then on. It is done, and says so, once a walk that began 20 minutes after the last find has found nothing.

Examples:
  minutehand tenants erase acme               # asks for the name once more
  minutehand tenants erase acme --yes
  minutehand operations show op_06gzmvcpq5xc3xgyx14fxfeyh0")]
    Erase(Erase),
}

#[derive(Debug, Args)]
pub(crate) struct Erase {
    /// Whose things
    #[arg(value_parser = id)]
    tenant: String,
    /// Do not ask for the name once more
    #[arg(long)]
    yes: bool,
}

impl Tenants {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        let Self::Erase(Erase { tenant, yes }) = self;
        if !yes && !is_meant(&tenant)? {
            return Err(Failure::Usage(format!("{tenant} was not erased: the name was not typed again")));
        }
        session.show_answer(&calls::erase_tenant(&tenant), card).await
    }
}

/// Whoever cannot be asked has not said so.
fn is_meant(tenant: &str) -> Result<bool, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::Usage("nobody is here to be asked: --yes erases it without".to_owned()));
    }
    write!(io::stderr(), "All that is kept for {tenant} will be gone for good. Type its name to erase it: ")?;
    io::stderr().flush()?;
    let mut typed = String::new();
    io::stdin().read_line(&mut typed)?;
    Ok(typed.trim() == tenant)
}
