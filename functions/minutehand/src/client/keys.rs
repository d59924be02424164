//! `minutehand keys`: who may call the API, and as what.

use clap::{Args, Subcommand};
use minutehand_client::wire::{Instant, KeyRequest, KeyView, KeysQuery, Page, RoleRequest, RotateRequest, TenantQuery};
use minutehand_client::{Call, calls};
use minutehand_domain::Moment;

use super::cells::or_dash;
use super::failure::Failure;
use super::instant::{instant, long, short};
use super::list::Paging;
use super::session::{Paper, Session, note};
use super::span::Span;
use super::table::{Card, Cell, STRONG, Table};
use super::{id, one_of};

const ROLES: [&str; 4] = ["viewer", "operator", "admin", "worker"];

#[derive(Debug, Subcommand)]
pub(crate) enum Keys {
    /// Make a key; its secret is shown once
    #[command(after_help = "\
Roles: a viewer reads; an operator also makes and changes jobs and runs; an admin also makes keys;
a worker takes runs out of its pools and ends them, and can do nothing else.

Examples:
  minutehand keys create ci --role operator
  minutehand keys create billing --role admin --tenant acme
  minutehand keys create web1 --role worker --pool web1
  minutehand keys create audit --role viewer --expires-at 2030-07-01T00:00:00Z
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
    #[arg(long, value_parser = one_of::<RoleRequest>(ROLES))]
    role: RoleRequest,
    /// A pool that a worker's key works for; can be given again
    #[arg(long, value_name = "POOL", required_if_eq("role", "worker"))]
    pool: Vec<String>,
    /// From when on it opens nothing; it has no end without
    #[arg(long, value_name = "INSTANT", value_parser = instant)]
    expires_at: Option<Moment>,
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

impl Keys {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Create(create) => show_secret(session, &create.call()).await,
            Self::List(list) => session.list(list.call(), &list.paging, "No keys.", table).await,
            Self::Revoke(one) => {
                session.send(&one.revoke()).await?;
                session.done(&format!("{} is revoked", one.key))
            }
            Self::Rotate(rotate) => show_secret(session, &rotate.call()).await,
        }
    }
}

/// Shows a secret that is never shown again.
async fn show_secret(session: &Session, call: &Call<KeyView>) -> Result<(), Failure> {
    let answer = session.send(call).await?;
    session.show(&answer, card)?;
    if answer.read()?.secret.is_some() {
        note("keep the secret now: it is shown this once");
    }
    Ok(())
}

impl Create {
    fn call(&self) -> Call<KeyView> {
        let (name, tenant) = (self.name.clone(), self.whose.tenant.clone());
        let request = KeyRequest {
            name,
            role: self.role,
            pools: (!self.pool.is_empty()).then(|| self.pool.clone()),
            tenant,
            expires_at: self.expires_at.map(Instant),
            idempotency_key: None,
        };
        calls::create_key(&request).once(self.idempotency_key.as_deref())
    }
}

impl List {
    fn call(&self) -> Call<Page<KeyView>> {
        calls::list_keys(&KeysQuery { tenant: self.whose.tenant.clone(), ..KeysQuery::default() })
    }
}

impl One {
    fn revoke(&self) -> Call<()> {
        calls::revoke_key(&self.key, &self.whose.query())
    }
}

impl Rotate {
    fn call(&self) -> Call<KeyView> {
        let request = RotateRequest { grace_seconds: self.grace.map(|Span(seconds)| seconds) };
        calls::rotate_key(&self.one.key, &self.one.whose.query(), &request)
    }
}

impl Whose {
    fn query(&self) -> TenantQuery {
        TenantQuery { tenant: self.tenant.clone() }
    }
}

fn table(keys: &[KeyView], _paper: Paper) -> Table {
    let mut table = Table::new(&["KEY", "~NAME", "ROLE", "TENANT", "CREATED", "LAST USED", "EXPIRES", "REVOKED"]);
    for key in keys {
        table.row(vec![
            Cell::from(&key.key_id),
            Cell::from(&key.name),
            Cell::from(key.role.to_string()),
            Cell::from(&key.tenant),
            Cell::from(short(key.created_at.0)),
            or_dash(key.last_used_at.map(|at| short(at.0)).as_deref()),
            or_dash(key.expires_at.map(|at| short(at.0)).as_deref()),
            or_dash(key.revoked_at.map(|at| short(at.0)).as_deref()),
        ]);
    }
    table
}

fn card(key: &KeyView, paper: Paper) -> String {
    let instant = |at: Instant| long(at.0, paper.now);
    Card::default()
        .with("Key", &key.key_id)
        .with("Name", &key.name)
        .with("Role", key.role.to_string())
        .maybe("Pools", key.pools.as_ref().map(|pools| pools.join(" ")))
        .with("Tenant", &key.tenant)
        .with("Created", instant(key.created_at))
        .maybe("Last used", key.last_used_at.map(instant))
        .maybe("Expires", key.expires_at.map(instant))
        .maybe("Revoked", key.revoked_at.map(instant))
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

    fn sent(words: &[&str]) -> (String, Option<String>) {
        match Line::try_parse_from([&["minutehand"], words].concat()).unwrap().keys {
            Keys::Create(create) => parts(&create.call()),
            Keys::List(list) => parts(&list.call()),
            Keys::Revoke(one) => parts(&one.revoke()),
            Keys::Rotate(rotate) => parts(&rotate.call()),
        }
    }

    fn parts<T>(call: &Call<T>) -> (String, Option<String>) {
        let url = call.url(&Url::parse("http://h").unwrap());
        (format!("{} {}", call.method(), &url.as_str()[8..]), call.body().map(str::to_owned))
    }

    #[test]
    fn each_command_is_a_call() {
        let cases: [(&[&str], &str, Option<&str>); 9] = [
            (
                &["create", "ci", "--role=viewer", "--expires-at=2030-01-01T00:00:00Z"],
                "POST /v1/keys",
                Some(r#"{"name":"ci","role":"viewer","expires_at":"2030-01-01T00:00:00.000Z"}"#),
            ),
            (
                &["create", "w", "--role=worker", "--pool=a", "--pool=b"],
                "POST /v1/keys",
                Some(r#"{"name":"w","role":"worker","pools":["a","b"]}"#),
            ),
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
            assert_eq!(sent(words), (address.to_owned(), body.map(str::to_owned)), "{words:?}");
        }
    }
}
