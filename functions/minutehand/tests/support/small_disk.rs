//! A small disk that can be filled: a tmpfs, which needs root and `mount`.

use std::path::Path;
use std::process::{Command, Stdio};

use tempfile::TempDir;

use crate::patience::say;

pub(crate) struct SmallDisk {
    directory: TempDir,
}

impl SmallDisk {
    /// None where this machine does not let us, and then it says so; a machine that checks every change must let us.
    pub(crate) fn of(kib: u32) -> Option<Self> {
        let directory = tempfile::tempdir().expect("a directory");
        let size = format!("size={kib}k");
        let mounted = run("mount", &["-t", "tmpfs", "-o", &size, "tmpfs"], directory.path());
        if mounted {
            return Some(Self { directory });
        }
        assert!(std::env::var("CI").is_err(), "no tmpfs can be mounted here, so a full disk was NOT tested");
        say("\n!!! NOT TESTED: a full disk. It needs a tmpfs, so root and `mount`. !!!\n");
        None
    }

    pub(crate) fn path(&self) -> &Path {
        self.directory.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _unmounted = run("umount", &["-l"], self.directory.path());
    }
}

fn run(program: &str, arguments: &[&str], path: &Path) -> bool {
    let done = Command::new(program).args(arguments).arg(path).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}
