//! Keys: made, shown once, listed, rotated, revoked; and what each opens.

use std::sync::Arc;

use minutehand_domain::access::{ApiKey, KeyId};
use minutehand_domain::id::Tenant;
use minutehand_io::Ports as _;
use minutehand_io::store::Store as _;
use serde_json::{Value, json};

use crate::world::{ACME_KEY, Answer, OTHER_KEY, World, acme, at, other, pages};

async fn made(world: &World, role: &str) -> Answer {
    let answer = world.post("/v1/keys", json!({"name": "ci", "role": role})).await;
    assert_eq!(answer.status, 201, "{}", answer.text);
    answer
}

async fn opens(world: &World, key: &str) -> bool {
    let answer = world.by(key, "GET", "/v1/jobs", None).await;
    if answer.status == 200 {
        return true;
    }
    answer.problem(401, "unauthorized");
    false
}

async fn stored(world: &World, tenant: &Tenant, id: &str) -> ApiKey {
    world.ports.store().get::<ApiKey>(tenant, id.parse().unwrap()).await.unwrap().unwrap().item
}

fn secret_part(text: &str) -> &str {
    text.rsplit('_').next().unwrap()
}

#[tokio::test]
async fn a_key_is_made_and_opens_in_its_role() {
    let world = World::new();

    let answer = made(&world, "operator").await;

    let (id, secret) = (answer.word("/key_id"), answer.word("/secret"));
    assert_eq!(answer.header("location"), format!("/v1/keys/{id}"));
    assert_eq!(
        answer.json(),
        json!({
            "key_id": id, "name": "ci", "role": "operator", "tenant": "acme", "created_at": at(0), "revoked_at": null,
            "expires_at": null, "last_used_at": null, "secret": secret,
        })
    );
    assert_eq!(secret, format!("mh_acme_{}_{}", id.trim_start_matches("key_"), secret_part(&secret)));
    let job = world.by(&secret, "POST", "/v1/jobs", Some(json!({"target": {"noop": {}}}))).await;
    assert_eq!(job.status, 201);
    assert_eq!(world.get(job.header("location")).await.status, 200, "it is the tenant's");
    world.by(&secret, "POST", "/v1/keys", Some(json!({"name": "x", "role": "viewer"}))).await.problem(403, "forbidden");
}

#[tokio::test]
async fn two_keys_have_nothing_in_common() {
    let world = World::new();

    let (one, two) = (made(&world, "viewer").await, made(&world, "viewer").await);

    assert_ne!(one.word("/key_id"), two.word("/key_id"));
    assert_ne!(secret_part(&one.word("/secret")), secret_part(&two.word("/secret")));
    assert!(secret_part(&one.word("/secret")).len() >= 26, "sixteen bytes of chance");
}

#[tokio::test]
async fn a_secret_is_shown_once_and_kept_nowhere() {
    let world = World::new();
    let answer = made(&world, "admin").await;
    let (id, text) = (answer.word("/key_id"), answer.word("/secret"));
    let secret = secret_part(&text);

    let list = world.get("/v1/keys").await;
    let again = world.tell(&format!("/v1/keys/{id}/rotate")).await;
    let refused = world.by(&text.replace("mh_acme", "mh_other"), "GET", "/v1/jobs", None).await;
    let kept = stored(&world, &acme(), &id).await;

    assert!(list.field("/items/0").get("secret").is_none());
    assert_ne!(again.word("/secret"), text);
    for told in [list.text, again.text, refused.text, format!("{kept:?}"), kept.secret.to_string()] {
        assert!(!told.contains(secret), "{told}");
    }
    let hash = kept.secret.to_string();
    assert!(!format!("{kept:?}").contains(&hash), "not even its hash is written into a log");
}

#[tokio::test]
async fn keys_are_listed_in_the_order_they_were_made() {
    let world = World::new();
    assert_eq!(world.get("/v1/keys").await.json(), json!({"items": [], "next_cursor": null}));
    let mut ids = Vec::new();
    for _ in 0..5 {
        ids.push(made(&world, "viewer").await.field("/key_id"));
        world.pass(1);
    }
    world.delete(&format!("/v1/keys/{}", ids[1].as_str().unwrap())).await;

    let listed = pages(&world, "/v1/keys?limit=2", "key_id", async || {}).await;

    assert_eq!(listed.iter().map(Vec::len).collect::<Vec<_>>(), [2, 2, 1]);
    assert_eq!(listed.concat(), ids);
    let revoked = world.get("/v1/keys").await.items("revoked_at");
    assert_eq!(revoked, [Value::Null, json!(at(5)), Value::Null, Value::Null, Value::Null]);
    assert_eq!(world.get("/v1/keys?limit=0").await.problem(422, "invalid"), ["?limit"]);
    assert_eq!(world.get("/v1/keys?cursor=0").await.problem(422, "invalid"), ["?cursor"]);
    assert_eq!(world.get("/v1/keys?limt=1").await.problem(422, "invalid"), ["?limt"]);
}

#[tokio::test]
async fn a_revoked_key_opens_nothing_from_that_moment_on() {
    let world = World::new();
    let answer = made(&world, "viewer").await;
    let (path, secret) = (format!("/v1/keys/{}", answer.word("/key_id")), answer.word("/secret"));
    assert!(opens(&world, &secret).await);

    let revoked = world.delete(&path).await;
    world.pass(10);
    let again = world.delete(&path).await;

    assert_eq!((revoked.status.as_u16(), revoked.text.as_str(), again.status.as_u16()), (204, "", 204));
    assert!(!opens(&world, &secret).await);
    assert_eq!(world.get("/v1/keys").await.items("revoked_at"), [json!(at(0))], "revoking twice keeps the first time");
    world.tell(&format!("{path}/rotate")).await.problem(409, "conflict");
}

#[tokio::test]
async fn a_key_that_ends_opens_nothing_from_then_on_and_says_so() {
    let world = World::new();
    let key = json!({"name": "ci", "role": "viewer", "expires_at": at(60), "idempotency_key": "k"});
    let answer = world.post("/v1/keys", key.clone()).await;
    let (id, secret) = (answer.word("/key_id"), answer.word("/secret"));
    assert_eq!(answer.field("/expires_at"), at(60));
    world.pass(59);
    assert!(opens(&world, &secret).await);

    world.pass(1);
    let refused = world.by(&secret, "GET", "/v1/jobs", None).await;
    let stranger = world.by(&format!("{secret}x"), "GET", "/v1/jobs", None).await;

    refused.problem(401, "unauthorized");
    assert_eq!(refused.word("/detail"), format!("this key expired at {}", at(60)));
    assert_eq!(stranger.word("/detail"), "this key is not known here", "nobody else is told so much");
    world.tell(&format!("/v1/keys/{id}/rotate")).await.problem(409, "conflict");
    assert_eq!(world.get("/v1/keys").await.items("expires_at"), [json!(at(60))]);
    assert_eq!(world.post("/v1/keys", key).await.status, 200, "the same request is answered as before");
}

#[tokio::test]
async fn a_key_cannot_end_before_it_begins() {
    let world = World::new();
    for end in [at(0), "2020-01-01T00:00:00Z".to_owned()] {
        let refused = world.post("/v1/keys", json!({"name": "ci", "role": "viewer", "expires_at": end})).await;
        assert_eq!(refused.problem(422, "invalid"), ["/expires_at"]);
    }
}

/// What it costs: a write each hour in which it is used, and a read each hour and process.
#[tokio::test]
async fn a_key_knows_when_it_was_last_used_to_the_hour() {
    let world = World::new();
    let unused = made(&world, "viewer").await;
    world.pass(1);
    let answer = made(&world, "viewer").await;
    let secret = answer.word("/secret");
    let used = async || world.get("/v1/keys").await.items("last_used_at")[1].clone();
    assert_eq!(used().await, Value::Null);
    world.pass(59);

    assert!(opens(&world, &secret).await);
    assert_eq!(used().await, json!(at(60)));
    let before = world.ports.store().meter();
    for _ in 0..5 {
        world.pass(60);
        assert!(opens(&world, &secret).await);
    }
    let after = world.ports.store().meter();
    assert_eq!((used().await, after.writes - before.writes), (json!(at(60)), 0));
    world.pass(3600);
    assert!(opens(&world, &secret).await);

    assert_eq!(used().await, json!(at(60 + 300 + 3600)));
    assert_eq!(world.get("/v1/keys").await.items("last_used_at")[0], Value::Null, "{}", unused.text);
    let rotated = world.tell(&format!("/v1/keys/{}/rotate", answer.word("/key_id"))).await;
    assert_eq!(rotated.field("/last_used_at"), at(60 + 300 + 3600));
    assert!(!opens(&world, &format!("{secret}x")).await, "a wrong secret is no use");
}

#[tokio::test]
async fn a_rotated_key_opens_by_both_secrets_until_the_grace_ends() {
    let world = World::new();
    for (body, grace) in [(None, 3600), (Some(json!({})), 3600), (Some(json!({"grace_seconds": 60})), 60)] {
        let answer = made(&world, "viewer").await;
        let (id, old) = (answer.word("/key_id"), answer.word("/secret"));

        let rotated = world.by(ACME_KEY, "POST", &format!("/v1/keys/{id}/rotate"), body.clone()).await;

        let new = rotated.word("/secret");
        assert_eq!((rotated.status.as_u16(), rotated.field("/key_id")), (200, json!(id)));
        assert_eq!(rotated.field("/created_at"), answer.field("/created_at"));
        world.pass(grace - 1);
        assert!(opens(&world, &old).await && opens(&world, &new).await, "{body:?}");
        world.pass(1);
        assert!(!opens(&world, &old).await && opens(&world, &new).await, "{body:?}");
    }
}

#[tokio::test]
async fn without_grace_the_former_secret_ends_at_once() {
    let world = World::new();
    let answer = made(&world, "viewer").await;

    let path = format!("/v1/keys/{}/rotate", answer.word("/key_id"));
    let rotated = world.post(&path, json!({"grace_seconds": 0})).await;

    assert!(!opens(&world, &answer.word("/secret")).await && opens(&world, &rotated.word("/secret")).await);
}

#[tokio::test]
async fn a_rotation_in_need_takes_the_former_secret_with_it() {
    let world = World::new();
    let answer = made(&world, "viewer").await;
    let path = format!("/v1/keys/{}", answer.word("/key_id"));
    let rotated = world.post(&format!("{path}/rotate"), json!({"grace_seconds": 604_800})).await;

    world.delete(&path).await;

    assert!(!opens(&world, &answer.word("/secret")).await && !opens(&world, &rotated.word("/secret")).await);
}

#[tokio::test]
async fn an_impossible_key_names_its_field() {
    let world = World::new();
    for (body, pointer) in [
        (json!({"role": "viewer"}), "/name"),
        (json!({"name": "ci"}), "/role"),
        (json!({"name": "ci", "role": "host"}), "/role"),
        (json!({"name": "ci", "role": "owner"}), "/role"),
        (json!({"name": "", "role": "viewer"}), "/name"),
        (json!({"name": "x".repeat(201), "role": "viewer"}), "/name"),
        (json!({"name": "a\nb", "role": "viewer"}), "/name"),
        (json!({"name": "ci", "role": "viewer", "tenant": "Acme"}), "/tenant"),
        (json!({"name": "ci", "role": "viewer", "tenant": ""}), "/tenant"),
        (json!({"name": "ci", "role": "viewer", "secret": "mine"}), "/secret"),
        (json!({"name": "ci", "rol": "viewer"}), "/rol"),
    ] {
        assert_eq!(world.post("/v1/keys", body.clone()).await.problem(422, "invalid"), [pointer], "{body}");
    }
    world.tell("/v1/keys").await.problem(400, "malformed");
    let id = made(&world, "viewer").await.word("/key_id");
    for grace in [json!(604_801), json!(-1), json!(1.5), json!("1")] {
        let answer = world.post(&format!("/v1/keys/{id}/rotate"), json!({"grace_seconds": grace})).await;
        assert_eq!(answer.problem(422, "invalid"), ["/grace_seconds"], "{grace}");
    }
}

#[tokio::test]
async fn what_is_no_key_is_not_found() {
    let world = World::new();
    let theirs = world.by(OTHER_KEY, "POST", "/v1/keys", Some(json!({"name": "x", "role": "viewer"}))).await;
    let theirs = theirs.word("/key_id");
    let absent = KeyId::from_bytes([7; 10]).to_string();
    for id in ["key_x", &absent, &theirs, "..%2f..", &theirs.to_uppercase()] {
        world.delete(&format!("/v1/keys/{id}")).await.problem(404, "not-found");
        world.tell(&format!("/v1/keys/{id}/rotate")).await.problem(404, "not-found");
    }
    assert_eq!(world.by(OTHER_KEY, "GET", "/v1/keys", None).await.items("revoked_at"), [Value::Null]);
}

#[tokio::test]
async fn a_key_that_is_nearly_one_opens_nothing() {
    let world = World::new();
    let text = made(&world, "viewer").await.word("/secret");
    let (head, secret) = text.rsplit_once('_').unwrap();
    let last = if secret.ends_with('0') { "1" } else { "0" };
    let wrong = format!("{head}_{}{last}", &secret[..secret.len() - 1]);
    let shouted = text.to_uppercase();
    let longer = format!("{text}0");
    let of_another = text.replace("mh_acme_", "mh_other_");

    for key in [&wrong, &shouted, &longer, &of_another, head, "mh_acme", "mh_acme_", "mh___"] {
        if key != ACME_KEY {
            assert!(!opens(&world, key).await, "{key}");
        }
    }
    assert!(opens(&world, &text).await);
}

#[tokio::test]
async fn the_same_key_made_again_is_told_without_its_secret() {
    let world = World::new();
    let body = json!({"name": "ci", "role": "viewer", "idempotency_key": "k"});
    let first = world.post("/v1/keys", body.clone()).await;
    world.pass(10);

    let again = world.post("/v1/keys", body.clone()).await;
    let header = world.with(("idempotency-key", "k"), "POST", "/v1/keys", Some(body.clone())).await;
    let other_request = world.post("/v1/keys", json!({"name": "ci", "role": "admin", "idempotency_key": "k"})).await;
    let theirs = world.by(OTHER_KEY, "POST", "/v1/keys", Some(body)).await;

    assert_eq!((first.status.as_u16(), first.header("idempotency-replayed")), (201, ""));
    let mut expected = first.json();
    expected.as_object_mut().unwrap().remove("secret");
    for replay in [again, header] {
        assert_eq!((replay.status.as_u16(), replay.header("idempotency-replayed")), (200, "true"));
        assert_eq!(replay.json(), expected);
    }
    assert_eq!(other_request.problem(422, "idempotency-key-reused"), ["/idempotency_key"]);
    assert_eq!((theirs.status.as_u16(), theirs.field("/tenant")), (201, json!("other")));
    assert!(opens(&world, &first.word("/secret")).await && opens(&world, &theirs.word("/secret")).await);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_24_racing_makers_of_one_key_one_is_shown_its_secret() {
    let world = Arc::new(World::new());
    let body = json!({"name": "ci", "role": "viewer", "idempotency_key": "k"});
    let racing: Vec<_> = (0..24)
        .map(|_| {
            let (world, body) = (Arc::clone(&world), body.clone());
            tokio::spawn(async move { world.post("/v1/keys", body).await })
        })
        .collect();

    let mut secrets = Vec::new();
    for each in racing {
        let answer = each.await.unwrap();
        match answer.status.as_u16() {
            201 => secrets.push(answer.word("/secret")),
            _ => assert_eq!((answer.status.as_u16(), answer.header("idempotency-replayed")), (200, "true")),
        }
    }

    assert_eq!((secrets.len(), world.get("/v1/keys").await.items("key_id").len()), (1, 1));
    assert!(opens(&world, &secrets[0]).await);
}

/// A secret that is replaced before anybody has seen it would be shown for nothing: the second to come is told.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_racing_rotations_the_last_that_was_shown_opens_and_the_others_are_told() {
    let world = Arc::new(World::new());
    let key = made(&world, "viewer").await;
    let path = format!("/v1/keys/{}/rotate", key.word("/key_id"));
    let racing: Vec<_> = (0..8)
        .map(|_| {
            let (world, path) = (Arc::clone(&world), path.clone());
            tokio::spawn(async move { world.tell(&path).await })
        })
        .collect();

    let mut shown = vec![key.word("/secret")];
    for each in racing {
        let answer = each.await.unwrap();
        match answer.status.as_u16() {
            200 => shown.push(answer.word("/secret")),
            _ => drop(answer.problem(409, "conflict")),
        }
    }

    let mut opening = 0;
    for secret in &shown {
        opening += u32::from(opens(&world, secret).await);
    }
    assert!(shown.len() >= 2);
    assert_eq!(opening, 2, "the last one and, for its grace, the one before it");
}

#[tokio::test]
async fn the_deployments_key_speaks_of_every_tenant() {
    let world = World::new();
    let body = json!({"name": "first", "role": "admin", "tenant": "other"});

    let theirs = world.post("/v1/keys", body.clone()).await;
    let path = format!("/v1/keys/{}", theirs.word("/key_id"));

    assert_eq!((theirs.status.as_u16(), theirs.field("/tenant")), (201, json!("other")));
    assert!(
        stored(&world, &other(), &theirs.word("/key_id"))
            .await
            .opens(secret_part(&theirs.word("/secret")), world.now())
    );
    assert_eq!(world.get("/v1/keys").await.field("/items"), json!([]));
    assert_eq!(world.get("/v1/keys?tenant=other").await.items("key_id"), [theirs.field("/key_id")]);
    assert_eq!(world.by(OTHER_KEY, "GET", "/v1/keys", None).await.items("key_id"), [theirs.field("/key_id")]);
    world.delete(&path).await.problem(404, "not-found");
    let rotated = world.tell(&format!("{path}/rotate?tenant=other")).await;
    assert!(opens(&world, &rotated.word("/secret")).await);
    assert_eq!(world.delete(&format!("{path}?tenant=other")).await.status, 204);
    assert!(!opens(&world, &rotated.word("/secret")).await);
    let keyed = json!({"name": "a", "role": "viewer", "idempotency_key": "k"});
    let mut for_them = keyed.clone();
    for_them["tenant"] = json!("other");
    let (ours, theirs) = (world.post("/v1/keys", keyed).await, world.post("/v1/keys", for_them).await);
    assert_eq!((ours.status.as_u16(), theirs.status.as_u16()), (201, 201), "one idempotency key in two tenants");
    for (method, path) in [("GET", "/v1/keys?tenant=Acme"), ("DELETE", &*format!("{path}?tenant=a%20b"))] {
        assert_eq!(world.by(ACME_KEY, method, path, None).await.problem(422, "invalid"), ["?tenant"]);
    }
}

#[tokio::test]
async fn nobody_else_names_a_tenant_not_even_their_own() {
    let world = World::new();
    let admin = world.by(OTHER_KEY, "POST", "/v1/keys", Some(json!({"name": "a", "role": "admin"}))).await;
    let (key, id) = (admin.word("/secret"), admin.word("/key_id"));
    for tenant in ["acme", "other", "default", "nobody"] {
        let body = json!({"name": "x", "role": "viewer", "tenant": tenant});
        for (method, path, body) in [
            ("POST", "/v1/keys".to_owned(), Some(body)),
            ("GET", format!("/v1/keys?tenant={tenant}"), None),
            ("DELETE", format!("/v1/keys/{id}?tenant={tenant}"), None),
            ("POST", format!("/v1/keys/{id}/rotate?tenant={tenant}"), None),
        ] {
            world.by(&key, method, &path, body).await.problem(403, "forbidden");
        }
    }
    assert!(opens(&world, &key).await);
}

#[tokio::test]
async fn the_keys_of_the_deployment_itself_are_not_listed() {
    let world = World::new();
    made(&world, "viewer").await;

    let list = world.get("/v1/keys").await;

    assert_eq!(list.items("name"), ["ci"]);
    assert!(!list.text.contains("deployment"));
}
