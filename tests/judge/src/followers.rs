//! The judge of followers: what must come of the ends of one job's runs, where another runs behind it. It knows how the runs ended, what stands in
//! the other job's history, and when nobody did anything to that job; nothing of lists, keys and settling.

use std::collections::BTreeMap;

use crate::{CHANGE_TOLERANCE, SKEW, Violation};

/// How long it may take at most, while all goes wrong that can, until somebody has seen to an end.
pub const SEEN_TO: i64 = 45 * 60_000;

/// One job, and the one in front of it.
#[derive(Clone, Debug)]
pub struct Account {
    pub watch: Watch,
    /// The runs of the job in front, and its records.
    pub ends: Vec<End>,
    /// The runs of the job behind it, and its records.
    pub made: Vec<Made>,
}

/// On which ends the job is to run, and while what it is stood.
#[derive(Clone, Debug)]
pub struct Watch {
    /// `success`, `failure`, `finished`; or `changed`, where it was one and then another.
    pub on: String,
    /// Its creator had been told that it is there.
    pub from: i64,
    /// From then on it may have been changed.
    pub until: i64,
}

#[derive(Clone, Debug)]
pub struct End {
    pub run: String,
    /// Its instant: it is born then, or later.
    pub meant_for: i64,
    /// None: it is not over.
    pub at: Option<i64>,
    pub status: String,
    pub reason: Option<String>,
}

#[derive(Clone, Debug)]
pub struct Made {
    pub run: String,
    /// The run that it says it follows.
    pub of: Option<String>,
    pub status: String,
    pub reason: Option<String>,
    pub first_call: Option<i64>,
}

/// What is to come of an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Due {
    Run,
    /// A record that it did not run.
    Record,
    Nothing,
    /// Nobody knows.
    Something,
}

impl Account {
    pub fn judge(&self) -> Vec<Violation> {
        let mut found = Vec::new();
        let mut of: BTreeMap<&str, Vec<&Made>> = BTreeMap::new();
        for made in &self.made {
            match &made.of {
                Some(run) => of.entry(run).or_default().push(made),
                None => found.push(broken("what runs behind another says behind which run", &made.run, "it says none")),
            }
        }
        for end in &self.ends {
            let made = of.remove(end.run.as_str()).unwrap_or_default();
            self.of_end(end, &made, &mut found);
        }
        for (run, made) in of {
            found.push(broken(
                "what follows a run follows one that is there",
                run,
                &format!("{} follows it", made[0].run),
            ));
        }
        found
    }

    fn of_end(&self, end: &End, made: &[&Made], found: &mut Vec<Violation>) {
        let due = if end.at.is_some() { self.due(end) } else { Due::Nothing };
        if made.len() > 1 {
            found.push(broken("an end has one follower of a job", &end.run, &format!("it has {}", made.len())));
        }
        let (at, made) = match (end.at, made.first()) {
            (Some(at), Some(made)) => (at, made),
            (None, Some(made)) => {
                found.push(broken("nothing follows what is not over", &end.run, &format!("{} does", made.run)));
                return;
            }
            (None, None) => return,
            (Some(at), None) => {
                let was_there = end.meant_for > self.watch.from + CHANGE_TOLERANCE && at < self.watch.until - SEEN_TO;
                if matches!(due, Due::Run | Due::Record) && was_there {
                    found.push(broken(
                        "what follows a run is there",
                        &end.run,
                        &format!("nothing is, after {}", end.status),
                    ));
                }
                return;
            }
        };
        let skipped = made.status == "skipped";
        match due {
            Due::Nothing => found.push(broken("only what waits for such an end follows it", &end.run, &made.run)),
            Due::Record if !skipped => {
                found.push(broken(
                    "what came to nothing is not followed",
                    &end.run,
                    &format!("{} is {}", made.run, made.status),
                ));
            }
            Due::Record | Due::Run | Due::Something => {}
        }
        let stood = at < self.watch.until - SEEN_TO;
        if due == Due::Run && skipped && stood && made.reason.as_deref() != Some("overlap") {
            found.push(broken(
                "what follows a run runs",
                &end.run,
                &format!("{} was skipped: {:?}", made.run, made.reason),
            ));
        }
        if !["succeeded", "failed", "timed_out", "cancelled", "skipped"].contains(&made.status.as_str()) && stood {
            found.push(broken(
                "what follows a run comes to its end",
                &end.run,
                &format!("{} is {}", made.run, made.status),
            ));
        }
        if made.first_call.is_some_and(|call| call < at - 2 * SKEW) {
            found.push(broken("what follows a run is called after its end", &end.run, &made.run));
        }
    }

    /// By what people say: it succeeded, it failed, it came to its turn and was not carried out.
    fn due(&self, end: &End) -> Due {
        let passed_over = matches!(end.reason.as_deref(), Some("overlap" | "missed" | "upstream" | "vetoed"));
        match (self.watch.on.as_str(), end.status.as_str()) {
            ("success" | "finished", "succeeded") | ("failure" | "finished", "failed" | "timed_out") => Due::Run,
            ("changed", _) => Due::Something,
            ("finished", "skipped") if passed_over => Due::Run,
            ("success", "failed" | "timed_out") => Due::Record,
            ("success", "skipped") if passed_over => Due::Record,
            _ => Due::Nothing,
        }
    }
}

fn broken(rule: &'static str, run: &str, how: &str) -> Violation {
    Violation { rule, job: 0, instant: 0, detail: format!("{run}: {how}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn end(status: &str) -> End {
        let at = Some(HOUR + 5_000);
        End { run: "a".to_owned(), meant_for: HOUR, at, status: status.to_owned(), reason: None }
    }

    fn made(status: &str) -> Made {
        let first_call = Some(HOUR + 6_000);
        Made { run: "b".to_owned(), of: Some("a".to_owned()), status: status.to_owned(), reason: None, first_call }
    }

    fn rules(on: &str, end: End, made: Vec<Made>) -> Vec<&'static str> {
        let watch = Watch { on: on.to_owned(), from: 0, until: 3 * HOUR };
        Account { watch, ends: vec![end], made }.judge().into_iter().map(|violation| violation.rule).collect()
    }

    #[test]
    fn a_correct_history_breaks_nothing() {
        let skipped = || Made { first_call: None, ..made("skipped") };
        for (on, how, made) in [
            ("success", "succeeded", vec![made("failed")]),
            ("success", "failed", vec![skipped()]),
            ("failure", "timed_out", vec![made("succeeded")]),
            ("failure", "succeeded", vec![]),
            ("finished", "failed", vec![made("succeeded")]),
            ("finished", "cancelled", vec![]),
        ] {
            assert_eq!(rules(on, end(how), made), [""; 0], "{on} {how}");
        }
    }

    /// Each is a history that was made wrong in one thing.
    #[test]
    fn whatever_is_wrong_is_noticed() {
        let early = Made { first_call: Some(HOUR), ..made("succeeded") };
        let paused = Made { reason: Some("paused".to_owned()), ..made("skipped") };
        for (rule, on, end, made) in [
            ("what follows a run is there", "success", end("succeeded"), vec![]),
            ("what follows a run is there", "success", end("failed"), vec![]),
            (
                "an end has one follower of a job",
                "success",
                end("succeeded"),
                vec![made("succeeded"), made("succeeded")],
            ),
            ("only what waits for such an end follows it", "failure", end("succeeded"), vec![made("succeeded")]),
            ("what came to nothing is not followed", "success", end("failed"), vec![made("succeeded")]),
            ("what follows a run runs", "success", end("succeeded"), vec![paused]),
            ("what follows a run comes to its end", "success", end("succeeded"), vec![made("queued")]),
            ("what follows a run is called after its end", "success", end("succeeded"), vec![early]),
            (
                "nothing follows what is not over",
                "success",
                End { at: None, ..end("running") },
                vec![made("succeeded")],
            ),
        ] {
            assert_eq!(rules(on, end, made), [rule], "{on}");
        }
        let of_nothing = Made { of: Some("c".to_owned()), ..made("succeeded") };
        assert_eq!(
            rules("failure", end("succeeded"), vec![of_nothing]),
            ["what follows a run follows one that is there"]
        );
        let of_none = Made { of: None, ..made("succeeded") };
        assert_eq!(
            rules("failure", end("succeeded"), vec![of_none]),
            ["what runs behind another says behind which run"]
        );
    }

    #[test]
    fn what_was_changed_meanwhile_may_be_otherwise() {
        let paused = Made { reason: Some("paused".to_owned()), first_call: None, ..made("skipped") };
        let late = End { meant_for: 3 * HOUR, at: Some(3 * HOUR), ..end("succeeded") };

        assert_eq!(rules("success", late.clone(), vec![paused]), [""; 0]);
        assert_eq!(rules("success", late, vec![]), [""; 0]);
    }
}
