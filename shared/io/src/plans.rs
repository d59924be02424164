//! Plans: the versions of workflows that a process has compiled. A version never changes, so that what is known once is known for
//! as long as there is room.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use minutehand_domain::Moment;
use minutehand_domain::access::By;
use minutehand_domain::id::Tenant;
use minutehand_domain::workflow::WorkflowId;
use minutehand_domain::workflow::definition::Definition;
use minutehand_domain::workflow::plan::Plan;

use crate::Fault;
use crate::shapes::definition;
use crate::store::{DefinitionPiece, Guard, Put, Store};

const PORT: &str = "the store";
/// Tasks of all plans that a process keeps: some ten megabytes.
const TASKS: usize = 20_000;
/// What one item holds of a definition: an item of the table has at most 400 KB, and a character at most four bytes.
const PIECE_BYTES: usize = 256 * 1024;

type Version = (Tenant, WorkflowId, u32);

#[derive(Default)]
pub struct Plans(Mutex<BTreeMap<Version, Arc<Plan>>>);

/// A version as it is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredVersion {
    pub definition: Definition,
    pub made_at: Moment,
    pub made_by: String,
}

impl Plans {
    /// The plan of a version; none where there is no such version.
    pub async fn of<S: Store>(
        &self,
        store: &S,
        tenant: &Tenant,
        workflow: WorkflowId,
        version: u32,
    ) -> Result<Option<Arc<Plan>>, Fault> {
        let key = (tenant.clone(), workflow, version);
        if let Some(plan) = self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Some(Arc::clone(plan)));
        }
        let Some(stored) = Box::pin(read(store, tenant, workflow, version)).await? else { return Ok(None) };
        let plan = Plan::new(stored.definition)
            .map_err(|bad| Fault::unreadable(PORT, format!("{workflow}, version {version}: {}", bad[0])))?;
        let plan = Arc::new(plan);
        self.keep(key, &plan);
        Ok(Some(plan))
    }

    fn keep(&self, key: Version, plan: &Arc<Plan>) {
        let mut plans = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let tasks =
            |plans: &BTreeMap<Version, Arc<Plan>>| plans.values().map(|plan| plan.nodes().count()).sum::<usize>();
        if tasks(&plans) + plan.nodes().count() > TASKS {
            plans.clear();
        }
        plans.insert(key, Arc::clone(plan));
    }
}

/// A version as it was written; none where there is none, or where its writer died in the middle.
pub async fn read<S: Store>(
    store: &S,
    tenant: &Tenant,
    workflow: WorkflowId,
    version: u32,
) -> Result<Option<StoredVersion>, Fault> {
    let Some(first) = store.get::<DefinitionPiece>(tenant, (workflow, version, 0)).await? else { return Ok(None) };
    let mut text = first.item.text;
    for piece in 1..first.item.of {
        let Some(next) = store.get::<DefinitionPiece>(tenant, (workflow, version, piece)).await? else {
            return Ok(None);
        };
        text.push_str(&next.item.text);
    }
    let definition = definition::read(&text)?;
    Ok(Some(StoredVersion { definition, made_at: first.item.at, made_by: first.item.by }))
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
        assert!(Plans::default().of(&store, &tenant, WORKFLOW, 2).await.unwrap().is_none());
    }

    #[tokio::test]
    async fn a_plan_is_known_without_a_read() {
        let (store, tenant, plans) = (MemoryStore::in_memory(), Tenant::deployment(), Plans::default());
        assert!(write(&store, &tenant, (WORKFLOW, 1), &definition("x"), (AT, &By::host())).await.unwrap());

        let plan = plans.of(&store, &tenant, WORKFLOW, 1).await.unwrap().unwrap();
        let elsewhere = plans.of(&MemoryStore::in_memory(), &tenant, WORKFLOW, 1).await.unwrap();
        let of_another = plans.of(&store, &Tenant::new("other").unwrap(), WORKFLOW, 1).await.unwrap();

        assert_eq!(elsewhere, Some(plan));
        assert_eq!(of_another, None, "each tenant's are its own");
    }
}
