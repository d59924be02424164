//! `minutehand keys`: who may call the API, and as what.

use clap::{Args, Subcommand};
use http::Method;
use minutehand_domain::Moment;
use serde::Deserialize;
use serde_json::json;

use super::instant::{long, short};
use super::list::Paging;
use super::request::{Request, id};
use super::session::{Paper, Session, note};
use super::span::Span;
use super::table::{Card, Cell, STRONG, Table};
use super::trouble::Trouble;
use super::words::or_dash;

const ROLES: [&str; 3] = ["viewer", "operator", "admin"];

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Make a key; its secret is shown once
    #[command(after_help = "\
Roles: a viewer reads; an operator also makes and changes jobs and runs; an admin also makes keys.

Examples:
  minutehand keys create ci --role operator
  minutehand keys create billing --role admin --tenant acme
  export MINUTEHAND_KEY=$(minutehand keys create me --role viewer --json | jq -r .secret)")]
    Create(Create),
    /// List keys, also those that are revoked
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand keys list
  minutehand keys list --tenant acme --json"
    )]
    List(List),
    /// Let a key in no more, at once
    #[command(after_help = "\
Examples:
  minutehand keys revoke key_06gzmvcpq5xc3xgy")]
    Revoke(One),
    /// Give a key a new secret; the old one works until the grace ends
    #[command(after_help = "\
Examples:
  minutehand keys rotate key_06gzmvcpq5xc3xgy
  minutehand keys rotate key_06gzmvcpq5xc3xgy --grace 1d")]
    Rotate(Rotate),
}

#[derive(Debug, Args)]
pub(crate) struct Create {
    /// What it is for
    name: String,
    /// What it may do
    #[arg(long, value_parser = ROLES)]
    role: String,
    #[command(flatten)]
    whose: Whose,
    /// Asked again with the same key, the same API key is answered instead of a second one, without its secret
    #[arg(long, value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct List {
    #[command(flatten)]
    whose: Whose,
    #[command(flatten)]
    paging: Paging,
}

#[derive(Debug, Args)]
pub(crate) struct One {
    /// The key's id, which is no secret
    #[arg(value_name = "KEY", id = "key_id", value_parser = id)]
    key: String,
    #[command(flatten)]
    whose: Whose,
}

#[derive(Debug, Args)]
pub(crate) struct Rotate {
    #[command(flatten)]
    one: One,
    /// How long the old secret works beside the new one, such as 0s or 1d; an hour without
    #[arg(long, value_name = "SPAN")]
    grace: Option<Span>,
}

#[derive(Debug, Args)]
pub(crate) struct Whose {
    /// Of another tenant; only the deployment's own key may say so
    #[arg(long, value_parser = id)]
    tenant: Option<String>,
}

#[derive(Debug, Deserialize)]
struct Key {
    #[serde(rename = "key_id")]
    id: String,
    name: Option<String>,
    role: String,
    tenant: Option<String>,
    created_at: Option<Moment>,
    revoked_at: Option<Moment>,
    secret: Option<String>,
}

impl Keys {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Trouble> {
        match self {
            Self::Create(create) => made(session, &create.request()).await,
            Self::List(list) => session.list(list.request(), &list.paging, "No keys.", table).await,
            Self::Revoke(one) => {
                session.ask(&one.request(Method::DELETE, &[])).await?;
                session.done(&format!("{} is revoked", one.key))
            }
            Self::Rotate(rotate) => made(session, &rotate.request()).await,
        }
    }
}

/// Shows a secret that is never shown again.
async fn made(session: &Session, request: &Request) -> Result<(), Trouble> {
    let answer = session.ask(request).await?;
    session.show(&answer, card)?;
    if answer.read::<Key>()?.secret.is_some() {
        note("keep the secret now: it is shown this once");
    }
    Ok(())
}

impl Create {
    fn request(&self) -> Request {
        let mut body = json!({ "name": self.name, "role": self.role });
        if let Some(tenant) = &self.whose.tenant {
            body["tenant"] = json!(tenant);
        }
        Request::post(&["keys"]).header("idempotency-key", self.idempotency_key.as_ref()).json(&body)
    }
}

impl List {
    fn request(&self) -> Request {
        Request::get(&["keys"]).query("tenant", self.whose.tenant.as_ref())
    }
}

impl One {
    fn request(&self, method: Method, verb: &[&str]) -> Request {
        let path = [&["keys", self.key.as_str()], verb].concat();
        Request::new(method, &path).query("tenant", self.whose.tenant.as_ref())
    }
}

impl Rotate {
    fn request(&self) -> Request {
        let request = self.one.request(Method::POST, &["rotate"]);
        match self.grace {
            Some(Span(seconds)) => request.json(&json!({ "grace_seconds": seconds })),
            None => request,
        }
    }
}

fn table(keys: &[Key], _paper: Paper) -> Table {
    let mut table = Table::new(&["KEY", "~NAME", "ROLE", "TENANT", "CREATED", "REVOKED"]);
    for key in keys {
        table.row(vec![
            Cell::from(&key.id),
            or_dash(key.name.as_deref()),
            Cell::from(&key.role),
            or_dash(key.tenant.as_deref()),
            or_dash(key.created_at.map(short).as_deref()),
            or_dash(key.revoked_at.map(short).as_deref()),
        ]);
    }
    table
}

fn card(key: &Key, paper: Paper) -> String {
    Card::default()
        .with("Key", &key.id)
        .maybe("Name", key.name.as_ref())
        .with("Role", &key.role)
        .maybe("Tenant", key.tenant.as_ref())
        .maybe("Created", key.created_at.map(|at| long(at, paper.now)))
        .maybe("Revoked", key.revoked_at.map(|at| long(at, paper.now)))
        .maybe("Secret", key.secret.as_ref().map(|secret| Cell::new(secret, STRONG)))
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
        keys: Keys,
    }

    fn asked(words: &[&str]) -> (String, Option<String>) {
        let request = match Line::try_parse_from([&["minutehand"], words].concat()).unwrap().keys {
            Keys::Create(create) => create.request(),
            Keys::List(list) => list.request(),
            Keys::Revoke(one) => one.request(Method::DELETE, &[]),
            Keys::Rotate(rotate) => rotate.request(),
        };
        (format!("{} {}", request.method, &request.url(&Url::parse("http://h").unwrap()).as_str()[8..]), request.body)
    }

    #[test]
    fn each_command_is_a_request() {
        let cases: [(&[&str], &str, Option<&str>); 7] = [
            (&["create", "ci", "--role=viewer"], "POST /v1/keys", Some(r#"{"name":"ci","role":"viewer"}"#)),
            (
                &["create", "ci", "--role=admin", "--tenant=acme"],
                "POST /v1/keys",
                Some(r#"{"name":"ci","role":"admin","tenant":"acme"}"#),
            ),
            (&["list"], "GET /v1/keys", None),
            (&["list", "--tenant=acme"], "GET /v1/keys?tenant=acme", None),
            (&["revoke", "key_1", "--tenant=acme"], "DELETE /v1/keys/key_1?tenant=acme", None),
            (&["rotate", "key_1"], "POST /v1/keys/key_1/rotate", None),
            (&["rotate", "key_1", "--grace=1d"], "POST /v1/keys/key_1/rotate", Some(r#"{"grace_seconds":86400}"#)),
        ];
        for (words, address, body) in cases {
            assert_eq!(asked(words), (address.to_owned(), body.map(str::to_owned)), "{words:?}");
        }
    }
}
