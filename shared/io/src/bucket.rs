//! A bucket of S3: whole objects are put into it, and nothing is read. One signed request each: an SDK for that would be most of a function
//! (docs/decisions/0029 has what they cost).

use std::time::Duration;

use aws_credential_types::provider::SharedCredentialsProvider;
use minutehand_domain::Moment;

use crate::Fault;
use crate::targets::http::{HttpCaller, Reach};
use crate::targets::services::credentials::KnownCredentials;
use crate::targets::services::reply::Reply;
use crate::targets::services::sign::signed_put;

const PORT: &str = "the bucket";

/// The longest that putting one object takes: of one that is larger than any batch makes.
const WITHIN: Duration = Duration::from_secs(60);

#[derive(Clone, Debug)]
pub struct Bucket {
    /// Of its objects, without the last slash.
    address: String,
    region: String,
    credentials: KnownCredentials,
    http: HttpCaller,
}

impl Bucket {
    /// `endpoint`: in the place of AWS. There buckets are told apart by the path, as emulators have no names for each.
    pub fn new(
        name: &str,
        region: &str,
        endpoint: Option<&str>,
        credentials: SharedCredentialsProvider,
    ) -> Result<Self, Fault> {
        Ok(Self {
            address: address(name, region, endpoint),
            region: region.to_owned(),
            credentials: KnownCredentials::new(credentials),
            http: HttpCaller::new(Reach::Loopback)?,
        })
    }

    /// What is there under this name is replaced. The name has nothing in it that a URL would have to encode.
    pub async fn put(&self, name: &str, object: Vec<u8>, now: Moment) -> Result<(), Fault> {
        let put = tokio::time::timeout(WITHIN, self.put_in_time(name, object, now)).await;
        put.unwrap_or_else(|_| Err(Fault::unavailable(PORT, format!("no answer within {} s", WITHIN.as_secs()))))
    }

    async fn put_in_time(&self, name: &str, object: Vec<u8>, now: Moment) -> Result<(), Fault> {
        let away = |why: String| Fault::unavailable(PORT, why);
        let credentials = self.credentials.at(now).await.map_err(|why| away(why.to_string()))?;
        let url = format!("{}/{name}", self.address);
        let request = signed_put(&url, &self.region, object.into(), credentials, now);
        let answer = self.http.send(request.map_err(|why| away(why.to_string()))?).await;
        let reply =
            Reply::of(answer.map_err(|error| away(error.message))?).await.map_err(|error| away(error.message))?;
        if reply.is_success() {
            return Ok(());
        }
        // The credentials may have been taken back: the next put asks for others.
        self.credentials.forget();
        Err(away(format!("{name} was answered with {}: {}", reply.status(), reply.text())))
    }
}

fn address(name: &str, region: &str, endpoint: Option<&str>) -> String {
    if let Some(endpoint) = endpoint {
        return format!("{}/{name}", endpoint.trim_end_matches('/'));
    }
    let end = if region.starts_with("cn-") { ".cn" } else { "" };
    format!("https://{name}.s3.{region}.amazonaws.com{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_where_its_region_says_or_where_the_operator_says() {
        let rows = [
            ("eu-west-1", None, "https://kept.s3.eu-west-1.amazonaws.com"),
            ("cn-north-1", None, "https://kept.s3.cn-north-1.amazonaws.com.cn"),
            ("eu-west-1", Some("http://127.0.0.1:4566/"), "http://127.0.0.1:4566/kept"),
        ];
        for (region, endpoint, expected) in rows {
            assert_eq!(address("kept", region, endpoint), expected);
        }
    }
}
