//! Calendars: the versions that a process knows. A version is named by what it says and never changes, so that what is known once is known
//! for as long as there is room: no decision rests on something old.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use minutehand_domain::calendar::{Calendar, CalendarName, CalendarVersion, Rules};
use minutehand_domain::id::Tenant;

use crate::Fault;
use crate::shapes::calendar::RulesV1;
use crate::shapes::{Of, in_shape};
use crate::store::{Guard, KeptRules, Store};

const PORT: &str = "the store";
/// Of so many versions: with five hundred dates each they take some tens of MB.
const KNOWN: usize = 500;

type Version = (Tenant, CalendarVersion);

#[derive(Debug, Default)]
pub struct Calendars(Mutex<BTreeMap<Version, Arc<Calendar>>>);

impl Calendars {
    /// What a version says; none where there is no such version.
    pub async fn of<S: Store>(
        &self,
        store: &S,
        tenant: &Tenant,
        name: &CalendarName,
        version: CalendarVersion,
    ) -> Result<Option<Arc<Calendar>>, Fault> {
        let key = (tenant.clone(), version);
        if let Some(known) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Some(Arc::clone(known)));
        }
        let Some(kept) = store.get::<KeptRules>(tenant, (name.place(tenant), version)).await? else { return Ok(None) };
        let calendar = Arc::new(calendar_of(name, &kept.item.text)?);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= KNOWN {
            known.clear();
        }
        known.insert(key, Arc::clone(&calendar));
        Ok(Some(calendar))
    }
}

fn calendar_of(name: &CalendarName, text: &str) -> Result<Calendar, Fault> {
    let unreadable = |why: String| Fault::unreadable(PORT, format!("the calendar {name}: {why}"));
    let rules = serde_json::from_str::<Of<RulesV1, Rules>>(text).map_err(|why| unreadable(why.to_string()))?;
    Calendar::new(rules.0).map_err(|why| unreadable(why.to_string()))
}

/// Which version says this.
pub fn version_of(rules: &Rules) -> Result<(CalendarVersion, String), Fault> {
    let text = serde_json::to_string(&in_shape::<RulesV1, _>(rules))
        .map_err(|why| Fault::unreadable(PORT, format!("a calendar cannot be written: {why}")))?;
    Ok((CalendarVersion::of(text.as_bytes()), text))
}

/// Writes what a version says. Where it stands already it is the same.
pub async fn write<S: Store>(
    store: &S,
    tenant: &Tenant,
    name: &CalendarName,
    rules: &Rules,
) -> Result<CalendarVersion, Fault> {
    let (version, text) = version_of(rules)?;
    let _put = store.put(tenant, (name.place(tenant), version), &KeptRules { text }, Guard::Absent).await?;
    Ok(version)
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use chrono_tz::Tz;
    use minutehand_domain::Moment;
    use minutehand_domain::calendar::{Date, ExcludedDate, Maintenance, Time, WeekDays};

    use super::*;
    use crate::store::embedded::MemoryStore;

    fn rules() -> Rules {
        let reason = || Some("äöü".to_owned());
        let dated = |text| ExcludedDate { date: Date::parse(text).unwrap(), reason: reason() };
        let time = || Time { days: WeekDays::from_bits(0x60), from: 60, until: 1440, reason: reason() };
        Rules {
            description: Some("all there is".to_owned()),
            zone: Tz::America__New_York,
            dates: vec![dated("2027-07-04"), dated("--12-25")],
            excluded: vec![time()],
            allowed: vec![time(), Time { days: WeekDays::from_bits(0x7f), ..time() }],
            business_days: Some(WeekDays::from_bits(0x1f)),
            maintenance: vec![Maintenance { from: Moment::EPOCH, until: Moment::END, reason: None }],
        }
    }

    #[tokio::test]
    async fn a_version_reads_back_as_it_was_written_and_is_known_without_a_read() {
        let (store, tenant, calendars) = (MemoryStore::in_memory(), Tenant::deployment(), Calendars::default());
        let name: CalendarName = "us-holidays".parse().unwrap();

        let version = write(&store, &tenant, &name, &rules()).await.unwrap();
        let again = write(&store, &tenant, &name, &rules()).await.unwrap();
        let read = calendars.of(&store, &tenant, &name, version).await.unwrap().unwrap();
        let elsewhere = calendars.of(&MemoryStore::in_memory(), &tenant, &name, version).await.unwrap();
        let of_another = calendars.of(&store, &Tenant::new("other").unwrap(), &name, version).await.unwrap();

        assert_eq!((again, read.rules()), (version, &rules()));
        assert_eq!(elsewhere, Some(read));
        assert_eq!(of_another, None, "each tenant's are its own");
        assert_ne!(version, version_of(&Rules { description: None, ..rules() }).unwrap().0);
    }
}
