//! Documents: found and listed by their names, each kind and each tenant's for itself.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::access::{ApiKey, KeyId, KeyUse, Role, SecretHash};
use minutehand_domain::id::{RunKey, Tenant};
use minutehand_domain::idempotency::{Asked, AskedName, Fingerprint};
use minutehand_domain::quota::{Limits, Quota};
use minutehand_domain::secret::{Label, Sealed, Secret};
use minutehand_domain::signing::SigningSecrets;
use minutehand_io::store::item::Listed;
use minutehand_io::store::{Across, Guard, Put, RunsPage, Seen, Store, Version};

use super::lists::{put_head, put_run};
use super::world::{
    Note, Notebook, START, at, head, job_id, jobs, named, note, notes, run, runs_of, tenant, write_note, written,
};

pub async fn a_document_is_found_by_its_name_and_kind<S: Store>(store: Arc<S>) {
    let version = put_note(&*store, &tenant(), &note("one", 7)).await;

    let found = store.get::<Note>(&tenant(), "one".to_owned()).await.unwrap();

    assert_eq!(found, Some(Seen { item: note("one", 7), version }));
    assert_eq!(store.get::<Note>(&tenant(), "on".to_owned()).await.unwrap(), None);
    assert_eq!(store.get::<Notebook>(&tenant(), "one".to_owned()).await.unwrap(), None);
    assert_eq!(store.get::<Note>(&named("other"), "one".to_owned()).await.unwrap(), None);
}

pub async fn a_document_is_replaced_only_as_it_was_seen<S: Store>(store: Arc<S>) {
    let put = async |version, guard| write_note(&*store, &tenant(), &note("one", version), guard).await.unwrap();
    let stands = |number, version| Put::Conflict(Some(Seen { item: note("one", number), version }));

    assert_eq!(put(1, Guard::Seen(Version(1))).await, Put::Conflict(None), "nothing can have been seen");
    let first = written(put(2, Guard::Absent).await);
    assert_eq!(put(3, Guard::Absent).await, stands(2, first));
    assert_eq!(put(4, Guard::Seen(first)).await, Put::Written(first.next()));
    assert_eq!(put(5, Guard::Seen(first)).await, stands(4, first.next()));
    assert_eq!(notes(&*store, &tenant(), None, 10).await.unwrap(), [note("one", 4)]);
}

pub async fn documents_come_in_pages_by_name<S: Store>(store: Arc<S>) {
    for name in ["e", "a", "d", "b", "b-2"] {
        put_note(&*store, &tenant(), &note(name, 1)).await;
    }
    let page = async |after| names(&notes(&*store, &tenant(), after, 2).await.unwrap());

    assert_eq!(page(None).await, ["a", "b"]);
    assert_eq!(page(Some("b")).await, ["b-2", "d"]);
    assert_eq!(page(Some("c")).await, ["d", "e"], "after a name that is none");
    assert_eq!(page(Some("d")).await, ["e"]);
    assert!(page(Some("e")).await.is_empty());
    assert_eq!(notes(&*store, &tenant(), None, 0).await.unwrap(), []);
}

pub async fn every_visible_name_is_listed<S: Store>(store: Arc<S>) {
    let visible = ["!", "!!", "0", "A/b", "key_0123", "~~~~"];
    for name in visible {
        put_note(&*store, &tenant(), &note(name, 1)).await;
    }

    assert_eq!(names(&notes(&*store, &tenant(), None, 10).await.unwrap()), visible);
    assert_eq!(names(&notes(&*store, &tenant(), Some(""), 10).await.unwrap()), visible);
    assert_eq!(names(&notes(&*store, &tenant(), Some("!"), 10).await.unwrap()), visible[1..]);
}

/// The second tenant's name begins with the first one's, and so does the second kind's.
pub async fn documents_of_another_tenant_or_kind_are_not_listed<S: Store>(store: Arc<S>) {
    let (ours, theirs) = (named("acme"), named("acme-2"));
    let book = Notebook { name: "one".to_owned() };
    put_note(&*store, &theirs, &note("one", 1)).await;
    put(&*store, &ours, book.name.clone(), &book).await;

    assert_eq!(notes(&*store, &ours, None, 10).await.unwrap(), []);
    assert_eq!(store.list::<Notebook>(&theirs, (), None, 10).await.unwrap().items, []);

    put_note(&*store, &ours, &note("one", 2)).await;
    assert_eq!(notes(&*store, &ours, None, 10).await.unwrap(), [note("one", 2)]);
    assert_eq!(notes(&*store, &theirs, None, 10).await.unwrap(), [note("one", 1)]);
    assert_eq!(store.list::<Notebook>(&ours, (), None, 10).await.unwrap().items, [book]);
}

pub async fn documents_are_neither_jobs_nor_runs<S: Store>(store: Arc<S>) {
    put_note(&*store, &tenant(), &note("one", 1)).await;
    put_note(&*store, &tenant(), &note(&job_id(1).to_string(), 1)).await;

    assert_eq!(jobs(&*store, &tenant(), None, 10).await.unwrap(), []);
    assert_eq!(runs_of(&*store, &tenant(), job_id(1), at(0)..at(600), None, 10).await.unwrap(), []);
    let across = store.runs_across(&tenant(), Across::All, at(0)..at(600), None, 10).await.unwrap();
    assert_eq!(across, Some(RunsPage::default()));

    put_head(&*store, &head(1)).await;
    put_run(&*store, &run(1, 60)).await;
    assert_eq!(notes(&*store, &tenant(), None, 10).await.unwrap().len(), 2);
}

pub async fn whatever_a_document_holds_is_found_as_it_was<S: Store>(store: Arc<S>) {
    let key = ApiKey {
        tenant: tenant(),
        id: KeyId::new(START, [7; 16]),
        name: "ä\u{0}🕐".to_owned(),
        role: Role::Operator,
        created_at: START,
        revoked_at: None,
        secret: SecretHash::of("first"),
        former: None,
        fingerprint: None,
        expires_at: None,
        pools: None,
    };
    let fingerprint = Fingerprint::of("POST /v1/keys", "{}", "idempotency_key").expect("this is JSON");
    let rotated = ApiKey {
        id: KeyId::new(at(1), [8; 16]),
        fingerprint: Some(fingerprint),
        ..key.rotated(SecretHash::of("second"), Duration::from_secs(60), at(1))
    };
    let revoked = ApiKey { id: KeyId::new(at(2), [9; 16]), ..rotated.revoked(at(2)) };
    let limits = Limits { max_jobs: Some(0), max_fires_per_minute: Some(u32::MAX), ..Limits::default() };
    let run = RunKey::redrive(job_id(1), at(60), u64::MAX);

    let ending = ApiKey { id: KeyId::new(at(3), [6; 16]), expires_at: Some(at(4)), ..key.clone() };

    for key in [key, rotated, revoked, ending] {
        is_kept(&*store, key.id, &key).await;
        is_kept(&*store, key.id, &KeyUse { id: key.id, last_used_at: at(5) }).await;
    }
    let (tenant, name) = (tenant(), "stripe-key".parse().expect("a name"));
    let sealed = Sealed { by: "a key".to_owned(), bytes: (0..=255).collect() };
    let secret = Secret::new(Label { tenant: &tenant, name: &name }, sealed.clone(), START).written(sealed, at(1));
    is_kept(&*store, name.clone(), &secret).await;
    is_kept(&*store, named("other"), &Quota::new(named("other"), limits)).await;
    is_kept(&*store, named("a"), &Quota::new(named("a"), Limits::default())).await;
    is_kept(&*store, (), &SigningSecrets::new([7; 32], START).rotated([0; 32], Duration::from_secs(60), at(1))).await;
    let name = AskedName::of("once");
    is_kept(&*store, name, &Asked { name, fingerprint, run, until: None }).await;
}

async fn is_kept<S, T>(store: &S, key: T::Key, document: &T)
where
    S: Store,
    T: Listed<Within = ()> + PartialEq + Debug,
{
    put(store, &tenant(), key.clone(), document).await;
    let found = store.get::<T>(&tenant(), key).await.unwrap();
    assert_eq!(found.as_ref().map(|seen| &seen.item), Some(document));
    assert!(store.list::<T>(&tenant(), (), None, 10).await.unwrap().items.contains(document));
}

async fn put_note<S: Store>(store: &S, tenant: &Tenant, note: &Note) -> Version {
    written(write_note(store, tenant, note, Guard::Absent).await.unwrap())
}

async fn put<S: Store, T: Listed>(store: &S, tenant: &Tenant, key: T::Key, document: &T) {
    assert!(store.put(tenant, key, document, Guard::Absent).await.unwrap().is_written());
}

fn names(notes: &[Note]) -> Vec<String> {
    notes.iter().map(|note| note.name.clone()).collect()
}
