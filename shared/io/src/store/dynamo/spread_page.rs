//! A page of what is spread over partitions, by id: merged of them all.

use futures_util::future::try_join_all;

use super::DynamoStore;
use super::keys::Span;
use crate::Fault;
use crate::store::item::Listed;
use crate::store::{Page, Unreadable};

/// The least that is read of a partition at a time.
const LEAST: usize = 4;

/// What was read of one partition.
struct Part<T> {
    span: Span,
    /// By what they sort by.
    items: Vec<(String, T)>,
    /// The last one that was read, where there may be more of them.
    last: Option<String>,
    unreadable: Vec<Unreadable>,
}

/// Every partition is asked for its share of the page, and those again of which the page needs more.
pub(super) async fn read<T: Listed>(store: &DynamoStore, spans: Vec<Span>, limit: usize) -> Result<Page<T>, Fault> {
    let share = (2 * limit / spans.len()).max(LEAST).min(limit);
    let begin = |span| Part { span, items: Vec::new(), last: None, unreadable: Vec::new() };
    let mut parts = try_join_all(spans.into_iter().map(|span| begin(span).more(store, share))).await?;
    loop {
        let end = end_of(&parts, limit);
        let (short, mut enough): (Vec<_>, Vec<_>) =
            parts.into_iter().partition(|part| part.is_short_before(end.as_deref()));
        if short.is_empty() {
            let unreadable = enough.iter_mut().flat_map(|part| part.unreadable.drain(..)).collect();
            let items = first_of(enough, limit);
            return Ok(Page { more: limit > 0 && items.len() >= limit, items, unreadable });
        }
        parts = try_join_all(short.into_iter().map(|part| part.more(store, share))).await?;
        parts.extend(enough);
    }
}

impl<T: Listed> Part<T> {
    async fn more(mut self, store: &DynamoStore, share: usize) -> Result<Self, Fault> {
        let span = self.last.take().map_or_else(|| self.span.clone(), |last| self.span.clone().past(last));
        let page = store.read_span::<T>(&span, share).await?;
        self.items.extend(page.items.into_iter().filter(|(_, item)| item.counts()));
        self.last = page.last;
        self.unreadable.extend(page.unreadable);
        Ok(self)
    }

    /// There is more of it, and some of that may belong on a page that ends there.
    fn is_short_before(&self, end: Option<&str>) -> bool {
        self.last.as_deref().is_some_and(|last| end.is_none_or(|end| last < end))
    }
}

/// Where a full page ends.
fn end_of<T>(parts: &[Part<T>], limit: usize) -> Option<String> {
    let mut sorts: Vec<&String> = parts.iter().flat_map(|part| &part.items).map(|(sort, _)| sort).collect();
    sorts.sort_unstable();
    limit.checked_sub(1).and_then(|last| sorts.get(last)).map(|sort| (*sort).clone())
}

fn first_of<T>(parts: Vec<Part<T>>, limit: usize) -> Vec<T> {
    let mut items: Vec<_> = parts.into_iter().flat_map(|part| part.items).collect();
    items.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
    items.into_iter().take(limit).map(|(_, item)| item).collect()
}
