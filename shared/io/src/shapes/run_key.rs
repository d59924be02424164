//! The key of a run: its id for people, its parts in bytes.

use std::borrow::Cow;

use minutehand_domain::Moment;
use minutehand_domain::id::{JobId, Origin, RunKey};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Shape, shapes};

shapes! { OriginV1 => Origin }

pub(crate) struct RunKeyV1;

impl Shape<RunKey> for RunKeyV1 {
    fn serialize<S: Serializer>(key: &RunKey, serializer: S) -> Result<S::Ok, S::Error> {
        if serializer.is_human_readable() { serializer.collect_str(key) } else { PartsV1::serialize(key, serializer) }
    }

    fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<RunKey, D::Error> {
        if !deserializer.is_human_readable() {
            return PartsV1::deserialize(deserializer);
        }
        Cow::<'de, str>::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "RunKey")]
struct PartsV1 {
    job: JobId,
    at: Moment,
    #[serde(with = "OriginV1")]
    origin: Origin,
    discriminator: u64,
}

/// `Task` and `Resume` came with workflows, `Callback` with callbacks, `Follow` with jobs that follow others, `Backfill` with operations,
/// `Notification` with messages. Whatever can name such a run is written in a later shape of its own where it does, so that a release that knows
/// none of them says that it is a later one's.
#[derive(Serialize, Deserialize)]
#[serde(remote = "Origin", rename_all = "snake_case")]
enum OriginV1 {
    Schedule,
    Manual,
    Redrive,
    Task,
    Resume,
    Follow,
    Callback,
    Backfill,
    Notification,
}
