//! The writer: one thread that takes whatever is queued, commits it as one, and then answers everybody. It waits for no
//! timer: while one commit is on its way to the disk, the next one gathers.

use std::io;
use std::sync::Arc;
use std::thread::{self, JoinHandle};

use redb::{Durability, ReadableTable, WriteTransaction};
use tokio::sync::{mpsc, oneshot, watch};

use super::{Committed, PORT, definition};
use crate::Fault;
use crate::store::embedded::engine::{Applied, Table, Write};

/// Writes in one commit. More would make the first of them wait longer than the disk needs: a write costs some 4 µs, a
/// commit 100 to 5,000.
pub(super) const BATCH: usize = 2_000;

/// A write, and who waits for it.
pub(super) struct Request {
    pub(super) write: Write,
    pub(super) answer: oneshot::Sender<Result<Applied, Fault>>,
}

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
            let committed = match failure {
                Some(why) => Err(why),
                None => self.commit(&batch).map_err(|error| error.to_string()),
            };
            match committed {
                Ok(answers) => answer(&mut batch, answers.into_iter().map(Ok)),
                Err(why) => {
                    self.failed.send_if_modified(|failure| failure.replace(why.clone()).is_none());
                    answer(&mut batch, std::iter::repeat(Err(Fault::unavailable(PORT, why))));
                }
            }
        }
    }

    fn commit(&self, batch: &[Request]) -> Result<Vec<Applied>, redb::Error> {
        let mut transaction = self.committed.database.begin_write()?;
        // Answered means durable. With `Durability::None` the tests in `durability.rs` lose acknowledged writes.
        transaction.set_durability(Durability::Immediate)?;
        let answers = apply(&transaction, batch)?;
        if answers.iter().all(|answer| *answer != Applied::Done) {
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
fn apply(transaction: &WriteTransaction, batch: &[Request]) -> Result<Vec<Applied>, redb::Error> {
    let open = |table| transaction.open_table(definition(table)).map_err(redb::Error::from);
    let mut tables = Table::ALL.into_iter().map(open).collect::<Result<Vec<_>, _>>()?;
    batch.iter().map(|request| apply_with_entry(&mut tables, &request.write)).collect()
}

fn apply_with_entry(tables: &mut [ByteTable<'_>], write: &Write) -> Result<Applied, redb::Error> {
    let applied = apply_one(&mut tables[write.table.index()], write)?;
    if let (Applied::Done, Some(entry)) = (&applied, &write.entry) {
        drop(tables[entry.table.index()].insert(entry.key.as_slice(), entry.value.as_slice())?);
    }
    Ok(applied)
}

fn apply_one(table: &mut ByteTable<'_>, write: &Write) -> Result<Applied, redb::Error> {
    let key = write.key.as_slice();
    if let Some(conflict) = conflict(table, write)? {
        return Ok(conflict);
    }
    match &write.value {
        Some(value) => drop(table.insert(key, value.as_slice())?),
        None => drop(table.remove(key)?),
    }
    Ok(Applied::Done)
}

/// What the guard does not admit. Without this check, every one of 64 claims wins: `of_64_claims_exactly_one_wins`.
fn conflict(table: &ByteTable<'_>, write: &Write) -> Result<Option<Applied>, redb::Error> {
    let standing = table.get(write.key.as_slice())?;
    let standing = standing.as_ref().map(redb::AccessGuard::value);
    Ok((!write.guard.admits(standing)).then(|| Applied::Conflict(standing.map(<[u8]>::to_vec))))
}

fn answer(batch: &mut Vec<Request>, answers: impl Iterator<Item = Result<Applied, Fault>>) {
    for (request, answer) in batch.drain(..).zip(answers) {
        // Whoever no longer listens has gone away, as if it had crashed: the write stands.
        drop(request.answer.send(answer));
    }
}
