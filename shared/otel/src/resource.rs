//! The resource: whose spans and metrics these are.

use opentelemetry_proto::tonic::resource::v1::Resource;

use crate::Identity;
use crate::points::text;
use crate::settings::Settings;

const SERVICE: &str = "service.name";

/// What is set comes before what we know, and the variable for the name before the attribute.
pub(crate) fn resource(settings: &Settings, identity: &Identity) -> Resource {
    let known = [
        (SERVICE, identity.service.clone()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", format!("{:016x}", identity.instance)),
    ];
    let set = settings.service.iter().map(|name| (SERVICE, name.as_str()));
    let set = set.chain(settings.attributes.iter().map(|(name, value)| (name.as_str(), value.as_str())));
    let mut attributes = Vec::new();
    for (name, value) in set.chain(known.iter().map(|(name, value)| (*name, value.as_str()))) {
        let attribute = text(name, value);
        if attributes.iter().all(|other: &opentelemetry_proto::tonic::common::v1::KeyValue| other.key != name) {
            attributes.push(attribute);
        }
    }
    Resource { attributes, ..Resource::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collector::tests::identity;

    fn attributes(set: &[(&'static str, &'static str)]) -> Vec<opentelemetry_proto::tonic::common::v1::KeyValue> {
        let variable = |name: &str| set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let settings = Settings::read(&variable, Some("http://collector")).unwrap().unwrap();
        resource(&settings, &identity()).attributes
    }

    #[test]
    fn a_resource_says_who_it_is_unless_it_is_told_to_be_another() {
        let version = text("service.version", env!("CARGO_PKG_VERSION"));
        let instance = text("service.instance.id", "000000000000feed");

        assert_eq!(attributes(&[]), [text(SERVICE, "minutehand"), version.clone(), instance.clone()]);
        let by_attribute = [("OTEL_RESOURCE_ATTRIBUTES", "service.name=jobs,service.instance.id=one")];
        assert_eq!(
            attributes(&by_attribute),
            [text(SERVICE, "jobs"), text("service.instance.id", "one"), version.clone()]
        );
        let both = [("OTEL_RESOURCE_ATTRIBUTES", "service.name=jobs"), ("OTEL_SERVICE_NAME", "night")];
        assert_eq!(attributes(&both), [text(SERVICE, "night"), version, instance]);
    }
}
