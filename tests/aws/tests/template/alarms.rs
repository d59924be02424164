//! What rings: items that cannot be read.

use minutehand_aws_tests::template::target;

use crate::template;

/// Tried: the filter on the executor's log; a metric that no filter writes; missing data that breach; `corrupt` at every level, which
/// the line of each pass would write too.
#[test]
fn what_the_sweep_cannot_read_rings() {
    let Some(template) = template() else { return };

    for (name, field, fives) in [("CorruptItems", "corrupt", 12), ("LaterItems", "later", 3)] {
        let (filter, alarm) = (template.properties(name), template.properties(&format!("{name}Alarm")));

        assert_eq!(target(&filter["LogGroupName"]), "SweeperLogs");
        assert_eq!(filter["FilterPattern"], format!(r#"{{ $.level = "ERROR" && $.{field} > 0 }}"#));
        let written = &filter["MetricTransformations"][0];
        assert_eq!(written["MetricValue"], format!("$.{field}"));
        for part in ["MetricNamespace", "MetricName"] {
            let asked = &alarm[if part == "MetricNamespace" { "Namespace" } else { part }];
            assert!(!asked.is_null() && asked == &written[part], "{name}: {part}");
        }
        let seconds = |part: &str| alarm[part].as_u64().expect("a number");
        assert_eq!(seconds("Period") * seconds("EvaluationPeriods"), fives * 300, "{name}");
        assert_eq!((&alarm["Threshold"], &alarm["TreatMissingData"]), (&0.into(), &"notBreaching".into()), "{name}");
        assert_eq!(alarm["ComparisonOperator"], "GreaterThanThreshold", "{name}");
    }
}
