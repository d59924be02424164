//! Lists: a page, or all pages one after the other.

use std::fmt::Display;

use clap::Args;
use minutehand_client::wire::{Json, Page};
use minutehand_client::{Answer, Call};
use serde::de::DeserializeOwned;

use super::failure::Failure;
use super::session::{Paper, Session, note, print};
use super::table::Table;

/// The largest page that the API gives.
const PAGE: u16 = 1000;
/// Beyond this nobody reads a table, and a machine had better take page after page.
const ALL_ITEMS: usize = 100_000;
/// So often a table is asked for until something is in it: a year without a run is 122 pages. Of millions of runs among which few are looked for each
/// page has read only some.
const EMPTY_PAGES: u32 = 200;

#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Paging {
    /// How many on a page
    #[arg(long, value_name = "COUNT", value_parser = clap::value_parser!(u16).range(1..=i64::from(PAGE)))]
    pub(crate) limit: Option<u16>,
    /// The page after this one: `next_cursor` of the page before
    #[arg(long, value_name = "CURSOR")]
    pub(crate) cursor: Option<String>,
    /// All pages, up to 100,000 items
    #[arg(long)]
    pub(crate) all: bool,
}

impl Paging {
    /// Few requests where all is wanted.
    fn limit(&self) -> Option<u16> {
        self.limit.or(self.all.then_some(PAGE))
    }
}

/// How the next page is asked for. A cursor goes with the window that it was given for, and what was said of that may have been relative to now.
pub(crate) fn onward(window: [Option<impl Display>; 2], cursor: &str) -> String {
    let said = ["--from", "--to"].into_iter().zip(window);
    let said = said.filter_map(|(flag, at)| at.map(|at| format!("{flag} {at} ")));
    said.chain([format!("--cursor {cursor}")]).collect()
}

impl Session {
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        list: Call<Page<T>>,
        paging: &Paging,
        none: &str,
        view: impl FnOnce(&[T], Paper) -> Table,
    ) -> Result<(), Failure> {
        let window = ["from", "to"].map(|name| list.said(name).map(str::to_owned));
        let (page, answer) = self.pages(list, paging).await?;
        if self.json {
            // A single page is passed on as it was written.
            let all = || serde_json::to_string(&page).expect("items are JSON");
            let text = if paging.all { all() } else { answer.text().to_owned() };
            return print(&format!("{text}\n"));
        }
        let paper = Paper::here();
        let items: Vec<T> = answer.read_parts(&page.items)?;
        let table = view(&items, paper);
        if table.is_empty() {
            print(&format!("{none}\n"))?;
        } else {
            print(&table.draw(paper.width))?;
        }
        if let Some(cursor) = &page.next_cursor {
            note(&format!("there are more: --all, or {}", onward(window, cursor)));
        }
        Ok(())
    }

    /// What was read, each item as it was written, and the last answer.
    async fn pages<T>(&self, list: Call<Page<T>>, paging: &Paging) -> Result<(Page<Json>, Answer<Page<T>>), Failure> {
        let list = list.with_query("limit", paging.limit());
        let mut answer = self.send(&list.clone().with_query("cursor", paging.cursor.as_ref())).await?;
        let mut page: Page<Json> = answer.read_as()?;
        let mut asked = 1;
        // A page may be empty where more is to come, and a table is read for what there is.
        let goes_on = |page: &Page<Json>, asked| {
            if paging.all {
                page.items.len() < ALL_ITEMS
            } else {
                page.items.is_empty() && !self.json && asked < EMPTY_PAGES
            }
        };
        while let Some(cursor) = page.next_cursor.as_ref().filter(|_| goes_on(&page, asked)) {
            asked += 1;
            answer = self.send(&list.clone().with_query("cursor", Some(cursor))).await?;
            let next: Page<Json> = answer.read_as()?;
            page.items.extend(next.items);
            page.next_cursor = next.next_cursor;
        }
        Ok((page, answer))
    }
}
