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
        #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn dynamodb_and_memory_give_the_same_answers(asks in any_asks(120)) {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();

            runtime.block_on(async {
                let dynamo = Dynamo::start().await;
                agree(&MemoryStore::with_shards(64), &dynamo.store(Listing::Off), &asks).await;
            });
        }
    }
}
