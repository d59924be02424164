//! Following: who runs behind a job, and what a run came of.

use minutehand_domain::Moment;
use minutehand_domain::follow::{Follower, Follows, Listed};
use minutehand_domain::id::{JobId, RunKey};
use minutehand_domain::workflow::edge::On;
use serde::{Deserialize, Serialize};

use super::definition::OnV1;
use super::run_key::RunKeyV1;
use super::{Shape as _, shapes};

shapes! {
    FollowerV1 => Follower,
    ListedV1 => Listed,
    FollowsV1 => Follows,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Follower")]
pub(crate) struct FollowerV1 {
    job: JobId,
    #[serde(with = "OnV1")]
    on: On,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Listed")]
pub(crate) struct ListedV1 {
    #[serde(with = "FollowerV1")]
    follower: Follower,
    generation: u64,
    since: Moment,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Follows")]
pub(crate) struct FollowsV1 {
    #[serde(with = "RunKeyV1")]
    run: RunKey,
    depth: u8,
}
