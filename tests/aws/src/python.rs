//! The Python tools of the tests of the deployed system: ministack, the AWS command line and the template's linter.

use std::path::PathBuf;

use minutehand_python::Requirements;

const REQUIREMENTS: Requirements = Requirements {
    path: "tests/aws/requirements.txt",
    text: include_str!("../requirements.txt"),
    tests: "the tests of the deployed system",
};

/// The folder of the installed programs.
#[derive(Clone, Debug)]
pub struct Tools {
    pub python: PathBuf,
    pub ministack: PathBuf,
    pub aws: PathBuf,
    pub cfn_lint: PathBuf,
}

/// The tools, installed at the first call; `None`, with a printed line, without Python.
///
/// A test begins with `let Some(tools) = python::tools() else { return };`.
pub fn tools() -> Option<Tools> {
    let venv = REQUIREMENTS.installed()?;
    Some(Tools {
        python: venv.program("python"),
        ministack: venv.program("ministack"),
        aws: venv.program("aws"),
        cfn_lint: venv.program("cfn-lint"),
    })
}
