//! Lambda: the function is called and waited for. The event is the payload as it was written; what tells of the run stands in the client
//! context, under `custom`.

use data_encoding::BASE64;
use minutehand_domain::run::ErrorCode;
use serde::Deserialize;
use serde_json::json;

use super::ask::{Ask, told};
use super::reply::{Reply, for_tenants};
use crate::targets::declared::Function;
use crate::targets::{Answer, Call};

/// Without a payload there is no event.
pub(super) fn ask(function: &Function, call: &Call<'_>) -> Ask {
    let qualifier = function.qualifier.as_ref().map(|qualifier| format!("?Qualifier={}", escaped(qualifier)));
    let path = format!(
        "/2015-03-31/functions/{}/invocations{}",
        escaped(function.arn.as_str()),
        qualifier.unwrap_or_default()
    );
    let context = BASE64.encode(json!({ "custom": told(call) }).to_string().as_bytes());
    let headers = vec![
        ("content-type", "application/json".to_owned()),
        ("x-amz-invocation-type", "RequestResponse".to_owned()),
        ("x-amz-client-context", context),
    ];
    Ask { path, headers, body: call.payload.map_or_else(String::new, |payload| payload.as_str().to_owned()) }
}

/// None where it is no answer of the function.
pub(super) fn read(reply: &Reply) -> Option<Answer> {
    if !reply.is_success() {
        return None;
    }
    Some(match reply.header("x-amz-function-error") {
        Some(how) => {
            Answer::Failed { error: ErrorCode::FunctionError.error(&what_failed(how, reply)), retry_after: None }
        }
        None => Answer::Succeeded { result: reply.result() },
    })
}

/// As the runtimes say it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Thrown {
    error_type: Option<String>,
    error_message: Option<String>,
}

fn what_failed(how: &str, reply: &Reply) -> String {
    let thrown: Thrown = reply.read().unwrap_or(Thrown { error_type: None, error_message: None });
    let said = [thrown.error_type, thrown.error_message].into_iter().flatten().filter(|part| !part.is_empty());
    let said = said.collect::<Vec<_>>().join(": ");
    if said.is_empty() { format!("the function failed ({})", for_tenants(how)) } else { for_tenants(&said) }
}

/// As one segment of a path, or one value of a query.
fn escaped(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    text.bytes().map(byte).collect()
}
