//! Over TLS: the API with a certificate, and another one while it goes on.

use std::fs;
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::patience::eventually;
use crate::server::{KEY, Server, minutehand, serve};

/// For a file that is looked at each second, on a machine that has little time.
const SOON: Duration = Duration::from_secs(20);

/// A certificate that nobody has signed, for this machine, in the files that a server is given.
fn certificate(folder: &Path) -> CertificateDer<'static> {
    let made = generate_simple_self_signed(vec!["localhost".to_owned(), "127.0.0.1".to_owned()]);
    let CertifiedKey { cert, signing_key } = made.expect("a certificate");
    write(folder, "key.pem", &signing_key.serialize_pem());
    write(folder, "cert.pem", &cert.pem());
    cert.der().clone()
}

/// As whoever renews certificates should: the whole file at once.
fn write(folder: &Path, name: &str, text: &str) {
    let new = folder.join(format!("{name}.new"));
    fs::write(&new, text).expect("a file");
    fs::rename(new, folder.join(name)).expect("a file");
}

fn start(folder: &Path, more: &[(&str, &str)]) -> Server {
    let mut command = serve(&folder.join("data"));
    command.arg("--tls-cert").arg(folder.join("cert.pem")).arg("--tls-key").arg(folder.join("key.pem"));
    command.envs(more.iter().copied());
    Server::started(command)
}

/// What a server says to one request of who trusts nobody else.
async fn asked(address: SocketAddr, trusted: &CertificateDer<'static>, path: &str) -> std::io::Result<String> {
    let mut roots = RootCertStore::empty();
    roots.add(trusted.clone()).expect("a certificate");
    let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .expect("protocols")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = ServerName::try_from("localhost").expect("a name");
    let stream = TcpStream::connect(address).await?;
    let mut stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await?;
    let request =
        format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {KEY}\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut said = Vec::new();
    stream.read_to_end(&mut said).await?;
    Ok(String::from_utf8_lossy(&said).into_owned())
}

/// Nobody asks such a client whether a server is running.
#[test]
fn a_client_says_whom_it_does_not_trust_and_whom_it_could() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path());
    let server = start(folder.path(), &[]);

    let mut list = minutehand();
    list.args(["jobs", "list", "--key", KEY, "--server"]).arg(format!("https://{}", server.address()));
    let refused = list.env_remove("SSL_CERT_FILE").output().unwrap();

    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(said.contains("SSL_CERT_FILE names a file"), "{said}");
    assert_eq!((refused.status.code(), said.lines().count()), (Some(1), 1), "{said}");
}

/// A key behind a password would be asked for at each start, and nobody is there to give it.
#[test]
fn a_key_behind_a_password_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path());
    let pem = "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    write(folder.path(), "key.pem", pem);

    let mut command = serve(&folder.path().join("data"));
    command.arg("--tls-cert").arg(folder.path().join("cert.pem")).arg("--tls-key").arg(folder.path().join("key.pem"));
    let ended = Server::started_or_ended(command).err().expect("it does not start");

    assert!(ended.stderr.contains("that can be read without a password"), "{}", ended.stderr);
}

/// Removed: nobody looks at the files. The former certificate was shown until the process was started again.
#[tokio::test(flavor = "multi_thread")]
async fn a_certificate_that_is_replaced_is_the_next_connections() {
    let folder = tempfile::tempdir().unwrap();
    let first = certificate(folder.path());
    let server = start(folder.path(), &[]);

    let answer = asked(server.address(), &first, "/v1/jobs").await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    assert!(server.stdout().contains("listens on https://"), "{}", server.stdout());

    let second = certificate(folder.path());
    eventually(SOON, "an answer with the other certificate", || async {
        asked(server.address(), &second, "/v1/health").await.ok()
    })
    .await;
    assert!(asked(server.address(), &first, "/v1/health").await.is_err(), "the former is not shown any more");
}

/// A certificate whose key is still to come, and one that is none, change nothing.
#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_used_leaves_the_certificate_that_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let first = certificate(folder.path());
    let server = start(folder.path(), &[]);

    let other = tempfile::tempdir().unwrap();
    certificate(other.path());
    let foreign = fs::read_to_string(other.path().join("cert.pem")).unwrap();
    for (text, said) in [(foreign.as_str(), "cannot be used"), ("nothing", "there is no certificate")] {
        write(folder.path(), "cert.pem", text);
        eventually(SOON, said, || async { server.stderr().contains(said).then_some(()) }).await;
        let answer = asked(server.address(), &first, "/v1/health").await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200 OK"), "{answer}");
    }
}

/// A file of somebody else's that is given to its reader has changed in nothing that is looked at.
///
/// Removed: what could not be read is not tried again while it looks the same. The former certificate was shown until it expired.
#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_used_is_tried_again_though_it_looks_the_same() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    certificate(folder.path());
    let server = start(folder.path(), &[]);
    let second = certificate(other.path());
    let [key, text] = ["key.pem", "cert.pem"].map(|name| fs::read_to_string(other.path().join(name)).unwrap());

    write(folder.path(), "key.pem", &key);
    write(folder.path(), "cert.pem", &"x".repeat(text.len()));
    let refused = || async { server.stderr().contains("there is no certificate").then_some(()) };
    eventually(SOON, "a certificate that is none", refused).await;
    let mut file = fs::File::options().write(true).open(folder.path().join("cert.pem")).unwrap();
    let then = file.metadata().unwrap().modified().unwrap();
    file.write_all(text.as_bytes()).unwrap();
    file.set_modified(then).unwrap();

    eventually(SOON, "an answer with the other certificate", || async {
        asked(server.address(), &second, "/v1/health").await.ok()
    })
    .await;
    assert_eq!(server.stderr().matches("there is no certificate").count(), 1, "it is said once");
}

/// Removed: the agreement has no end. Whoever connects and says nothing kept a place for ever.
#[tokio::test(flavor = "multi_thread")]
async fn who_says_nothing_or_speaks_plain_http_is_cut() {
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path());
    let server = start(folder.path(), &[("MINUTEHAND_FRONT", "head=700")]);
    let begun = Instant::now();

    for said in [&b""[..], b"GET /v1/health HTTP/1.1\r\nhost: a\r\n\r\n"] {
        let mut stream = TcpStream::connect(server.address()).await.expect("a connection");
        stream.write_all(said).await.expect("a connection");
        let mut heard = Vec::new();
        let _cut = tokio::time::timeout(SOON, stream.read_to_end(&mut heard)).await.expect("it is cut");
        assert!(!heard.starts_with(b"HTTP"), "{heard:?}");
    }
    assert!(begun.elapsed() >= Duration::from_millis(700), "the first had its time");
}

#[test]
fn what_cannot_be_used_at_the_start_ends_it_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("cert.pem"), "no certificate").unwrap();
    fs::write(folder.path().join("key.pem"), "no key").unwrap();
    let mut command = serve(&folder.path().join("data"));
    command.arg("--tls-cert").arg(folder.path().join("cert.pem")).arg("--tls-key").arg(folder.path().join("key.pem"));

    let Err(ended) = Server::started_or_ended(command) else { panic!("it started") };
    let alone = minutehand().args(["serve", "--memory", "--tls-cert", "cert.pem"]).output().unwrap();

    assert!(!ended.status.success() && ended.stderr.contains("there is no certificate in"), "{ended:?}");
    let said = String::from_utf8_lossy(&alone.stderr).into_owned();
    assert!(alone.status.code() == Some(2) && said.contains("--tls-key"), "{said}");
}

#[test]
fn who_listens_for_others_without_tls_is_warned() {
    let (folder, mut others) = (tempfile::tempdir().unwrap(), minutehand());
    others.args(["serve", "--listen", "0.0.0.0:0", "--data"]).arg(folder.path()).env("MINUTEHAND_KEY", KEY);

    let ended = Server::started(others).stop();
    let own = Server::on(&folder.path().join("own")).stop();

    let warning = "the API speaks plain HTTP, and other machines reach it";
    assert!(ended.stderr.contains(warning) && !own.stderr.contains(warning), "{ended:?} {own:?}");
}
