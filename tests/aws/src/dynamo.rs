//! DynamoDB in the test's own process: dynoxide behind a socket, and the two tables of the template.

use std::time::Duration;

use aws_config::retry::RetryConfig;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_sdk_dynamodb::config::{Credentials, SharedCredentialsProvider};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};
use aws_sdk_dynamodb::{Client, config};
use futures_util::future::BoxFuture;
use minutehand_domain::Moment;
use minutehand_io::store::dynamo::{DynamoStore, Listing, Tables};
use minutehand_tests::conformance::agreement::Sweeper;
use tokio::net::TcpListener;

use crate::partitions::Partitions;

/// A separate DynamoDB with empty tables.
#[derive(Debug)]
pub struct Dynamo {
    pub endpoint: String,
    /// What its stores ask of each partition.
    pub partitions: Partitions,
}

impl Dynamo {
    /// In a box, so that the server is compiled here and not in each test.
    pub fn start() -> BoxFuture<'static, Self> {
        Box::pin(async {
            let database = dynoxide::Database::memory().expect("memory");
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
            let endpoint = format!("http://{}", listener.local_addr().expect("it is bound"));
            tokio::spawn(dynoxide::server::serve_on(listener, database));
            let dynamo = Self { endpoint, partitions: Partitions::default() };
            let client = Client::new(&dynamo.config());
            make_state(&client).await;
            make_timers(&client).await;
            dynamo
        })
    }

    pub fn store(&self, listing: Listing) -> DynamoStore {
        self.store_at(&self.endpoint, listing)
    }

    /// The same tables through another endpoint.
    pub fn store_at(&self, endpoint: &str, listing: Listing) -> DynamoStore {
        let counted = config::Builder::from(&config_of(endpoint)).interceptor(self.partitions.clone());
        DynamoStore::new(Client::from_conf(counted.build()), tables(), listing)
    }

    pub fn config(&self) -> SdkConfig {
        config_of(&self.endpoint)
    }
}

/// As the tables' TTL would, by and by.
impl Sweeper for Dynamo {
    async fn sweep(&self, now: Moment) {
        let (client, table) = (Client::new(&self.config()), tables().state);
        let expired = client
            .scan()
            .table_name(&table)
            .filter_expression("expires_at <= :now")
            .expression_attribute_values(":now", AttributeValue::N((now.millis() / 1000).to_string()))
            .send()
            .await;
        for mut item in expired.expect("a scan").items.unwrap_or_default() {
            item.retain(|name, _| ["pk", "sk"].contains(&name.as_str()));
            client.delete_item().table_name(&table).set_key(Some(item)).send().await.expect("a delete");
        }
    }
}

pub fn tables() -> Tables {
    Tables { state: "state".to_owned(), timers: "timers".to_owned() }
}

fn config_of(endpoint: &str) -> SdkConfig {
    SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("us-east-1"))
        .credentials_provider(SharedCredentialsProvider::new(Credentials::new("test", "test", None, None, "tests")))
        .endpoint_url(endpoint)
        .retry_config(RetryConfig::standard().with_initial_backoff(Duration::from_millis(1)))
        .timeout_config(TimeoutConfig::builder().operation_attempt_timeout(Duration::from_secs(10)).build())
        .build()
}

async fn make_state(client: &Client) {
    let index = |name: &str, partition: &str| {
        GlobalSecondaryIndex::builder()
            .index_name(name)
            .key_schema(key(partition, KeyType::Hash))
            .key_schema(key("listed_at", KeyType::Range))
            .projection(Projection::builder().projection_type(ProjectionType::KeysOnly).build())
            .build()
            .expect("it is whole")
    };
    let made = client
        .create_table()
        .table_name(tables().state)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(
            ["pk", "sk", "hour", "attention", "letter", "listed_at"].map(attribute).to_vec(),
        ))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .global_secondary_indexes(index("runs_by_hour", "hour"))
        .global_secondary_indexes(index("attention", "attention"))
        .global_secondary_indexes(index("letters", "letter"))
        .send()
        .await;
    made.expect("a table for state");
}

async fn make_timers(client: &Client) {
    let made = client
        .create_table()
        .table_name(tables().timers)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(["pk", "sk"].map(attribute).to_vec()))
        .key_schema(key("pk", KeyType::Hash))
        .key_schema(key("sk", KeyType::Range))
        .send()
        .await;
    made.expect("a table for timers");
}

fn attribute(name: &str) -> AttributeDefinition {
    let text = ScalarAttributeType::S;
    AttributeDefinition::builder().attribute_name(name).attribute_type(text).build().expect("it is whole")
}

fn key(name: &str, kind: KeyType) -> KeySchemaElement {
    KeySchemaElement::builder().attribute_name(name).key_type(kind).build().expect("it is whole")
}
