//! Crash: the real process under load, killed with SIGKILL at random moments, started again on the same data each time,
//! left alone until all runs have ended; then everything is read back over HTTP and judged by the simulation's judge, which
//! shares no code with the domain. The targets are the test's own, so that the calls are recorded outside of the process.
//!
//! `CRASH_SEED` repeats the choices of an earlier history (the machine's timing still varies), `CRASH_ROUNDS` sets the number
//! of kills.

#[path = "crash/asked.rs"]
mod asked;
#[path = "crash/caller.rs"]
mod caller;
#[path = "support/client.rs"]
#[expect(dead_code, reason = "what process.rs asks more of it")]
mod client;
#[path = "support/dice.rs"]
mod dice;
#[path = "crash/load.rs"]
mod load;
#[path = "support/patience.rs"]
#[expect(dead_code, reason = "here nothing is waited for one by one")]
mod patience;
#[path = "crash/read_back.rs"]
mod read_back;
#[path = "support/server.rs"]
#[expect(dead_code, reason = "here the process is only started and killed; process.rs asks more of it")]
mod server;
#[path = "crash/tally.rs"]
mod tally;
#[path = "support/target.rs"]
#[expect(dead_code, reason = "here all calls are wanted, never those of one job; process.rs asks for them")]
mod target;
#[path = "crash/witness.rs"]
mod witness;

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::watch;

use self::dice::Dice;
use self::load::Load;
use self::patience::{now, say, until};
use self::server::{Process, Server, serve};
use self::target::Target;
use self::witness::Witness;

/// The default number of kills: 7 rounds take about 17 s.
const ROUNDS: u64 = 7;
/// The shortest and the longest time, in milliseconds, from a start to the next kill.
const ROUND: (u64, u64) = (700, 3_300);
/// A start takes some 50 ms: a third of the processes is killed before, while or just after it looks at what is due.
const STARTING_MS: u64 = 80;
/// How long a restart may take beside the round itself.
const RESTART_MS: u64 = 600;
/// For settling, after everything was read once: what is due in 3 s or tried again after 1 s is over long before; what
/// only the overdue look (30 s) finds is not.
const CALM: Duration = Duration::from_secs(20);

/// Tried by removing, one at a time, one history of seven kills each. Each of these made it fail:
/// - durable commits (`Durability::None` in the store's writer); answering before the commit;
/// - the promise before a new job's head; the record before a run's timer is erased (`finish`);
/// - the look at the start (`start_over`); that another process's lease is a dead one's (`exclusive_store`);
/// - a job's id from its key.
///
/// It does not notice these: a hint before its successor's promise (one commit wide; the simulation's guards are the
/// proof). Nor can it notice a commit without fdatasync (not tried: SIGKILL leaves the page cache to the kernel):
/// `tests/durability.rs` shows that, on a file that forgets what was not synced.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_killed_again_and_again_does_all_it_acknowledged_and_nothing_twice() {
    let (seed, rounds) = (asked("CRASH_SEED").unwrap_or_else(chance), asked("CRASH_ROUNDS").unwrap_or(ROUNDS));
    say(&format!("crash: CRASH_SEED={seed} CRASH_ROUNDS={rounds}"));
    let mut dice = Dice::new(seed);
    let moments: Vec<Moment> = (0..rounds).map(|_| Moment::by(&mut dice)).collect();
    let (data, target) = (tempfile::tempdir().unwrap(), Target::start().await);
    let server = Server::on(data.path());
    let (moved, whereabouts) = watch::channel(server.address());

    let last_fire = now() + i64::try_from(moments.iter().map(|moment| moment.after + RESTART_MS).sum::<u64>()).unwrap();
    let load = Load::start(&whereabouts, &target, &dice, last_fire);
    let server = kill_at(&moments, server, data.path(), &moved).await;
    let asked_for = load.stop().await;
    until(last_fire).await;

    let witness = Witness { asked_for, target: &target };
    let judged = witness.settled(&server.client(), CALM).await;
    say(&format!("crash: {}", judged.tally));
    assert_eq!(judged.violations, [], "CRASH_SEED={seed}");
    judged.tally.assert_not_empty(rounds);
}

/// When a process is killed.
struct Moment {
    /// Milliseconds after it was ready.
    after: u64,
    /// The next process while it starts, milliseconds after its start.
    starting: Option<u64>,
}

impl Moment {
    fn by(dice: &mut Dice) -> Self {
        let after = dice.between(ROUND.0, ROUND.1);
        let starting = (dice.between(0, 2) == 0).then(|| dice.between(0, STARTING_MS));
        Self { after, starting }
    }
}

/// Kills and restarts at these moments.
async fn kill_at(moments: &[Moment], mut server: Server, data: &Path, moved: &watch::Sender<SocketAddr>) -> Server {
    for moment in moments {
        tokio::time::sleep(Duration::from_millis(moment.after)).await;
        server.kill();
        if let Some(starting) = moment.starting {
            let _killed_when_dropped = Process::start(serve(data));
            tokio::time::sleep(Duration::from_millis(starting)).await;
        }
        server = tokio::task::block_in_place(|| Server::on(data));
        moved.send_replace(server.address());
    }
    server
}

fn asked(name: &str) -> Option<u64> {
    std::env::var(name).ok().map(|text| text.parse().expect("a number"))
}

/// A new seed each time.
fn chance() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| u64::from(since.subsec_nanos()))
}
