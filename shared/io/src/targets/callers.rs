//! The callers: each kind of target goes to the one that knows how to call it.

use std::future::Future;

use minutehand_domain::target::Target;

use super::http::HttpCaller;
use super::{Answer, Call, Targets};

#[derive(Clone, Debug)]
pub struct Callers {
    http: HttpCaller,
}

impl Callers {
    pub fn new(http: HttpCaller) -> Self {
        Self { http }
    }
}

impl Targets for Callers {
    fn call(&self, call: Call<'_>) -> impl Future<Output = Answer> + Send {
        async move {
            match call.target {
                Target::Noop => Answer::Succeeded { result: None },
                Target::Http(target) => self.http.call(target, call).await,
            }
        }
    }
}
