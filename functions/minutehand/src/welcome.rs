//! The text at the start: the address, the key, and three lines to paste.

use minutehand_io::targets::http::Reach;

use crate::admin_key::{AdminKey, Origin};

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
    let export = match key.origin {
        Origin::Given => "# MINUTEHAND_KEY: the key you gave".to_owned(),
        _ => format!("export MINUTEHAND_KEY={export}"),
    };
    format!(
        r#"
Minutehand {version} listens on {url} and keeps {keeps}
HTTP targets may be {targets}
Admin key: {about}

  {export}
  curl -s {url}/v1/jobs -H "Authorization: Bearer $MINUTEHAND_KEY" -H "Content-Type: application/json" -d '{{"name": "hello", "schedule": {{"every_seconds": 5}}, "target": {{"noop": {{}}}}}}'
  curl -s {url}/v1/jobs -H "Authorization: Bearer $MINUTEHAND_KEY"
  curl -s {url}/v1/health

Or with this program, in another terminal: minutehand runs tail, minutehand --help
"#
    )
}

fn targets(reach: Reach) -> &'static str {
    match reach {
        Reach::Public => "on the internet only: --reach private or --reach loopback allows more",
        Reach::Private => "on the internet and in private networks: --reach loopback allows this machine as well",
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
    fn a_key_is_shown_once_when_it_is_made() {
        let path = PathBuf::from("data/admin.key");

        assert!(text(Origin::Made(Some(path.clone()))).contains("mh_secret"));
        assert!(text(Origin::Made(None)).contains("mh_secret"));
        assert!(!text(Origin::Found(path)).contains("mh_secret"));
        assert!(!text(Origin::Given).contains("mh_secret"));
    }
}
