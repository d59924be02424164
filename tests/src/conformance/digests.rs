//! Digests: ends that are put into one while it is closed, by the updates of the product itself.

use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::id::RunKey;
use minutehand_domain::notification::digest::{Found, WIDTH};
use minutehand_domain::notification::{Digest, DigestKey, Entry, When, Window};
use minutehand_io::store::{CloseDigest, Store, TellOf, Updated};
use tokio::task::JoinSet;

use super::world::{at, job_id, tenant};

fn entry(number: u64) -> Entry {
    Entry { at: at(30), when: When::Failed, run: RunKey::manual(job_id(1), at(30), number) }
}

fn key() -> DigestKey {
    DigestKey::root(job_id(9), Window::of(at(30), Duration::from_secs(60)))
}

fn tell(number: u64) -> TellOf {
    TellOf { entry: entry(number), expires_at: key().expires_at() }
}

fn close() -> CloseDigest {
    CloseDigest { expires_at: key().expires_at() }
}

async fn there<S: Store>(store: &S) -> Digest {
    store.get::<Digest>(&tenant(), key()).await.unwrap().unwrap().item
}

/// Each is told of twice, as by who settles again.
pub async fn of_ends_that_are_told_while_a_digest_is_closed_it_says_just_those_that_came_before<S: Store>(
    store: Arc<S>,
) {
    let each = |number| {
        let store = Arc::clone(&store);
        async move {
            if number == WIDTH / 2 {
                let _closed = store.update(&tenant(), key(), &close()).await.unwrap();
            }
            let told = store.update(&tenant(), key(), &tell(number)).await.unwrap();
            let again = store.update(&tenant(), key(), &tell(number)).await.unwrap();
            assert!(!matches!(again, Updated::Done(_)), "twice is once");
            (number, matches!(told, Updated::Done(_)))
        }
    };

    let told = (1..WIDTH).map(each).collect::<JoinSet<_>>().join_all().await;

    let digest = there(&*store).await;
    for (number, is_told) in told {
        let wanted = if is_told { Found::Told } else { Found::Closed };
        assert_eq!(digest.finds(&entry(number)), wanted, "{number}");
    }
}

pub async fn a_digest_takes_as_many_as_it_has_room_for_and_is_closed_once<S: Store>(store: Arc<S>) {
    let tells = (0..64).map(|number| {
        let store = Arc::clone(&store);
        async move { matches!(store.update(&tenant(), key(), &tell(number)).await.unwrap(), Updated::Done(_)) }
    });
    let told = tells.collect::<JoinSet<_>>().join_all().await.into_iter().filter(|told| *told).count() as u64;

    let first = store.update(&tenant(), key(), &close()).await.unwrap();
    let again = store.update(&tenant(), key(), &close()).await.unwrap();

    assert_eq!((told, there(&*store).await.entries().count() as u64), (WIDTH, WIDTH));
    assert!(matches!(first, Updated::Done(_)));
    let Updated::Refused(Some(seen)) = again else { panic!("{again:?}") };
    assert!(seen.item.is_closed() && seen.item.is_full());
}

pub async fn a_digest_in_which_nothing_is_can_be_closed<S: Store>(store: Arc<S>) {
    let closed = store.update(&tenant(), key(), &close()).await.unwrap();
    let told = store.update(&tenant(), key(), &tell(1)).await.unwrap();

    assert!(matches!(closed, Updated::Done(_)) && matches!(told, Updated::Refused(Some(_))));
    assert_eq!(there(&*store).await.finds(&entry(1)), Found::Closed);
}
