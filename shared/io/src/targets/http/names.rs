//! Names: from a target's host name to its addresses. The names of one tenant that nobody answers for hold up nobody else's
//! calls: a lookup holds no thread, each tenant has so many at a time, and what failed is not asked again at once.

mod known;
#[cfg(test)]
pub(super) mod name_server;
mod sockets;
mod system;

use std::future::Future;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, ToSocketAddrs as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use minutehand_domain::id::Tenant;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use self::known::Failed;
use self::system::{Directory, System};
use super::address::is_this_machine;
use super::files;
use crate::shares::Shares;

/// For one lookup, with the wait for the tenant's share: a server across the world answers within a second, and a second
/// time after a lost packet. It leaves half of the time for the connection.
const WITHIN: Duration = Duration::from_secs(5);
/// Lookups of one tenant at a time: more than a burst to living names needs, where one takes milliseconds.
const AT_ONCE: usize = 16;
/// When a name has one kind of address, how long the other kind may take: some servers never answer the one they have not.
const OTHER_KIND: Duration = Duration::from_millis(250);
/// Of the names that only the C library knows: a lookup holds a thread, for as long as it pleases. These are for a tenant,
/// and for all.
const THREADS_OF_A_TENANT: usize = 4;
const THREADS: usize = 64;

/// Cheap to clone; the clones share what they know.
#[derive(Clone, Debug)]
pub(super) struct Names(Arc<Shared>);

/// The C library's lookup, which holds its thread until it is over.
type CLibrary = fn(&str) -> io::Result<Vec<IpAddr>>;

#[derive(Debug)]
struct Shared {
    system: System,
    c_library: CLibrary,
    has_a_file: fn() -> bool,
    at_once: Shares<Tenant>,
    threads_of_a_tenant: Shares<Tenant>,
    threads: Arc<Semaphore>,
    failed: Failed,
}

impl Names {
    /// By this machine's hosts file and name servers.
    pub(super) fn of_this_machine() -> Self {
        Self::of(System::of_this_machine(), by_getaddrinfo, files::is_one_free)
    }

    /// With a C library that answers as it is told, and a file where there is to be one.
    #[cfg(test)]
    pub(super) fn by_c_library(c_library: CLibrary, has_a_file: fn() -> bool) -> Self {
        Self::of(System::of_this_machine(), c_library, has_a_file)
    }

    fn of(system: System, c_library: CLibrary, has_a_file: fn() -> bool) -> Self {
        Self(Arc::new(Shared {
            system,
            c_library,
            has_a_file,
            at_once: Shares::new(AT_ONCE),
            threads_of_a_tenant: Shares::new(THREADS_OF_A_TENANT),
            threads: Arc::new(Semaphore::new(THREADS)),
            failed: Failed::default(),
        }))
    }

    /// At least one address, IPv4 before IPv6; or why there is none.
    pub(super) async fn addresses(&self, tenant: &Tenant, host: &str) -> Result<Vec<IpAddr>, String> {
        if let Ok(address) = host.parse() {
            return Ok(vec![address]);
        }
        if is_this_machine(host) {
            return Ok(vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()]);
        }
        let directory = self.0.system.directory();
        match directory.in_hosts_file(host) {
            found if found.is_empty() => self.looked_up(tenant, host, &directory).await,
            found => Ok(found),
        }
    }

    /// Without a file nobody can be asked: it is waited for before a share is taken, and what failed without one says nothing of the name.
    async fn looked_up(&self, tenant: &Tenant, host: &str, directory: &Directory) -> Found {
        self.0.failed.check(tenant, host)?;
        loop {
            files::until(self.0.has_a_file).await;
            let found = self.asked_for(tenant, host, directory).await;
            if found.is_ok() || (self.0.has_a_file)() {
                return found;
            }
        }
    }

    async fn asked_for(&self, tenant: &Tenant, host: &str, directory: &Directory) -> Found {
        let Ok(_share) = timeout(WITHIN, self.0.at_once.take(tenant)).await else {
            return Err(format!("{AT_ONCE} other names of this tenant wait for an answer"));
        };
        // It may have failed while this one waited.
        self.0.failed.check(tenant, host)?;
        let looked_up = async {
            if is_for_the_c_library(host) {
                self.by_the_c_library(tenant, host).await
            } else {
                by_dns(directory, host).await
            }
        };
        let found = timeout(WITHIN, looked_up).await.unwrap_or_else(|_| Err(unanswered()));
        if let Err(why) = &found
            && (self.0.has_a_file)()
        {
            self.0.failed.note(tenant, host, why);
        }
        found
    }

    /// The permits are the thread's: it goes on when its caller has given up.
    async fn by_the_c_library(&self, tenant: &Tenant, host: &str) -> Result<Vec<IpAddr>, String> {
        let share = self.0.threads_of_a_tenant.take(tenant).await;
        let thread = Arc::clone(&self.0.threads).acquire_owned().await.expect("nobody closes it");
        let (ask, host) = (self.0.c_library, host.to_owned());
        let asked = tokio::task::spawn_blocking(move || {
            let _held = (share, thread);
            ask(&host)
        });
        let found: io::Result<Vec<IpAddr>> = asked.await.map_err(|error| error.to_string())?;
        found.map(sorted).map_err(|error| error.to_string())
    }
}

fn by_getaddrinfo(host: &str) -> io::Result<Vec<IpAddr>> {
    (host, 0).to_socket_addrs().map(|found| found.map(|address| address.ip()).collect())
}

/// Names without a dot and those of the local link (RFC 6762) may be known to the machine in ways of which DNS is but one.
fn is_for_the_c_library(host: &str) -> bool {
    let name = host.strip_suffix('.').unwrap_or(host);
    name.rsplit_once('.').is_none_or(|(_, last)| last.eq_ignore_ascii_case("local"))
}

/// Both kinds are asked for at once, and none waits long for the other.
async fn by_dns(directory: &Directory, host: &str) -> Result<Vec<IpAddr>, String> {
    let (mut four, mut six) = (pin!(directory.ipv4(host)), pin!(directory.ipv6(host)));
    tokio::select! {
        found = &mut four => with_other(found, six).await,
        found = &mut six => with_other(found, four).await,
    }
}

type Found = Result<Vec<IpAddr>, String>;

async fn with_other(first: Found, other: impl Future<Output = Found>) -> Found {
    match first {
        Ok(mut found) => {
            found.extend(timeout(OTHER_KIND, other).await.into_iter().flatten().flatten());
            Ok(sorted(found))
        }
        Err(why) => other.await.map_err(|_| why),
    }
}

/// IPv4 first: where IPv6 leads nowhere it may take long to find out, where IPv4 does it is known at once.
fn sorted(mut found: Vec<IpAddr>) -> Vec<IpAddr> {
    found.sort_by_key(IpAddr::is_ipv6);
    found.dedup();
    found
}

fn unanswered() -> String {
    format!("no answer within {} s", WITHIN.as_secs())
}
