//! What every vault promises, whatever it is made of.

use minutehand_domain::id::Tenant;
use minutehand_domain::limits::SECRET_BYTES;
use minutehand_domain::secret::{Label, Sealed, SecretName, SecretValue};
use minutehand_io::vault::Vault;
use zeroize::Zeroizing;

pub fn value(text: &str) -> SecretValue {
    SecretValue::new(Zeroizing::new(text.to_owned())).unwrap()
}

pub async fn keeps_its_promises(vault: &impl Vault) {
    let acme = (Tenant::new("acme").unwrap(), "stripe".parse::<SecretName>().unwrap());
    let label = Label { tenant: &acme.0, name: &acme.1 };
    let largest = "v".repeat(SECRET_BYTES);
    for text in ["x", "hunter2", "ä\u{0}🕐\n", &largest] {
        let sealed = vault.seal(label, &value(text)).await.unwrap();

        assert_eq!(vault.open(label, &sealed).await.unwrap().reveal(), text, "it opens again");
        assert!(!holds(&sealed, text) || text.len() == 1, "it shows nothing");
        assert_ne!(vault.seal(label, &value(text)).await.unwrap().bytes, sealed.bytes, "no two seals are the same");
    }
    opens_for_nobody_else(vault, label).await;
}

async fn opens_for_nobody_else(vault: &impl Vault, label: Label<'_>) {
    let (other, name) = (Tenant::new("other").unwrap(), "paypal".parse().unwrap());
    let sealed = vault.seal(label, &value("hunter2")).await.unwrap();
    for wrong in [Label { tenant: &other, ..label }, Label { name: &name, ..label }] {
        assert!(vault.open(wrong, &sealed).await.is_err(), "in another's place it does not open: {wrong:?}");
    }
}

/// Which only a vault that authenticates what it opens can promise: the emulator of KMS does not.
pub async fn opens_nothing_damaged(vault: &impl Vault) {
    let (tenant, name) = (Tenant::new("acme").unwrap(), "stripe".parse().unwrap());
    let label = Label { tenant: &tenant, name: &name };
    let sealed = vault.seal(label, &value("hunter2")).await.unwrap();
    for at in [0, sealed.bytes.len() / 2, sealed.bytes.len() - 1] {
        let mut bytes = sealed.bytes.clone();
        bytes[at] ^= 1;
        let damaged = Sealed { bytes, ..sealed.clone() };
        assert!(vault.open(label, &damaged).await.is_err(), "damaged it does not open");
    }
    for bytes in [Vec::new(), sealed.bytes[..sealed.bytes.len() - 1].to_vec()] {
        assert!(vault.open(label, &Sealed { bytes, ..sealed.clone() }).await.is_err(), "torn it does not open");
    }
}

fn holds(sealed: &Sealed, text: &str) -> bool {
    sealed.bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
