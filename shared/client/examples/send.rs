use std::env;

use minutehand_client::Client;
use minutehand_client::worker::{Context, NotDone, Worker};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let client = Client::new(&env::var("MINUTEHAND_URL")?, &env::var("MINUTEHAND_KEY")?)?;
    Worker::new(client, "web1").job("invoice.send", send).run().await?;
    Ok(())
}

async fn send(ctx: Context) -> Result<Value, NotDone> {
    let payload: Value = ctx.payload()?;
    if payload["invoice"] == 0 {
        return Err(NotDone::failed("no_such_invoice", "there is no invoice 0").for_good());
    }
    for page in ctx.checkpoint::<u32>()?.unwrap_or(0) + 1..=3 {
        ctx.check()?; // an error when the handler is to stop
        ctx.log(&format!("page {page}"));
        ctx.progress(f64::from(page) / 3.0);
        ctx.keep(&page)?; // the next holder goes on from here
    }
    Ok(json!({ "pages": 3 }))
}
