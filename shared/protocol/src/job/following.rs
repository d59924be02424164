//! Following: how a job comes into the list of the one that it runs behind, and how it leaves it.
//!
//! Rule **list first**: the entry stands in the list before the head that needs it; whoever dies in between leaves an entry too many, to which
//! no run is ever made. Rule **the entry's generation**: an entry says for which head it was made. It goes only when that head, or a later one,
//! stands and says otherwise; so nobody takes away what a slow writer is about to need. Rule **beside, not instead**: an entry for other ends of
//! the job in front stands beside the one that the head needs by now, which goes once the head says otherwise. The change may never be written.

use minutehand_domain::Moment;
use minutehand_domain::follow::{Follower, Listed, NotToFollow};
use minutehand_domain::head::Head;
use minutehand_domain::id::{JobId, Tenant};
use minutehand_domain::job::{Job, Status};
use minutehand_domain::limits::FOLLOW_DEPTH;
use minutehand_domain::pace;
use minutehand_io::clock::Clock as _;
use minutehand_io::store::{Guard, Seen, Store as _};
use minutehand_io::{Fault, Ports};

use crate::chain::pending_change::refuse_creators;
use crate::lookup::{job_of, seen_job_of};

/// Tries against others who change the same job at the same time: as many as may come into one list, and some.
const TRIES: u32 = 32;

/// Whether a job may run behind `front`: that is there, and neither behind it already nor so far behind others that it would be too many.
pub async fn may_follow<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    job: JobId,
    front: JobId,
) -> Result<Result<(), NotToFollow>, Fault> {
    Ok(walk(ports, tenant, job, front).await?.map(|_front| ()))
}

/// The job in front as it was seen, if all before it lets this one behind it. Of two jobs that would run behind each other one is refused, as
/// whoever writes its entry has seen that nobody changed the job in front; a larger circle may be closed by two who write at once, and its runs
/// end by their depth.
async fn walk<D: Ports>(
    ports: &D,
    tenant: &Tenant,
    job: JobId,
    front: JobId,
) -> Result<Result<Seen<Job>, NotToFollow>, Fault> {
    if front == job {
        return Ok(Err(NotToFollow::Cycle(vec![job, job])));
    }
    let Some(seen) = seen_job_of(ports, tenant, front).await? else { return Ok(Err(NotToFollow::NoJob(front))) };
    if seen.item.status == Status::Cancelled {
        return Ok(Err(NotToFollow::Deleted(front)));
    }
    let (mut chain, mut next) = (vec![job, front], seen.item.follows());
    while let Some((id, _)) = next {
        chain.push(id);
        if id == job {
            return Ok(Err(NotToFollow::Cycle(chain)));
        }
        if chain.len() > usize::from(FOLLOW_DEPTH) + 1 {
            return Ok(Err(NotToFollow::TooDeep));
        }
        next = job_of(ports, tenant, id).await?.and_then(|there| there.follows());
    }
    Ok(Ok(seen))
}

/// Puts a job that is to run behind another into that one's list, before the head that says so. A job that runs behind none is in no list.
pub(super) async fn list_first<D: Ports>(ports: &D, next: &Job) -> Result<Result<(), NotToFollow>, Fault> {
    let Some((front, on)) = next.follows() else { return Ok(Ok(())) };
    let (follower, generation) = (Follower { job: next.id, on }, next.generation);
    for _ in 0..TRIES {
        let seen = match walk(ports, &next.tenant, next.id, front).await? {
            Ok(seen) => seen,
            Err(no) => return Ok(Err(no)),
        };
        let entry = Listed { follower, generation, since: ports.clock().now() };
        let listing = match seen.item.listing(entry) {
            Err(_full) => with_room(ports, &seen.item).await?.listing(entry),
            listing => listing,
        };
        match listing {
            Err(no) => return Ok(Err(no)),
            Ok(listing) => {
                if put(ports, listing, seen.guard()).await? {
                    return Ok(Ok(()));
                }
            }
        }
    }
    Err(Fault::unavailable("job", "its followers are being changed by too many at once"))
}

/// Takes a job out of the list of one that it runs behind no more. What is left there by who dies before this goes when an end is settled, or
/// when the list is full.
pub async fn leave<D: Ports>(ports: &D, job: &Job, front: JobId) -> Result<(), Fault> {
    for _ in 0..TRIES {
        let Some(seen) = seen_job_of(ports, &job.tenant, front).await? else { return Ok(()) };
        let Some(without) = seen.item.left_by(job) else { return Ok(()) };
        if put(ports, without, seen.guard()).await? {
            return Ok(());
        }
    }
    Ok(())
}

/// The same job without those of its followers that are gone.
async fn with_room<D: Ports>(ports: &D, front: &Job) -> Result<Job, Fault> {
    let mut with_room = front.clone();
    for entry in &front.followers {
        if is_gone(ports, front, entry).await? {
            with_room = with_room.unlisting(entry).unwrap_or(with_room);
        }
    }
    Ok(with_room)
}

/// Whether nobody needs an entry. One that no job came to was left by a creator: dead, or so slow that it is refused, as it is by the sweep
/// that finds its timer. Of several creators of one job the last counts: the tombstone refuses all of them.
async fn is_gone<D: Ports>(ports: &D, front: &Job, entry: &Listed) -> Result<bool, Fault> {
    let (tenant, id) = (&front.tenant, entry.follower.job);
    let there = ports.store().get::<Head>(tenant, id).await?;
    if let Some(Seen { item: Head::Job(job), .. }) = &there {
        return Ok(job.has_left(front.id, entry));
    }
    let of_the_same = front.followers.iter().filter(|other| other.follower.job == id);
    let since = of_the_same.map(|other| other.since).fold(entry.since, Moment::max);
    if ports.clock().now().since(since) < pace::ORPHAN {
        return Ok(false);
    }
    refuse_creators(ports, tenant, id, there).await
}

async fn put<D: Ports>(ports: &D, job: Job, guard: Guard) -> Result<bool, Fault> {
    let head = Head::Job(job);
    Ok(ports.store().put(head.tenant(), head.id(), &head, guard).await?.is_written())
}
