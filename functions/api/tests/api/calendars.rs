//! Calendars, as operators write them and as jobs heed them.

use std::sync::Arc;
use std::time::Instant;

use futures_util::FutureExt as _;
use minutehand_domain::calendar::{AsSeen, CalendarName, CalendarVersion, Date, ExcludedDate, Rules};
use minutehand_domain::head::Head;
use minutehand_domain::schedule::cron::zone;
use minutehand_io::Ports as _;
use minutehand_io::store::Store as _;
use minutehand_protocol::calendar::change;
use serde_json::{Value, json};

use crate::world::{ACME_KEY, Answer, OTHER_KEY, World, acme};

fn holidays() -> Value {
    json!({"timezone": "America/New_York", "excluded_dates": [{"date": "2027-01-18", "reason": "Martin Luther King Day"}]})
}

async fn put(world: &World, name: &str, rules: Value) -> Value {
    let answer = world.put(&format!("/v1/calendars/{name}"), rules).await;
    assert!(answer.status.is_success(), "{}", answer.text);
    answer.json()
}

/// Each morning at nine, New York time.
fn mornings(on_excluded: &str) -> Value {
    json!({"cron": "0 9 * * *", "timezone": "America/New_York", "calendars": ["us-holidays"], "on_excluded": on_excluded})
}

async fn next(world: &World, job: &str, count: usize) -> Vec<Value> {
    let answer = world.get(&format!("/v1/jobs/{job}/next?count={count}")).await;
    answer.field("/fires").as_array().cloned().unwrap_or_default()
}

fn days(fires: &[Value]) -> Vec<&str> {
    fires.iter().map(|fire| &fire["effective_at"].as_str().unwrap()[..16]).collect()
}

#[tokio::test]
async fn a_calendar_is_made_shown_listed_changed_and_deleted() {
    let world = World::new();
    let made_at = world.now();

    let made = world.put("/v1/calendars/us-holidays", holidays()).await;
    let shown = world.get("/v1/calendars/us-holidays").await;
    let listed = world.get("/v1/calendars").await;
    let same = world.put("/v1/calendars/us-holidays", holidays()).await;
    let changed = world.put("/v1/calendars/us-holidays", json!({"business_days": ["MON"]})).await;
    let as_first_shown = ("If-Match", shown.header("etag"));
    let stale = world.with(as_first_shown, "PUT", "/v1/calendars/us-holidays", Some(holidays())).await;
    let gone = world.delete("/v1/calendars/us-holidays").await;

    assert_eq!((made.status.as_u16(), made.field("/calendar/generation")), (201, json!(1)), "{}", made.text);
    assert_eq!(shown.json(), made.field("/calendar"));
    assert_eq!(shown.headers["etag"], format!("\"1-{}\"", made_at.millis()));
    assert_eq!(listed.field("/items"), json!([shown.json()]));
    assert_eq!((same.status.as_u16(), same.field("/calendar/generation")), (200, json!(1)), "nothing was changed");
    assert_eq!((changed.status.as_u16(), changed.field("/calendar/generation")), (200, json!(2)), "{}", changed.text);
    assert_eq!(
        (changed.field("/calendar/business_days"), changed.field("/calendar/timezone")),
        (json!(["MON"]), json!("UTC"))
    );
    assert_eq!(stale.status, 412, "{}", stale.text);
    assert_eq!(gone.status, 204, "{}", gone.text);
    assert_eq!(world.get("/v1/calendars/us-holidays").await.status, 404);
    assert_eq!(world.delete("/v1/calendars/us-holidays").await.status, 404);
    assert_eq!(world.put("/v1/calendars/a.b", json!({})).await.status, 422);
}

/// One who has read the first of two calendars of one name has not read the second.
#[tokio::test]
async fn a_calendar_that_was_made_anew_is_not_the_one_that_was_seen() {
    let world = World::new();
    let path = "/v1/calendars/us-holidays";
    let first = world.put(path, holidays()).await;
    let as_seen = ("If-Match", first.header("etag"));
    world.delete(path).await;
    world.pass(1);
    let anew = world.put(path, json!({"business_days": ["MON"]})).await;

    let answers = [
        world.with(as_seen, "PUT", path, Some(holidays())).await,
        world.with(as_seen, "POST", &format!("{path}/import"), Some(json!({"ics": christmas()}))).await,
        world.with(as_seen, "DELETE", path, None).await,
    ];

    assert_eq!(answers.map(|answer| answer.status.as_u16()), [412; 3]);
    assert_eq!(world.get(path).await.json(), anew.field("/calendar"));
    let as_it_is = ("If-Match", anew.header("etag"));
    assert_eq!(world.with(as_it_is, "PUT", path, Some(holidays())).await.status, 200);
}

#[tokio::test]
async fn what_a_calendar_takes_is_skipped_or_moves_and_everybody_says_so() {
    let world = World::new();
    put(&world, "us-holidays", holidays()).await;
    let (skipping, moving) = (world.job(mornings("skip")).await, world.job(mornings("move")).await);

    let skipped = next(&world, &skipping, 5).await;
    let moved = next(&world, &moving, 5).await;
    let preview = world.post("/v1/schedules/preview", json!({"schedule": mornings("move"), "count": 5})).await;
    let fires = world.get("/v1/fires?to=2027-01-20T00:00:00Z").await;

    assert_eq!(
        days(&skipped),
        ["2027-01-15T14:00", "2027-01-16T14:00", "2027-01-17T14:00", "2027-01-19T14:00", "2027-01-20T14:00"]
    );
    assert_eq!(
        days(&moved),
        ["2027-01-15T14:00", "2027-01-16T14:00", "2027-01-17T14:00", "2027-01-19T05:00", "2027-01-19T14:00"]
    );
    assert_eq!((&moved[3]["at"], &moved[3]["note"]), (&json!("2027-01-18T14:00:00.000Z"), &json!("moved")));
    assert_eq!(preview.field("/fires"), json!(moved));
    let notes: Vec<_> =
        fires.field("/items").as_array().unwrap().iter().filter(|fire| fire["note"] == "moved").cloned().collect();
    assert_eq!((notes.len(), &notes[0]["job_id"]), (1, &json!(moving)));

    let why = |job: &str| format!("/v1/jobs/{job}/why?at=2027-01-18T14:00:00Z");
    let (of_skips, of_moves) = (world.get(&why(&skipping)).await, world.get(&why(&moving)).await);
    assert_eq!(
        (of_skips.field("/verdict"), of_skips.field("/rule")),
        (json!("not_an_occurrence"), json!("calendar")),
        "{}",
        of_skips.text
    );
    assert!(of_skips.word("/detail").contains("calendar us-holidays (Martin Luther King Day)"), "{}", of_skips.text);
    assert_eq!(
        (of_moves.field("/verdict"), of_moves.field("/rule")),
        (json!("will_fire"), json!("calendar")),
        "{}",
        of_moves.text
    );
    let job = world.get(&format!("/v1/jobs/{moving}")).await;
    assert_eq!(job.field("/schedule/calendars"), json!(["us-holidays"]));
    assert_eq!(job.field("/schedule/on_excluded"), json!("move"));
}

#[tokio::test]
async fn a_job_cannot_heed_what_is_not_there_or_leaves_it_nothing() {
    let world = World::new();
    put(&world, "weekends", json!({"business_days": ["SAT", "SUN"]})).await;
    let naming =
        |calendars: Value| json!({"schedule": {"cron": "0 9 * * MON", "calendars": calendars}, "target": {"noop": {}}});
    let pointer = |answer: &Answer| (answer.status.as_u16(), answer.field("/errors/0/pointer"));

    let unknown = world.post("/v1/jobs", naming(json!(["weekends", "weekdays"]))).await;
    let nothing = world.post("/v1/jobs", naming(json!(["weekends"]))).await;
    let twice = world.post("/v1/jobs", naming(json!(["weekends", "weekends"]))).await;
    let many = world.post("/v1/jobs", naming(json!(["a", "b", "c", "d", "e", "f", "g", "h", "i"]))).await;
    let once = json!({"schedule": {"at": "2027-02-01T09:00:00Z", "calendars": ["weekends"]}, "target": {"noop": {}}});
    let once = world.post("/v1/jobs", once).await;
    let job = world.job(json!({"cron": "0 9 * * *"})).await;
    let patched = world.patch(&format!("/v1/jobs/{job}"), json!({"schedule": {"calendars": ["none"]}})).await;
    let tasks = json!([{"key": "a", "target": {"noop": {}}}]);
    let schedule = json!({"cron": "0 9 * * *", "calendars": ["none"]});
    let workflow = world.post("/v1/workflows", json!({"name": "w", "tasks": tasks, "schedule": schedule})).await;
    let preview = world.post("/v1/schedules/preview", json!({"schedule": schedule})).await;

    assert_eq!(pointer(&unknown), (422, json!("/schedule/calendars/1")), "{}", unknown.text);
    assert_eq!(pointer(&nothing), (422, json!("/schedule/calendars")), "{}", nothing.text);
    assert!(nothing.text.contains("weekends (MON is no business day)"), "{}", nothing.text);
    assert_eq!(pointer(&twice), (422, json!("/schedule/calendars")), "{}", twice.text);
    assert_eq!(pointer(&many), (422, json!("/schedule/calendars")), "{}", many.text);
    assert_eq!(pointer(&once), (422, json!("/schedule/calendars")), "{}", once.text);
    for refused in [patched, workflow, preview] {
        assert_eq!(pointer(&refused), (422, json!("/schedule/calendars/0")), "{}", refused.text);
    }
}

/// Removed: that `false` asks for nothing. The calendars were gone without a word, and the job began on holidays.
#[tokio::test]
async fn a_change_that_says_it_is_not_on_demand_leaves_a_job_its_calendars() {
    let world = World::new();
    put(&world, "us-holidays", holidays()).await;
    let id = world.job(mornings("move")).await;

    let changed = json!({"schedule": {"cron": "0 3 * * *", "on_demand": false}});
    let changed = world.patch(&format!("/v1/jobs/{id}"), changed).await;

    let schedule = |field: &str| changed.field(&format!("/schedule/{field}"));
    assert_eq!(schedule("cron"), "0 3 * * *", "{}", changed.text);
    assert_eq!((schedule("calendars"), schedule("on_excluded")), (json!(["us-holidays"]), json!("move")));
}

#[tokio::test]
async fn a_change_reaches_the_jobs_that_heed_the_calendar_and_is_asked_first_what_it_touches() {
    let world = World::new();
    put(&world, "us-holidays", holidays()).await;
    let (skips, moves) = (world.job(mornings("skip")).await, world.job(mornings("move")).await);
    let wider =
        json!({"timezone": "America/New_York", "excluded_dates": [{"date": "2027-01-18"}, {"date": "2027-01-19"}]});

    let asked = world.put("/v1/calendars/us-holidays?dry_run=true", wider.clone()).await;
    let before = next(&world, &skips, 4).await;
    let changed = world.put("/v1/calendars/us-holidays", wider).await;

    let touches = asked.field("/touches");
    assert_eq!(
        (&touches["jobs"], &touches["jobs_touched"], &touches["complete"]),
        (&json!(2), &json!(2), &json!(true)),
        "{touches}"
    );
    assert_eq!(
        (&touches["skipped"], &touches["added"], &touches["moved"]),
        (&json!(2), &json!(0), &json!(1)),
        "{touches}"
    );
    assert_eq!(asked.field("/calendar"), Value::Null);
    assert_eq!(days(&before)[3], "2027-01-19T14:00", "nothing was changed by asking");
    assert_eq!((changed.field("/jobs_changed"), changed.field("/calendar/under_way")), (json!(2), json!(false)));
    assert_eq!(days(&next(&world, &skips, 4).await)[3], "2027-01-20T14:00");
    assert_eq!(days(&next(&world, &moves, 4).await)[3], "2027-01-20T05:00");
    let shown = world.get(&format!("/v1/jobs/{moves}")).await;
    assert_eq!(shown.field("/generation"), json!(2), "it was changed as by its owner");
}

/// Removed: who looks for what a job fires looks on for ever, until no patience is left for any of them. It was said that nothing would be
/// touched.
#[tokio::test]
async fn a_change_that_leaves_a_job_nothing_is_said_to_touch_each_of_its_fires() {
    let world = World::new();
    put(&world, "us-holidays", json!({"timezone": "America/New_York"})).await;
    let jobs = [world.job(mornings("skip")).await, world.job(mornings("move")).await];
    let at_noon = json!({"timezone": "America/New_York", "allowed_times": [{"from": "12:00", "to": "13:00"}]});

    let asked = world.put("/v1/calendars/us-holidays?dry_run=true", at_noon.clone()).await;
    world.put("/v1/calendars/us-holidays", at_noon).await;
    let back = world.put("/v1/calendars/us-holidays?dry_run=true", json!({"timezone": "America/New_York"})).await;

    let counted = |answer: &Answer| {
        ["jobs_touched", "skipped", "moved", "added", "complete"]
            .map(|field| answer.field(&format!("/touches/{field}")))
    };
    assert_eq!(counted(&asked), [json!(2), json!(30), json!(30), json!(0), json!(true)], "{}", asked.text);
    assert_eq!(counted(&back), [json!(2), json!(0), json!(30), json!(30), json!(true)], "{}", back.text);
    assert_eq!(world.get(&format!("/v1/jobs/{}", jobs[0])).await.word("/status"), "completed");
}

#[tokio::test]
async fn a_calendar_that_jobs_heed_goes_only_by_force_and_they_go_on_without_it() {
    let world = World::new();
    put(&world, "us-holidays", holidays()).await;
    put(&world, "other", json!({"business_days": ["MON", "TUE", "WED", "THU", "FRI"]})).await;
    let job = world.job(json!({"cron": "0 14 * * *", "calendars": ["us-holidays", "other"]})).await;

    let refused = world.delete("/v1/calendars/us-holidays").await;
    let asked = world.delete("/v1/calendars/us-holidays?dry_run=true").await;
    let still = world.get("/v1/calendars/us-holidays").await;
    let gone = world.delete("/v1/calendars/us-holidays?force=true").await;

    assert_eq!(refused.status, 409, "{}", refused.text);
    assert!(refused.text.contains("1 job heeds it"), "{}", refused.text);
    assert_eq!((asked.status.as_u16(), asked.field("/touches/added")), (200, json!(1)), "{}", asked.text);
    assert_eq!(still.status, 200);
    assert_eq!(gone.status, 204, "{}", gone.text);
    let shown = world.get(&format!("/v1/jobs/{job}")).await;
    assert_eq!(shown.field("/schedule/calendars"), json!(["other"]));
    assert_eq!(days(&next(&world, &job, 2).await), ["2027-01-15T14:00", "2027-01-18T14:00"]);
    world.delete(&format!("/v1/jobs/{job}")).await;
    assert_eq!(world.delete("/v1/calendars/other").await.status, 204, "a deleted job holds nothing up");
}

#[tokio::test]
async fn an_ics_file_is_taken_among_the_dates_and_what_is_not_understood_is_told_of() {
    let world = World::new();
    put(&world, "us-holidays", holidays()).await;
    let ics = "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20271225\r\nRRULE:FREQ=YEARLY\r\nSUMMARY:Christmas\r\nEND:VEVENT\r\n\
               BEGIN:VEVENT\r\nDTSTART:20270101T100000Z\r\nSUMMARY:Brunch\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n";

    let asked = world.post("/v1/calendars/us-holidays/import?dry_run=true", json!({"ics": ics})).await;
    let imported = world.post("/v1/calendars/us-holidays/import", json!({"ics": ics})).await;
    let fresh = world.post("/v1/calendars/new/import", json!({"ics": ics, "timezone": "Europe/Paris"})).await;
    let broken = world.post("/v1/calendars/new/import", json!({"ics": "hello"})).await;
    let replaced = world.post("/v1/calendars/us-holidays/import", json!({"ics": ics, "replace": true})).await;

    let dates =
        json!([{"date": "2027-01-18", "reason": "Martin Luther King Day"}, {"date": "--12-25", "reason": "Christmas"}]);
    assert_eq!(imported.field("/calendar/excluded_dates"), dates, "{}", imported.text);
    assert_eq!(imported.field("/passed_over"), json!([{"event": "Brunch", "why": "it is not of whole days"}]));
    assert_eq!((asked.field("/passed_over"), asked.field("/dry_run")), (imported.field("/passed_over"), json!(true)));
    assert_eq!(
        (fresh.status.as_u16(), fresh.field("/calendar/timezone")),
        (201, json!("Europe/Paris")),
        "{}",
        fresh.text
    );
    assert_eq!((broken.status.as_u16(), broken.field("/errors/0/pointer")), (422, json!("/ics")), "{}", broken.text);
    assert_eq!(replaced.field("/calendar/excluded_dates"), json!([{"date": "--12-25", "reason": "Christmas"}]));
}

/// Removed: who had seen no calendar wrote over whatever was there by then. Of the two files that made it, the dates of one were lost.
#[tokio::test]
async fn of_two_files_that_are_imported_at_once_the_dates_of_both_stand() {
    let world = World::new();
    let both = json!([{"date": "2027-07-04", "reason": "theirs"}, {"date": "--12-25", "reason": "Christmas"}]);

    meanwhile_dated(&world, "new", "2027-07-04");
    let made = world.post("/v1/calendars/new/import", json!({"ics": christmas()})).await;
    put(&world, "old", holidays()).await;
    meanwhile_dated(&world, "old", "2027-07-04");
    let laid_over = world.post("/v1/calendars/old/import", json!({"ics": christmas()})).await;

    assert_eq!((made.status.as_u16(), made.field("/calendar/excluded_dates")), (200, both.clone()), "{}", made.text);
    assert_eq!((laid_over.status.as_u16(), laid_over.field("/calendar/excluded_dates")), (200, both));
}

/// Who names the version that a file is to be laid over is told that it is another.
#[tokio::test]
async fn a_file_is_laid_over_the_version_that_was_named_and_no_other() {
    let world = World::new();
    put(&world, "old", holidays()).await;
    let seen = world.get("/v1/calendars/old").await;

    meanwhile_dated(&world, "old", "2027-07-04");
    let import = Some(json!({"ics": christmas()}));
    let as_seen = ("If-Match", seen.header("etag"));
    let refused = world.with(as_seen, "POST", "/v1/calendars/old/import", import).await;

    assert_eq!(refused.status, 412, "{}", refused.text);
    let shown = world.get("/v1/calendars/old").await;
    assert_eq!(shown.field("/excluded_dates"), json!([{"date": "2027-07-04", "reason": "theirs"}]));
}

fn christmas() -> &'static str {
    "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nDTSTART;VALUE=DATE:20271225\r\nRRULE:FREQ=YEARLY\r\nSUMMARY:Christmas\r\nEND:VEVENT\r\n\
     END:VCALENDAR\r\n"
}

/// Somebody else lets a calendar have one date and nothing else, when the next act has been decided on.
fn meanwhile_dated(world: &World, name: &str, date: &str) {
    let (ports, name) = (Arc::clone(&world.ports), name.parse::<CalendarName>().unwrap());
    let dates = vec![ExcludedDate { date: Date::parse(date).unwrap(), reason: Some("theirs".to_owned()) }];
    let rules = Rules { dates, ..Rules::none(zone("UTC").unwrap()) };
    world.ports.chance.before_the_next_act(move || {
        let put = change::put(&*ports, &acme(), &name, &rules, AsSeen::Any).now_or_never();
        put.expect("a store in memory lets nobody wait").unwrap();
    });
}

#[tokio::test]
async fn a_tenant_sees_nothing_of_anothers_calendars_and_cannot_name_them() {
    let world = World::new();
    put(&world, "us-holidays", holidays()).await;

    let shown = world.by(OTHER_KEY, "GET", "/v1/calendars/us-holidays", None).await;
    let listed = world.by(OTHER_KEY, "GET", "/v1/calendars", None).await;
    let named = json!({"schedule": mornings("skip"), "target": {"noop": {}}});
    let named = world.by(OTHER_KEY, "POST", "/v1/jobs", Some(named)).await;

    assert_eq!((shown.status.as_u16(), listed.field("/items"), named.status.as_u16()), (404, json!([]), 422));
    assert_eq!(world.by(ACME_KEY, "GET", "/v1/calendars/us-holidays", None).await.status, 200);
}

/// Eight calendars that take all but a minute of the week between them: however many are asked for, somebody looks for a moment.
#[tokio::test]
async fn a_preview_of_calendars_that_leave_nearly_nothing_is_cheap() {
    let world = World::new();
    let mut names = Vec::new();
    for number in 0..8_u32 {
        let times: Vec<_> = (0..30)
            .filter(|slice| (slice, number) != (&0, 0))
            .map(|slice| {
                let from = (slice * 8 + number) * 6;
                let text = |minute: u32| format!("{:02}:{:02}", minute / 60, minute % 60);
                json!({"from": text(from), "to": text((from + 6).min(1440))})
            })
            .collect();
        put(&world, &format!("c{number}"), json!({"excluded_times": times, "timezone": "America/New_York"})).await;
        names.push(format!("c{number}"));
    }
    let schedule = json!({"cron": "3 5 * * *", "timezone": "America/New_York", "calendars": names});
    let some = json!({"cron": "3 0 * * MON", "timezone": "America/New_York", "calendars": names});
    let began = Instant::now();

    let refused = world.post("/v1/jobs", json!({"schedule": schedule, "target": {"noop": {}}})).await;
    let preview = world.post("/v1/schedules/preview", json!({"schedule": some, "count": 1000})).await;
    let minutes = json!({"cron": "* * * * *", "timezone": "America/New_York", "calendars": names});
    let minutes = world.post("/v1/schedules/preview", json!({"schedule": minutes, "count": 1000})).await;

    assert_eq!(refused.status, 422, "{}", refused.text);
    assert_eq!(preview.field("/fires").as_array().unwrap().len(), 1000, "{}", preview.text);
    assert_eq!(minutes.field("/exhausted"), json!(false), "it does not say that there are none");
    assert!(!minutes.field("/fires").as_array().unwrap().is_empty());
    assert!(began.elapsed().as_secs() < 20, "{:?} in a build without optimization", began.elapsed());
}

/// Removed: such a job is left out. No list of its tenant was answered, nor could another job be made where there is a quota of jobs.
#[tokio::test]
async fn a_job_whose_calendar_cannot_be_read_keeps_no_list_from_those_beside_it() {
    let world = World::new();
    put(&world, "us-holidays", holidays()).await;
    let mut made = Vec::new();
    for schedule in [mornings("skip"), json!({"cron": "0 9 * * *"}), json!({"cron": "0 10 * * *"})] {
        let job = json!({"target": {"noop": {}}, "schedule": schedule});
        made.push(world.post("/v1/jobs", job).await.word("/job_id"));
    }
    pin_to_what_is_not_there(&world, &made[0]).await;

    let mut listed = Vec::new();
    let mut page = world.get("/v1/jobs?limit=1").await.json();
    loop {
        listed.extend(page["items"].as_array().unwrap().iter().map(|job| job["job_id"].as_str().unwrap().to_owned()));
        let Some(cursor) = page["next_cursor"].as_str() else { break };
        page = world.get(&format!("/v1/jobs?limit=1&cursor={cursor}")).await.json();
    }
    listed.sort();
    made[1..].sort();

    assert_eq!(listed, made[1..]);
    for path in ["/v1/stats", "/v1/fires"] {
        assert_eq!(world.get(path).await.status, 200, "{path}");
    }
    world.put("/v1/quotas/acme", json!({"max_jobs": 10})).await;
    let more = world.post("/v1/jobs", json!({"target": {"noop": {}}, "schedule": {"cron": "0 11 * * *"}})).await;
    assert_eq!(more.status, 201, "{}", more.text);
}

/// The job heeds a version of its calendar of which nothing is kept.
async fn pin_to_what_is_not_there(world: &World, job: &str) {
    let store = world.ports.store();
    let seen = store.get::<Head>(&acme(), job.parse().unwrap()).await.unwrap().unwrap();
    let guard = seen.guard();
    let mut job = seen.item.into_job().unwrap();
    for heeded in &mut job.schedule.observance.as_mut().unwrap().calendars {
        (heeded.version, heeded.known) = (Some(CalendarVersion::of(b"gone")), None);
    }
    assert!(store.put(&acme(), job.id, &Head::Job(job), guard).await.unwrap().is_written());
}
