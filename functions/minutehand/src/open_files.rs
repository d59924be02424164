//! Open files: connections, calls and the store have one each. The hard limit says how many a process may have, and the soft one, which is 1,024 on most
//! machines for the sake of programs that know no larger number, how many it has unless it asks for more.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Raises the soft limit to the hard one. A system that refuses leaves the process with what it has.
pub(crate) fn raise_their_limit() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit { current: limit.maximum, ..limit };
    if let Err(why) = setrlimit(Resource::Nofile, raised) {
        tracing::debug!(%why, "no more files may be open than at the start");
    }
}
