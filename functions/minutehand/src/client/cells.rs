//! Cells: words of the API in their colours, and what stands where there is none.

use super::table::{BAD, BUSY, Cell, FAINT, GOOD, HELD, PLAIN};

/// The state of a job or a run. A word of a later server is shown as it is.
pub(crate) fn status(word: &(impl ToString + ?Sized)) -> Cell {
    let word = word.to_string();
    let style = match word.as_str() {
        "active" | "succeeded" => GOOD,
        "running" => BUSY,
        "paused" | "scheduled" | "queued" | "waiting" | "held" => HELD,
        "failed" | "timed_out" | "lost" => BAD,
        "completed" | "cancelled" | "skipped" | "pending" => FAINT,
        _ => PLAIN,
    };
    Cell::new(word, style)
}

/// Inside a line that is no table.
pub(crate) fn painted(word: &(impl ToString + ?Sized)) -> String {
    status(word).painted()
}

pub(crate) fn or_dash(word: Option<&str>) -> Cell {
    word.map_or_else(|| Cell::faint("-"), Cell::from)
}

/// `1 run`, `2 runs`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    if count == 1 { format!("1 {one}") } else { format!("{count} {one}s") }
}

/// Characters of a JSON that a card shows.
const SHOWN: usize = 400;

/// JSON that a card shows: what is long is cut, and says so.
pub(crate) fn shortened(json: impl AsRef<str>) -> String {
    let json = json.as_ref();
    match json.char_indices().nth(SHOWN) {
        None => json.to_owned(),
        Some((end, _)) => format!("{}… ({} bytes; --json shows all)", &json[..end], json.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_json_is_cut_with_a_mark() {
        assert_eq!(shortened("[1]"), "[1]");
        let long = format!("\"{}\"", "ä".repeat(1000));
        assert!(shortened(&long).ends_with("ä… (2002 bytes; --json shows all)"));
        assert!(shortened(&long).chars().count() < SHOWN + 40);
    }
}
