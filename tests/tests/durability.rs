//! Durable means that the disk said so before the answer was given. Shown on a faulty file: whatever it loses or tears at
//! a power cut, every acknowledged write is there afterwards, and no half of an unacknowledged one.

use std::sync::Arc;

use minutehand_domain::run::Run;
use minutehand_domain::timer::Timer;
use minutehand_io::Fault;
use minutehand_io::store::embedded::{FileStore, OpenError};
use minutehand_io::store::{Guard, Put, Store};
use minutehand_tests::conformance::world::{at, job_id, run, stamp, tenant, timer, write_run};
use minutehand_tests::faulty_file::{Dice, Faults, FaultyFile, Unsynced};
use tokio::task::JoinSet;

/// Writers that share commits. Each has a run and a timer of its own, so that what must be there is known exactly.
const WRITERS: u8 = 8;
/// Rounds of each writer, unless the power is cut before.
const ROUNDS: u32 = 12;

/// Tried: with `Durability::None` in the writer, or with answers given before the commit, this fails; the next test shows
/// that it would also see a disk that lies.
#[test]
fn whatever_a_power_cut_loses_what_was_acknowledged_is_there() {
    let lost: Vec<String> = histories(0..150, false);

    assert!(lost.is_empty(), "{}", lost.join("\n"));
}

/// The proof of the proof: under a disk whose sync does nothing the same checker must find something lost.
#[test]
fn a_disk_that_lies_about_syncing_is_caught() {
    let lost = histories(0..10, true);

    assert!(lost.len() >= 5, "only {} of 20 histories lost something: the checker sees nothing", lost.len());
}

#[tokio::test]
async fn a_disk_that_fills_up_fails_the_store_and_loses_nothing() {
    let empty = empty_store();
    for room in [0, 1_000, 50_000, 100_000, 500_000, 1_000_000] {
        let file = FaultyFile::holding(empty.clone(), Faults::NONE);
        let store = FileStore::with_backend(file.clone()).unwrap();
        file.leave_room(room);

        let mut kept = 0;
        let fault = loop {
            match write_run(&store, &large_run(kept), Guard::Absent).await {
                Ok(put) => assert!(put.is_written()),
                Err(fault) => break fault,
            }
            kept += 1;
        };

        assert!(matches!(fault, Fault::Unavailable { .. }), "{fault:?}");
        assert!(!store.failed().await.is_empty());
        assert!(store.put_timer(&timer(1, 60)).await.is_err(), "a failed store stays failed");
        assert!(kept == 0 || store.get::<Run>(&tenant(), large_run(0).key).await.unwrap().is_some(), "and can be read");
        drop(store);
        let reopened = FileStore::with_backend(FaultyFile::holding(file.bytes(), Faults::NONE)).unwrap();
        for number in 0..kept {
            let found = reopened.get::<Run>(&tenant(), large_run(number).key).await.unwrap();
            assert_eq!(
                found.map(|seen| seen.item),
                Some(large_run(number)),
                "{number} of {kept}, {room} bytes of room"
            );
        }
    }
}

/// Each page in turn, of a store that was closed. Some are met when it is opened, some only when what lies there is read: by then redb ends in the
/// middle, closes nothing, and the file opens no more.
///
/// Removed: who compacts begins at once. It ended with a back trace, and what could be read before could be read no more.
#[tokio::test]
async fn a_page_that_contradicts_itself_is_said_before_anything_is_changed() {
    let (whole, damaged) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let store = FileStore::open(whole.path()).unwrap();
    for number in 0..40 {
        assert!(write_run(&store, &large_run(number), Guard::Absent).await.unwrap().is_written());
    }
    store.close();
    let [from, to] = [&whole, &damaged].map(|folder| folder.path().join("minutehand.redb"));
    let bytes = std::fs::read(&from).unwrap();
    FileStore::look_through(whole.path()).unwrap();

    let mut met = 0;
    for page in 0..bytes.len() / 4096 {
        let mut torn = bytes.clone();
        torn[page * 4096..(page + 1) * 4096].fill(0xa5);
        if torn == bytes {
            continue;
        }
        std::fs::write(&to, &torn).unwrap();
        let compacted = FileStore::compact(damaged.path());
        if compacted.is_err() {
            met += 1;
            assert!(
                matches!(compacted, Err(OpenError::Damaged { .. } | OpenError::Io(_))),
                "page {page}: {compacted:?}"
            );
            assert!(std::fs::read(&to).unwrap() == torn, "page {page}: it was changed");
        }
    }
    assert!(met > 10, "{met} pages of {}", bytes.len() / 4096);
}

#[tokio::test]
async fn everybody_who_waits_is_told_when_the_disk_fails() {
    let file = FaultyFile::holding(empty_store(), Faults::NONE);
    let store = Arc::new(FileStore::with_backend(file.clone()).unwrap());
    file.leave_room(0);
    let mut writes = JoinSet::new();
    for number in 0..500_u16 {
        let store = Arc::clone(&store);
        writes.spawn(async move { write_run(&*store, &run(1, number.into()), Guard::Absent).await });
    }

    let answers = writes.join_all().await;

    assert!(answers.iter().all(Result::is_err));
    assert!(!store.failed().await.is_empty());
}

#[test]
fn a_disk_without_room_for_a_store_says_so() {
    let file = FaultyFile::holding(Vec::new(), Faults { room: 1000, ..Faults::NONE });

    let refused = FileStore::with_backend(file).err();

    assert!(matches!(refused, Some(OpenError::DiskFull(_))), "{refused:?}");
}

/// What each seed's history lost, under both ends a power cut can come to.
fn histories(seeds: std::ops::Range<u64>, lying: bool) -> Vec<String> {
    let empty = empty_store();
    let most = operations_of_a_whole_history(&empty);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let mut lost = Vec::new();
    for seed in seeds {
        let mut dice = Dice::new(seed);
        let cut_at = Some(1 + dice.roll() % most);
        let file = FaultyFile::holding(empty.clone(), Faults { cut_at, lying, ..Faults::NONE });
        let diaries = Arc::new(runtime.block_on(write_until_the_power_is_cut(&file)));
        for unsynced in [Unsynced::Lost, Unsynced::Some] {
            let left = file.after_power_cut(unsynced, &mut dice);
            // On a task of its own: what a lying disk leaves behind can make redb panic, which is a loss too.
            let checked = runtime.block_on(runtime.spawn(check(left, Arc::clone(&diaries))));
            if let Err(what) = checked.unwrap_or_else(|panic| Err(panic.to_string())) {
                lost.push(format!("seed {seed}, cut at {cut_at:?}, unsynced {unsynced:?}: {what}"));
            }
        }
    }
    lost
}

/// What one writer knows: what was acknowledged, and what it asked for when the power was cut, which may be there or not.
#[derive(Clone, Debug, Default)]
struct Diary {
    run: Known<Run>,
    timer: Known<Timer>,
}

#[derive(Clone, Debug)]
struct Known<T> {
    acknowledged: Option<T>,
    /// What was asked for last; the same, where that was acknowledged.
    asked: Option<T>,
}

impl<T> Default for Known<T> {
    fn default() -> Self {
        Self { acknowledged: None, asked: None }
    }
}

impl<T: Clone + PartialEq> Known<T> {
    /// Remembers what is asked for, and that it was done if it was.
    async fn ask<A>(&mut self, item: Option<T>, act: impl Future<Output = Result<A, Fault>>) -> Result<A, Fault> {
        self.asked.clone_from(&item);
        let answer = act.await?;
        self.acknowledged = item;
        Ok(answer)
    }

    fn allows(&self, found: Option<&T>) -> bool {
        found == self.acknowledged.as_ref() || found == self.asked.as_ref()
    }
}

async fn write_until_the_power_is_cut(file: &FaultyFile) -> Vec<Diary> {
    let Ok(store) = FileStore::with_backend(file.clone()) else { return Vec::new() };
    let store = Arc::new(store);
    let mut writers = JoinSet::new();
    for writer in 0..WRITERS {
        let store = Arc::clone(&store);
        writers.spawn(async move {
            let mut diary = Diary::default();
            drop(write(&store, writer, &mut diary).await);
            (writer, diary)
        });
    }
    let mut diaries = writers.join_all().await;
    diaries.sort_by_key(|(writer, _)| *writer);
    diaries.into_iter().map(|(_, diary)| diary).collect()
}

/// Promise, act, erase, over and over, until the store no longer answers.
async fn write(store: &FileStore, writer: u8, diary: &mut Diary) -> Result<(), Fault> {
    let mut guard = Guard::Absent;
    for round in 1..=ROUNDS {
        let promise = Timer { stamp: stamp(round.into()), ..timer(writer, 60) };
        let stands = diary.timer.ask(Some(promise.clone()), store.put_timer(&promise)).await?;
        assert_eq!(stands, promise, "nobody else promises here");

        let next = Run { fence: round, ..run(writer, 60) };
        let put = diary.run.ask(Some(next.clone()), store.put(&next.tenant, next.key, &next, guard)).await?;
        let Put::Written(version) = put else { panic!("nobody else writes here") };
        guard = Guard::Seen(version);

        let erased = diary.timer.ask(None, store.erase_timer(&promise.key, promise.stamp)).await?;
        assert!(erased, "nobody else erases here");
    }
    Ok(())
}

/// Opens what is left and compares it with what every writer knows.
async fn check(left: Vec<u8>, diaries: Arc<Vec<Diary>>) -> Result<(), String> {
    let file = FaultyFile::holding(left, Faults::NONE);
    let store = FileStore::with_backend(file).map_err(|error| format!("it cannot be opened: {error}"))?;
    for (writer, diary) in (0..).zip(diaries.iter()) {
        let run = store.get::<Run>(&tenant(), run(writer, 60).key).await.map_err(|fault| fault.to_string())?;
        let timer = store.timer(&timer(writer, 60).key).await.map_err(|fault| fault.to_string())?;
        if !diary.run.allows(run.as_ref().map(|seen| &seen.item)) {
            return Err(format!("writer {writer} finds {run:?}, knows {:?}", diary.run));
        }
        if !diary.timer.allows(timer.as_ref()) {
            return Err(format!("writer {writer} finds {timer:?}, knows {:?}", diary.timer));
        }
    }
    writable(&store).await
}

async fn writable(store: &FileStore) -> Result<(), String> {
    let put = write_run(store, &run(200, 60), Guard::Absent).await.map_err(|fault| fault.to_string())?;
    put.is_written().then_some(()).ok_or_else(|| "a run nobody wrote was there".to_owned())
}

/// The bytes of an empty store, properly closed.
fn empty_store() -> Vec<u8> {
    let file = FaultyFile::holding(Vec::new(), Faults::NONE);
    FileStore::with_backend(file.clone()).expect("a good disk takes a store").close();
    file.bytes()
}

fn operations_of_a_whole_history(empty: &[u8]) -> u64 {
    let file = FaultyFile::holding(empty.to_vec(), Faults::NONE);
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let diaries = runtime.block_on(write_until_the_power_is_cut(&file));
    assert!(diaries.iter().all(|diary| diary.run.acknowledged.as_ref().is_some_and(|run| run.fence == ROUNDS)));
    file.operations()
}

/// A run that fills the disk quickly.
fn large_run(number: u32) -> Run {
    use minutehand_domain::body::{Body, Json};
    let payload = Json::of(&serde_json::Value::String("x".repeat(20_000)));
    let key = minutehand_domain::id::RunKey::manual(job_id(1), at(0), number.into());
    Run {
        payload: Some(Body::Inside(payload)),
        ..Run::new(tenant(), key, minutehand_domain::priority::Priority::Normal)
    }
}
