//! Shown: a job as a client reads it in an answer, in the judge's words. It is read from the JSON alone.

use minutehand_domain::Moment;
use minutehand_judge as judge;
use serde_json::Value;

/// How an answer shows a job; none where it shows none.
pub fn stands(job: &Value) -> Option<judge::Stands> {
    let status = match job["status"].as_str()? {
        "active" | "completed" => judge::Status::Active,
        "paused" => judge::Status::Paused,
        "cancelled" => judge::Status::Cancelled,
        other => panic!("a job is {other}"),
    };
    let tags = job["tags"].as_array()?.iter().filter_map(Value::as_str).map(str::to_owned).collect();
    let schedule = schedule(&job["schedule"], instant(&job["created_at"])?);
    Some(judge::Stands { generation: job["generation"].as_u64()?, status, schedule, tags })
}

/// What was asked to change, beside what is shown of it; a field inside of another by both names.
/// An instant that is past when it is asked for may be shown as the moment that it came to.
pub fn fields(asked: &Value, shown: &Value) -> Vec<(String, String, String)> {
    let mut fields = Vec::new();
    for (name, asked) in asked.as_object().into_iter().flatten() {
        let shown = &shown[name];
        match asked {
            Value::Object(_) => {
                let inside = self::fields(asked, shown).into_iter();
                fields.extend(inside.map(|(field, asked, shown)| (format!("{name}.{field}"), asked, shown)));
            }
            // What is taken away may be shown as what stands for want of it.
            Value::Null => {}
            at if name == "at" && instant(at) < instant(shown) => {}
            _ => fields.push((name.clone(), asked.to_string(), shown.to_string())),
        }
    }
    fields
}

/// A schedule without its jitter.
fn schedule(schedule: &Value, created_at: i64) -> judge::Schedule {
    let end = instant(&schedule["end_at"]).unwrap_or(i64::MAX);
    let start = instant(&schedule["start_at"]);
    let at_most = schedule["max_fires"].as_i64().map(|fires| judge::AtMost { fires, from: created_at });
    if let Some(at) = instant(&schedule["at"]) {
        return judge::Schedule::Once(at);
    }
    if let Some(seconds) = schedule["every_seconds"].as_i64() {
        let first = start.expect("an interval says where it begins");
        return judge::Schedule::Every { first, period: seconds * 1000, end, at_most };
    }
    let Some(cron) = schedule["cron"].as_str() else { return judge::Schedule::Never };
    let minutes = cron.strip_prefix("*/").and_then(|rest| rest.split(' ').next()).and_then(|n| n.parse::<i64>().ok());
    let period = minutes.unwrap_or(1) * 60_000;
    let first = (start.unwrap_or(0) + period - 1) / period * period;
    judge::Schedule::Every { first, period, end, at_most }
}

fn instant(text: &Value) -> Option<i64> {
    Moment::parse(text.as_str()?).map(Moment::millis)
}
