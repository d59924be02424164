//! `minutehand notifications`: whom a tenant has told of which ends of runs.

use clap::{Args, Subcommand};
use minutehand_client::wire::{self, MessagesView, NotificationToView, NotificationView, NotificationsQuery, Page};
use minutehand_client::{Call, calls};

use super::failure::Failure;
use super::id;
use super::input::{Json, Source};
use super::instant::long;
use super::list::Paging;
use super::runs::run::card as run_card;
use super::session::{Paper, Session};
use super::table::{Card, Cell, Table};

#[derive(Debug, Subcommand)]
pub(crate) enum Notifications {
    /// Write a notification, for the first time or again; what it says comes from stdin or a file: the address of a chat is a secret
    #[command(after_help = "\
What the file leaves out has its default. `when` names what is told: failed, dead_letter, missed, late, sla, recovered.

Examples:
  minutehand notifications put on-call --file on-call.json
  echo '{\"when\": [\"failed\"], \"to\": {\"webhook\": {\"url\": \"https://example.com/alerts\"}}}' | minutehand notifications put on-call
  minutehand notifications test on-call")]
    Put(Put),
    /// List notifications
    #[command(
        visible_alias = "ls",
        after_help = "\
Examples:
  minutehand notifications list
  minutehand notifications list --json | jq -r '.items[] | select(.enabled | not) | .name'"
    )]
    List(List),
    /// Show a notification, and what became of its newest messages
    #[command(after_help = "\
Examples:
  minutehand notifications show on-call
  minutehand notifications show on-call --json | jq .messages.last_error")]
    Show(One),
    /// Send a message that says that it is a test
    #[command(after_help = "\
Examples:
  minutehand notifications test on-call")]
    Test(One),
    /// Delete a notification; what it has gathered is told to nobody
    #[command(
        visible_alias = "rm",
        after_help = "\
Examples:
  minutehand notifications delete on-call"
    )]
    Delete(One),
}

#[derive(Debug, Args)]
pub(crate) struct Put {
    #[command(flatten)]
    one: One,
    /// JSON: what is told, of which jobs, and to whom; stdin without
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
    /// Its name
    #[arg(value_name = "NOTIFICATION", id = "notification", value_parser = id)]
    name: String,
}

impl Notifications {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Put(put) => {
                let request = Json::In(put.file).read()?;
                session.show_answer(&written(&put.one.name, &request), card).await
            }
            Self::List(list) => session.list(listed(), &list.paging, "No notifications.", table).await,
            Self::Show(One { name }) => session.show_answer(&calls::get_notification(&name), card).await,
            Self::Test(One { name }) => session.show_answer(&calls::test_notification(&name), run_card).await,
            Self::Delete(One { name }) => {
                session.send(&calls::delete_notification(&name)).await?;
                session.done(&format!("{name} is deleted"))
            }
        }
    }
}

fn written(name: &str, request: &wire::Json) -> Call<NotificationView> {
    calls::put_notification(name, request)
}

fn listed() -> Call<Page<NotificationView>> {
    calls::list_notifications(&NotificationsQuery::default())
}

fn table(notifications: &[NotificationView], _paper: Paper) -> Table {
    let mut table = Table::new(&["NOTIFICATION", "WHEN", "OF", "TO", "ENABLED"]);
    for notification in notifications {
        table.row(vec![
            Cell::from(&notification.name),
            Cell::from(when(notification)),
            Cell::from(whose(notification)),
            Cell::from(to(&notification.to)),
            Cell::from(if notification.enabled { "yes" } else { "no" }),
        ]);
    }
    table
}

fn card(notification: &NotificationView, paper: Paper) -> String {
    let card = Card::default()
        .with("Notification", &notification.name)
        .with("When", when(notification))
        .with("In a row", notification.after_in_a_row.to_string())
        .with("Of", whose(notification))
        .with("To", to(&notification.to))
        .with("Digest", format!("{} s", notification.digest_seconds))
        .with("Cooldown", format!("{} s", notification.cooldown_seconds))
        .with("Late after", format!("{} s", notification.late_seconds))
        .with("Enabled", if notification.enabled { "yes" } else { "no" })
        .with("Created", long(notification.created_at.0, paper.now))
        .with("Changed", long(notification.changed_at.0, paper.now));
    match &notification.messages {
        Some(messages) => told(card, messages, paper).draw(),
        None => card.draw(),
    }
}

fn told(card: Card, messages: &MessagesView, paper: Paper) -> Card {
    let MessagesView { sent, failed, suppressed, dropped, pending, .. } = messages;
    let counts =
        format!("{sent} sent, {failed} failed, {suppressed} suppressed, {dropped} dropped, {pending} under way");
    let error = messages
        .last_error
        .as_ref()
        .map(|error| format!("{} at {} ({})", error.code.as_deref().unwrap_or("unknown"), error.at, error.run_id));
    card.with("Messages", counts)
        .maybe("Last sent", messages.last_sent_at.map(|at| long(at.0, paper.now)))
        .maybe("Last error", error)
}

fn when(notification: &NotificationView) -> String {
    notification.when.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

fn whose(notification: &NotificationView) -> String {
    match (&notification.jobs, &notification.tags) {
        (Some(jobs), _) => jobs.join(", "),
        (None, Some(tags)) => format!("tags {}", tags.join(", ")),
        (None, None) => "all jobs".to_owned(),
    }
}

fn to(to: &NotificationToView) -> String {
    match (&to.webhook, &to.slack, &to.sns) {
        (Some(webhook), ..) => format!("webhook {}", webhook.host),
        (None, Some(slack), _) => format!("slack {}", slack.host),
        (None, None, Some(topic)) => format!("sns {}", topic.alias),
        (None, None, None) => "something else".to_owned(),
    }
}
