//! What another try at a run is given in place of what the first was given.

use thiserror::Error;

use crate::body::Json;
use crate::json_patch::{NotPatched, Patch};
use crate::limits::SECRETS_OF_A_CALL;
use crate::secret::NotASecretName;
use crate::secret::marked;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Edit {
    /// The same.
    #[default]
    AsItWas,
    /// This, as it was accepted.
    Payload(Json),
    /// What comes of the former.
    Patch(Patch),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum NotEdited {
    #[error("the patch does not fit the payload of the run: {0}")]
    Patch(#[from] NotPatched),
    #[error("{{\"secret\": …}} in what comes of it names none: {0}")]
    Secret(#[from] NotASecretName),
    #[error("a call needs at most {SECRETS_OF_A_CALL} secrets")]
    Secrets,
}

impl Edit {
    /// What is given in place of this; none where it is the same.
    pub fn applied(&self, given: Option<&Json>) -> Result<Option<Json>, NotEdited> {
        match self {
            Self::AsItWas => Ok(None),
            Self::Payload(json) => Ok(Some(json.clone())),
            Self::Patch(patch) => {
                let (json, secrets) = marked(&patch.applied(given)?)?;
                if secrets.len() > SECRETS_OF_A_CALL { Err(NotEdited::Secrets) } else { Ok(Some(json)) }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json_patch::{Pointer, Step};
    use crate::secret::named_in;

    #[test]
    fn what_a_patch_makes_is_marked_as_what_a_client_writes() {
        let given = Json::of(&serde_json::json!({"to": "a", "n": 1}));
        let value = Json::of(&serde_json::json!({"secret": "token"}));
        let patch = Patch::new(vec![Step::Add { path: Pointer::parse("/auth").unwrap(), value }]).unwrap();

        let edited = Edit::Patch(patch).applied(Some(&given)).unwrap().unwrap();

        assert_eq!(named_in(&edited).len(), 1, "{edited:?}");
        assert_eq!(Edit::AsItWas.applied(Some(&given)), Ok(None));
    }
}
