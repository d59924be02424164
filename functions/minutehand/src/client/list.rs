//! Lists: a page, or all pages one after the other.

use clap::Args;
use serde::de::DeserializeOwned;

use super::answer::{Answer, Page};
use super::request::Request;
use super::session::{Paper, Session, note, print};
use super::table::Table;
use super::trouble::Trouble;

/// The largest page that the API gives.
const PAGE: u16 = 1000;
/// Beyond this nobody reads a table, and a machine had better take page after page.
const ALL_ITEMS: usize = 100_000;

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

impl Session {
    pub(crate) async fn list<T: DeserializeOwned>(
        &self,
        request: Request,
        paging: &Paging,
        none: &str,
        view: impl FnOnce(&[T], Paper) -> Table,
    ) -> Result<(), Trouble> {
        let (page, answer) = self.pages(request, paging).await?;
        if self.json {
            // A single page is passed on as it was written.
            let all = || serde_json::to_string(&page).expect("items are JSON");
            return print(&format!("{}\n", if paging.all { all() } else { answer.text }));
        }
        let paper = Paper::here();
        let table = view(&answer.items(&page)?, paper);
        if table.is_empty() {
            print(&format!("{none}\n"))?;
        } else {
            print(&table.draw(paper.width))?;
        }
        if let Some(cursor) = &page.next_cursor {
            note(&format!("there are more: --all, or --cursor {cursor}"));
        }
        Ok(())
    }

    /// What was read, and the last answer.
    async fn pages(&self, request: Request, paging: &Paging) -> Result<(Page, Answer), Trouble> {
        let request = request.query("limit", paging.limit());
        let mut answer = self.ask(&request.clone().query("cursor", paging.cursor.as_ref())).await?;
        let mut page: Page = answer.read()?;
        while let Some(cursor) = page.next_cursor.as_ref().filter(|_| paging.all && page.items.len() < ALL_ITEMS) {
            answer = self.ask(&request.clone().query("cursor", Some(cursor))).await?;
            let next: Page = answer.read()?;
            page.items.extend(next.items);
            page.next_cursor = next.next_cursor;
        }
        Ok((page, answer))
    }
}
