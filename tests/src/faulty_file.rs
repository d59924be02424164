//! The faulty file: a file over memory that keeps apart what was synced and what was only written. It can lose its power
//! at any operation, and what is then left is what a disk may leave: everything synced, and of the rest nothing, or any
//! part. It can also be full, and it can lie about syncing.

use std::fmt;
use std::io::{self, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

/// What a disk can do wrong.
#[derive(Clone, Copy, Debug)]
pub struct Faults {
    /// The power is cut at this operation (from 1): it and all after it fail.
    pub cut_at: Option<u64>,
    /// How many bytes can still be written.
    pub room: usize,
    /// A sync that says it did and did not.
    pub lying: bool,
}

/// What becomes of the writes that were not synced when the power was cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unsynced {
    Lost,
    /// Some are on the disk and some are not, whatever their order, and the last that is was torn.
    Some,
}

/// Clones are the same file.
#[derive(Clone)]
pub struct FaultyFile(Arc<Mutex<Disk>>);

struct Disk {
    synced: Vec<u8>,
    /// What was done since the last sync, in order.
    unsynced: Vec<Change>,
    /// What a reader sees while the power is on.
    seen: Vec<u8>,
    operations: u64,
    faults: Faults,
}

#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Length(usize),
}

impl Faults {
    pub const NONE: Self = Self { cut_at: None, room: usize::MAX, lying: false };
}

impl FaultyFile {
    /// A file that holds `bytes`, all of them on the disk.
    pub fn holding(bytes: Vec<u8>, faults: Faults) -> Self {
        let seen = bytes.clone();
        Self(Arc::new(Mutex::new(Disk { synced: bytes, unsynced: Vec::new(), seen, operations: 0, faults })))
    }

    pub fn operations(&self) -> u64 {
        self.disk().operations
    }

    /// From now on so many bytes can be written.
    pub fn leave_room(&self, bytes: usize) {
        self.disk().faults.room = bytes;
    }

    /// What a reader sees now: what is left when a process ends and the machine goes on.
    pub fn bytes(&self) -> Vec<u8> {
        self.disk().seen.clone()
    }

    /// What is on the disk after the power was cut now.
    pub fn after_power_cut(&self, unsynced: Unsynced, chance: &mut Dice) -> Vec<u8> {
        let disk = self.disk();
        let mut left = disk.synced.clone();
        if unsynced == Unsynced::Lost {
            return left;
        }
        let mut kept: Vec<Change> = disk.unsynced.iter().filter(|_| chance.below(2) == 0).cloned().collect();
        if let Some(Change::Write { bytes, .. }) = kept.last_mut() {
            bytes.truncate(chance.below(bytes.len() + 1));
        }
        for change in &kept {
            change.apply(&mut left);
        }
        left
    }

    fn disk(&self) -> MutexGuard<'_, Disk> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: Change) -> io::Result<()> {
        let mut disk = self.disk();
        let powered = disk.operate();
        if powered.is_ok() {
            disk.faults.room = disk.faults.room.checked_sub(change.bytes()).ok_or(ErrorKind::StorageFull)?;
            change.apply(&mut disk.seen);
        }
        // The write that the power failed under may be on the disk too, whole or torn.
        if disk.faults.cut_at.is_none_or(|cut| disk.operations <= cut) {
            disk.unsynced.push(change);
        }
        powered
    }
}

impl StorageBackend for FaultyFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.disk().seen.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = place(offset)?;
        let disk = self.disk();
        let bytes = disk.seen.get(offset..offset + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        self.change(Change::Length(place(length)?))
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut disk = self.disk();
        disk.operate()?;
        if !disk.faults.lying {
            disk.settle();
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.change(Change::Write { offset: place(offset)?, bytes: data.to_vec() })
    }
}

impl Disk {
    fn operate(&mut self) -> io::Result<()> {
        self.operations += 1;
        match self.faults.cut_at {
            Some(cut) if self.operations >= cut => Err(io::Error::other("the power is off")),
            _ => Ok(()),
        }
    }

    /// All that was written is on the disk.
    fn settle(&mut self) {
        for change in std::mem::take(&mut self.unsynced) {
            change.apply(&mut self.synced);
        }
    }
}

impl Change {
    fn end(&self) -> usize {
        match self {
            Self::Write { offset, bytes } => offset + bytes.len(),
            Self::Length(length) => *length,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Write { bytes, .. } => bytes.len(),
            Self::Length(_) => 0,
        }
    }

    /// Like a file, grows with zeros where it is written to beyond its end.
    fn apply(&self, to: &mut Vec<u8>) {
        match self {
            Self::Length(length) => to.resize(*length, 0),
            Self::Write { offset, bytes } => {
                to.resize(to.len().max(self.end()), 0);
                to[*offset..self.end()].copy_from_slice(bytes);
            }
        }
    }
}

impl fmt::Debug for FaultyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let disk = self.disk();
        f.debug_struct("FaultyFile")
            .field("operations", &disk.operations)
            .field("faults", &disk.faults)
            .finish_non_exhaustive()
    }
}

fn place(offset: u64) -> io::Result<usize> {
    usize::try_from(offset).map_err(|_| ErrorKind::InvalidInput.into())
}

/// Chance from a seed (`SplitMix64`): the same seed, the same numbers.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.roll() % end).unwrap_or(0)
    }
}
