//! What is remembered.

use std::collections::HashMap;
use std::time::Duration;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use minutehand_aws_tests::dynamo::{Dynamo, tables};
use minutehand_aws_tests::template::each;
use minutehand_io::store::dynamo::Listing;
use minutehand_io::store::{Store as _, Updated};
use minutehand_tests::conformance::items::slot::Take;
use minutehand_tests::conformance::items::take;
use minutehand_tests::conformance::world::{at, tenant, timer};
use serde_json::{Value, json};

use crate::template;

const TABLE: &str = "AWS::DynamoDB::Table";

/// Tried: without the `SSESpecification` of either; the key of secrets.
#[test]
fn both_tables_are_encrypted_and_paid_for_by_use() {
    let Some(template) = template() else { return };

    let tables: Vec<&Value> = template.of_type(TABLE).map(|(_, table)| table).collect();

    assert_eq!(tables.len(), 2);
    for table in tables {
        let key = json!({"Fn::If": ["HasDataKey", {"Ref": "DataKeyArn"}, {"Ref": "AWS::NoValue"}]});
        let encrypted = json!({"SSEEnabled": true, "SSEType": "KMS", "KMSMasterKeyId": key});
        assert_eq!(table["SSESpecification"], encrypted);
        assert_eq!(table["BillingMode"], "PAY_PER_REQUEST");
    }
}

/// They grow by themselves, and DynamoDB refuses to make one smaller: to name what a new one takes would be refused, or could not be rolled
/// back. Tried: without the `WarmThroughput` of either; without that of an index; the numbers of a table, and of the index of runs by hour, in any
/// case; a condition that looks at the writes alone; a default above what a new table has, which would be paid for.
#[test]
fn tables_and_indexes_are_as_warm_as_they_grew_unless_the_operator_asks_for_more() {
    let Some(template) = template() else { return };

    let asked = json!({"ReadUnitsPerSecond": {"Ref": "WarmReads"}, "WriteUnitsPerSecond": {"Ref": "WarmWrites"}});
    let warm = json!({"Fn::If": ["Warms", asked, {"Ref": "AWS::NoValue"}]});
    for (id, table) in template.of_type(TABLE) {
        assert_eq!(table["WarmThroughput"], warm, "{id}");
        for index in each(&table["GlobalSecondaryIndexes"]) {
            assert_eq!(index["WarmThroughput"], warm, "{id}: an index that is cold throttles its table: {index}");
        }
    }

    let of_a_new_table = [("WarmReads", 12_000), ("WarmWrites", 4_000)];
    for (parameter, units) in of_a_new_table {
        assert_eq!(template.parameters()[parameter]["Default"], units, "{parameter}");
    }
    let is_as_new =
        of_a_new_table.map(|(parameter, units)| json!({"Fn::Equals": [{"Ref": parameter}, units.to_string()]}));
    assert_eq!(template.json["Conditions"]["Warms"], json!({"Fn::Not": [{"Fn::And": is_as_new}]}));
}

/// Tried: `PointInTimeRecoveryEnabled: false`.
#[test]
fn the_state_can_be_taken_back_to_any_second() {
    let Some(template) = template() else { return };

    let recovery = &template.properties("StateTable")["PointInTimeRecoverySpecification"];

    assert_eq!(recovery["PointInTimeRecoveryEnabled"], true);
    assert_eq!(recovery["RecoveryPeriodInDays"], json!({"Ref": "RecoveryDays"}));
    assert_eq!(template.parameters()["RecoveryDays"]["Default"], 35);
}

/// The attribute is found by what the store writes, as a misspelt one deletes nothing and fails nowhere. The timers' table has none: a pass deletes a
/// timer. Tried: without the specification; with `Enabled: false`; `AttributeName: expire_at`; one for the timers.
#[tokio::test]
async fn what_expires_is_deleted_by_what_says_when() {
    let Some(template) = template() else { return };
    let dynamo = Dynamo::start().await;
    let store = dynamo.store(Listing::Off);

    // No other number of the item is this one, since all others are in milliseconds.
    let until = at(600) + Duration::from_millis(1);
    let second = AttributeValue::N(((until.millis() + 999) / 1000).to_string());
    let taken = store.update(&tenant(), "billing".to_owned(), &Take { until, ..take(1, 1) }).await.expect("a store");
    assert!(matches!(taken, Updated::Done(_)), "{taken:?}");
    store.put_timer(&timer(1, 60)).await.expect("a store");

    let (state, timers) = (items(&dynamo, tables().state).await, items(&dynamo, tables().timers).await);
    let says_when: Vec<&String> =
        state.iter().flatten().filter(|(_, value)| **value == second).map(|(name, _)| name).collect();
    let [says_when] = says_when[..] else { panic!("one attribute says when: {says_when:?}") };
    assert!(!timers.is_empty() && timers.iter().all(|item| !item.contains_key(says_when)), "{timers:?}");

    let deleted_by = json!({"AttributeName": says_when, "Enabled": true});
    assert_eq!(template.properties("StateTable")["TimeToLiveSpecification"], deleted_by);
    assert_eq!(template.properties("TimersTable")["TimeToLiveSpecification"], Value::Null);
    assert_eq!(template.of_type(TABLE).count(), 2, "whether the items of another expire is to be said here");
}

async fn items(dynamo: &Dynamo, table: String) -> Vec<HashMap<String, AttributeValue>> {
    let scan = Client::new(&dynamo.config()).scan().table_name(table).send().await;
    scan.expect("a scan").items.unwrap_or_default()
}

/// Tried: without `UpdateReplacePolicy`, with `DeletionPolicy: Delete`, with a fixed `DeletionProtectionEnabled`.
#[test]
fn no_table_goes_with_its_stack() {
    let Some(template) = template() else { return };

    for (id, table) in template.of_type(TABLE) {
        let resource = &template.resources()[id];
        assert_eq!(resource["DeletionPolicy"], "Retain", "{id}");
        assert_eq!(resource["UpdateReplacePolicy"], "Retain", "{id}");
        assert_eq!(table["DeletionProtectionEnabled"], json!({"Ref": "ProtectTables"}), "{id}");
    }
    assert_eq!(template.parameters()["ProtectTables"]["Default"], "true");
}

/// DynamoDB refuses to delete a table that is protected: the stack whose first deployment fails would end in `ROLLBACK_FAILED`. The tables that it
/// leaves keep nothing from being made anew, as none has a fixed name. Tried: `RetainExceptOnCreate` for the timers; no policy for the state.
#[test]
fn no_table_that_may_be_protected_is_deleted_with_a_creation_that_failed() {
    let Some(template) = template() else { return };

    let is_open = |table: &Value| matches!(table["DeletionProtectionEnabled"], Value::Null | Value::Bool(false));
    let protected = template.of_type(TABLE).filter(|(_, table)| !is_open(table));
    let policies: Vec<(&str, &Value)> =
        protected.map(|(id, _)| (id, &template.resources()[id]["DeletionPolicy"])).collect();

    assert!(policies.iter().all(|(_, policy)| **policy == "Retain"), "{policies:?}");
    assert_eq!(policies.len(), 2, "{policies:?}");
}

/// Tried: `ProjectionType: ALL`, which would charge a run's whole size once more.
#[test]
fn an_index_holds_keys_only() {
    let Some(template) = template() else { return };

    let indexes = template.of_type(TABLE).filter_map(|(_, table)| table["GlobalSecondaryIndexes"].as_array());
    let indexes: Vec<&Value> = indexes.flatten().collect();

    let names: Vec<&Value> = indexes.iter().map(|index| &index["IndexName"]).collect();
    assert_eq!(names, ["runs_by_hour", "attention", "letters"]);
    assert!(indexes.iter().all(|index| index["Projection"]["ProjectionType"] == "KEYS_ONLY"), "{indexes:?}");
}
