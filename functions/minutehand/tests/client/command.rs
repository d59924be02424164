//! A command: `minutehand` with some words, against one server, and what came of it.

use std::io::Write as _;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

use crate::server::{KEY, Server, minutehand};

/// A server of the test's own, and where it is.
pub(crate) struct Here {
    server: Server,
    url: String,
}

/// What a command came to.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Here {
    pub(crate) fn start() -> Self {
        let mut command = minutehand();
        command.args(["serve", "--listen", "127.0.0.1:0", "--memory"]);
        Self::started(command)
    }

    /// One that keeps everything in this directory.
    pub(crate) fn keeping(data: &Path, listen: &str) -> Self {
        let mut command = minutehand();
        command.args(["serve", "--listen", listen, "--data"]).arg(data);
        Self::started(command)
    }

    fn started(mut command: Command) -> Self {
        command.env("MINUTEHAND_KEY", KEY);
        let server = Server::started(command);
        let url = format!("http://{}", server.address());
        Self { server, url }
    }

    pub(crate) fn address(&self) -> String {
        self.server.address().to_string()
    }

    pub(crate) fn kill(self) {
        self.server.kill();
    }

    pub(crate) fn run(&self, words: &[&str]) -> Done {
        run(self.command(words))
    }

    /// One that must go well.
    pub(crate) fn ok(&self, words: &[&str]) -> Done {
        let done = self.run(words);
        assert_eq!(done.code, 0, "{words:?}: {done:?}");
        done
    }

    /// One that must go well, asked for as JSON.
    pub(crate) fn json(&self, words: &[&str]) -> Value {
        self.ok(&[words, &["--json"]].concat()).json()
    }

    /// With something on its stdin.
    pub(crate) fn fed(&self, words: &[&str], stdin: &str) -> Done {
        let mut child = self.command(words).stdin(Stdio::piped()).spawn().expect("the binary under test");
        child.stdin.take().expect("piped").write_all(stdin.as_bytes()).expect("it reads");
        ended(child)
    }

    pub(crate) fn command(&self, words: &[&str]) -> Command {
        let mut command = client(&self.url, words);
        command.env("MINUTEHAND_KEY", KEY);
        command
    }
}

/// `minutehand` with nothing of the environment that would change what it shows.
pub(crate) fn client(url: &str, words: &[&str]) -> Command {
    let mut command = minutehand();
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    command.args(words).env("MINUTEHAND_URL", url);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

pub(crate) fn run(mut command: Command) -> Done {
    ended(command.spawn().expect("the binary under test"))
}

pub(crate) fn ended(child: Child) -> Done {
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Done { code: status.code().unwrap_or(-1), stdout: text(stdout), stderr: text(stderr) }
}

impl Done {
    /// The one document that it printed.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|why| panic!("{why}: {self:?}"))
    }

    /// Whether a card has this line, whatever the space between.
    pub(crate) fn says(&self, label: &str, value: &str) -> bool {
        let line = |line: &str| line.strip_prefix(label).is_some_and(|rest| rest.trim() == value);
        self.stdout.lines().any(line)
    }
}

/// A field that is a text.
pub(crate) fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("no text `{field}` in {value}")).to_owned()
}
