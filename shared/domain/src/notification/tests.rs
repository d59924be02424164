//! What a rule tells of a run: a table of runs, and what is told of each.

use super::*;
use crate::body::Body;
use crate::id::{RunKey, Worker};
use crate::run::{Attempt, AttemptError, Failure, SkippedSpan, Sla};
use crate::run::{Ending, attempt::Ended};

const DUE: Moment = Moment::from_secs(1_800_000_000);
const JOB: JobId = JobId::from_bytes([1; 16]);

fn at(second: u64) -> Moment {
    DUE + Duration::from_secs(second)
}

fn rule(when: &[When]) -> Rule {
    let (tenant, name) = (Tenant::new("acme").unwrap(), "on-call".parse().unwrap());
    Rule {
        id: Rule::id_of(&tenant, &name, DUE),
        tenant,
        name,
        when: when.iter().copied().collect(),
        whose: Whose::All,
        in_a_row: 1,
        late: Duration::from_secs(5),
        digest: Duration::from_secs(60),
        cooldown: Duration::ZERO,
        to: To::Slack(SlackUrl("https://hooks.example/T0/secret".to_owned())),
        enabled: true,
        created_at: DUE,
        changed_at: DUE,
        deleted_at: None,
    }
}

fn run(state: State) -> Run {
    let key = RunKey::occurrence(JOB, DUE);
    Run { state, started_at: Some(at(1)), ..Run::new(Tenant::new("acme").unwrap(), key, Priority::Normal) }
}

fn failed() -> Run {
    run(State::Failed { at: at(9), why: Failure::Error })
}

fn succeeded_run() -> Run {
    run(State::Succeeded { at: at(9), result: Body::Empty })
}

fn skipped(why: Skip, span: Option<SkippedSpan>) -> Run {
    Run { started_at: None, ..run(State::Skipped { at: at(9), why, span }) }
}

/// What a rule tells of a run, where the runs before it are as the rule wants them.
fn told_as(rule: &Rule, run: &Run) -> Vec<When> {
    let entries = rule.tells(run).into_iter().map(|told| told.entry(run.key));
    each_failure_once(entries).into_iter().map(|entry| entry.when).collect()
}

#[test]
fn each_end_is_told_as_what_it_is_and_as_nothing_else() {
    let span = Some(SkippedSpan { until: at(600), count: Some(4) });
    let late = |run: Run| Run { started_at: Some(at(6)), ..run };
    let missed_its_sla = |run: Run| Run { sla: Some(Sla { until: at(3), missed: Some(at(4)) }), ..run };
    let of = |run: Run, key: RunKey| Run { key, ..run };
    let notification = RunKey { origin: Origin::Notification, discriminator: 60, ..RunKey::occurrence(JOB, DUE) };
    let task = RunKey { origin: Origin::Task, discriminator: 7, ..notification };
    let rows: Vec<(&str, Run, &[When])> = vec![
        ("failed", failed(), &[When::Failed]),
        ("timed out", run(State::TimedOut { at: at(9) }), &[When::Failed]),
        ("succeeded", succeeded_run(), &[When::Recovered]),
        ("cancelled", run(State::Cancelled { at: at(9) }), &[]),
        ("missed", skipped(Skip::Missed, None), &[When::Missed]),
        ("coalesced", skipped(Skip::Coalesced, span), &[When::Missed]),
        ("one that another record speaks for", skipped(Skip::Coalesced, None), &[]),
        ("paused", skipped(Skip::Paused, span), &[]),
        ("overlapping", skipped(Skip::Overlap, None), &[]),
        ("begun late", late(succeeded_run()), &[When::Late, When::Recovered]),
        ("begun late and failed", late(failed()), &[When::Failed, When::Late]),
        ("late and under way", late(run(State::Scheduled { due: at(60) })), &[]),
        ("past its SLA and under way", missed_its_sla(run(State::Scheduled { due: at(60) })), &[When::Sla]),
        ("past its SLA and cancelled", missed_its_sla(run(State::Cancelled { at: at(9) })), &[When::Sla]),
        ("asked for", of(failed(), RunKey::manual(JOB, DUE, 7)), &[When::Failed]),
        ("a message of a rule", of(failed(), notification), &[]),
        ("a task's", of(failed(), task), &[]),
    ];

    for (what, run, wanted) in rows {
        let told = told_as(&rule(&When::ALL), &run);

        assert_eq!(told, wanted, "{what}");
        for when in When::ALL {
            let alone = told_as(&rule(&[when]), &run);
            let as_dead_letter = when == When::DeadLetter && wanted.contains(&When::Failed);
            assert_eq!(alone == [when], wanted.contains(&when) || as_dead_letter, "{what} {when:?}");
        }
    }
}

#[test]
fn a_failure_that_waits_for_others_is_a_dead_letter_all_the_same() {
    let third = Rule { in_a_row: 3, ..rule(&[When::Failed, When::DeadLetter, When::Recovered]) };

    let told = third.tells(&failed());
    let recovered = third.tells(&succeeded_run());

    assert_eq!(
        told.iter().map(|told| (told.when, told.failures_before)).collect::<Vec<_>>(),
        [(When::Failed, 2), (When::DeadLetter, 0)]
    );
    assert_eq!(recovered.iter().map(|told| told.failures_before).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_rule_without_force_one_of_other_jobs_and_one_that_came_later_tell_nothing() {
    let other = Whose::Jobs([JobId::from_bytes([2; 16])].into());
    for rule in [
        Rule { enabled: false, ..rule(&When::ALL) },
        rule(&When::ALL).deleted(at(1)),
        Rule { whose: other, ..rule(&When::ALL) },
        Rule { created_at: at(10), ..rule(&When::ALL) },
    ] {
        assert_eq!(rule.tells(&failed()), [], "{rule:?}");
    }
}

#[test]
fn failures_in_a_row_end_at_the_newest_success_and_pass_over_what_is_neither() {
    // Whether one is a row, whether two are, and whether three are.
    let rows: [(&[Run], [Option<bool>; 3]); 6] = [
        (&[], [None; 3]),
        (&[failed(), failed()], [Some(true), Some(true), None]),
        (&[succeeded_run(), failed()], [Some(false); 3]),
        (
            &[failed(), skipped(Skip::Missed, None), failed(), succeeded_run(), failed()],
            [Some(true), Some(true), Some(false)],
        ),
        (&[run(State::Scheduled { due: at(1) }), failed()], [Some(true), None, None]),
        (&[skipped(Skip::Overlap, None)], [None; 3]),
    ];
    for (newest, expected) in rows {
        assert_eq!([1, 2, 3].map(|wanted| are_failures_in_a_row(newest, wanted)), expected, "{newest:?}");
    }
    assert_eq!(are_failures_in_a_row(&[], 0), Some(true), "nothing is asked for");
}

fn entry(number: u64, when: When) -> Entry {
    Entry { at: at(number), when, run: RunKey::manual(JOB, DUE, number) }
}

fn digest(entries: u64) -> Message {
    let entries: Vec<Entry> = (1..=entries).map(|n| entry(n, When::Failed)).collect();
    let error = AttemptError::new("http_5xx", "500: {\"token\": \"hunter2\"}");
    let attempt = Attempt {
        number: 1,
        worker: Worker(1),
        started_at: DUE,
        ended: Some(Ended { at: at(1), how: Ending::Failed(error) }),
    };
    let run = Run { attempts: vec![attempt], ..failed() };
    let samples = Message::named(&entries)
        .iter()
        .map(|entry| Sample { job_name: Some("<!channel> & co".to_owned()), ..Sample::of(*entry, Some(&run), None) });
    Message::Digest { window: Window::of(at(30), Duration::from_secs(60)), samples: samples.collect(), entries }
}

#[test]
fn a_message_counts_all_names_the_first_and_says_nothing_that_a_target_said() {
    let hook = Rule { to: To::Sns("alerts".parse().unwrap()), ..rule(&[When::Failed]) };

    let body = digest(1_000).body(&hook);

    let value: serde_json::Value = serde_json::from_str(body.as_str()).unwrap();
    assert_eq!(value["type"], "notification.digest");
    assert_eq!((&value["data"]["count"], &value["data"]["counts"]["failed"]), (&1_000.into(), &1_000.into()));
    assert_eq!(value["data"]["runs"].as_array().unwrap().len(), 20);
    assert_eq!(value["data"]["more"], 980);
    assert_eq!(value["data"]["runs"][0]["error"], "http_5xx");
    assert_eq!(value["data"]["runs"][0]["path"], format!("/v1/runs/{}", RunKey::manual(JOB, DUE, 1)));
    assert!(!body.as_str().contains("hunter2"), "{body:?}");
}

#[test]
fn a_chat_is_told_in_a_text_that_mentions_nobody() {
    let body = digest(30).body(&rule(&[When::Failed]));

    let value: serde_json::Value = serde_json::from_str(body.as_str()).unwrap();
    let text = value["text"].as_str().unwrap();
    assert!(text.starts_with("Minutehand on-call: 30 failed ("), "{text}");
    assert!(text.contains("\n• failed &lt;!channel&gt; &amp; co: http_5xx /v1/runs/run_"), "{text}");
    assert!(text.ends_with("\nand 10 more"), "{text}");
    assert!(!text.contains("hunter2") && !text.contains("<!channel>"), "{text}");
}

#[test]
fn nothing_of_an_address_is_shown_by_accident() {
    assert!(!format!("{:?}", rule(&[When::Failed])).contains("secret"));
}
