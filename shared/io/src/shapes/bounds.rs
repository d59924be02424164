//! With whom the runs of a job or of a task share a limit.

use minutehand_domain::slot::{Bounds, Concurrency, LimitKey, Rate};
use serde::{Deserialize, Serialize};

use super::{Maybe, shapes};

shapes! {
    BoundsV1 => Bounds,
    ConcurrencyV1 => Concurrency,
    RateV1 => Rate,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Bounds")]
pub(crate) struct BoundsV1 {
    #[serde(default, with = "Maybe::<ConcurrencyV1>")]
    concurrency: Option<Concurrency>,
    #[serde(default, with = "Maybe::<RateV1>")]
    rate: Option<Rate>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Concurrency")]
struct ConcurrencyV1 {
    key: LimitKey,
    limit: u32,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Rate")]
struct RateV1 {
    key: LimitKey,
    per_minute: u32,
}
