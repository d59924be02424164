//! The documentation of a route, beyond its method, address and role.

use http::StatusCode;
use minutehand_domain::limits::{BATCH_BYTES, DEFINITION_BYTES};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::Value;

use crate::body::BODY_BYTES;
use crate::problem::Kind;

/// The schema of a type, from a generator that knows whether it is read or written.
pub(super) type SchemaOf = fn(&mut SchemaGenerator) -> Schema;

pub(crate) struct OperationDoc {
    /// Unique; generated clients name the operation by it.
    pub(super) id: &'static str,
    pub(super) tag: Tag,
    pub(super) summary: &'static str,
    pub(super) more: &'static str,
    pub(super) query: Option<SchemaOf>,
    pub(super) headers: Vec<RequestHeader>,
    pub(super) takes: Option<RequestBody>,
    pub(super) shows: Vec<ResponseDoc>,
    /// Problems beyond those that follow from the other fields.
    pub(super) refuses: Vec<Kind>,
    pub(super) examples: Vec<Example>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    Jobs,
    Runs,
    DeadLetters,
    Operations,
    Workflows,
    WorkflowRuns,
    Leases,
    Schedules,
    Calendars,
    Keys,
    Secrets,
    Notifications,
    Audit,
    Signing,
    Quotas,
    Deployment,
}

#[derive(Clone, Copy)]
pub(super) enum RequestHeader {
    IfMatch,
    IfNoneMatch,
    IdempotencyKey,
    Traceparent,
    Tracestate,
}

/// A request's body.
pub(super) struct RequestBody {
    pub schema: SchemaOf,
    pub required: bool,
    /// Whether the body is a merge-patch of the schema's type.
    pub as_patch: bool,
    pub most_bytes: usize,
}

/// A successful answer.
pub(crate) struct ResponseDoc {
    pub(super) status: StatusCode,
    pub(super) description: &'static str,
    pub(super) content: Option<Content>,
    pub(super) headers: Vec<AnswerHeader>,
    /// The id in the answer that other operations take, for links.
    pub(super) leads_on: Option<&'static str>,
}

pub(super) struct Content {
    pub media_type: &'static str,
    pub schema: SchemaOf,
}

#[derive(Clone, Copy)]
pub(super) enum AnswerHeader {
    Location,
    ETag,
    /// Of what may not be there yet, since it was only asked what would become of it.
    ETagIfThere,
    Replayed,
    /// Of what may also be a dry run.
    ReplayedIfSo,
}

/// A request and its answer. A test runs each.
pub(super) struct Example {
    pub name: &'static str,
    pub request: Value,
    pub status: StatusCode,
    pub answer: Value,
}

impl OperationDoc {
    pub(super) fn new(tag: Tag, id: &'static str, summary: &'static str) -> Self {
        Self {
            id,
            tag,
            summary,
            more: "",
            query: None,
            headers: Vec::new(),
            takes: None,
            shows: Vec::new(),
            refuses: Vec::new(),
            examples: Vec::new(),
        }
    }

    pub(super) fn more(self, more: &'static str) -> Self {
        Self { more, ..self }
    }

    pub(crate) const fn takes_parameters(&self) -> bool {
        self.query.is_some()
    }

    pub(super) fn query<T: JsonSchema>(self) -> Self {
        Self { query: Some(T::json_schema), ..self }
    }

    pub(super) fn takes<T: JsonSchema>(self) -> Self {
        self.with_body(RequestBody { schema: schema_of::<T>, required: true, as_patch: false, most_bytes: BODY_BYTES })
    }

    pub(super) fn may_take<T: JsonSchema>(self) -> Self {
        self.with_body(RequestBody { schema: schema_of::<T>, required: false, as_patch: false, most_bytes: BODY_BYTES })
    }

    pub(super) fn takes_many<T: JsonSchema>(self) -> Self {
        self.with_body(RequestBody { schema: schema_of::<T>, required: true, as_patch: false, most_bytes: BATCH_BYTES })
    }

    pub(super) fn takes_definition<T: JsonSchema>(self) -> Self {
        let (schema, required) = (schema_of::<T> as SchemaOf, true);
        self.with_body(RequestBody { schema, required, as_patch: false, most_bytes: DEFINITION_BYTES })
    }

    pub(super) fn takes_patch_of<T: JsonSchema>(self) -> Self {
        self.with_body(RequestBody { schema: schema_of::<T>, required: true, as_patch: true, most_bytes: BODY_BYTES })
    }

    fn with_body(self, takes: RequestBody) -> Self {
        Self { takes: Some(takes), ..self }
    }

    /// Marks the operation as idempotent by its key.
    pub(super) fn once(self) -> Self {
        self.header(RequestHeader::IdempotencyKey).refuses(Kind::KeyReused)
    }

    /// Marks the operation as one that keeps the trace that it is asked for in.
    pub(super) fn traced(self) -> Self {
        self.header(RequestHeader::Traceparent).header(RequestHeader::Tracestate)
    }

    /// Marks the operation as conditional on `If-Match`.
    pub(super) fn if_match(self) -> Self {
        self.header(RequestHeader::IfMatch).refuses(Kind::VersionMismatch).refuses(Kind::Malformed)
    }

    pub(super) fn header(mut self, header: RequestHeader) -> Self {
        self.headers.push(header);
        self
    }

    pub(super) fn shows(mut self, answer: ResponseDoc) -> Self {
        self.shows.push(answer);
        self
    }

    pub(super) fn refuses(mut self, kind: Kind) -> Self {
        self.refuses.push(kind);
        self
    }

    pub(super) fn example(mut self, name: &'static str, request: Value, status: StatusCode, answer: Value) -> Self {
        self.examples.push(Example { name, request, status, answer });
        self
    }
}

impl ResponseDoc {
    pub(super) fn json<T: JsonSchema>(status: StatusCode, description: &'static str) -> Self {
        Self::content(status, description, Content { media_type: "application/json", schema: schema_of::<T> })
    }

    pub(super) fn content(status: StatusCode, description: &'static str, content: Content) -> Self {
        Self { status, description, content: Some(content), headers: Vec::new(), leads_on: None }
    }

    pub(super) fn nothing(status: StatusCode, description: &'static str) -> Self {
        Self { status, description, content: None, headers: Vec::new(), leads_on: None }
    }

    pub(super) fn with(mut self, header: AnswerHeader) -> Self {
        self.headers.push(header);
        self
    }

    /// Marks the answer as showing a new resource, with its `Location`.
    pub(super) fn makes(self, id: &'static str) -> Self {
        self.leads_on(id).with(AnswerHeader::Location)
    }

    /// Marks the answer as showing a resource that other operations take.
    pub(super) fn leads_on(self, id: &'static str) -> Self {
        Self { leads_on: Some(id), ..self }
    }
}

impl Tag {
    pub(super) const ALL: [Self; 16] = [
        Self::Jobs,
        Self::Runs,
        Self::DeadLetters,
        Self::Operations,
        Self::Workflows,
        Self::WorkflowRuns,
        Self::Leases,
        Self::Schedules,
        Self::Calendars,
        Self::Keys,
        Self::Secrets,
        Self::Notifications,
        Self::Audit,
        Self::Signing,
        Self::Quotas,
        Self::Deployment,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Jobs => "Jobs",
            Self::Runs => "Runs",
            Self::DeadLetters => "Dead letters",
            Self::Operations => "Operations",
            Self::Workflows => "Workflows",
            Self::WorkflowRuns => "Workflow runs",
            Self::Leases => "Leases",
            Self::Schedules => "Schedules",
            Self::Calendars => "Calendars",
            Self::Keys => "Keys",
            Self::Secrets => "Secrets",
            Self::Notifications => "Notifications",
            Self::Audit => "Audit",
            Self::Signing => "Signing",
            Self::Quotas => "Quotas",
            Self::Deployment => "Deployment",
        }
    }

    pub(super) const fn description(self) -> &'static str {
        match self {
            Self::Jobs => "What to do, when, and how failure is treated.",
            Self::Runs => "One occurrence of a job being carried out, with every attempt.",
            Self::DeadLetters => "Runs that failed for good, until somebody tries them again or dismisses them.",
            Self::Operations => "What is done to many jobs or runs at once, by filter, and how far that has come.",
            Self::Workflows => "Graphs of tasks: their versions, and their runs.",
            Self::WorkflowRuns => {
                "A workflow being carried out: its tasks, what they wait for, and what people decide about them."
            }
            Self::Leases => "What workers elsewhere carry out: asked for, kept by heartbeats, ended.",
            Self::Schedules => "What a schedule means, before it is given to a job.",
            Self::Calendars => "When nothing fires of the jobs that heed them.",
            Self::Keys => "Who may call this API, for which tenant, in which role. Secrets are shown once.",
            Self::Secrets => {
                "What calls need and nobody is shown. A job names one, and it is put in when a call is made."
            }
            Self::Notifications => "Whom a tenant has told of which ends of runs, in digests.",
            Self::Audit => "What admins did, when, and whose key it was.",
            Self::Signing => "The secret that a tenant's targets know our calls by, as Standard Webhooks say.",
            Self::Quotas => "How much of the deployment each tenant may use.",
            Self::Deployment => "How the deployment is doing, and this document.",
        }
    }
}

pub(super) fn schema_of<T: JsonSchema>(generator: &mut SchemaGenerator) -> Schema {
    generator.subschema_for::<T>()
}
