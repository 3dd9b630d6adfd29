//! A receiver's story: some deliveries are posted, and it is told to end. What it has answered with 2xx
//! is told once.

use super::{Account, Story, says_so, verified};
use crate::receiver::Scene;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::process::Command;
use watchalert_tests::failing::{Error, Fault, Library, On};
use watchalert_tests::programs::{BOUND, Ended, Place, Program, until};
use watchalert_tests::world::stranger;

const POSTS: usize = 6;

pub struct Receives;

pub struct Posted {
    scene: Scene,
    answered: RefCell<BTreeSet<usize>>,
}

impl Story for Receives {
    type Scene = Posted;

    fn scene(&self) -> Posted {
        Posted {
            scene: Scene::new(),
            answered: RefCell::default(),
        }
    }

    fn place(posted: &Posted) -> &Place {
        &posted.scene.place
    }

    fn play(&self, posted: &Posted, load: &dyn Fn(&mut Command)) -> Ended {
        let scene = &posted.scene;
        let mut command = scene.place.command(Program::Ingest, &["listen"]);
        load(&mut command);
        let mut receiver = scene.place.start(command);
        until("it listens, or has ended", || {
            !receiver.runs() || scene.is_open()
        });
        let mut answered = posted.answered.borrow_mut();
        answered.extend((0..POSTS).filter(|number| scene.post(*number)));
        // What a slow disk has sent there too is taken in.
        until("the spool is empty, or it says why not", || {
            let said = receiver.said();
            !receiver.runs()
                || scene.spooled() == 0
                || said.contains(" WARN ")
                || said.contains(" ERROR ")
        });
        if receiver.runs() {
            receiver.terminate();
        }
        let ended = receiver.ended(BOUND);
        // What did not go where it belongs is said.
        assert!(scene.spooled() == 0 || says_so(&ended), "{ended:#?}");
        ended
    }

    fn end(&self, posted: &Posted) -> Account {
        let place = &posted.scene.place;
        // A tick takes in what lies beside the database.
        place.run(Program::Ingest, &[]).well();
        let delivered = posted.scene.delivered();
        let answered = posted.answered.borrow();
        let lost: Vec<_> = answered.difference(&delivered).collect();
        assert!(lost.is_empty(), "answered and lost: {lost:?}");
        assert_eq!(posted.scene.spooled(), 0);
        verified(place);
        Account {
            accepted: answered.len(),
            ..Account::default()
        }
    }
}

/// The database is held, so it goes into a folder that is new. Should the power be cut, nobody knows of that
/// folder before the one above it is on the disk.
#[test]
fn a_delivery_whose_new_folder_may_not_last_is_not_answered_with_2xx() {
    let Some(library) = Library::compiled() else {
        return;
    };
    let posted = Receives.scene();
    let scene = &posted.scene;
    let holder = stranger(&scene.place.database());
    let mut command = scene.place.command(Program::Ingest, &["listen"]);
    let state = scene
        .place
        .path("state")
        .canonicalize()
        .expect("the folder");
    let first = Fault {
        on: On::Folder,
        with: Error::Io,
        at: 1,
        times: 1,
    };
    let met = library.load(&mut command, &state, &scene.place.path("."), first);
    let receiver = scene.place.start(command);
    until("it listens", || scene.is_open());
    holder.execute_batch("BEGIN IMMEDIATE").expect("held");
    assert!(!scene.post(1), "{:?}", met.failed());
    assert_eq!(met.failed(), ["fsync ."]);
    assert_eq!(scene.spooled(), 0);
    assert!(scene.post(2), "the disk is well again");
    holder.execute_batch("COMMIT").expect("let go");
    receiver.terminate();
    receiver.ended(BOUND).well();
    scene.place.run(Program::Ingest, &[]).well();
    // The first may come in late all the same: who gets no answer posts again, and that is known by its id.
    assert!(scene.told().contains(&2));
    verified(&scene.place);
}
