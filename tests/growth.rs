//! What is pruned is given back to the disk.

use shared::store::outbox::prune;
use watchalert_tests::world::World;

#[test]
fn pages_that_nothing_is_in_any_more_are_given_back() {
    let world = World::new();
    let text = "x".repeat(4_000);
    let stranger = world.stranger();
    stranger.execute_batch("BEGIN").expect("free");
    for _ in 0..1_000 {
        let row = "INSERT INTO outbox(chat_id,payload,next_attempt,created_at) VALUES('1',json_object('text',?1),0,0)";
        stranger.execute(row, [&text]).expect("enqueued");
    }
    stranger
        .execute_batch("UPDATE outbox SET state='cancelled',updated_at=0; COMMIT")
        .expect("discarded");
    let pages = || -> i64 {
        let count = world
            .stranger()
            .pragma_query_value(None, "page_count", |row| row.get(0));
        count.expect("a count")
    };
    let full = pages();
    let now = world.clock.now();
    while world
        .write(move |db| prune::prune(db, now))
        .expect("pruned")
        > 0
    {}
    assert!(pages() >= full, "pruning alone gives nothing back");
    let shrink = || world.block_on(world.store.shrink()).expect("shrunk");
    while shrink() > 0 {}
    assert!(pages() * 4 < full, "{} of {full}", pages());
    world.all_invariants_hold();
}
