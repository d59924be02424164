//! A step of a history: time passes, runs are carried out, or somebody asks something.

use axum::body::Body;
use http::Request;

#[derive(Clone, Debug)]
pub(super) enum Step {
    Pass(u64),
    Work,
    Ask(Asking),
}

/// One of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Who {
    One,
    Two,
}

/// A request, whole: it can be sent again.
#[derive(Clone, Debug)]
pub(super) struct Asking {
    /// Whose it is, or about whom the deployment's key speaks.
    pub about: Who,
    pub key: String,
    pub method: &'static str,
    pub route: &'static str,
    pub path: String,
    pub headers: Vec<(&'static str, String)>,
    pub body: Option<String>,
    /// What chance is sown with before.
    pub chance: u64,
}

impl Who {
    pub(super) const HOST_KEY: &'static str = "mh_host";

    pub(super) const fn key(self) -> &'static str {
        match self {
            Self::One => "mh_key_of_one",
            Self::Two => "mh_key_of_two",
        }
    }

    pub(super) const fn other(self) -> Self {
        match self {
            Self::One => Self::Two,
            Self::Two => Self::One,
        }
    }

    /// The number of their workflow.
    pub(super) const fn workflow(self) -> u8 {
        match self {
            Self::One => 11,
            Self::Two => 12,
        }
    }

    pub(super) const fn tenant(self) -> &'static str {
        match self {
            Self::One => "one",
            Self::Two => "two",
        }
    }
}

impl Asking {
    pub(super) fn request(&self) -> Request<Body> {
        let request = crate::world::request(self.method, &self.path, &self.key);
        let request = self.headers.iter().fold(request, |request, (name, value)| request.header(*name, value));
        let request = match self.body {
            Some(_) => request.header("content-type", "application/json"),
            None => request,
        };
        request.body(self.body.clone().unwrap_or_default().into()).unwrap()
    }
}
