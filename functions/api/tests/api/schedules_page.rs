//! docs/schedules.md: each row of its tables is asked of the preview.

use minutehand_domain::Moment;
use serde_json::{Value, json};

use crate::world::World;

const PAGE: &str = include_str!("../../../../docs/schedules.md");

/// A table that says above itself what its rows are asked with.
struct Table<'a> {
    asked: &'a str,
    header: Vec<&'a str>,
    rows: Vec<Vec<&'a str>>,
}

fn tables() -> Vec<Table<'static>> {
    let marked = PAGE.split("<!-- ").skip(1).filter_map(|rest| rest.split_once(" -->"));
    let table = |(asked, rest): (&'static str, &'static str)| {
        let mut lines = rest.trim_start().lines().take_while(|line| line.starts_with('|')).map(cells);
        let header = lines.next().expect("a header");
        Table { asked, header, rows: lines.skip(1).collect() }
    };
    marked.map(table).collect()
}

fn cells(line: &str) -> Vec<&str> {
    line.trim_matches('|').split(" | ").map(str::trim).collect()
}

/// The word behind `name` in what a table says above itself.
fn word<'a>(asked: &'a str, name: &str) -> Option<&'a str> {
    let mut words = asked.split(' ').skip_while(move |word| *word != name);
    words.nth(1)
}

fn code(cell: &str) -> &str {
    cell.trim_matches('`')
}

#[tokio::test]
async fn each_expression_is_told_and_fires_as_the_page_says() {
    let (world, mut asked) = (World::new(), 0);
    for table in
        tables().iter().filter(|table| word(table.asked, "from").is_some() && word(table.asked, "until").is_none())
    {
        for row in &table.rows {
            let days = word(table.asked, "days").unwrap_or("either");
            let schedule = json!({"cron": code(row[0]), "timezone": word(table.asked, "in"), "days": days});
            let body = json!({"schedule": schedule, "from": word(table.asked, "from"), "count": 3});

            let answer = world.post("/v1/schedules/preview", body).await;

            let words =
                answer.field("/description").as_str().map(|words| words.trim_end_matches(", UTC time").to_owned());
            assert_eq!(words.as_deref(), Some(row[1]), "{}", row[0]);
            let fires: Vec<String> = locals(&answer.json(), None).iter().map(|local| local.replace('T', " ")).collect();
            let told: Vec<String> =
                row[2].split(", ").map(|at| if at.len() == 16 { format!("{at}:00") } else { at.to_owned() }).collect();
            assert_eq!(fires.iter().map(|at| at[..19].to_owned()).collect::<Vec<_>>(), told, "{}", row[0]);
            asked += 1;
        }
    }
    assert!(asked > 20, "only {asked} rows");
}

#[tokio::test]
async fn a_turn_of_the_clock_does_what_the_page_says() {
    let (world, mut asked) = (World::new(), 0);
    for table in tables().iter().filter(|table| word(table.asked, "until").is_some()) {
        for row in &table.rows {
            let mut schedule = json!({"cron": code(row[0]), "timezone": word(table.asked, "in")});
            schedule[code(table.header[1])] = code(row[1]).into();
            let body = json!({"schedule": schedule, "from": word(table.asked, "from"), "count": 50});

            let answer = world.post("/v1/schedules/preview", body).await;

            let fires: Vec<String> =
                locals(&answer.json(), word(table.asked, "until")).iter().map(|local| hour(local)).collect();
            let told = if fires.is_empty() { "never".to_owned() } else { fires.join(", ") };
            assert_eq!(told, row[2], "{} {}", row[0], row[1]);
            asked += 1;
        }
    }
    assert!(asked > 8, "only {asked} rows");
}

#[tokio::test]
async fn what_is_refused_is_answered_as_the_page_says() {
    let (world, mut asked) = (World::new(), 0);
    for row in tables().iter().filter(|table| table.asked == "refused").flat_map(|table| &table.rows) {
        let answer = world.post("/v1/schedules/preview", json!({"schedule": {"cron": code(row[0])}})).await;

        assert_eq!(answer.field("/errors/0/detail"), row[1], "{}", row[0]);
        asked += 1;
    }
    assert!(asked > 5, "only {asked} rows");
}

/// The local times of a preview, before `until`.
fn locals(preview: &Value, until: Option<&str>) -> Vec<String> {
    let until = until.and_then(Moment::parse).unwrap_or(Moment::END);
    let fires = preview["fires"].as_array().into_iter().flatten();
    let before = fires.filter(|fire| fire["at"].as_str().and_then(Moment::parse).is_some_and(|at| at < until));
    before.filter_map(|fire| fire["local"].as_str().map(ToOwned::to_owned)).collect()
}

/// In New York, where the page is.
fn hour(local: &str) -> String {
    let season = if local.ends_with("-05:00") { "EST" } else { "EDT" };
    format!("{} {season}", &local[11..16])
}
