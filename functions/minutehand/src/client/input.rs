//! Input: JSON in a file, on stdin or on the command line itself.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};
use std::path::PathBuf;
use std::str::FromStr;

use minutehand_client::wire;

use super::failure::Failure;
use super::session::note;

/// What the API takes of a body is a third of this; more is a wrong file.
const BYTES: u64 = 1024 * 1024;

/// A file, or `-` for stdin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Stdin,
    File(PathBuf),
}

/// JSON as it is, `@file`, or `@-` for stdin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Json {
    Text(String),
    In(Source),
}

impl FromStr for Source {
    type Err = std::convert::Infallible;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Ok(if text == "-" { Self::Stdin } else { Self::File(text.into()) })
    }
}

impl FromStr for Json {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(source) = text.strip_prefix('@') {
            let Ok(source) = source.parse();
            return Ok(Self::In(source));
        }
        parsed(text).map(|_| Self::Text(text.to_owned())).map_err(|why| {
            format!("this is not JSON: {why} (a text stands in quotes, '\"hello\"'; a file is named by @file.json)")
        })
    }
}

impl Source {
    /// By its name.
    pub(crate) fn is_json(&self) -> bool {
        match self {
            Self::Stdin => false,
            Self::File(path) => path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("json")),
        }
    }

    /// Whether it is what somebody types now, and not what is piped in.
    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Self::Stdin) && io::stdin().is_terminal()
    }

    pub(crate) fn read(&self) -> Result<String, Failure> {
        if self.is_typed() {
            note("reading what is typed here, until ctrl-d");
        }
        let unreadable = |why: &io::Error| Failure::File(format!("cannot read {self}: {}", in_words(why)));
        let text = match self {
            Self::Stdin => bounded(io::stdin().lock()),
            Self::File(path) => File::open(path).and_then(bounded),
        };
        text.map_err(|why| unreadable(&why))
    }
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Stdin => f.write_str("stdin"),
            Self::File(path) => path.display().fmt(f),
        }
    }
}

impl Json {
    /// Its text as it was written, so that no number loses a digit.
    pub(crate) fn read(&self) -> Result<wire::Json, Failure> {
        match self {
            Self::Text(text) => parsed(text).map_err(|why| Failure::Usage(format!("this is not JSON: {why}"))),
            Self::In(source) => {
                let text = source.read()?;
                parsed(&text).map_err(|why| Failure::File(format!("{source} is not JSON: {why}")))
            }
        }
    }

    pub(crate) fn is_stdin(&self) -> bool {
        *self == Self::In(Source::Stdin)
    }
}

fn parsed(text: &str) -> serde_json::Result<wire::Json> {
    serde_json::from_str(text)
}

/// Without the numbers of an operating system.
fn in_words(why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::PermissionDenied => "this user may not read it".to_owned(),
        io::ErrorKind::InvalidData => "it is not text in UTF-8".to_owned(),
        _other => why.to_string(),
    }
}

fn bounded(from: impl Read) -> io::Result<String> {
    let mut text = String::new();
    let read = from.take(BYTES + 1).read_to_string(&mut text)?;
    if u64::try_from(read).is_ok_and(|read| read > BYTES) {
        return Err(io::Error::other("it has more than 1 MiB"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_is_taken_as_it_is_and_a_file_by_its_name() {
        let file = |name: &str| Json::In(Source::File(name.into()));
        let cases = [
            (r#"{"n":1.000000000000000000001}"#, Some(Json::Text(r#"{"n":1.000000000000000000001}"#.to_owned()))),
            ("null", Some(Json::Text("null".to_owned()))),
            ("@job.json", Some(file("job.json"))),
            ("@-", Some(Json::In(Source::Stdin))),
            ("hello", None),
            ("{'a': 1}", None),
            ("", None),
        ];
        for (text, meant) in cases {
            assert_eq!(text.parse().ok(), meant, "{text}");
        }
    }

    #[test]
    fn no_digit_is_lost_on_the_way() {
        let json: Json = "1.000000000000000000001".parse().unwrap();

        assert_eq!(json.read().unwrap().text(), "1.000000000000000000001");
    }

    #[test]
    fn what_cannot_be_read_is_said_with_its_name() {
        let missing = Source::File("no-such-file.json".into()).read().unwrap_err();

        assert_eq!(missing.to_string(), "cannot read no-such-file.json: there is no such file");
        assert!(bounded(io::repeat(b'a')).is_err());
        let binary = in_words(&bounded(&[0xff, 0xfe, 0][..]).unwrap_err());
        assert_eq!(binary, "it is not text in UTF-8");
    }
}
