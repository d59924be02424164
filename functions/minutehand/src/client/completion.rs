//! `minutehand completion`: what a shell needs to complete our commands.

use clap::{Args, CommandFactory as _};
use clap_complete::Shell;

use super::failure::Failure;
use super::session::print;
use crate::arguments::Arguments;

#[derive(Debug, Args)]
pub(crate) struct Completion {
    /// Which shell
    #[arg(value_enum)]
    shell: Shell,
}

impl Completion {
    pub(crate) fn execute(&self) -> Result<(), Failure> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "minutehand", &mut script);
        print(&String::from_utf8_lossy(&script))
    }
}
