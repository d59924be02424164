//! A run is born: it is put where nothing is, and told of. Whoever comes second is answered with what is there.

use minutehand_domain::Moment;
use minutehand_domain::run::Run;
use minutehand_io::events::{Event, Events as _};
use minutehand_io::store::{Guard, Put, Store as _};
use minutehand_io::{Fault, Ports};

/// `from`: what stood for it until now, as an event says it.
pub(crate) async fn born<D: Ports>(ports: &D, run: &Run, from: &'static str, now: Moment) -> Result<Put<Run>, Fault> {
    let put = ports.store().put(&run.tenant, run.key, run, Guard::Absent).await?;
    if put.is_written() {
        ports.events().emit(&Event::Run { run, from, was: None, now });
    }
    Ok(put)
}
