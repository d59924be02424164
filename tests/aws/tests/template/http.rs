//! The way in.

use minutehand_aws_tests::template::target;
use serde_json::Value;

use crate::template;

/// The emulator drops both. Tried: without the `DefaultRouteSettings`.
#[test]
fn requests_are_limited() {
    let Some(template) = template() else { return };

    let settings = &template.properties("HttpStage")["DefaultRouteSettings"];

    for (setting, parameter) in [("ThrottlingRateLimit", "RequestsPerSecond"), ("ThrottlingBurstLimit", "RequestBurst")]
    {
        assert_eq!(settings[setting]["Ref"], parameter);
        assert!(
            template.parameters()[parameter]["MinValue"].as_u64() >= Some(1),
            "none at all is a limit that AWS takes"
        );
    }
}

/// Tried: a quote too few in the format; with `$context.authorizer.key` in it.
#[test]
fn every_request_is_logged_as_json_without_what_could_be_secret() {
    let Some(template) = template() else { return };

    let log = &template.properties("HttpStage")["AccessLogSettings"];
    let line: Value = serde_json::from_str(log["Format"].as_str().expect("a text")).expect("the line is JSON");

    assert_eq!(target(&log["DestinationArn"]), "HttpLogs");
    assert_eq!(line["status"], "$context.status");
    let harmless = ["$context.identity.sourceIp", "$context.path", "$context.httpMethod", "$context.status"];
    let figures = ["$context.request", "$context.response", "$context.integration"];
    for (name, value) in line.as_object().expect("an object") {
        let value = value.as_str().expect("a text");
        assert!(harmless.contains(&value) || figures.iter().any(|figure| value.starts_with(figure)), "{name}: {value}");
    }
}

/// Tried: the executor as the integration; payload 1.0; a second principal; another API's ARN.
#[test]
fn the_gateway_hands_everything_to_the_api_and_may() {
    let Some(template) = template() else { return };

    let route = template.properties("HttpRoute");
    let integration = template.properties("HttpIntegration");
    let permission = template.properties("HttpPermission");

    assert_eq!(route["RouteKey"], "$default");
    assert_eq!(route["Target"]["Fn::Sub"], "integrations/${HttpIntegration}");
    assert_eq!(target(&integration["IntegrationUri"]), "ApiFunction");
    assert_eq!(integration["PayloadFormatVersion"], "2.0");
    assert_eq!(target(&permission["FunctionName"]), "ApiFunction");
    assert_eq!(permission["Principal"], "apigateway.amazonaws.com");
    let source = permission["SourceArn"]["Fn::Sub"].as_str().expect("an ARN");
    assert!(source.ends_with(":${HttpApi}/*/$default"), "{source}");
    assert_eq!(template.of_type("AWS::Lambda::Permission").count(), 1);
}
