//! Where what was made can be found.

use http::HeaderValue;
use http::header::{HeaderName, LOCATION};

/// The header that says so. Paths are of known words and of ids.
pub(crate) fn location(path: String) -> [(HeaderName, HeaderValue); 1] {
    [(LOCATION, HeaderValue::try_from(path).expect("base 32 is visible ASCII"))]
}
