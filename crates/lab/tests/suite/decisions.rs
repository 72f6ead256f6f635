//! Episodes: an agent that answers like a built-in policy gives its bytes.

use ssdlab_lab::decisions::{Decision, Event, Game, Slot};
use ssdlab_lab::input::{Origin, Requests};
use ssdlab_lab::run::{How, Outputs};
use ssdlab_lab::settings::Settings;
use ssdlab_lab::tree::json;
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::Nanos;

use crate::{run, tiny, writes};

fn requests(name: &str) -> Requests {
    Requests::new(Origin::Workload { name: name.into(), recordings: None })
}

fn play(game: &mut Game, seed: u64, mut agent: impl FnMut(&Decision) -> usize) -> (Summary, u64) {
    let mut event = game.reset(seed).unwrap();
    let mut steps = 0;
    loop {
        match event {
            Event::Decide(decision) => event = game.step(agent(&decision)).unwrap(),
            Event::Done(end) => return (end.summary, steps),
        }
        steps += 1;
    }
}

#[test]
fn the_first_candidate_is_that_of_greedy_and_episodes_repeat() {
    let settings = Settings::load(&tiny(&["gc.threshold=3 blocks"])).unwrap();
    let mut game =
        Game::new(&settings.config, Slot::Victim { candidates: 4 }, requests("random-write"), 5000, 1).unwrap();
    let ready = run(&tiny(&["gc.threshold=3 blocks"]), How::default()).open(&writes(5000)).unwrap();
    let native = ready.simulate(&Outputs::default(), &mut ()).unwrap().outcome.summary;
    for _ in 0..2 {
        let (mut summary, steps) = play(&mut game, 1, |decision| {
            let keys: Vec<_> = decision.candidates.iter().map(|block| (block.valid, block.block)).collect();
            assert!(keys.is_sorted() && keys.len() <= 4 && decision.recent.0 <= decision.recent.1);
            0
        });
        assert!(steps >= native.gc.collections && steps > 100, "{steps}");
        (summary.config, summary.config_digest) = (native.config.clone(), native.config_digest.clone());
        assert_eq!(json(&summary), json(&native));
    }
    // Another seed, another agent; then an episode that is given up.
    let (other, _) = play(&mut game, 2, |decision| decision.candidates.len() - 1);
    assert!(other.gc.moved_pages > native.gc.moved_pages);
    game.reset(3).unwrap();
    assert!(game.step(4).unwrap_err().message.contains("with"));
    let (again, _) = play(&mut game, 1, |_| 0);
    assert_eq!(again.gc.moved_pages, native.gc.moved_pages);
    assert_eq!(game.step(0).unwrap_err().message, "no decision is open");
}

#[test]
fn a_trigger_that_always_declines_is_threshold_and_one_that_agrees_collects_earlier() {
    let settings = Settings::load(&tiny(&["gc.threshold=3 blocks"])).unwrap();
    let slot = Slot::Trigger { after: Nanos(1_000_000) };
    let mut game = Game::new(&settings.config, slot, requests("quickstart"), 500, 1).unwrap();
    let (never, steps) = play(&mut game, 1, |_| 0);
    assert!(steps > 10, "{steps}");
    let limit = never.requests.read + never.requests.write + never.requests.trim;
    let wanted = Requests { limit: Some(limit), ..requests("quickstart") };
    let ready = run(&tiny(&["gc.threshold=3 blocks"]), How::default()).open(&wanted).unwrap();
    let native = ready.simulate(&Outputs::default(), &mut ()).unwrap().outcome.summary;
    let mut never = never;
    (never.config, never.config_digest) = (native.config.clone(), native.config_digest.clone());
    assert_eq!(json(&never), json(&native));
    let (eager, _) = play(&mut game, 1, |decision| usize::from(decision.free_pages.0 < 6 * 32));
    assert!(eager.gc.collections > native.gc.collections);
}
