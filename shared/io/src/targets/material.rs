//! The material of a call: what it takes beside its order, read before the claim and held in memory until the call is made.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::secret::{SecretName, SecretValue};
use minutehand_domain::signing::SigningSecrets;

/// Stands where a secret stood.
const MASK: &str = "***";
/// So much of a secret's beginning is not there by chance.
const CUT: usize = 4;

/// Its `Debug` shows nothing of it: it is made of secrets.
#[derive(Clone, Default)]
pub struct Material {
    /// What the call is signed with; none where nothing is sent.
    pub signing: Option<Arc<SigningSecrets>>,
    /// What the secrets say that the call names; or why one of them says nothing.
    pub secrets: BTreeMap<SecretName, Result<Arc<SecretValue>, NoValue>>,
}

/// Why a call cannot be given what a secret says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoValue {
    NoSecret,
    /// It cannot be opened: the log says why, which is the operator's to know.
    Sealed,
}

impl Material {
    /// What a secret says, where it is there.
    pub fn secret(&self, name: &SecretName) -> Option<&SecretValue> {
        self.secrets.get(name)?.as_deref().ok()
    }

    /// What somebody said who was called, without what the secrets say that it was given. It was cut short where it was long, maybe within one.
    pub fn without_secrets(&self, told: &str) -> String {
        let mut told = told.to_owned();
        let values = self.secrets.values().flatten().map(|value| value.reveal());
        for value in values.filter(|value| value.len() >= CUT) {
            told = told.replace(value, MASK);
            let begins_at_the_end = |length: &usize| value.get(..*length).is_some_and(|begin| told.ends_with(begin));
            if let Some(length) = (CUT..value.len()).rev().find(begins_at_the_end) {
                told.truncate(told.len() - length);
                told.push_str(MASK);
            }
        }
        told
    }

    /// Why the call cannot be made: it says the name of the first secret that is missing, and nothing that any of them says.
    pub fn missing(&self) -> Option<AttemptError> {
        let (name, why) = self.secrets.iter().find_map(|(name, value)| Some((name, value.as_ref().err()?)))?;
        let message = match why {
            NoValue::NoSecret => format!("there is no secret `{}`", name.as_str()),
            NoValue::Sealed => format!("the secret `{}` cannot be opened by this deployment's key", name.as_str()),
        };
        Some(ErrorCode::Secret.error(&message))
    }
}

impl fmt::Debug for Material {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Material").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use minutehand_domain::Moment;
    use zeroize::Zeroizing;

    use super::*;

    fn material() -> Material {
        let value = SecretValue::new(Zeroizing::new("hunter2".to_owned())).unwrap();
        Material {
            signing: Some(Arc::new(SigningSecrets::new([7; 32], Moment::EPOCH))),
            secrets: [("a".parse().unwrap(), Ok(Arc::new(value)))].into(),
        }
    }

    #[test]
    fn a_debug_of_material_shows_nothing_of_it() {
        assert_eq!(format!("{:?}", material()), "Material { .. }");
    }

    /// Removed: what is cut within a secret.
    #[test]
    fn what_repeats_a_secret_is_shown_without_it() {
        let shown = |told| material().without_secrets(told);

        assert_eq!(shown("no hunter2, nor hunter2!"), "no ***, nor ***!");
        assert_eq!(shown("the key is hunte"), "the key is ***");
        assert_eq!((&*shown("hunters hunt"), &*shown("a hun")), ("hunters ***", "a hun"));
    }

    #[test]
    fn what_is_missing_is_said_by_its_name() {
        let mut material = material();
        assert_eq!(material.missing(), None);

        material.secrets.insert("b".parse().unwrap(), Err(NoValue::NoSecret));
        let missing = material.missing().unwrap();

        assert_eq!((&*missing.code, missing.retryable, missing.reached), ("secret", false, false));
        assert_eq!(missing.message, "there is no secret `b`");
    }
}
