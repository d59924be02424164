//! The material of a call: what it takes beside its order, read before the claim and held in memory until the call is made.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use minutehand_domain::body::Json;
use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::secret::{SecretName, SecretValue};
use minutehand_domain::signing::SigningSecrets;

/// Stands where a secret stood.
const MASK: &str = "***";
/// So much of a secret's beginning is not there by chance.
const CUT: usize = 4;
/// A word of a secret that is as long tells of it by itself: a target repeats a key without the `Bearer ` before it.
pub(super) const WORD: usize = 8;

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

    /// What a target says, without what the secrets say that it was given, and what else nobody is shown. It is in one line, and was cut short where it
    /// was long, maybe within a secret.
    pub fn without_secrets(&self, told: &str, unshown: &[&str]) -> String {
        let mut told = told.to_owned();
        for secret in self.as_repeated(unshown) {
            told = told.replace(&secret, MASK);
            let begins_at_the_end = |length: &usize| secret.get(..*length).is_some_and(|begin| told.ends_with(begin));
            if let Some(length) = (CUT..secret.len()).rev().find(begins_at_the_end) {
                told.truncate(told.len() - length);
                told.push_str(MASK);
            }
        }
        told
    }

    /// What the secrets say, as it may be repeated in a line: as it is, or within JSON. The longest first, as one may stand within another.
    fn as_repeated(&self, unshown: &[&str]) -> Vec<String> {
        let values = self.secrets.values().flatten().map(|value| value.reveal());
        let as_sent = values.chain(unshown.iter().copied()).flat_map(|value| [value.to_owned(), within_json(value)]);
        let mut lines: Vec<String> = as_sent.map(|text| one_line(&text)).filter(|line| line.len() >= CUT).collect();
        let words: Vec<_> = lines.iter().flat_map(|line| line.split(' ')).map(str::to_owned).collect();
        lines.extend(words.into_iter().filter(|word| word.len() >= WORD));
        lines.sort_by_key(|line| (Reverse(line.len()), line.clone()));
        lines.dedup();
        lines
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

/// As an answer is quoted.
pub(in crate::targets) fn one_line(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().filter(|c| !c.is_control()).collect()
}

fn within_json(value: &str) -> String {
    let quoted = Json::of(&serde_json::Value::from(value));
    let inside = quoted.as_str().strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    inside.unwrap_or_default().to_owned()
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
        let shown = |told| material().without_secrets(told, &[]);

        assert_eq!(shown("no hunter2, nor hunter2!"), "no ***, nor ***!");
        assert_eq!(shown("the key is hunte"), "the key is ***");
        assert_eq!((&*shown("hunters hunt"), &*shown("a hun")), ("hunters ***", "a hun"));
    }

    /// Removed, one after the other: the longest first; what is escaped in JSON; what becomes one line.
    #[test]
    fn what_repeats_secrets_within_others_or_in_json_or_of_many_lines_is_shown_without_them() {
        let secrets = [("a", "minutehand"), ("b", "db://minutehand:p4ss@db"), ("c", "-- KEY\nMII\"E\n-- END")];
        let value = |text: &str| Ok(Arc::new(SecretValue::new(Zeroizing::new(text.to_owned())).unwrap()));
        let secrets = secrets.map(|(name, text)| (name.parse().unwrap(), value(text))).into();
        let material = Material { signing: None, secrets };

        let shown = |told| material.without_secrets(told, &[]);

        assert_eq!(shown("db://minutehand:p4ss@db is away"), "*** is away");
        assert_eq!(shown("-- KEY MII\"E -- END, said minutehand"), "***, said ***");
        assert_eq!(shown(r#"{"key":"-- KEY\nMII\"E\n-- END"}"#), r#"{"key":"***"}"#);
        assert_eq!(shown("no -- KEY MII"), "no ***");
    }

    /// Removed: a secret is one word. A target that repeated the key without what stands before it showed it to every viewer.
    #[test]
    fn what_repeats_a_long_word_of_a_secret_is_shown_without_it() {
        let value = SecretValue::new(Zeroizing::new("Bearer SEKRET-2b1f8c".to_owned())).unwrap();
        let secrets = [("a".parse().unwrap(), Ok(Arc::new(value)))].into();
        let material = Material { signing: None, secrets };

        let shown = |told| material.without_secrets(told, &[]);

        assert_eq!(shown("invalid token SEKRET-2b1f8c"), "invalid token ***");
        assert_eq!(shown("invalid token SEKRET-2b"), "invalid token ***");
        assert_eq!(shown("no Bearer SEKRET-2b1f8c, a Bearer"), "no ***, a ***");
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
