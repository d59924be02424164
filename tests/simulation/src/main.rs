//! `simulate`: plays many histories, or one again.

#![expect(clippy::print_stdout, reason = "a command line tells what it found")]

use std::process::ExitCode;

use mimalloc::MiMalloc;
use minutehand_simulation::campaign::{Campaign, Of};

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const HELP: &str = "\
Plays histories of Minutehand's protocol under faults and has them judged.

    simulate [--of WHAT] [--histories N] [--first SEED] [--threads N]
    simulate [--of WHAT] --seed SEED         one history again, with everything it counted

    --of     what they are of: jobs (where nothing is said), graphs, workers, callbacks, followers, letters, notifications, backfills
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |flag: &str| {
        let at = arguments.iter().position(|argument| argument == flag)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    let is_given = |flag: &str| arguments.iter().any(|argument| argument == flag);
    if is_given("--help") || is_given("-h") {
        println!("{HELP}");
        return ExitCode::SUCCESS;
    }
    let of = match arguments.iter().position(|argument| argument == "--of") {
        None => Some(Of::Jobs),
        Some(at) => arguments.get(at + 1).and_then(|name| Of::named(name)),
    };
    let known = ["--of", "--histories", "--first", "--threads", "--seed"];
    let is_known = |argument: &String| !argument.starts_with("--") || known.contains(&argument.as_str());
    let Some(of) = of.filter(|_| arguments.iter().all(is_known)) else {
        println!("{HELP}");
        return ExitCode::FAILURE;
    };
    let campaign = match number("--seed") {
        Some(seed) => Campaign::play(of, seed, 1, 1),
        None => Campaign::play(
            of,
            number("--first").unwrap_or(1),
            number("--histories").unwrap_or(10_000),
            number("--threads").unwrap_or(2),
        ),
    };
    println!("{campaign}");
    if campaign.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
