//! The writer: one thread that takes whatever is queued, commits it as one, and then answers everybody. It waits for no
//! timer: while one commit is on its way to the disk, the next one gathers.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use redb::{Durability, ReadableTable, WriteTransaction};
use tokio::sync::{mpsc, oneshot, watch};

use super::{Committed, PORT, definition};
use crate::Fault;
use crate::store::embedded::engine::{Applied, Change, Table, Write};

/// Writes in one commit. More would make the first of them wait longer than the disk needs: a write costs some 4 µs, a
/// commit 100 to 5,000.
pub(super) const BATCH: usize = 2_000;

/// A write, and who waits for it.
pub(super) struct Request {
    pub(super) write: Write,
    pub(super) answer: oneshot::Sender<Answer>,
}

type Answer = Result<Applied, Fault>;

pub(super) struct Writer {
    committed: Arc<Committed>,
    requests: mpsc::Receiver<Request>,
    failed: watch::Sender<Option<String>>,
}

type ByteTable<'a> = redb::Table<'a, &'static [u8], &'static [u8]>;

impl Writer {
    pub(super) fn start(
        committed: Arc<Committed>,
        requests: mpsc::Receiver<Request>,
        failed: watch::Sender<Option<String>>,
    ) -> io::Result<JoinHandle<()>> {
        let writer = Self { committed, requests, failed };
        thread::Builder::new().name("minutehand-store".to_owned()).spawn(move || writer.run())
    }

    /// Until the store is dropped. After the first failure nothing is written any more: what is on the disk is then not
    /// what we believe, and only opening the file again finds out.
    fn run(mut self) {
        let mut batch = Vec::with_capacity(BATCH);
        while self.requests.blocking_recv_many(&mut batch, BATCH) > 0 {
            let failure = self.failed.borrow().clone();
            let (writes, waiting): (Vec<_>, Vec<_>) =
                batch.drain(..).map(|request| (request.write, request.answer)).unzip();
            let committed = match failure {
                Some(why) => Err(why),
                None => self.commit(writes).map_err(|error| error.to_string()),
            };
            match committed {
                Ok(answers) => answer(waiting, answers),
                Err(why) => {
                    self.failed.send_if_modified(|failure| failure.replace(why.clone()).is_none());
                    answer(waiting, std::iter::repeat(Err(Fault::unavailable(PORT, why))));
                }
            }
        }
    }

    fn commit(&self, batch: Vec<Write>) -> Result<Vec<Answer>, redb::Error> {
        let mut transaction = self.committed.database.begin_write()?;
        // Answered means durable. With `Durability::None` the tests in `durability.rs` lose acknowledged writes.
        transaction.set_durability(Durability::Immediate)?;
        let answers = apply(&transaction, batch)?;
        if !answers.iter().any(|answer| answer.as_ref().is_ok_and(Applied::is_made)) {
            transaction.abort()?;
            return Ok(answers);
        }
        transaction.commit()?;
        // Before anybody is answered: who was answered and then reads sees what they wrote.
        self.committed.advance()?;
        Ok(answers)
    }
}

/// Each write sees those before it in the same batch.
fn apply(transaction: &WriteTransaction, batch: Vec<Write>) -> Result<Vec<Answer>, redb::Error> {
    let open = |table| transaction.open_table(definition(table)).map_err(redb::Error::from);
    let mut tables = Table::ALL.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    batch.into_iter().map(|write| apply_one(&mut tables, write)).collect()
}

/// What is decided here is decided for good: nobody else writes.
fn apply_one(tables: &mut [ByteTable<'_>], Write { table, key, change }: Write) -> Result<Answer, redb::Error> {
    let computed = matches!(change, Change::Computed(_));
    let made = {
        let standing = tables[table.index()].get(key.as_slice())?;
        let standing = standing.as_ref().map(redb::AccessGuard::value);
        match change.decide(standing) {
            Ok(Some(made)) => made,
            Ok(None) => return Ok(Ok(Applied::Conflict(standing.map(<[u8]>::to_vec)))),
            Err(fault) => return Ok(Err(fault)),
        }
    };
    put(&mut tables[table.index()], &key, made.value.as_deref())?;
    for entry in made.entries {
        put(&mut tables[entry.table.index()], &entry.key, entry.value.as_deref())?;
    }
    Ok(Ok(if computed { Applied::Computed(made.value) } else { Applied::Done }))
}

fn put(table: &mut ByteTable<'_>, key: &[u8], value: Option<&[u8]>) -> Result<(), redb::Error> {
    match value {
        Some(value) => drop(table.insert(key, value)?),
        None => drop(table.remove(key)?),
    }
    Ok(())
}

fn answer(waiting: Vec<oneshot::Sender<Answer>>, answers: impl IntoIterator<Item = Answer>) {
    for (waiting, answer) in waiting.into_iter().zip(answers) {
        // A caller that no longer listens has gone away, as if it had crashed: the write stands.
        drop(waiting.send(answer));
    }
}
