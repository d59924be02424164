//! `minutehand signing-secret`: what calls to targets are signed with, so that a target knows who calls.

use clap::{Args, Subcommand};
use minutehand_client::wire::{Instant, RotateRequest, SigningSecretView};
use minutehand_client::{Call, calls};

use super::failure::Failure;
use super::instant::long;
use super::session::{Paper, Session, note};
use super::span::Span;
use super::table::{Card, Cell, STRONG};

#[derive(Debug, Subcommand)]
pub(crate) enum SigningSecret {
    /// Show how old the secret is; the secret itself is shown when it is made, and never again
    #[command(after_help = "\
Examples:
  minutehand signing-secret show")]
    Show,
    /// Make a new secret; calls are signed with both until the grace ends
    #[command(after_help = "\
Examples:
  minutehand signing-secret rotate
  minutehand signing-secret rotate --grace 1d --json | jq -r .secret")]
    Rotate(Rotate),
}

#[derive(Debug, Args)]
pub(crate) struct Rotate {
    /// How long calls are also signed with the old secret, such as 0s or 1d
    #[arg(long, value_name = "SPAN")]
    grace: Option<Span>,
}

impl SigningSecret {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Show => session.show_answer(&calls::get_signing_secret(), card).await,
            Self::Rotate(rotate) => {
                session.show_answer(&rotate.call(), card).await?;
                note("keep the secret now: it is shown this once");
                Ok(())
            }
        }
    }
}

impl Rotate {
    fn call(&self) -> Call<SigningSecretView> {
        calls::rotate_signing_secret(&RotateRequest { grace_seconds: self.grace.map(|Span(seconds)| seconds) })
    }
}

fn card(secret: &SigningSecretView, paper: Paper) -> String {
    let instant = |at: Instant| long(at.0, paper.now);
    Card::default()
        .maybe("Secret", secret.secret.as_ref().map(|text| Cell::new(text, STRONG)))
        .with("Created", secret.created_at.map_or_else(|| Cell::faint("not yet"), |at| Cell::from(instant(at))))
        .maybe("The one before expires", secret.previous_expires_at.map(instant))
        .draw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_is_sent_only_where_it_was_given() {
        assert_eq!(Rotate { grace: None }.call().body(), None);
        assert_eq!(Rotate { grace: Some(Span(60)) }.call().body(), Some(r#"{"grace_seconds":60}"#));
    }
}
