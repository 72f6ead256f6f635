//! Page orders and the variation of array times, to the nanosecond and on random small devices.

use crate::common::{Dut, array, config, plane, summary};
use proptest::prelude::*;
use ssdlab_sim::config::{PageOrder, PageTimes};
use ssdlab_sim::report::Summary;
use ssdlab_sim::units::{Nanos, Ppm};
use ssdlab_sim::{Check, Config, Request, RequestOp, Ssd};

const PAGE: u64 = 4096;
const BUS: u64 = 5_120;

/// One plane, and a queue that no test fills.
fn one_plane(per_block: u64, more: &str) -> Config {
    plane(per_block, 2 * per_block, 2 * per_block, more)
}

/// Writes pages one after the other, then reads them one after the other. Returns the array times.
fn array_times(config: &Config, pages: u64, seed: u64) -> (Vec<u64>, Vec<u64>, Summary) {
    let mut dut = Dut::seeded(config, seed);
    for page in 0..pages {
        dut.write(page * 10_000_000, page * PAGE, PAGE);
    }
    for page in 0..pages {
        dut.read((pages + page) * 10_000_000, page * PAGE, PAGE);
    }
    let mut programs: Vec<u64> = dut.latencies().into_iter().map(|ns| ns - BUS).collect();
    let reads = programs.split_off(pages as usize);
    (programs, reads, summary(&dut.ssd))
}

#[test]
fn a_block_of_64_has_22_21_and_21_pages_of_three_types() {
    let times = "timing.read = [\"40us\", \"55us\", \"80us\"]\ntiming.program = [\"200us\", \"500us\", \"900us\"]";
    let (programs, reads, cyclic) = array_times(&one_plane(64, times), 64, 1);
    assert!(cyclic.page_types.is_none(), "cyclic is as before");
    let (same, also, summary) =
        array_times(&one_plane(64, &format!("{times}\ngeometry.page_order = \"wordline\"")), 64, 1);
    assert_eq!((&programs, &reads), (&same, &also), "word lines only name the types");
    assert_eq!(reads.iter().sum::<u64>() as f64 / 64.0, 58_046.875);
    let types = summary.page_types.unwrap().0;
    let rows: Vec<_> = types.iter().map(|(name, of)| (name.as_str(), of.pages_per_block, of.totals)).collect();
    let expected = [("LSB", 22, 40_000, 200_000), ("CSB", 21, 55_000, 500_000), ("MSB", 21, 80_000, 900_000)];
    for ((name, pages, totals), (expected, count, read, program)) in rows.into_iter().zip(expected) {
        assert_eq!((name, pages), (expected, count));
        assert_eq!((totals.reads, totals.read_ns), (count, count * read));
        assert_eq!((totals.programs, totals.program_ns), (count, count * program));
        assert_eq!((totals.read_mean(), totals.program_mean()), (Some(read as f64), Some(program as f64)));
    }
}

#[test]
fn shadow_order_mixes_the_types_of_neighbouring_word_lines() {
    // Four word lines of three pages: types by page.
    let types = [0, 0, 1, 0, 1, 2, 0, 1, 2, 1, 2, 2];
    let keys = "timing.read = [\"40us\", \"55us\", \"80us\"]\ntiming.program = [\"200us\", \"500us\", \"900us\"]
        geometry.page_order = \"shadow\"";
    let (programs, reads, summary) = array_times(&one_plane(12, keys), 24, 1);
    let of = |times: [u64; 3]| types.iter().chain(&types).map(|kind| times[*kind]).collect::<Vec<u64>>();
    assert_eq!((programs, reads), (of([200_000, 500_000, 900_000]), of([40_000, 55_000, 80_000])));
    assert!(summary.page_types.unwrap().0.iter().all(|(_, of)| (of.pages_per_block, of.totals.reads) == (4, 8)));
}

#[test]
fn two_types_are_lsb_and_msb_and_cyclic_types_have_numbers() {
    let names = |toml: &str| config(toml).page_type_names();
    let order = "geometry.page_order = \"wordline\"\n";
    assert_eq!(names(&format!("{order}timing.read = [\"40us\", \"65us\"]")), ["LSB", "MSB"]);
    let four = "timing.program = [\"1us\", \"2us\", \"3us\", \"4us\"]";
    assert_eq!(names(&format!("{order}{four}")), ["LSB", "CSB", "MSB", "TSB"]);
    assert_eq!(names(order), ["LSB"]);
    assert_eq!(names("timing.read = [\"40us\", \"65us\"]\ntiming.program = [\"1us\", \"2us\", \"3us\"]").len(), 6);
}

#[test]
fn layers_take_the_times_of_their_sine() {
    let keys = "geometry.page_order = \"wordline\"
        timing = { read = [\"40us\", \"55us\"], program = \"600us\", variation = { layer = 0.1 } }";
    let (programs, reads, summary) = array_times(&one_plane(16, keys), 32, 1);
    let factor = |page: usize| {
        let line = (page % 16 / 2) as f64;
        1.0 + 0.1 * 2f64.sqrt() * (2.0 * std::f64::consts::PI * line / 8.0).sin()
    };
    for page in 0..32 {
        assert_eq!(programs[page], (600_000.0 * factor(page)).round() as u64, "page {page}");
        assert_eq!(reads[page], ([40_000.0, 55_000.0][page % 2] * factor(page)).round() as u64, "page {page}");
    }
    // Word line 2 of 8 is at the top of the sine: 600,000 x (1 + 0.1 sqrt(2)).
    assert_eq!((programs[4], programs[12]), (684_853, 515_147));
    let ns: u64 = summary.page_types.unwrap().0.iter().map(|(_, of)| of.totals.program_ns).sum();
    assert_eq!(ns, programs.iter().sum::<u64>());
}

#[test]
fn blocks_have_a_factor_for_reads_and_programs_that_schemes_do_not_change() {
    let vary = "timing.variation.block = 0.1";
    let (programs, reads, _) = array_times(&one_plane(8, vary), 16, 5);
    let (first, second) = (programs[0], programs[8]);
    assert!(programs[..8].iter().all(|ns| *ns == first) && programs[8..].iter().all(|ns| *ns == second));
    assert!(first != second && first != 600_000);
    for (program, read) in programs.iter().zip(&reads) {
        let both = *program as f64 / 600_000.0 * 50_000.0;
        assert!((both - *read as f64).abs() <= 1.0, "one factor: {program} and {read}");
    }
    let other = format!("{vary}\nschemes.victim = \"random\"\nschemes.path = \"copyback\"");
    assert_eq!(array_times(&one_plane(8, &other), 16, 5).0, programs, "the same flash");
    assert_ne!(array_times(&one_plane(8, vary), 16, 6).0, programs, "another seed is another flash");
}

#[test]
fn a_multi_plane_command_takes_as_long_as_its_slowest_block() {
    let toml = |multi_plane: bool| {
        format!("{}device.multi_plane = {multi_plane}\ntiming.variation.block = 0.2", array(1, 1, 1, 2))
    };
    let run = |multi_plane: bool| {
        let mut dut = Dut::seeded(&config(&toml(multi_plane)), 3);
        if multi_plane {
            dut.write(0, 0, 2 * PAGE);
            dut.read(20_000_000, 0, 2 * PAGE);
        } else {
            (0..2).for_each(|page| dut.write(page * 10_000_000, page * PAGE, PAGE));
            (2..4).for_each(|page| dut.read(page * 10_000_000, (page - 2) * PAGE, PAGE));
        }
        dut.latencies()
    };
    let (each, both) = (run(false), run(true));
    assert_ne!(each[0], each[1], "blocks differ");
    assert_eq!(both, [each[0].max(each[1]) + BUS, each[2].max(each[3]) + BUS]);
}

/// Serial GC by either path takes the time of every page that it moves.
#[test]
fn collections_take_the_times_of_their_pages() {
    for path in ["external", "copyback"] {
        let keys = format!(
            "geometry.page_order = \"shadow\"\ntiming = {{ read = [\"40us\", \"55us\", \"80us\"], program = [\"200us\", \"500us\", \"900us\"] }}
            schemes.path = \"{path}\""
        );
        let config = plane(12, 60, 24, &keys);
        let mut dut = Dut::new(&config);
        // Half of the pages of every block are overwritten, far apart in time.
        let mut at = 0;
        for page in (0..60).chain((0..60).filter(|page| page % 2 == 0)) {
            dut.write(at, page * PAGE, PAGE);
            at += 50_000_000;
        }
        dut.latencies();
        let (summary, types) = (summary(&dut.ssd), [0, 0, 1, 0, 1, 2, 0, 1, 2, 1, 2, 2]);
        assert!(summary.gc.collections > 0 && summary.gc.moved_pages > 0);
        // A page of type t moves to the next place of GC's block, so both sums are of whole times.
        let [read, program] = [&summary.gc.time_ns.read, &summary.gc.time_ns.program].map(|ns| *ns);
        let moved = summary.gc.moved_pages as usize;
        let programs: u64 = (0..moved).map(|page| [200_000, 500_000, 900_000][types[page % 12]]).sum();
        assert_eq!(program, programs, "{path}: GC fills its blocks in order");
        assert!(read >= 40_000 * moved as u64 && read <= 80_000 * moved as u64 && read % 5_000 == 0, "{path}");
    }
}

#[test]
fn devices_with_other_page_types_start_from_one_filling() {
    let order = |order: &str| {
        let keys = format!("timing.read = [\"40us\", \"55us\"]\nprecondition.mode = \"random\"\n{order}");
        plane(8, 40, 16, &keys)
    };
    let filled = Ssd::new(&order(""), 3, Check::Full).unwrap().filled();
    for config in [order(""), order("geometry.page_order = \"shadow\""), order("timing.variation.block = 0.1")] {
        let run = |mut ssd: Ssd| {
            for page in 0..40 {
                let op = if page % 2 == 0 { RequestOp::Read } else { RequestOp::Write };
                ssd.submit(Request { arrival: Nanos(page * 1_000_000), op, offset: page * PAGE, bytes: PAGE });
            }
            ssd.run();
            format!("{:?}", summary(&ssd))
        };
        let own = Ssd::new(&config, 3, Check::Full).unwrap();
        assert_eq!(run(Ssd::from_filled(&config, &filled).unwrap()), run(own));
    }
}

#[test]
fn rules_name_what_page_types_lack() {
    let three = "timing.read = [\"40us\", \"55us\", \"80us\"]\n";
    for (toml, key) in [
        (format!("{three}geometry.page_order = \"shadow\""), "geometry.page_order"),
        (format!("{three}timing.program = [\"1us\", \"2us\"]\ngeometry.page_order = \"wordline\""), "timing.read"),
        (
            "timing.read = [\"1us\", \"1us\", \"1us\", \"1us\", \"1us\"]\ngeometry.page_order = \"wordline\"".into(),
            "timing.read",
        ),
        ("timing.variation.layer = 0.71".into(), "timing.variation.layer"),
        (
            format!(
                "{three}geometry = {{ page_order = \"shadow\", pages_per_block = 63 }}\nwear.programming = \"one-shot\""
            ),
            "geometry.page_order",
        ),
    ] {
        let refusal = config(&toml).check().unwrap_err();
        assert_eq!(refusal.key, key, "{refusal}");
        assert!(!refusal.help.is_empty());
    }
    config(&format!("{three}geometry = {{ page_order = \"shadow\", pages_per_block = 63 }}")).check().unwrap();
}

proptest! {
    #![proptest_config(crate::common::worlds(300))]

    /// Random devices under the full oracle, some with power cuts: shortcuts change no byte, types count what the flash counts,
    /// and word lines differ from cyclic pages by their report alone.
    #[test]
    fn worlds_with_page_types_lose_nothing(
        toml in crate::worlds::device(),
        requests in crate::worlds::requests(),
        order in 0usize..3,
        block in prop::sample::select(vec![0, 0, 50_000, 300_000]),
        layer in prop::sample::select(vec![0, 0, 100_000, 700_000]),
        three in any::<bool>(),
        cut in 0u64..80_000_000,
    ) {
        let mut config: Config = toml.parse().unwrap();
        config.geometry.page_order = [PageOrder::Cyclic, PageOrder::Wordline, PageOrder::Shadow][order];
        (config.timing.variation.block, config.timing.variation.layer) = (Ppm(block), Ppm(layer));
        if three {
            let times = |ns: [u64; 3]| PageTimes::ByType(ns.map(Nanos).to_vec());
            config.timing.read = times([20_000, 30_000, 45_000]);
            config.timing.program = times([80_000, 200_000, 350_000]);
        }
        if cut % 3 == 0 {
            config.faults.power_cut = vec![Nanos(cut)];
        }
        if config.check().is_err() {
            return Ok(());
        }
        let run = |config: &Config, fusing: bool| {
            let mut ssd = Ssd::new(config, 7, Check::Full).unwrap();
            ssd.set_fusing(fusing);
            crate::worlds::submit_all(&mut ssd, &requests);
            ssd.run();
            summary(&ssd)
        };
        let (one, other) = (run(&config, true), run(&config, false));
        prop_assert_eq!(format!("{one:?}"), format!("{other:?}"));
        if let Some(types) = &one.page_types {
            let sum = |of: fn(&ssdlab_sim::report::page_types::TypeTotals) -> u64| -> u64 {
                types.0.iter().map(|(_, page)| of(&page.totals)).sum()
            };
            prop_assert_eq!(sum(|of| of.reads), one.flash.reads.host);
            // Preloaded pages are programmed in no time.
            prop_assert_eq!(sum(|of| of.programs), one.flash.programs.host);
            let pages: u64 = types.0.iter().map(|(_, page)| page.pages_per_block).sum();
            prop_assert_eq!(pages, u64::from(config.geometry.pages_per_block));
        }
        if config.geometry.page_order == PageOrder::Wordline && block == 0 && layer == 0 {
            let mut cyclic = config.clone();
            cyclic.geometry.page_order = PageOrder::Cyclic;
            let mut same = run(&cyclic, true);
            prop_assert!(same.page_types.is_none());
            (same.config, same.page_types) = (one.config.clone(), one.page_types.clone());
            prop_assert_eq!(format!("{one:?}"), format!("{same:?}"));
        }
    }
}
