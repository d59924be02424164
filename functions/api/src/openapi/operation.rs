//! One operation of the document: a route's row in the table together with its documentation.

use http::{Method, StatusCode};
use minutehand_domain::access::Role;
use serde_json::{Map, Value, json};

use super::operation_doc::{AnswerHeader, Content, Example, OperationDoc, RequestBody, RequestHeader, ResponseDoc};
use super::problems;
use super::references::{header, link, parameter, response};
use super::schemas::{Schemas, without_null};
use crate::keyring::Need;
use crate::problem::Kind;

pub(crate) struct Operation {
    pub method: Method,
    pub path: &'static str,
    pub needs: Option<Need>,
    pub doc: OperationDoc,
}

impl Operation {
    /// The parameters of the path, in braces.
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
    }

    pub(super) fn render(&self, others: &[Self], schemas: &mut Schemas) -> Value {
        let doc = &self.doc;
        let mut rendered = json!({
            "operationId": doc.id,
            "tags": [doc.tag.name()],
            "summary": doc.summary,
            "description": self.description(),
            "security": self.security(),
            "responses": self.responses(others, schemas),
        });
        let parameters = self.parameters(schemas);
        if !parameters.is_empty() {
            rendered["parameters"] = parameters.into();
        }
        if let Some(takes) = &doc.takes {
            rendered["requestBody"] = takes.render(&self.method, &doc.examples, schemas);
        }
        rendered
    }

    fn description(&self) -> String {
        let who = match self.needs {
            None => "Needs no key.".to_owned(),
            Some(Need::Role(Role::Host)) => "Needs the deployment's own key.".to_owned(),
            Some(Need::Role(role)) => format!("Needs a key of the role {} or more.", role.as_str()),
            Some(Need::Work) => "Needs a key of the role worker, or of the role operator or more.".to_owned(),
        };
        let paragraphs =
            [self.doc.more.to_owned(), self.doc.takes.as_ref().map_or_else(String::new, RequestBody::bound), who];
        paragraphs.into_iter().filter(|it| !it.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    fn security(&self) -> Value {
        let word = |need| match need {
            Need::Role(role) => role.as_str(),
            Need::Work => "worker",
        };
        self.needs.map_or_else(|| json!([]), |need| json!([{ "key": [word(need)] }]))
    }

    fn parameters(&self, schemas: &mut Schemas) -> Vec<Value> {
        let path = self.names().map(parameter);
        let headers = self.doc.headers.iter().map(|header| parameter(header.name()));
        let query = self.doc.query.map(|query| of_query(schemas.request(query))).unwrap_or_default();
        path.chain(headers).chain(query).collect()
    }

    fn responses(&self, others: &[Self], schemas: &mut Schemas) -> Map<String, Value> {
        let good = self.doc.shows.iter().map(|shows| {
            let examples = self.doc.examples.iter().filter(|example| example.status == shows.status);
            let mut rendered = shows.render(examples, schemas);
            if let Some(id) = shows.leads_on {
                rendered["links"] = links(others, id);
            }
            (shows.status.as_str().to_owned(), rendered)
        });
        let mut all: Map<_, _> = good.collect();
        for (status, kinds) in self.refusals() {
            all.insert(status.as_str().to_owned(), response(&problems::name(&kinds)));
        }
        if self.doc.takes.is_some() {
            all.insert(StatusCode::REQUEST_TIMEOUT.as_str().to_owned(), response("TooSlow"));
        }
        all
    }

    /// The kinds of problem that the operation can answer, by status.
    fn refusals(&self) -> Vec<(StatusCode, Vec<Kind>)> {
        let can_happen = |kind: &Kind| self.doc.refuses.contains(kind) || self.allows(*kind);
        let mut all = Vec::<(StatusCode, Vec<Kind>)>::new();
        for kind in Kind::ALL.into_iter().filter(can_happen) {
            match all.last_mut().filter(|(status, _)| *status == kind.status()) {
                Some((_, kinds)) => kinds.push(kind),
                None => all.push((kind.status(), vec![kind])),
            }
        }
        all
    }

    /// Whether the operation can meet this kind of problem.
    fn allows(&self, kind: Kind) -> bool {
        let doc = &self.doc;
        match kind {
            // A parameter that the operation does not have is refused as invalid.
            Kind::Unauthorized | Kind::Forbidden | Kind::Invalid | Kind::QuotaExceeded | Kind::Unavailable => {
                self.needs.is_some()
            }
            Kind::NotFound => self.names().next().is_some(),
            Kind::Malformed | Kind::TooLarge | Kind::UnsupportedMediaType => doc.takes.is_some(),
            Kind::MethodNotAllowed | Kind::Conflict | Kind::VersionMismatch | Kind::KeyReused => false,
        }
    }
}

impl RequestBody {
    fn bound(&self) -> String {
        format!("The body has at most {} bytes.", self.most_bytes)
    }

    fn render(&self, method: &Method, examples: &[Example], schemas: &mut Schemas) -> Value {
        let schema = if self.as_patch { schemas.patch(self.schema) } else { schemas.request(self.schema) };
        let mut content = json!({ "schema": schema });
        if !examples.is_empty() {
            let rendered = examples.iter().map(|it| (it.name.to_owned(), json!({ "value": it.request })));
            content["examples"] = rendered.collect::<Map<_, _>>().into();
        }
        let media_types = ["application/json", "application/merge-patch+json"].into_iter();
        let media_types = media_types.take(if method == Method::PATCH { 2 } else { 1 });
        let content: Map<_, _> = media_types.map(|it| (it.to_owned(), content.clone())).collect();
        json!({ "required": self.required, "content": content })
    }
}

impl ResponseDoc {
    fn render<'a>(&self, examples: impl Iterator<Item = &'a Example>, schemas: &mut Schemas) -> Value {
        let mut headers = json!({ "Request-Id": header("RequestId") });
        for (name, component) in self.headers.iter().map(|it| it.names()) {
            headers[name] = header(component);
        }
        let mut rendered = json!({ "description": self.description, "headers": headers });
        if let Some(Content { media_type, schema }) = &self.content {
            let mut content = json!({ "schema": schemas.shown(*schema) });
            let examples: Map<_, _> = examples.map(|it| (it.name.to_owned(), json!({ "value": it.answer }))).collect();
            if !examples.is_empty() {
                content["examples"] = examples.into();
            }
            rendered["content"] = json!({ *media_type: content });
        }
        rendered
    }
}

/// The components that `links` refers to: from an answer that shows a resource to the operations that take its id.
pub(super) fn link_components(operations: &[Operation]) -> Map<String, Value> {
    let with_id = operations.iter().filter_map(|it| Some((it, it.names().find(|name| name.ends_with("_id"))?)));
    let link = |(it, id): (&Operation, &str)| {
        let rendered = json!({ "operationId": it.doc.id, "parameters": { id: format!("$response.body#/{id}") } });
        (it.doc.id.to_owned(), rendered)
    };
    with_id.map(link).collect()
}

/// Links from a new resource to all operations that take its id.
fn links(all: &[Operation], id: &str) -> Value {
    let onwards = all.iter().filter(|it| it.names().any(|name| name == id));
    onwards.map(|it| (it.doc.id.to_owned(), link(it.doc.id))).collect::<Map<_, _>>().into()
}

/// Each field of the struct that a query is parsed into.
fn of_query(schema: Value) -> Vec<Value> {
    let Value::Object(mut schema) = schema else { return Vec::new() };
    let Some(Value::Object(fields)) = schema.remove("properties") else { return Vec::new() };
    fields.into_iter().map(|(name, field)| query_parameter(&name, field)).collect()
}

/// An optional parameter is absent, never null: no query can carry null.
fn query_parameter(name: &str, mut schema: Value) -> Value {
    without_null(&mut schema);
    let description = schema.as_object_mut().and_then(|fields| fields.remove("description"));
    let mut rendered = json!({ "name": name, "in": "query", "schema": schema });
    if let Some(description) = description {
        rendered["description"] = description;
    }
    rendered
}

impl RequestHeader {
    const fn name(self) -> &'static str {
        match self {
            Self::IfMatch => "IfMatch",
            Self::IfNoneMatch => "IfNoneMatch",
            Self::Traceparent => "Traceparent",
            Self::Tracestate => "Tracestate",
            Self::IdempotencyKey => "IdempotencyKey",
        }
    }
}

impl AnswerHeader {
    /// The name on the wire and the name as a component.
    const fn names(self) -> (&'static str, &'static str) {
        match self {
            Self::Location => ("Location", "Location"),
            Self::ETag => ("ETag", "ETag"),
            Self::ETagIfThere => ("ETag", "ETagIfThere"),
            Self::Replayed => ("Idempotency-Replayed", "IdempotencyReplayed"),
            Self::ReplayedIfSo => ("Idempotency-Replayed", "IdempotencyReplayedIfSo"),
        }
    }
}
