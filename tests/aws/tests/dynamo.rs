//! The store on DynamoDB: every fact of the conformance suite, the same answers as the embedded store's, and what only a
//! table far away can do to a writer.

mod facts {
    use minutehand_aws_tests::dynamo::Dynamo;
    use minutehand_io::store::dynamo::{DynamoStore, Listing};

    async fn make() -> (DynamoStore, Dynamo) {
        let dynamo = Dynamo::start().await;
        (dynamo.store(Listing::ByHour), dynamo)
    }

    minutehand_tests::store_facts!(make);
}

mod agreement {
    use minutehand_aws_tests::dynamo::Dynamo;
    use minutehand_io::store::dynamo::Listing;
    use minutehand_io::store::embedded::MemoryStore;
    use minutehand_tests::conformance::agreement::{agree, any_asks};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn dynamodb_and_memory_give_the_same_answers(asks in any_asks(120)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

            runtime.block_on(async {
                let dynamo = Dynamo::start().await;
                let memory = MemoryStore::with_shards(64);
                agree((&memory, &memory), (&dynamo.store(Listing::ByHour), &dynamo), &asks).await;
            });
        }
    }
}

/// What a table far away does to its writers, and no emulator does: see `Between`.
mod far_away {
    use std::collections::{BTreeMap, HashMap};
    use std::time::Duration;

    use aws_sdk_dynamodb::Client;
    use aws_sdk_dynamodb::types::AttributeValue;
    use futures_util::poll;
    use minutehand_aws_tests::between::{Asked, Between, Trouble};
    use minutehand_aws_tests::dynamo::{Dynamo, tables};
    use minutehand_domain::Moment;
    use minutehand_domain::body::Json;
    use minutehand_domain::head::Head;
    use minutehand_domain::id::{RunKey, Tenant};
    use minutehand_domain::run::{Attempt, Run};
    use minutehand_domain::survey::Survey;
    use minutehand_domain::timer::{Obligation, Timer, TimerKey};
    use minutehand_io::Fault;
    use minutehand_io::store::dynamo::{DynamoStore, Listing, Operation, Resource, Table};
    use minutehand_io::store::{
        Across, Bucket, Cursor, Deleted, Everything, Guard, Part, Put, RunsPage, Store, Updated,
    };
    use minutehand_tests::conformance::items::slot::Take;
    use minutehand_tests::conformance::items::{edge, take};
    use minutehand_tests::conformance::lists::put_run;
    use minutehand_tests::conformance::world::{
        Note, at, failed, head, head_by, job_id, jobs, note, notes, run, runs_of, tenant, timer, timers_in, write_body,
        write_head, write_note, write_run, written,
    };
    use tokio::net::TcpListener;
    use tokio::task::coop::unconstrained;

    /// A store whose requests go through what stands between.
    async fn far() -> (DynamoStore, Between, Dynamo) {
        far_with(Listing::Off).await
    }

    async fn far_with(listing: Listing) -> (DynamoStore, Between, Dynamo) {
        let dynamo = Dynamo::start().await;
        let between = Between::start(&dynamo.endpoint).await;
        (dynamo.store_at(&between.endpoint, listing), between, dynamo)
    }

    /// Tried: without the write's own name in the item, this is a conflict with itself, and a client would be told that
    /// somebody else had created the job.
    #[tokio::test]
    async fn a_write_whose_answer_was_lost_is_known_again() {
        let (store, between, _dynamo) = far().await;
        between.trouble("PutItem", Trouble::LosesTheAnswer);

        let put = write_head(&store, &head(1), Guard::Absent).await;

        let version = written(put.unwrap());
        assert_eq!(between.asked().len(), 2, "the SDK asked again");
        assert_eq!(store.get::<Head>(&tenant(), job_id(1)).await.unwrap().map(|seen| seen.version), Some(version));
    }

    /// The SDK gives up after three tries. Tried: without the look afterwards, the claim is a fault, its hint is given back, and
    /// finds the run held: by the one who asks.
    #[tokio::test]
    async fn a_write_of_which_every_answer_was_lost_is_known_by_a_look() {
        let (store, between, _dynamo) = far().await;
        for _ in 0..3 {
            between.trouble("PutItem", Trouble::LosesTheAnswer);
        }

        let put = write_run(&store, &run(1, 0), Guard::Absent).await;

        assert!(put.unwrap().is_written());
        assert_eq!(count(&between, "PutItem"), 3, "the SDK asked again and again");
    }

    /// What never arrived is no write of anybody's, and what another wrote is not one's own.
    #[tokio::test]
    async fn a_write_that_was_refused_to_the_end_stays_a_fault() {
        let (store, between, _dynamo) = far().await;
        let seen = put_run(&store, &run(1, 0)).await;
        for _ in 0..3 {
            between.trouble("PutItem", Trouble::Refused("ThrottlingException"));
        }

        let put = write_run(&store, &run(1, 0), Guard::Seen(seen)).await;

        assert!(matches!(put, Err(Fault::Unavailable { .. })), "{put:?}");
    }

    #[tokio::test]
    async fn of_two_writers_of_the_very_same_claim_one_is_told_that_it_lost() {
        let dynamo = Dynamo::start().await;
        let (one, other) = (dynamo.store(Listing::Off), dynamo.store(Listing::Off));

        let puts =
            [write_run(&one, &run(1, 0), Guard::Absent).await, write_run(&other, &run(1, 0), Guard::Absent).await];
        let again = write_run(&one, &run(1, 0), Guard::Absent).await;

        assert_eq!(puts.iter().filter(|put| put.as_ref().is_ok_and(Put::is_written)).count(), 1);
        assert!(matches!(again, Ok(Put::Conflict(Some(_)))), "nor may one process write the same twice: {again:?}");
    }

    #[tokio::test]
    async fn a_throttle_that_passes_is_waited_out_and_one_that_lasts_is_a_fault_that_wrote_nothing() {
        let throttles = ["ProvisionedThroughputExceededException", "ThrottlingException", "RequestLimitExceeded"];
        for code in throttles {
            let (store, between, _dynamo) = far().await;
            between.trouble("PutItem", Trouble::Refused(code));
            assert!(write_head(&store, &head(1), Guard::Absent).await.unwrap().is_written(), "{code}");

            for _ in 0..3 {
                between.trouble("PutItem", Trouble::Refused(code));
            }
            let lasting = write_head(&store, &head(2), Guard::Absent).await;

            assert!(matches!(lasting, Err(Fault::Unavailable { .. })), "{code}: {lasting:?}");
            assert_eq!(store.get::<Head>(&tenant(), job_id(2)).await, Ok(None), "{code}");
        }
    }

    #[tokio::test]
    async fn a_conflict_with_somebodys_transaction_is_a_fault_that_may_be_tried_again() {
        let (store, between, _dynamo) = far().await;
        for _ in 0..3 {
            between.trouble("PutItem", Trouble::Refused("TransactionConflictException"));
        }

        let put = write_run(&store, &run(1, 0), Guard::Absent).await;

        assert!(matches!(put, Err(Fault::Unavailable { .. })), "{put:?}");
    }

    #[tokio::test]
    async fn what_aws_refuses_for_good_is_no_fault_to_try_again() {
        let (store, between, _dynamo) = far().await;
        between.trouble("GetItem", Trouble::Refused("ValidationException"));

        let found = store.get::<Head>(&tenant(), job_id(1)).await;

        assert!(matches!(found, Err(Fault::Illegal { .. })), "{found:?}");
    }

    #[tokio::test]
    async fn an_item_that_dynamodb_would_not_take_never_leaves() {
        let (store, between, _dynamo) = far().await;
        let body = Json::of(&"x".repeat(400 * 1024).into());

        let put = write_body(&store, &tenant(), job_id(1), &body).await;

        assert!(matches!(put, Err(Fault::Illegal { .. })), "{put:?}");
        assert_eq!(between.asked(), []);
    }

    /// Tried: with only the first page taken, two of the seven are found.
    #[tokio::test]
    async fn a_page_that_is_cut_short_is_gone_on_with() {
        let (store, between, _dynamo) = far().await;
        let key = |number| TimerKey::run(RunKey::manual(job_id(1), at(5), number), at(60));
        for number in 1..=7 {
            store.put_timer(&Timer { key: key(number), ..timer(1, 60) }).await.unwrap();
        }
        for _ in 0..4 {
            between.trouble("Query", Trouble::ShortPages);
        }

        let bucket = Bucket { minute: at(60).millis() / 60_000, shard: Obligation::Occurrence(job_id(1)).shard(64) };
        let found = timers_in(&store, bucket, None, Moment::END, 100).await.unwrap();

        assert_eq!(found.iter().map(|timer| timer.key).collect::<Vec<_>>(), (1..=7).map(key).collect::<Vec<_>>());
        assert_eq!(between.asked().iter().filter(|asked| asked.operation == "Query").count(), 4);
    }

    /// Tried: without `consistent_read`, this is what notices; on AWS it would be a lost hint now and then.
    #[tokio::test]
    async fn every_read_is_strong_and_every_answer_says_what_it_cost() {
        let (store, between, _dynamo) = far().await;
        write_head(&store, &head(1), Guard::Absent).await.unwrap().is_written();
        store.put_timer(&timer(1, 60)).await.unwrap();
        store.erase_timer(&timer(1, 60).key, timer(1, 60).stamp).await.unwrap();
        store.timer(&timer(1, 60).key).await.unwrap();
        store.get::<Cursor>(&Tenant::deployment(), 3).await.unwrap();
        store.get::<Run>(&tenant(), run(1, 0).key).await.unwrap();
        jobs(&store, &tenant(), None, 10).await.unwrap();
        runs_of(&store, &tenant(), job_id(1), at(0)..at(9), None, 10).await.unwrap();
        store.list::<Attempt>(&tenant(), run(1, 0).key, None, usize::MAX).await.unwrap();
        assert!(write_note(&store, &tenant(), &note("one", 1), Guard::Absent).await.unwrap().is_written());
        store.get::<Note>(&tenant(), "one".to_owned()).await.unwrap();
        notes(&store, &tenant(), None, 10).await.unwrap();

        let asked = between.asked();

        for asked in &asked {
            assert_eq!(asked.body["ReturnConsumedCapacity"], "TOTAL", "{asked:?}");
            if ["GetItem", "Query"].contains(&asked.operation.as_str()) {
                assert_eq!(asked.body["ConsistentRead"], true, "{asked:?}");
                assert!(asked.body.get("IndexName").is_none(), "{asked:?}");
            }
        }
        let spent = store.spent();
        assert_eq!(spent.values().map(|spent| spent.requests).sum::<u64>(), asked.len() as u64);
        assert!(spent.values().all(|spent| spent.read_units + spent.write_units > 0.0), "{spent:?}");
    }

    /// Removed: a request waits until it may be open. All thousand were open, and a function may have 1,024 files for all that it does.
    #[tokio::test]
    async fn no_more_requests_are_open_at_a_time_than_a_function_has_files_for() {
        let (dynamo, silent) = (Dynamo::start().await, TcpListener::bind("127.0.0.1:0").await.unwrap());
        let endpoint = format!("http://{}", silent.local_addr().unwrap());
        let (store, deployment) = (dynamo.store_at(&endpoint, Listing::Off), Tenant::deployment());
        let asking = |shard: u16| Box::pin(unconstrained(store.get::<Cursor>(&deployment, shard)));
        let mut reads: Vec<_> = (0..1_000).map(asking).collect();

        for read in &mut reads {
            assert!(poll!(read).is_pending(), "nobody answers");
        }

        let begun: u32 = dynamo.partitions.take().values().map(|load| load.reads).sum();
        assert_eq!(begun, 400);
    }

    /// Without a list of all runs, what failed is listed all the same.
    #[tokio::test]
    async fn a_store_that_lists_no_runs_says_so_and_lists_what_failed() {
        let dynamo = Dynamo::start().await;
        let store = dynamo.store(Listing::Off);
        put_run(&store, &run(1, 60)).await;
        put_run(&store, &failed(run(2, 60))).await;
        let across = async |which| {
            store.runs_across(&tenant(), which, at(0)..at(600), None, 10).await.map(|page| page.map(|page| page.runs))
        };

        assert_eq!(across(Across::All).await, Ok(None));
        assert_eq!(across(Across::NeedingAttention).await, Ok(Some(vec![failed(run(2, 60))])));
    }

    /// An index lags behind: it says where the runs are, and the table what they are.
    #[tokio::test]
    async fn all_runs_are_read_strongly_and_only_their_keys_through_the_index() {
        let (store, between, _dynamo) = far_with(Listing::ByHour).await;
        put_run(&store, &failed(run(1, 60))).await;

        for which in [Across::All, Across::NeedingAttention] {
            let page = store.runs_across(&tenant(), which, at(0)..at(600), None, 10).await;
            assert_eq!(page, Ok(Some(RunsPage { runs: vec![failed(run(1, 60))], next: None })), "{which:?}");
        }

        for asked in between.asked() {
            let Asked { operation, body } = &asked;
            assert_eq!(body["ReturnConsumedCapacity"], "TOTAL", "{asked:?}");
            match operation.as_str() {
                "Query" => assert_eq!(body["ConsistentRead"], false, "AWS refuses anything else: {asked:?}"),
                "BatchGetItem" => assert_eq!(body["RequestItems"]["state"]["ConsistentRead"], true, "{asked:?}"),
                other => assert_eq!(other, "PutItem"),
            }
        }
        assert_eq!(count(&between, "Query"), 16 + 16, "an hour's partitions and those of what failed");
        assert_eq!(count(&between, "BatchGetItem"), 2);
        let spent = store.spent();
        assert!(spent.values().all(|spent| spent.read_units + spent.write_units > 0.0), "{spent:?}");
    }

    /// Tried: with only the first answer taken, four of the seven are found.
    #[tokio::test]
    async fn keys_that_were_left_for_later_are_asked_for_again() {
        let (store, between, _dynamo) = far_with(Listing::ByHour).await;
        for number in 1..=7 {
            put_run(&store, &run(number, 60)).await;
        }
        for some in [4, 0, 2] {
            between.trouble("BatchGetItem", Trouble::LeavesAllBut(some));
        }

        let found = keys_of(&store, 10).await;

        assert_eq!(found, Ok((1..=7).rev().map(|number| run(number, 60).key).collect()), "in their order all the same");
        let batches = between.asked().into_iter().filter(|asked| asked.operation == "BatchGetItem");
        let keys = batches.map(|asked| asked.body["RequestItems"]["state"]["Keys"].as_array().map_or(0, Vec::len));
        assert_eq!(keys.collect::<Vec<_>>(), [7, 3, 3, 1], "each only as long as it was not read");
    }

    #[tokio::test]
    async fn keys_that_are_left_for_later_again_and_again_are_a_fault() {
        let (store, between, _dynamo) = far_with(Listing::ByHour).await;
        put_run(&store, &run(1, 60)).await;
        for _ in 0..5 {
            between.trouble("BatchGetItem", Trouble::LeavesAllBut(0));
        }

        let found = keys_of(&store, 10).await;

        assert!(matches!(found, Err(Fault::Unavailable { .. })), "{found:?}");
        assert_eq!(keys_of(&store, 10).await, Ok(vec![run(1, 60).key]), "and then they are not");
    }

    #[tokio::test]
    async fn behind_runs_that_are_listed_and_gone_the_list_goes_on() {
        let (store, between, _dynamo) = far_with(Listing::ByHour).await;
        for number in 1..=7 {
            put_run(&store, &run(number, 60)).await;
        }
        between.trouble("BatchGetItem", Trouble::FindsOnly(1));

        let across = async |before| {
            let page = store.runs_across(&tenant(), Across::All, at(0)..at(600), before, 3).await.unwrap().unwrap();
            (page.runs.into_iter().map(|run| run.key).collect::<Vec<_>>(), page.next)
        };
        let key = |number| run(number, 60).key;

        assert_eq!(across(None).await, (vec![key(7)], Some(key(5))));
        assert_eq!(across(Some(key(5))).await, ([4, 3, 2].map(key).to_vec(), Some(key(2))));
        assert_eq!(across(Some(key(2))).await, (vec![key(1)], None));
    }

    /// Tried: with only the first page taken, at most two of each partition are found.
    #[tokio::test]
    async fn a_page_of_an_index_that_is_cut_short_is_gone_on_with() {
        let (store, between, _dynamo) = far_with(Listing::ByHour).await;
        for number in 0..64 {
            put_run(&store, &run(number, 60)).await;
        }
        for _ in 0..100 {
            between.trouble("Query", Trouble::ShortPages);
        }

        let found = keys_of(&store, 64).await;

        assert_eq!(found, Ok((0..64).rev().map(|number| run(number, 60).key).collect()));
        assert!(count(&between, "Query") > 32, "{}", count(&between, "Query"));
    }

    #[tokio::test]
    async fn a_throttled_index_or_batch_is_a_fault_that_may_be_tried_again() {
        for operation in ["Query", "BatchGetItem"] {
            let (store, between, _dynamo) = far_with(Listing::ByHour).await;
            put_run(&store, &run(1, 60)).await;
            between.trouble(operation, Trouble::Refused("ProvisionedThroughputExceededException"));
            assert_eq!(keys_of(&store, 10).await, Ok(vec![run(1, 60).key]), "{operation}: one passes");

            // Of all sixteen partitions, and three times, since the SDK asks again.
            for _ in 0..48 {
                between.trouble(operation, Trouble::Refused("ProvisionedThroughputExceededException"));
            }
            let lasting = keys_of(&store, 10).await;

            assert!(matches!(lasting, Err(Fault::Unavailable { .. })), "{operation}: {lasting:?}");
        }
    }

    #[tokio::test]
    async fn a_document_whose_answer_was_lost_is_known_again() {
        let (store, between, _dynamo) = far().await;
        between.trouble("PutItem", Trouble::LosesTheAnswer);

        let put = write_note(&store, &tenant(), &note("one", 1), Guard::Absent).await;

        assert!(put.unwrap().is_written());
        assert_eq!(count(&between, "PutItem"), 2, "the SDK asked again");
    }

    /// Tried: without the write's own name in the condition's answer, the taker is refused the slot that it holds.
    #[tokio::test]
    async fn an_update_whose_answer_was_lost_is_known_again() {
        let (store, between, _dynamo) = far().await;
        between.trouble("UpdateItem", Trouble::LosesTheAnswer);

        let taken = store.update(&tenant(), "billing".to_owned(), &take(1, 1)).await;

        assert!(matches!(&taken, Ok(Updated::Done(_))), "{taken:?}");
        assert_eq!(count(&between, "UpdateItem"), 2, "the SDK asked again");
    }

    /// What is deleted whose answer is lost is gone: the second request finds nothing.
    #[tokio::test]
    async fn a_delete_whose_answer_was_lost_finds_nothing_left() {
        let (store, between, _dynamo) = far().await;
        let seen = put_run(&store, &run(1, 0)).await;
        between.trouble("DeleteItem", Trouble::LosesTheAnswer);

        let deleted = store.delete::<Run>(&tenant(), run(1, 0).key, seen).await;

        assert_eq!(deleted, Ok(Deleted::Conflict(None)));
    }

    #[tokio::test]
    async fn an_update_is_one_request_and_one_write_unit_and_needs_no_read() {
        let (store, between, _dynamo) = far().await;

        for number in 0..3 {
            let taken = store.update(&tenant(), "billing".to_owned(), &take(number, 3)).await.unwrap();
            assert!(matches!(taken, Updated::Done(_)), "{taken:?}");
        }

        let asked: Vec<_> = between.asked().into_iter().map(|asked| asked.operation).collect();
        assert_eq!(asked, ["UpdateItem"; 3]);
        let spent = store.spent();
        assert_eq!(spent.values().map(|spent| (spent.read_units, spent.write_units)).collect::<Vec<_>>(), [(0.0, 3.0)]);
    }

    /// The attribute by which the table's TTL deletes: whole seconds, never before its time.
    #[tokio::test]
    async fn what_expires_says_when_in_seconds() {
        let (store, between, dynamo) = far().await;
        let until = at(600) + Duration::from_millis(1);
        let taken = store.update(&tenant(), "billing".to_owned(), &Take { until, ..take(1, 1) }).await.unwrap();
        assert!(matches!(taken, Updated::Done(_)), "{taken:?}");
        drop(between);

        let item = first_item(&dynamo).await;

        let second = (until.millis() + 999) / 1000;
        assert_eq!(item.get("expires_at"), Some(&AttributeValue::N(second.to_string())));
    }

    /// Tried: with the first unreadable item as a fault, no list is answered; without the condition on the shape, the slot has
    /// another holder.
    #[tokio::test]
    async fn what_a_later_release_wrote_is_left_and_counted_and_stops_nothing_beside_it() {
        let dynamo = Dynamo::start().await;
        let store = dynamo.store(Listing::ByHour);
        for number in 1..=4 {
            put_run(&store, &run(number, 60)).await;
            assert!(write_head(&store, &head(number), Guard::Absent).await.unwrap().is_written());
            store.put_timer(&timer(1, 60 + u64::from(number))).await.unwrap();
        }
        assert!(matches!(store.update(&tenant(), "billing".to_owned(), &take(1, 9)).await, Ok(Updated::Done(_))));
        for table in [tables().state, tables().timers] {
            raise_some_shapes(&dynamo, &table).await;
        }

        let heads = store.list::<Head>(&tenant(), (), None, 10).await.unwrap();
        let across = store.runs_across(&tenant(), Across::All, at(0)..at(600), None, 10).await.unwrap().unwrap();
        let shard = timer(1, 60).key.obligation.shard(store.shards());
        let bucket = Bucket { minute: at(60).millis() / 60_000, shard };
        let timers = store.timers(bucket, None, Moment::END, 10).await.unwrap();
        let updated = store.update(&tenant(), "billing".to_owned(), &take(2, 9)).await;

        assert_eq!((heads.items.len(), heads.unreadable.len()), (2, 2));
        assert_eq!((across.runs.len(), across.next), (2, None));
        assert_eq!((timers.items.len(), timers.unreadable.len()), (2, 2));
        assert_eq!((store.later(), store.corrupt()), (2 + 2 + 2, 0));
        let unreadable = store.get::<Run>(&tenant(), run(1, 60).key).await;
        assert!(matches!(unreadable, Err(Fault::Later { .. })), "{unreadable:?}");
        assert_eq!(store.later(), 2 + 2 + 2 + 1, "what is read alone is counted as well");
        assert!(matches!(updated, Err(Fault::Later { .. })), "{updated:?}");
        assert_eq!(holders_of_the_slot(&dynamo).await, [edge(1)], "what is not known is not changed");
    }

    /// All that a repair looks at, in so many parts.
    async fn all_pages(store: &DynamoStore, of: usize) -> Vec<Everything> {
        let mut pages = Vec::new();
        for number in 0..of {
            let mut behind = None;
            loop {
                let page = store.everything(Part { number, of }, behind.take()).await.unwrap();
                behind.clone_from(&page.next);
                pages.push(page);
                if behind.is_none() {
                    break;
                }
            }
        }
        pages
    }

    /// Tried: with a walk that ends with the state, none of the timers is found; with one that takes whatever lies among them for a timer, the cursor is;
    /// with one that looks at jobs and runs only, the slot is not.
    #[tokio::test]
    async fn a_repair_goes_through_both_tables_and_finds_whatever_cannot_be_read() {
        let dynamo = Dynamo::start().await;
        let store = dynamo.store(Listing::ByHour);
        for number in 1..=4 {
            store.put_timer(&timer(1, 60 + number)).await.unwrap();
        }
        put_run(&store, &run(1, 60)).await;
        assert!(write_head(&store, &head(2), Guard::Absent).await.unwrap().is_written());
        assert!(matches!(store.update(&tenant(), "billing".to_owned(), &take(1, 9)).await, Ok(Updated::Done(_))));
        for table in [tables().state, tables().timers] {
            raise_some_shapes(&dynamo, &table).await;
        }
        let put = store.put(&Tenant::deployment(), 3, &Cursor::starting_at(1), Guard::Absent).await.unwrap();
        assert!(put.is_written());

        let pages = all_pages(&store, 3).await;
        let found: Vec<_> = pages.into_iter().flat_map(|page| page.unreadable).collect();

        let (timers, others): (Vec<_>, Vec<_>) = found.into_iter().partition(|left| left.timer.is_some());
        assert_eq!(timers.len(), 2, "{timers:?}");
        let mut others: Vec<_> = others.into_iter().map(|left| left.key).collect();
        others.sort_unstable();
        assert!(matches!(&others[..], [run, slot] if run.contains(" run#") && slot.contains("#slot ")), "{others:?}");
    }

    /// Tried: with a survey that ends with its first page, two of the timers are found.
    #[tokio::test]
    async fn what_goes_through_all_timers_goes_on_behind_a_page() {
        let (store, between, dynamo) = far().await;
        for number in 1..=4 {
            store.put_timer(&timer(1, 60 + number)).await.unwrap();
            store.put_timer(&timer(2, 120 * number)).await.unwrap();
        }
        raise_some_shapes(&dynamo, &tables().timers).await;
        (0..20).for_each(|_| between.trouble("Scan", Trouble::ShortPages));

        let (mut first, mut timers, mut pages, mut behind) = (BTreeMap::new(), 0, 0, None);
        loop {
            let found = store.survey(Part { number: 0, of: 1 }, behind.take()).await.unwrap();
            for (shard, minute) in found.first {
                let earliest = first.entry(shard).or_insert(minute);
                *earliest = minute.min(*earliest);
            }
            (timers, pages, behind) = (timers + found.timers, pages + 1, found.next);
            if behind.is_none() {
                break;
            }
        }
        let unreadable = all_pages(&store, 1).await.into_iter().flat_map(|page| page.unreadable).count();

        let minutes = [(1, 60), (2, 120)].map(|(job, due)| {
            let key = timer(job, due).key;
            (key.obligation.shard(store.shards()), key.minute())
        });
        assert_eq!((first, timers), (BTreeMap::from(minutes), 8));
        assert!(pages > 3, "{pages}");
        assert_eq!(unreadable, 2);
    }

    /// It prints what a repair's look at a thousand jobs costs; it grows as they do.
    #[tokio::test]
    async fn all_jobs_are_gone_through_at_the_price_of_what_they_hold() {
        let dynamo = Dynamo::start().await;
        let store = dynamo.store(Listing::ByHour);
        for number in 0..250 {
            for writer in 0..4 {
                let tenant = Tenant::new(&format!("tenant-{writer}")).unwrap();
                let head = head_by(number, writer);
                assert!(store.put(&tenant, head.id(), &head, Guard::Absent).await.unwrap().is_written());
            }
        }

        let jobs: usize = all_pages(&store, 1).await.iter().map(|page| page.heads.len()).sum();

        let spent = store.spent()[&(Operation::Scan, Resource::Table(Table::State))];
        eprintln!("a repair's look at 1,000 jobs: {} read units, {} requests", spent.read_units, spent.requests);
        assert_eq!(jobs, 1000);
        assert!(spent.read_units < 200.0, "{spent:?}");
    }

    /// It prints what a search through a thousand timers costs, or through as many as `SURVEY_TIMERS` says; it grows as they do.
    ///
    /// Tried: with a search that reads one segment, three quarters of the timers are not seen.
    #[tokio::test]
    async fn all_timers_are_searched_in_segments_for_the_first_bucket_of_each_shard() {
        let dynamo = Dynamo::start().await;
        let store = dynamo.store(Listing::ByHour);
        let timers = std::env::var("SURVEY_TIMERS").ok().and_then(|text| text.parse().ok()).unwrap_or(1000_u64);
        let mut first = BTreeMap::new();
        for number in 0..timers {
            let timer = timer(u8::try_from(number % 250).unwrap(), 6_000_000 - 60 * number);
            store.put_timer(&timer).await.unwrap();
            first.insert(timer.key.obligation.shard(64), timer.key.minute());
        }
        let put = store.put(&Tenant::deployment(), 3, &Cursor::starting_at(1), Guard::Absent).await.unwrap();
        assert!(put.is_written());

        let mut survey = Survey::begin(Moment::EPOCH, 4);
        while !survey.is_done() {
            let (number, behind) = survey.left().next().unwrap();
            survey.note(number, store.survey(Part { number, of: 4 }, behind).await.unwrap());
        }

        let spent = store.spent()[&(Operation::Scan, Resource::Table(Table::Timers))];
        eprintln!("a search through {timers} timers: {} read units, {} requests", spent.read_units, spent.requests);
        assert_eq!((survey.timers, survey.first), (timers, first), "the cursor is no timer");
        assert!(spent.read_units * 10.0 < f64::from(u32::try_from(timers).unwrap()), "{spent:?}");
    }

    /// Tried: discarding whatever stands there; the timer that was put anew is gone.
    #[tokio::test]
    async fn only_a_timer_that_cannot_be_read_is_discarded_and_a_copy_is_what_it_was() {
        let dynamo = Dynamo::start().await;
        let store = dynamo.store(Listing::ByHour);
        let (corrupt, good) = (timer(1, 60), timer(2, 61));
        for timer in [&corrupt, &good] {
            store.put_timer(timer).await.unwrap();
        }
        lose_the_tenant_of(&dynamo, &corrupt.key.due.to_string()).await;
        let there = corrupt.key.moved_to(corrupt.key.due + Duration::from_secs(3600));

        store.copy_timer(&corrupt.key, &there).await.unwrap();

        assert_eq!(store.discard_timer(&corrupt.key, &good.key).await, Ok(false), "that is no copy of it");
        assert_eq!(store.discard_timer(&corrupt.key, &there).await, Ok(true));
        assert_eq!(store.discard_timer(&good.key, &good.key).await, Ok(false));
        assert_eq!(store.timer(&corrupt.key).await, Ok(None));
        assert!(matches!(store.timer(&there).await, Err(Fault::Unreadable { .. })), "it is as corrupt as it was");
        assert_eq!(store.timer(&good.key).await, Ok(Some(good)));
    }

    /// The timer that is due then is damaged.
    async fn lose_the_tenant_of(dynamo: &Dynamo, due: &str) {
        let (client, table) = (Client::new(&dynamo.config()), tables().timers);
        for mut item in client.scan().table_name(&table).send().await.unwrap().items.unwrap_or_default() {
            if format!("{:?}", item["sk"]).contains(due) {
                item.remove("tenant");
                client.put_item().table_name(&table).set_item(Some(item)).send().await.unwrap();
            }
        }
    }

    async fn holders_of_the_slot(dynamo: &Dynamo) -> Vec<String> {
        let scan = Client::new(&dynamo.config()).scan().table_name(tables().state).send().await.unwrap();
        let slot = scan.items.unwrap_or_default().into_iter().find(|item| item.contains_key("holders")).unwrap();
        slot["holders"].as_ss().unwrap().clone()
    }

    /// The slot, and every item of the first and the third job or timer, as a later release would have written it.
    async fn raise_some_shapes(dynamo: &Dynamo, table: &str) {
        let client = Client::new(&dynamo.config());
        let items = client.scan().table_name(table).send().await.unwrap().items.unwrap_or_default();
        let odd = [job_id(1).to_string(), job_id(3).to_string(), "#slot".to_owned()];
        let odd_timers = [at(61).to_string(), at(63).to_string(), "#slot".to_owned()];
        for mut item in items {
            let key = format!("{:?} {:?}", item["pk"], item["sk"]);
            let is_odd = if table == tables().timers { &odd_timers } else { &odd };
            if is_odd.iter().any(|word| key.contains(word)) {
                item.insert("shape".to_owned(), AttributeValue::N("200".to_owned()));
                client.put_item().table_name(table).set_item(Some(item)).send().await.unwrap();
            }
        }
    }

    async fn first_item(dynamo: &Dynamo) -> HashMap<String, AttributeValue> {
        let scan = Client::new(&dynamo.config()).scan().table_name(tables().state).send().await.unwrap();
        scan.items.unwrap_or_default().remove(0)
    }

    async fn keys_of(store: &DynamoStore, limit: usize) -> Result<Vec<RunKey>, Fault> {
        let runs = store.runs_across(&tenant(), Across::All, at(0)..at(600), None, limit).await?;
        Ok(runs.expect("it keeps a list").runs.into_iter().map(|run| run.key).collect())
    }

    fn count(between: &Between, operation: &str) -> usize {
        between.asked().iter().filter(|asked| asked.operation == operation).count()
    }
}
