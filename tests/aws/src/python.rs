//! The Python tools beside the tests: ministack, the AWS command line and the template's linter, each at one version.
//!
//! They are installed from `requirements.txt` into a folder under `target/` that is named by that file's hash, so a changed
//! file makes a new folder and an unchanged one costs nothing.

use std::env;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::workspace;

const REQUIREMENTS: &str = include_str!("../requirements.txt");

/// What `requirements.txt` can be installed with: 3.11, with the modules that some distributions split off.
const SUITABLE: &str = "import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))";

/// Where the installed programs are.
#[derive(Clone, Debug)]
pub struct Tools {
    pub python: PathBuf,
    pub ministack: PathBuf,
    pub aws: PathBuf,
    pub cfn_lint: PathBuf,
}

/// The tools, installed by whoever asks first; `None`, said loudly, where there is no Python to install them with.
///
/// `let Some(tools) = python::tools() else { return };` is how a test begins. With `CI=true` a missing Python is a failure:
/// there nobody reads what was not run.
pub fn tools() -> Option<Tools> {
    let venv = installed();
    if venv.is_none() {
        let missing = "Python 3.11 or newer with `venv` was not found as `python3`";
        assert!(env::var("CI").as_deref() != Ok("true"), "{missing}");
        say(&format!("NOT RUN: {missing}, so the tests of the deployed system prove nothing here."));
    }
    venv.map(|venv| Tools::in_folder(&venv))
}

impl Tools {
    fn in_folder(venv: &Path) -> Self {
        let program = |name| venv.join("bin").join(name);
        Self {
            python: program("python"),
            ministack: program("ministack"),
            aws: program("aws"),
            cfn_lint: program("cfn-lint"),
        }
    }
}

fn python_is_suitable() -> bool {
    let answer = Command::new("python3").args(["-c", SUITABLE]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    answer.is_ok_and(|status| status.success())
}

/// The environment's folder, complete. The lock lets one process install while the others wait; the file `complete` is
/// written last, so what an interrupted process leaves behind is made anew.
fn installed() -> Option<PathBuf> {
    let folder = workspace::target().join("python");
    fs::create_dir_all(&folder).expect("the target folder can be written");
    let name = folder_name();
    let lock = File::create(folder.join(format!("{name}.lock"))).expect("a lock file can be made");
    lock.lock().expect("the lock is waited for");

    let venv = folder.join(name);
    let complete = venv.join("complete");
    // The second condition: the Python it was made from may have been removed since.
    if !(complete.exists() && venv.join("bin/python").exists()) {
        if !python_is_suitable() {
            return None;
        }
        install(&venv);
        File::create(complete).expect("the marker can be written");
    }
    Some(venv)
}

/// Not the same under every Rust, which costs an installation, never a wrong one.
fn folder_name() -> String {
    let mut hasher = DefaultHasher::new();
    REQUIREMENTS.hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn install(venv: &Path) {
    say(&format!("Installing tests/aws/requirements.txt into {} (once)", venv.display()));
    run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(venv));

    let requirements = venv.join("requirements.txt");
    fs::write(&requirements, REQUIREMENTS).expect("the requirements can be copied");
    // Nothing but what is listed; the check afterwards says whether the list is whole.
    let pip = || {
        let mut pip = Command::new(venv.join("bin/python"));
        pip.args(["-m", "pip"]);
        pip
    };
    run(pip()
        .args(["install", "--quiet", "--no-deps", "--disable-pip-version-check", "--requirement"])
        .arg(requirements));
    run(pip().args(["check", "--disable-pip-version-check"]));
}

fn run(command: &mut Command) {
    let output = command.stdin(Stdio::null()).output().expect("Python starts");
    let said = [output.stdout, output.stderr].concat();
    assert!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&said));
}

/// To the terminal itself: what a passing test prints by macro is shown to nobody.
fn say(line: &str) {
    writeln!(io::stderr(), "{line}").expect("the terminal can be written to");
}
