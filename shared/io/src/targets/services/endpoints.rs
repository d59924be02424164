//! Where the services are: in the region that the alias says or in the deployment's, or at an endpoint of the operator's own, such as an
//! emulator.

use std::collections::BTreeMap;

use minutehand_domain::target::ServiceKind;
use thiserror::Error;

use crate::targets::declared::{Declared, Service};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Endpoints {
    /// The deployment's.
    pub region: Option<String>,
    /// In the place of AWS, for all services.
    pub all: Option<String>,
    /// And for one; it goes before.
    pub own: BTreeMap<ServiceKind, String>,
}

/// Where one request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// Scheme, host and port.
    pub(super) origin: String,
    pub(super) region: String,
    /// What the service is called in a signature.
    pub(super) service: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("the region of a target of AWS is not known: set AWS_REGION, or name it by an ARN")]
pub struct NoRegion;

impl Endpoints {
    /// Whether all of these can be found.
    pub fn know(&self, declared: &Declared) -> Result<(), NoRegion> {
        declared.all().try_for_each(|(_, one)| self.place(&one.service).map(|_| ()))
    }

    pub(super) fn place(&self, service: &Service) -> Result<Place, NoRegion> {
        let kind = service.kind();
        let region = service.region().or_else(|| self.region.clone()).ok_or(NoRegion)?;
        let theirs = || match service {
            Service::Sqs(queue) => queue.origin().to_owned(),
            other => {
                let end = if other.is_in_china() || region.starts_with("cn-") { ".cn" } else { "" };
                format!("https://{}.{region}.amazonaws.com{end}", name_of(kind))
            }
        };
        let given = self.own.get(&kind).or(self.all.as_ref());
        let origin = given.map_or_else(theirs, |given| given.trim_end_matches('/').to_owned());
        Ok(Place { origin, region, service: name_of(kind) })
    }
}

/// In a signature, and in the names of hosts.
const fn name_of(kind: ServiceKind) -> &'static str {
    match kind {
        ServiceKind::Lambda => "lambda",
        ServiceKind::Sqs => "sqs",
        ServiceKind::Sns => "sns",
        ServiceKind::EventBridge => "events",
        ServiceKind::StepFunctions => "states",
        ServiceKind::Ecs => "ecs",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(text: &str) -> Service {
        let declared = Declared::read(&format!(r#"{{"a": {text}}}"#)).unwrap();
        declared.all().next().unwrap().1.service.clone()
    }

    #[test]
    fn a_service_is_where_its_name_says_or_where_the_operator_says() {
        let ours = Endpoints { region: Some("eu-west-1".to_owned()), ..Endpoints::default() };
        let emulated = Endpoints { all: Some("http://127.0.0.1:4566/".to_owned()), ..ours.clone() };
        let apart = Endpoints { own: [(ServiceKind::Sqs, "http://sqs:9324".to_owned())].into(), ..emulated.clone() };
        let (lambda, sqs, bus) = (
            r#"{"lambda": "arn:aws:lambda:us-east-1:123456789012:function:f"}"#,
            r#"{"sqs": "https://sqs.us-east-2.amazonaws.com/123456789012/q"}"#,
            r#"{"eventbridge": "house"}"#,
        );
        for (endpoints, text, origin, region, service) in [
            (&ours, lambda, "https://lambda.us-east-1.amazonaws.com", "us-east-1", "lambda"),
            (&ours, sqs, "https://sqs.us-east-2.amazonaws.com", "us-east-2", "sqs"),
            (&ours, r#"{"sqs": "http://localhost:4566/000000000000/q"}"#, "http://localhost:4566", "eu-west-1", "sqs"),
            (&ours, bus, "https://events.eu-west-1.amazonaws.com", "eu-west-1", "events"),
            (
                &ours,
                r#"{"sns": "arn:aws-cn:sns:cn-north-1:123456789012:t"}"#,
                "https://sns.cn-north-1.amazonaws.com.cn",
                "cn-north-1",
                "sns",
            ),
            (&emulated, lambda, "http://127.0.0.1:4566", "us-east-1", "lambda"),
            (&apart, lambda, "http://127.0.0.1:4566", "us-east-1", "lambda"),
            (&apart, sqs, "http://sqs:9324", "us-east-2", "sqs"),
        ] {
            let place = endpoints.place(&declared(text)).unwrap();

            assert_eq!((&*place.origin, &*place.region, place.service), (origin, region, service), "{text}");
        }
        assert_eq!(Endpoints::default().place(&declared(bus)), Err(NoRegion));
    }
}
