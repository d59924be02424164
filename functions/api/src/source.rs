//! The source of a request: the network address that its host saw it come from. What a request says of that itself counts for
//! nothing: anybody can write a header.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Extensions;

/// A host puts it into the extensions of each request. The addresses of one IPv6 network are one source: who has one of them
/// has them all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Source(IpAddr);

/// Of an IPv6 address, what the network is: a site is given a /64 at least.
const NETWORK_BITS: u32 = 64;

impl Source {
    pub fn of(address: IpAddr) -> Self {
        match address.to_canonical() {
            v4 @ IpAddr::V4(_) => Self(v4),
            IpAddr::V6(v6) => Self(Ipv6Addr::from_bits(v6.to_bits() >> NETWORK_BITS << NETWORK_BITS).into()),
        }
    }

    /// Where a host does not say, all requests have one source.
    pub(crate) fn in_extensions(extensions: &Extensions) -> Self {
        extensions.get().copied().unwrap_or(Self(Ipv4Addr::UNSPECIFIED.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ipv6_network_is_one_source_and_an_ipv4_address_is_one() {
        let source = |text: &str| Source::of(text.parse().unwrap());

        assert_eq!(source("2001:db8:1:2::1"), source("2001:db8:1:2:ffff::9"));
        assert_ne!(source("2001:db8:1:2::1"), source("2001:db8:1:3::1"));
        assert_eq!(source("::ffff:10.0.0.1"), source("10.0.0.1"));
        assert_ne!(source("10.0.0.1"), source("10.0.0.2"));
    }
}
