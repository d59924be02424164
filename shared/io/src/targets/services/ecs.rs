//! ECS: a task is started, with the run as the client's token, so that a second attempt within a day starts no second one. One of its
//! containers is given the payload and what tells of the run, as variables. ECS compares what the attempts of one token ask for, so that
//! nothing stands there that tells them apart.

use minutehand_domain::run::{AttemptError, ErrorCode};
use serde_json::{Value, json};

use super::ask::{Ask, variables, within};
use super::reply::{Reply, for_tenants};
use crate::targets::declared::TaskToRun;
use crate::targets::{Answer, Call};

/// The characters of the overrides, as JSON.
const OVERRIDES: usize = 8192;

pub(super) fn ask(task: &TaskToRun, call: &Call<'_>) -> Result<Ask, AttemptError> {
    let payload = call.payload.map(|payload| ("MINUTEHAND_PAYLOAD".to_owned(), payload.as_str().to_owned()));
    let variables = variables(call).into_iter().chain(payload);
    let environment: Vec<Value> = variables.map(|(name, value)| json!({ "name": name, "value": value })).collect();
    let overrides = json!({ "containerOverrides": [{ "name": task.container, "environment": environment }] });
    within(overrides.to_string().chars().count(), OVERRIDES, "ECS")?;
    let mut body = json!({
        "cluster": task.cluster, "taskDefinition": task.task_definition, "count": 1,
        "clientToken": call.run.to_string(), "overrides": overrides,
    });
    if let Some(launch_type) = task.launch_type {
        body["launchType"] = launch_type.as_str().into();
    }
    if let Some(version) = &task.platform_version {
        body["platformVersion"] = version.as_str().into();
    }
    if !task.subnets.is_empty() {
        let public = if task.assign_public_ip { "ENABLED" } else { "DISABLED" };
        let network =
            json!({ "subnets": task.subnets, "securityGroups": task.security_groups, "assignPublicIp": public });
        body["networkConfiguration"] = json!({ "awsvpcConfiguration": network });
    }
    Ok(Ask::json("1.1", "AmazonEC2ContainerServiceV20141113.RunTask", &body))
}

/// What could not be placed is a failure though the request was none.
pub(super) fn read(reply: &Reply) -> Option<Answer> {
    if reply.kind() == "ConflictException" {
        // An earlier attempt started it, with a secret that said something else, perhaps.
        return Some(Reply::told(&json!({ "task": reply.field("/resourceIds/0").as_deref().map(id_of) })));
    }
    if !reply.is_success() {
        return None;
    }
    if let Some(reason) = reply.field("/failures/0/reason") {
        let error = not_placed(&reason).error(&format!("no task was started: {}", for_tenants(&reason)));
        return Some(Answer::Failed { error, retry_after: None });
    }
    Some(Reply::told(&json!({ "task": reply.field("/tasks/0/taskArn").as_deref().map(id_of) })))
}

/// Room may come; what is missing or inactive stays so.
fn not_placed(reason: &str) -> ErrorCode {
    let lacks_room = reason.starts_with("RESOURCE") || reason.starts_with("AGENT") || reason.contains("apacity");
    if lacks_room { ErrorCode::ServiceBusy } else { ErrorCode::ServiceRefused }
}

/// The end of an ARN: what comes before says whose it is.
fn id_of(arn: &str) -> &str {
    arn.rsplit('/').next().unwrap_or_default()
}
