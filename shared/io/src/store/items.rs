//! The kinds of items, a file each: where one lies, in which lists it stands, until when it is of use, and every shape it was
//! ever stored in. A new kind is a new file.

mod act;
mod api_key;
mod asked;
mod attempt;
mod body;
mod calendar;
mod cursor;
mod day;
mod digest;
mod document;
mod effect;
mod end;
mod erasing;
mod head;
mod join;
mod key_use;
mod logbook;
mod notification;
mod offer;
mod operation;
mod pace;
mod pool;
mod quota;
mod run;
mod secret;
mod signing;
mod slot;
mod survey;
mod timer;
mod workflow;

pub use self::body::KeptBody;
pub use self::calendar::KeptRules;
pub use self::digest::{CloseDigest, TellOf};
pub use self::document::Filed;
pub use self::end::EndsOf;
pub use self::join::CloseEdge;
pub use self::logbook::LogFrom;
pub use self::offer::{Line, OfferKey};
pub use self::run::{ExtendLease, RunsOf};
pub use self::slot::{Release, Take};
pub(in crate::store) use self::timer::TimerBeginning;
pub use self::workflow::DefinitionPiece;
