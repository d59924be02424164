//! The text at the start: the address, the key, and three lines to paste.

use minutehand_io::targets::http::Reach;

use crate::admin_key::{AdminKey, Origin};
use crate::client::connection::DEFAULT_SERVER;

/// The key itself is shown only when it was just made; later the lines read it from its file.
pub(crate) fn welcome(url: &str, key: &AdminKey, keeps: &str, reach: Reach) -> String {
    let (about, export) = match &key.origin {
        Origin::Made(None) => ("made for this start, shown once".to_owned(), key.key.clone()),
        Origin::Made(Some(path)) => (format!("made now, shown once, kept in {}", path.display()), key.key.clone()),
        Origin::Found(path) => (format!("in {}", path.display()), format!("$(cat {})", path.display())),
        Origin::Given => ("as given".to_owned(), "the key you gave".to_owned()),
    };
    let targets = targets(reach);
    let version = env!("CARGO_PKG_VERSION");
    let asked = asked_at(url);
    let whereabouts =
        if asked == DEFAULT_SERVER { String::new() } else { format!("\n  export MINUTEHAND_URL={asked}") };
    let export = match key.origin {
        Origin::Given => "# MINUTEHAND_KEY: the key you gave".to_owned(),
        _ => format!("export MINUTEHAND_KEY={export}"),
    };
    format!(
        r#"
Minutehand {version} listens on {url} and keeps {keeps}
HTTP targets may be {targets}
Admin key: {about}

  {export}{whereabouts}
  curl -sS {asked}/v1/jobs -H "Authorization: Bearer $MINUTEHAND_KEY" -H "Content-Type: application/json" -d '{{"name": "hello", "schedule": {{"every_seconds": 5}}, "target": {{"noop": {{}}}}}}'
  curl -sS {asked}/v1/jobs -H "Authorization: Bearer $MINUTEHAND_KEY"
  curl -sS {asked}/v1/health

Or with this program, in another terminal: minutehand runs tail, minutehand --help
"#
    )
}

/// Where this machine asks a server that listens on all of its addresses. A certificate has a name, and none of them.
fn asked_at(url: &str) -> String {
    let own = if url.starts_with("https:") { ["localhost"; 2] } else { ["127.0.0.1", "[::1]"] };
    let (any_v4, any_v6) = ("://0.0.0.0:", "://[::]:");
    url.replace(any_v4, &format!("://{}:", own[0])).replace(any_v6, &format!("://{}:", own[1]))
}

fn targets(reach: Reach) -> &'static str {
    match reach {
        Reach::Public => "on the internet only: --reach private or --reach loopback allows more",
        Reach::Private => {
            "on the internet and in private networks: --reach loopback allows what listens on this machine alone as well"
        }
        Reach::Loopback => "anywhere, on this machine too: --reach public or --reach private allows less",
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    fn text(origin: Origin) -> String {
        let key = AdminKey { key: "mh_secret".into(), origin };
        welcome("http://127.0.0.1:8080", &key, "everything in data", Reach::Loopback)
    }

    #[test]
    fn the_lines_to_paste_ask_the_server_that_was_started() {
        let rows = [
            ("http://127.0.0.1:8080", None),
            ("http://127.0.0.1:18080", Some("http://127.0.0.1:18080")),
            ("http://0.0.0.0:8080", None),
            ("http://[::]:8080", Some("http://[::1]:8080")),
            ("https://0.0.0.0:8443", Some("https://localhost:8443")),
            ("https://10.0.0.7:8443", Some("https://10.0.0.7:8443")),
        ];
        for (url, said) in rows {
            let key = AdminKey { key: "mh_secret".into(), origin: Origin::Made(None) };
            let text = welcome(url, &key, "everything in data", Reach::Loopback);
            let exported = text.lines().find_map(|line| line.trim().strip_prefix("export MINUTEHAND_URL="));
            assert_eq!(exported, said, "{url}");
            assert!(text.contains(&format!("curl -sS {}/v1/health", said.unwrap_or(DEFAULT_SERVER))), "{text}");
        }
    }

    #[test]
    fn a_key_is_shown_once_when_it_is_made() {
        let path = PathBuf::from("data/admin.key");

        assert!(text(Origin::Made(Some(path.clone()))).contains("mh_secret"));
        assert!(text(Origin::Made(None)).contains("mh_secret"));
        assert!(!text(Origin::Found(path)).contains("mh_secret"));
        assert!(!text(Origin::Given).contains("mh_secret"));
    }
}
