//! Histories of one thing each, on a stage: a job or a few, what is drawn around them, and the judge of that thing.

pub mod backfills;
pub mod callbacks;
pub mod followers;
pub mod letters;
pub mod notifications;

use minutehand_domain::catch_up::CatchUp;

use crate::dice::Dice;
use crate::stage::Stage;

/// In a fifth of the histories an operator repairs while everything goes on.
fn repaired(stage: &Stage, dice: &mut Dice) {
    if dice.chance(0.2) {
        stage.met("repair asked for", 1);
        stage.repair(dice.within(60..1800), "operator");
    }
}

fn catch_up(dice: &mut Dice) -> CatchUp {
    dice.pick(&[
        CatchUp::default(),
        CatchUp::None,
        CatchUp::All { window: CatchUp::DEFAULT_WINDOW, max_runs: 5, per_minute: None },
    ])
}
