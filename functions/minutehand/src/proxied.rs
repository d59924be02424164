//! Behind a proxy: an API that listens on loopback only, and is reached from elsewhere all the same. Who may make a job could then
//! call what else listens on this machine, by a reach that was chosen for this machine's own users. So that is said, once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::extract::Request;
use http::HeaderMap;
use tower::util::MapRequestLayer;

/// What a proxy tells of itself or of its client.
const HEADERS: [&str; 3] = ["forwarded", "x-forwarded-for", "via"];

/// The same router; it warns when the first request comes through a proxy.
pub(crate) fn warned_of(router: Router) -> Router {
    let warned = Arc::new(AtomicBool::new(false));
    router.layer(MapRequestLayer::new(move |request: Request| {
        if let Some(header) = told_in(request.headers()).filter(|_| !warned.swap(true, Ordering::Relaxed)) {
            warn(header);
        }
        request
    }))
}

fn told_in(headers: &HeaderMap) -> Option<&'static str> {
    HEADERS.into_iter().find(|header| headers.contains_key(*header))
}

fn warn(header: &str) {
    tracing::error!(
        header,
        "requests come through a proxy, and jobs may call whatever listens on this machine, since the API listens on loopback only: \
         start with --reach public, or with --reach loopback if that is meant"
    );
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_proxy_is_known_by_any_of_its_headers() {
        let with = |name: &'static str| HeaderMap::from_iter([(name.parse().unwrap(), HeaderValue::from_static("x"))]);

        for header in HEADERS {
            assert_eq!(told_in(&with(header)), Some(header));
        }
        for header in ["host", "x-real-name", "authorization"] {
            assert_eq!(told_in(&with(header)), None, "{header}");
        }
    }
}
