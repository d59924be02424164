//! A body: inside its item, or the name of the item that holds it.

use minutehand_domain::body::{Body, Digest, Json};
use serde::{Deserialize, Serialize};

use super::shapes;

shapes! { BodyV1 => Body }

#[derive(Serialize, Deserialize)]
#[serde(remote = "Body", rename_all = "snake_case")]
pub(crate) enum BodyV1 {
    Empty,
    Inside(Json),
    Apart(Digest),
}
