//! Runs of workflows, as those see and steer them who watch: one with its tasks and branches, lists, what happened, and what people decide.

mod acts;
mod events;
mod held;
mod list;
mod names;
mod page;
mod task;
mod verdicts;
mod whole;

pub(crate) use self::acts::{cancel, resume};
pub(crate) use self::events::events;
pub(crate) use self::held::decide_held;
pub(crate) use self::list::{OfWorkflows, across};
pub(crate) use self::page::{branches, show, tasks};
pub(crate) use self::verdicts::{approve, fail, reject, retry, skip, succeed};
use self::whole::Whole;
