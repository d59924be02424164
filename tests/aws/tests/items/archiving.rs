//! Archiving: a run that ended, was deleted by the table, and comes by the stream.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use flate2::read::MultiGzDecoder;
use minutehand_archiver::{Archived, Shelf, archive};
use minutehand_aws_tests::stream::{EXPIRY, batch, image, removed};
use minutehand_domain::access::By;
use minutehand_domain::id::Tenant;
use minutehand_domain::operation::{Erasing, Erasure, Operation, OperationHead, OperationId, Work};
use minutehand_domain::{Moment, pace};
use minutehand_io::store::{Guard, Store as _};
use minutehand_io::{Fault, Ports as _};

use super::*;

/// What was put, by its name; or that nothing can be.
#[derive(Default)]
struct Kept {
    objects: Mutex<BTreeMap<String, Vec<u8>>>,
    is_away: bool,
    /// Puts that are under way, and the most that were.
    under_way: AtomicUsize,
    most: AtomicUsize,
}

impl Shelf for Kept {
    async fn put(&self, name: &str, object: Vec<u8>) -> Result<(), Fault> {
        if self.is_away {
            return Err(Fault::unavailable("the shelf", "it is away"));
        }
        self.most.fetch_max(self.under_way.fetch_add(1, Relaxed) + 1, Relaxed);
        tokio::time::sleep(Duration::from_millis(5)).await;
        self.under_way.fetch_sub(1, Relaxed);
        self.objects.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned(), object);
        Ok(())
    }
}

impl Kept {
    fn lines(&self) -> Vec<(String, Vec<Value>)> {
        let objects = self.objects.lock().unwrap_or_else(PoisonError::into_inner);
        let read = |object: &Vec<u8>| {
            let mut text = String::new();
            MultiGzDecoder::new(object.as_slice()).read_to_string(&mut text).expect("gzip");
            text.lines().map(|line| serde_json::from_str(line).expect(line)).collect()
        };
        objects.iter().map(|(name, object)| (name.clone(), read(object))).collect()
    }
}

/// A run with a long payload that was tried five times, which its table has deleted.
async fn gone(stage: &Stage) -> (Value, Vec<Value>) {
    let due = BEGIN + Duration::from_secs(90);
    let job = json!({
        "schedule": {"at": due.to_string()}, "target": {"http": {"url": "https://it.example/"}}, "payload": {"of": "x".repeat(20_000)},
        "retry": {"max_retries": 4, "initial_delay_seconds": 5, "jitter": "none"},
    });
    let id = stage.create(&job).await;
    stage.target_fails(true);
    stage
        .live_until(due + Duration::from_secs(300), Obligation::Occurrence(id.parse::<JobId>().unwrap()).shard(64))
        .await;
    let (_, listed) = stage.ask("GET", &format!("/v1/jobs/{id}/runs"), None).await;
    let run = listed["items"][0]["run_id"].as_str().expect("a run");
    let (_, shown) = stage.ask("GET", &format!("/v1/runs/{run}"), None).await;
    let (client, table) = (Client::new(&stage.dynamo().config()), tables().state);
    let all = all(stage, &table).await;
    let item = all.iter().find(|item| said(item, "sk").starts_with("run#")).expect("the run that failed");
    let key = item.iter().filter(|(name, _)| ["pk", "sk"].contains(&name.as_str()));
    let key = key.map(|(name, value)| (name.clone(), value.clone())).collect();
    client.delete_item().table_name(&table).set_key(Some(key)).send().await.expect("a delete");
    (shown, all.iter().map(image).collect())
}

/// Removed, one after the other: who deleted an item is not asked, and that of an erased tenant was archived; the fault of one put is passed over,
/// and the stream forgot what nobody had; what lies beneath is not read, and payload and first attempts were not there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_run_that_the_table_deleted_is_archived_as_the_api_showed_it() {
    let stage = Stage::new(Listing::ByHour).await;
    let (shown, images) = gone(&stage).await;
    let expired: Vec<Value> = images.iter().map(|image| removed("e1-a", Some(EXPIRY), image)).collect();
    let by_others: Vec<Value> =
        images.iter().flat_map(|image| [None, Some("AROAEXAMPLE")].map(|by| removed("e2", by, image))).collect();

    let (kept, away) = (Kept::default(), Kept { is_away: true, ..Kept::default() });
    let refused = archive(&*stage.api, &away, &batch(&expired)).await;
    let none = archive(&*stage.api, &kept, &batch(&by_others)).await.expect("an archive");
    let done = archive(&*stage.api, &kept, &batch(&expired)).await.expect("an archive");
    let again = archive(&*stage.api, &kept, &batch(&expired)).await.expect("an archive");

    assert!(refused.is_err());
    assert_eq!(none, Archived::default());
    assert_eq!((done, again), (Archived { runs: 1, objects: 1, ..Archived::default() }, done));
    let [(name, lines)] = &kept.lines()[..] else { panic!("one object: {:?}", kept.lines()) };
    assert_eq!(*name, format!("acme/2027/01/15/e1a-{}.jsonl.gz", expired.len()));
    let [line] = &lines[..] else { panic!("one run: {lines:?}") };
    assert_eq!(line["attempts"].as_array().map(Vec::len), Some(5));
    assert_eq!(line["payload"]["of"].as_str().map(str::len), Some(20_000));
    assert_eq!(line, &shown);
}

/// Removed: what cannot be read is a fault of the batch. It came again and again, and nothing behind it was archived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_nobody_can_read_is_kept_as_it_lay() {
    let stage = Stage::new(Listing::ByHour).await;
    let torn = json!({"pk": {"S": "acme#h#1"}, "sk": {"S": "run#1"}, "version": {"N": "1"}});

    let kept = Kept::default();
    let done = archive(&*stage.api, &kept, &batch(&[removed("e", Some(EXPIRY), &torn)])).await;

    assert_eq!(done.expect("an archive"), Archived { unreadable: 1, objects: 1, ..Archived::default() });
    assert_eq!(kept.lines(), [("_unreadable/acme/2027/01/15/e-1.jsonl.gz".to_owned(), vec![torn])]);
}

/// Removed, one after the other: the marks are not asked, and what expired of an erased tenant came back into its folder; they are asked of whatever ends
/// under the name, and whoever has it next had no archive; a mark counts whose erasure was never written, and a tenant that nobody had erased had none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_erased_meanwhile_is_not_archived() {
    let stage = Stage::new(Listing::ByHour).await;
    let (shown, images) = gone(&stage).await;
    let torn = json!({"pk": {"S": "acme#h#1"}, "sk": {"S": "run#1"}, "version": {"N": "1"}});
    let expired: Vec<Value> = images.iter().chain([&torn]).map(|image| removed("e", Some(EXPIRY), image)).collect();
    let ended = Moment::parse(shown["finished_at"].as_str().unwrap()).unwrap();
    let (behind, before) = (ended + Duration::from_secs(60), ended - Duration::from_secs(3600));
    let archived = async || {
        let archived = archive(&*stage.api, &Kept::default(), &batch(&expired)).await.expect("an archive");
        (archived.runs, archived.unreadable)
    };

    mark(&stage, before, false).await;
    assert_eq!(archived().await, (1, 1), "it ended in the name's next life");
    mark(&stage, behind, false).await;
    assert_eq!(archived().await, (0, 0), "the erasure may be about to be written");
    stage.jump_to(behind + pace::ORPHAN);
    assert_eq!(archived().await, (1, 1), "nobody has written it");
    mark(&stage, behind, true).await;
    assert_eq!(archived().await, (0, 0));
}

/// Marks the tenant as one whose erasure was asked for then, and has it begun.
async fn mark(stage: &Stage, since: Moment, is_begun: bool) {
    let (tenant, of, store) = (Tenant::new("acme").unwrap(), Tenant::deployment(), stage.api.store());
    let operation = OperationId::new(since, [1; 16]);
    if is_begun {
        let work = Work::Erase(Erasure::new(tenant.clone(), since));
        let begun = OperationHead::Operation(Operation::new(of.clone(), operation, work, By::host(), since).into());
        assert!(store.put(&of, operation, &begun, Guard::Absent).await.unwrap().is_written());
    }
    let there = store.get::<Erasing>(&of, tenant.clone()).await.unwrap();
    let guard = there.map_or(Guard::Absent, |seen| seen.guard());
    let mark = Erasing { tenant: tenant.clone(), of: of.clone(), operation, since };
    assert!(store.put(&of, tenant, &mark, guard).await.unwrap().is_written());
}

/// A release wrote the job anew, and was rolled back. Removed, one after the other: nothing waits for it, and a day of runs lacked what a deployment an
/// hour later would have read; what cannot be read beneath a run is as if the run could not be.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_lies_beneath_a_run_is_waited_for_and_then_done_without() {
    let stage = Stage::new(Listing::ByHour).await;
    let (shown, images) = gone(&stage).await;
    let (client, table) = (Client::new(&stage.dynamo().config()), tables().state);
    let mut job =
        all(&stage, &table).await.into_iter().find(|item| said(item, "id") == shown["job_id"]).expect("the job");
    job.insert("shape".to_owned(), AttributeValue::N("250".to_owned()));
    client.put_item().table_name(&table).set_item(Some(job)).send().await.expect("a put");
    let deleted = |seconds: i64| {
        let mut expired: Vec<Value> = images.iter().map(|image| removed("e", Some(EXPIRY), image)).collect();
        for change in &mut expired {
            change["dynamodb"]["ApproximateCreationDateTime"] = (stage.now().millis() / 1000 - seconds).into();
        }
        batch(&expired)
    };

    let kept = Kept::default();
    let young = archive(&*stage.api, &kept, &deleted(3600)).await;
    let old = archive(&*stage.api, &kept, &deleted(13 * 3600)).await.expect("an archive");

    assert!(young.is_err(), "{young:?}");
    assert_eq!(old, Archived { runs: 1, partial: 1, objects: 1, ..Archived::default() });
    let line = &kept.lines()[0].1[0];
    assert_eq!((&line["run_id"], &line["status"]), (&shown["run_id"], &json!("failed")));
}

/// A batch of which half came again, and then no more. Removed: the number in the name. The half replaced the whole, and what was in the other half
/// only was gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_of_a_batch_replaces_nothing_of_the_whole() {
    let stage = Stage::new(Listing::ByHour).await;
    let gone = |number: usize| {
        let torn = json!({"pk": {"S": "acme#h#1"}, "sk": {"S": format!("run#{number}")}, "version": {"N": "1"}});
        removed(&format!("e{number}"), Some(EXPIRY), &torn)
    };
    let whole: Vec<Value> = (0..250).map(gone).collect();

    let kept = Kept::default();
    let done = archive(&*stage.api, &kept, &batch(&whole)).await.expect("an archive");
    archive(&*stage.api, &kept, &batch(&whole[..130])).await.expect("an archive");

    assert_eq!(done, Archived { unreadable: 250, objects: 1, ..Archived::default() });
    let lines = kept.lines().into_iter().flat_map(|(_, lines)| lines);
    assert_eq!(lines.map(|line| line["sk"]["S"].to_string()).collect::<BTreeSet<String>>().len(), 250);
}

/// A request of S3 for each. Removed, one after the other: what is read waits for more (`IN_ONE_LOAD`), and there were 1,000 objects; objects are put
/// side by side.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_a_batch_each_tenant_has_one_object_and_many_are_put_side_by_side() {
    let stage = Stage::new(Listing::ByHour).await;
    let gone = |number: usize| {
        let partition = format!("tenant{}#h#1", number % 100);
        let torn = json!({"pk": {"S": partition}, "sk": {"S": format!("run#{number}")}, "version": {"N": "1"}});
        removed(&format!("e{number}"), Some(EXPIRY), &torn)
    };

    let kept = Kept::default();
    let done = archive(&*stage.api, &kept, &batch(&(0..1000).map(gone).collect::<Vec<_>>())).await;

    assert_eq!(done.expect("an archive"), Archived { unreadable: 1000, objects: 100, ..Archived::default() });
    assert_eq!(kept.most.load(Relaxed), 16);
}

/// Removed: what is read is put once it is much (`IN_ONE_LOAD`). All of a batch was held at once, of the longest runs half a gigabyte.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_much_waits_for_nothing_more() {
    let stage = Stage::new(Listing::ByHour).await;
    let gone = |number: usize| {
        let torn = json!({
            "pk": {"S": "acme#h#1"}, "sk": {"S": format!("run#{number}")}, "version": {"N": "1"}, "of": {"S": "x".repeat(100_000)},
        });
        removed(&format!("e{number}"), Some(EXPIRY), &torn)
    };

    let kept = Kept::default();
    let done = archive(&*stage.api, &kept, &batch(&(0..250).map(gone).collect::<Vec<_>>())).await;

    assert_eq!(done.expect("an archive"), Archived { unreadable: 250, objects: 3, ..Archived::default() });
}
