//! Calling a service of AWS that the operator declared: one signed POST, one answer. No SDK tries again behind our back: an attempt is one
//! call (docs/decisions/0029).
//!
//! A file for each service says what is asked and how its answer is read, as pure functions; [`endpoints`] knows where to, [`credentials`]
//! who signs, [`sign`] how, and [`reply`] what an answer of none of them means.

mod ask;
pub(crate) mod credentials;
mod ecs;
mod endpoints;
mod eventbridge;
mod lambda;
pub(crate) mod reply;
pub(crate) mod sign;
mod sns;
mod sqs;
mod step_functions;
#[cfg(test)]
mod tests;

pub use endpoints::{Endpoints, NoRegion};

use std::time::Duration;

use aws_credential_types::provider::SharedCredentialsProvider;
use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::target::{Asks, ServiceTarget};

use self::ask::Ask;
use self::credentials::{KnownCredentials, NoCredentials};
use self::endpoints::Place;
use self::reply::Reply;
use super::declared::{Declared, Service};
use super::http::{HttpCaller, Reach};
use super::material::one_line;
use super::{Answer, Call, Services, Upcoming};
use crate::Fault;

/// How long a run waits before its claim for whoever gives credentials.
const ASKED_FOR: Duration = Duration::from_secs(5);

/// Cheap to clone; the clones share their connections and credentials.
#[derive(Clone, Debug)]
pub struct ServiceCaller {
    declared: Declared,
    endpoints: Endpoints,
    credentials: KnownCredentials,
    http: HttpCaller,
}

impl ServiceCaller {
    /// An endpoint is the operator's, so that it may be anywhere that an operator's may be: beside this process, or in a private network.
    pub fn new(
        declared: Declared,
        endpoints: Endpoints,
        credentials: SharedCredentialsProvider,
    ) -> Result<Self, Fault> {
        let http = HttpCaller::new(Reach::Loopback)?;
        Ok(Self { declared, endpoints, credentials: KnownCredentials::new(credentials), http })
    }

    async fn exchange(&self, target: &ServiceTarget, call: Call<'_>) -> Result<Answer, AttemptError> {
        let found = self.declared.find(call.tenant, target);
        let service = found.map_err(|refusal| ErrorCode::Alias.error(&refusal.detail))?;
        let ask = ask_of(service, &target.asks, &call)?;
        let place = self.endpoints.place(service).map_err(|why| ErrorCode::Unavailable.error(&why.to_string()))?;
        let reply = self.reply(target, ask, &place, &call).await?;
        Ok(read(service, &reply, &call))
    }

    async fn reply(
        &self,
        target: &ServiceTarget,
        ask: Ask,
        place: &Place,
        call: &Call<'_>,
    ) -> Result<Reply, AttemptError> {
        let credentials =
            self.credentials.at(call.now).await.map_err(|why| ErrorCode::Unavailable.error(&why.to_string()))?;
        let request = sign::signed(ask, place, credentials, call.now)
            .map_err(|why| ErrorCode::Unavailable.error(&format!("the call could not be signed: {why}")))?;
        let reply = Reply::of(self.http.send(request).await?).await?;
        if !reply.is_success() {
            // What AWS says may name accounts and roles: it is for the operator. It may also repeat what it was given.
            let (alias, said) = (target.alias.as_str(), call.material.without_secrets(&one_line(&reply.text()), &[]));
            tracing::warn!(alias, run = %call.run, status = reply.status(), said, "AWS did not take a call");
        }
        if reply.is_of_old_credentials() {
            self.credentials.forget();
        }
        Ok(reply)
    }
}

impl Services for ServiceCaller {
    /// An alias that says nothing to this process, or is not this tenant's, needs none: its call says so. And where nobody is set up to give any,
    /// the call says that: it is no fault of the world, and who set it up is told by dead letters.
    async fn prepare(&self, upcoming: Upcoming<'_>, target: &ServiceTarget) -> Result<(), Fault> {
        if self.declared.find(upcoming.tenant, target).is_err() {
            return Ok(());
        }
        match tokio::time::timeout(ASKED_FOR, self.credentials.at(upcoming.now)).await {
            Ok(Ok(_) | Err(NoCredentials::NotSetUp)) => Ok(()),
            Ok(Err(away)) => Err(Fault::unavailable("credentials", away.to_string())),
            Err(_elapsed) => Err(Fault::unavailable("credentials", format!("none within {ASKED_FOR:?}"))),
        }
    }

    /// Credentials, connecting, sending and reading together take at most `call.timeout`.
    async fn call(&self, target: &ServiceTarget, call: Call<'_>) -> Answer {
        match tokio::time::timeout(call.timeout, self.exchange(target, call)).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => Answer::Failed { error, retry_after: None },
            Err(_elapsed) => Answer::TimedOut,
        }
    }
}

/// What is asked of the service behind an alias.
fn ask_of(service: &Service, asks: &Asks, call: &Call<'_>) -> Result<Ask, AttemptError> {
    match (service, asks) {
        (Service::Lambda(function), Asks::Lambda) => Ok(lambda::ask(function, call)),
        (Service::Sqs(queue), Asks::Sqs { group }) => Ok(sqs::ask(queue, group.as_ref(), call)),
        (Service::Sns(topic), Asks::Sns { group }) => sns::ask(topic, group.as_ref(), call),
        (Service::EventBridge(bus), Asks::EventBridge { detail_type }) => {
            eventbridge::ask(bus, detail_type.as_deref(), call)
        }
        (Service::StepFunctions(machine), Asks::StepFunctions) => step_functions::ask(machine, call),
        (Service::Ecs(task), Asks::Ecs) => ecs::ask(task, call),
        // `Declared::find` compares the kinds.
        (
            Service::Lambda(_)
            | Service::Sqs(_)
            | Service::Sns(_)
            | Service::EventBridge(_)
            | Service::StepFunctions(_)
            | Service::Ecs(_),
            _,
        ) => Err(ErrorCode::Alias.error("the alias is of another kind")),
    }
}

/// What the service's answer means.
fn read(service: &Service, reply: &Reply, call: &Call<'_>) -> Answer {
    let read = match service {
        Service::Lambda(_) => lambda::read(reply),
        Service::Sqs(_) => sqs::read(reply),
        Service::Sns(_) => sns::read(reply),
        Service::EventBridge(_) => eventbridge::read(reply),
        Service::StepFunctions(_) => step_functions::read(reply, call),
        Service::Ecs(_) => ecs::read(reply),
    };
    read.unwrap_or_else(|| reply.failed(call.now))
}
