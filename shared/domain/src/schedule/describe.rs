//! A schedule in plain words.

use super::{Schedule, When};
use crate::Moment;

impl Schedule {
    /// Describes the schedule as seen from `now`: the next clock change is part of the text.
    pub fn describe(&self, now: Moment) -> String {
        let mut words = match &self.when {
            When::Now { .. } => "once, as soon as it is created".to_owned(),
            When::At { at } => format!("once, at {at}"),
            When::After { seconds, .. } => format!("once, {} after it is created", span(*seconds)),
            When::Every { seconds, .. } => each(*seconds),
            When::Cron(cron) => cron.describe(now),
            When::OnDemand => "only when it is asked to run".to_owned(),
            When::Follows { job, on } => format!("follows {job}, on {}", on.as_str()),
        };
        if let Some(start) = self.start_at {
            words = format!("{words}, from {start} on");
        }
        if let Some(end) = self.end_at {
            words = format!("{words}, until {end}");
        }
        match self.max_fires {
            Some(1) => words.push_str(", once at most"),
            Some(most) => words = format!("{words}, {most} times at most"),
            None => {}
        }
        if let Some(jitter) = self.jitter {
            words = format!("{words}, spread over {}", span(jitter.most_seconds.into()));
        }
        words
    }
}

fn each(seconds: u64) -> String {
    let span = span(seconds);
    match span.strip_prefix("1 ").filter(|unit| !unit.contains(' ')) {
        Some(unit) => format!("every {unit}"),
        None => format!("every {span}"),
    }
}

/// A span in the largest units without a fraction: "1 hour 30 minutes".
fn span(seconds: u64) -> String {
    const UNITS: [(u64, &str); 4] = [(86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")];
    let mut rest = seconds;
    let mut words = Vec::new();
    for (size, unit) in UNITS {
        let count = rest / size;
        rest %= size;
        if count > 0 {
            words.push(format!("{count} {unit}{}", if count == 1 { "" } else { "s" }));
        }
    }
    if words.is_empty() { "0 seconds".to_owned() } else { words.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::super::{Plan, Spread};
    use super::*;

    const NOW: Moment = Moment::from_secs(1_800_000_000);

    fn described(plan: &Plan) -> String {
        Schedule::new(plan, NOW).unwrap().describe(NOW)
    }

    #[test]
    fn each_kind_is_described_in_words() {
        let later = NOW + std::time::Duration::from_secs(60);
        let told = [
            (Plan::default(), "once, as soon as it is created"),
            (Plan { at: Some(later), ..Plan::default() }, "once, at 2027-01-15T08:01:00.000Z"),
            (Plan { after_seconds: Some(90), ..Plan::default() }, "once, 1 minute 30 seconds after it is created"),
            (Plan { after_seconds: Some(0), ..Plan::default() }, "once, 0 seconds after it is created"),
            (Plan { every_seconds: Some(1), ..Plan::default() }, "every second"),
            (Plan { every_seconds: Some(5400), ..Plan::default() }, "every 1 hour 30 minutes"),
            (Plan { cron: Some("rate(1 day)".into()), ..Plan::default() }, "every day"),
            (
                Plan { cron: Some("at(2027-02-01T09:00:00)".into()), ..Plan::default() },
                "once, at 2027-02-01T09:00:00.000Z",
            ),
            (Plan { on_demand: true, ..Plan::default() }, "only when it is asked to run"),
        ];
        for (plan, words) in told {
            assert_eq!(described(&plan), words, "{plan:?}");
        }
    }

    #[test]
    fn bounds_and_jitter_are_described_too() {
        let plan = Plan {
            every_seconds: Some(3600),
            start_at: Some(NOW),
            end_at: Some(NOW + std::time::Duration::from_secs(86_400)),
            max_fires: Some(3),
            jitter_seconds: Some(600),
            spread: Spread::default(),
            ..Plan::default()
        };
        assert_eq!(
            described(&plan),
            "every hour, from 2027-01-15T08:00:00.000Z on, until 2027-01-16T08:00:00.000Z, 3 times at most, \
             spread over 10 minutes"
        );
    }
}
