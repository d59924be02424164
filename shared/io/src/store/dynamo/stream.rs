//! The stream of the table of jobs and runs: an item that is gone, as its record shows what stood there last.

use minutehand_domain::id::Tenant;
use minutehand_domain::run::Run;
use serde::Deserialize as _;
use serde_dynamo::Item as Told;
use serde_json::Value;

use super::PORT;
use super::items::{Attributes, PARTITION, SORT, said, seen};
use crate::Fault;
use crate::store::item::Item as _;

/// An item as a record of the stream shows it.
#[derive(Clone, Debug)]
pub struct Image(Attributes);

/// The run that stood there. None where it was no run's record.
pub fn run_in(image: &Image) -> Result<Option<Run>, Fault> {
    if !image.is_a_run() {
        return Ok(None);
    }
    Ok(Some(seen::<Run>(image.0.clone())?.item))
}

impl Image {
    /// From the JSON of a record: `{"pk": {"S": "…"}, …}`.
    pub fn read(image: &Value) -> Result<Self, Fault> {
        let told = Told::deserialize(image);
        let told =
            told.map_err(|why| Fault::unreadable(PORT, format!("an image of the stream that is no item: {why}")))?;
        Ok(Self(told.into()))
    }

    /// Whose it was.
    pub fn tenant(&self) -> Option<Tenant> {
        Tenant::new(said(&self.0, PARTITION)?.split('#').next()?).ok()
    }

    fn is_a_run(&self) -> bool {
        said(&self.0, SORT).and_then(|sort| sort.split('#').next()) == Some(Run::KIND)
    }
}

#[cfg(test)]
mod tests {
    use aws_sdk_dynamodb::types::AttributeValue;
    use minutehand_domain::Moment;
    use minutehand_domain::body::{Body, Json};
    use minutehand_domain::id::{JobId, RunKey};
    use minutehand_domain::priority::Priority;
    use minutehand_domain::run::State;
    use serde_json::json;

    use super::super::items::{attributes_of, under};
    use super::super::{Listing, keys};
    use super::*;

    fn image(item: Attributes) -> Value {
        serde_json::to_value(Told::from(item)).unwrap()
    }

    fn run() -> Run {
        let (now, job) = (Moment::from_secs(1_800_000_000), JobId::from_bytes([1; 16]));
        let result = Body::Inside(Json::of(&json!({"rows": [1, 2.50, null, "é"]})));
        let run = Run::new(Tenant::new("acme").unwrap(), RunKey::occurrence(job, now), Priority::Normal);
        Run { state: State::Succeeded { at: now, result }, ..run }
    }

    #[test]
    fn a_run_that_is_gone_is_read_as_it_was_written() {
        let run = run();
        let written = attributes_of(&run.tenant, &run, Listing::ByHour).unwrap();
        let mut written = under(&keys::item::<Run>(&run.tenant, &run.key), written).unwrap();
        written.insert("version".to_owned(), AttributeValue::N("3".to_owned()));

        let image = Image::read(&image(written)).unwrap();

        assert_eq!((run_in(&image).unwrap(), image.tenant()), (Some(run.clone()), Some(run.tenant)));
    }

    #[test]
    fn what_is_no_run_is_passed_over_and_what_cannot_be_read_is_said() {
        let attempt = json!({"pk": {"S": "acme#h#1"}, "sk": {"S": "attempt#1"}});
        let torn = json!({"pk": {"S": "acme#h#1"}, "sk": {"S": "run#1"}, "version": {"N": "1"}});

        assert_eq!(run_in(&Image::read(&attempt).unwrap()).unwrap(), None);
        assert!(run_in(&Image::read(&torn).unwrap()).unwrap_err().is_of_an_item());
        assert!(Image::read(&json!({"pk": "acme"})).unwrap_err().is_of_an_item());
    }
}
