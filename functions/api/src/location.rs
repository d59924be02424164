//! The `Location` of a created resource.

use http::HeaderValue;
use http::header::{HeaderName, LOCATION};

/// The header. Paths consist of known words and of ids.
pub(crate) fn location(path: String) -> [(HeaderName, HeaderValue); 1] {
    [(LOCATION, HeaderValue::try_from(path).expect("base 32 is visible ASCII"))]
}
