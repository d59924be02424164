//! Which server the calls go to, and with which key.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::path::{Path, PathBuf};

use clap::Args;
use url::{Host, Url};

use crate::admin_key;

/// The variable that also tells `serve` where it keeps everything, and what stands for it.
const DATA: (&str, &str) = ("MINUTEHAND_DATA", "data");

/// Whom commands ask where nothing is said: what `serve` listens on by itself.
pub(crate) const DEFAULT_SERVER: &str = "http://127.0.0.1:8080";

/// What every command of the client takes.
#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "Connection and output")]
pub(crate) struct Connection {
    /// Where Minutehand is
    #[arg(long, global = true, value_name = "URL", default_value = DEFAULT_SERVER, env = "MINUTEHAND_URL")]
    pub(crate) server: String,
    /// Your API key; without one, a server on this machine is asked with the admin key in ./data, where it can be read
    #[arg(long, global = true, value_name = "KEY", env = "MINUTEHAND_KEY", hide_env_values = true)]
    pub(crate) key: Option<String>,
    /// Print the server's JSON as it is, for machines
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say on stderr what is asked, of whom and with which key
    #[arg(long, short, global = true)]
    pub(crate) verbose: bool,
}

/// The key, and where it is from, for those who ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) origin: String,
}

impl Connection {
    /// The given one; else, for a server on this machine, the one that its first start left in the data directory. No
    /// other server is ever shown that one.
    pub(crate) fn key(&self, server: &Url) -> Option<Key> {
        let directory = std::env::var_os(DATA.0).map_or_else(|| PathBuf::from(DATA.1), PathBuf::from);
        given(self.key.as_deref()).or_else(|| is_here(server).then(|| kept(&directory)).flatten())
    }
}

/// An empty variable is none.
fn given(key: Option<&str>) -> Option<Key> {
    let text = key.map(str::trim).filter(|key| !key.is_empty())?;
    Some(Key { text: text.to_owned(), origin: "the key you gave".to_owned() })
}

fn kept(directory: &Path) -> Option<Key> {
    let path = directory.join(admin_key::FILE);
    let text = std::fs::read_to_string(&path).ok()?;
    Some(Key { text: text.trim().to_owned(), origin: format!("the admin key in {}", path.display()) })
}

/// Whether a server is on this machine.
pub(crate) fn is_here(server: &Url) -> bool {
    match server.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => Ipv4Addr::is_loopback(&address),
        Some(Host::Ipv6(address)) => Ipv6Addr::is_loopback(&address),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn connection(server: &str, key: Option<&str>) -> Connection {
        Connection { server: server.to_owned(), key: key.map(str::to_owned), json: false, verbose: false }
    }

    #[test]
    fn only_what_is_on_this_machine_is_here() {
        let cases = [
            ("http://127.0.0.1:8080", true),
            ("http://127.9.9.9", true),
            ("http://localhost:8080", true),
            ("http://[::1]:8080", true),
            ("http://localhost.example.com", false),
            ("http://127.0.0.1.example.com", false),
            ("http://10.0.0.1", false),
            ("https://example.com", false),
        ];
        for (server, here) in cases {
            assert_eq!(is_here(&Url::parse(server).unwrap()), here, "{server}");
        }
    }

    #[test]
    fn a_given_key_wins_and_an_empty_one_is_none() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(admin_key::FILE), "mh_kept\n").unwrap();

        assert_eq!(given(Some("mh_given")).unwrap().text, "mh_given");
        assert_eq!(given(Some(" ")), None);
        assert_eq!(kept(directory.path()).unwrap().text, "mh_kept");
        assert_eq!(kept(&directory.path().join("nowhere")), None);
    }

    #[test]
    fn a_server_elsewhere_never_sees_the_kept_key() {
        let elsewhere = Url::parse("https://example.com").unwrap();

        assert_eq!(connection("", None).key(&elsewhere), None);
        assert!(connection("", Some("mh_given")).key(&elsewhere).is_some());
    }
}
