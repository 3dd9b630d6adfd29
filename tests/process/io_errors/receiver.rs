//! A receiver's story: some deliveries are posted, and it is told to end. What it has answered with 2xx
//! is told once.

use super::{Story, says_so, verified};
use crate::receiver::Scene;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::process::Command;
use watchalert_tests::programs::{BOUND, Ended, Place, Program, until};

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
        if receiver.runs() {
            receiver.terminate();
        }
        let ended = receiver.ended(BOUND);
        // What did not go where it belongs is said.
        assert!(scene.spooled() == 0 || says_so(&ended), "{ended:#?}");
        ended
    }

    fn end(&self, posted: &Posted) -> usize {
        let place = &posted.scene.place;
        // A tick takes in what lies beside the database.
        place.run(Program::Ingest, &[]).well();
        let told = posted.scene.told();
        let answered = posted.answered.borrow();
        let lost: Vec<_> = answered.difference(&told).collect();
        assert!(lost.is_empty(), "answered and lost: {lost:?}");
        assert_eq!(posted.scene.spooled(), 0);
        verified(place);
        0
    }
}
