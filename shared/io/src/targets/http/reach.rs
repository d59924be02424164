//! Reach: which addresses a target may have. Decided by the address that is connected to, never by its spelling.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Addresses that anybody on the internet could call.
    Public,
    /// Also loopback and private networks: on one machine, or in a deployment that allows them.
    Local,
}

impl Reach {
    pub fn allows(self, address: IpAddr) -> bool {
        match (AddressClass::of(address), self) {
            (AddressClass::Public, Self::Public | Self::Local) | (AddressClass::Private, Self::Local) => true,
            (AddressClass::Private, Self::Public) | (AddressClass::Forbidden, Self::Public | Self::Local) => false,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AddressClass {
    Public,
    /// Loopback and private networks.
    Private,
    /// Never a target: metadata services, link-local, multicast, reserved.
    Forbidden,
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

const PRIVATE_V4: [(Ipv4Addr, u32); 6] = [
    (Ipv4Addr::new(127, 0, 0, 0), 8),
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

const PRIVATE_V6: [(Ipv6Addr, u32); 2] = [(Ipv6Addr::LOCALHOST, 128), (Ipv6Addr::new(0xfc00, 0, 0, 0, 0, 0, 0, 0), 7)];

/// All addresses ever assigned for routing; addresses outside are forbidden without being listed.
const UNICAST_V6: [(Ipv6Addr, u32); 1] = [(Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0), 3)];

const FORBIDDEN_UNICAST_V6: [(Ipv6Addr, u32); 3] = [
    // Protocol assignments, Teredo among them.
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    // Documentation.
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

impl AddressClass {
    fn of(address: IpAddr) -> Self {
        match address {
            IpAddr::V4(v4) => Self::of_v4(v4),
            IpAddr::V6(v6) => embedded_v4(v6).map_or_else(|| Self::of_v6(v6), Self::of_v4),
        }
    }

    fn of_v4(address: Ipv4Addr) -> Self {
        let lies_in = |ranges: &[(Ipv4Addr, u32)]| ranges.iter().any(|&range| in_v4(address, range));
        if lies_in(&METADATA_V4) || lies_in(&FORBIDDEN_V4) {
            Self::Forbidden
        } else if lies_in(&PRIVATE_V4) {
            Self::Private
        } else {
            Self::Public
        }
    }

    fn of_v6(address: Ipv6Addr) -> Self {
        let lies_in = |ranges: &[(Ipv6Addr, u32)]| ranges.iter().any(|&range| in_v6(address, range));
        if lies_in(&METADATA_V6) || lies_in(&FORBIDDEN_UNICAST_V6) {
            Self::Forbidden
        } else if lies_in(&PRIVATE_V6) {
            Self::Private
        } else if lies_in(&UNICAST_V6) {
            Self::Public
        } else {
            Self::Forbidden
        }
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

    fn class_of(address: &str) -> AddressClass {
        AddressClass::of(address.parse().unwrap())
    }

    #[test]
    fn the_internet_is_public() {
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
            assert_eq!(class_of(address), AddressClass::Public, "{address}");
        }
    }

    #[test]
    fn this_machine_and_its_networks_are_private() {
        for address in [
            "127.0.0.1",
            "127.255.255.255",
            "10.0.0.0",
            "10.255.255.255",
            "172.16.0.0",
            "172.31.255.255",
            "192.168.0.1",
            "100.64.0.0",
            "100.127.255.255",
            "198.19.255.255",
            "::1",
            "fc00::",
            "fd12:3456::1",
            "fdff:ffff::",
            "::ffff:127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "::ffff:0:192.168.0.1",
        ] {
            assert_eq!(class_of(address), AddressClass::Private, "{address}");
        }
    }

    #[test]
    fn metadata_link_local_and_reserved_addresses_are_forbidden() {
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
            assert_eq!(class_of(address), AddressClass::Forbidden, "{address}");
        }
    }
}
