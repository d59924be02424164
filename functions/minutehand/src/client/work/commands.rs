//! The file of commands: what a worker may run, as whom, where and for how long. Everything in it is looked at before anything is run.

use std::collections::BTreeMap;
use std::collections::btree_map::IntoIter;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use minutehand_domain::pool::HandlerName;
use nix::unistd::User;
use rustix::process::geteuid;
use serde::Deserialize;

use super::filled::Template;
use super::shell;

/// What a command has after SIGTERM where nothing is said.
const KILL_GRACE_SECONDS: u64 = 10;
const MOST_SECONDS: u64 = 7 * 24 * 3_600;

/// By the name of their handler.
#[derive(Debug)]
pub(super) struct Commands(BTreeMap<String, Command>);

/// One command, checked.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) program: String,
    pub(super) arguments: Vec<Template>,
    pub(super) user: Option<Account>,
    pub(super) directory: Option<PathBuf>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) pass_env: Vec<String>,
    pub(super) time_limit: Option<Duration>,
    pub(super) kill_grace: Duration,
    pub(super) result: ResultOf,
    exits: BTreeMap<u8, Exit>,
}

/// Whom a command runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) uid: u32,
    pub(super) gid: u32,
    pub(super) home: PathBuf,
}

/// What an exit code is for the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Exit {
    Success,
    /// For good.
    Fail,
    Retry,
    HandBack,
}

/// What the run's result is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ResultOf {
    #[default]
    ExitCode,
    /// Of stdout, where it is JSON.
    LastLine,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    command: BTreeMap<String, WrittenCommand>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenCommand {
    run: Vec<String>,
    user: Option<String>,
    directory: Option<PathBuf>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    #[serde(default)]
    pass_env: Vec<String>,
    time_limit_seconds: Option<u64>,
    kill_grace_seconds: Option<u64>,
    #[serde(default)]
    result: ResultOf,
    #[serde(default)]
    exit: BTreeMap<String, Exit>,
}

impl Commands {
    pub(super) fn read(path: &Path) -> Result<Self, String> {
        let place = path.display();
        let text = std::fs::read_to_string(path).map_err(|error| format!("{place} cannot be read: {error}"))?;
        Self::parse(&text).map_err(|why| format!("{place}: {why}"))
    }

    fn parse(text: &str) -> Result<Self, String> {
        let written: Written = basic_toml::from_str(text).map_err(|error| error.to_string())?;
        if written.command.is_empty() {
            return Err("it names no command; [command.\"NAME\"] begins one".to_owned());
        }
        let checked = written.command.into_iter().map(|(name, written)| {
            let command = written.checked().map_err(|why| format!("command \"{name}\": {why}"))?;
            if name.parse::<HandlerName>().is_ok() {
                Ok((name, command))
            } else {
                Err(format!("\"{name}\" is no name of a handler"))
            }
        });
        checked.collect::<Result<_, String>>().map(Self)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&String, &Command)> {
        self.0.iter()
    }

    /// For people.
    pub(super) fn understood(&self) -> String {
        self.iter().map(|(name, command)| command.understood(name)).collect::<Vec<_>>().join("\n")
    }
}

impl IntoIterator for Commands {
    type Item = (String, Command);
    type IntoIter = IntoIter<String, Command>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl WrittenCommand {
    fn checked(self) -> Result<Command, String> {
        let named = self.run.split_first().filter(|(program, _)| !program.is_empty());
        let (program, words) = named.ok_or("`run` names no program")?;
        if program.contains(['{', '}']) {
            return Err("the program itself is no parameter".to_owned());
        }
        // What follows a lone `--` is an option to nobody.
        let mut may_be_options = true;
        let mut arguments = Vec::new();
        for word in words {
            arguments.push(Template::parse(word, may_be_options)?);
            may_be_options &= word != "--";
        }
        for place in shell::own_words(&self.run) {
            if arguments[place - 1].has_parameters() {
                let word = &self.run[place];
                return Err(format!(
                    "`{word}` is a script, or an option of a shell: give it the parameter as an argument, and read that as \"$1\""
                ));
            }
        }
        if let Some(name) = self.pass_env.iter().chain(self.env.keys()).find(|name| !is_variable(name)) {
            return Err(format!("`{name}` is no variable that it can be given"));
        }
        Ok(Command {
            program: program.clone(),
            arguments,
            user: self.user.as_deref().map(account).transpose()?,
            directory: self.directory,
            env: self.env,
            pass_env: self.pass_env,
            time_limit: self.time_limit_seconds.map(|given| seconds("time_limit_seconds", given)).transpose()?,
            kill_grace: seconds("kill_grace_seconds", self.kill_grace_seconds.unwrap_or(KILL_GRACE_SECONDS))?,
            result: self.result,
            exits: self.exit.into_iter().map(exit).collect::<Result<_, _>>()?,
        })
    }
}

impl Command {
    pub(super) fn exit(&self, code: u8) -> Exit {
        let usual = if code == 0 { Exit::Success } else { Exit::Retry };
        self.exits.get(&code).copied().unwrap_or(usual)
    }

    fn understood(&self, name: &str) -> String {
        let words: Vec<_> = self.arguments.iter().map(|argument| format!(" {argument}")).collect();
        let mut text = format!("{name}\n  runs       {}{}\n", self.program, words.concat());
        let user = self.user.as_ref().map_or("whoever runs this worker", |user| &user.name);
        let _written = writeln!(text, "  as         {user}");
        if let Some(directory) = &self.directory {
            let _written = writeln!(text, "  in         {}", directory.display());
        }
        if let Some(limit) = self.time_limit {
            let _written = writeln!(text, "  for        at most {} s", limit.as_secs());
        }
        let exits = self.exits.iter().map(|(code, exit)| format!("{code} {}, ", exit.word()));
        let exits: String = exits.collect();
        let _written = writeln!(text, "  exit codes {exits}0 {}, else retry", self.exit(0).word());
        text
    }
}

impl Exit {
    fn word(self) -> &'static str {
        match self {
            Self::Success => "success",
            Self::Fail => "fail",
            Self::Retry => "retry",
            Self::HandBack => "hand_back",
        }
    }
}

fn exit((code, exit): (String, Exit)) -> Result<(u8, Exit), String> {
    code.parse().map(|code| (code, exit)).map_err(|_| format!("`{code}` is no exit code: from 0 to 255"))
}

fn seconds(field: &str, given: u64) -> Result<Duration, String> {
    if given > MOST_SECONDS {
        Err(format!("{field} is at most {MOST_SECONDS}"))
    } else {
        Ok(Duration::from_secs(given))
    }
}

/// Another user than one's own only root can be.
fn account(name: &str) -> Result<Account, String> {
    let user = User::from_name(name).map_err(|error| format!("user {name}: {error}"))?;
    let user = user.ok_or_else(|| format!("there is no user {name}"))?;
    let (uid, gid) = (user.uid.as_raw(), user.gid.as_raw());
    let own = geteuid();
    if !own.is_root() && own.as_raw() != uid {
        return Err(format!("it is to run as {name}, which only a worker that is root can do"));
    }
    Ok(Account { name: name.to_owned(), uid, gid, home: user.dir })
}

/// The worker's own key is none of its commands' business, and what describes the run is not the file's.
fn is_variable(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0']) && !name.starts_with("MINUTEHAND_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_understood() {
        let commands = Commands::parse(
            r#"
            [command."invoice.send"]
            run = ["/usr/bin/env", "python3", "send.py", "{invoice}"]
            directory = "/srv/invoices"
            time_limit_seconds = 60
            result = "last_line"
            [command."invoice.send".exit]
            3 = "fail"
            75 = "hand_back"
            "#,
        )
        .unwrap();

        let (_, command) = commands.iter().next().unwrap();
        assert_eq!(
            [0, 1, 3, 75].map(|code| command.exit(code)),
            [Exit::Success, Exit::Retry, Exit::Fail, Exit::HandBack]
        );
        assert_eq!(
            commands.understood(),
            "invoice.send\n  runs       /usr/bin/env python3 send.py {invoice}\n  as         whoever runs this worker\n  \
             in         /srv/invoices\n  for        at most 60 s\n  exit codes 3 fail, 75 hand_back, 0 success, else retry\n"
        );
    }

    #[test]
    fn what_a_file_cannot_mean_is_told() {
        for (text, why) in [
            ("", "names no command"),
            ("[command.a]\nrun = []", "names no program"),
            ("[command.a]\nrun = [\"{program}\"]", "the program itself"),
            ("[command.a]\nrun = [\"x\", \"{a\"]", "has no end"),
            ("[command.a]\nrun = [\"x\", \"{ echo; }\"]", "whose name is none"),
            ("[command.a]\nrun = [\"/bin/sh\", \"-c\", \"echo {a}\"]", "is a script"),
            ("[command.a]\nrun = [\"env\", \"bash\", \"-lc\", \"echo {a}\"]", "is a script"),
            ("[command.a]\nrun = [\"sh\", \"-ce\", \"echo {a}\"]", "`echo {a}` is a script"),
            ("[command.a]\nrun = \"x y\"", "run"),
            ("[command.a]\nrun = [\"x\"]\nshell = true", "shell"),
            ("[command.\"a b\"]\nrun = [\"x\"]", "no name of a handler"),
            ("[command.a]\nrun = [\"x\"]\nuser = \"nobody-of-that-name\"", "there is no user"),
            ("[command.a]\nrun = [\"x\"]\npass_env = [\"MINUTEHAND_KEY\"]", "no variable"),
            ("[command.a]\nrun = [\"x\"]\n[command.a.exit]\n256 = \"fail\"", "no exit code"),
            ("[command.a]\nrun = [\"x\"]\n[command.a.exit]\n1 = \"panic\"", "panic"),
            ("[command.a]\nrun = [\"x\"]\ntime_limit_seconds = 999999999", "at most"),
        ] {
            let error = Commands::parse(text).unwrap_err();
            assert!(error.contains(why), "{text}: {error}");
        }
    }
}
