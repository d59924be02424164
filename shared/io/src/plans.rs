//! Plans: the versions of workflows that a process has compiled. A version never changes while its tenant lives, so that what is known once is
//! known for as long as there is room; but not for so long that a tenant can be erased meanwhile, and another version stand under its number.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fmt, mem};

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::id::Tenant;
use minutehand_domain::pace;
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::definition::Definition;
use minutehand_domain::workflow::plan::Plan;

use crate::Fault;
use crate::calendars::Calendars;
use crate::shapes::definition;
use crate::store::{DefinitionPiece, Guard, Put, Store};

const PORT: &str = "the store";
/// What the definitions of all plans that a process keeps have as text: compiled they take several times as much.
const BYTES: usize = 16 << 20;
/// What one item holds of a definition: an item of the table has at most 400 KB, and a character at most four bytes.
const PIECE_BYTES: usize = 256 * 1024;

type Version = (Tenant, WorkflowId, u32);

#[derive(Default)]
pub struct Plans {
    kept: Mutex<Kept>,
    calendars: Calendars,
}

#[derive(Default)]
struct Kept {
    plans: BTreeMap<Version, (Arc<Plan>, Moment)>,
    bytes: usize,
}

/// A version as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    pub definition: Definition,
    pub made_at: Moment,
    pub made_by: String,
}

impl Plans {
    /// What this process knows of calendars: their versions never change either.
    pub fn calendars(&self) -> &Calendars {
        &self.calendars
    }

    /// The plan of a version; none where there is no such version. What was read long ago is read again.
    pub async fn of<S: Store>(
        &self,
        store: &S,
        tenant: &Tenant,
        workflow: WorkflowId,
        version: u32,
        now: Moment,
    ) -> Result<Option<Arc<Plan>>, Fault> {
        let key = (tenant.clone(), workflow, version);
        if let Some(plan) = self.kept.lock().unwrap_or_else(PoisonError::into_inner).known(&key, now) {
            return Ok(Some(plan));
        }
        let Some((_, text)) = Box::pin(text_of(store, tenant, workflow, version)).await? else { return Ok(None) };
        let plan = Plan::new(definition::read(&text)?)
            .map_err(|bad| Fault::unreadable(PORT, format!("{workflow}, version {version}: {}", bad[0])))?;
        let plan = Arc::new(plan);
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).keep(key, (&plan, now), text.len());
        Ok(Some(plan))
    }
}

impl Kept {
    fn known(&self, key: &Version, now: Moment) -> Option<Arc<Plan>> {
        let (plan, read_at) = self.plans.get(key)?;
        pace::is_known(*read_at, now).then(|| Arc::clone(plan))
    }

    fn keep(&mut self, key: Version, (plan, read_at): (&Arc<Plan>, Moment), bytes: usize) {
        if self.bytes + bytes > BYTES {
            *self = Self::default();
        }
        if self.plans.insert(key, (Arc::clone(plan), read_at)).is_none() {
            self.bytes += bytes;
        }
    }
}

/// A version as it was written; none where there is none, or where its writer died in the middle.
pub async fn read<S: Store>(
    store: &S,
    tenant: &Tenant,
    workflow: WorkflowId,
    version: u32,
) -> Result<Option<StoredVersion>, Fault> {
    let Some((first, text)) = text_of(store, tenant, workflow, version).await? else { return Ok(None) };
    Ok(Some(StoredVersion { definition: definition::read(&text)?, made_at: first.at, made_by: first.by }))
}

/// Its first piece, and the text of all.
async fn text_of<S: Store>(
    store: &S,
    tenant: &Tenant,
    workflow: WorkflowId,
    version: u32,
) -> Result<Option<(DefinitionPiece, String)>, Fault> {
    let piece = async |number| store.get::<DefinitionPiece>(tenant, (workflow, version, number)).await;
    let Some(mut first) = piece(0).await?.map(|seen| seen.item) else { return Ok(None) };
    let mut text = mem::take(&mut first.text);
    for number in 1..first.of {
        let Some(next) = piece(number).await? else { return Ok(None) };
        text.push_str(&next.item.text);
    }
    Ok(Some((first, text)))
}

/// Writes a version, the first piece last: where that stands, all do. Says whether it stands as it was to be written: another may
/// have written the same number before.
pub async fn write<S: Store>(
    store: &S,
    tenant: &Tenant,
    (workflow, version): (WorkflowId, u32),
    definition: &Definition,
    (at, by): (Moment, &By),
) -> Result<bool, Fault> {
    let text = definition::write(definition)?;
    let pieces = pieces(&text);
    let of = u32::try_from(pieces.len()).unwrap_or(u32::MAX);
    for (number, text) in pieces.into_iter().enumerate().rev() {
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        let piece = DefinitionPiece { of, at, by: by.as_str().to_owned(), text: text.to_owned() };
        let there = match store.put(tenant, (workflow, version, number), &piece, Guard::Absent).await? {
            Put::Written(_) => continue,
            Put::Conflict(there) => there,
        };
        if there.is_none_or(|there| there.item.text != piece.text || there.item.of != of) {
            return Ok(false);
        }
    }
    Ok(true)
}

fn pieces(text: &str) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while rest.len() > PIECE_BYTES {
        let (piece, behind) = rest.split_at(rest.floor_char_boundary(PIECE_BYTES));
        pieces.push(piece);
        rest = behind;
    }
    pieces.push(rest);
    pieces
}

impl fmt::Debug for Plans {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Plans")
    }
}

#[cfg(all(test, feature = "embedded"))]
mod tests {
    use minutehand_domain::body::Json;
    use minutehand_domain::order::Terms;
    use minutehand_domain::target::Target;
    use minutehand_domain::workflow::definition::{Does, Task};
    use minutehand_domain::workflow::template::Template;

    use super::*;
    use crate::store::embedded::MemoryStore;

    const WORKFLOW: WorkflowId = WorkflowId::from_bytes([1; 16]);
    const AT: Moment = Moment::from_secs(1_800_000_000);

    fn definition(payload: &str) -> Definition {
        let does = Does::Call { target: Target::Noop, terms: Terms::default() };
        let payload = Some(Template::new(Json::of(&serde_json::json!(payload))).unwrap());
        Definition::new(vec![Task { payload, ..Task::new("a".parse().unwrap(), does) }])
    }

    #[tokio::test]
    async fn a_version_that_no_item_could_hold_reads_back_and_is_written_once() {
        let (store, tenant) = (MemoryStore::in_memory(), Tenant::deployment());
        let (long, other) = (definition(&"ä".repeat(300_000)), definition(&"ö".repeat(300_000)));
        let by = By::host();
        let write = |definition| write(&store, &tenant, (WORKFLOW, 1), definition, (AT, &by));

        let written = [write(&long).await, write(&long).await, write(&other).await].map(Result::unwrap);
        let read = read(&store, &tenant, WORKFLOW, 1).await.unwrap().unwrap();

        assert_eq!(written, [true, true, false]);
        assert_eq!((read.definition, read.made_at), (long, AT));
        assert!(Plans::default().of(&store, &tenant, WORKFLOW, 2, AT).await.unwrap().is_none());
    }

    #[test]
    fn what_is_kept_of_plans_is_bounded_by_their_bytes() {
        let (mut kept, plan) = (Kept::default(), Arc::new(Plan::new(definition("x")).unwrap()));
        let version = |number: u32| (Tenant::deployment(), WORKFLOW, number);

        for number in [1, 1, 2, 3] {
            kept.keep(version(number), (&plan, AT), BYTES / 2);
        }

        assert_eq!((kept.plans.into_keys().collect::<Vec<_>>(), kept.bytes), (vec![version(3)], BYTES / 2));
    }

    #[tokio::test]
    async fn a_plan_is_known_without_a_read() {
        let (store, tenant, plans) = (MemoryStore::in_memory(), Tenant::deployment(), Plans::default());
        assert!(write(&store, &tenant, (WORKFLOW, 1), &definition("x"), (AT, &By::host())).await.unwrap());

        let plan = plans.of(&store, &tenant, WORKFLOW, 1, AT).await.unwrap().unwrap();
        let elsewhere = plans.of(&MemoryStore::in_memory(), &tenant, WORKFLOW, 1, AT + pace::ORPHAN / 2).await.unwrap();
        let of_another = plans.of(&store, &Tenant::new("other").unwrap(), WORKFLOW, 1, AT).await.unwrap();

        assert_eq!(elsewhere, Some(plan));
        assert_eq!(of_another, None, "each tenant's are its own");
    }

    /// As behind an erasure, where the tenant begins anew with a workflow of the same key. Removed: the age of what is known. Runs of the new one began
    /// the tasks of the one that was erased, for as long as the process lived.
    #[tokio::test]
    async fn what_was_erased_and_made_anew_is_known_as_it_is_now() {
        let (tenant, plans) = (Tenant::deployment(), Plans::default());
        let (before, after) = (MemoryStore::in_memory(), MemoryStore::in_memory());
        for (store, task) in [(&before, "x"), (&after, "y")] {
            assert!(write(store, &tenant, (WORKFLOW, 1), &definition(task), (AT, &By::host())).await.unwrap());
        }
        let old = plans.of(&before, &tenant, WORKFLOW, 1, AT).await.unwrap();

        let erased = plans.of(&MemoryStore::in_memory(), &tenant, WORKFLOW, 1, AT + pace::ERASED_QUIET).await.unwrap();
        let new = plans.of(&after, &tenant, WORKFLOW, 1, AT + pace::ERASED_QUIET).await.unwrap();

        assert_eq!(erased, None);
        assert!(new.is_some() && new != old);
        assert_eq!(plans.of(&before, &tenant, WORKFLOW, 1, AT + pace::ERASED_QUIET).await.unwrap(), new);
    }
}
