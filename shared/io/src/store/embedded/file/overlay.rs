//! An overlay: the file of a store that is read and never written. Whoever opens a store writes to it: redb mends what a crash left, and a release
//! makes the tables that it knows. Here all that is kept in memory, over the file as it lies, and is gone at the end.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

const PAGE: usize = 4096;

#[derive(Debug)]
pub(super) struct Overlay(Mutex<Lay>);

#[derive(Debug)]
struct Lay {
    file: File,
    len: u64,
    /// Up to where the file shows through: less than all of it once it was made shorter.
    shows: u64,
    written: BTreeMap<u64, Box<[u8; PAGE]>>,
}

impl Overlay {
    pub(super) fn over(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        Ok(Self(Mutex::new(Lay { file, len, shows: len, written: BTreeMap::new() })))
    }

    fn lay(&self) -> MutexGuard<'_, Lay> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StorageBackend for Overlay {
    fn len(&self) -> io::Result<u64> {
        Ok(self.lay().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.lay().read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.lay().set_len(len);
        Ok(())
    }

    /// Nothing of it is to last.
    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.lay().write(offset, data)
    }
}

impl Lay {
    fn read(&mut self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset.saturating_add(out.len() as u64) > self.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.read_the_file(offset, out)?;
        for (number, within, piece) in pieces(offset, out.len()) {
            if let Some(page) = self.written.get(&number) {
                out[piece].copy_from_slice(&page[within]);
            }
        }
        Ok(())
    }

    fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        for (number, within, piece) in pieces(offset, data.len()) {
            if !self.written.contains_key(&number) {
                let mut page = Box::new([0; PAGE]);
                self.read_the_file(number * PAGE as u64, &mut *page)?;
                self.written.insert(number, page);
            }
            let page = self.written.get_mut(&number).expect("it was just put there");
            page[within].copy_from_slice(&data[piece]);
        }
        self.len = self.len.max(offset + data.len() as u64);
        Ok(())
    }

    /// What is cut off is gone: it is zero where the file is made longer again.
    fn set_len(&mut self, len: u64) {
        let (last, within) = (len / PAGE as u64, usize::try_from(len % PAGE as u64).expect("less than a page"));
        let cut_off = self.written.split_off(&last);
        if let Some(mut page) = cut_off.into_iter().next().filter(|(number, _)| *number == last).map(|(_, page)| page) {
            page[within..].fill(0);
            self.written.insert(last, page);
        }
        (self.len, self.shows) = (len, self.shows.min(len));
    }

    /// As it lies there, and zero behind its end.
    fn read_the_file(&mut self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let shown = usize::try_from(self.shows.saturating_sub(offset)).unwrap_or(usize::MAX).min(out.len());
        let (shown, behind) = out.split_at_mut(shown);
        self.file.seek(SeekFrom::Start(offset))?;
        self.file.read_exact(shown)?;
        behind.fill(0);
        Ok(())
    }
}

/// A span of bytes by the pages that it touches: which, where in it, and which part of the span that is.
fn pieces(offset: u64, len: usize) -> impl Iterator<Item = (u64, Range<usize>, Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        let at = offset + done as u64;
        let (number, begin) = (at / PAGE as u64, usize::try_from(at % PAGE as u64).expect("less than a page"));
        let fits = (PAGE - begin).min(len - done);
        let piece = done..done + fits;
        done += fits;
        (fits > 0).then_some((number, begin..begin + fits, piece))
    })
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use proptest::prelude::*;

    use super::*;

    #[derive(Clone, Debug)]
    enum Act {
        Write(usize, Vec<u8>),
        SetLen(usize),
    }

    fn acts() -> impl Strategy<Value = Vec<Act>> {
        let write =
            (0..5 * PAGE, prop::collection::vec(any::<u8>(), 0..2 * PAGE)).prop_map(|(at, it)| Act::Write(at, it));
        prop::collection::vec(prop_oneof![write, (0..6 * PAGE).prop_map(Act::SetLen)], 0..12)
    }

    proptest! {
        /// A vector of bytes is all that it is; and the file is what it was.
        #[test]
        fn it_reads_as_what_was_written_over_it_and_the_file_stays(len in 0..4 * PAGE, acts in acts()) {
            let mut plain: Vec<u8> = (0..len).map(|number| u8::try_from(number % 251).unwrap() + 1).collect();
            let (before, mut file) = (plain.clone(), tempfile::NamedTempFile::new().unwrap());
            file.write_all(&plain).unwrap();
            let overlay = Overlay::over(file.reopen().unwrap()).unwrap();
            for act in acts {
                match act {
                    Act::Write(at, bytes) => {
                        if at + bytes.len() > plain.len() && !bytes.is_empty() {
                            plain.resize(at + bytes.len(), 0);
                        }
                        if !bytes.is_empty() {
                            plain[at..at + bytes.len()].copy_from_slice(&bytes);
                            overlay.write(at as u64, &bytes).unwrap();
                        }
                    }
                    Act::SetLen(len) => {
                        plain.resize(len, 0);
                        overlay.set_len(len as u64).unwrap();
                    }
                }
                let mut read = vec![0; plain.len()];
                overlay.read(0, &mut read).unwrap();
                prop_assert!(read == plain);
                prop_assert_eq!(overlay.len().unwrap(), plain.len() as u64);
            }
            prop_assert!(overlay.read(1, &mut vec![0; plain.len()]).is_err());
            prop_assert_eq!(std::fs::read(file.path()).unwrap(), before);
        }
    }
}
