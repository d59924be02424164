//! Dialing: from a host name to an open connection. The addresses are resolved, checked and connected to here, so that the
//! address checked is the address called, however the name's DNS answer changes in between.

use std::future::{Future, ready};
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper_rustls::{HttpsConnector, MaybeHttpsStream};
use hyper_util::rt::TokioIo;
use minutehand_domain::id::Tenant;
use minutehand_domain::run::{AttemptError, ErrorCode};
use minutehand_domain::target::Timeouts;
use socket2::{SockRef, TcpKeepalive};
use thiserror::Error;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::Service;

use super::files;
use super::names::Names;
use super::reach::{OutOfReach, Reach};

/// Addresses of one name that are tried; they share the time.
const ADDRESSES: usize = 8;
/// What stands between may forget a connection on which nobody has spoken for a while (AWS's gateways: for 350 s), while a target works for minutes.
const KEPT_ALIVE: Duration = Duration::from_secs(60);

type Dialed<T> = Pin<Box<dyn Future<Output = Result<T, DialError>> + Send>>;

/// Opens a connection, with TLS for `https`, or returns the step that failed.
#[derive(Clone, Debug)]
pub(super) struct Connector {
    https: HttpsConnector<Dial>,
}

impl Connector {
    pub(super) fn new(https: HttpsConnector<Dial>) -> Self {
        Self { https }
    }
}

impl Service<Uri> for Connector {
    type Response = MaybeHttpsStream<TokioIo<TcpStream>>;
    type Error = DialError;
    type Future = Dialed<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let host = host_of(&uri).to_owned();
        let (Caller { within, .. }, opening) = (Caller::of_this_task(), self.https.call(uri));
        Box::pin(async move {
            match timeout(within, opening).await {
                Ok(Ok(stream)) => Ok(stream),
                // An error that is not `DialError` comes from the TLS handshake.
                Ok(Err(error)) => Err(error
                    .downcast::<DialError>()
                    .map_or_else(|error| DialError::Tls { host, why: error.to_string() }, |dial| *dial)),
                Err(_) => Err(DialError::TooSlow { host, within }),
            }
        })
    }
}

/// Opens a plain connection to an address within reach.
#[derive(Clone, Debug)]
pub(super) struct Dial {
    reach: Reach,
    names: Names,
}

tokio::task_local! {
    /// The pool calls `Connector` and `Dial` in the task of the request, where this is set.
    static CALLER: Caller;
}

/// Whose call this is: a connection belongs to nobody, but its name is looked up out of somebody's share, and it is waited for as long as
/// the call may wait.
#[derive(Clone)]
struct Caller {
    tenant: Tenant,
    within: Duration,
}

impl Caller {
    fn of_this_task() -> Self {
        let nobody = |_| Self { tenant: Tenant::deployment(), within: Timeouts::CONNECT };
        CALLER.try_with(Self::clone).unwrap_or_else(nobody)
    }
}

/// Makes a call whose names are looked up out of this tenant's share, and whose name, connection and TLS together take no longer.
pub(super) fn dialing<T>(tenant: Tenant, within: Duration, call: impl Future<Output = T>) -> impl Future<Output = T> {
    CALLER.scope(Caller { tenant, within }, call)
}

impl Dial {
    pub(super) fn new(reach: Reach, names: Names) -> Self {
        Self { reach, names }
    }
}

impl Service<Uri> for Dial {
    type Response = TokioIo<TcpStream>;
    type Error = DialError;
    type Future = Dialed<Self::Response>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), DialError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let (reach, names) = (self.reach, self.names.clone());
        let Caller { tenant, within } = Caller::of_this_task();
        Box::pin(async move {
            let host = host_of(&uri);
            let addresses = resolve(&names, &tenant, host, port_of(&uri), reach).await?;
            let opened = first_to_open(&addresses, within, connect).await;
            let stream = opened.map_err(|error| DialError::of(host, &error, within))?;
            Ok(TokioIo::new(stream))
        })
    }
}

/// An attempt that ends with one of these errors ended before a byte of its request was sent.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub(super) enum DialError {
    #[error("no address was found for {host:.80}: {why}")]
    Unknown { host: String, why: String },
    #[error("the address of {host:.80} {why}")]
    Forbidden { host: String, why: OutOfReach },
    #[error("no connection to {host:.80}: {why}")]
    Closed { host: String, why: String },
    #[error("no connection to {host:.80} within {} s", within.as_secs())]
    TooSlow { host: String, within: Duration },
    #[error("no TLS with {host:.80}: {why}")]
    Tls { host: String, why: String },
}

impl DialError {
    fn of(host: &str, error: &io::Error, within: Duration) -> Self {
        let host = host.to_owned();
        if error.kind() == io::ErrorKind::TimedOut {
            Self::TooSlow { host, within }
        } else {
            Self::Closed { host, why: error.to_string() }
        }
    }

    pub(super) fn to_attempt_error(&self) -> AttemptError {
        let code = match self {
            Self::Unknown { .. } => ErrorCode::Dns,
            Self::Forbidden { .. } => ErrorCode::ForbiddenAddress,
            Self::Closed { .. } => ErrorCode::Connect,
            Self::TooSlow { .. } => ErrorCode::TimeoutConnect,
            Self::Tls { .. } => ErrorCode::Tls,
        };
        code.error(&self.to_string())
    }
}

async fn resolve(
    names: &Names,
    tenant: &Tenant,
    host: &str,
    port: u16,
    reach: Reach,
) -> Result<Vec<SocketAddr>, DialError> {
    match names.addresses(tenant, host).await {
        Ok(found) => {
            let found: Vec<_> = found.into_iter().map(|address| SocketAddr::new(address, port)).collect();
            let own = own_among(&found, reach, bind).await;
            within(reach, host, found.into_iter(), |address| own.contains(&address))
        }
        Err(why) => Err(DialError::Unknown { host: host.to_owned(), why }),
    }
}

/// The addresses of a name that are within reach: only these are connected to, whatever the name server answered. A public address of this machine is
/// called from inside, past the firewall that the public meets: that is for the reach of private networks, in which this machine is one of many.
fn within(
    reach: Reach,
    host: &str,
    found: impl Iterator<Item = SocketAddr>,
    is_own: impl Fn(SocketAddr) -> bool,
) -> Result<Vec<SocketAddr>, DialError> {
    let host = || host.to_owned();
    let (mut allowed, mut refused) = (Vec::new(), None);
    for address in found {
        match reach.check(address.ip()) {
            Ok(()) if reach < Reach::Private && is_own(address) => {
                refused = Some(nearest(refused, OutOfReach { needed: Some(Reach::Private), given: reach }));
            }
            Ok(()) => allowed.push(address),
            Err(why) => refused = Some(nearest(refused, why)),
        }
    }
    allowed.truncate(ADDRESSES);
    match refused {
        Some(why) if allowed.is_empty() => Err(DialError::Forbidden { host: host(), why }),
        None if allowed.is_empty() => Err(DialError::Unknown { host: host(), why: "the name has none".to_owned() }),
        Some(_) | None => Ok(allowed),
    }
}

/// Those of this machine, for a reach that excludes them. An address of which nothing can be told counts as one of them, or an error would be a way inside.
async fn own_among(
    found: &[SocketAddr],
    reach: Reach,
    bind: impl Fn(IpAddr) -> io::Result<UdpSocket>,
) -> Vec<SocketAddr> {
    let mut own = Vec::new();
    for address in found.iter().filter(|address| reach < Reach::Private && reach.check(address.ip()).is_ok()) {
        let is_own = files::once_one_is_free(|| ready(is_of_this_machine(*address, &bind))).await;
        if is_own.unwrap_or(true) {
            own.push(*address);
        }
    }
    own
}

/// Whether this machine has the address. What it sends there would come from there, or it has the address beside another of the same network; nothing
/// is sent.
fn is_of_this_machine(address: SocketAddr, bind: impl Fn(IpAddr) -> io::Result<UdpSocket>) -> io::Result<bool> {
    let (any, nobodys): (IpAddr, IpAddr) = if address.is_ipv4() {
        (Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::new(203, 0, 113, 1).into())
    } else {
        (Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1).into())
    };
    let socket = bind(any)?;
    let from = socket.connect(address).and_then(|()| socket.local_addr());
    // Some machines may speak as whoever they like.
    Ok(from.is_ok_and(|from| from.ip() == address.ip()) || (has(bind(address.ip()))? && !has(bind(nobodys))?))
}

/// Of all errors one says that the machine has not got the address; the others say nothing of it.
fn has(bound: io::Result<UdpSocket>) -> io::Result<bool> {
    match bound {
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Ok(false),
        bound => bound.map(|_| true),
    }
}

fn bind(ip: IpAddr) -> io::Result<UdpSocket> {
    UdpSocket::bind((ip, 0))
}

/// Of two refusals the one that a smaller change of the reach would lift.
fn nearest(one: Option<OutOfReach>, other: OutOfReach) -> OutOfReach {
    one.filter(|one| one.needed.is_some_and(|needed| other.needed.is_none_or(|theirs| needed <= theirs)))
        .unwrap_or(other)
}

/// Tries the addresses in the resolver's order. Each gets its share of the time, so that a silent first one leaves time for
/// the others. In that time it waits for a file, where none is left.
async fn first_to_open<T, F>(
    addresses: &[SocketAddr],
    within: Duration,
    connect: impl Fn(SocketAddr) -> F,
) -> io::Result<T>
where
    F: Future<Output = io::Result<T>>,
{
    let share = within / u32::try_from(addresses.len().max(1)).unwrap_or(u32::MAX);
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match timeout(share, files::once_one_is_free(|| connect(*address))).await {
            Ok(Ok(opened)) => return Ok(opened),
            Ok(Err(error)) => last = error,
            Err(_) => last = io::ErrorKind::TimedOut.into(),
        }
    }
    Err(last)
}

async fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect(address).await?;
    // The request is written in one piece; waiting to fill a segment would only delay it.
    stream.set_nodelay(true)?;
    let kept_alive = TcpKeepalive::new().with_time(KEPT_ALIVE).with_interval(KEPT_ALIVE);
    SockRef::from(&stream).set_tcp_keepalive(&kept_alive)?;
    Ok(stream)
}

/// Without the brackets that a URL puts around an IPv6 address.
fn host_of(uri: &Uri) -> &str {
    let host = uri.host().unwrap_or_default();
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

fn port_of(uri: &Uri) -> u16 {
    uri.port_u16().unwrap_or(if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 })
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tokio::time::Instant;

    use super::*;

    /// The addresses within reach of a name server's answer.
    fn left(reach: Reach, found: &[&str]) -> Result<Vec<String>, DialError> {
        let found = found.iter().map(|address| SocketAddr::new(address.parse().unwrap(), 80));
        left_of(within(reach, "name.example", found, |_| false))
    }

    fn left_of(found: Result<Vec<SocketAddr>, DialError>) -> Result<Vec<String>, DialError> {
        found.map(|left| left.iter().map(|address| address.ip().to_string()).collect())
    }

    /// Removed: an address counts as what it is to others. A tenant of the public reached what listens on this machine behind its firewall.
    #[test]
    fn a_public_address_of_this_machine_is_within_the_reach_of_private_networks() {
        let found = ["1.1.1.1", "2606:4700::1111"].map(|address| SocketAddr::new(address.parse().unwrap(), 80));
        let among = |own: usize, reach| {
            left_of(within(reach, "name.example", found.into_iter(), |address| found[..own].contains(&address)))
        };

        for reach in Reach::ALL {
            let why = OutOfReach { needed: Some(Reach::Private), given: reach };
            let refused = Err(DialError::Forbidden { host: "name.example".to_owned(), why });
            let both = found.map(|address| address.ip().to_string()).to_vec();
            assert_eq!(among(0, reach).unwrap(), both);
            assert_eq!(among(1, reach).unwrap(), if reach == Reach::Public { &both[1..] } else { &both[..] });
            assert_eq!(among(2, reach), if reach == Reach::Public { refused } else { Ok(both) });
        }
    }

    #[test]
    fn this_machine_knows_its_own_addresses() {
        let from = |any: &str, there: &str| {
            let socket = UdpSocket::bind(any)?;
            socket.connect(there)?;
            socket.local_addr()
        };
        let ways_out = [from("0.0.0.0:0", "198.51.100.1:9"), from("[::]:0", "[2001:db8::1]:9")];
        let loopback = SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 9);
        for own in ways_out.into_iter().flatten().chain([loopback]) {
            assert!(is_of_this_machine(own, bind).unwrap(), "{own}");
        }
        for other in ["198.51.100.1:9", "[2001:db8::1]:9"] {
            // Of IPv6 a machine without it can tell nothing.
            assert!(!is_of_this_machine(other.parse().unwrap(), bind).unwrap_or_default(), "{other}");
        }
    }

    /// Removed, one after the other: that an error says nothing, so that a tenant of the public reached what listens on this machine behind its firewall,
    /// by calls that took its last files; and that a file is waited for, so that those calls failed for good.
    #[tokio::test(start_paused = true)]
    async fn an_address_of_which_nothing_can_be_told_counts_as_this_machines() {
        let address = SocketAddr::new(Ipv4Addr::new(1, 1, 1, 1).into(), 80);
        let failing =
            |kind: io::ErrorKind| move |ip: IpAddr| if ip.is_unspecified() { bind(ip) } else { Err(kind.into()) };
        let tries = Cell::new(0);
        let late = |ip: IpAddr| {
            tries.set(tries.get() + 1);
            if tries.get() > 3 { failing(io::ErrorKind::AddrNotAvailable)(ip) } else { Err(files::none_left()) }
        };

        let anothers = own_among(&[address], Reach::Public, failing(io::ErrorKind::AddrNotAvailable)).await;
        let untold = own_among(&[address], Reach::Public, failing(io::ErrorKind::PermissionDenied)).await;
        let told_late = own_among(&[address], Reach::Public, late).await;

        assert_eq!((anothers, untold, told_late), (vec![], vec![address], vec![]));
    }

    /// Removed: that it waits for a file. Every run that was due while there was none failed with `connect`.
    #[tokio::test(start_paused = true)]
    async fn without_a_file_a_connection_waits_for_one_as_long_as_it_may_take() {
        let (within, addresses) = (Duration::from_secs(10), [SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 80); 2]);
        let (begin, tries) = (Instant::now(), Cell::new(0));
        let second = |address: SocketAddr| {
            tries.set(tries.get() + 1);
            ready(if tries.get() == 2 { Ok(address) } else { Err(files::none_left()) })
        };

        let opened = first_to_open(&addresses, within, second).await;
        let took = begin.elapsed();
        let never = first_to_open(&addresses, within, |_| ready(Err::<(), _>(files::none_left()))).await;

        assert_eq!((opened.unwrap(), tries.get()), (addresses[0], 2));
        assert!(took < Duration::from_secs(1), "{took:?}");
        assert_eq!((never.unwrap_err().kind(), begin.elapsed()), (io::ErrorKind::TimedOut, took + within));
    }

    #[test]
    fn a_name_that_leads_to_metadata_or_nowhere_is_not_called_from_anywhere() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "fd00:ec2::254",
            "fe80::1",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "2002:a9fe:a9fe::",
            "100.100.100.200",
            "0.0.0.0",
            "::",
            "255.255.255.255",
            "ff02::1",
        ] {
            for reach in Reach::ALL {
                let error = left(reach, &[address, address]).unwrap_err().to_attempt_error();

                assert_eq!(
                    (&*error.code, error.retryable, error.reached),
                    ("forbidden_address", false, false),
                    "{address}"
                );
                assert_eq!(error.message, "the address of name.example may not be called from anywhere");
            }
        }
    }

    #[test]
    fn a_name_that_leads_inside_is_called_by_the_reach_for_it_only() {
        for (addresses, needed) in [
            (&["10.0.0.1", "fd12::1", "::ffff:10.0.0.1", "64:ff9b::a00:1"][..], Reach::Private),
            (&["127.0.0.1", "::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::"], Reach::Loopback),
        ] {
            for (address, reach) in addresses.iter().flat_map(|address| Reach::ALL.map(|reach| (address, reach))) {
                let same = address.parse::<IpAddr>().unwrap().to_string();
                let why = OutOfReach { needed: Some(needed), given: reach };
                let refused = Err(DialError::Forbidden { host: "name.example".to_owned(), why });
                let expected = if reach < needed { refused } else { Ok(vec![same]) };
                assert_eq!(left(reach, &[address]), expected, "{address} by {reach:?}");
            }
        }
    }

    #[test]
    fn of_several_refusals_the_one_is_told_that_is_lifted_first() {
        for names in [["169.254.1.1", "127.0.0.1", "10.0.0.1"], ["10.0.0.1", "127.0.0.1", "169.254.1.1"]] {
            let error = left(Reach::Public, &names).unwrap_err().to_string();

            assert_eq!(
                error,
                "the address of name.example is private: that needs MINUTEHAND_REACH=private, not public"
            );
        }
    }

    #[test]
    fn of_a_names_addresses_only_those_within_reach_are_tried() {
        let mixed = ["169.254.169.254", "10.0.0.1", "1.1.1.1", "fe80::1", "2606:4700::1111"];

        assert_eq!(left(Reach::Public, &mixed).unwrap(), ["1.1.1.1", "2606:4700::1111"]);
        assert_eq!(left(Reach::Private, &mixed).unwrap(), ["10.0.0.1", "1.1.1.1", "2606:4700::1111"]);
        assert_eq!(left(Reach::Public, &["1.1.1.1"; 20]).unwrap().len(), ADDRESSES);
        assert!(matches!(left(Reach::Loopback, &[]), Err(DialError::Unknown { .. })));
    }

    /// Removed: the connection is kept alive. What stands between here and a target that is silent for minutes forgot it, and the answer reached nobody.
    #[tokio::test]
    async fn a_connection_on_which_nobody_speaks_is_kept_alive() {
        let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();

        let stream = connect(listener.local_addr().unwrap()).await.unwrap();

        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().unwrap() && socket.tcp_nodelay().unwrap());
        let every = (socket.tcp_keepalive_time().unwrap(), socket.tcp_keepalive_interval().unwrap());
        assert_eq!(every, (Duration::from_secs(60), Duration::from_secs(60)));
    }
}
