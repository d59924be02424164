//! The data directories of releases, as `tests/data` keeps them: what each has stored, every later one opens and reads.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde_json::Value;

/// One release's data directory, and what it answered before it was killed.
#[derive(Debug)]
pub struct Release {
    pub version: String,
    pub expected: Value,
    place: PathBuf,
}

/// All of them: none is ever left out.
pub fn releases() -> Vec<Release> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("data");
    let places = fs::read_dir(data).expect("it is checked in").map(|entry| entry.expect("a name").path());
    let releases: Vec<_> = places.filter(|place| place.is_dir()).map(Release::in_place).collect();
    assert!(releases.iter().any(|release| release.version == "dc7fa05"), "the first of them is there");
    releases
}

impl Release {
    fn in_place(place: PathBuf) -> Self {
        let version = place.file_name().expect("a name").to_string_lossy().into_owned();
        let expected = fs::read_to_string(place.join("expected.json")).expect("it is checked in");
        Self { version, expected: serde_json::from_str(&expected).expect("JSON"), place }
    }

    /// Its directory as SIGKILL left it.
    pub fn unpack(&self, directory: &Path) {
        let packed = fs::read(self.place.join("minutehand.redb.gz")).expect("it is checked in");
        let mut store = Vec::new();
        GzDecoder::new(&*packed).read_to_end(&mut store).expect("it was packed by gzip");
        fs::write(directory.join("minutehand.redb"), store).expect("a directory of the test's own");
        fs::write(directory.join("admin.key"), self.text("/admin_key")).expect("a directory of the test's own");
    }

    /// What it answered, by a JSON pointer.
    pub fn text(&self, pointer: &str) -> &str {
        self.expected
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_else(|| panic!("{pointer} of {}", self.version))
    }

    /// The things it answered with under a name, each with the name it has there.
    pub fn each(&self, name: &str) -> impl Iterator<Item = (&String, &Value)> {
        self.expected[name].as_object().into_iter().flatten()
    }
}
