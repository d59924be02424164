//! What is remembered.

use minutehand_aws_tests::template::each;
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

/// Tried: without the `WarmThroughput` of either; without that of the index; a default above what a new table has, which would be paid for.
#[test]
fn both_tables_are_as_warm_as_they_were_asked_to_be() {
    let Some(template) = template() else { return };

    for (id, table) in template.of_type(TABLE) {
        let warm = json!({"ReadUnitsPerSecond": {"Ref": "WarmReads"}, "WriteUnitsPerSecond": {"Ref": "WarmWrites"}});
        assert_eq!(table["WarmThroughput"], warm, "{id}");
        // What all runs are written to as well.
        let of_runs = each(&table["GlobalSecondaryIndexes"]).into_iter().find(|one| one["IndexName"] == "runs_by_hour");
        assert!(
            of_runs.is_none_or(|index| index["WarmThroughput"] == warm),
            "{id}: an index that is cold throttles its table"
        );
    }
    for (parameter, of_a_new_table) in [("WarmReads", 12_000), ("WarmWrites", 4_000)] {
        assert_eq!(template.parameters()[parameter]["Default"], of_a_new_table, "{parameter}");
    }
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

/// Tried: without `UpdateReplacePolicy`, with `DeletionPolicy: Delete`, with a fixed `DeletionProtectionEnabled`.
#[test]
fn no_table_goes_with_its_stack() {
    let Some(template) = template() else { return };

    for (id, table) in template.of_type(TABLE) {
        let resource = &template.resources()[id];
        assert_eq!(resource["DeletionPolicy"], "RetainExceptOnCreate", "{id}");
        assert_eq!(resource["UpdateReplacePolicy"], "Retain", "{id}");
        assert_eq!(table["DeletionProtectionEnabled"], json!({"Ref": "ProtectTables"}), "{id}");
    }
    assert_eq!(template.parameters()["ProtectTables"]["Default"], "true");
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
