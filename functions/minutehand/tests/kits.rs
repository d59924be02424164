//! The worker kits: one scenario for all three, against the real process. A small worker in each language, the `actor`, does what its
//! payload says; what it meets, it tells in lines of JSON on its stdout. And `minutehand work`, which stands on one of them.

#[path = "kits/actor.rs"]
mod actor;
#[path = "support/client.rs"]
#[expect(dead_code, reason = "other tests ask more of it")]
mod client;
#[path = "kits/commands.rs"]
mod commands;
#[path = "kits/page.rs"]
mod page;
#[path = "support/patience.rs"]
#[expect(dead_code, reason = "other tests ask more of it")]
mod patience;
#[path = "kits/rust.rs"]
mod rust;
#[path = "kits/scenes.rs"]
mod scenes;
#[path = "support/server.rs"]
#[expect(dead_code, reason = "other tests ask more of it")]
mod server;
#[path = "kits/stub.rs"]
mod stub;

use self::actor::Kit;

/// Tried: without the thread that keeps its leases nothing that is said arrives, and the scene half way is not reached.
#[tokio::test(flavor = "multi_thread")]
async fn the_kit_for_python_plays_every_scene() {
    scenes::play(Kit::Python).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kit_for_typescript_plays_every_scene() {
    scenes::play(Kit::TypeScript).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kit_for_rust_plays_every_scene() {
    scenes::play(Kit::Rust).await;
}
