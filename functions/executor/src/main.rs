//! The executor that the queues' queues wake with up to ten hints: all are carried out side by side, and only what met a
//! fault goes back to its queue.

use std::process::ExitCode;
use std::sync::Arc;

use aws_lambda_events::event::sqs::{SqsBatchResponse, SqsEvent, SqsMessage};
use lambda_runtime::{Context, Error, LambdaEvent, service_fn};
use minutehand_cloud::{Cloud, Environment, Measuring, NoTargets, ServiceCaller, Settings, aws, logs, services};
use minutehand_domain::Moment;
use minutehand_executor::batch::execute_batch;
use minutehand_io::Fault;
use minutehand_io::queues::Delivery;
use minutehand_io::queues::sqs::{QueueUrls, Receipt, message};
use minutehand_io::store::dynamo::DynamoStore;
use minutehand_io::targets::Callers;
use minutehand_io::targets::http::HttpCaller;

struct Executor {
    ports: Cloud<Callers<HttpCaller, DynamoStore, Option<ServiceCaller>>>,
    queues: QueueUrls,
    measuring: Measuring,
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    logs::to_stdout();
    logs::exit_code(serve().await)
}

async fn serve() -> Result<(), Error> {
    let executor = Arc::new(Executor::start(&Environment::of_this_process()).await?);
    lambda_runtime::run(service_fn(move |event: LambdaEvent<SqsEvent>| {
        let executor = Arc::clone(&executor);
        async move { Ok::<_, Error>(executor.execute(event.payload, &event.context).await) }
    }))
    .await
}

impl Executor {
    async fn start(environment: &Environment) -> Result<Self, Error> {
        let settings = Settings::read(environment)?;
        let queues = settings.queues.clone();
        let http = HttpCaller::new(environment.reach()?)?;
        let aws = aws().await;
        let services = services(environment.targets()?, &aws, environment)?;
        let measuring = Measuring::of("executor", environment)?;
        let ports = Cloud::new(settings, &aws, NoTargets).calling(|store| Callers::with(http, services, store));
        Ok(Self { ports: ports.observed(measuring.sink(), measuring.spans()), queues, measuring })
    }

    /// Answers with the messages that are to be delivered again. What cannot be read is among them: it goes to the dead
    /// letters, where somebody sees it.
    async fn execute(&self, event: SqsEvent, context: &Context) -> SqsBatchResponse {
        let mut answer = SqsBatchResponse::default();
        let (mut deliveries, mut ids) = (Vec::new(), Vec::new());
        for message in event.records {
            let id = message.message_id.clone().unwrap_or_default();
            match self.delivery(message) {
                Ok(delivery) => {
                    deliveries.push(delivery);
                    ids.push(id);
                }
                Err(why) => {
                    tracing::error!(id, %why, "this is no hint");
                    answer.add_failure(id);
                }
            }
        }
        let deadline = Moment::from_millis(i64::try_from(context.deadline).unwrap_or(i64::MAX));
        let carried = execute_batch(&self.ports, &deliveries, deadline).await;
        for ((id, delivery), carried) in ids.into_iter().zip(&deliveries).zip(carried) {
            tracing::debug!(run = %delivery.hint.run, ?carried, "carried");
            if carried.is_given_back() {
                tracing::warn!(run = %delivery.hint.run, ?carried, "given back");
                answer.add_failure(id);
            }
        }
        self.ports.flush_events().await;
        self.measuring.tell(deliveries.first().map(|delivery| delivery.lane.priority)).await;
        answer
    }

    fn delivery(&self, message: SqsMessage) -> Result<Delivery<Receipt>, Fault> {
        let unreadable = |why: &str| Fault::unreadable("the queues", why);
        let queue = message.event_source_arn.ok_or_else(|| unreadable("a message of no queue"))?;
        let lane = self.queues.lane_of(&queue).ok_or_else(|| unreadable("a message of another queue"))?;
        let handle = message.receipt_handle.ok_or_else(|| unreadable("a message without a receipt"))?;
        let hint = message::read(message.body.as_deref().unwrap_or_default())?;
        Ok(Delivery { hint, lane, receipt: Receipt::new(lane, handle) })
    }
}
