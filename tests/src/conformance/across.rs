//! Across: the list of all a tenant's runs, newest first, whichever jobs they are of. Every store here keeps one.

use std::ops::Range;
use std::sync::Arc;

use minutehand_domain::Moment;
use minutehand_domain::body::Json;
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::run::{Aftermath, Run, State};
use minutehand_io::store::{Across, Deleted, Guard, Store, Version};

use super::lists::{put_head, put_run};
use super::world::{
    at, attempt, failed, head, job_id, named, note, run, run_of, tenant, timer, write_attempt, write_body, write_note,
    write_run, written,
};

const HOUR: u64 = 3600;

pub async fn runs_of_all_jobs_come_newest_first<S: Store>(store: Arc<S>) {
    for (job, seconds) in [(1, 60), (2, 180), (3, 120), (2, 3 * HOUR), (1, HOUR)] {
        put_run(&*store, &run(job, seconds)).await;
    }

    let runs = all(&*store, at(0)..at(4 * HOUR), None, 10).await;

    assert_eq!(runs, [(2, 3 * HOUR), (1, HOUR), (2, 180), (3, 120), (1, 60)].map(|(job, at)| run(job, at).key));
}

/// A list by the instant alone meets sixty-four that are all the same.
pub async fn runs_at_one_instant_come_by_their_keys<S: Store>(store: Arc<S>) {
    let keys = one_instants_keys();
    for key in &keys {
        put_run(&*store, &run_of(&tenant(), *key)).await;
    }

    let runs = all(&*store, at(0)..at(600), None, 100).await;

    assert_eq!(runs, newest_first(keys));
}

pub async fn pages_of_all_runs_hold_each_run_once<S: Store>(store: Arc<S>) {
    let mut keys = one_instants_keys();
    for job in 1..=9 {
        keys.extend([60, 119, 121, HOUR - 1, HOUR, 5 * HOUR].map(|seconds| run(job, seconds).key));
    }
    for key in &keys {
        put_run(&*store, &run_of(&tenant(), *key)).await;
    }

    let (mut found, mut before) = (Vec::new(), None);
    loop {
        let page = all(&*store, at(0)..at(6 * HOUR), before, 7).await;
        assert!(page.len() == 7 || found.len() + page.len() == keys.len(), "a page that is not the last is full");
        let Some(last) = page.last() else { break };
        before = Some(*last);
        found.extend(page);
    }

    assert_eq!(found, newest_first(keys));
}

pub async fn more_runs_than_a_store_reads_at_once_are_one_page<S: Store>(store: Arc<S>) {
    let keys: Vec<_> = (0..230).map(|number| RunKey::manual(job_id(1), at(number % 9), number)).collect();
    for key in &keys {
        put_run(&*store, &run_of(&tenant(), *key)).await;
    }

    let mut newest_first = newest_first(keys);
    assert_eq!(all(&*store, at(0)..at(600), None, 1000).await, newest_first);
    newest_first.truncate(120);
    assert_eq!(all(&*store, at(0)..at(600), None, 120).await, newest_first);
}

pub async fn a_window_of_all_runs_holds_its_start_and_not_its_end<S: Store>(store: Arc<S>) {
    for seconds in [0, 60, HOUR - 1, HOUR, HOUR + 60] {
        put_run(&*store, &run(1, seconds)).await;
    }
    let within = async |from, to| {
        let runs = all(&*store, at(from)..at(to), None, 10).await;
        runs.iter().map(|key| key.at.since(at(0)).as_secs()).collect::<Vec<_>>()
    };

    assert_eq!(within(60, HOUR).await, [HOUR - 1, 60]);
    assert_eq!(within(60, HOUR + 1).await, [HOUR, HOUR - 1, 60]);
    assert_eq!(within(HOUR, HOUR + 60).await, [HOUR]);
    assert_eq!(within(61, HOUR - 1).await, [0; 0]);
    assert_eq!(within(HOUR, HOUR).await, [0; 0]);
    assert_eq!(within(HOUR, 60).await, [0; 0], "backwards");
    assert_eq!(all(&*store, Moment::EPOCH..Moment::END, None, 0).await, [], "a page of none");
}

pub async fn a_page_of_all_runs_before_the_window_is_empty<S: Store>(store: Arc<S>) {
    for (job, seconds) in [(1, 120), (2, 120), (2, 60)] {
        put_run(&*store, &run(job, seconds)).await;
    }
    let before = async |key| all(&*store, at(100)..at(600), Some(key), 10).await;

    assert_eq!(before(run(9, 60).key).await, [], "older than the window");
    assert_eq!(before(run(1, 120).key).await, [], "the oldest in it");
    assert_eq!(before(run(2, 120).key).await, [run(1, 120).key]);
    assert_eq!(before(run(0, 121).key).await, [run(2, 120).key, run(1, 120).key], "of a job that sorts before");
    assert_eq!(before(run(0, 900).key).await, [run(2, 120).key, run(1, 120).key], "newer than the window");
}

pub async fn a_page_says_where_the_next_begins_and_the_last_that_none_does<S: Store>(store: Arc<S>) {
    let keys = newest_first((1..=7).map(|job| run(job, 60).key).collect());
    for key in &keys {
        put_run(&*store, &run_of(&tenant(), *key)).await;
    }
    for limit in [1, 3, 7, 8] {
        let (mut found, mut before, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = store.runs_across(&tenant(), Across::All, at(0)..at(600), before, limit).await.unwrap();
            let page = page.expect("it keeps a list");
            found.extend(page.runs.into_iter().map(|run| run.key));
            (before, pages) = (page.next, pages + 1);
            if before.is_none() {
                break;
            }
        }
        assert_eq!((found, pages), (keys.clone(), 7 / limit + 1), "pages of {limit}");
    }
}

/// The second tenant's name begins with the first one's.
pub async fn a_tenants_runs_are_listed_for_nobody_else<S: Store>(store: Arc<S>) {
    let (ours, theirs) = (named("acme"), named("acme-2"));
    let list = async |tenant: &Tenant, which| {
        let runs =
            store.runs_across(tenant, which, at(0)..at(600), None, 10).await.unwrap().expect("it keeps a list").runs;
        runs.into_iter().map(|run| run.tenant).collect::<Vec<_>>()
    };
    put_run(&*store, &failed(run_of(&theirs, run(1, 60).key))).await;
    for which in [Across::All, Across::Failed, Across::NeedingAttention] {
        assert_eq!(list(&ours, which).await, []);
    }

    put_run(&*store, &failed(run_of(&ours, run(1, 60).key))).await;
    for which in [Across::All, Across::Failed, Across::NeedingAttention] {
        assert_eq!(list(&ours, which).await, std::slice::from_ref(&ours));
        assert_eq!(list(&theirs, which).await, std::slice::from_ref(&theirs));
    }
}

pub async fn a_run_is_listed_once_as_it_is_now<S: Store>(store: Arc<S>) {
    let mut seen = put_run(&*store, &run(1, 60)).await;
    for fence in 1..=3 {
        seen = written(write_run(&*store, &Run { fence, ..run(1, 60) }, Guard::Seen(seen)).await.unwrap());
    }

    let runs = store.runs_across(&tenant(), Across::All, at(0)..at(600), None, 10).await.unwrap();

    assert_eq!(runs.expect("it keeps a list").runs, [Run { fence: 3, ..run(1, 60) }]);
}

pub async fn what_was_never_written_is_not_listed<S: Store>(store: Arc<S>) {
    let put = write_run(&*store, &run(1, 60), Guard::Seen(Version(1))).await.unwrap();
    assert!(!put.is_written());

    assert_eq!(all(&*store, at(0)..at(600), None, 10).await, []);
}

pub async fn nothing_but_runs_is_listed<S: Store>(store: Arc<S>) {
    put_head(&*store, &head(1)).await;
    write_attempt(&*store, &tenant(), run(1, 60).key, &attempt(1)).await.unwrap();
    write_body(&*store, &tenant(), job_id(1), &Json::null()).await.unwrap();
    store.put_timer(&timer(1, 60)).await.unwrap();
    assert!(write_note(&*store, &tenant(), &note("one", 1), Guard::Absent).await.unwrap().is_written());

    assert_eq!(all(&*store, at(0)..at(600), None, 10).await, []);
}

/// A store may list more than them: it need not tell them apart.
pub async fn what_failed_is_listed_with_all_that_timed_out<S: Store>(store: Arc<S>) {
    let timed_out = |run: Run| Run { state: State::TimedOut { at: run.key.at }, ..run };
    put_run(&*store, &run(1, 50)).await;
    for run in [failed(run(1, 60)), timed_out(run(2, 60)), failed(run(1, 5 * HOUR)), failed(run(2, HOUR))] {
        put_run(&*store, &run).await;
    }
    let seen = put_run(&*store, &run(3, 70)).await;
    assert!(write_run(&*store, &failed(run(3, 70)), Guard::Seen(seen)).await.unwrap().is_written());
    let failures = async |window: Range<Moment>, before| {
        let runs = store.runs_across(&tenant(), Across::Failed, window, before, 100).await.unwrap();
        let mut runs = runs.expect("every store lists what failed").runs;
        runs.retain(|run| matches!(run.state, State::Failed { .. } | State::TimedOut { .. }));
        runs.into_iter().map(|run| run.key).collect::<Vec<_>>()
    };
    let [oldest, second, third, fourth, newest] =
        [(1, 60), (2, 60), (3, 70), (2, HOUR), (1, 5 * HOUR)].map(|(job, seconds)| run(job, seconds).key);

    assert_eq!(failures(at(0)..at(9 * HOUR), None).await, [newest, fourth, third, second, oldest]);
    assert_eq!(failures(at(0)..at(5 * HOUR), None).await, [fourth, third, second, oldest], "its end is outside");
    assert_eq!(failures(at(70)..at(9 * HOUR), Some(newest)).await, [fourth, third], "its start is inside");
    assert_eq!(failures(at(0)..at(9 * HOUR), Some(second)).await, [oldest]);
}

/// What is seen to leaves the list of what needs attention, and stays in that of what failed. A store may list more in both.
pub async fn what_was_tried_again_or_dismissed_needs_no_attention<S: Store>(store: Arc<S>) {
    let [oldest, again, dismissed, newest] = [60, 70, HOUR, 2 * HOUR].map(|seconds| run(1, seconds));
    for run in [&oldest, &newest] {
        put_run(&*store, &failed(run.clone())).await;
    }
    let redriven = Aftermath::Redriven { run: RunKey::redrive(job_id(1), at(90), 7), payload: None, by: None };
    for (run, aftermath) in [(&again, redriven), (&dismissed, Aftermath::Dismissed)] {
        let seen = put_run(&*store, &failed(run.clone())).await;
        let seen_to = Run { aftermath: Some(aftermath), ..failed(run.clone()) };
        assert!(write_run(&*store, &seen_to, Guard::Seen(seen)).await.unwrap().is_written());
    }
    let listed = async |which, before: Option<RunKey>| {
        let runs = store.runs_across(&tenant(), which, at(0)..at(9 * HOUR), before, 100).await.unwrap();
        runs.expect("every store lists what failed").runs
    };
    let letters = async |before| {
        let runs = listed(Across::NeedingAttention, before).await.into_iter().filter(Run::is_dead_letter);
        runs.map(|run| run.key).collect::<Vec<_>>()
    };
    let keys = |runs: &[&Run]| runs.iter().map(|run| run.key).collect::<Vec<_>>();

    assert_eq!(letters(None).await, keys(&[&newest, &oldest]));
    assert_eq!(letters(Some(dismissed.key)).await, keys(&[&oldest]));
    let failed: Vec<_> = listed(Across::Failed, None).await.into_iter().map(|run| run.key).collect();
    assert_eq!(failed, keys(&[&newest, &dismissed, &again, &oldest]), "each as it is, newest first");
}

/// Whosever it is, and gone from there with whatever becomes of its run. Removed: that a run takes its entry along when it is no letter any more.
pub async fn the_oldest_dead_letter_is_anybodys<S: Store>(store: Arc<S>) {
    let other = Tenant::new("a-tenant-before").expect("a word");
    let others = Run { tenant: other.clone(), ..failed(run(9, 60)) };
    let [again, second, newest] = [70, HOUR, 2 * HOUR].map(|seconds| failed(run(1, seconds)));
    let oldest = async || store.oldest_letter().await.unwrap();
    assert_eq!(oldest().await, None);

    put_run(&*store, &run(1, 0)).await;
    put_run(&*store, &newest).await;
    assert_eq!(oldest().await, Some(newest.key.at), "what is to begin is no letter");
    let of_the_other = put_run(&*store, &others).await;
    let seen = put_run(&*store, &again).await;
    put_run(&*store, &second).await;
    assert_eq!(oldest().await, Some(others.key.at));
    assert!(matches!(store.delete::<Run>(&other, others.key, of_the_other).await, Ok(Deleted::Done)));
    assert_eq!(oldest().await, Some(again.key.at));

    let dismissed = Run { aftermath: Some(Aftermath::Dismissed), ..again };
    assert!(write_run(&*store, &dismissed, Guard::Seen(seen)).await.unwrap().is_written());
    assert_eq!(oldest().await, Some(second.key.at));
}

/// Of many jobs and every origin, all at one instant.
fn one_instants_keys() -> Vec<RunKey> {
    let of_job = |number| {
        let job = job_id(number);
        [
            RunKey::occurrence(job, at(120)),
            RunKey::manual(job, at(120), 1),
            RunKey::manual(job, at(120), u64::MAX),
            RunKey::redrive(job, at(120), 1),
        ]
    };
    (1..=16).flat_map(of_job).collect()
}

fn newest_first(mut keys: Vec<RunKey>) -> Vec<RunKey> {
    keys.sort_by_key(|key| (key.at, *key));
    keys.reverse();
    keys
}

async fn all<S: Store>(store: &S, window: Range<Moment>, before: Option<RunKey>, limit: usize) -> Vec<RunKey> {
    let runs = store.runs_across(&tenant(), Across::All, window, before, limit).await.unwrap();
    runs.expect("this one keeps a list").runs.into_iter().map(|run| run.key).collect()
}
