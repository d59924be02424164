//! The parts that every deployed process shares: [`settings`], [`logs`], and the [`ports`] of AWS.

pub mod logs;
pub mod ports;
pub mod settings;
pub mod sweeps;

pub use ports::{Cloud, NoTargets, aws};
pub use settings::{Environment, SettingError, Settings};
pub use sweeps::Sweeps;
