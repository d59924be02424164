//! What `serve --targets` declares, and who calls it: a build without AWS calls none.

use std::fs;

#[cfg(feature = "aws")]
use minutehand_cloud::{Environment, SdkConfig, ServiceCaller, services};
use minutehand_io::targets::Declared;
#[cfg(not(feature = "aws"))]
use minutehand_io::targets::NoServices;

use crate::serve_error::ServeError;

#[cfg(feature = "aws")]
pub(crate) type Services = Option<ServiceCaller>;
#[cfg(not(feature = "aws"))]
pub(crate) type Services = NoServices;

/// A text in braces is itself what is declared; any other is the path of a file that says it.
pub(crate) fn declared(setting: Option<&str>) -> Result<Declared, ServeError> {
    let Some(setting) = setting.map(str::trim).filter(|setting| !setting.is_empty()) else {
        return Ok(Declared::default());
    };
    if setting.starts_with('{') {
        return Ok(Declared::read(setting)?);
    }
    let read = fs::read_to_string(setting);
    let text = read.map_err(|why| ServeError::TargetsFile { path: setting.to_owned(), why })?;
    Ok(Declared::read(&text)?)
}

#[cfg(feature = "aws")]
pub(crate) fn calling(declared: Declared, aws: &SdkConfig) -> Result<Services, ServeError> {
    Ok(services(declared, aws, &Environment::of_this_process())?)
}

/// In a process that needs nothing else of AWS: its settings are read only where there is something to call.
#[cfg(feature = "aws")]
pub(crate) async fn calling_if_any(declared: &Declared) -> Result<Services, ServeError> {
    if declared.is_empty() { Ok(None) } else { calling(declared.clone(), &minutehand_cloud::aws().await) }
}

#[cfg(not(feature = "aws"))]
#[expect(clippy::unused_async, reason = "a build with AWS asks for its settings")]
pub(crate) async fn calling_if_any(declared: &Declared) -> Result<Services, ServeError> {
    if declared.is_empty() { Ok(NoServices) } else { Err(ServeError::TargetsWithoutAws) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"orders": {"sqs": "https://sqs.eu-west-1.amazonaws.com/123456789012/orders"}}"#;

    #[test]
    fn targets_are_declared_in_the_setting_or_in_the_file_that_it_names() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("targets.json");
        fs::write(&file, ONE).unwrap();

        for (setting, count) in [(None, 0), (Some(""), 0), (Some(ONE), 1), (file.to_str(), 1)] {
            assert_eq!(declared(setting).unwrap().all().count(), count, "{setting:?}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_in_a_sentence() {
        for (setting, said) in [
            ("{", "the targets are no JSON object of aliases"),
            (r#"{"a": {"sqs": "x"}}"#, "the target `a` is \"x\": it must be the URL of a queue"),
            ("no/such/file.json", "cannot read the targets in no/such/file.json"),
        ] {
            let why = declared(Some(setting)).unwrap_err().to_string();
            assert!(why.contains(said), "{why}");
        }
    }

    #[cfg(not(feature = "aws"))]
    #[tokio::test]
    async fn a_build_without_aws_says_which_build_has_it() {
        let declared = declared(Some(ONE)).unwrap();

        let why = calling_if_any(&declared).await.unwrap_err().to_string();

        assert!(why.contains("--features aws"), "{why}");
    }
}
