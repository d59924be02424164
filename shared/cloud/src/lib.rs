//! The parts that every deployed process shares: [`settings`], [`logs`], and the [`ports`] of AWS.

pub mod bucket;
pub mod logs;
pub mod measuring;
pub mod ports;
pub mod services;
pub mod settings;
pub mod sweeps;
pub mod switch;

pub use aws_config::SdkConfig;
pub use bucket::archive_bucket;
pub use measuring::Measuring;
pub use minutehand_io::targets::services::ServiceCaller;
pub use ports::{Cloud, NoTargets, aws};
pub use services::{ServicesError, services};
pub use settings::{Environment, SettingError, Settings};
pub use sweeps::Sweeps;
pub use switch::Switch;
