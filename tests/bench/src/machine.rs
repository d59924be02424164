//! The machine that the figures were measured on, so that they can be compared with others.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Instant;

use crate::failure::Outcome;
use crate::lag::{Lags, millis};

/// Enough samples for a stable median.
const SYNCS: usize = 500;
const PAGE: [u8; 4096] = [0x5a; 4096];

/// One paragraph about the machine.
pub fn describe(directory: &Path) -> Outcome<String> {
    let cores = std::thread::available_parallelism()?;
    let cpuinfo = fs::read_to_string("/proc/cpuinfo")?;
    let model = cpu_model(&cpuinfo).unwrap_or("an unknown CPU");
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease")?;
    let load = fs::read_to_string("/proc/loadavg")?;
    let syncs = sync_times(directory)?;
    Ok(format!(
        "machine: {cores} cores, {model}, Linux {}, load before {}\n\
         store:   {} ({}); 4 KiB write and fdatasync there: p50 {:.2} ms, p99 {:.2} ms\n\
         load:    from this process, on the same cores, over loopback TCP",
        kernel.trim(),
        load.split(' ').next().unwrap_or("?"),
        directory.display(),
        file_system_of(directory)?,
        syncs.percentile(50),
        syncs.percentile(99),
    ))
}

fn cpu_model(cpuinfo: &str) -> Option<&str> {
    let line = cpuinfo.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, model)| model.trim())
}

/// The file has its full length before the clock starts, so that writes are measured and not allocation.
fn sync_times(directory: &Path) -> Outcome<Lags> {
    let path = directory.join("fdatasync");
    let file = File::create(&path)?;
    file.write_all_at(&PAGE, 0)?;
    file.sync_all()?;
    let mut times = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let begin = Instant::now();
        file.write_all_at(&PAGE, 0)?;
        file.sync_data()?;
        times.push(millis(begin.elapsed()));
    }
    fs::remove_file(path)?;
    Ok(Lags::of(times))
}

/// The type and device of the directory's mount: the one with the longest matching path.
fn file_system_of(directory: &Path) -> Outcome<String> {
    let (mounts, directory) = (fs::read_to_string("/proc/mounts")?, directory.canonicalize()?);
    let fields = mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|fields| fields.len() > 2);
    let holding = fields.filter(|fields| directory.starts_with(fields[1])).max_by_key(|fields| fields[1].len());
    Ok(holding.map_or_else(|| "an unknown file system".to_owned(), |fields| format!("{} on {}", fields[2], fields[0])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_is_described() {
        let directory = tempfile::tempdir().unwrap();

        let text = describe(directory.path()).unwrap();

        assert!(text.contains("cores") && text.contains("fdatasync"), "{text}");
    }
}
