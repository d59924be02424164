//! The sheet: each value as smallest, median and largest over the repetitions, and whether it reaches its target.

use std::io::{self, Write};

/// One value of one repetition.
#[derive(Clone, Debug, PartialEq)]
pub struct Reading {
    pub what: &'static str,
    pub unit: &'static str,
    pub value: f64,
    pub must: Option<Must>,
}

/// The target of the median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Must {
    AtLeast(f64),
    AtMost(f64),
}

/// One line of the sheet.
#[derive(Clone, Debug, PartialEq)]
struct Line {
    what: &'static str,
    unit: &'static str,
    values: Vec<f64>,
    must: Option<Must>,
}

impl Reading {
    pub fn new(what: &'static str, unit: &'static str, value: f64) -> Self {
        Self { what, unit, value, must: None }
    }

    #[must_use]
    pub fn must_be(self, must: Must) -> Self {
        Self { must: Some(must), ..self }
    }
}

/// One repetition on one line.
pub fn write_raw(out: &mut impl Write, figure: &str, number: u32, readings: &[Reading]) -> io::Result<()> {
    write!(out, "  raw {figure} {number}:")?;
    for Reading { what, unit, value, .. } in readings {
        write!(out, " {what} {} {unit};", plain(*value))?;
    }
    writeln!(out)
}

/// Prints all repetitions. True if every median reaches its target.
pub fn write(out: &mut impl Write, repetitions: &[Vec<Reading>]) -> io::Result<bool> {
    let lines = lines_of(repetitions);
    let widest = lines.iter().map(|line| line.what.chars().count()).max().unwrap_or(0);
    writeln!(out, "  {:widest$}  {:>12} {:>12} {:>12}", "", "min", "median", "max")?;
    for Line { what, unit, values, must } in &lines {
        let [min, median, max] = [values[0], median_of(values), values[values.len() - 1]].map(plain);
        let verdict = must.map(|must| must.verdict(median_of(values))).unwrap_or_default();
        writeln!(out, "  {what:widest$}  {min:>12} {median:>12} {max:>12}  {unit}{verdict}")?;
    }
    Ok(lines.iter().all(|line| line.must.is_none_or(|must| must.holds(median_of(&line.values)))))
}

impl Must {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtLeast(least) => value >= least,
            Self::AtMost(most) => value <= most,
        }
    }

    fn verdict(self, value: f64) -> String {
        let holds = if self.holds(value) { "holds" } else { "MISSED" };
        match self {
            Self::AtLeast(least) => format!("   (must be at least {}: {holds})", plain(least)),
            Self::AtMost(most) => format!("   (must be at most {}: {holds})", plain(most)),
        }
    }
}

/// Every repetition has the same readings in the same order.
fn lines_of(repetitions: &[Vec<Reading>]) -> Vec<Line> {
    let first = repetitions.first().map(Vec::as_slice).unwrap_or_default();
    let line = |(place, reading): (usize, &Reading)| {
        let mut values =
            repetitions.iter().filter_map(|each| each.get(place)).map(|each| each.value).collect::<Vec<_>>();
        values.sort_unstable_by(f64::total_cmp);
        Line { what: reading.what, unit: reading.unit, values, must: reading.must }
    };
    first.iter().enumerate().map(line).collect()
}

fn median_of(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
}

/// A number with its significant decimals, and with separated thousands.
fn plain(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 100.0 || size.fract() == 0.0 => 0,
        size if size >= 1.0 => 1,
        _ => 3,
    };
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let sign = if value < 0.0 { "-" } else { "" };
    rest.map_or_else(|| format!("{sign}{}", grouped(whole)), |rest| format!("{sign}{}.{rest}", grouped(whole)))
}

fn grouped(digits: &str) -> String {
    let groups = digits.as_bytes().rchunks(3).rev().map(|group| String::from_utf8_lossy(group).into_owned());
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(value: f64) -> Vec<Reading> {
        vec![Reading::new("runs", "/s", value).must_be(Must::AtLeast(3000.0))]
    }

    #[test]
    fn the_median_decides_whether_it_holds() {
        let (mut good, mut bad) = (Vec::new(), Vec::new());

        assert!(write(&mut good, &[rate(2000.0), rate(9000.0), rate(3000.0)]).unwrap());
        assert!(!write(&mut bad, &[rate(2999.0), rate(9000.0), rate(10.0)]).unwrap());

        assert!(String::from_utf8(good).unwrap().contains("at least 3,000: holds"));
        assert!(String::from_utf8(bad).unwrap().contains("at least 3,000: MISSED"));
    }

    #[test]
    fn numbers_are_written_to_be_read() {
        assert_eq!(
            [1_234_567.8, 1000.0, 12.34, 0.1234, 0.0, -5.5].map(plain),
            ["1,234,568", "1,000", "12.3", "0.123", "0", "-5.5"]
        );
    }
}
