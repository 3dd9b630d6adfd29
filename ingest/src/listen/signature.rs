//! Whose a delivery is: a signature over its raw bytes, or a token that comes with it; both compared in
//! a time that says nothing about them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use shared::config::{Secret, WebhookKind};

/// What the headers of a request offer as a proof.
#[derive(Clone, Copy, Debug, Default)]
pub struct Offered<'r> {
    /// `X-Hub-Signature-256`.
    pub github: Option<&'r str>,
    /// `Sentry-Hook-Signature`, else `Sentry-App-Signature`, which set-up calls carry.
    pub sentry: Option<&'r str>,
    /// `Authorization`.
    pub authorization: Option<&'r str>,
}

/// What is left to be checked once the body is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Proof {
    /// The token is right; the body may say what it wants.
    Complete,
    /// SHA-256 under the secret, of the body's bytes.
    OfBody(Vec<u8>),
}

/// Before anything of the body is read: refuses what cannot be right whatever the body is.
pub fn offered(kind: WebhookKind, secret: &Secret, offered: &Offered<'_>) -> Option<Proof> {
    match kind {
        WebhookKind::Github => signature(offered.github?.strip_prefix("sha256=")?),
        WebhookKind::Sentry => signature(offered.sentry?),
        WebhookKind::Alertmanager | WebhookKind::Generic => {
            let (scheme, token) = offered.authorization?.split_once(' ')?;
            let is_token = scheme.eq_ignore_ascii_case("bearer")
                && is_same(secret.expose().as_bytes(), token.trim().as_bytes());
            is_token.then_some(Proof::Complete)
        }
    }
}

/// Whether the body is what its sender signed.
pub fn is_whole(proof: &Proof, secret: &Secret, body: &[u8]) -> bool {
    match proof {
        Proof::Complete => true,
        Proof::OfBody(signature) => {
            let mac = mac(secret.expose().as_bytes()).map(|mac| mac.chain_update(body));
            mac.is_some_and(|mac| mac.verify_slice(signature).is_ok())
        }
    }
}

/// 64 hexadecimal digits.
fn signature(hex: &str) -> Option<Proof> {
    let digits = hex.as_bytes();
    if digits.len() != 64 {
        return None;
    }
    let (pairs, _) = digits.as_chunks::<2>();
    let byte = |pair: &[u8; 2]| {
        let pair = std::str::from_utf8(pair).ok()?;
        let plain = pair.chars().all(|digit| digit.is_ascii_hexdigit());
        plain.then(|| u8::from_str_radix(pair, 16).ok())?
    };
    let bytes: Option<Vec<u8>> = pairs.iter().map(byte).collect();
    Some(Proof::OfBody(bytes?))
}

/// Both under one key: how much of the one agrees with the other shows in no time.
fn is_same(own: &[u8], offered: &[u8]) -> bool {
    let (Some(expected), Some(found)) = (mac(own), mac(own)) else {
        return false;
    };
    let expected = expected.chain_update(own).finalize().into_bytes();
    let found = found.chain_update(offered);
    found.verify_slice(&expected).is_ok()
}

fn mac(key: &[u8]) -> Option<Hmac<Sha256>> {
    Hmac::new_from_slice(key).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// docs.github.com, "Validating webhook deliveries", "Testing the webhook payload validation".
    const SECRET: &str = "It's a Secret to Everybody";
    const BODY: &[u8] = b"Hello, World!";
    const SIGNED: &str = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";

    fn secret() -> Secret {
        Secret::from(SECRET.to_owned())
    }

    fn takes(signature: &str, body: &[u8]) -> bool {
        let headers = Offered {
            github: Some(signature),
            ..Offered::default()
        };
        let proof = offered(WebhookKind::Github, &secret(), &headers);
        proof.is_some_and(|proof| is_whole(&proof, &secret(), body))
    }

    #[test]
    fn githubs_own_example_is_taken_and_nothing_that_differs_from_it() {
        let signed = format!("sha256={SIGNED}");
        assert!(takes(&signed, BODY));
        assert!(takes(&signed.to_uppercase().replace("SHA", "sha"), BODY));
        for (place, _) in signed.char_indices() {
            let mut other = signed.clone().into_bytes();
            other[place] = if other[place] == b'0' { b'1' } else { b'0' };
            let other = String::from_utf8(other).unwrap();
            assert!(!takes(&other, BODY), "{other}");
        }
        for place in 0..BODY.len() {
            let mut other = BODY.to_vec();
            other[place] ^= 1;
            assert!(!takes(&signed, &other), "byte {place}");
        }
        for wrong in [
            "",
            "sha256=",
            SIGNED,
            "sha1=757107ea0eb2509fc211221cce984b8a37570b6d",
            signed.trim_end_matches('7'),
            &format!("{signed}0"),
            &signed.replace("75", "+5"),
        ] {
            assert!(!takes(wrong, BODY), "{wrong}");
        }
    }

    #[test]
    fn sentry_signs_without_a_prefix() {
        let headers = Offered {
            sentry: Some(SIGNED),
            ..Offered::default()
        };
        let proof = offered(WebhookKind::Sentry, &secret(), &headers).unwrap();
        assert!(is_whole(&proof, &secret(), BODY));
        let github = offered(WebhookKind::Github, &secret(), &headers);
        assert_eq!(github, None, "another's header proves nothing");
    }

    #[test]
    fn a_token_is_shown_as_a_bearer() {
        let shown = |authorization: Option<&str>| {
            let headers = Offered {
                authorization,
                ..Offered::default()
            };
            offered(WebhookKind::Generic, &secret(), &headers)
        };
        for right in [format!("Bearer {SECRET}"), format!("bearer  {SECRET} ")] {
            assert_eq!(shown(Some(&right)), Some(Proof::Complete), "{right}");
        }
        for wrong in [
            format!("Basic {SECRET}"),
            SECRET.to_owned(),
            format!("Bearer {SECRET}x"),
            format!("Bearer {}", SECRET.replace("It", "it")),
            "Bearer ".to_owned(),
        ] {
            assert_eq!(shown(Some(&wrong)), None, "{wrong}");
        }
        assert_eq!(shown(None), None);
    }
}
