//! What lies under a tenant: all of it is found and can be erased, and nothing of another's.

use std::sync::Arc;

use minutehand_domain::head::Head;
use minutehand_domain::id::Tenant;
use minutehand_domain::timer::Timer;
use minutehand_io::store::{Guard, Remain, Store};

use super::lists::put_head;
use super::world::{at, job, jobs, named, note, run, timer, write_note, write_run};

pub async fn all_that_lies_under_a_tenant_is_found_and_erased_and_nothing_of_another<S: Store>(store: Arc<S>) {
    let (gone, stays) = (named("acme"), named("acme2"));
    for (place, tenant) in [(0, &gone), (100, &stays)] {
        for number in place..place + 20 {
            put_head(&*store, &Head::Job(job(tenant, number))).await;
            let run = minutehand_domain::run::Run { tenant: tenant.clone(), ..run(number, 60) };
            assert!(write_run(&*store, &run, Guard::Absent).await.unwrap().is_written());
            store.put_timer(&Timer { tenant: tenant.clone(), ..timer(number, 60) }).await.unwrap();
        }
        assert!(write_note(&*store, tenant, &note("one", 1), Guard::Absent).await.unwrap().is_written());
    }
    let (before, theirs) = (remains(&*store, &gone).await, remains(&*store, &stays).await);

    for remain in &before {
        store.erase(remain).await.unwrap();
        store.erase(remain).await.expect("what is gone is gone");
    }

    assert!(before.len() >= 61, "{}", before.len());
    assert_eq!(remains(&*store, &gone).await, []);
    assert_eq!(remains(&*store, &stays).await, theirs);
    assert_eq!(jobs(&*store, &gone, None, 100).await.unwrap(), []);
    assert_eq!(jobs(&*store, &stays, None, 100).await.unwrap().len(), 20);
    let window = at(0)..at(3600);
    let across = store.runs_across(&gone, minutehand_io::store::Across::All, window, None, 100).await.unwrap();
    assert_eq!(across.unwrap_or_default().runs, []);
}

async fn remains<S: Store>(store: &S, tenant: &Tenant) -> Vec<Remain> {
    let (mut all, mut behind) = (Vec::new(), None);
    loop {
        let page = store.remains(tenant, behind).await.unwrap();
        all.extend(page.lying);
        behind = page.next;
        if behind.is_none() {
            return all;
        }
    }
}
