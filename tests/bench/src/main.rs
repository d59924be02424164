//! `minutehand-bench`: measures and prints. It exits with 0 if every median reaches its target.

use std::io::{self, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use minutehand_bench::failure::Outcome;
use minutehand_bench::figures::Figure;
use minutehand_bench::stage::{Stage, build};
use minutehand_bench::{machine, sheet};

/// Prints what the real process reaches on this machine: medians over some repetitions, on a durable store
#[derive(Debug, Parser)]
#[command(name = "minutehand-bench", version)]
struct Arguments {
    /// What to measure
    #[arg(value_enum, default_values_t = [Wanted::All])]
    figures: Vec<Wanted>,
    /// How many times each
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,
    /// The `minutehand` to measure; without it, it is built as it is shipped
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Where data directories are made; a file system in memory would flatter the store
    #[arg(long)]
    directory: Option<PathBuf>,
    /// Connections that submit at the same time
    #[arg(long, default_value_t = 128, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(1..=10_000))]
    connections: usize,
    /// Jobs of the throughput figure
    #[arg(long, default_value_t = 20_000, value_parser = clap::builder::RangedU64ValueParser::<usize>::new().range(100..))]
    jobs: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Wanted {
    All,
    Throughput,
    Burst,
    Immediate,
    Later,
    Sweep,
    Held,
    Calendar,
    Graphs,
    Leases,
}

/// One thread: the load generator must use as little of the cores as possible.
#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    match measure(Arguments::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("minutehand-bench: a figure misses what it must reach");
            ExitCode::FAILURE
        }
        Err(failure) => {
            eprintln!("minutehand-bench: {failure}");
            ExitCode::FAILURE
        }
    }
}

async fn measure(arguments: Arguments) -> Outcome<bool> {
    let figures = wanted(&arguments.figures);
    let (runs, stage) = (arguments.runs, stage_of(arguments)?);
    let mut out = io::stdout();
    writeln!(out, "{}\n", machine::describe(&stage.directory)?)?;
    let mut all_hold = true;
    for figure in figures {
        all_hold &= print(figure, &stage, runs).await?;
    }
    Ok(all_hold)
}

async fn print(figure: Figure, stage: &Stage, runs: u32) -> Outcome<bool> {
    let mut out = io::stdout();
    writeln!(out, "{}: {}", figure.name(), figure.meaning(stage))?;
    let mut repetitions = Vec::new();
    for number in 1..=runs {
        let readings = figure.measure(stage).await?;
        sheet::write_raw(&mut out, figure.name(), number, &readings)?;
        repetitions.push(readings);
    }
    let holds = sheet::write(&mut out, &repetitions)?;
    writeln!(out)?;
    Ok(holds)
}

fn stage_of(arguments: Arguments) -> Outcome<Stage> {
    let Arguments { binary, directory, connections, jobs, .. } = arguments;
    let binary = binary.map_or_else(build, Ok)?;
    let directory = directory.unwrap_or_else(std::env::temp_dir);
    Ok(Stage { binary, directory, connections, jobs })
}

fn wanted(figures: &[Wanted]) -> Vec<Figure> {
    Figure::ALL.into_iter().filter(|figure| figures.iter().any(|each| each.means(*figure))).collect()
}

impl Wanted {
    fn means(self, figure: Figure) -> bool {
        let one = match self {
            Self::All => return true,
            Self::Throughput => Figure::Throughput,
            Self::Burst => Figure::Burst,
            Self::Immediate => Figure::Immediate,
            Self::Later => Figure::Later,
            Self::Sweep => Figure::Sweep,
            Self::Held => Figure::Held,
            Self::Calendar => Figure::Calendar,
            Self::Graphs => Figure::Graphs,
            Self::Leases => Figure::Leases,
        };
        one == figure
    }
}
