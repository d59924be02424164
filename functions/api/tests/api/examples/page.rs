//! The page, read: its commands as a shell would read them, and what is shown below them.

use std::collections::BTreeMap;
use std::iter::Peekable;
use std::str::Chars;

use super::shown::Shown;

/// A block of commands, and what the last of them is answered.
pub(super) struct Example {
    pub commands: Vec<Line>,
    pub shown: Option<Shown>,
}

/// A command as it is written.
pub(super) struct Line(String);

/// A request.
#[derive(Debug)]
pub(super) struct Command {
    pub method: String,
    pub path: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

/// The blocks of the page, but for the one that sets the shell up.
pub(super) fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    for (kind, text) in blocks(page) {
        match kind {
            "sh" if text.contains("mh() {") => {}
            "sh" => examples.push(Example { commands: lines(text), shown: None }),
            "http" => {
                let example = examples.last_mut().expect("an answer stands below its command");
                assert!(example.shown.replace(Shown::read(text)).is_none(), "two answers: {text}");
            }
            // The kits' own tests run them, with the real process; and a picture says nothing that could be run.
            "python" | "ts" | "rust" | "toml" | "console" | "mermaid" => {}
            other => panic!("nobody runs {other}: {text}"),
        }
    }
    examples
}

/// The rows of a table of problems: status and type, in either order.
pub(super) fn problems(text: &str) -> impl Iterator<Item = (u16, String)> {
    text.lines().filter_map(|row| {
        let mut cells = row.strip_prefix("| ")?.split(" | ");
        let (one, other) = (cells.next()?.trim_matches('`'), cells.next()?.trim_matches('`'));
        let (kind, status) = if one.starts_with("/problems/") { (one, other) } else { (other, one) };
        kind.starts_with("/problems/").then(|| Some((status.parse().ok()?, kind.to_owned())))?
    })
}

fn blocks(page: &str) -> Vec<(&str, &str)> {
    let mut fences = page.split("```").skip(1).step_by(2);
    std::iter::from_fn(|| fences.next()?.split_once('\n')).collect()
}

/// One for each command: a line goes on inside quotes.
fn lines(text: &str) -> Vec<Line> {
    let mut lines: Vec<Line> = Vec::new();
    let mut open = false;
    for line in text.lines() {
        match lines.last_mut().filter(|_| open) {
            Some(Line(command)) => {
                command.push('\n');
                command.push_str(line);
            }
            None => lines.push(Line(line.to_owned())),
        }
        open ^= line.matches('\'').count() % 2 == 1;
    }
    lines
}

impl Line {
    /// As the function `mh` of the page sends it.
    pub(super) fn read(&self, known: &BTreeMap<String, String>) -> Command {
        let mut words = words(&self.0, known).into_iter().peekable();
        let key = words.next_if(|word| word.starts_with("MINUTEHAND_KEY="));
        let key =
            key.map_or_else(|| known["MINUTEHAND_KEY"].clone(), |word| word["MINUTEHAND_KEY=".len()..].to_owned());
        match words.next().as_deref() {
            Some("mh") => self.of_mh(words, &key),
            Some("curl") => self.of_curl(words),
            other => panic!("what is {other:?} in {}", self.0),
        }
    }

    fn of_mh(&self, mut words: impl Iterator<Item = String>, key: &str) -> Command {
        let (method, path) = words.next().zip(words.next()).unwrap_or_else(|| panic!("half a command: {}", self.0));
        let mut command = Command { method, path, headers: Vec::new(), body: String::new() };
        command.headers.push(("authorization".to_owned(), format!("Bearer {key}")));
        command.headers.push(("content-type".to_owned(), "application/json".to_owned()));
        while let Some((option, value)) = words.next().zip(words.next()) {
            match option.as_str() {
                "-d" => command.body = value,
                "-H" => {
                    let (name, value) = value.split_once(": ").unwrap_or_else(|| panic!("no header: {value}"));
                    command.headers.push((name.to_owned(), value.to_owned()));
                }
                other => panic!("what is {other} in {}", self.0),
            }
        }
        command
    }

    fn of_curl(&self, words: impl Iterator<Item = String>) -> Command {
        let said: Vec<_> = words.collect();
        let [options, address] = &said[..] else { panic!("too much for this: {}", self.0) };
        assert_eq!(options, "-sSi");
        Command { method: "GET".to_owned(), path: address.clone(), headers: Vec::new(), body: String::new() }
    }
}

/// Words as a shell divides them: quotes of both kinds, and variables but in single ones.
fn words(line: &str, known: &BTreeMap<String, String>) -> Vec<String> {
    let (mut words, mut word) = (Vec::new(), None::<String>);
    let mut letters = line.chars().peekable();
    let mut double = false;
    while let Some(letter) = letters.next() {
        match letter {
            ' ' if !double => words.extend(word.take()),
            '"' => {
                double = !double;
                word.get_or_insert_default();
            }
            '\'' if !double => {
                let quoted: String = letters.by_ref().take_while(|letter| *letter != '\'').collect();
                word.get_or_insert_default().push_str(&quoted);
            }
            '$' => word.get_or_insert_default().push_str(&variable(&mut letters, known)),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

fn variable(letters: &mut Peekable<Chars<'_>>, known: &BTreeMap<String, String>) -> String {
    let mut name = String::new();
    while let Some(letter) = letters.next_if(|letter| letter.is_ascii_uppercase() || *letter == '_') {
        name.push(letter);
    }
    if name == "MINUTEHAND_URL" {
        return String::new();
    }
    known.get(&name).cloned().unwrap_or_else(|| panic!("no answer has shown <{name}>"))
}
