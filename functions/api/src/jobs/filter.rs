//! The filter of a list of jobs, as it was asked for.

use minutehand_domain::operation::JobFilter;
use minutehand_wire::JobsQuery;

use crate::problem::Problem;

pub(crate) fn filter_of(query: &JobsQuery) -> Result<JobFilter, Problem> {
    query.checked()?;
    Ok(JobFilter {
        tag: query.tag.clone(),
        status: query.status.map(|status| status.as_str().to_owned()),
        priority: query.priority,
        name: query.name.clone(),
        owner: query.owner.clone(),
    })
}
