//! A large stack, for flows through the SDK in an unoptimized build.

use std::future::Future;

/// What such a build needs for a sweep that settles a graph: a thread of a test has 2 MB, and that was just not enough.
const BYTES: usize = 16 * 1024 * 1024;

/// Plays it on a thread that has one.
pub fn with_a_large_stack<F: Future<Output: Send>>(does: impl FnOnce() -> F + Send) -> F::Output {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.expect("a runtime starts");
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(BYTES);
        let played = thread.spawn_scoped(scope, || runtime.block_on(does())).expect("a thread starts");
        played.join().expect("it was played")
    })
}
