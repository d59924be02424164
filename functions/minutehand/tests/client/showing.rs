//! Showing: colours where somebody sees them, one document for machines, words for people.

use std::io::Read as _;

use serde_json::json;

use crate::command::{Here, client, run};

fn coloured(here: &Here, variables: &[(&str, &str)]) -> bool {
    let mut command = here.command(&["jobs", "list"]);
    command.envs(variables.iter().copied());
    run(command).stdout.contains('\u{1b}')
}

#[test]
fn colours_are_for_who_sees_them() {
    let here = Here::start();
    here.ok(&["jobs", "create", "--noop", "--on-demand"]);

    assert!(!coloured(&here, &[]), "this is no terminal");
    assert!(coloured(&here, &[("CLICOLOR_FORCE", "1")]));
    assert!(!coloured(&here, &[("CLICOLOR_FORCE", "0"), ("NO_COLOR", "1")]));
}

#[test]
fn a_table_has_a_row_for_each_job() {
    let here = Here::start();
    here.ok(&["jobs", "create", "--noop", "--every=90s", "--name=often"]);

    let list = here.ok(&["jobs", "list"]);

    let rows: Vec<Vec<&str>> = list.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(rows[0], ["JOB", "NAME", "STATUS", "SCHEDULE", "TARGET", "NEXT", "RUN"]);
    assert_eq!(rows[1][1..6], ["often", "active", "every", "1m30s", "noop"]);
    assert_eq!(rows.len(), 2);
}

/// Runs of weeks ago are looked for some days at a time. Removed: a table goes on behind a page that is empty. It said that there are no runs,
/// and that there are more.
#[test]
fn a_table_goes_on_behind_an_empty_page() {
    let here = Here::start();
    let asked = ["runs", "list", "--from=25d", "--to=1d", "--limit=2"];

    let table = here.ok(&asked);
    let page = here.json(&asked);

    assert_eq!((table.stdout.as_str(), table.stderr.as_str()), ("No runs.\n", ""));
    assert!(page["items"] == json!([]) && page["next_cursor"].is_string(), "{page}");
}

#[test]
fn a_preview_is_told_in_words_and_instants() {
    let here = Here::start();
    let ask = ["preview", "30 2 * * *", "--tz=America/New_York", "--from=2027-03-13T12:00:00Z", "--count=2"];

    let told = here.ok(&ask);
    let json = here.json(&ask);

    assert!(
        told.stdout.starts_with("at 02:30 every day, New York time; in the spring gap at 03:00\n\nLOCAL "),
        "{told:?}"
    );
    let shifted = told.stdout.lines().find(|line| line.contains("2027-03-14 07:00:00Z")).expect("the day of the gap");
    assert!(shifted.ends_with("shifted"), "{shifted}");
    assert_eq!(json["fires"][0]["at"], "2027-03-14T07:00:00.000Z");
}

#[test]
fn who_reads_only_the_beginning_is_no_failure() {
    let here = Here::start();
    here.ok(&["jobs", "create", "--noop", "--on-demand"]);
    let mut child = here.command(&["jobs", "list"]).spawn().expect("the binary under test");

    // As `| head` does it, only earlier: nobody reads at all.
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().expect("piped").read_to_string(&mut stderr).expect("UTF-8");

    assert_eq!((child.wait().expect("it ends").code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn a_completion_knows_every_command() {
    for shell in ["bash", "zsh", "fish"] {
        let script = run(client("http://127.0.0.1:1", &["completion", shell]));
        assert_eq!(script.code, 0, "{script:?}");
        for word in ["jobs", "signing-secret", "idempotency-key"] {
            assert!(script.stdout.contains(word), "{word} in {shell}");
        }
    }
}
