//! Effects: what a run does to the world outside is claimed before it is done, and told to whoever holds the run next.

use serde_json::{Value, json};

use crate::leases::Held;
use crate::world::{Answer, OTHER_KEY, World};

impl World {
    /// What the holder says of an effect of its run.
    async fn effect(&self, held: &Held, key: &str, more: Value) -> Answer {
        let mut request = json!({"key": key, "token": held.0["token"]});
        let (Value::Object(fields), Value::Object(more)) = (&mut request, more) else { panic!("objects") };
        fields.extend(more);
        self.post(&format!("/v1/runs/{}/effects", held.run()), request).await
    }
}

/// Removed: whoever claims is the first. The next holder charged the card a second time.
#[tokio::test]
async fn the_first_claim_of_an_effect_wins_and_the_next_holder_is_told_what_came_of_it() {
    let world = World::new();
    let run = world.ready(json!({"timeout_seconds": 3600})).await;
    let first = world.taken().await;
    let claimed = world.effect(&first, "charge:7", json!({})).await;
    world.effect(&first, "mail", json!({})).await;
    let said = world.effect(&first, "charge:7", json!({"outcome": {"id": "ch_1"}})).await;
    world.pass(120);
    world.offer().await;
    let second = world.taken().await;

    let charged = world.effect(&second, "charge:7", json!({})).await;
    let mailed = world.effect(&second, "mail", json!({})).await;
    let late = world.effect(&first, "charge:8", json!({})).await;

    assert_eq!(
        (claimed.status.as_u16(), claimed.field("/first"), claimed.field("/attempt")),
        (201, json!(true), json!(1))
    );
    assert_eq!((said.status.as_u16(), said.field("/first")), (200, json!(false)));
    assert_eq!(
        (charged.status.as_u16(), charged.field("/first"), charged.field("/outcome/id")),
        (200, json!(false), json!("ch_1"))
    );
    assert_eq!(
        (mailed.field("/first"), mailed.field("/outcome"), mailed.field("/prevented")),
        (json!(false), Value::Null, json!(1))
    );
    late.problem(409, "conflict");
    let listed = world.get(&format!("/v1/runs/{run}/effects")).await.listed("items");
    let told: Vec<Value> = listed.iter().map(|one| json!([one["key"], one["attempt"], one["prevented"]])).collect();
    assert_eq!(told, [json!(["charge:7", 1, 1]), json!(["mail", 1, 1])]);
}

#[tokio::test]
async fn a_claim_that_is_sent_again_is_the_same_claim() {
    let world = World::new();
    world.ready(json!({})).await;
    let held = world.taken().await;
    let path = format!("/v1/runs/{}/effects/charge", held.run());
    let claim = async |key: &'static str| {
        world.with(("idempotency-key", key), "POST", &path, Some(json!({"token": held.0["token"]}))).await
    };

    let answers = [claim("a").await, claim("a").await, claim("b").await];

    assert_eq!(
        answers.map(|answer| (answer.status.as_u16(), answer.field("/first"))),
        [(201, json!(true)), (201, json!(true)), (200, json!(false)),]
    );
}

#[tokio::test]
async fn of_an_effect_only_what_was_claimed_is_told_and_told_once() {
    let world = World::new();
    world.ready(json!({})).await;
    let held = world.taken().await;
    let tell = async |outcome: Value| world.effect(&held, "charge", json!({"outcome": outcome})).await;

    tell(json!(1)).await.problem(409, "conflict");
    world.effect(&held, "charge", json!({})).await;
    assert_eq!(tell(json!({"a": 1})).await.status, 200);
    assert_eq!(tell(json!({"a": 1})).await.status, 200, "the same once more");
    tell(json!(2)).await.problem(409, "conflict");
    tell(json!("x".repeat(20_000))).await.problem(413, "too-large");
    world.post(&format!("/v1/runs/{}/effects", held.run()), json!({"key": "charge"})).await.problem(422, "invalid");
    let nameless = world.post(&format!("/v1/runs/{}/effects", held.run()), json!({"token": held.0["token"]})).await;
    assert_eq!(nameless.problem(422, "invalid"), ["/key"]);
    assert_eq!(world.effect(&held, "two words", json!({})).await.problem(422, "invalid"), ["/key"]);

    world.say(&held, "complete", json!({})).await;
    let over = world.effect(&held, "mail", json!({})).await;
    assert!(over.text.contains("the run is over"), "{}", over.text);
}

/// Removed: keys that no path can name are refused of a path. An HTTP API of AWS hands on a path that it has decoded, and cuts it at `?`: two effects were one,
/// and the second was never made.
#[tokio::test]
async fn a_path_names_an_effect_whose_key_gateways_let_alone() {
    let world = World::new();
    let run = world.ready(json!({})).await;
    let held = world.taken().await;
    let by_path = async |key: &str, more: Value| {
        let mut request = json!({"token": held.0["token"]});
        if let Value::Object(more) = more {
            request.as_object_mut().expect("an object").extend(more);
        }
        world.post(&format!("/v1/runs/{run}/effects/{key}"), request).await
    };

    for key in ["a%2Fb", "mail%3Fto=a", "100%25", "a%5Cb", "%2E%2E"] {
        let refused = by_path(key, json!({})).await;
        refused.problem(422, "invalid");
        assert!(refused.word("/detail").contains("say it as `key`"), "{key}");
    }
    by_path("two%20words", json!({})).await.problem(404, "not-found");
    by_path("charge:7", json!({"key": "charge:7"})).await.problem(422, "invalid");

    let claimed = [by_path("charge:7", json!({})).await, world.effect(&held, "charge:7", json!({})).await];
    let both = ["mail?to=a", "mail?to=b"];
    let first = [world.effect(&held, both[0], json!({})).await, world.effect(&held, both[1], json!({})).await];

    assert_eq!(claimed.map(|answer| answer.field("/first")), [json!(true), json!(false)]);
    assert_eq!(first.map(|answer| answer.field("/first")), [json!(true), json!(true)]);
}

#[tokio::test]
async fn effects_are_nobody_elses() {
    let world = World::new();
    let run = world.ready(json!({})).await;
    let held = world.taken().await;
    world.effect(&held, "charge", json!({})).await;

    let token = json!({"token": held.0["token"]});
    world.by(OTHER_KEY, "POST", &format!("/v1/runs/{run}/effects/mail"), Some(token)).await.problem(404, "not-found");
    world.by(OTHER_KEY, "GET", &format!("/v1/runs/{run}/effects"), None).await.problem(404, "not-found");
    let stolen = json!({"token": "mt_00000000000000000000000000"});
    world.post(&format!("/v1/runs/{run}/effects/mail"), stolen).await.problem(409, "conflict");
    assert_eq!(world.get(&format!("/v1/runs/{run}/effects")).await.listed("items").len(), 1);
}

#[tokio::test]
async fn many_effects_are_listed_page_by_page() {
    let world = World::new();
    let run = world.ready(json!({})).await;
    let held = world.taken().await;
    for number in 0..5 {
        world.effect(&held, &format!("mail-{number}"), json!({})).await;
    }

    let first = world.get(&format!("/v1/runs/{run}/effects?limit=3")).await;
    let cursor = first.word("/next_cursor");
    let second = world.get(&format!("/v1/runs/{run}/effects?limit=3&cursor={cursor}")).await;

    assert_eq!((first.listed("items").len(), second.listed("items").len()), (3, 2));
    assert_eq!((second.word("/items/1/key"), second.field("/next_cursor")), ("mail-4".to_owned(), Value::Null));
}
