//! The system: what this machine's files say of names. They are read again when they change: a laptop moves from one network
//! to another, and a process that stays must move with it.

use std::fmt;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hickory_resolver::config::{NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::net::NetError;
use hickory_resolver::proto::op::Query;
use hickory_resolver::proto::rr::{Name, RecordType};
use hickory_resolver::system_conf::read_system_conf;
use hickory_resolver::{Hosts, Resolver};
use tokio::time::Instant;

use super::sockets::Sockets;

/// The files are looked at this often while names are asked for: two calls of the kernel.
const LOOK_EACH: Duration = Duration::from_secs(5);
/// A server that has not answered a query by then is asked again, or the next one is.
const ASK_AGAIN: Duration = Duration::from_secs(2);
/// Answers kept, each for as long as it says; some hundred bytes each.
const ANSWERS: u64 = 4_096;
/// Queries at a time on one TCP connection, for servers that take no UDP: as many as all tenants may have.
const ON_A_CONNECTION: usize = 1_024;
#[cfg(unix)]
const FILES: [&str; 2] = ["/etc/hosts", "/etc/resolv.conf"];
#[cfg(not(unix))]
const FILES: [&str; 0] = [];

pub(super) struct System {
    read: Box<dyn Fn() -> Directory + Send + Sync>,
    stamps: Box<dyn Fn() -> Stamps + Send + Sync>,
    known: Mutex<Known>,
}

/// When each of the files was written; none where it is not there.
type Stamps = Vec<Option<SystemTime>>;

struct Known {
    directory: Arc<Directory>,
    stamps: Stamps,
    looked_at: Instant,
}

/// A hosts file, and servers to ask.
pub(super) struct Directory {
    hosts: Hosts,
    resolver: Option<Resolver<Sockets>>,
}

impl System {
    pub(super) fn of_this_machine() -> Self {
        Self::new(Directory::of_this_machine, || FILES.iter().map(|path| written(path)).collect())
    }

    pub(super) fn new(
        read: impl Fn() -> Directory + Send + Sync + 'static,
        stamps: impl Fn() -> Stamps + Send + Sync + 'static,
    ) -> Self {
        let known = Known { stamps: stamps(), directory: Arc::new(read()), looked_at: Instant::now() };
        Self { read: Box::new(read), stamps: Box::new(stamps), known: Mutex::new(known) }
    }

    /// What the files say now.
    pub(super) fn directory(&self) -> Arc<Directory> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.looked_at.elapsed() >= LOOK_EACH {
            known.looked_at = Instant::now();
            let stamps = (self.stamps)();
            if stamps != known.stamps {
                (known.stamps, known.directory) = (stamps, Arc::new((self.read)()));
            }
        }
        Arc::clone(&known.directory)
    }
}

fn written(path: &str) -> Option<SystemTime> {
    std::fs::metadata(path).and_then(|file| file.modified()).ok()
}

impl Directory {
    fn of_this_machine() -> Self {
        let (config, options) = read_system_conf().unwrap_or_else(|error| {
            tracing::warn!(%error, "this machine names no name server: one on loopback is asked, as the C library does");
            let loopback = NameServerConfig::udp_and_tcp([127, 0, 0, 1].into());
            (ResolverConfig::from_parts(None, vec![], vec![loopback]), ResolverOpts::default())
        });
        Self::new(Hosts::from_system().unwrap_or_default(), config, options)
    }

    pub(super) fn new(hosts: Hosts, config: ResolverConfig, mut options: ResolverOpts) -> Self {
        options.timeout = options.timeout.min(ASK_AGAIN);
        options.cache_size = ANSWERS;
        options.max_active_requests = ON_A_CONNECTION;
        let mut builder = Resolver::builder_with_config(config, Sockets::default());
        *builder.options_mut() = options;
        let resolver = builder.build().inspect_err(|error| tracing::warn!(%error, "names cannot be looked up")).ok();
        Self { hosts, resolver }
    }

    pub(super) fn in_hosts_file(&self, host: &str) -> Vec<IpAddr> {
        let Ok(name) = Name::from_ascii(host.to_ascii_lowercase()) else { return Vec::new() };
        let of_kind = |kind| self.hosts.lookup_static_host(&Query::query(name.clone(), kind));
        let found = [RecordType::A, RecordType::AAAA].into_iter().filter_map(of_kind);
        found.flat_map(|found| addresses(found.answers()).collect::<Vec<_>>()).collect()
    }

    pub(super) async fn ipv4(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.of_kind(host, RecordType::A).await
    }

    pub(super) async fn ipv6(&self, host: &str) -> Result<Vec<IpAddr>, String> {
        self.of_kind(host, RecordType::AAAA).await
    }

    async fn of_kind(&self, host: &str, kind: RecordType) -> Result<Vec<IpAddr>, String> {
        let resolver = self.resolver.as_ref().ok_or("no name server can be asked here")?;
        let name = Name::from_ascii(host).map_err(|_| "this is no name that DNS could know")?;
        let found = resolver.lookup(name, kind).await.map_err(|error| in_words(&error))?;
        let found: Vec<_> = addresses(found.answers()).collect();
        if found.is_empty() { Err("the name has none".to_owned()) } else { Ok(found) }
    }
}

fn addresses(records: &[hickory_resolver::proto::rr::Record]) -> impl Iterator<Item = IpAddr> + '_ {
    records.iter().filter_map(|record| record.data.ip_addr())
}

fn in_words(error: &NetError) -> String {
    match error {
        error if error.is_nx_domain() => "there is no such name".to_owned(),
        error if error.is_no_records_found() => "the name has none".to_owned(),
        NetError::Timeout => "the name server does not answer".to_owned(),
        error => error.to_string(),
    }
}

impl fmt::Debug for System {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("System")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use super::*;

    fn with_hosts(text: &str) -> Directory {
        let mut hosts = Hosts::default();
        hosts.read_hosts_conf(text.as_bytes()).unwrap();
        Directory::new(hosts, ResolverConfig::from_parts(None, vec![], vec![]), ResolverOpts::default())
    }

    fn found(directory: &Directory, host: &str) -> Vec<String> {
        directory.in_hosts_file(host).iter().map(ToString::to_string).collect()
    }

    #[tokio::test]
    async fn the_hosts_file_knows_both_kinds_by_any_spelling() {
        let directory = with_hosts("10.0.0.1 billing.test Billing-2.test\n::5 billing.test # both\n");

        assert_eq!(found(&directory, "billing.test"), ["10.0.0.1", "::5"]);
        assert_eq!(found(&directory, "BILLING.test."), ["10.0.0.1", "::5"]);
        assert_eq!(found(&directory, "billing-2.test"), ["10.0.0.1"]);
        assert!(found(&directory, "other.test").is_empty() && found(&directory, "no name").is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_files_are_read_again_when_they_have_changed_and_not_before() {
        let (version, reads) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
        let (stamp, counting) = (Arc::clone(&version), Arc::clone(&reads));
        let system = System::new(
            move || with_hosts(&format!("10.0.0.{} moving.test", counting.fetch_add(1, Ordering::Relaxed) + 1)),
            move || vec![Some(SystemTime::UNIX_EPOCH + Duration::from_secs(stamp.load(Ordering::Relaxed)))],
        );
        let seen = || (found(&system.directory(), "moving.test").remove(0), reads.load(Ordering::Relaxed));

        assert_eq!(seen(), ("10.0.0.1".to_owned(), 1));
        tokio::time::advance(LOOK_EACH).await;
        assert_eq!(seen(), ("10.0.0.1".to_owned(), 1), "nothing has changed");
        version.fetch_add(1, Ordering::Relaxed);
        assert_eq!(seen(), ("10.0.0.1".to_owned(), 1), "nobody has looked");
        tokio::time::advance(LOOK_EACH).await;
        assert_eq!(seen(), ("10.0.0.2".to_owned(), 2));
    }
}
