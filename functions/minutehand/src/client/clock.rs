//! The clock that a cron expression speaks of, and how it is read where that leaves a choice.

use clap::Args;
use serde_json::{Map, Value, json};

const DAYS: [&str; 2] = ["either", "both"];
const GAPS: [&str; 2] = ["next_valid", "skip"];
const OVERLAPS: [&str; 4] = ["by_kind", "first", "second", "both"];

/// The fields of a schedule that go with `cron` alone.
pub(crate) const CLOCK_FIELDS: [&str; 4] = ["timezone", "days", "dst_gap", "dst_overlap"];

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ClockFlags {
    /// The time zone of the cron expression, such as Europe/Paris; UTC without
    #[arg(long, value_name = "ZONE", help_heading = "When")]
    tz: Option<String>,
    /// Whether one of two restricted day fields is enough; `either` without
    #[arg(long, value_name = "RULE", value_parser = DAYS, help_heading = "When")]
    days: Option<String>,
    /// What becomes of a local time that does not exist; `next_valid` without
    #[arg(long, value_name = "RULE", value_parser = GAPS, help_heading = "When")]
    dst_gap: Option<String>,
    /// In which pass a local time fires that comes twice; `by_kind` without
    #[arg(long, value_name = "RULE", value_parser = OVERLAPS, help_heading = "When")]
    dst_overlap: Option<String>,
}

impl ClockFlags {
    pub(crate) fn is_given(&self) -> bool {
        self.words().into_iter().any(Option::is_some)
    }

    pub(crate) fn onto(&self, schedule: &mut Map<String, Value>) {
        for (field, word) in CLOCK_FIELDS.into_iter().zip(self.words()) {
            if let Some(word) = word {
                schedule.insert(field.to_owned(), json!(word));
            }
        }
    }

    fn words(&self) -> [&Option<String>; 4] {
        [&self.tz, &self.days, &self.dst_gap, &self.dst_overlap]
    }
}
