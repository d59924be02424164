//! A call: one request, before there is a server to send it to, and what its answer reads as.

use std::marker::PhantomData;

use http::Method;
use serde::Serialize;
use url::{Url, form_urlencoded};

/// `T` is what the answer reads as.
#[derive(Debug)]
pub struct Call<T> {
    pub(crate) method: Method,
    path: Vec<String>,
    /// The last segment of the path, where people chose it: any word.
    query: Vec<(String, String)>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<String>,
    reads_as: PhantomData<fn() -> T>,
}

/// Also where what it reads as cannot be cloned.
impl<T> Clone for Call<T> {
    fn clone(&self) -> Self {
        Self {
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            headers: self.headers.clone(),
            body: self.body.clone(),
            reads_as: PhantomData,
        }
    }
}

impl<T> Call<T> {
    pub(crate) fn new(method: Method, path: &[&str]) -> Self {
        let path = ["v1"].iter().chain(path).map(|&segment| segment.to_owned()).collect();
        Self { method, path, query: Vec::new(), headers: Vec::new(), body: None, reads_as: PhantomData }
    }

    pub(crate) fn get(path: &[&str]) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: &[&str]) -> Self {
        Self::new(Method::POST, path)
    }

    /// Each field of a query that is given.
    pub(crate) fn query(mut self, query: &impl Serialize) -> Self {
        let text = serde_urlencoded::to_string(query).expect("a query has texts and numbers");
        self.query.extend(form_urlencoded::parse(text.as_bytes()).into_owned());
        self
    }

    /// With this in place of what the query says of it.
    #[must_use]
    pub fn with_query(mut self, name: &str, value: Option<impl ToString>) -> Self {
        if let Some(value) = value {
            self.query.retain(|(there, _)| there != name);
            self.query.push((name.to_owned(), value.to_string()));
        }
        self
    }

    /// What the query says of it.
    pub fn said(&self, name: &str) -> Option<&str> {
        self.query.iter().find(|(there, _)| there == name).map(|(_, value)| &**value)
    }

    pub(crate) fn json(self, body: &impl Serialize) -> Self {
        let body = serde_json::to_string(body).expect("a request is JSON");
        Self { body: Some(body), ..self }
    }

    /// Sent again with the same key, it is answered as the first time and does nothing more.
    #[must_use]
    pub fn once(self, idempotency_key: Option<&str>) -> Self {
        self.header("idempotency-key", idempotency_key)
    }

    /// Only if this is the thing's `ETag` still.
    #[must_use]
    pub fn if_match(self, etag: Option<&str>) -> Self {
        self.header("if-match", etag)
    }

    fn header(mut self, name: &'static str, value: Option<&str>) -> Self {
        self.headers.extend(value.map(|value| (name, value.to_owned())));
        self
    }

    pub fn method(&self) -> &Method {
        &self.method
    }

    pub fn headers(&self) -> &[(&'static str, String)] {
        &self.headers
    }

    pub fn body(&self) -> Option<&str> {
        self.body.as_deref()
    }

    /// Below the server's own path: an API behind a gateway may have a stage in front.
    pub fn url(&self, server: &Url) -> Url {
        let mut url = server.clone();
        if let Ok(mut segments) = url.path_segments_mut() {
            segments.pop_if_empty().extend(&self.path);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }

    /// Why it would be another request than was meant.
    pub(crate) fn is_refused(&self) -> Option<&'static str> {
        (!self.path.iter().all(|segment| is_id(segment))).then_some("an id has only letters, digits, _ and -")
    }

    /// Sent twice, it does what it does once.
    pub(crate) fn is_repeatable(&self) -> bool {
        let has_key = self.headers.iter().any(|(name, _)| *name == "idempotency-key");
        matches!(self.method, Method::GET | Method::PUT | Method::DELETE) || has_key
    }
}

/// Whether a text can be an id of the API: `..` in a path would mean another request.
pub fn is_id(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

#[cfg(test)]
mod tests {
    use minutehand_wire::JobsQuery;

    use super::*;

    #[test]
    fn a_call_stands_below_the_servers_own_path() {
        let call = Call::<()>::get(&["jobs", "job_1"]);
        let cases = [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/jobs/job_1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/jobs/job_1"),
            ("https://x.example/prod", "https://x.example/prod/v1/jobs/job_1"),
            ("https://x.example/prod/", "https://x.example/prod/v1/jobs/job_1"),
        ];
        for (server, url) in cases {
            assert_eq!(call.url(&Url::parse(server).unwrap()).as_str(), url);
        }
    }

    #[test]
    fn what_a_query_says_is_escaped_and_what_it_does_not_say_is_left_out() {
        let query = JobsQuery { tag: Some("a&b=c é".to_owned()), limit: Some(5), ..JobsQuery::default() };

        let call = Call::<()>::get(&["jobs"]).query(&query).with_query("limit", Some(7)).with_query("name", None::<u8>);

        let url = call.url(&Url::parse("http://h").unwrap());
        assert_eq!(url.as_str(), "http://h/v1/jobs?tag=a%26b%3Dc+%C3%A9&limit=7");
    }

    #[test]
    fn an_id_cannot_lead_elsewhere() {
        assert!(is_id("job_06gzmvcpq5xc3xgyx14fxfeyh0"));
        for text in ["", "..", "a/b", "a?b", "a#b", "a%2f", "a b", "é"] {
            assert!(!is_id(text), "{text}");
        }
    }

    #[test]
    fn a_post_is_repeatable_with_an_idempotency_key_alone() {
        let post = Call::<()>::post(&["jobs"]);

        assert!(!post.is_repeatable() && post.once(Some("k")).is_repeatable());
        assert!(!Call::<()>::new(Method::PATCH, &["jobs", "job_1"]).is_repeatable());
        assert!(Call::<()>::get(&["jobs"]).is_repeatable());
    }
}
