//! A credential: which headers are shown to nobody. What they say is judged by their names alone: a value looks like nothing.

/// A name that has one of these anywhere in it. `key` takes in `x-api-key` and `ocp-apim-subscription-key`, and also
/// `x-keyword`: a header that is masked for nothing costs its reader a look into its source, one that is shown costs a password.
const ANYWHERE: [&str; 12] = [
    "authoriz",
    "authent",
    "bearer",
    "cookie",
    "credential",
    "jwt",
    "key",
    "passphrase",
    "passw",
    "secret",
    "session",
    "token",
];

/// A name of which one of these is a whole word: inside of others (`author`, `assigned`, `bypass`) they mean something else.
const WORDS: [&str; 7] = ["auth", "pass", "pin", "pwd", "sid", "sig", "signature"];

/// Whether a header of this name is likely to carry a credential.
pub fn names_a_credential(header: &str) -> bool {
    let name = header.to_ascii_lowercase();
    ANYWHERE.iter().any(|part| name.contains(part))
        || name.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_judged_by_its_name() {
        let credentials = [
            "Authorization",
            "authorization",
            "X-Authentication",
            "X-Auth",
            "x-auth-user",
            "Cookie",
            "Set-Cookie",
            "X-API-Key",
            "apikey",
            "api_key",
            "Ocp-Apim-Subscription-Key",
            "X-Amz-Security-Token",
            "X-CSRFToken",
            "Private-Token",
            "X-Client-Secret",
            "X-Password",
            "X-Passwd",
            "x-pwd",
            "X-Vault-Credentials",
            "X-Session-Id",
            "x-jwt-assertion",
            "X-Hub-Signature",
            "x-sig",
        ];
        let others = [
            "",
            "accept",
            "content-type",
            "x-author",
            "x-team",
            "x-request-id",
            "x-bypass-cache",
            "x-assigned-to",
            "user-agent",
            "x-pinned",
        ];

        assert_eq!(credentials.iter().find(|name| !names_a_credential(name)), None);
        assert_eq!(others.iter().find(|name| names_a_credential(name)), None);
    }
}
