//! Targets behind TLS: a trusted one, and the ways in which one is not trusted.

use rcgen::CertifiedKey;
use rustls::pki_types::PrivateKeyDer;
use rustls::{RootCertStore, ServerConfig};
use tokio::io::AsyncReadExt as _;
use tokio_rustls::TlsAcceptor;

use super::*;

/// A target whose certificate is for `name`, and a caller that trusts it.
async fn trusted(name: &str) -> (Server, HttpCaller) {
    let CertifiedKey { cert, signing_key } = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let provider = || Arc::new(ring::default_provider());
    let serving = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let serving = serving.with_no_client_auth().with_single_cert(vec![cert.der().clone()], key).unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(cert.der().clone()).unwrap();
    let calling = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
    let calling = calling.with_root_certificates(roots).with_no_client_auth();

    let acceptor = TlsAcceptor::from(Arc::new(serving));
    let server = Server::talking(move |stream| answer_once(acceptor.clone(), stream)).await;
    (server, HttpCaller::trusting(calling, Reach::Loopback))
}

async fn answer_once(acceptor: TlsAcceptor, stream: tokio::net::TcpStream) {
    let Ok(mut stream) = acceptor.accept(stream).await else { return };
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") && stream.read_buf(&mut request).await.is_ok_and(|count| count > 0) {}
    stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok").await.unwrap();
    stream.shutdown().await.unwrap();
}

#[tokio::test]
async fn a_trusted_target_is_called_over_tls() {
    let (server, caller) = trusted("localhost").await;
    let url = format!("https://localhost:{}/", server.address.port());

    assert_eq!(result(call_with(caller, get(url), None, PATIENT).await).unwrap(), r#""ok""#);
}

#[tokio::test]
async fn a_certificate_for_another_name_or_from_nobody_known_is_refused() {
    let (server, caller) = trusted("elsewhere.example").await;
    let url = format!("https://localhost:{}/", server.address.port());

    for caller in [caller, HttpCaller::new(Reach::Loopback).unwrap()] {
        assert_eq!(
            code_retryable_reached(call_with(caller, get(&url), None, PATIENT).await),
            expected("tls", true, false)
        );
    }
}

#[tokio::test]
async fn a_plain_port_speaks_no_tls() {
    let server = Server::talking(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
        read_request(&mut stream).await;
    })
    .await;

    let error = failure(call(get(server.url("https"))).await);

    assert_eq!((&*error.code, error.retryable, error.reached), ("tls", true, false));
    assert!(error.message.starts_with("no TLS with 127.0.0.1: "), "{error:?}");
}

#[tokio::test(start_paused = true)]
async fn a_handshake_that_hangs_ends_with_the_connect_timeout() {
    let server = Server::talking(|mut stream| async move { while read_request(&mut stream).await.is_some() {} }).await;

    let error = failure(call(get(server.url("https"))).await);

    assert_eq!((&*error.code, error.retryable, error.reached), ("timeout_connect", true, false));
    assert_eq!(error.message, "no connection to 127.0.0.1 within 10 s");
}
