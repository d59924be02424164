//! The benchmark: what the real `minutehand` process reaches on this machine, loaded over HTTP by a second process on the
//! same cores; and what a pass of the sweep costs, counted in items so that it means the same on every machine.
//!
//! The modules: [`stage`] starts and kills the process, [`client`] and [`http`] load it cheaply, [`runs`] reads back the
//! runs, [`usage`] measures CPU, memory and disk, [`figures`] measure, and [`sheet`] prints.

pub mod client;
pub mod failure;
pub mod figures;
pub mod http;
pub mod lag;
pub mod machine;
pub mod runs;
pub mod sheet;
pub mod stage;
pub mod usage;
pub mod world;
