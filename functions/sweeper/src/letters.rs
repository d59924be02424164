//! Letters: for how long the oldest of everybody's dead letters has waited for somebody, measured once a minute.

use minutehand_io::Ports;
use minutehand_io::metrics::{Measure, OLDEST_LETTER};
use minutehand_protocol::lookup::age_of_the_oldest_letter;

/// Where that cannot be read there is no measurement: none is not the same as no letter.
pub async fn tell_of_the_oldest_letter<D: Ports>(ports: &D, into: &dyn Measure) {
    match age_of_the_oldest_letter(ports).await {
        Ok(age) => into.add(&OLDEST_LETTER, &[], age.as_secs_f64()),
        Err(why) => tracing::warn!(%why, "how old the oldest dead letter is cannot be read"),
    }
}
