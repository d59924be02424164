//! Items: what is true of every kind, shown with two that no store knows of. That they are a file each is what a new kind
//! costs.

pub mod join;
pub mod slot;
pub mod thing;

use std::collections::BTreeSet;
use std::sync::Arc;

use minutehand_domain::body::Json;
use minutehand_domain::id::{JobId, Worker};
use minutehand_domain::run::{Holder, Lease, Run, State};
use minutehand_io::Fault;
use minutehand_io::store::update::{Action, Condition, Expression, Value};
use minutehand_io::store::{
    Across, Beneath, Deleted, ExtendLease, Guard, KeptBody, Put, Seen, Store, Updated, Version,
};
use tokio::task::JoinSet;

use self::join::{Close, Join};
use self::slot::{Release, Slot, Take};
use self::thing::{Change, Inside, Thing};
use super::lists::put_run;
use super::world::{Note, at, job_id, named, note, run, tenant, write_body, write_note, write_run, written};

const WRITERS: u64 = 64;

pub async fn an_item_of_a_new_kind_is_kept_and_listed<S: Store>(store: Arc<S>) {
    let version = put_join(&*store, 1, &Join::of("a", edges(2))).await;
    for name in ["b", "a-b"] {
        put_join(&*store, 1, &Join::of(name, edges(2))).await;
    }
    put_join(&*store, 2, &Join::of("a", edges(1))).await;
    put_run(&*store, &run(1, 60)).await;
    let page = async |past: Option<&str>| {
        let past = past.map(|name| (job_id(1), name.to_owned()));
        let joins = store.list::<Join>(&tenant(), job_id(1), past, 2).await.unwrap().whole().unwrap();
        joins.into_iter().map(|join| join.name).collect::<Vec<_>>()
    };

    assert_eq!(page(None).await, ["a", "a-b"]);
    assert_eq!(page(Some("a-b")).await, ["b"]);
    assert!(page(Some("b")).await.is_empty());
    assert_eq!(store.get::<Join>(&named("other"), key(1, "a")).await.unwrap(), None);
    assert_eq!(
        store.get::<Join>(&tenant(), key(1, "a")).await.unwrap(),
        Some(Seen { item: Join::of("a", edges(2)), version })
    );
}

pub async fn closing_an_edge_twice_changes_nothing<S: Store>(store: Arc<S>) {
    let version = put_join(&*store, 1, &Join::of("end", edges(2))).await.next();
    let left = Join { open: [edge(1)].into(), failed: [edge(0)].into(), ..Join::of("end", []) };
    let close = Close { edge: edge(0), failed: true };

    let first = store.update(&tenant(), key(1, "end"), &close).await.unwrap();
    let again = store.update(&tenant(), key(1, "end"), &Close { failed: false, ..close }).await.unwrap();

    assert_eq!(first, Updated::Done(Seen { item: left.clone(), version }));
    assert_eq!(again, Updated::Refused(Some(Seen { item: left.clone(), version })));
    assert_eq!(store.get::<Join>(&tenant(), key(1, "end")).await.unwrap(), Some(Seen { item: left, version }));
}

/// Where each would read the join, change it and put it as seen, most would have to try again and again.
pub async fn of_64_closers_all_succeed_and_exactly_one_sees_the_last_edge_close<S: Store>(store: Arc<S>) {
    put_join(&*store, 1, &Join::of("end", edges(WRITERS))).await;

    let close = |number| {
        let (store, close) = (Arc::clone(&store), Close { edge: edge(number), failed: false });
        async move { store.update(&tenant(), key(1, "end"), &close).await }
    };
    let outcomes = (0..WRITERS).map(close).collect::<JoinSet<_>>().join_all().await;

    let mut open: Vec<usize> = Vec::new();
    for outcome in outcomes {
        match outcome.unwrap() {
            Updated::Done(seen) => open.push(seen.item.open.len()),
            Updated::Refused(standing) => panic!("an open edge can be closed, but there is {standing:?}"),
        }
    }
    open.sort_unstable();
    assert_eq!(open, (0..64).collect::<Vec<_>>(), "each sees one less");
}

/// Tried: without the condition on how many hold it, all 64 take it on DynamoDB.
pub async fn of_64_takers_of_a_slot_as_many_get_it_as_it_has_room_for<S: Store>(store: Arc<S>) {
    let taking = |number| {
        let store = Arc::clone(&store);
        async move { store.update(&tenant(), "billing".to_owned(), &take(number, 5)).await }
    };
    let outcomes = (0..WRITERS).map(taking).collect::<JoinSet<_>>().join_all().await;

    let taken = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Updated::Done(_)))).count();
    let refused = outcomes.iter().filter(|outcome| matches!(outcome, Ok(Updated::Refused(Some(_))))).count();
    assert_eq!((taken, refused), (5, 59));
    let slot = store.get::<Slot>(&tenant(), "billing".to_owned()).await.unwrap().unwrap();
    let first = outcomes.iter().filter_map(|outcome| match outcome {
        Ok(Updated::Done(taken)) => Some(taken.version),
        _ => None,
    });
    let fifth = (1..5).fold(first.min(), |version, _| version.map(Version::next));
    assert_eq!((slot.item.holders.len(), Some(slot.version)), (5, fifth));
}

pub async fn a_slot_is_made_by_its_first_taker_and_taken_again_when_it_was_given_back<S: Store>(store: Arc<S>) {
    let update = async |take: Take| store.update(&tenant(), take.name.clone(), &take).await.unwrap();
    let is_done = |updated| matches!(updated, Updated::Done(_));

    assert!(is_done(update(take(1, 1)).await));
    assert!(!is_done(update(take(2, 1)).await), "it is full");
    assert!(!is_done(update(take(1, 9)).await), "it is held already");
    let release = async |number| store.update(&tenant(), "billing".to_owned(), &Release { holder: edge(number) }).await;
    assert!(matches!(release(2).await, Ok(Updated::Refused(Some(_)))), "who holds nothing gives nothing back");
    assert!(matches!(release(1).await, Ok(Updated::Done(Seen { item, .. })) if item.holders.is_empty()));
    assert!(is_done(update(take(2, 1)).await));
}

pub async fn what_is_not_there_is_updated_only_where_the_update_makes_it<S: Store>(store: Arc<S>) {
    let closed = store.update(&tenant(), key(1, "end"), &Close { edge: edge(0), failed: false }).await.unwrap();
    let taken = store.update(&tenant(), "billing".to_owned(), &take(1, 1)).await.unwrap();

    assert_eq!(closed, Updated::Refused(None));
    let slot = Slot { name: "billing".to_owned(), holders: [edge(1)].into(), until: at(600) };
    assert!(matches!(taken, Updated::Done(Seen { item, .. }) if item == slot));
}

pub async fn an_update_is_a_writing_that_a_guard_has_not_seen<S: Store>(store: Arc<S>) {
    let seen = put_join(&*store, 1, &Join::of("end", edges(2))).await;
    let _closed = store.update(&tenant(), key(1, "end"), &Close { edge: edge(0), failed: false }).await.unwrap();
    let put = async |seen| store.put(&tenant(), key(1, "end"), &Join::of("end", []), Guard::Seen(seen)).await;

    let before = put(seen).await.unwrap();
    let after = put(seen.next()).await.unwrap();

    assert!(matches!(&before, Put::Conflict(Some(standing)) if standing.version == seen.next()), "{before:?}");
    assert_eq!(after, Put::Written(seen.next().next()));
}

/// Tried: without the condition on the fence, the second claim's lease is extended by the first. One that is to end is not kept.
pub async fn a_lease_is_extended_only_by_its_own_claim<S: Store>(store: Arc<S>) {
    let lease = Lease { holder: Holder::Remote(Worker(7)), until: at(90), cancelled: false, token: None };
    let running = Run { state: State::Running(lease), fence: 2, ..run(1, 60) };
    let claimed = put_run(&*store, &running).await;
    let waiting = put_run(&*store, &run(2, 60)).await;
    let to_end = Run { state: State::Running(Lease { cancelled: true, ..lease }), ..run(3, 60) };
    let to_end = Run { fence: 2, ..to_end };
    let ending = put_run(&*store, &to_end).await;
    let extend = async |job, fence| {
        let extend = ExtendLease { fence, until: at(500) };
        store.update(&tenant(), run(job, 60).key, &extend).await.unwrap()
    };

    let others = extend(1, 1).await;
    let own = extend(1, 2).await;
    let no_longer = extend(1, 2).await;
    let unclaimed = extend(2, 0).await;
    let cancelled = extend(3, 2).await;

    assert_eq!(others, Updated::Refused(Some(Seen { item: running.clone(), version: claimed })));
    let extended = Run { state: State::Running(Lease { until: at(500), ..lease }), ..running };
    assert_eq!(own, Updated::Done(Seen { item: extended.clone(), version: claimed.next() }));
    assert_eq!(no_longer, Updated::Refused(Some(Seen { item: extended, version: claimed.next() })));
    assert_eq!(unclaimed, Updated::Refused(Some(Seen { item: run(2, 60), version: waiting })));
    assert_eq!(cancelled, Updated::Refused(Some(Seen { item: to_end, version: ending })));
}

pub async fn what_was_seen_is_deleted_once_and_nothing_else_is<S: Store>(store: Arc<S>) {
    let write = async |number, guard| write_note(&*store, &tenant(), &note("one", number), guard).await.unwrap();
    let first = written(write(1, Guard::Absent).await);
    let second = written(write(2, Guard::Seen(first)).await);
    let standing = Seen { item: note("one", 2), version: second };
    let delete = async |version| store.delete(&tenant(), "one".to_owned(), version).await.unwrap();

    assert_eq!(delete(first).await, Deleted::Conflict(Some(standing)));
    assert_eq!(delete(second).await, Deleted::Done);
    assert_eq!(delete(second).await, Deleted::Conflict(None));
    assert!(write(3, Guard::Absent).await.is_written(), "it is absent");
}

/// Tried: with versions that begin at 1 in every life, who saw the first version of the former life replaces and deletes the
/// next one's, in every store.
pub async fn who_saw_a_former_life_can_neither_replace_nor_delete_the_next<S: Store>(store: Arc<S>) {
    let write = async |number, guard| write_note(&*store, &tenant(), &note("one", number), guard).await.unwrap();
    let mut former = vec![written(write(1, Guard::Absent).await)];
    former.push(written(write(2, Guard::Seen(former[0])).await));
    assert_eq!(store.delete::<Note>(&tenant(), "one".to_owned(), former[1]).await.unwrap(), Deleted::Done);
    let mut version = written(write(3, Guard::Absent).await);

    for _ in 0..3 {
        for seen in &former {
            let standing = Some(Seen { item: note("one", 3), version });
            assert_eq!(write(4, Guard::Seen(*seen)).await, Put::Conflict(standing.clone()));
            let deleted = store.delete(&tenant(), "one".to_owned(), *seen).await.unwrap();
            assert_eq!(deleted, Deleted::Conflict(standing));
        }
        version = written(write(3, Guard::Seen(version)).await);
    }
}

/// The same of a life that an update begins.
pub async fn who_saw_a_former_life_of_a_slot_does_not_delete_the_next<S: Store>(store: Arc<S>) {
    let begin = async |number| match store.update(&tenant(), "billing".to_owned(), &take(number, 1)).await {
        Ok(Updated::Done(taken)) => taken,
        other => panic!("a free slot is taken, but {other:?}"),
    };
    let delete = async |seen| store.delete::<Slot>(&tenant(), "billing".to_owned(), seen).await.unwrap();
    let former = begin(1).await;
    assert_eq!(delete(former.version).await, Deleted::Done);
    let next = begin(2).await;

    assert_eq!(delete(former.version).await, Deleted::Conflict(Some(next.clone())));
    assert_eq!(delete(next.version).await, Deleted::Done);
}

/// As it is: until when it is of use may be another. Tried: with the guard left out, DynamoDB refuses it for ever, and the embedded store too.
pub async fn what_is_written_once_is_written_again_only_by_who_has_seen_it<S: Store>(store: Arc<S>) {
    let (tenant, json) = (tenant(), Json::null());
    let (key, kept) = ((job_id(1), json.digest()), KeptBody { json });
    let put = async |guard| store.put(&tenant, key, &kept, guard).await.unwrap();
    let there = Seen { item: kept.clone(), version: Version::ONLY };

    assert_eq!(put(there.guard()).await, Put::Conflict(None), "it is not there");
    assert_eq!(put(Guard::Absent).await, Put::Written(Version::ONLY));
    assert_eq!(put(Guard::Absent).await, Put::Conflict(Some(there.clone())));
    assert_eq!(put(there.guard()).await, Put::Written(Version::ONLY));
    let until = Beneath::until(kept.clone(), at(9));
    let put = store.put(&tenant, key, &until, there.guard()).await.unwrap();

    assert_eq!(put, Put::Written(Version::ONLY));
    assert_eq!(store.get::<KeptBody>(&tenant, key).await.unwrap(), Some(there));
}

pub async fn what_is_written_once_can_be_deleted<S: Store>(store: Arc<S>) {
    let body = Json::null();
    write_body(&*store, &tenant(), job_id(1), &body).await.unwrap();
    let at = (job_id(1), body.digest());

    assert_eq!(store.delete::<KeptBody>(&tenant(), at, Version(1)).await.unwrap(), Deleted::Done);
    assert_eq!(store.delete::<KeptBody>(&tenant(), at, Version(1)).await.unwrap(), Deleted::Conflict(None));
    assert_eq!(store.get::<KeptBody>(&tenant(), at).await.unwrap(), None);
}

/// Each of these means one thing where conditions are asked of what an update begins with, and another where they are asked
/// of what stands. Tried: without the check, memory makes the first five, and DynamoDB refuses them for ever or forgets words.
pub async fn an_update_that_the_stores_cannot_mean_alike_is_illegal<S: Store>(store: Arc<S>) {
    let thing = Thing {
        count: 1,
        open: true,
        inside: Inside { stage: "a".to_owned() },
        words: BTreeSet::new(),
        note: None,
        tries: 0,
        until: at(600),
    };
    let is_open = Condition::Is(&["open"], Value::Bool(true));
    let set_stage = Action::Set(&["inside", "stage"], Value::Text("b".to_owned()));
    let [insert, remove] = [Action::Insert("words", "a".to_owned()), Action::Remove("words", "b".to_owned())];
    let begun = |begin: &Thing, conditions: &[Condition], actions: &[Action]| Change {
        begin: Some(begin.clone()),
        expression: Expression { conditions: conditions.to_vec(), actions: actions.to_vec() },
    };
    let change = async |change: Change| store.update(&tenant(), "one".to_owned(), &change).await;
    let with_words = Thing { words: ["c".to_owned()].into(), ..thing.clone() };
    let with_a_note = Thing { note: Some("a".to_owned()), ..thing.clone() };

    for refused in [
        begun(&thing, &[is_open], &[]),
        begun(&thing, &[Condition::Holds(&["words"], "a".to_owned())], &[]),
        begun(&thing, &[], &[set_stage]),
        begun(&with_words, &[], std::slice::from_ref(&insert)),
        begun(&with_a_note, &[], &[]),
        begun(&Thing { tries: 1, ..thing.clone() }, &[], &[]),
        begun(&thing, &[], &[insert.clone(), remove]),
    ] {
        let answer = change(refused.clone()).await;
        assert!(matches!(answer, Err(Fault::Illegal { .. })), "{refused:?}: {answer:?}");
    }

    let set_note = Action::Set(&["note"], Value::Text("b".to_owned()));
    let made = change(begun(&with_a_note, &[], &[insert, set_note])).await;
    let expected = Thing { words: ["a".to_owned()].into(), note: Some("b".to_owned()), ..thing };
    assert!(matches!(&made, Ok(Updated::Done(made)) if made.item == expected), "{made:?}");
}

pub async fn a_deleted_run_is_listed_no_more<S: Store>(store: Arc<S>) {
    let seen = put_run(&*store, &run(1, 60)).await;
    put_run(&*store, &run(1, 120)).await;

    assert_eq!(store.delete::<Run>(&tenant(), run(1, 60).key, seen).await.unwrap(), Deleted::Done);

    let across = store.runs_across(&tenant(), Across::All, at(0)..at(600), None, 10).await.unwrap();
    assert_eq!(across.unwrap_or_default().runs, [run(1, 120)]);
    assert!(write_run(&*store, &run(1, 60), Guard::Absent).await.unwrap().is_written());
    let across = store.runs_across(&tenant(), Across::All, at(0)..at(600), None, 10).await.unwrap();
    assert_eq!(across.unwrap_or_default().runs, [run(1, 120), run(1, 60)], "and listed again");
}

pub fn key(job: u8, name: &str) -> (JobId, String) {
    (job_id(job), name.to_owned())
}

pub fn edge(number: u64) -> String {
    format!("edge-{number}")
}

/// The slot `billing`, taken by somebody of this number.
pub fn take(number: u64, limit: u64) -> Take {
    Take { name: "billing".to_owned(), holder: edge(number), limit, until: at(600) }
}

fn edges(count: u64) -> impl Iterator<Item = String> {
    (0..count).map(edge)
}

async fn put_join<S: Store>(store: &S, job: u8, join: &Join) -> Version {
    written(store.put(&tenant(), key(job, &join.name), join, Guard::Absent).await.unwrap())
}
