//! What every deployed process shares: its [`settings`], its [`logs`], and the [`doors`] of AWS.

pub mod doors;
pub mod logs;
pub mod settings;
pub mod sweeps;

pub use doors::{Cloud, NoTargets, aws};
pub use settings::{Environment, SettingError, Settings};
pub use sweeps::Sweeps;
