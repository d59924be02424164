//! `minutehand quotas`: how much a tenant may ask for.

use clap::{ArgGroup, Args, Subcommand};
use minutehand_client::calls;
use minutehand_client::wire::{QuotaRequest, QuotaView};

use super::failure::Failure;
use super::id;
use super::session::{Paper, Session};
use super::table::{Card, Cell};

const LIMITS: [&str; 6] = [
    "max_jobs",
    "max_fires_per_minute",
    "max_concurrent_runs",
    "max_requests_per_second",
    "max_catch_up_per_minute",
    "retention_days",
];

#[derive(Debug, Subcommand)]
pub(crate) enum Quotas {
    /// Show your limits, or those of a tenant
    #[command(after_help = "\
Examples:
  minutehand quotas show
  minutehand quotas show acme        # with the deployment's own key")]
    Show(Show),
    /// Set limits of a tenant, with the deployment's own key; those that are not named stay as they are
    #[command(after_help = "\
Examples:
  minutehand quotas set acme --max-jobs 1000 --max-requests-per-second 50
  minutehand quotas set acme --max-jobs unlimited")]
    Set(Set),
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Whose; only the deployment's own key may say so
    #[arg(value_parser = id)]
    tenant: Option<String>,
}

#[derive(Debug, Args)]
#[command(group = ArgGroup::new("limits").args(LIMITS).required(true).multiple(true))]
pub(crate) struct Set {
    /// Whose
    #[arg(value_parser = id)]
    tenant: String,
    /// Jobs that can still fire; `unlimited` takes the limit away
    #[arg(long, value_name = "COUNT")]
    max_jobs: Option<Limit>,
    /// Occurrences that fire in one minute
    #[arg(long, value_name = "COUNT")]
    max_fires_per_minute: Option<Limit>,
    /// Runs that are carried out at the same time
    #[arg(long, value_name = "COUNT")]
    max_concurrent_runs: Option<Limit>,
    /// Requests to the API in one second
    #[arg(long, value_name = "COUNT")]
    max_requests_per_second: Option<Limit>,
    /// Missed occurrences that are made up for in one minute, all jobs together; `default` takes the limit back to 600
    #[arg(long, value_name = "COUNT", value_parser = limit_or_default)]
    max_catch_up_per_minute: Option<Limit>,
    /// Days that what is over is kept, the most that a job can ask for; `default` takes it back to 30, and no bound
    #[arg(long, value_name = "DAYS", value_parser = limit_or_default)]
    retention_days: Option<Limit>,
}

/// What is made up for always has a limit, and what is over is kept for a time.
fn limit_or_default(text: &str) -> Result<Limit, &'static str> {
    match text {
        "default" => Ok(Limit(None)),
        number => number.parse().map(|number| Limit(Some(number))).map_err(|_| "write a number, or default"),
    }
}

/// None is unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Limit(Option<u64>);

impl std::str::FromStr for Limit {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "unlimited" => Ok(Self(None)),
            number => number.parse().map(|number| Self(Some(number))).map_err(|_| "write a number, or unlimited"),
        }
    }
}

impl Quotas {
    pub(crate) async fn execute(self, session: &Session) -> Result<(), Failure> {
        match self {
            Self::Show(Show { tenant }) => session.show_answer(&calls::get_quota(tenant.as_deref()), card).await,
            Self::Set(set) => {
                // A put says all of them: those that no flag names are read first.
                let before = session.send(&calls::get_quota(Some(&set.tenant))).await?.read()?;
                session.show_answer(&calls::put_quota(&set.tenant, &set.over(&before)), card).await
            }
        }
    }
}

impl Set {
    fn over(&self, before: &QuotaView) -> QuotaRequest {
        let now = |flag: Option<Limit>, before: Option<u32>| flag.map_or(before.map(u64::from), |Limit(limit)| limit);
        QuotaRequest {
            max_jobs: now(self.max_jobs, before.max_jobs),
            max_fires_per_minute: now(self.max_fires_per_minute, before.max_fires_per_minute),
            max_concurrent_runs: now(self.max_concurrent_runs, before.max_concurrent_runs),
            max_requests_per_second: now(self.max_requests_per_second, before.max_requests_per_second),
            max_catch_up_per_minute: now(self.max_catch_up_per_minute, before.max_catch_up_per_minute),
            retention_days: now(self.retention_days, before.retention_days),
        }
    }
}

fn card(quota: &QuotaView, _paper: Paper) -> String {
    let limit =
        |limit: Option<u32>| limit.map_or_else(|| Cell::faint("unlimited"), |most| Cell::from(most.to_string()));
    let made_up_for =
        |limit: Option<u32>| limit.map_or_else(|| Cell::faint("600, the default"), |most| Cell::from(most.to_string()));
    let days =
        |days: Option<u32>| days.map_or_else(|| Cell::faint("30, the default"), |days| Cell::from(days.to_string()));
    Card::default()
        .with("Tenant", &quota.tenant)
        .with("Jobs", limit(quota.max_jobs))
        .with("Fires per minute", limit(quota.max_fires_per_minute))
        .with("Runs at the same time", limit(quota.max_concurrent_runs))
        .with("Requests per second", limit(quota.max_requests_per_second))
        .with("Made up for per minute", made_up_for(quota.max_catch_up_per_minute))
        .with("Days kept", days(quota.retention_days))
        .draw()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        set: Set,
    }

    fn set(words: &[&str]) -> Result<Set, clap::Error> {
        Line::try_parse_from([&["set"], words].concat()).map(|line| line.set)
    }

    #[test]
    fn what_is_not_named_stays_as_it_is() {
        let before = QuotaView {
            tenant: "acme".to_owned(),
            max_jobs: Some(5),
            max_fires_per_minute: None,
            max_concurrent_runs: Some(7),
            max_requests_per_second: None,
            max_catch_up_per_minute: Some(300),
            retention_days: Some(90),
        };

        let after = set(&["acme", "--max-jobs=unlimited", "--max-fires-per-minute=9"]).unwrap().over(&before);

        let wanted = concat!(
            r#"{"max_jobs":null,"max_fires_per_minute":9,"max_concurrent_runs":7,"max_requests_per_second":null,"#,
            r#""max_catch_up_per_minute":300,"retention_days":90}"#
        );
        assert_eq!(serde_json::to_string(&after).unwrap(), wanted);
    }

    #[test]
    fn a_limit_is_a_number_or_none() {
        for words in [&["acme"][..], &["acme", "--max-jobs=-1"], &["acme", "--max-jobs=many"], &["--max-jobs=1"]] {
            assert!(set(words).is_err(), "{words:?}");
        }
    }
}
