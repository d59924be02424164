//! `minutehand signing-secret`: what calls to targets are signed with, so that a target knows who calls.

use clap::{Args, Subcommand};
use minutehand_domain::Moment;
use serde::Deserialize;
use serde_json::json;

use super::instant::long;
use super::request::Request;
use super::session::{Paper, Session, note};
use super::span::Span;
use super::table::{Card, Cell, STRONG};
use super::trouble::Trouble;

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

#[derive(Debug, Deserialize)]
struct Secret {
    #[serde(rename = "secret")]
    text: Option<String>,
    created_at: Option<Moment>,
    previous_expires_at: Option<Moment>,
}

impl SigningSecret {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Trouble> {
        match self {
            Self::Show => session.ask_and_show(&Request::get(&["signing-secret"]), card).await,
            Self::Rotate(rotate) => {
                session.ask_and_show(&rotate.request(), card).await?;
                note("keep the secret now: it is shown this once");
                Ok(())
            }
        }
    }
}

impl Rotate {
    fn request(&self) -> Request {
        let request = Request::post(&["signing-secret", "rotate"]);
        match self.grace {
            Some(Span(seconds)) => request.json(&json!({ "grace_seconds": seconds })),
            None => request,
        }
    }
}

fn card(secret: &Secret, paper: Paper) -> String {
    let instant = |at| long(at, paper.now);
    Card::default()
        .maybe("Secret", secret.text.as_ref().map(|text| Cell::new(text, STRONG)))
        .with("Created", secret.created_at.map_or_else(|| Cell::faint("not yet"), |at| Cell::from(instant(at))))
        .maybe("The one before expires", secret.previous_expires_at.map(instant))
        .draw()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_grace_is_said_only_where_it_was_given() {
        assert_eq!(Rotate { grace: None }.request().body, None);
        assert_eq!(Rotate { grace: Some(Span(60)) }.request().body.as_deref(), Some(r#"{"grace_seconds":60}"#));
    }
}
