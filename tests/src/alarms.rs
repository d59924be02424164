//! The alarms that ring over what was scraped: Prometheus' own engine is asked, by the rules that are deployed.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::Duration;

use minutehand_python::prerequisite::{fetched, is_there, not_run, succeeded};
use minutehand_python::workspace::{locked, root, target};
use regex::Regex;

/// The rules' checker, or why it is not to be had.
static PROMTOOL: LazyLock<Result<PathBuf, String>> = LazyLock::new(|| {
    if is_there("promtool") {
        return Ok("promtool".into());
    }
    let folder = target().join("promtool");
    unpacked(&folder).map(|()| folder.join(PROGRAM))
});
/// Where Debian's package has it.
const PROGRAM: &str = "usr/bin/promtool";

/// The rules' checker; nothing where it is not to be had.
pub fn promtool() -> Option<&'static Path> {
    let tell = |why: &String| {
        let missing = format!("promtool was not found, and Debian's package `prometheus` cannot be fetched: {why}");
        not_run(&missing, "the tests of Prometheus' rules");
    };
    PROMTOOL.as_deref().inspect_err(|why| tell(why)).ok()
}

/// What was scraped of a process, one scrape behind the other.
#[derive(Clone, Debug)]
pub struct Scraped {
    interval: Duration,
    scrapes: usize,
    /// A series has no value in a scrape that does not show it.
    series: BTreeMap<String, Vec<Option<f64>>>,
}

impl Scraped {
    /// Nothing yet; scrapes are this far apart.
    pub fn each(interval: Duration) -> Self {
        Self { interval, scrapes: 0, series: BTreeMap::new() }
    }

    /// What a process says of itself, in Prometheus' text format.
    pub fn answered(&mut self, text: &str) {
        self.put("up{job=\"minutehand\"}", 1.0);
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (series, value) = line.rsplit_once(' ').expect("a series and its value");
            self.put(series, value.parse().expect("a number"));
        }
        self.scrapes += 1;
    }

    /// A scrape that fails shows that it failed, and nothing else.
    pub fn unanswered(&mut self) {
        self.put("up{job=\"minutehand\"}", 0.0);
        self.scrapes += 1;
    }

    /// Which alerts rang between two scrapes.
    pub fn rang(&self, promtool: &Path, name: &str, scrapes: Range<usize>) -> BTreeSet<String> {
        // Asked for nothing, it answers with what there is.
        let said = self.asked(promtool, name, &scrapes);
        let alert = Regex::new(r#"alertname="(\w+)""#).expect("a pattern");
        alert.captures_iter(&said).map(|found| found[1].to_owned()).collect()
    }

    fn put(&mut self, series: &str, value: f64) {
        let values = self.series.entry(with_instance(series)).or_default();
        values.resize(self.scrapes, None);
        values.push(Some(value));
    }

    fn asked(&self, promtool: &Path, name: &str, scrapes: &Range<usize>) -> String {
        let folder = target().join("alarms");
        fs::create_dir_all(&folder).expect("a folder under target/");
        let file = folder.join(format!("{name}.yaml"));
        fs::write(&file, self.question(scrapes)).expect("a file under target/");
        let output = Command::new(promtool).args(["test", "rules"]).arg(&file).output().expect("promtool");
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(said.contains("what there is is shown"), "{said}");
        said
    }

    fn question(&self, scrapes: &Range<usize>) -> String {
        let (rules, interval) = (root().join("infra/prometheus/alerts.yaml"), self.interval.as_secs());
        let mut yaml = format!(
            "rule_files: [{}]\nevaluation_interval: {interval}s\ntests:\n  - interval: {interval}s\n    input_series:\n",
            rules.display()
        );
        for (series, values) in &self.series {
            let values = self.written(values);
            let _in_memory = writeln!(yaml, "      - series: '{series}'\n        values: '{values}'");
        }
        let seconds = |scrapes: usize| interval * u64::try_from(scrapes).expect("a few scrapes");
        let (span, end) = (seconds(scrapes.len()), seconds(scrapes.end));
        let _in_memory = writeln!(
            yaml,
            "    promql_expr_test:\n      - expr: 'count by (alertname) (max_over_time(ALERTS{{alertstate=\"firing\"}}[{span}s]))'\n        eval_time: {end}s\n        exp_samples: [{{labels: '{{alertname=\"what there is is shown\"}}', value: 1}}]"
        );
        yaml
    }

    /// As Prometheus keeps them: what a scrape does not show any more is stale from then on, and not what it was for five minutes more.
    fn written(&self, values: &[Option<f64>]) -> String {
        let at = |scrape: usize| values.get(scrape).copied().flatten();
        let written = |scrape: usize| match at(scrape) {
            Some(value) => value.to_string(),
            None if scrape > 0 && at(scrape - 1).is_some() => "stale".to_owned(),
            None => "_".to_owned(),
        };
        (0..self.scrapes).map(written).collect::<Vec<_>>().join(" ")
    }
}

fn with_instance(series: &str) -> String {
    match series.strip_suffix('}') {
        Some(labelled) => format!("{labelled},instance=\"a\"}}"),
        None => format!("{series}{{instance=\"a\"}}"),
    }
}

/// One process fetches it while the others wait; its folder is there when all of it is.
fn unpacked(folder: &Path) -> Result<(), String> {
    let _turn = locked(&folder.with_extension("lock"));
    if folder.join(PROGRAM).exists() { Ok(()) } else { fetched(|| unpacked_anew(folder)) }
}

/// Unpacked beside its place, and then moved there.
fn unpacked_anew(folder: &Path) -> Result<(), String> {
    let new = folder.with_extension("new");
    for left in [folder, new.as_path()] {
        if left.exists() {
            fs::remove_dir_all(left).expect("a folder under target/ can be emptied");
        }
    }
    fs::create_dir_all(&new).expect("a folder under target/");
    let package = package_in(&new)?;
    succeeded(Command::new("dpkg").arg("-x").arg(package).arg(&new))?;
    fs::rename(new, folder).map_err(|why| why.to_string())
}

/// Debian's package, downloaded into this folder.
fn package_in(folder: &Path) -> Result<PathBuf, String> {
    let download = || succeeded(Command::new("apt-get").args(["download", "prometheus"]).current_dir(folder));
    // The lists of a fresh machine are empty.
    download().or_else(|_| succeeded(Command::new("apt-get").arg("update")).and_then(|_| download()))?;
    let mut files = fs::read_dir(folder).expect("a folder").filter_map(Result::ok).map(|entry| entry.path());
    let package = files.find(|path| path.extension().is_some_and(|extension| extension == "deb"));
    package.ok_or_else(|| "it was downloaded, and is not there".to_owned())
}
