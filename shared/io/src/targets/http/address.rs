//! A target's URL, checked twice: when the job is created, so that the client sees the error, and at every call, because
//! the rules may have changed since.

use std::net::IpAddr;

use http::Uri;
use minutehand_domain::limits::URL_CHARS;
use thiserror::Error;
use url::{Host, Url};

use super::reach::{OutOfReach, Reach};

/// Checks a URL without any lookup: a host name is resolved only when it is called.
pub fn check_url(url: &str, reach: Reach) -> Result<(), UrlRefusal> {
    parse(url, reach).map(|_| ())
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum UrlRefusal {
    #[error("a target's URL has at most {URL_CHARS} characters, and so has its percent-encoded form")]
    TooLong,
    #[error("this is not a URL: {0}")]
    NotAUrl(url::ParseError),
    #[error("this URL cannot be written into a request")]
    Unwritable,
    #[error("a target's URL starts with http:// or https://")]
    NotHttp,
    #[error("a target's URL carries no user name or password: use a header")]
    Credentials,
    #[error("port 0 cannot be called")]
    PortZero,
    #[error("the address {0} {1}")]
    Forbidden(IpAddr, OutOfReach),
    #[error("the name {0:.80} {1}")]
    ForbiddenName(String, OutOfReach),
}

/// The URL in the spelling that is called: the `url` crate has decoded octal and hexadecimal numbers and wide characters.
pub(super) fn parse(text: &str, reach: Reach) -> Result<Uri, UrlRefusal> {
    if text.chars().count() > URL_CHARS {
        return Err(UrlRefusal::TooLong);
    }
    let mut url = Url::parse(text).map_err(UrlRefusal::NotAUrl)?;
    check(&url, reach)?;
    // A fragment is for a browser and is never sent.
    url.set_fragment(None);
    if url.as_str().len() > URL_CHARS {
        return Err(UrlRefusal::TooLong);
    }
    let uri = Uri::try_from(url.as_str()).map_err(|_| UrlRefusal::Unwritable)?;
    if uri.scheme().is_some() && uri.host().is_some() { Ok(uri) } else { Err(UrlRefusal::Unwritable) }
}

fn check(url: &Url, reach: Reach) -> Result<(), UrlRefusal> {
    if !matches!(url.scheme(), "http" | "https") {
        return Err(UrlRefusal::NotHttp);
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(UrlRefusal::Credentials);
    }
    if url.port() == Some(0) {
        return Err(UrlRefusal::PortZero);
    }
    url.host().map_or(Ok(()), |host| check_host(&host, reach))
}

/// A name is judged by its addresses, when it is called; only this machine's own is known without a lookup.
fn check_host(host: &Host<&str>, reach: Reach) -> Result<(), UrlRefusal> {
    let address = match host {
        Host::Domain(name) if is_this_machine(name) && reach < Reach::Loopback => {
            return Err(UrlRefusal::ForbiddenName((*name).to_owned(), OutOfReach::of_this_machine(reach)));
        }
        Host::Domain(_) => return Ok(()),
        &Host::Ipv4(address) => IpAddr::from(address),
        &Host::Ipv6(address) => IpAddr::from(address),
    };
    reach.check(address).map_err(|why| UrlRefusal::Forbidden(address, why))
}

/// RFC 6761: `localhost` and every name below it, with or without the final dot. The `url` crate wrote it in small letters.
fn is_this_machine(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    name.rsplit('.').next() == Some("localhost")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Never a target, in any spelling.
    const METADATA: [&str; 45] = [
        "http://169.254.169.254/latest/meta-data/",
        "http://169.254.169.254:80/",
        "http://169.254.169.254./",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://0xA9.0xFE.0xA9.0xFE/",
        "http://0251.0376.0251.0376/",
        "http://169.254.43518/",
        "http://169.16689662/",
        "http://%31%36%39.254.169.254/",
        "http://①⑥⑨。２５４.169.254/",
        "http:\\\\169.254.169.254\\",
        "http:169.254.169.254",
        "ht\ntp://169.254.\t169.254/",
        "http://[::ffff:169.254.169.254]/",
        "http://[::ffff:a9fe:a9fe]/",
        "http://[0:0:0:0:0:ffff:a9fe:a9fe]/",
        "http://[64:ff9b::169.254.169.254]/",
        "http://[2002:a9fe:a9fe::]/",
        "http://[fd00:ec2::254]/",
        "http://[fd00:0ec2:0:0:0:0:0:0254]/",
        "https://[fe80::1]/",
        "http://0.0.0.0/",
        "http://0/",
        "http://[::]/",
        "http://255.255.255.255/",
        "http://@169.254.169.254/",
        "http://:@169.254.169.254/",
        "http://169.254.169.254#@example.com/",
        "http://169.254.169.254?@example.com/",
        "http://169.254.169.254\\@example.com/",
        "http:///169.254.169.254/",
        "http://169。254｡169．254/",
        "http://169.254.169.254.:80/",
        "http://[::ffff:0:a9fe:a9fe]/",
        "http://[::a9fe:a9fe]/",
        "http://[64:ff9b::a9fe:a9fe]/",
        "http://[64:ff9b:1::a9fe:a9fe]/",
        "http://[2001:0:a9fe:a9fe::1]/",
        "http://[FE80::1]/",
        "http://[fec0::1]/",
        "http://[ff02::1]/",
        "http://100.100.100.200/",
        "http://168.63.129.16/",
        "http://[fd20:ce::254]/",
    ];

    #[test]
    fn an_address_is_checked_in_every_spelling() {
        let here = [
            "http://127.0.0.1/",
            "http://127.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://[::1]/",
            "http://[0:0:0:0:0:0:0:1]:8080/",
            "http://[::ffff:127.0.0.1]/",
            "http://[::ffff:7f00:1]/",
            "http://127.0.0.1./",
            "http://0177.0.0.1/",
            "http://0x7f000001/",
            "http://①②⑦.0.0.1/",
            "http://@127.0.0.1/",
            "http://[64:ff9b::127.0.0.1]/",
            "http://[2002:7f00:1::]/",
            "http://localhost/",
            "http://localhost./",
            "http://LOCALHOST:9001/2018-06-01/runtime/invocation/next",
            "http://ⓛocalhost/",
            "http://%6cocalhost/",
            "http://a.b.localhost./",
        ];
        let inside = [
            "http://[64:ff9b::a00:1]/",
            "https://10.1.2.3/",
            "http://167838211/",
            "https://172.16.0.1/",
            "https://192.168.1.1/",
            "https://100.64.0.1/",
            "https://[fd12::1]/",
            "http://[::ffff:10.0.0.1]/",
        ];
        let open = [
            "https://1.1.1.1/",
            "http://16843009/",
            "https://[2606:4700::1111]/",
            "https://example.com/",
            // A name is checked by its addresses, when it is called.
            "http://localhost.example.com/",
            "http://notlocalhost/",
            "http://metadata.google.internal/",
            "http://169.254.169.254.nip.io/",
            "http://example.com#@169.254.169.254/",
            "http://example.com\\@169.254.169.254/",
            "http://example.com./",
        ];

        let allowing = |url: &str| {
            let refused = |refusal| matches!(refusal, UrlRefusal::Forbidden(..) | UrlRefusal::ForbiddenName(..));
            Reach::ALL.map(|reach| check_url(url, reach).map_err(|why| assert!(refused(why), "{url}")).is_ok())
        };
        for (urls, allowed) in [
            (&METADATA[..], [false, false, false]),
            (&here, [false, false, true]),
            (&inside, [false, true, true]),
            (&open, [true, true, true]),
        ] {
            for url in urls {
                assert_eq!(allowing(url), allowed, "{url} by {:?}", Reach::ALL);
            }
        }
    }

    /// The operator reads it too: it says what to set.
    #[test]
    fn a_refusal_names_the_reach_that_would_allow_it() {
        let refusal_of = |url: &str, reach| check_url(url, reach).unwrap_err().to_string();

        assert_eq!(
            refusal_of("http://10.0.0.1/", Reach::Public),
            "the address 10.0.0.1 is private: that needs MINUTEHAND_REACH=private, not public"
        );
        assert_eq!(
            refusal_of("http://127.1/", Reach::Private),
            "the address 127.0.0.1 is loopback: that needs serve --reach loopback, not private"
        );
        assert_eq!(
            refusal_of("http://localhost./", Reach::Public),
            "the name localhost. is loopback: that needs serve --reach loopback, not public"
        );
        assert_eq!(
            refusal_of("http://0xa9fea9fe/", Reach::Loopback),
            "the address 169.254.169.254 may not be called from anywhere"
        );
    }

    #[test]
    fn a_url_that_cannot_be_called_is_refused_with_its_reason() {
        let long = format!("https://example.com/{}", "a".repeat(URL_CHARS));
        let wide = format!("https://example.com/{}", "ü".repeat(URL_CHARS / 2));
        let refusal_of = |url: &str| check_url(url, Reach::Public).unwrap_err().to_string();

        assert_eq!(refusal_of("example.com/hook"), "this is not a URL: relative URL without a base");
        assert_eq!(refusal_of("https://"), "this is not a URL: empty host");
        assert_eq!(refusal_of("https://exa mple.com"), "this is not a URL: invalid international domain name");
        assert_eq!(refusal_of("ftp://example.com/"), "a target's URL starts with http:// or https://");
        assert_eq!(refusal_of("file:///etc/passwd"), "a target's URL starts with http:// or https://");
        assert_eq!(
            refusal_of("https://me:secret@example.com/"),
            "a target's URL carries no user name or password: use a header"
        );
        assert_eq!(
            refusal_of("https://me@example.com/"),
            "a target's URL carries no user name or password: use a header"
        );
        assert_eq!(refusal_of("https://example.com:0/"), "port 0 cannot be called");
        assert_eq!(refusal_of("https://example.com:65536/"), "this is not a URL: invalid port number");
        assert!(refusal_of(&long).starts_with("a target's URL has at most 2048 characters"));
        assert!(refusal_of(&wide).starts_with("a target's URL has at most 2048 characters"));
    }

    #[test]
    fn an_invalid_address_is_no_url() {
        for url in [
            "http://[fe80::1%eth0]/",
            "http://[fe80::1%25eth0]/",
            "http://[::1%251]/",
            "http://[v1.fe80::1]/",
            "http://[169.254.169.254]/",
            "http://[::ffff:0xa9fea9fe]/",
            "http://[::1/",
            "http://::1/",
            "http://[]/",
            "http://256.256.256.256/",
            "http://169.254.169.254.1/",
            "http://4294967296/",
            "http://0x1a9fea9fe/",
            "http://0400.0.0.1/",
            "http://08.1.1.1/",
            "http://1.2.3.08/",
            "http://example.0x7f/",
            "http://example.1/",
            "http://127.0.0.1%00.example.com/",
            "http://exam\0ple.com/",
            "http://exam%0d%0aple.com/",
            "http://example.com:http/",
            "http://example.com:-1/",
            "http://example.com:1e3/",
            "http://",
            "http:",
            "//example.com/",
            "",
        ] {
            for reach in Reach::ALL {
                let refusal = check_url(url, reach);
                assert!(matches!(refusal, Err(UrlRefusal::NotAUrl(_))), "{url}: {refusal:?}");
            }
        }
    }

    #[test]
    fn a_url_with_a_user_name_or_password_is_refused_whatever_its_host() {
        for url in [
            "http://example.com@169.254.169.254/",
            "http://169.254.169.254@example.com/",
            "http://169.254.169.254:80@example.com/",
            "http://a:b@[::1]/",
            "http://%00@example.com/",
            "http://:b@example.com/",
            "http://example.com@example.com@127.0.0.1/",
        ] {
            for reach in Reach::ALL {
                assert_eq!(check_url(url, reach), Err(UrlRefusal::Credentials), "{url}");
            }
        }
    }

    #[test]
    fn the_url_called_is_the_url_checked() {
        for (url, called) in [
            ("http://example.com\\@169.254.169.254/", "http://example.com/@169.254.169.254/"),
            ("http://example.com#@169.254.169.254/", "http://example.com/"),
            ("HTTP://EXAMPLE.com:80", "http://example.com/"),
            ("http://exa\tmple.com/a b", "http://example.com/a%20b"),
            ("http://example.com/../../a/./b", "http://example.com/a/b"),
            ("http://bücher.example/", "http://xn--bcher-kva.example/"),
            ("http://ⓛocalhost/", "http://localhost/"),
            ("http://%6cocalhost/", "http://localhost/"),
            ("http://2130706433:8080/", "http://127.0.0.1:8080/"),
        ] {
            assert_eq!(parse(url, Reach::Loopback).unwrap(), called, "{url}");
        }
    }

    #[test]
    fn a_fragment_is_not_sent() {
        assert_eq!(parse("https://example.com/a?b=c#d", Reach::Public).unwrap(), "https://example.com/a?b=c");
    }

    proptest! {
        #[test]
        fn any_text_is_a_url_with_a_host_or_refused(
            text in prop_oneof![any::<String>(), "https?:[/\\\\]{0,3}[!-~]{0,40}", "https?://[a-z0-9.:@\\[\\]%ü-]{1,20}/\\PC{0,40}"],
        ) {
            if let Ok(uri) = parse(&text, Reach::Public) {
                prop_assert!(uri.host().is_some_and(|host| http::HeaderValue::from_str(host).is_ok()));
            }
        }
    }
}
