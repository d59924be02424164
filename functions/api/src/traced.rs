//! The trace that a request is made in: its headers `traceparent` and `tracestate`. What is no context is as if there were none: no request
//! fails because of how a proxy spells a trace. `baggage` is not read, and so goes nowhere.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use minutehand_domain::trace::TraceContext;

const PARENT: HeaderName = HeaderName::from_static("traceparent");
const STATE: HeaderName = HeaderName::from_static("tracestate");

/// The context, if there is one.
pub(crate) struct Traced(pub(crate) Option<TraceContext>);

impl<S: Sync> FromRequestParts<S> for Traced {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        Ok(Self(context_of(&parts.headers)))
    }
}

/// Two parents are none. A state may be in several headers, and is then one list.
fn context_of(headers: &HeaderMap) -> Option<TraceContext> {
    let mut parents = headers.get_all(PARENT).iter();
    let (Some(parent), None) = (parents.next(), parents.next()) else { return None };
    let state = headers.get_all(STATE).iter().map(|state| state.to_str().ok()).collect::<Option<Vec<_>>>();
    TraceContext::parse(parent.to_str().ok()?, state.map(|state| state.join(",")).as_deref())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;
    use minutehand_domain::trace::TraceState;

    use super::*;

    const ONE: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    /// What is kept of the state, or why nothing is.
    fn state_of(headers: &[(HeaderName, &str)]) -> String {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        let Some(context) = context_of(&map) else { return "no trace".to_owned() };
        context.state.as_ref().map_or("no state", TraceState::as_str).to_owned()
    }

    #[test]
    fn a_state_in_several_headers_is_one_list_and_two_parents_are_none() {
        assert_eq!(state_of(&[(PARENT, ONE), (STATE, "a=1"), (STATE, "b=2")]), "a=1,b=2");
        assert_eq!(state_of(&[(PARENT, ONE), (STATE, "a=\u{e4}")]), "no state");
        assert_eq!(state_of(&[(PARENT, ONE)]), "no state");
        assert_eq!(state_of(&[(PARENT, ONE), (PARENT, ONE)]), "no trace");
        assert_eq!(state_of(&[(STATE, "a=1")]), "no trace");
    }
}
