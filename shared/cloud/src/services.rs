//! The services of AWS that an operator declares as targets: what the environment says of them, and who calls them.

use aws_config::SdkConfig;
use minutehand_domain::target::ServiceKind;
use minutehand_io::Fault;
use minutehand_io::targets::Declared;
use minutehand_io::targets::services::{Endpoints, NoRegion, ServiceCaller};
use thiserror::Error;

use crate::settings::Environment;

#[derive(Debug, Error)]
pub enum ServicesError {
    #[error(transparent)]
    NoRegion(#[from] NoRegion),
    #[error("targets of AWS are declared, and there are no AWS credentials to call them with")]
    NoCredentials,
    #[error(transparent)]
    Fault(#[from] Fault),
}

/// Who calls what is declared; none where nothing is.
pub fn services(
    declared: Declared,
    aws: &SdkConfig,
    environment: &Environment,
) -> Result<Option<ServiceCaller>, ServicesError> {
    if declared.is_empty() {
        return Ok(None);
    }
    let endpoints = endpoints(aws, environment);
    endpoints.know(&declared)?;
    let credentials = aws.credentials_provider().ok_or(ServicesError::NoCredentials)?;
    Ok(Some(ServiceCaller::new(declared, endpoints, credentials)?))
}

/// As the SDKs read them: one for all services, and one for each that goes before it.
fn endpoints(aws: &SdkConfig, environment: &Environment) -> Endpoints {
    let own = ServiceKind::ALL.into_iter().filter_map(|kind| Some((kind, environment.text(variable(kind))?)));
    Endpoints {
        region: aws.region().map(ToString::to_string),
        all: aws.endpoint_url().map(str::to_owned),
        own: own.collect(),
    }
}

const fn variable(kind: ServiceKind) -> &'static str {
    match kind {
        ServiceKind::Lambda => "AWS_ENDPOINT_URL_LAMBDA",
        ServiceKind::Sqs => "AWS_ENDPOINT_URL_SQS",
        ServiceKind::Sns => "AWS_ENDPOINT_URL_SNS",
        ServiceKind::EventBridge => "AWS_ENDPOINT_URL_EVENTBRIDGE",
        ServiceKind::StepFunctions => "AWS_ENDPOINT_URL_SFN",
        ServiceKind::Ecs => "AWS_ENDPOINT_URL_ECS",
    }
}

#[cfg(test)]
mod tests {
    use aws_config::Region;

    use super::*;

    #[test]
    fn an_endpoint_of_one_service_stands_beside_that_of_all() {
        let aws = SdkConfig::builder().region(Region::new("eu-west-1")).endpoint_url("http://all").build();
        let environment = Environment::new(|name| (name == "AWS_ENDPOINT_URL_SFN").then(|| "http://states".to_owned()));

        let endpoints = endpoints(&aws, &environment);

        assert_eq!((endpoints.region.as_deref(), endpoints.all.as_deref()), (Some("eu-west-1"), Some("http://all")));
        assert_eq!(endpoints.own, [(ServiceKind::StepFunctions, "http://states".to_owned())].into());
    }

    #[test]
    fn what_is_declared_is_refused_at_the_start_where_it_cannot_be_called() {
        let (nothing, aws) = (Environment::new(|_| None), SdkConfig::builder().build());
        let bus = Declared::read(r#"{"a": {"eventbridge": "house"}}"#).unwrap();
        let topic = Declared::read(r#"{"a": {"sns": "arn:aws:sns:us-east-1:123456789012:t"}}"#).unwrap();

        assert!(services(Declared::default(), &aws, &nothing).unwrap().is_none());
        assert!(services(bus, &aws, &nothing).unwrap_err().to_string().contains("AWS_REGION"));
        assert!(services(topic, &aws, &nothing).unwrap_err().to_string().contains("no AWS credentials"));
    }
}
