//! Chance: sixteen bytes that nobody can guess.

pub trait Chance: Send + Sync + 'static {
    fn bytes(&self) -> [u8; 16];

    /// Thirty-two bytes, for a secret that is shared and signs.
    fn secret(&self) -> [u8; 32] {
        let mut secret = [0; 32];
        secret[..16].copy_from_slice(&self.bytes());
        secret[16..].copy_from_slice(&self.bytes());
        secret
    }

    fn number(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.bytes();
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }
}

/// The operating system's random bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemChance;

impl Chance for SystemChance {
    fn bytes(&self) -> [u8; 16] {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).expect("a system without chance cannot make keys");
        bytes
    }
}
