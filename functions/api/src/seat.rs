//! A seat: the place of a request at its host, which learns here whose it is. Connections are the host's, keys are the API's.

use std::sync::Arc;

use http::Extensions;
use minutehand_domain::id::Tenant;
use minutehand_io::events::Over;

use crate::problem::Problem;

/// A host puts one into the extensions of each request, as an `Arc<dyn Seat>`.
pub trait Seat: Send + Sync {
    /// The request is this tenant's. False where it has more requests under way than it may.
    fn is_taken_by(&self, tenant: &Tenant) -> bool;
}

/// Tells the host whose request this is; before its body is read, which may take long.
pub(crate) fn take(extensions: &Extensions, tenant: &Tenant) -> Result<(), Problem> {
    let full =
        || Problem::over_quota(Over::Connections, "more requests at a time than one tenant may send".to_owned(), 1);
    match extensions.get::<Arc<dyn Seat>>() {
        Some(seat) if !seat.is_taken_by(tenant) => Err(full()),
        Some(_) | None => Ok(()),
    }
}
