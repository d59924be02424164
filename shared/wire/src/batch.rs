//! A batch of jobs: each is made, or refused, as if it had come alone.

use minutehand_domain::limits::BATCH_JOBS;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

use crate::body::Json;
use crate::job_request::JobRequest;
use crate::job_view::JobView;
use crate::problem::Problem;

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BatchRequest {
    /// Each is answered on its own, so that what is no job at all is no mistake of the whole.
    #[schemars(schema_with = "jobs", length(max = BATCH_JOBS))]
    pub jobs: Vec<Json>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchView {
    /// In the order of the jobs.
    pub results: Vec<BatchResultView>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BatchResultView {
    pub index: usize,
    /// What it would have been answered with alone.
    #[schemars(range(min = 200, max = 599))]
    pub status: u16,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job: Option<JobView>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<Problem>,
}

impl<'a> FromIterator<&'a JobRequest> for BatchRequest {
    fn from_iter<I: IntoIterator<Item = &'a JobRequest>>(jobs: I) -> Self {
        Self { jobs: jobs.into_iter().map(Json::of).collect() }
    }
}

fn jobs(generator: &mut SchemaGenerator) -> Schema {
    let job = generator.subschema_for::<JobRequest>();
    json_schema!({ "type": "array", "items": { "anyOf": [job, { "title": "anything: it gets a problem of its own" }] } })
}
