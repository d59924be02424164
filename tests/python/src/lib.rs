//! Python tools for the tests, each at one version.
//!
//! A set of tools is installed from its `requirements.txt` into a folder under `target/` named by the file's hash, so a
//! changed file makes a new folder and an unchanged one costs nothing.

pub mod prerequisite;
pub mod workspace;

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use self::prerequisite::{fetched, not_run, run, say, succeeded};

/// The Python that can install `requirements.txt`: 3.11, with the modules that some distributions split off.
const SUITABLE: &str = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";

/// Tools that are installed together: the whole freeze.
#[derive(Clone, Copy, Debug)]
pub struct Requirements {
    /// The path of the file, for messages.
    pub path: &'static str,
    pub text: &'static str,
    /// The tests that need the tools, for messages.
    pub tests: &'static str,
}

/// A complete virtual environment.
#[derive(Clone, Debug)]
pub struct Venv(PathBuf);

impl Requirements {
    /// Installs the tools at the first call. Without Python it returns `None` and prints so; with `CI=true` a missing Python is
    /// a failure: there nobody reads which tests did not run.
    pub fn installed(&self) -> Option<Venv> {
        let venv = self.venv();
        if venv.is_none() {
            not_run("Python 3.11 or newer with `venv` was not found as `python3`", self.tests);
        }
        venv
    }

    /// The lock lets one process install while the others wait; the file `complete` is written last, so a partial installation
    /// is replaced.
    fn venv(&self) -> Option<Venv> {
        let folder = workspace::target().join("python");
        let name = self.folder_name();
        let _turn = workspace::locked(&folder.join(format!("{name}.lock")));

        let venv = folder.join(name);
        let complete = venv.join("complete");
        // The second condition: its base Python may have been removed since.
        if !(complete.exists() && venv.join("bin/python").exists()) {
            if !python_is_suitable() {
                return None;
            }
            self.install(&venv);
            File::create(complete).expect("the marker can be written");
        }
        Some(Venv(venv))
    }

    /// The hash may differ between versions of Rust, which costs an installation, never a wrong one.
    fn folder_name(&self) -> String {
        let mut hasher = DefaultHasher::new();
        self.text.hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    fn install(&self, venv: &Path) {
        say(&format!("Installing {} into {} (once)", self.path, venv.display()));
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv));

        let requirements = venv.join("requirements.txt");
        fs::write(&requirements, self.text).expect("the requirements can be copied");
        // Installs only the listed packages; the check afterwards shows whether the list is complete.
        let pip = || {
            let mut pip = Command::new(venv.join("bin/python"));
            pip.args(["-m", "pip"]);
            pip
        };
        let install = || {
            let mut install = pip();
            install.args(["install", "--quiet", "--no-deps", "--disable-pip-version-check", "--requirement"]);
            succeeded(install.arg(&requirements))
        };
        fetched(install).unwrap_or_else(|why| panic!("{why}"));
        run(pip().args(["check", "--disable-pip-version-check"]));
    }
}

impl Venv {
    pub fn program(&self, name: &str) -> PathBuf {
        self.0.join("bin").join(name)
    }
}

fn python_is_suitable() -> bool {
    let answer = Command::new("python3").args(["-c", SUITABLE]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    answer.is_ok_and(|status| status.success())
}
