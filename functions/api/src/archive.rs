//! What an archive keeps of a run, wherever it is: a line of JSON, as the API shows it, in a folder by its tenant and the day of its end.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use minutehand_domain::Moment;
use minutehand_domain::id::Tenant;
use minutehand_domain::run::Run;
use minutehand_io::{Fault, Ports};
use minutehand_wire::run_view::RunView;

use crate::runs::shown;

/// How the names of an archive's files end.
pub const ENDING: &str = ".jsonl.gz";

/// A run as it is kept: whose it is, when it ended, and what is said of it.
#[derive(Clone, Debug)]
pub struct Record {
    pub tenant: Tenant,
    pub ended: Moment,
    pub line: String,
}

impl Record {
    /// None of a run that has not ended.
    pub async fn of<D: Ports>(ports: &D, run: Run) -> Result<Option<Self>, Fault> {
        let Some(ended) = run.finished_at() else { return Ok(None) };
        let tenant = run.tenant.clone();
        Self::with(tenant, ended, &shown(ports, run).await?).map(Some)
    }

    /// Without what lies beneath it, as a list of the API shows it.
    pub fn listed(run: &Run, now: Moment) -> Result<Option<Self>, Fault> {
        run.finished_at().map(|ended| Self::with(run.tenant.clone(), ended, &RunView::listed(run, now))).transpose()
    }

    fn with(tenant: Tenant, ended: Moment, view: &RunView) -> Result<Self, Fault> {
        let line = serde_json::to_string(view).map_err(|why| Fault::unreadable("the archive", why.to_string()))?;
        Ok(Self { tenant, ended, line })
    }

    /// By tenant and by day: `acme/2026/11/25`.
    pub fn folder(&self) -> String {
        format!("{}/{}", self.tenant.as_str(), day_of(self.ended))
    }
}

/// As part of a folder's name: `2026/11/25`.
pub fn day_of(at: Moment) -> String {
    at.to_string().get(..10).unwrap_or_default().replace('-', "/")
}

/// Lines as one whole member of gzip: what is appended to others is read with them.
pub fn member<'a>(lines: impl IntoIterator<Item = &'a str>) -> io::Result<Vec<u8>> {
    let mut member = GzEncoder::new(Vec::new(), Compression::default());
    for line in lines {
        member.write_all(line.as_bytes())?;
        member.write_all(b"\n")?;
    }
    member.finish()
}
