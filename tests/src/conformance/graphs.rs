//! Graphs: what many tasks do at once to a join, and many runs to a slot, by the updates of the product itself.

use std::sync::Arc;

use minutehand_domain::id::RunKey;
use minutehand_domain::slot::{SlotId, SlotKey, items};
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::edge::{Closed, Decision, Ended, On, Rule};
use minutehand_domain::workflow::join::{JoinKey, Of, Seen as Found, Tree};
use minutehand_io::store::{CloseEdge, Release, Seen, SlotItem, Store, Take, Updated};
use tokio::task::JoinSet;

use super::world::{at, job_id, tenant};

const TASKS: u16 = 64;

/// Each says that it has ended, and says it again, as a message does that is delivered twice.
pub async fn of_64_tasks_that_end_at_once_one_closes_the_last_edge_of_their_join<S: Store>(store: Arc<S>) {
    let how = Closed::edge(On::Success, Ended::Succeeded, false);
    let key = JoinKey::new(RunKey::occurrence(job_id(1), at(60)), 16, Of::Task(7), Tree::leaf(0).0);
    let end = |edge| {
        let (store, close) = (Arc::clone(&store), CloseEdge { edge, how, expires_at: at(600) });
        async move { store.update(&tenant(), key, &close).await.unwrap() }
    };

    let ends = (0..TASKS).chain(0..TASKS).map(end).collect::<JoinSet<_>>().join_all().await;

    let decided =
        |join| matches!(Tree::of(TASKS.into()).look(key.node, join, Rule::All), Found::Decided(Decision::Start, _));
    let closed = ends.iter().filter_map(|end| match end {
        Updated::Done(Seen { item, .. }) => Some(decided(item)),
        Updated::Refused(_) => None,
    });
    let closed: Vec<bool> = closed.collect();
    assert_eq!((closed.len(), closed.iter().filter(|last| **last).count()), (TASKS.into(), 1));
    assert!(ends.iter().all(|end| !matches!(end, Updated::Refused(None))), "who is refused sees what stands");
}

/// A slot of thirty is two items; each run asks both until it has a place.
pub async fn of_64_runs_as_many_have_a_place_as_their_workflow_has<S: Store>(store: Arc<S>) {
    const WIDTH: u32 = 30;
    let slot = SlotId::from(WorkflowId::from_bytes([9; 16]));
    let run = |number: u64| RunKey::manual(job_id(1), at(60), number);
    let take = |number| {
        let store = Arc::clone(&store);
        async move {
            for (key, room) in items(slot, WIDTH, run(number)) {
                if let Updated::Done(_) = store.update(&tenant(), key, &Take { run: run(number), room }).await.unwrap()
                {
                    return Some(number);
                }
            }
            None
        }
    };

    let taken = (0..64).map(take).collect::<JoinSet<_>>().join_all().await;
    let holders: Vec<u64> = taken.into_iter().flatten().collect();
    let mut released = 0;
    for (key, _) in items(slot, WIDTH, run(holders[0])) {
        let update = store.update(&tenant(), key, &Release { run: run(holders[0]) }).await.unwrap();
        released += usize::from(matches!(update, Updated::Done(_)));
    }

    assert_eq!((holders.len(), released), (30, 1));
    assert_eq!(take(64).await, Some(64), "where a place was given back there is room");
    assert_eq!(take(65).await, None);
}

/// What is not there says nothing of what lies behind it, and the item of another slot is none of this one's.
///
/// Removed: an item that is listed is told the number of its key. All of them were number 0, and a full item was asked for a place again and again.
pub async fn the_items_of_a_wide_slot_are_listed_with_their_numbers<S: Store>(store: Arc<S>) {
    let [slot, other] = [9, 8].map(|byte| SlotId::from(WorkflowId::from_bytes([byte; 16])));
    let run = |number: u32| RunKey::manual(job_id(1), at(60), number.into());
    for (slot, number) in [(slot, 0), (slot, 3), (other, 4), (slot, 10), (slot, 41), (slot, 300)] {
        let take = Take { run: run(number), room: 24 };
        let taken = store.update(&tenant(), SlotKey { slot, number }, &take).await.unwrap();
        assert!(matches!(taken, Updated::Done(_)), "{taken:?}");
    }

    let listed = store.list::<SlotItem>(&tenant(), slot, None, 4).await.unwrap().whole().unwrap();

    assert_eq!(listed.iter().map(|item| item.number).collect::<Vec<_>>(), [0, 3, 10, 41]);
    assert!(listed.iter().all(|item| item.slot.is_held_by(run(item.number))));
}
