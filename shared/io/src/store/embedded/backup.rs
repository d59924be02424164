//! A backup: all that a store holds as of one commit, in one stream that says where it ends. It is gzip, and in it the name of the
//! format and its number, which store and release wrote it, each key and value as they lie, and last how many these were and the SHA-256
//! of all before; so what is cut short or damaged is known before any of it is used.
//!
//! Values are kept as they are: whatever release reads the store that is made of them converts them as it would have where they lay.

use std::io::{self, BufReader, BufWriter, Read, Write};

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use minutehand_domain::Moment;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use thiserror::Error;

use super::engine::Table;
use crate::Fault;

const MAGIC: &[u8] = b"minutehand backup\n";
/// The format of the stream. Of what is in it, the store's own format tells.
const VERSION: u8 = 1;
/// In place of a table's number: no entries follow.
const END: u8 = u8::MAX;
const HASH_BYTES: usize = 32;
/// No header is longer, and no key or value: what says so is damaged.
const MOST_BYTES: u32 = 256 * 1024 * 1024;
const BUFFER_BYTES: usize = 64 * 1024;

/// Which store it is of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Of the store's file.
    pub format: u64,
    pub release: String,
    taken_millis: i64,
}

#[derive(Debug, Error)]
pub enum BackupError {
    #[error("this is no backup of Minutehand")]
    Foreign,
    #[error(
        "the backup was written by a later release of Minutehand, in format {0}; this one reads formats up to {VERSION}: use that release"
    )]
    Later(u8),
    #[error("the backup is cut short: it has no end")]
    CutShort,
    #[error("the backup is damaged: {0}")]
    Damaged(&'static str),
    #[error("the store cannot be read: {0}")]
    Store(#[from] Fault),
    #[error(transparent)]
    Io(io::Error),
}

/// An entry of a table as it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Lying {
    pub(super) table: Table,
    pub(super) key: Vec<u8>,
    pub(super) value: Vec<u8>,
}

impl Header {
    pub(super) fn new(format: u64, release: String, taken: Moment) -> Self {
        Self { format, release, taken_millis: taken.millis() }
    }

    pub fn taken(&self) -> Moment {
        Moment::from_millis(self.taken_millis)
    }
}

/// A backup that is being written.
pub(super) struct Writing<W: Write> {
    to: BufWriter<GzEncoder<W>>,
    hash: Sha256,
    count: u64,
}

impl<W: Write> Writing<W> {
    pub(super) fn begin(to: W, header: &Header) -> Result<Self, BackupError> {
        let to = BufWriter::with_capacity(BUFFER_BYTES, GzEncoder::new(to, Compression::fast()));
        let mut writing = Self { to, hash: Sha256::new(), count: 0 };
        writing.put(MAGIC)?;
        writing.put(&[VERSION])?;
        writing.put_counted(&postcard::to_allocvec(header).expect("a header can be written into bytes"))?;
        Ok(writing)
    }

    pub(super) fn entry(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<(), BackupError> {
        self.count += 1;
        self.put(&[table.number()])?;
        self.put_counted(key)?;
        self.put_counted(value)
    }

    /// Says how many entries it has.
    pub(super) fn end(mut self) -> Result<u64, BackupError> {
        self.put(&[END])?;
        self.put(&self.count.to_be_bytes())?;
        let hash = self.hash.finalize();
        self.to.write_all(&hash)?;
        let gzip = self.to.into_inner().map_err(io::IntoInnerError::into_error)?;
        gzip.finish()?.flush()?;
        Ok(self.count)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        self.hash.update(bytes);
        Ok(self.to.write_all(bytes)?)
    }

    fn put_counted(&mut self, bytes: &[u8]) -> Result<(), BackupError> {
        let count = u32::try_from(bytes.len()).map_err(|_| BackupError::Damaged("an item is too long"))?;
        self.put(&count.to_be_bytes())?;
        self.put(bytes)
    }
}

/// A backup that is being read.
pub(super) struct Reading<R> {
    /// Of several, since one alone reads nothing of what lies behind it.
    from: BufReader<MultiGzDecoder<R>>,
    hash: Sha256,
    pub(super) header: Header,
    count: u64,
    is_at_the_end: bool,
}

impl<R: Read> Reading<R> {
    pub(super) fn begin(from: R) -> Result<Self, BackupError> {
        let mut from = BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(from));
        let mut magic = Vec::new();
        // Whatever is no gzip is none of ours.
        let read = (&mut from).take(MAGIC.len() as u64).read_to_end(&mut magic);
        if read.is_err_and(|error| !is_an_end(&error)) || magic != MAGIC {
            return Err(if !magic.is_empty() && MAGIC.starts_with(&magic) {
                BackupError::CutShort
            } else {
                BackupError::Foreign
            });
        }
        let header = Header::new(0, String::new(), Moment::EPOCH);
        let mut reading =
            Self { from, hash: Sha256::new().chain_update(MAGIC), header, count: 0, is_at_the_end: false };
        match reading.array()? {
            [VERSION] => {}
            [later] => return Err(BackupError::Later(later)),
        }
        let header = reading.counted()?;
        reading.header =
            postcard::from_bytes(&header).map_err(|_| BackupError::Damaged("its header cannot be read"))?;
        Ok(reading)
    }

    /// None at the end, which says that all of it was as it was written.
    pub(super) fn entry(&mut self) -> Result<Option<Lying>, BackupError> {
        if self.is_at_the_end {
            return Ok(None);
        }
        let [number] = self.array()?;
        if number == END {
            return self.ended().map(|()| None);
        }
        let table = Table::numbered(number).ok_or(BackupError::Damaged("it names a table that there is not"))?;
        self.count += 1;
        Ok(Some(Lying { table, key: self.counted()?, value: self.counted()? }))
    }

    fn ended(&mut self) -> Result<(), BackupError> {
        let count = u64::from_be_bytes(self.array()?);
        let hash = std::mem::take(&mut self.hash).finalize();
        if self.array::<HASH_BYTES>()? != *hash {
            return Err(BackupError::Damaged("its SHA-256 is another"));
        }
        if count != self.count {
            return Err(BackupError::Damaged("it holds another number of items than it says"));
        }
        // gzip's own end, too; and nothing behind it.
        match self.from.read(&mut [0]) {
            Ok(0) => {
                self.is_at_the_end = true;
                Ok(())
            }
            Ok(_) => Err(BackupError::Damaged("something follows its end")),
            Err(error) => Err(error.into()),
        }
    }

    fn array<const BYTES: usize>(&mut self) -> Result<[u8; BYTES], BackupError> {
        let mut bytes = [0; BYTES];
        self.from.read_exact(&mut bytes)?;
        self.hash.update(bytes);
        Ok(bytes)
    }

    fn counted(&mut self) -> Result<Vec<u8>, BackupError> {
        let count = u32::from_be_bytes(self.array()?);
        if count > MOST_BYTES {
            return Err(BackupError::Damaged("an item is too long"));
        }
        // Memory is taken as bytes come: a damaged length takes none.
        let mut bytes = Vec::new();
        (&mut self.from).take(count.into()).read_to_end(&mut bytes)?;
        if bytes.len() as u64 != u64::from(count) {
            return Err(BackupError::CutShort);
        }
        self.hash.update(&bytes);
        Ok(bytes)
    }
}

impl From<io::Error> for BackupError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::CutShort,
            io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput => Self::Damaged("it does not unpack"),
            _ => Self::Io(error),
        }
    }
}

/// How gzip says that it is none, or is cut short; all else is the disk's to say.
fn is_an_end(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidData | io::ErrorKind::InvalidInput)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header() -> Header {
        Header::new(3, "0.2.0".to_owned(), Moment::from_secs(1_800_000_000))
    }

    fn lying(number: u8) -> Lying {
        Lying { table: Table::Runs, key: vec![number; 3], value: vec![number; 300] }
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writing = Writing::begin(&mut bytes, &header()).unwrap();
        for Lying { table, key, value } in [1, 2].map(lying) {
            writing.entry(table, &key, &value).unwrap();
        }
        assert_eq!(writing.end().unwrap(), 2);
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Vec<Lying>, BackupError> {
        let mut reading = Reading::begin(bytes)?;
        let read = std::iter::from_fn(|| reading.entry().transpose()).collect::<Result<_, _>>()?;
        assert_eq!(reading.entry()?, None, "it stays at its end");
        Ok(read)
    }

    /// What is in a gzip, changed, and packed again.
    fn repacked(change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
        let mut plain = Vec::new();
        MultiGzDecoder::new(&written()[..]).read_to_end(&mut plain).unwrap();
        change(&mut plain);
        let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
        gzip.write_all(&plain).unwrap();
        gzip.finish().unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        assert_eq!(read(&written()).unwrap(), [1, 2].map(lying));
        assert_eq!(Reading::begin(&written()[..]).unwrap().header, header());
    }

    #[test]
    fn one_that_is_cut_short_anywhere_is_refused() {
        let whole = written();
        for end in 0..whole.len() {
            assert!(read(&whole[..end]).is_err(), "{end} of {}", whole.len());
        }
        let without_its_end = repacked(|plain| plain.truncate(plain.len() - HASH_BYTES - 9));
        assert!(matches!(read(&without_its_end), Err(BackupError::CutShort)));
    }

    /// Removed: what lies behind the gzip is read. Two backups in one file were the first of them.
    #[test]
    fn one_with_something_behind_its_end_is_refused() {
        assert!(read(&[&written()[..], b"something more"].concat()).is_err());
        let two = read(&[written(), written()].concat());
        assert!(matches!(two, Err(BackupError::Damaged("something follows its end"))));
    }

    /// Removed: the comparison of the hashes. A value that was changed is read as if it had been written so.
    #[test]
    fn one_of_which_a_byte_was_changed_is_refused() {
        for place in [60, 300, 600] {
            let changed = repacked(|plain| plain[place] ^= 1);
            assert!(read(&changed).is_err(), "{place}");
        }
        let changed = repacked(|plain| plain[200] ^= 1);
        assert!(matches!(read(&changed), Err(BackupError::Damaged("its SHA-256 is another"))));
    }

    #[test]
    fn one_of_a_later_format_and_what_is_none_are_told_apart() {
        assert!(matches!(read(&repacked(|plain| plain[MAGIC.len()] = 2)), Err(BackupError::Later(2))));
        for foreign in [&b""[..], b"SQLite format 3\0", &repacked(|plain| plain[0] = b'M')] {
            assert!(matches!(read(foreign), Err(BackupError::Foreign)));
        }
    }
}
