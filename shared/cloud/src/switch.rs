//! The dead man's switch: a one-time schedule of EventBridge Scheduler. A pass of the sweep that has ended well pushes it ahead; when none
//! does, it fires.
//!
//! The template owns the schedule. So it is read, and written as it was but for its time: whom it wakes, by which role and with which words
//! is said in one place, and one that somebody has disabled stays disabled. One that is gone is not made again: it would outlive its stack.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use aws_config::SdkConfig;
use aws_sdk_scheduler::Client;
use aws_sdk_scheduler::error::DisplayErrorContext;
use aws_sdk_scheduler::operation::get_schedule::GetScheduleOutput;
use aws_sdk_scheduler::operation::update_schedule::builders::UpdateScheduleInputBuilder;
use aws_sdk_scheduler::types::ScheduleState;
use minutehand_domain::Moment;
use minutehand_domain::switch::{MINUTES, Push, Standing};
use minutehand_io::Fault;

use crate::settings::{Environment, SettingError};

/// The longest a push may take. The pass is over by then, and an invocation is paid for while it waits; the next minute's pushes again.
const WITHIN: Duration = Duration::from_secs(2);

pub struct Switch {
    client: Client,
    /// Of the schedule, and of its group, in which no other is: CloudWatch counts by groups.
    name: String,
    ahead: Duration,
    within: Duration,
}

/// For how many minutes it is pushed ahead.
struct Minutes(u64);

impl Switch {
    /// The switch that the environment names; none where it names none.
    pub fn of(aws: &SdkConfig, environment: &Environment) -> Result<Option<Self>, SettingError> {
        let Some(name) = environment.optional("MINUTEHAND_SWITCH", "the name of a schedule and of its group")? else {
            return Ok(None);
        };
        let Minutes(minutes) = environment.required("MINUTEHAND_SWITCH_MINUTES", "a number of minutes from 3 to 15")?;
        Ok(Some(Self::new(aws, name, Duration::from_secs(60 * minutes))))
    }

    pub fn new(aws: &SdkConfig, name: String, ahead: Duration) -> Self {
        Self { client: Client::new(aws), name, ahead, within: WITHIN }
    }

    /// With another limit of how long a push may take: an emulator on a busy machine is slower than AWS.
    #[must_use]
    pub fn within(self, within: Duration) -> Self {
        Self { within, ..self }
    }

    /// After a pass that has ended now.
    pub async fn push(&self, now: Moment) -> Result<Push, Fault> {
        let pushed = tokio::time::timeout(self.within, self.read_and_push(now)).await;
        pushed.unwrap_or_else(|_| Err(away(format!("it has not answered for {} s", self.within.as_secs()))))
    }

    async fn read_and_push(&self, now: Moment) -> Result<Push, Fault> {
        let read = self.client.get_schedule().group_name(&self.name).name(&self.name).send().await;
        let schedule = read.map_err(|error| away(DisplayErrorContext(error).to_string()))?;
        let push = standing(&schedule).pushed(now, self.ahead);
        if let Push::To(at) = push {
            let written = at_another_time(schedule, at).send_with(&self.client).await;
            written.map_err(|error| away(DisplayErrorContext(error).to_string()))?;
        }
        Ok(push)
    }
}

fn away(why: String) -> Fault {
    Fault::unavailable("the switch", why)
}

fn standing(schedule: &GetScheduleOutput) -> Standing {
    Standing {
        at: schedule.schedule_expression().and_then(instant),
        is_off: schedule.state() == Some(&ScheduleState::Disabled),
    }
}

/// An update sets what it does not name back to its default, so it names everything.
fn at_another_time(schedule: GetScheduleOutput, at: Moment) -> UpdateScheduleInputBuilder {
    UpdateScheduleInputBuilder::default()
        .set_name(schedule.name)
        .set_group_name(schedule.group_name)
        .schedule_expression(expression(at))
        .schedule_expression_timezone("UTC")
        .set_description(schedule.description)
        .set_start_date(schedule.start_date)
        .set_end_date(schedule.end_date)
        .set_state(schedule.state)
        .set_kms_key_arn(schedule.kms_key_arn)
        .set_target(schedule.target)
        .set_flexible_time_window(schedule.flexible_time_window)
        .set_action_after_completion(schedule.action_after_completion)
}

/// `at(2027-01-15T08:05:00)`: to the second, without a zone.
fn expression(at: Moment) -> String {
    format!("at({})", at.to_utc().format("%Y-%m-%dT%H:%M:%S"))
}

fn instant(expression: &str) -> Option<Moment> {
    let local = expression.trim().strip_prefix("at(")?.strip_suffix(')')?;
    Moment::parse(&format!("{}Z", local.trim()))
}

impl FromStr for Minutes {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        text.parse().ok().filter(|minutes| MINUTES.contains(minutes)).map(Self).ok_or(())
    }
}

impl fmt::Debug for Switch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Switch {}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_scheduler::primitives::DateTime;
    use aws_sdk_scheduler::types::{
        ActionAfterCompletion, FlexibleTimeWindow, FlexibleTimeWindowMode, RetryPolicy, Target,
    };

    use super::*;

    const AT: Moment = Moment::from_secs(1_800_000_300);

    fn schedule() -> GetScheduleOutput {
        let retries = RetryPolicy::builder().maximum_retry_attempts(3).build();
        let target = Target::builder().arn("sweeper").role_arn("role").input("{}").retry_policy(retries).build();
        let window = FlexibleTimeWindow::builder().mode(FlexibleTimeWindowMode::Off).build();
        GetScheduleOutput::builder()
            .name("prod-switch")
            .group_name("prod-switch")
            .schedule_expression("at(2099-12-31T23:59:59)")
            .schedule_expression_timezone("UTC")
            .description("it")
            .start_date(DateTime::from_secs(1))
            .end_date(DateTime::from_secs(2))
            .state(ScheduleState::Enabled)
            .kms_key_arn("key")
            .target(target.unwrap())
            .flexible_time_window(window.unwrap())
            .action_after_completion(ActionAfterCompletion::None)
            .build()
    }

    /// Tried: without the target's input (it comes back as the event of a tick), without the description.
    #[test]
    fn all_but_its_time_stays_as_the_template_has_it() {
        let was = schedule();

        let update = at_another_time(schedule(), AT);

        assert_eq!(update.get_schedule_expression().as_deref(), Some("at(2027-01-15T08:05:00)"));
        assert_eq!(update.get_schedule_expression_timezone().as_deref(), Some("UTC"));
        assert_eq!((update.get_name(), update.get_group_name()), (&was.name, &was.group_name));
        assert_eq!((update.get_description(), update.get_state()), (&was.description, &was.state));
        assert_eq!((update.get_start_date(), update.get_end_date()), (&was.start_date, &was.end_date));
        assert_eq!((update.get_target(), update.get_kms_key_arn()), (&was.target, &was.kms_key_arn));
        assert_eq!(update.get_flexible_time_window(), &was.flexible_time_window);
        assert_eq!(update.get_action_after_completion(), &was.action_after_completion);
    }

    #[test]
    fn what_was_written_is_read_and_what_is_no_instant_is_none() {
        assert_eq!(instant(&expression(AT)), Some(AT));
        assert_eq!(instant("at(2099-12-31T23:59:59)"), Moment::parse("2099-12-31T23:59:59Z"));
        for other in ["rate(1 minute)", "at()", "at(2099)", "cron(0 0 1 1 ? *)", ""] {
            assert_eq!(instant(other), None, "{other}");
        }
    }

    fn named(name: &'static str, minutes: &'static str) -> Result<Option<Switch>, SettingError> {
        let lookup = move |variable: &str| match variable {
            "MINUTEHAND_SWITCH" => Some(name.to_owned()),
            "MINUTEHAND_SWITCH_MINUTES" => Some(minutes.to_owned()),
            _ => None,
        };
        let aws = SdkConfig::builder().behavior_version(aws_config::BehaviorVersion::latest()).build();
        Switch::of(&aws, &Environment::new(lookup))
    }

    #[test]
    fn there_is_one_where_it_is_named_and_its_minutes_are_within_bounds() {
        assert!(named("", "0").unwrap().is_none(), "a stack without one");
        let switch = named("prod-switch", "5").unwrap().expect("it is named");
        assert_eq!((switch.name.as_str(), switch.ahead), ("prod-switch", Duration::from_secs(300)));
        for minutes in ["", "0", "2", "16", "five", "-5"] {
            let refused = named("prod-switch", minutes).unwrap_err().to_string();
            assert!(refused.starts_with("MINUTEHAND_SWITCH_MINUTES") && refused.contains("must be"), "{refused}");
        }
        assert!(Minutes::from_str("3").is_ok() && Minutes::from_str("15").is_ok());
    }
}
