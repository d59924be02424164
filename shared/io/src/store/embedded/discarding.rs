//! Discarding: one item that nobody can read is deleted by the key that it lies under, for whoever has the directory. What can be read is no such item,
//! and what a later release wrote is that release's to read. It is shown first, as it lies, so that it may be kept elsewhere.

use std::ops::ControlFlow;

use minutehand_domain::Moment;
use thiserror::Error;

use super::engine::{Change, Engine, Entry, Made, Table, Write};
use super::{Embedded, keys, reading};
use crate::Fault;

/// An item that nobody can read, as it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Corrupt {
    table: Table,
    key: Vec<u8>,
    value: Vec<u8>,
    why: Fault,
}

/// Why something is not discarded.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotDiscarded {
    #[error(
        "that is no key of a store: one is listed by `minutehand repair --check` in front of what is wrong there, such as heads:chjpcrbndht00"
    )]
    NoKey,
    #[error("nothing lies there")]
    Nothing,
    #[error("it can be read: only what nobody can read is discarded")]
    Readable,
    #[error("a later release wrote it, and reads it: {0}")]
    Later(String),
    #[error("it only leads to an item, and goes with that")]
    Entry,
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Corrupt {
    /// As [`super::Unreadable`] spells it.
    pub fn key(&self) -> String {
        keys::spelled(self.table, &self.key)
    }

    pub fn is_of_a_run(&self) -> bool {
        self.table == Table::Runs
    }

    pub fn value(&self) -> &[u8] {
        &self.value
    }

    pub fn why(&self) -> &Fault {
        &self.why
    }
}

impl<E: Engine> Embedded<E> {
    /// What lies under a key, as it is spelled, where nobody can read that.
    pub fn corrupt_at(&self, spelled: &str) -> Result<Corrupt, NotDiscarded> {
        let (table, key) = keys::spelled_in(spelled).ok_or(NotDiscarded::NoKey)?;
        let value = self.read(table, &key, |bytes| Ok(bytes.to_vec()))?.ok_or(NotDiscarded::Nothing)?;
        match reading::read(self.codec, table, &key, &value).ok_or(NotDiscarded::Entry)? {
            Ok(()) => Err(NotDiscarded::Readable),
            Err(Fault::Later { why, .. }) => Err(NotDiscarded::Later(why)),
            Err(why @ Fault::Unreadable { .. }) => Ok(Corrupt { table, key, value, why }),
            Err(fault) => Err(fault.into()),
        }
    }

    /// Deletes it only as it was seen, and with it what leads there; says whether it did. What lies beneath a run stays.
    pub async fn discard_corrupt(&self, corrupt: &Corrupt) -> Result<bool, Fault> {
        let Corrupt { table, key, value: seen, .. } = corrupt.clone();
        let made = Made { value: None, entries: self.leading_to(table, &key)? };
        let compute = Box::new(move |standing: Option<&[u8]>| Ok((standing == Some(&seen[..])).then_some(made)));
        Ok(self.apply(Write { table, key, change: Change::Computed(compute) }).await?.is_made())
    }

    /// The item cannot say when it expires: what says so is walked through.
    fn leading_to(&self, table: Table, key: &[u8]) -> Result<Vec<Entry>, Fault> {
        let gone = |table, key| Entry { table, key, value: None };
        let listed = Some(key).filter(|_| table == Table::Runs).and_then(keys::run_listed_at);
        let letter = listed.as_deref().and_then(keys::letter_listed_at);
        let mut entries: Vec<Entry> = listed.map(|key| gone(Table::RunsByTime, key)).into_iter().collect();
        entries.extend(letter.map(|key| gone(Table::Letters, key)));
        self.engine.walk(Table::Expiring, &keys::expired(Moment::END, None), |entry, _| {
            if keys::expires_there(entry, table, key) {
                entries.push(gone(Table::Expiring, entry.to_vec()));
            }
            Ok(ControlFlow::Continue(()))
        })?;
        Ok(entries)
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::id::{JobId, RunKey, Tenant};
    use minutehand_domain::priority::Priority;
    use minutehand_domain::quota::{Limits, Quota};
    use minutehand_domain::run::{Run, State};

    use super::super::{Codec, MemoryStore, engine};
    use super::*;
    use crate::store::{Across, Guard, Store as _};

    const AT: Moment = Moment::from_secs(1_800_000_000);

    fn timed_out(number: u8) -> Run {
        let key = RunKey::occurrence(JobId::from_bytes([number; 16]), AT);
        Run { state: State::TimedOut { at: AT }, ..Run::new(Tenant::deployment(), key, Priority::Normal) }
    }

    async fn put(store: &MemoryStore, run: &Run) -> String {
        assert!(store.put(&run.tenant, run.key, run, Guard::Absent).await.unwrap().is_written());
        let (table, key) = keys::item::<Run>(&run.tenant, &run.key);
        keys::spelled(table, &key)
    }

    /// How many runs there are, and entries of each list that leads to them.
    fn lengths(store: &MemoryStore) -> [usize; 4] {
        let (by_key, by_time) = (keys::whole_behind(None), keys::expired(Moment::END, None));
        let spans = [
            (Table::Runs, &by_key),
            (Table::RunsByTime, &by_key),
            (Table::Letters, &by_time),
            (Table::Expiring, &by_time),
        ];
        spans.map(|(table, span)| store.entries(table, span, 100).unwrap().len())
    }

    /// Removed (`leading_to`): the lists led to nothing, and what expires was looked for in vain.
    #[tokio::test]
    async fn a_run_that_nobody_can_read_goes_with_what_leads_there_and_nothing_else_does() {
        let store = MemoryStore::in_memory();
        let corrupt = put(&store.seen_through(Codec::Damaging), &timed_out(7)).await;
        put(&store, &timed_out(8)).await;
        assert_eq!(lengths(&store), [2; 4]);

        let found = store.corrupt_at(&corrupt).unwrap();
        let discarded = store.discard_corrupt(&found).await.unwrap();

        assert!(discarded && matches!(found.why(), Fault::Unreadable { .. }) && !found.value().is_empty());
        assert_eq!((found.key(), lengths(&store)), (corrupt.clone(), [1; 4]));
        assert_eq!(store.corrupt_at(&corrupt), Err(NotDiscarded::Nothing));
        let across = store.runs_across(&Tenant::deployment(), Across::All, Moment::EPOCH..Moment::END, None, 9).await;
        assert_eq!(across.unwrap().unwrap().runs.len(), 1);
    }

    #[tokio::test]
    async fn what_somebody_can_read_and_what_was_written_since_stays() {
        let store = MemoryStore::in_memory();
        let (readable, later) = (timed_out(1), timed_out(2));
        let [readable, later] = [put(&store, &readable).await, put(&store.seen_through(Codec::Later), &later).await];

        assert_eq!(store.corrupt_at(&readable), Err(NotDiscarded::Readable));
        assert!(matches!(store.corrupt_at(&later), Err(NotDiscarded::Later(_))));
        assert_eq!(store.corrupt_at("runs:"), Err(NotDiscarded::Nothing));
        for no_key in ["", "runs", "runs:!", "walls:chjpcrbndht00"] {
            assert_eq!(store.corrupt_at(no_key), Err(NotDiscarded::NoKey), "{no_key}");
        }
        let by_time = keys::spelled(Table::RunsByTime, &keys::run_by_time(&Tenant::deployment(), timed_out(1).key));
        assert_eq!(store.corrupt_at(&by_time), Err(NotDiscarded::Entry));

        let damaging = store.seen_through(Codec::Damaging);
        let corrupt = put(&damaging, &timed_out(3)).await;
        let found = store.corrupt_at(&corrupt).unwrap();
        let seen = damaging.corrupt_at(&corrupt).unwrap();
        let other = Corrupt { value: b"written since".to_vec(), ..seen };
        assert_eq!(store.discard_corrupt(&other).await, Ok(false));
        assert_eq!(store.discard_corrupt(&found).await, Ok(true));
    }

    /// Those that lie in a table for all are known by the word of their kind.
    #[tokio::test]
    async fn a_document_is_read_as_what_its_key_says() {
        let store = MemoryStore::in_memory();
        let (deployment, of) = (Tenant::deployment(), Tenant::new("acme").unwrap());
        let quota = Quota::new(of.clone(), Limits::default());
        let (table, key) = keys::item::<Quota>(&deployment, &of);
        let spelled = keys::spelled(table, &key);
        let put = store.seen_through(Codec::Damaging).put(&deployment, of, &quota, Guard::Absent).await.unwrap();
        assert!(put.is_written());

        let found = store.corrupt_at(&spelled).unwrap();

        assert_eq!(store.discard_corrupt(&found).await, Ok(true));
        assert_eq!(store.corrupt_at(&spelled), Err(NotDiscarded::Nothing));
        let hologram = keys::spelled(Table::Documents, b"acme\0hologram\0x");
        let change =
            Change::Guarded(engine::Guard::Nothing, Made { value: Some(b"later".to_vec()), entries: Vec::new() });
        let key = b"acme\0hologram\0x".to_vec();
        store.apply(Write { table: Table::Documents, key, change }).await.unwrap();
        assert!(matches!(store.corrupt_at(&hologram), Err(NotDiscarded::Later(_))));
    }
}
