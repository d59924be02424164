//! The vault of AWS: what every vault promises, kept by a key of an emulated KMS; and what KMS can say beside that, from a script.

use aws_sdk_kms::Client;
use http::StatusCode;
use minutehand_aws_tests::ministack::{Authorization, Ministack};
use minutehand_aws_tests::scripted::{Answer, Asked, Scripted};
use minutehand_domain::secret::{Label, Sealed, SecretValue};
use minutehand_io::Fault;
use minutehand_io::vault::kms::Kms;
use minutehand_io::vault::{Vault as _, VaultError, VaultRefusal};
use minutehand_tests::conformance::vault::{keeps_its_promises, value};
use minutehand_tests::conformance::world::tenant;
use serde_json::{Value, json};

const KEY: &str = "arn:aws:kms:us-east-1:000000000000:key/today";
const FORMER: &str = "arn:aws:kms:us-east-1:000000000000:key/former";

/// That damage does not open is AWS's word alone: the emulator does not look for it.
#[tokio::test]
async fn a_key_of_kms_keeps_what_every_vault_promises() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };

    keeps_its_promises(&Kms::new(Client::new(&aws.sdk()), Some(key_of(&aws).await))).await;
}

/// A key that was changed: what the former one sealed is opened by it, as long as it may be used. What AWS says where another
/// key is named the emulator does not: see the script below.
#[tokio::test]
async fn what_a_former_key_sealed_is_opened_by_that_key() {
    let Some(aws) = Ministack::start(Authorization::Off) else { return };
    let (client, [former, today]) = (Client::new(&aws.sdk()), [key_of(&aws).await, key_of(&aws).await]);
    let (tenant, name) = (tenant(), "stripe".parse().unwrap());
    let label = Label { tenant: &tenant, name: &name };
    let sealed = Kms::new(client.clone(), Some(former.clone())).seal(label, &value("hunter2")).await.unwrap();
    let vault = Kms::new(client.clone(), Some(today.clone()));

    assert_eq!(vault.open(label, &sealed).await, Ok(value("hunter2")));
    // The emulator answers with the id that AWS's ARN ends with.
    assert!(former.ends_with(&sealed.by), "{sealed:?}");
    assert!(today.ends_with(&vault.seal(label, &value("x")).await.unwrap().by));

    client.disable_key().key_id(&former).send().await.unwrap();
    let disabled = vault.open(label, &sealed).await;
    assert!(matches!(disabled, Err(VaultError::Refused(VaultRefusal::UnusableKey(_)))), "{disabled:?}");
}

/// What KMS is asked is the whole of what it learns: whose secret it is and what it is called stand in its log.
#[tokio::test]
async fn kms_is_asked_by_the_key_that_sealed_and_with_whose_secret_it_is() {
    let (scripted, vault) = kms_that(|_, asked| match asked.operation.as_str() {
        "Encrypt" => Answer::Ok(json!({ "CiphertextBlob": "c2VhbGVk", "KeyId": FORMER })),
        _ => Answer::Ok(json!({ "Plaintext": "aHVudGVyMg==", "KeyId": FORMER })),
    })
    .await;
    let (tenant, name) = (tenant(), "stripe".parse().unwrap());
    let label = Label { tenant: &tenant, name: &name };

    let sealed = vault.seal(label, &value("hunter2")).await.unwrap();
    let opened = vault.open(label, &sealed).await;

    assert_eq!(sealed, Sealed { by: FORMER.to_owned(), bytes: b"sealed".to_vec() });
    assert_eq!(opened, Ok(value("hunter2")));
    let context = json!({ "minutehand:tenant": "acme", "minutehand:secret": "stripe" });
    let encrypt = json!({ "KeyId": KEY, "Plaintext": "aHVudGVyMg==", "EncryptionContext": context });
    let decrypt = json!({ "KeyId": FORMER, "CiphertextBlob": "c2VhbGVk", "EncryptionContext": context });
    let asked = |operation: &str, body: Value| Asked { operation: operation.to_owned(), body };
    assert_eq!(scripted.asked(), [asked("Encrypt", encrypt), asked("Decrypt", decrypt)]);
}

/// Tried: with `AccessDeniedException` left to the others, a run whose secret may no longer be opened waits for ever, unseen.
#[tokio::test]
async fn what_kms_says_no_to_for_good_is_a_refusal_and_all_else_may_pass() {
    let unusable = |code: &str| VaultError::from(VaultRefusal::UnusableKey(format!("{FORMER}: {code}")));
    let other_key = VaultError::from(VaultRefusal::OtherKey { by: FORMER.to_owned() });
    for (code, refusal) in [
        ("AccessDeniedException", Some(unusable("AccessDeniedException"))),
        ("DisabledException", Some(unusable("DisabledException"))),
        ("KMSInvalidStateException", Some(unusable("KMSInvalidStateException"))),
        ("InvalidKeyUsageException", Some(unusable("InvalidKeyUsageException"))),
        ("NotFoundException", Some(other_key.clone())),
        ("IncorrectKeyException", Some(other_key)),
        ("InvalidCiphertextException", Some(VaultRefusal::BrokenSeal.into())),
        ("ThrottlingException", None),
        ("KeyUnavailableException", None),
        ("DependencyTimeoutException", None),
        ("ExpiredTokenException", None),
    ] {
        let (scripted, vault) = kms_that(move |_, _| Answer::Error(StatusCode::BAD_REQUEST, code)).await;

        let opened = open(&vault).await;

        match refusal {
            Some(refusal) => {
                assert_eq!(opened, Err(refusal), "{code}");
                assert_eq!(scripted.asked().len(), 1, "{code}: nobody asks again");
            }
            None => assert!(matches!(opened, Err(VaultError::Fault(Fault::Unavailable { .. }))), "{code}: {opened:?}"),
        }
    }
}

#[tokio::test]
async fn a_throttle_that_passes_is_waited_out() {
    let (scripted, vault) = kms_that(|before, _| match before {
        0 => Answer::Error(StatusCode::BAD_REQUEST, "ThrottlingException"),
        _ => Answer::Ok(json!({ "Plaintext": "aHVudGVyMg==", "KeyId": FORMER })),
    })
    .await;

    assert_eq!(open(&vault).await, Ok(value("hunter2")));
    assert_eq!(scripted.asked().len(), 2);
}

/// What can be opened and is no secret: of an item, so that nobody waits for it to pass.
#[tokio::test]
async fn what_opens_and_is_no_text_is_unreadable() {
    let (_scripted, vault) = kms_that(|_, _| Answer::Ok(json!({ "Plaintext": "//79", "KeyId": FORMER }))).await;

    let opened = open(&vault).await;

    assert!(matches!(opened, Err(VaultError::Fault(Fault::Unreadable { .. }))), "{opened:?}");
}

/// A deployment that seals no more still has what its former key sealed.
///
/// Removed: who has a key alone opens. `FormerSecretsKeyArn` without `SecretsKeyArn` opened nothing, and each run that needed a secret failed for good.
#[tokio::test]
async fn without_a_key_nothing_is_sealed_and_what_a_former_one_sealed_is_opened() {
    let opens = |_, _: &Asked| Answer::Ok(json!({ "Plaintext": "aHVudGVyMg==", "KeyId": FORMER }));
    let scripted = Scripted::start(opens).await;
    let vault = Kms::new(Client::new(&scripted.sdk()), None);
    let (tenant, name) = (tenant(), "stripe".parse().unwrap());

    let sealed = vault.seal(Label { tenant: &tenant, name: &name }, &value("hunter2")).await;

    assert_eq!((sealed, scripted.asked()), (Err(VaultRefusal::NoKey.into()), vec![]));
    assert_eq!(open(&vault).await, Ok(value("hunter2")));
}

async fn kms_that(script: impl Fn(usize, &Asked) -> Answer + Send + Sync + 'static) -> (Scripted, Kms) {
    let scripted = Scripted::start(script).await;
    let vault = Kms::new(Client::new(&scripted.sdk()), Some(KEY.to_owned()));
    (scripted, vault)
}

/// Something that the former key sealed.
async fn open(vault: &Kms) -> Result<SecretValue, VaultError> {
    let (tenant, name) = (tenant(), "stripe".parse().unwrap());
    let sealed = Sealed { by: FORMER.to_owned(), bytes: b"sealed".to_vec() };
    vault.open(Label { tenant: &tenant, name: &name }, &sealed).await
}

/// The ARN of a new one.
async fn key_of(aws: &Ministack) -> String {
    let made = Client::new(&aws.sdk()).create_key().send().await.expect("a key");
    made.key_metadata.and_then(|key| key.arn).expect("an ARN")
}
