//! Reach: which addresses a target may have. Decided by the address that is connected to, never by its spelling.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

/// Each reach includes the ones before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reach {
    /// Addresses that anybody on the internet could call.
    Public,
    /// Also private networks: for a process or a function inside one, whose tenants may call what is in it.
    Private,
    /// Also this machine itself: for one machine whose tenants may call everything that listens on it.
    Loopback,
}

impl Reach {
    pub const ALL: [Self; 3] = [Self::Public, Self::Private, Self::Loopback];
    /// The widest reach of a Lambda function. There the loopback interface has the runtime's own API, through which a target
    /// could read the hints of other tenants and forge their answers.
    pub const OF_A_FUNCTION: Self = Self::Private;

    pub fn allows(self, address: IpAddr) -> bool {
        self.check(address).is_ok()
    }

    pub(super) fn check(self, address: IpAddr) -> Result<(), OutOfReach> {
        let needed = Self::needed_for(address);
        if needed.is_some_and(|needed| needed <= self) { Ok(()) } else { Err(OutOfReach { needed, given: self }) }
    }

    /// The least reach that allows this address. None: an address that is never a target (metadata services, link-local,
    /// multicast, reserved).
    fn needed_for(address: IpAddr) -> Option<Self> {
        match address {
            IpAddr::V4(v4) => needed_for_v4(v4),
            IpAddr::V6(v6) => embedded_v4(v6).map_or_else(|| needed_for_v6(v6), needed_for_v4),
        }
    }

    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Private => "private",
            Self::Loopback => "loopback",
        }
    }
}

impl FromStr for Reach {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        // What `loopback` was called while there was nothing between it and `public`.
        if text == "local" {
            return Ok(Self::Loopback);
        }
        Self::ALL.into_iter().find(|reach| reach.as_str() == text).ok_or(())
    }
}

/// Why an address may not be called: the reach that it needs, if there is one, and the reach that was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfReach {
    pub(super) needed: Option<Reach>,
    pub(super) given: Reach,
}

impl OutOfReach {
    /// This machine's own name without an address: `localhost` and the names below it (RFC 6761).
    pub(super) const fn of_this_machine(given: Reach) -> Self {
        Self { needed: Some(Reach::Loopback), given }
    }
}

/// Follows the name of what may not be called; short, because an attempt keeps only so much of an error.
impl fmt::Display for OutOfReach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let given = self.given.as_str();
        match self.needed {
            None => f.write_str("may not be called from anywhere"),
            Some(Reach::Loopback) => write!(f, "is loopback: that needs serve --reach loopback, not {given}"),
            Some(needed) => write!(f, "is {0}: that needs MINUTEHAND_REACH={0}, not {given}", needed.as_str()),
        }
    }
}

/// Metadata services whose address looks public, private or shared: Azure, Alibaba. (AWS, Google and Oracle are
/// link-local.)
const METADATA_V4: [(Ipv4Addr, u32); 2] =
    [(Ipv4Addr::new(168, 63, 129, 16), 32), (Ipv4Addr::new(100, 100, 100, 200), 32)];

const FORBIDDEN_V4: [(Ipv4Addr, u32); 9] = [
    (Ipv4Addr::UNSPECIFIED, 8),
    // Link-local, and every metadata service in it.
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    // Protocol assignments, 6to4 relays.
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    // Documentation.
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    // Multicast; then reserved, with broadcast.
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

const LOOPBACK_V4: [(Ipv4Addr, u32); 1] = [(Ipv4Addr::new(127, 0, 0, 0), 8)];

const PRIVATE_V4: [(Ipv4Addr, u32); 5] = [
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    // Carrier-grade NAT.
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    // Benchmarks, and the made-up addresses of local proxies.
    (Ipv4Addr::new(198, 18, 0, 0), 15),
];

/// EC2 (`fd00:ec2::254` and its neighbours for pods and DNS), Google.
const METADATA_V6: [(Ipv6Addr, u32); 2] =
    [(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0), 32), (Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254), 128)];

const LOOPBACK_V6: [(Ipv6Addr, u32); 1] = [(Ipv6Addr::LOCALHOST, 128)];

const PRIVATE_V6: [(Ipv6Addr, u32); 1] = [(Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7)];

/// All addresses ever assigned for routing; addresses outside are forbidden without being listed.
const UNICAST_V6: [(Ipv6Addr, u32); 1] = [(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3)];

const FORBIDDEN_UNICAST_V6: [(Ipv6Addr, u32); 3] = [
    // Protocol assignments, Teredo among them.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

fn needed_for_v4(address: Ipv4Addr) -> Option<Reach> {
    let lies_in = |ranges: &[(Ipv4Addr, u32)]| ranges.iter().any(|&range| in_v4(address, range));
    if lies_in(&METADATA_V4) || lies_in(&FORBIDDEN_V4) {
        None
    } else if lies_in(&LOOPBACK_V4) {
        Some(Reach::Loopback)
    } else if lies_in(&PRIVATE_V4) {
        Some(Reach::Private)
    } else {
        Some(Reach::Public)
    }
}

fn needed_for_v6(address: Ipv6Addr) -> Option<Reach> {
    let lies_in = |ranges: &[(Ipv6Addr, u32)]| ranges.iter().any(|&range| in_v6(address, range));
    if lies_in(&METADATA_V6) || lies_in(&FORBIDDEN_UNICAST_V6) {
        None
    } else if lies_in(&LOOPBACK_V6) {
        Some(Reach::Loopback)
    } else if lies_in(&PRIVATE_V6) {
        Some(Reach::Private)
    } else if lies_in(&UNICAST_V6) {
        Some(Reach::Public)
    } else {
        None
    }
}

/// The IPv4 address inside an IPv6 address: mapped, translated, NAT64 (how an IPv6-only subnet addresses IPv4 hosts) and
/// 6to4. The deprecated `::a.b.c.d` leads nowhere and is forbidden.
fn embedded_v4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let ([0, 0, 0, 0, 0, 0xffff, high, low]
    | [0, 0, 0, 0, 0xffff, 0, high, low]
    | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
    | [0x2002, high, low, ..]) = address.segments()
    else {
        return None;
    };
    Some(Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low)))
}

fn in_v4(address: Ipv4Addr, (network, prefix): (Ipv4Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= prefix
}

fn in_v6(address: Ipv6Addr, (network, prefix): (Ipv6Addr, u32)) -> bool {
    (address.to_bits() ^ network.to_bits()).leading_zeros() >= prefix
}

#[cfg(test)]
mod tests {
    use super::*;

    fn needed_for(address: &str) -> Option<Reach> {
        Reach::needed_for(address.parse().unwrap())
    }

    #[test]
    fn the_internet_needs_only_the_public_reach() {
        for address in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "169.253.255.255",
            "169.255.0.0",
            "172.15.255.255",
            "172.32.0.0",
            "192.167.255.255",
            "192.169.0.0",
            "198.20.0.0",
            "223.255.255.255",
            "2606:4700::1111",
            "2001:200::1",
            "2a00::",
            "3ffe::1",
            "64:ff9b::1.1.1.1",
            "::ffff:8.8.8.8",
            "2002:808:808::1",
        ] {
            assert_eq!(needed_for(address), Some(Reach::Public), "{address}");
        }
    }

    #[test]
    fn private_networks_need_the_private_reach() {
        for address in [
            "10.0.0.0",
            "10.255.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.0",
            "100.127.255.255",
            "198.19.255.255",
            "fc00::",
            "fd12:3456::1",
            "fdff:ffff::",
            "64:ff9b::10.0.0.1",
            "::ffff:0:192.168.0.1",
        ] {
            assert_eq!(needed_for(address), Some(Reach::Private), "{address}");
        }
    }

    #[test]
    fn this_machine_needs_the_loopback_reach_in_every_form() {
        for address in [
            "127.0.0.0",
            "127.0.0.1",
            "127.0.0.53",
            "127.255.255.255",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:0:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "2002:7f00:1::",
            "2002:7f00:1::7f00:1",
        ] {
            assert_eq!(needed_for(address), Some(Reach::Loopback), "{address}");
        }
    }

    #[test]
    fn each_reach_includes_the_ones_before_it() {
        for (address, allowing) in [
            ("1.1.1.1", &Reach::ALL[..]),
            ("10.0.0.1", &Reach::ALL[1..]),
            ("127.0.0.1", &Reach::ALL[2..]),
            ("169.254.169.254", &[]),
        ] {
            let allowed: Vec<_> =
                Reach::ALL.into_iter().filter(|reach| reach.allows(address.parse().unwrap())).collect();
            assert_eq!(allowed, allowing, "{address}");
        }
    }

    #[test]
    fn a_reach_is_read_by_its_name_and_loopback_by_its_former_one_too() {
        for reach in Reach::ALL {
            assert_eq!(reach.as_str().parse(), Ok(reach));
        }
        assert_eq!("local".parse(), Ok(Reach::Loopback));
        assert_eq!("Public".parse::<Reach>(), Err(()));
    }

    #[test]
    fn metadata_link_local_and_reserved_addresses_are_out_of_every_reach() {
        for address in [
            "169.254.169.254",
            "169.254.170.2",
            "169.254.0.0",
            "168.63.129.16",
            "100.100.100.200",
            "0.0.0.0",
            "0.1.2.3",
            "192.0.0.192",
            "192.0.2.1",
            "198.51.100.1",
            "203.0.113.1",
            "192.88.99.1",
            "224.0.0.1",
            "239.255.255.255",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::2",
            "::127.0.0.1",
            "fe80::1",
            "febf::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd00:ec2::23",
            "fd20:ce::254",
            "2001:db8::1",
            "2001::1",
            "3fff::1",
            "100::1",
            "4000::1",
            "64:ff9b:1::7f00:1",
            "::ffff:169.254.169.254",
            "::ffff:0:169.254.169.254",
            "64:ff9b::169.254.169.254",
            "2002:a9fe:a9fe::",
            "::ffff:0.0.0.0",
        ] {
            assert_eq!(needed_for(address), None, "{address}");
        }
    }
}
