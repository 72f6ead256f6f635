//! Colours and patterns: Okabe and Ito's eight colours, which people with any colour vision can tell apart, and a pattern beside
//! each, so that no mark is known by its colour alone.
//!
//! The colour of a cause says who is waited for, its pattern says where: GC is vermillion, other requests are sky blue, queues and
//! space are yellow, service is green.

/// What a pattern draws over the colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pattern {
    /// Nothing.
    Solid,
    /// Lines rising to the right.
    Rising,
    /// Lines falling to the right.
    Falling,
    /// Level lines.
    Level,
    /// Dots.
    Dots,
    /// Crossed lines.
    Crossed,
}

/// How a series is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// Colour in the light theme.
    pub light: &'static str,
    /// Colour in the dark theme.
    pub dark: &'static str,
    /// Pattern of areas and bars.
    pub pattern: Pattern,
    /// Dashes of lines, as in SVG; empty: a whole line.
    pub dashes: &'static str,
}

const ORANGE: [&str; 2] = ["#e69f00", "#e69f00"];
const SKY: [&str; 2] = ["#56b4e9", "#56b4e9"];
const GREEN: [&str; 2] = ["#009e73", "#12ab80"];
const YELLOW: [&str; 2] = ["#f0e442", "#f0e442"];
const BLUE: [&str; 2] = ["#0072b2", "#3d9bd6"];
const VERMILLION: [&str; 2] = ["#d55e00", "#e8701a"];
const PURPLE: [&str; 2] = ["#cc79a7", "#cc79a7"];
const BLACK: [&str; 2] = ["#000000", "#f5f5f5"];
const GREY: [&str; 2] = ["#767676", "#9a9a9a"];

const fn style(colour: [&'static str; 2], pattern: Pattern, dashes: &'static str) -> Style {
    Style { light: colour[0], dark: colour[1], pattern, dashes }
}

/// Styles by key: causes, kinds of requests, classes of operations, verbs.
pub const STYLES: [(&str, Style); 63] = [
    ("queue", style(YELLOW, Pattern::Solid, "")),
    ("order", style(YELLOW, Pattern::Rising, "")),
    ("space", style(YELLOW, Pattern::Level, "")),
    ("staging", style(PURPLE, Pattern::Rising, "")),
    ("die_host", style(SKY, Pattern::Solid, "")),
    ("die_late", style(ORANGE, Pattern::Falling, "")),
    ("die_gc_own", style(VERMILLION, Pattern::Solid, "")),
    ("die_gc_other", style(VERMILLION, Pattern::Rising, "")),
    ("die_writeback", style(PURPLE, Pattern::Solid, "")),
    ("bus_host", style(SKY, Pattern::Rising, "")),
    ("bus_gc", style(VERMILLION, Pattern::Dots, "")),
    ("noc_host", style(SKY, Pattern::Dots, "")),
    ("noc_gc", style(VERMILLION, Pattern::Crossed, "")),
    ("held", style(YELLOW, Pattern::Dots, "")),
    ("array", style(GREEN, Pattern::Solid, "")),
    ("bus", style(GREEN, Pattern::Rising, "")),
    ("noc", style(GREEN, Pattern::Dots, "")),
    ("decode", style(GREEN, Pattern::Crossed, "")),
    ("memory", style(GREEN, Pattern::Level, "")),
    ("arbitration", style(YELLOW, Pattern::Falling, "")),
    ("cache", style(PURPLE, Pattern::Falling, "")),
    ("cache_gc", style(VERMILLION, Pattern::Falling, "")),
    ("cache_host", style(SKY, Pattern::Falling, "")),
    ("slc", style(ORANGE, Pattern::Level, "")),
    ("retry", style(GREEN, Pattern::Falling, "")),
    ("read", style(BLUE, Pattern::Solid, "")),
    ("write", style(VERMILLION, Pattern::Rising, "6 3")),
    ("all", style(BLACK, Pattern::Solid, "2 2")),
    ("host", style(SKY, Pattern::Solid, "")),
    ("gc", style(VERMILLION, Pattern::Rising, "6 3")),
    ("writeback", style(PURPLE, Pattern::Level, "2 2")),
    ("metadata", style(YELLOW, Pattern::Dots, "1 3")),
    ("parity", style(ORANGE, Pattern::Crossed, "8 3 2 3")),
    ("replica", style(GREEN, Pattern::Falling, "4 2 1 2")),
    ("fold", style(ORANGE, Pattern::Level, "2 4")),
    ("refresh", style(ORANGE, Pattern::Rising, "8 3 2 3")),
    ("gc_read", style(BLUE, Pattern::Solid, "")),
    ("gc_transfer", style(GREEN, Pattern::Rising, "")),
    ("gc_program", style(VERMILLION, Pattern::Level, "")),
    ("gc_erase", style(PURPLE, Pattern::Crossed, "")),
    ("gc_decode", style(YELLOW, Pattern::Dots, "")),
    ("lower", style(BLUE, Pattern::Solid, "")),
    ("higher", style(VERMILLION, Pattern::Solid, "6 3")),
    ("open", style(GREY, Pattern::Solid, "2 2")),
    ("same", style(GREY, Pattern::Solid, "")),
    ("paper", style(GREY, Pattern::Rising, "2 2")),
    ("ours", style(BLUE, Pattern::Solid, "")),
    ("blocks", style(BLUE, Pattern::Solid, "")),
    ("mean", style(BLUE, Pattern::Solid, "")),
    ("p99", style(VERMILLION, Pattern::Solid, "6 3")),
    ("request", style(BLACK, Pattern::Solid, "")),
    ("line-0", style(BLUE, Pattern::Solid, "")),
    ("line-1", style(VERMILLION, Pattern::Rising, "6 3")),
    ("line-2", style(GREEN, Pattern::Level, "2 2")),
    ("line-3", style(PURPLE, Pattern::Falling, "8 3 2 3")),
    ("line-4", style(BLACK, Pattern::Dots, "1 3")),
    ("line-5", style(GREY, Pattern::Crossed, "10 4")),
    ("line-6", style(BLUE, Pattern::Dots, "4 2 1 2")),
    ("line-7", style(VERMILLION, Pattern::Level, "2 4")),
    ("front", style(BLUE, Pattern::Solid, "")),
    ("rest", style(GREY, Pattern::Solid, "")),
    ("refused", style(GREY, Pattern::Rising, "")),
    ("failed", style(VERMILLION, Pattern::Crossed, "")),
];

/// Styles of series without a key, in the order in which they are taken.
const ORDER: [Style; 5] = [
    style(BLUE, Pattern::Solid, ""),
    style(VERMILLION, Pattern::Rising, "6 3"),
    style(GREEN, Pattern::Level, "2 2"),
    style(PURPLE, Pattern::Falling, "8 3 2 3"),
    style(BLACK, Pattern::Dots, "1 3"),
];

/// The style of a series: that of its key, or the next one in order.
pub fn of(key: &str, place: usize) -> Style {
    STYLES.iter().find(|(name, _)| *name == key).map_or(ORDER[place % ORDER.len()], |(_, style)| *style)
}

/// Steps of a ramp of colours.
pub const STEPS: usize = 12;

/// A ramp of colours from few to much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ramp {
    light: [[u8; 3]; 3],
    dark: [[u8; 3]; 3],
}

/// Shares of host work, and anything else.
pub const BLUES: Ramp = Ramp {
    light: [[0xe6, 0xf0, 0xf8], [0x56, 0xa4, 0xd9], [0x00, 0x2f, 0x5e]],
    dark: [[0x14, 0x24, 0x33], [0x2b, 0x7c, 0xb8], [0xc8, 0xe6, 0xfa]],
};
/// Shares of GC.
pub const REDS: Ramp = Ramp {
    light: [[0xfb, 0xea, 0xdd], [0xe0, 0x7b, 0x30], [0x5c, 0x1f, 0x00]],
    dark: [[0x30, 0x1c, 0x12], [0xc2, 0x5a, 0x10], [0xfd, 0xdc, 0xc0]],
};
/// Wear.
pub const GREENS: Ramp = Ramp {
    light: [[0xe4, 0xf4, 0xee], [0x3a, 0xa8, 0x86], [0x00, 0x3b, 0x2c]],
    dark: [[0x12, 0x2b, 0x24], [0x12, 0x8f, 0x6a], [0xc2, 0xf3, 0xe2]],
};

/// The ramp of a key.
pub fn ramp(key: &str) -> Ramp {
    match key {
        "gc" => REDS,
        "wear" => GREENS,
        _ => BLUES,
    }
}

impl Ramp {
    /// The colour of a step in a theme.
    pub fn colour(&self, step: usize, dark: bool) -> String {
        let stops = if dark { &self.dark } else { &self.light };
        let at = 2 * step.min(STEPS - 1);
        let (from, to, part) = if at < STEPS { (stops[0], stops[1], at) } else { (stops[1], stops[2], at - STEPS) };
        // Integers, so that no machine rounds another way; the last step is the last stop.
        let whole = if at < STEPS { STEPS } else { STEPS - 2 };
        let mix = |i: usize| {
            let (a, b) = (i64::from(from[i]), i64::from(to[i]));
            (a + (b - a) * part as i64 / whole as i64) as u8
        };
        format!("#{:02x}{:02x}{:02x}", mix(0), mix(1), mix(2))
    }
}

/// Colours of everything but data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ground {
    /// The page.
    pub page: &'static str,
    /// Text, and outlines of marks.
    pub ink: &'static str,
    /// Text of less weight.
    pub muted: &'static str,
    /// Axes.
    pub axis: &'static str,
    /// The grid.
    pub grid: &'static str,
}

/// On light ground.
pub const LIGHT: Ground =
    Ground { page: "#ffffff", ink: "#1c2024", muted: "#555d66", axis: "#7d858e", grid: "#e3e7eb" };
/// On dark ground.
pub const DARK: Ground = Ground { page: "#14181d", ink: "#e8ecf0", muted: "#a7b0ba", axis: "#78818b", grid: "#2a3038" };

/// Each colour of the light theme with its place in the dark one.
pub fn pairs() -> Vec<(String, String)> {
    let mut pairs: Vec<(String, String)> = [
        (LIGHT.page, DARK.page),
        (LIGHT.ink, DARK.ink),
        (LIGHT.muted, DARK.muted),
        (LIGHT.axis, DARK.axis),
        (LIGHT.grid, DARK.grid),
    ]
    .map(|(light, dark)| (light.to_string(), dark.to_string()))
    .to_vec();
    pairs.extend(STYLES.iter().map(|(_, style)| (style.light.to_string(), style.dark.to_string())));
    for ramp in [BLUES, REDS, GREENS] {
        pairs.extend((0..STEPS).map(|step| (ramp.colour(step, false), ramp.colour(step, true))));
    }
    pairs.sort();
    pairs.dedup();
    pairs.retain(|(light, dark)| light != dark);
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(colour: &str) -> f64 {
        let part = |i: usize| {
            let v = f64::from(u8::from_str_radix(&colour[i..i + 2], 16).unwrap()) / 255.0;
            if v <= 0.03928 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(a: &str, b: &str) -> f64 {
        let (a, b) = (luminance(a).max(luminance(b)), luminance(a).min(luminance(b)));
        (a + 0.05) / (b + 0.05)
    }

    /// The table of causes in the Python package has the colours and patterns of this palette.
    #[test]
    fn causes_look_the_same_in_python() {
        let text = include_str!("../../../python/ssdlab/_figures.py");
        let colours = [
            ("ORANGE", ORANGE),
            ("SKY", SKY),
            ("GREEN", GREEN),
            ("YELLOW", YELLOW),
            ("VERMILLION", VERMILLION),
            ("PURPLE", PURPLE),
            ("BLUE", BLUE),
        ];
        let table = text.split("CAUSES = {").nth(1).unwrap().split("\n}").next().unwrap();
        let mut seen = 0;
        for line in table.lines().filter(|line| line.contains("Look(")) {
            let cause = line.split('"').nth(1).unwrap();
            let parts: Vec<&str> = line.rsplit(", ").collect();
            let colour = colours.iter().find(|(name, _)| *name == parts[1]).unwrap_or_else(|| panic!("{line}")).1;
            let pattern = match parts[0].trim_end_matches("),").trim_matches('"') {
                "" => Pattern::Solid,
                "////" => Pattern::Rising,
                r"\\\\\\\\" => Pattern::Falling,
                "----" => Pattern::Level,
                "...." => Pattern::Dots,
                "xxxx" => Pattern::Crossed,
                other => panic!("{cause}: the pattern {other}"),
            };
            let (_, own) = STYLES.iter().find(|(key, _)| *key == cause).unwrap_or_else(|| panic!("{cause}"));
            assert_eq!((colour[0], pattern), (own.light, own.pattern), "{cause}");
            seen += 1;
        }
        assert_eq!(seen, 25, "causes of the table");
        // The names stand for the same colours there.
        let rgb = |name: &str| {
            let (names, values): (Vec<&str>, Vec<&str>) = text
                .lines()
                .filter_map(|line| line.split_once(" = \"#"))
                .filter(|(names, _)| names.split(", ").any(|own| own == name))
                .unzip();
            let place = names[0].split(", ").position(|own| own == name).unwrap();
            values[0].split(", ").nth(place).unwrap().trim_matches(['"', '#']).to_lowercase()
        };
        for (name, colour) in colours {
            assert_eq!(format!("#{}", rgb(name)), colour[0], "{name}");
        }
    }

    #[test]
    fn text_and_lines_stand_out() {
        for ground in [LIGHT, DARK] {
            assert!(contrast(ground.ink, ground.page) >= 4.5 && contrast(ground.muted, ground.page) >= 4.5);
            assert!(contrast(ground.axis, ground.page) >= 3.0);
        }
        for style in ORDER.iter().chain(STYLES.iter().map(|(_, style)| style)) {
            assert!(contrast(style.dark, DARK.page) >= 3.0, "{style:?}");
        }
        // Lines have no outline, so their colours stand out alone.
        let lines = [
            "read", "write", "all", "mean", "p99", "lower", "higher", "open", "same", "paper", "ours", "front", "rest",
        ];
        let numbered = STYLES.iter().filter(|(key, _)| key.starts_with("line-")).map(|(_, style)| *style);
        for style in ORDER.iter().copied().chain(lines.map(|key| of(key, 0))).chain(numbered) {
            assert!(contrast(style.light, LIGHT.page) >= 3.0, "{style:?}");
        }
    }

    #[test]
    fn a_colour_has_one_place_in_the_dark_theme() {
        let pairs = pairs();
        assert!(pairs.windows(2).all(|two| two[0].0 != two[1].0), "{pairs:?}");
        assert_eq!(BLUES.colour(STEPS - 1, false), "#002f5e");
    }

    #[test]
    fn no_two_causes_look_alike() {
        for (i, (name, style)) in STYLES[..21].iter().enumerate() {
            for (other, same) in &STYLES[..i] {
                assert!(style.light != same.light || style.pattern != same.pattern, "{name} and {other}");
            }
        }
    }
}
