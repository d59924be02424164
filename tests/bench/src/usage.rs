//! Usage: CPU, memory and disk of processes, read from `/proc` and from the store's own file, so that the server needs no
//! instrumentation.

use std::fs::{self, File};
use std::io;
use std::ops::Sub;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Duration;

use crate::failure::{Failure, Outcome};

/// `/proc` counts in hundredths of a second wherever Linux runs.
const TICK: Duration = Duration::from_millis(10);

/// The CPU time of a set of threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    pub user: Duration,
    pub system: Duration,
    /// Time ready to run without a free core.
    pub waited_for_a_core: Duration,
}

/// The usage of one process so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// The threads of the tokio runtime and the main thread: HTTP, protocol, reads.
    pub handlers: Times,
    /// The store's writer thread.
    pub writer: Times,
    /// Bytes written to the disk.
    pub bytes_written: usize,
}

impl Usage {
    pub fn of(pid: u32) -> Outcome<Self> {
        let mut usage = Self { bytes_written: bytes_written(pid)?, ..Self::default() };
        for entry in fs::read_dir(format!("/proc/{pid}/task"))? {
            let task = entry?.path();
            let Some((name, times)) = gone_is_none(thread(&task))? else { continue };
            // Linux cuts `minutehand-store` to fifteen characters.
            let side = if name.starts_with("minutehand-s") { &mut usage.writer } else { &mut usage.handlers };
            *side = side.and(times);
        }
        Ok(usage)
    }

    pub fn cpu(&self) -> Duration {
        self.handlers.cpu() + self.writer.cpu()
    }
}

impl Times {
    pub fn cpu(&self) -> Duration {
        self.user + self.system
    }

    fn and(self, other: Self) -> Self {
        Self {
            user: self.user + other.user,
            system: self.system + other.system,
            waited_for_a_core: self.waited_for_a_core + other.waited_for_a_core,
        }
    }
}

impl Sub for Times {
    type Output = Self;

    /// The usage since an earlier reading.
    fn sub(self, before: Self) -> Self {
        Self {
            user: self.user.saturating_sub(before.user),
            system: self.system.saturating_sub(before.system),
            waited_for_a_core: self.waited_for_a_core.saturating_sub(before.waited_for_a_core),
        }
    }
}

impl Sub for Usage {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            handlers: self.handlers - before.handlers,
            writer: self.writer - before.writer,
            bytes_written: self.bytes_written.saturating_sub(before.bytes_written),
        }
    }
}

/// The CPU time of all processes of the machine, with this one and the server.
pub fn whole_machine() -> Outcome<Duration> {
    let stat = fs::read_to_string("/proc/stat")?;
    let counts = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let counts = counts.map(|count| count.parse().unwrap_or(0)).collect::<Vec<u32>>();
    // user nice system idle iowait irq softirq steal: all but the two that are idle.
    let busy = counts.iter().take(8).enumerate().filter(|(place, _)| ![3, 4].contains(place));
    Ok(TICK * busy.map(|(_, count)| count).sum::<u32>())
}

/// The resident memory of a process, in bytes.
pub fn resident(pid: u32) -> Outcome<usize> {
    let status = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let kilobytes = field(&status, "VmRSS:").and_then(|text| text.split(' ').next()?.parse::<usize>().ok());
    kilobytes.map(|kilobytes| kilobytes * 1024).ok_or_else(|| Failure::Said("a process without VmRSS".to_owned()))
}

/// The number of the store's last commit. redb numbers its write transactions and keeps the number in each of the two
/// commit slots of its file's first page; while a store is open and written to, each is one commit.
pub fn transactions(store: &Path) -> Outcome<usize> {
    const NUMBER_IN_SLOT: u64 = 104;
    const SLOTS: [u64; 2] = [64, 192];
    let file = File::open(store)?;
    let mut newest = 0;
    for slot in SLOTS {
        let mut number = [0; 8];
        file.read_exact_at(&mut number, slot + NUMBER_IN_SLOT)?;
        newest = newest.max(u64::from_le_bytes(number));
    }
    usize::try_from(newest).map_err(|_| Failure::Said("a number of transactions that cannot be".to_owned()))
}

fn thread(task: &Path) -> io::Result<(String, Times)> {
    let name = fs::read_to_string(task.join("comm"))?;
    let stat = fs::read_to_string(task.join("stat"))?;
    // After the name, which may contain any character: the 12th and 13th field are user and system time.
    let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11);
    let mut ticks = || TICK * fields.next().and_then(|count| count.parse().ok()).unwrap_or(0);
    let (user, system) = (ticks(), ticks());
    let schedstat = fs::read_to_string(task.join("schedstat"))?;
    let waited = schedstat.split_whitespace().nth(1).and_then(|nanos| nanos.parse().ok()).unwrap_or(0);
    Ok((name, Times { user, system, waited_for_a_core: Duration::from_nanos(waited) }))
}

/// A thread may end while its files are read.
fn gone_is_none<T>(read: io::Result<T>) -> io::Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if error.kind() == io::ErrorKind::NotFound || error.raw_os_error() == Some(NO_SUCH_PROCESS) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

const NO_SUCH_PROCESS: i32 = 3;

fn bytes_written(pid: u32) -> Outcome<usize> {
    let io = fs::read_to_string(format!("/proc/{pid}/io"))?;
    Ok(field(&io, "write_bytes:").and_then(|text| text.parse().ok()).unwrap_or(0))
}

fn field<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    text.lines().find_map(|line| line.strip_prefix(name)).map(str::trim)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use minutehand_domain::id::Tenant;
    use minutehand_io::store::embedded::FileStore;
    use minutehand_io::store::{Cursor, Guard, Store as _};

    use super::*;

    #[tokio::test]
    async fn the_transactions_of_a_file_are_the_commits_of_its_store() {
        let directory = tempfile::tempdir().unwrap();
        let store = FileStore::open(directory.path()).unwrap();
        let file = directory.path().join("minutehand.redb");
        // Opening used some numbers without a commit.
        put_cursors(&store, 0..1).await;
        let before = transactions(&file).unwrap();

        put_cursors(&store, 1..21).await;

        assert_eq!(transactions(&file).unwrap() - before, 20);
        assert_eq!(store.meter().commits, 21);
    }

    async fn put_cursors(store: &FileStore, shards: std::ops::Range<u16>) {
        for shard in shards {
            let cursor = Cursor::starting_at(0);
            assert!(store.put(&Tenant::deployment(), shard, &cursor, Guard::Absent).await.unwrap().is_written());
        }
    }

    #[test]
    fn the_work_of_a_process_is_measured() {
        let (begin, before) = (Instant::now(), Usage::of(std::process::id()).unwrap());

        // The threads of other tests come and go meanwhile, and their CPU time with them.
        let seen = std::iter::repeat_with(|| Usage::of(std::process::id()).unwrap() - before)
            .take_while(|_| begin.elapsed() < Duration::from_secs(20))
            .any(|used| used.handlers.cpu() >= Duration::from_millis(50));

        assert!(seen);
        assert!(whole_machine().unwrap() > Duration::ZERO && resident(std::process::id()).unwrap() > 0);
    }
}
