//! `simulate`: plays many histories, or one again.

#![expect(clippy::print_stdout, reason = "a command line tells what it found")]

use std::process::ExitCode;

use mimalloc::MiMalloc;
use minutehand_simulation::campaign::Campaign;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

const HELP: &str = "\
Plays histories of Minutehand's protocol under faults and has them judged.

    simulate [--graphs | --workers] [--histories N] [--first SEED] [--threads N]
    simulate [--graphs | --workers] --seed SEED         one history again, with everything it counted

    --graphs     histories of workflows
    --workers    histories of workers elsewhere
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
    let play = match () {
        () if is_given("--graphs") => Campaign::play_graphs,
        () if is_given("--workers") => Campaign::play_workers,
        () => Campaign::play,
    };
    let campaign = match number("--seed") {
        Some(seed) => play(seed, 1, 1),
        None => play(
            number("--first").unwrap_or(1),
            number("--histories").unwrap_or(10_000),
            number("--threads").unwrap_or(2),
        ),
    };
    println!("{campaign}");
    if campaign.failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
