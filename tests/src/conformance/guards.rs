//! Guards: a write says what it has seen, exactly one of many wins, and who loses is told what is there.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;

use minutehand_domain::head::Head;
use minutehand_domain::id::Tenant;
use minutehand_domain::run::Run;
use minutehand_io::Fault;
use minutehand_io::store::{Cursor, Guard, Put, Seen, Store, Version};
use tokio::task::JoinSet;

use super::lists::put_run;
use super::world::{at, head, head_by, job_id, note, run, tenant, write_head, write_note, write_run, written};

const CLAIMANTS: u32 = 64;

/// Fails on every store whose guard is not checked where the write is made. Tried: without the check in the memory
/// engine and in the file's writer all 64 win; with the check before the file's queue instead of in its writer, several.
pub async fn of_64_claims_exactly_one_wins<S: Store>(store: Arc<S>) {
    let [mut of_head, mut of_run, mut of_cursor, mut of_note] = [Guard::Absent; 4];
    for _ in 0..5 {
        of_head = one_wins(&store, of_head, |store, guard, claimant| async move {
            write_head(&*store, &head_by(1, claimant.into()), guard).await
        })
        .await;
        of_run = one_wins(&store, of_run, |store, guard, claimant| async move {
            write_run(&*store, &Run { fence: claimant, ..run(1, 60) }, guard).await
        })
        .await;
        of_cursor = one_wins(&store, of_cursor, |store, guard, claimant| async move {
            store.put(&Tenant::deployment(), 0, &cursor(claimant), guard).await
        })
        .await;
        of_note = one_wins(&store, of_note, |store, guard, claimant| async move {
            write_note(&*store, &tenant(), &note("one", claimant.into()), guard).await
        })
        .await;
    }
}

pub async fn what_is_absent_can_be_written_once<S: Store>(store: Arc<S>) {
    let first = write_head(&*store, &head(1), Guard::Absent).await.unwrap();
    let second = write_head(&*store, &head_by(1, 9), Guard::Absent).await.unwrap();

    let version = written(first);
    assert_eq!(second, Put::Conflict(Some(Seen { item: head(1), version })));
    assert_eq!(store.get::<Head>(&tenant(), job_id(1)).await.unwrap(), Some(Seen { item: head(1), version }));
}

pub async fn what_was_seen_can_be_replaced_once<S: Store>(store: Arc<S>) {
    let seen = put_run(&*store, &run(1, 60)).await;
    let changed = Run { fence: 1, ..run(1, 60) };

    let first = store.put(&changed.tenant, changed.key, &changed, Guard::Seen(seen)).await.unwrap();
    let second = write_run(&*store, &Run { fence: 2, ..run(1, 60) }, Guard::Seen(seen)).await.unwrap();

    assert_eq!(first, Put::Written(seen.next()));
    assert_eq!(second, Put::Conflict(Some(Seen { item: changed, version: seen.next() })));
}

pub async fn nothing_can_have_been_seen_where_nothing_is<S: Store>(store: Arc<S>) {
    let put = write_run(&*store, &run(1, 60), Guard::Seen(Version(1))).await.unwrap();

    assert_eq!(put, Put::Conflict(None));
    assert_eq!(store.get::<Run>(&tenant(), run(1, 60).key).await.unwrap(), None);
}

pub async fn a_conflict_changes_nothing<S: Store>(store: Arc<S>) {
    let seen = written(store.put(&Tenant::deployment(), 0, &cursor(1), Guard::Absent).await.unwrap());

    for guard in [Guard::Absent, Guard::Seen(Version(seen.0 + 1)), Guard::Seen(Version(0))] {
        let put = store.put(&Tenant::deployment(), 0, &cursor(2), guard).await.unwrap();
        assert_eq!(put, Put::Conflict(Some(Seen { item: cursor(1), version: seen })), "{guard:?}");
    }

    assert_eq!(
        store.get::<Cursor>(&Tenant::deployment(), 0).await.unwrap(),
        Some(Seen { item: cursor(1), version: seen })
    );
}

/// Sixty-four write at once under one guard; answers with the guard that has seen the winner.
async fn one_wins<S, T, F, Fut>(store: &Arc<S>, guard: Guard, claim: F) -> Guard
where
    S: Store,
    T: Clone + Debug + PartialEq + Send + 'static,
    F: Fn(Arc<S>, Guard, u32) -> Fut,
    Fut: Future<Output = Result<Put<T>, Fault>> + Send + 'static,
{
    let claims: JoinSet<_> = (0..CLAIMANTS).map(|claimant| claim(Arc::clone(store), guard, claimant)).collect();

    let outcomes = claims.join_all().await;

    let (mut losers, mut won) = (Vec::new(), Vec::new());
    for outcome in outcomes {
        match outcome.unwrap() {
            Put::Written(version) => won.push(version),
            Put::Conflict(standing) => losers.push(standing.expect("the winner's item stands there")),
        }
    }
    assert_eq!((won.len(), losers.len()), (1, 63), "one wins over {guard:?}");
    assert!(losers.iter().all(|seen| *seen == losers[0] && seen.version == won[0]), "all are told the same");
    if let Guard::Seen(before) = guard {
        assert_eq!(won[0], before.next());
    }
    Guard::Seen(won[0])
}

fn cursor(number: u32) -> Cursor {
    Cursor { hinted_to: at(number.into()), swept_at: at(0), ..Cursor::starting_at(7) }
}
