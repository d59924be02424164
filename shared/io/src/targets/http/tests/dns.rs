//! Calls by name, with a name server that answers for some names, and never for others.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::task::JoinSet;

use super::super::names::Names;
use super::super::names::name_server::NameServer;
use super::*;

const SOON: Duration = Duration::from_secs(1);
/// A tenant's calls to dead names at a time: most of what one process carries out.
const DEAD: usize = 400;
const LIVING: usize = 100;
/// For a name that nobody answers for, at least: as long as a server has for one question.
const DEAD_SECONDS: u64 = 2;

fn caller(name_server: &NameServer) -> HttpCaller {
    HttpCaller::trusting(native_roots().unwrap(), Reach::Loopback, name_server.names())
}

async fn call_of(tenant: &str, caller: HttpCaller, url: String) -> Answer {
    call_by(tenant, caller, get(url), None, PATIENT).await
}

/// Tried: without a tenant's share (`at_once`) all 400 are asked for at once, each with two sockets of the process.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_dead_names_hold_up_no_call_of_another() {
    let (target, name_server) = (Server::answering(EMPTY).await, NameServer::start().await);
    let (caller, started) = (caller(&name_server), Instant::now());
    let mut dead = JoinSet::new();
    for number in 0..DEAD {
        dead.spawn(call_of("noisy", caller.clone(), format!("http://dead-{number}.example/")));
    }
    while name_server.asked_for("dead-") < 16 {
        tokio::task::yield_now().await;
    }

    let mut took = Vec::new();
    for number in 0..LIVING {
        let begin = Instant::now();
        let url = format!("http://good-{number}.example:{}/", target.address.port());
        assert_eq!(result(call_of("quiet", caller.clone(), url).await), None);
        took.push(begin.elapsed());
    }

    let asked = name_server.asked_for("dead-");
    let in_turn = usize::try_from(started.elapsed().as_secs() / DEAD_SECONDS).unwrap();
    took.sort_unstable();
    let (p50, longest) = (took[LIVING / 2], took[LIVING - 1]);
    eprintln!("{LIVING} calls beside {DEAD} of another tenant to dead names: p50 {p50:?}, the longest {longest:?}");
    assert!(p50 < SOON, "{took:?}");
    assert!(asked <= 16 * (1 + in_turn), "{asked} after {:?}", started.elapsed());
    assert_eq!(name_server.asked_for("good-"), LIVING);
    dead.shutdown().await;
}

#[tokio::test]
async fn a_name_that_nobody_answers_for_fails_in_time_and_is_not_asked_for_again_at_once() {
    let name_server = NameServer::start().await;
    let (caller, begin) = (caller(&name_server), Instant::now());

    let first = failure(call_of("one", caller.clone(), "http://dead.example/".to_owned()).await);
    let (took, asked) = (begin.elapsed(), name_server.times_asked_for("dead.example"));
    let again = failure(call_of("one", caller.clone(), "http://dead.example/".to_owned()).await);

    assert_eq!((&*first.code, first.retryable, first.reached), ("dns", true, false), "{first:?}");
    assert!(first.message.starts_with("no address was found for dead.example: "), "{first:?}");
    assert!(took < Duration::from_secs(20), "{took:?}");
    assert_eq!((again, name_server.times_asked_for("dead.example")), (first, asked));
}

#[tokio::test]
async fn a_name_that_is_not_there_is_told_apart_and_asked_for_by_each_tenant() {
    let name_server = NameServer::start().await;
    let names = name_server.names();

    for tenant in ["one", "one", "two"] {
        let found = names.addresses(&Tenant::new(tenant).unwrap(), "gone.example").await;
        assert_eq!(found, Err("there is no such name".to_owned()));
    }

    assert!(name_server.times_asked_for("gone.example") >= 1);
}

#[tokio::test]
async fn a_server_that_never_answers_for_ipv6_delays_a_call_by_a_moment_only() {
    let (name_server, begin) = (NameServer::start().await, Instant::now());

    let found = name_server.names().addresses(&Tenant::new("one").unwrap(), "half.example").await;

    assert_eq!(found, Ok(vec![[127, 0, 0, 1].into()]));
    assert!(begin.elapsed() < Duration::from_secs(5), "{:?}", begin.elapsed());
}

#[tokio::test]
async fn what_the_hosts_file_and_the_text_itself_say_needs_no_name_server() {
    let name_server = NameServer::start().await;
    let (names, tenant) = (name_server.names(), Tenant::new("one").unwrap());

    for (host, first) in [
        ("dead-but-in-the-hosts-file.example", "127.0.0.1"),
        ("localhost", "127.0.0.1"),
        ("dead.localhost.", "127.0.0.1"),
        ("10.1.2.3", "10.1.2.3"),
        ("fd12::1", "fd12::1"),
    ] {
        let found = names.addresses(&tenant, host).await.unwrap();
        assert_eq!(found[0], first.parse::<IpAddr>().unwrap(), "{host}");
    }

    assert_eq!(name_server.asked_for("dead"), 0);
}

/// DNS rebinding. Tried: with the check of the first answer only (`within` left out), the second call connects there.
#[tokio::test]
async fn a_name_that_moves_out_of_reach_is_not_called_there() {
    let target = Server::answering("HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await;
    let name_server = NameServer::start().await;
    let url = format!("http://moving.example:{}/", target.address.port());
    let caller = caller(&name_server);

    let first = call_of("one", caller.clone(), url.clone()).await;
    let second = call_of("one", caller, url).await;

    assert_eq!(result(first), None);
    assert_eq!(failure(second).message, "the address of moving.example may not be called from anywhere");
}

/// A machine's own ways of knowing a name are kept: names without a dot are the C library's.
#[tokio::test]
async fn a_name_without_a_dot_is_looked_up_by_the_machine() {
    let names = Names::of_this_machine();

    let found = names.addresses(&Tenant::new("one").unwrap(), "no-such-machine-as-this").await;

    assert!(found.is_err(), "{found:?}");
}

static DEAD_AT_ONCE: AtomicUsize = AtomicUsize::new(0);
static MOST_DEAD_AT_ONCE: AtomicUsize = AtomicUsize::new(0);

/// Looks for a dead name for as long as the test may last, as the C library may for half a minute.
fn slow_for_the_dead(host: &str) -> io::Result<Vec<IpAddr>> {
    if host.starts_with("dead") {
        MOST_DEAD_AT_ONCE.fetch_max(DEAD_AT_ONCE.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::sleep(SOON * 4);
        DEAD_AT_ONCE.fetch_sub(1, Ordering::SeqCst);
        return Err(io::ErrorKind::NotFound.into());
    }
    Ok(vec![Ipv4Addr::LOCALHOST.into()])
}

/// Removed: a tenant's share of the threads (`threads_of_a_tenant`). Sixteen of them were held at a time, and four tenants held all.
#[tokio::test(flavor = "multi_thread")]
async fn a_tenants_dead_names_without_a_dot_hold_four_threads() {
    let names = Names::by_c_library(slow_for_the_dead, || true);
    let mut dead = JoinSet::new();
    for number in 0..100 {
        let names = names.clone();
        dead.spawn(async move { names.addresses(&Tenant::new("noisy").unwrap(), &format!("dead-{number}")).await });
    }
    while DEAD_AT_ONCE.load(Ordering::SeqCst) < 4 {
        tokio::task::yield_now().await;
    }

    let begin = Instant::now();
    let found = names.addresses(&Tenant::new("quiet").unwrap(), "printer").await;
    let took = begin.elapsed();

    assert_eq!(found, Ok(vec![Ipv4Addr::LOCALHOST.into()]));
    assert!(took < SOON * 2, "{took:?}");
    assert_eq!(MOST_DEAD_AT_ONCE.load(Ordering::SeqCst), 4);
    dead.shutdown().await;
}

/// How often it is still to be seen that no file is left.
static NO_FILE: AtomicUsize = AtomicUsize::new(0);

/// Loses the last file to another at its first lookup, and says as little of that as the C library does.
fn without_a_file_at_first(_host: &str) -> io::Result<Vec<IpAddr>> {
    static LOOKUPS: AtomicUsize = AtomicUsize::new(0);
    if LOOKUPS.fetch_add(1, Ordering::SeqCst) == 0 {
        NO_FILE.store(4, Ordering::SeqCst);
        return Err(io::Error::other("temporary failure in name resolution"));
    }
    Ok(vec![Ipv4Addr::LOCALHOST.into()])
}

fn has_a_file() -> bool {
    let left = NO_FILE.load(Ordering::SeqCst);
    NO_FILE.store(left.saturating_sub(1), Ordering::SeqCst);
    left == 0
}

/// Removed, one after the other: that it is looked up again; and that it is not noted. The call failed with `dns`, and any other to that name for five seconds.
#[tokio::test]
async fn a_name_that_was_looked_up_without_a_file_is_no_dead_one() {
    let names = Names::by_c_library(without_a_file_at_first, has_a_file);

    let found = names.addresses(&Tenant::new("one").unwrap(), "printer").await;

    assert_eq!(found, Ok(vec![Ipv4Addr::LOCALHOST.into()]));
}
