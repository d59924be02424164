//! `minutehand secrets`: what calls need and nobody is shown.

use clap::{Args, Subcommand};
use minutehand_client::wire::{Page, SecretRequest, SecretView, SecretsQuery};
use minutehand_client::{Call, calls};

use super::cells::or_dash;
use super::failure::Failure;
use super::id;
use super::input::Source;
use super::instant::{long, short};
use super::list::Paging;
use super::session::{Paper, Session};
use super::table::{Card, Cell, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum Secrets {
    /// Write a secret, for the first time or again; what it says comes from stdin or a file, never from the command line
    #[command(after_help = "\
One line break at its end is left out: it is the file's, or the shell's.

Examples:
  printf 'Bearer %s' \"$TOKEN\" | minutehand secrets set billing-token
  minutehand secrets set billing-token --file token.txt
  minutehand jobs create --url https://example.com/ --secret-header 'Authorization: billing-token'")]
    Set(Set),
    /// List secrets: their names and how old they are
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand secrets list
  minutehand secrets list --json | jq -r '.items[].name'"
    )]
    List(List),
    /// Delete a secret; calls that need it fail from then on
    #[command(after_help = "\
Examples:
  minutehand secrets delete billing-token")]
    Delete(One),
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    #[command(flatten)]
    one: One,
    /// Where it says what it says; stdin without
    #[arg(long, short, value_name = "FILE", default_value = "-")]
    file: Source,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The secret's name, by which jobs name it
    #[arg(value_name = "SECRET", id = "secret", value_parser = id)]
    name: String,
}

impl Secrets {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Set(set) if set.file.is_typed() => Err(Failure::Usage(
                "what is typed here stays to be read on the screen: pipe the secret in, or name a file with --file"
                    .to_owned(),
            )),
            Self::Set(set) => session.show_answer(&set.call(&set.file.read()?), card).await,
            Self::List(list) => session.list(List::call(), &list.paging, "No secrets.", table).await,
            Self::Delete(One { name }) => {
                session.send(&calls::delete_secret(&name)).await?;
                session.done(&format!("{name} is deleted"))
            }
        }
    }
}

impl Set {
    fn call(&self, text: &str) -> Call<SecretView> {
        calls::put_secret(&self.one.name, &SecretRequest::new(without_its_line_break(text)))
    }
}

impl List {
    fn call() -> Call<Page<SecretView>> {
        calls::list_secrets(&SecretsQuery::default())
    }
}

fn without_its_line_break(text: &str) -> &str {
    let text = text.strip_suffix('\n').unwrap_or(text);
    text.strip_suffix('\r').unwrap_or(text)
}

fn table(secrets: &[SecretView], _paper: Paper) -> Table {
    let mut table = Table::new(&["SECRET", "VERSION", "CREATED", "ROTATED"]);
    for secret in secrets {
        table.row(vec![
            Cell::from(&secret.name),
            Cell::from(secret.version.to_string()),
            Cell::from(short(secret.created_at.0)),
            or_dash(secret.rotated_at.map(|at| short(at.0)).as_deref()),
        ]);
    }
    table
}

fn card(secret: &SecretView, paper: Paper) -> String {
    Card::default()
        .with("Secret", &secret.name)
        .with("Version", secret.version.to_string())
        .with("Created", long(secret.created_at.0, paper.now))
        .maybe("Rotated", secret.rotated_at.map(|at| long(at.0, paper.now)))
        .draw()
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use url::Url;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(subcommand)]
        secrets: Secrets,
    }

    fn parsed(words: &[&str]) -> Result<Secrets, clap::Error> {
        Line::try_parse_from([&["minutehand"], words].concat()).map(|line| line.secrets)
    }

    #[test]
    fn what_it_says_is_sent_without_the_line_break_at_its_end() {
        let Secrets::Set(set) = parsed(&["set", "billing-token"]).unwrap() else { panic!("it sets") };
        for (text, said) in [("a", "a"), ("a\n", "a"), ("a\r\n", "a"), ("a\n\n", "a\\n"), ("\n", "")] {
            let call = set.call(text);

            assert_eq!(call.body(), Some(&*format!(r#"{{"value":"{said}"}}"#)), "{text:?}");
            assert_eq!(call.url(&Url::parse("http://h").unwrap()).path(), "/v1/secrets/billing-token");
        }
    }

    #[test]
    fn no_value_is_taken_from_the_command_line() {
        assert!(parsed(&["set", "billing-token", "hunter2"]).is_err());
        assert!(parsed(&["set", "billing-token", "--value=hunter2"]).is_err());
        assert!(parsed(&["delete", "a/../b"]).is_err());
    }
}
