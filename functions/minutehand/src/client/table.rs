//! What is shown: a table of many things, or a card about one. Text that came from elsewhere cannot move the cursor.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Effects, Style};
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

/// Between two columns.
const GAP: usize = 2;
/// A column that gives way still says something.
const LEAST: usize = 8;

pub(crate) const PLAIN: Style = Style::new();
pub(crate) const STRONG: Style = Style::new().effects(Effects::BOLD);
pub(crate) const FAINT: Style = Style::new().effects(Effects::DIMMED);
pub(crate) const GOOD: Style = AnsiColor::Green.on_default();
pub(crate) const BAD: Style = AnsiColor::Red.on_default();
pub(crate) const BUSY: Style = AnsiColor::Cyan.on_default();
pub(crate) const HELD: Style = AnsiColor::Yellow.on_default();

/// One text in one style, on one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

/// Rows under a head. Columns whose title begins with `~` give way where the terminal is narrow.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

#[derive(Clone, Debug)]
struct Column {
    title: &'static str,
    gives_way: bool,
}

/// Labels and what stands beside them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Card {
    lines: Vec<(&'static str, Cell)>,
}

impl Cell {
    pub(crate) fn new(text: impl AsRef<str>, style: Style) -> Self {
        Self { text: tame(text.as_ref()), style }
    }

    pub(crate) fn faint(text: impl AsRef<str>) -> Self {
        Self::new(text, FAINT)
    }

    /// In its style, where it stands in a sentence.
    pub(crate) fn painted(&self) -> String {
        let mut out = String::new();
        self.write(usize::MAX, &mut out);
        out
    }

    /// The same style, other words.
    pub(crate) fn saying(self, text: impl AsRef<str>) -> Self {
        Self::new(text, self.style)
    }

    fn width(&self) -> usize {
        self.text.width()
    }

    /// In its style, cut where it is wider than the column.
    fn write(&self, width: usize, out: &mut String) {
        let text = cut(&self.text, width);
        let written = if self.style == PLAIN {
            write!(out, "{text}")
        } else {
            write!(out, "{style}{text}{style:#}", style = self.style)
        };
        written.expect("a string takes everything");
    }
}

impl<T: AsRef<str>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self::new(text, PLAIN)
    }
}

impl Table {
    pub(crate) fn new(titles: &[&'static str]) -> Self {
        let column = |title: &&'static str| match title.strip_prefix('~') {
            Some(title) => Column { title, gives_way: true },
            None => Column { title, gives_way: false },
        };
        Self { columns: titles.iter().map(column).collect(), rows: Vec::new() }
    }

    pub(crate) fn row(&mut self, cells: Vec<Cell>) {
        debug_assert_eq!(cells.len(), self.columns.len());
        self.rows.push(cells);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Lines that are at most `width` wide, as far as the columns that give way allow it.
    pub(crate) fn draw(&self, width: usize) -> String {
        let widths = self.widths(width);
        let head: Vec<Cell> = self.columns.iter().map(|column| Cell::new(column.title, STRONG)).collect();
        let mut out = String::new();
        for row in std::iter::once(&head).chain(&self.rows) {
            line(row, &widths, &mut out);
        }
        out
    }

    fn widths(&self, width: usize) -> Vec<usize> {
        let widest = |index: usize| self.rows.iter().map(|row| row[index].width()).max().unwrap_or(0);
        let columns = self.columns.iter().enumerate();
        let mut widths: Vec<usize> = columns.map(|(index, column)| column.title.width().max(widest(index))).collect();
        let gaps = GAP * widths.len().saturating_sub(1);
        let mut excess = (widths.iter().sum::<usize>() + gaps).saturating_sub(width);
        // The widest gives way first, cell by cell, so that two long columns end up alike.
        while excess > 0 {
            let giving = (0..widths.len()).filter(|&index| self.columns[index].gives_way && widths[index] > LEAST);
            let Some(index) = giving.max_by_key(|&index| widths[index]) else { break };
            widths[index] -= 1;
            excess -= 1;
        }
        widths
    }
}

/// Nothing is padded at a line's end.
fn line(row: &[Cell], widths: &[usize], out: &mut String) {
    let last = row.iter().rposition(|cell| !cell.text.is_empty()).unwrap_or(0);
    for (index, (cell, width)) in row.iter().zip(widths).enumerate().take(last + 1) {
        cell.write(*width, out);
        if index < last {
            let gap = width - cell.width().min(*width) + GAP;
            out.extend(std::iter::repeat_n(' ', gap));
        }
    }
    out.push('\n');
}

impl Card {
    #[must_use]
    pub(crate) fn with(mut self, label: &'static str, cell: impl Into<Cell>) -> Self {
        self.lines.push((label, cell.into()));
        self
    }

    /// A line only where there is something to say.
    #[must_use]
    pub(crate) fn maybe(self, label: &'static str, cell: Option<impl Into<Cell>>) -> Self {
        match cell {
            Some(cell) => self.with(label, cell),
            None => self,
        }
    }

    pub(crate) fn draw(&self) -> String {
        let widest = self.lines.iter().map(|(label, _)| label.len()).max().unwrap_or(0);
        let mut out = String::new();
        for (label, cell) in &self.lines {
            line(&[Cell::new(label, FAINT), cell.clone()], &[widest, usize::MAX], &mut out);
        }
        out
    }
}

/// A name, a target's error or a tag may hold anything: what moves the cursor, rings the bell or turns the writing
/// direction around is shown as a mark.
pub(crate) fn tame(text: &str) -> String {
    let wild = |c: char| c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if wild(c) { '\u{fffd}' } else { c }).collect()
}

fn cut(text: &str, width: usize) -> String {
    if text.width() <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = 1;
    for c in text.chars() {
        used += c.width().unwrap_or(0);
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept + "…"
}

#[cfg(test)]
mod tests {
    use anstream::adapter::strip_str;

    use super::*;

    fn table() -> Table {
        let mut table = Table::new(&["ID", "~NAME", "STATUS"]);
        table.row(vec!["1".into(), "a rather long name".into(), Cell::new("active", GOOD)]);
        table.row(vec!["22".into(), "名前".into(), "".into()]);
        table
    }

    #[test]
    fn columns_stand_under_their_titles() {
        let drawn = strip_str(&table().draw(usize::MAX)).to_string();

        assert_eq!(drawn, "ID  NAME                STATUS\n1   a rather long name  active\n22  名前\n");
    }

    #[test]
    fn a_narrow_terminal_cuts_what_gives_way_and_nothing_else() {
        for (width, name) in [(30, "a rather long name"), (27, "a rather long …"), (5, "a rathe…")] {
            let drawn = strip_str(&table().draw(width)).to_string();
            assert!(drawn.contains(&format!("{name}  active")), "{width}: {drawn}");
        }
    }

    #[test]
    fn wide_letters_are_cut_by_their_width() {
        assert_eq!(cut("名前名前", 8), "名前名前");
        assert_eq!(cut("名前名前", 7), "名前名…");
        assert_eq!(cut("名前名前", 6), "名前…");
    }

    #[test]
    fn colours_are_around_the_text_and_not_in_its_width() {
        let drawn = table().draw(usize::MAX);

        assert!(drawn.contains("\u{1b}[32mactive\u{1b}[0m"), "{drawn:?}");
    }

    #[test]
    fn a_text_cannot_move_the_cursor() {
        let cell = Cell::from("a\u{1b}[2Jb\r\nc\u{9b}31m\u{202e}");

        assert_eq!(cell.text, "a\u{fffd}[2Jb\u{fffd}\u{fffd}c\u{fffd}31m\u{fffd}");
    }

    #[test]
    fn a_card_says_only_what_there_is() {
        let card = Card::default().with("Job", "j").maybe("Name", None::<Cell>).maybe("Status", Some("active"));

        assert_eq!(strip_str(&card.draw()).to_string(), "Job     j\nStatus  active\n");
    }
}
