//! Lists: pages in order, windows, and that no tenant ever sees another's.

use std::collections::BTreeSet;
use std::sync::Arc;

use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, RunKey, Tenant};
use minutehand_domain::job::Job;
use minutehand_domain::run::{Attempt, Run};
use minutehand_io::Fault;
use minutehand_io::store::{Guard, Part, Store, Version};

use super::world::{
    at, attempt, head, job, job_id, jobs, named, note, run, run_of, runs_of, tenant, tombstone, write_attempt,
    write_note, write_run, written,
};

pub async fn jobs_come_in_pages_by_id<S: Store>(store: Arc<S>) {
    for number in [5, 1, 4, 2, 3] {
        put_head(&*store, &head(number)).await;
    }

    let first = jobs(&*store, &tenant(), None, 2).await.unwrap();
    let second = jobs(&*store, &tenant(), Some(job_id(2)), 2).await.unwrap();
    let last = jobs(&*store, &tenant(), Some(job_id(4)), 2).await.unwrap();

    assert_eq!(ids(&first), [job_id(1), job_id(2)]);
    assert_eq!(ids(&second), [job_id(3), job_id(4)]);
    assert_eq!(ids(&last), [job_id(5)]);
    assert_eq!(jobs(&*store, &tenant(), Some(job_id(5)), 2).await.unwrap(), []);
}

/// Tried: a part that begins again with each page; one part of three.
pub async fn all_jobs_and_runs_of_everybody_are_gone_through_in_parts<S: Store>(store: Arc<S>) {
    let (theirs, notes) = (named("other"), named("notes"));
    for number in 0..120 {
        for job in [job(&tenant(), number), job(&theirs, number)] {
            put_head(&*store, &Head::Job(job)).await;
        }
        assert!(write_run(&*store, &run(number, 60), Guard::Absent).await.unwrap().is_written());
    }
    assert!(write_note(&*store, &notes, &note("run", 1), Guard::Absent).await.unwrap().is_written());

    let (mut heads, mut runs, mut unreadable) = (Vec::new(), Vec::new(), Vec::new());
    for number in 0..3 {
        let mut behind = None;
        loop {
            let page = store.everything(Part { number, of: 3 }, behind).await.unwrap();
            unreadable.extend(page.unreadable.into_iter().map(|left| left.why));
            heads.extend(page.heads.iter().map(|head| (head.tenant().clone(), head.id())));
            runs.extend(page.runs.iter().map(|run| run.key));
            behind = page.next;
            if behind.is_none() {
                break;
            }
        }
    }

    assert_eq!((heads.len(), runs.len()), (240, 120), "each once");
    let each: (BTreeSet<_>, BTreeSet<_>) = (heads.into_iter().collect(), runs.into_iter().collect());
    assert_eq!((each.0.len(), each.1.len()), (240, 120));
    assert!(
        matches!(&unreadable[..], [Fault::Later { .. }]),
        "a note is of a kind that no release has: {unreadable:?}"
    );
}

/// Tombstones are looked at, and fill no page.
pub async fn a_sample_of_a_list_costs_so_many_looks<S: Store>(store: Arc<S>) {
    for number in 0..200 {
        let head = if number % 2 == 0 { head(number) } else { tombstone(number) };
        put_head(&*store, &head).await;
    }

    let sample = async |looks| store.sample::<Head>(&tenant(), (), looks).await.unwrap();
    let (all, few) = (sample(1000).await, sample(64).await);

    let each: BTreeSet<_> = all.items.iter().map(Head::id).collect();
    assert_eq!((all.items.len(), each.len(), all.more), (100, 100, false));
    assert!(few.more && (1..=64).contains(&few.items.len()), "{}", few.items.len());
}

pub async fn tombstones_are_left_out_of_jobs_and_fill_no_page<S: Store>(store: Arc<S>) {
    for number in 1..=6 {
        let head = if number % 2 == 0 { head(number) } else { tombstone(number) };
        put_head(&*store, &head).await;
    }

    let page = jobs(&*store, &tenant(), None, 2).await.unwrap();

    assert_eq!(ids(&page), [job_id(2), job_id(4)]);
    assert_eq!(ids(&jobs(&*store, &tenant(), Some(job_id(4)), 2).await.unwrap()), [job_id(6)]);
}

pub async fn a_page_of_none_holds_none<S: Store>(store: Arc<S>) {
    put_head(&*store, &head(1)).await;
    put_run(&*store, &run(1, 60)).await;

    assert_eq!(jobs(&*store, &tenant(), None, 0).await.unwrap(), []);
    assert_eq!(runs_of(&*store, &tenant(), job_id(1), at(0)..at(600), None, 0).await.unwrap(), []);
}

pub async fn runs_come_newest_first_inside_their_window<S: Store>(store: Arc<S>) {
    for seconds in [60, 180, 120, 300, 240] {
        put_run(&*store, &run(1, seconds)).await;
    }
    put_run(&*store, &run(2, 180)).await;

    let runs = runs_of(&*store, &tenant(), job_id(1), at(120)..at(300), None, 10).await.unwrap();

    assert_eq!(keys(&runs), [240, 180, 120].map(|seconds| run(1, seconds).key), "from is inside, to is not");
}

pub async fn runs_go_on_before_the_last_one_seen<S: Store>(store: Arc<S>) {
    let manual = |discriminator| RunKey::manual(job_id(1), at(120), discriminator);
    for key in [run(1, 60).key, run(1, 120).key, manual(1), manual(2), run(1, 180).key] {
        put_run(&*store, &run_of(&tenant(), key)).await;
    }
    let page = async |before| keys(&runs_of(&*store, &tenant(), job_id(1), at(0)..at(600), before, 2).await.unwrap());

    let first = page(None).await;
    let second = page(first.last().copied()).await;
    let third = page(second.last().copied()).await;

    assert_eq!(first, [run(1, 180).key, manual(2)]);
    assert_eq!(second, [manual(1), run(1, 120).key], "what was asked for comes after the schedule's, at one instant");
    assert_eq!(third, [run(1, 60).key]);
}

pub async fn a_page_before_the_window_is_empty<S: Store>(store: Arc<S>) {
    put_run(&*store, &run(1, 120)).await;
    put_run(&*store, &run(2, 120)).await;

    for before in [run(1, 60).key, run(0, 500).key] {
        let runs = runs_of(&*store, &tenant(), job_id(1), at(100)..at(600), Some(before), 10).await.unwrap();
        assert_eq!(runs, [], "{before:?}");
    }
    let beyond = runs_of(&*store, &tenant(), job_id(1), at(100)..at(600), Some(run(2, 60).key), 10).await.unwrap();
    assert_eq!(keys(&beyond), [run(1, 120).key], "another job's run opens no window into it");
    let backwards = at(600)..at(100);
    assert_eq!(runs_of(&*store, &tenant(), job_id(1), backwards, None, 10).await.unwrap(), []);
}

/// The second tenant's name begins with the first one's.
pub async fn no_tenant_sees_what_is_anothers<S: Store>(store: Arc<S>) {
    let (ours, theirs) = (named("acme"), named("acme-2"));
    let key = run(1, 60).key;
    put_head(&*store, &Head::Job(job(&theirs, 1))).await;
    put_run(&*store, &run_of(&theirs, key)).await;
    write_attempt(&*store, &theirs, key, &attempt(1)).await.unwrap();

    assert_eq!(store.get::<Head>(&ours, job_id(1)).await.unwrap(), None);
    assert_eq!(store.get::<Run>(&ours, key).await.unwrap(), None);
    assert_eq!(jobs(&*store, &ours, None, 10).await.unwrap(), []);
    assert_eq!(runs_of(&*store, &ours, job_id(1), at(0)..at(600), None, 10).await.unwrap(), []);
    assert_eq!(store.list::<Attempt>(&ours, key, None, usize::MAX).await.unwrap().items, []);
    assert_eq!(ids(&jobs(&*store, &theirs, None, 10).await.unwrap()), [job_id(1)]);

    put_head(&*store, &Head::Job(job(&ours, 1))).await;
    assert_eq!(tenants(&jobs(&*store, &ours, None, 10).await.unwrap()), [ours]);
    assert_eq!(tenants(&jobs(&*store, &theirs, None, 10).await.unwrap()), [theirs]);
}

pub async fn put_head<S: Store>(store: &S, head: &Head) -> Version {
    written(store.put(head.tenant(), head.id(), head, Guard::Absent).await.unwrap())
}

pub async fn put_run<S: Store>(store: &S, run: &Run) -> Version {
    written(store.put(&run.tenant, run.key, run, Guard::Absent).await.unwrap())
}

fn ids(jobs: &[Job]) -> Vec<JobId> {
    jobs.iter().map(|job| job.id).collect()
}

fn keys(runs: &[Run]) -> Vec<RunKey> {
    runs.iter().map(|run| run.key).collect()
}

fn tenants(jobs: &[Job]) -> Vec<Tenant> {
    jobs.iter().map(|job| job.tenant.clone()).collect()
}
