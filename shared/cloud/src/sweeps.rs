//! Sweeps: the queue by which a tick distributes groups of shards to further invocations of the sweeper.

use std::fmt;

use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::error::DisplayErrorContext;
use minutehand_io::Fault;

pub struct Sweeps {
    client: Client,
    url: String,
}

impl Sweeps {
    pub fn new(aws: &SdkConfig, url: String) -> Self {
        Self { client: Client::new(aws), url }
    }

    pub async fn hand_out(&self, group: String) -> Result<(), Fault> {
        let sent = self.client.send_message().queue_url(&self.url).message_body(group).send().await;
        sent.map(|_message| ())
            .map_err(|error| Fault::unavailable("the sweeps", DisplayErrorContext(error).to_string()))
    }
}

impl fmt::Debug for Sweeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sweeps to {}", self.url)
    }
}
