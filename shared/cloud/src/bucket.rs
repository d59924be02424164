//! The bucket that an operator keeps the archive in.

use aws_config::SdkConfig;
use minutehand_io::Fault;
use minutehand_io::bucket::Bucket;
use thiserror::Error;

use crate::settings::{Environment, SettingError};

#[derive(Debug, Error)]
pub enum BucketError {
    #[error(transparent)]
    Setting(#[from] SettingError),
    #[error("the region of the bucket is not known: set AWS_REGION")]
    NoRegion,
    #[error("there are no AWS credentials to put anything into the bucket with")]
    NoCredentials,
    #[error(transparent)]
    Fault(#[from] Fault),
}

pub fn archive_bucket(aws: &SdkConfig, environment: &Environment) -> Result<Bucket, BucketError> {
    let name: String = environment.required("MINUTEHAND_ARCHIVE_BUCKET", "the name of an S3 bucket")?;
    let region = aws.region().ok_or(BucketError::NoRegion)?;
    let endpoint = environment.text("AWS_ENDPOINT_URL_S3").or_else(|| aws.endpoint_url().map(str::to_owned));
    let credentials = aws.credentials_provider().ok_or(BucketError::NoCredentials)?;
    Ok(Bucket::new(&name, region.as_ref(), endpoint.as_deref(), credentials)?)
}
