//! A name server of the tests' own: the first label of a name says how it answers.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use hickory_resolver::Hosts;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolverConfig, ResolverOpts};
use hickory_resolver::proto::op::{Message, ResponseCode};
use hickory_resolver::proto::rr::rdata::A;
use hickory_resolver::proto::rr::{RData, Record, RecordType};
use tokio::net::UdpSocket;

use super::super::files;
use super::Names;
use super::system::{Directory, System};

/// The address of `good…`, of `half…`, and of `moving…` at first.
pub(in crate::targets::http) const HERE: Ipv4Addr = Ipv4Addr::LOCALHOST;
/// Of `moving…`, from the second query on.
const METADATA: Ipv4Addr = Ipv4Addr::new(169, 254, 169, 254);

pub(in crate::targets::http) struct NameServer {
    address: SocketAddr,
    asked: Asked,
}

/// How often each name was asked for IPv4.
type Asked = Arc<Mutex<BTreeMap<String, usize>>>;

impl NameServer {
    /// Never answers for `dead…`, for `half…` only of IPv4, and there is no `gone…`.
    pub(in crate::targets::http) async fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (socket.local_addr().unwrap(), Asked::default());
        let noting = Arc::clone(&asked);
        tokio::spawn(async move {
            let mut buffer = [0; 2048];
            loop {
                let (length, from) = socket.recv_from(&mut buffer).await.unwrap();
                let query = Message::from_vec(&buffer[..length]).unwrap();
                if let Some(answer) = answer(&query, &noting) {
                    socket.send_to(&answer.to_vec().unwrap(), from).await.unwrap();
                }
            }
        });
        Self { address, asked }
    }

    /// Names as a machine knows them whose name server this is.
    pub(in crate::targets::http) fn names(&self) -> Names {
        let IpAddr::V4(ip) = self.address.ip() else { unreachable!("it is bound to IPv4") };
        let mut udp = ConnectionConfig::udp();
        udp.port = self.address.port();
        let server = NameServerConfig::new(ip.into(), true, vec![udp]);
        let mut hosts = Hosts::default();
        hosts.read_hosts_conf("127.0.0.1 dead-but-in-the-hosts-file.example\n".as_bytes()).unwrap();
        let hosts = Mutex::new(Some(hosts));
        let read = move || {
            let config = ResolverConfig::from_parts(None, vec![], vec![server.clone()]);
            Directory::new(hosts.lock().unwrap().take().unwrap_or_default(), config, ResolverOpts::default())
        };
        let system = System::new(read, || vec![Some(SystemTime::UNIX_EPOCH)]);
        Names::of(system, super::by_getaddrinfo, files::is_one_free)
    }

    /// The names that begin so, and were asked for.
    pub(in crate::targets::http) fn asked_for(&self, prefix: &str) -> usize {
        self.asked.lock().unwrap().keys().filter(|name| name.starts_with(prefix)).count()
    }

    pub(in crate::targets::http) fn times_asked_for(&self, name: &str) -> usize {
        self.asked.lock().unwrap().get(name).copied().unwrap_or_default()
    }
}

fn answer(query: &Message, asked: &Asked) -> Option<Message> {
    let asking = query.queries.first()?;
    let name = asking.name().to_ascii();
    let is_ipv4 = asking.query_type() == RecordType::A;
    let times = {
        let mut asked = asked.lock().unwrap();
        let times = asked.entry(name.trim_end_matches('.').to_owned()).or_default();
        *times += usize::from(is_ipv4);
        *times
    };
    if name.starts_with("dead") || name.starts_with("half") && !is_ipv4 {
        return None;
    }
    let mut answer = Message::response(query.metadata.id, query.metadata.op_code);
    answer.add_query(asking.clone());
    if name.starts_with("gone") {
        answer.metadata.response_code = ResponseCode::NXDomain;
    } else if is_ipv4 {
        let address = if name.starts_with("moving") && times > 1 { METADATA } else { HERE };
        answer.add_answer(Record::from_rdata(asking.name().clone(), 0, RData::A(A(address))));
    }
    Some(answer)
}
