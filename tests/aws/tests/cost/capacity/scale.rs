//! The template's table of scales, as it stands there.

use std::collections::BTreeMap;

/// The queues of the executor.
pub(super) const QUEUES: [&str; 8] =
    ["Critical", "High", "Normal", "Low", "CriticalLong", "HighLong", "NormalLong", "LowLong"];

type Row = BTreeMap<String, u32>;

#[derive(Clone, Debug)]
pub(super) struct Scales(Vec<Scale>);

/// One of them: a row of each mapping.
#[derive(Clone, Debug)]
pub(super) struct Scale {
    pub(super) name: &'static str,
    concurrency: Row,
    least_pollers: Row,
    most_pollers: Row,
}

impl Scales {
    pub(super) fn of_the_template(text: &str) -> Self {
        let scale = |(name, _): &(&'static str, u32)| Scale {
            name,
            concurrency: row(text, "Concurrency", name),
            least_pollers: row(text, "LeastPollers", name),
            most_pollers: row(text, "MostPollers", name),
        };
        Self(super::RATES.iter().map(scale).collect())
    }

    pub(super) fn named(&self, name: &str) -> Scale {
        self.0.iter().find(|scale| scale.name == name).expect("a scale of the table").clone()
    }
}

impl Scale {
    pub(super) fn concurrency(&self, of: &str) -> u32 {
        self.concurrency[of]
    }

    pub(super) fn least_pollers(&self, queue: &str) -> u32 {
        self.least_pollers[queue]
    }

    pub(super) fn most_pollers(&self, queue: &str) -> u32 {
        self.most_pollers[queue]
    }

    /// Invocations at once that an account must allow: all of these, and a tenth for the API and whatever else there is.
    pub(super) fn account(&self) -> u32 {
        let all = self.concurrency("Executor") + self.concurrency("Sweeps");
        (all * 10).div_ceil(9)
    }
}

/// `Mapping: name: { Key: 1, … }`, in one line or on the next.
fn row(text: &str, mapping: &str, name: &str) -> Row {
    let (_, rest) = text.split_once(&format!("\n  {mapping}:")).unwrap_or_else(|| panic!("no mapping {mapping}"));
    let (_, rest) = rest.split_once(&format!("\n    {name}:")).unwrap_or_else(|| panic!("{mapping} has no {name}"));
    let (_, row) = rest.split_once('{').expect("a row");
    let (row, _) = row.split_once('}').expect("its end");
    let entry = |entry: &str| {
        let (key, value) = entry.split_once(':').expect("a key and a number");
        (key.trim().to_owned(), value.trim().parse().expect("a number"))
    };
    row.split(',').map(entry).collect()
}
