//! A request, before there is a server to send it to: a value that can be looked at.

use http::Method;
use url::Url;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Request {
    pub(crate) method: Method,
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: Option<String>,
}

impl Request {
    pub(crate) fn get(path: &[&str]) -> Self {
        Self::new(Method::GET, path)
    }

    pub(crate) fn post(path: &[&str]) -> Self {
        Self::new(Method::POST, path)
    }

    pub(crate) fn new(method: Method, path: &[&str]) -> Self {
        let path = ["v1"].iter().chain(path).map(|&segment| segment.to_owned()).collect();
        Self { method, path, query: Vec::new(), headers: Vec::new(), body: None }
    }

    #[must_use]
    pub(crate) fn query(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.query.extend(value.map(|value| (name, value.to_string())));
        self
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &'static str, value: Option<impl ToString>) -> Self {
        self.headers.extend(value.map(|value| (name, value.to_string())));
        self
    }

    #[must_use]
    pub(crate) fn json(self, body: &impl serde::Serialize) -> Self {
        let body = serde_json::to_string(body).expect("fields are text");
        Self { body: Some(body), ..self }
    }

    /// Below the server's own path: an API behind a gateway may have a stage in front.
    pub(crate) fn url(&self, server: &Url) -> Url {
        let mut url = server.clone();
        url.path_segments_mut().expect("http has a path").pop_if_empty().extend(&self.path);
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        url
    }
}

/// An id as the path names it. Checked here, because `..` in a path would mean another request.
pub(crate) fn id(text: &str) -> Result<String, String> {
    let legal = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if text.is_empty() || !text.chars().all(legal) {
        return Err("an id has only letters, digits, _ and -".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_stands_below_the_servers_own_path() {
        let request = Request::get(&["jobs", "job_1"]);
        let cases = [
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/jobs/job_1"),
            ("http://127.0.0.1:8080/", "http://127.0.0.1:8080/v1/jobs/job_1"),
            ("https://x.example/prod", "https://x.example/prod/v1/jobs/job_1"),
            ("https://x.example/prod/", "https://x.example/prod/v1/jobs/job_1"),
        ];
        for (server, url) in cases {
            assert_eq!(request.url(&Url::parse(server).unwrap()).as_str(), url);
        }
    }

    #[test]
    fn what_is_asked_for_is_escaped_and_what_is_not_is_left_out() {
        let request = Request::get(&["jobs"]).query("tag", Some("a&b=c é")).query("owner", None::<String>);

        let url = request.url(&Url::parse("http://h").unwrap());

        assert_eq!(url.as_str(), "http://h/v1/jobs?tag=a%26b%3Dc+%C3%A9");
    }

    #[test]
    fn an_id_cannot_lead_elsewhere() {
        assert!(id("job_06gzmvcpq5xc3xgyx14fxfeyh0").is_ok());
        for text in ["", "..", "a/b", "a?b", "a#b", "a%2f", "a b", "é"] {
            assert!(id(text).is_err(), "{text}");
        }
    }
}
