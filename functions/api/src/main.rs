//! The API behind API Gateway: the router that every host serves, over the ports of AWS.

use std::process::ExitCode;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn, from_fn_with_state};
use axum::response::Response;
use data_encoding::HEXLOWER_PERMISSIVE;
use lambda_http::request::RequestContext;
use lambda_http::{Error, RequestExt as _};
use minutehand_api::{Api, Keyring, Source, TargetCheck, router};
use minutehand_cloud::{Cloud, Environment, Measuring, NoTargets, SettingError, Settings, aws, logs};
use minutehand_domain::id::Tenant;
use minutehand_io::targets::http::check_target;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    logs::to_stdout();
    logs::exit_code(serve().await)
}

async fn serve() -> Result<(), Error> {
    let environment = Environment::of_this_process();
    let (settings, keys, reach) = (Settings::read(&environment)?, keys(&environment)?, environment.reach()?);
    let measuring = Measuring::of("api", &environment)?;
    let ports = Cloud::new(settings, &aws().await, NoTargets).observed(measuring.sink(), measuring.spans());
    let ports = Arc::new(ports);
    let target_check = TargetCheck::new(move |target| check_target(target, reach)).declaring(environment.targets()?);
    let api = router(Api { ports: Arc::clone(&ports), keys, target_check, metrics: None, backups: None });
    let api = api.layer(from_fn_with_state((ports, measuring), tell_before_answering)).layer(from_fn(say_its_source));
    lambda_http::run(api).await
}

/// A function is frozen between two invocations: its events and measurements must be told before the answer.
async fn tell_before_answering(
    State((ports, measuring)): State<(Arc<Cloud<NoTargets>>, Measuring)>,
    request: Request,
    next: Next,
) -> Response {
    let response = next.run(request).await;
    ports.flush_events().await;
    measuring.tell(None).await;
    response
}

/// API Gateway saw where it came from; its headers may say anything.
async fn say_its_source(mut request: Request, next: Next) -> Response {
    if let Some(source) = source_of(&request) {
        request.extensions_mut().insert(source);
    }
    next.run(request).await
}

fn source_of(request: &Request) -> Option<Source> {
    match request.request_context_ref()? {
        RequestContext::ApiGatewayV2(context) => context.http.source_ip.as_deref()?.parse().ok().map(Source::of),
        _ => None,
    }
}

fn keys(environment: &Environment) -> Result<Keyring, SettingError> {
    let Sha256(hash) = environment.required("MINUTEHAND_KEY_SHA256", "the SHA-256 of the admin key, in hex")?;
    Ok(Keyring::of_hash(hash, Tenant::deployment()))
}

struct Sha256([u8; 32]);

impl std::str::FromStr for Sha256 {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.as_bytes()).map_err(|_| ())?;
        bytes.try_into().map(Self).map_err(|_| ())
    }
}
