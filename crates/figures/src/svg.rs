//! Figures as SVG: presentation attributes only, so that a strict content policy, a mail program or a type-setter shows them alike.

use std::collections::BTreeSet;
use std::fmt::Write;

use serde_json::json;

use crate::carried;
use crate::escape::{attribute, name, svg};
use crate::figure::{Axis, Figure, Mark, Panel, Scale, Series, Table};
use crate::font::{fitted, width, wrapped};
use crate::palette::{self, DARK, Ground, LIGHT, Pattern, STEPS, Style};
use crate::scale::{Placed, heading, ticks, title};
use crate::shape::{Frame, cell_range, cell_step, cells, corner, dense, finite, n, path, rectangle, scales, whisker};

/// Colours, and what belongs to a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// For paper: white, without a title, the legend inside if there is room.
    Paper,
    /// On white.
    #[default]
    Light,
    /// On dark ground.
    Dark,
}

/// How a figure is drawn.
#[derive(Clone, Debug)]
pub struct Look {
    /// Width in user units.
    pub width: f64,
    /// Height in user units; by default what the figure needs.
    pub height: Option<f64>,
    /// Font size in user units.
    pub font_size: f64,
    /// Font family.
    pub font: String,
    /// Colours.
    pub theme: Theme,
    /// The unit of the size of the whole drawing, `px` or `pt`.
    pub unit: &'static str,
    /// Whether the title is drawn.
    pub title: bool,
    /// Whether panels, series and entries of the legend are groups that carry their values, for the script of a page.
    pub carrying: bool,
}

/// The font families that figures are laid out for: those with the widths of Liberation Sans first.
pub const FONTS: &str = "Liberation Sans, Arial, Helvetica, sans-serif";

impl Default for Look {
    /// 640 pixels wide, on white, with a title.
    fn default() -> Self {
        let font = FONTS.into();
        Look {
            width: 640.0,
            height: None,
            font_size: 13.0,
            font,
            theme: Theme::Light,
            unit: "px",
            title: true,
            carrying: false,
        }
    }
}

/// The figure as an `<svg>` element.
pub fn draw(figure: &Figure, look: &Look) -> String {
    let ground = if look.theme == Theme::Dark { &DARK } else { &LIGHT };
    let (id, table, body) = (&figure.id, &figure.table, String::new());
    let mut drawing = Drawing { look, ground, id, table, body, patterns: BTreeSet::new() };
    let height = drawing.figure(figure);
    let height = look.height.unwrap_or(height);
    let (w, h, unit) = (n(look.width), n(height), look.unit);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"{w}{unit}\" height=\"{h}{unit}\" viewBox=\"0 0 {w} {h}\" font-family=\"{}\" font-size=\"{}\" fill=\"{}\">",
        svg(&look.font),
        n(look.font_size),
        ground.ink
    );
    let described = match &figure.empty {
        Some(why) => why.clone(),
        None => figure.caption.clone(),
    };
    let _ = write!(out, "<title>{}</title><desc>{}</desc>", svg(&name(&figure.title)), svg(&described));
    drawing.defs(&mut out);
    let _ = write!(out, "<rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>", ground.page);
    out.push_str(&drawing.body);
    out.push_str("</svg>");
    out
}

#[derive(Clone, Copy)]
enum Anchor {
    Start,
    Middle,
    End,
}

struct Drawing<'a> {
    look: &'a Look,
    ground: &'static Ground,
    id: &'a str,
    table: &'a Table,
    body: String,
    /// Patterns in use: colour and pattern.
    patterns: BTreeSet<(&'static str, Pattern)>,
}

impl Drawing<'_> {
    fn size(&self) -> f64 {
        self.look.font_size
    }

    /// The size of names and ticks: smaller than the rest, but no text is below six points.
    fn small(&self) -> f64 {
        (self.size() * 0.92).max(6.0).min(self.size())
    }

    /// Widths of lines: thin ones are at least half a point.
    fn stroke(&self, of: f64) -> String {
        n((of * self.size() / 13.0).max(0.5))
    }

    /// Begins a group that carries something, where groups do.
    fn open(&mut self, kind: &str, carried: impl FnOnce() -> String) {
        if self.look.carrying {
            let _ = write!(self.body, "<g data-{kind}='{}'>", carried());
        }
    }

    fn close(&mut self) {
        if self.look.carrying {
            self.body.push_str("</g>");
        }
    }

    /// Draws everything and returns the height that it needs.
    fn figure(&mut self, figure: &Figure) -> f64 {
        let (size, margin) = (self.size(), self.size() * 0.6);
        let mut top = margin;
        if self.look.title {
            let larger = size * 1.15;
            for line in wrapped(&name(&figure.title), larger, self.look.width - 2.0 * margin) {
                top += larger;
                self.text(margin, top, &line, Anchor::Start, self.ground.ink, larger);
                top += larger * 0.35;
            }
        }
        if let Some(why) = &figure.empty {
            for line in wrapped(&name(why), size, self.look.width - 2.0 * margin) {
                top += size * 1.4;
                self.text(margin, top, &line, Anchor::Start, self.ground.muted, size);
            }
            return top + size;
        }
        let legend = self.legend(figure);
        let outside = !legend.is_empty();
        let rows = self.legend_rows(&legend, self.look.width - 2.0 * margin);
        let legend_height = rows.len() as f64 * size * 1.5;
        let inside = self.look.theme == Theme::Paper && figure.panels.len() == 1 && outside;
        if outside && self.look.theme != Theme::Paper {
            self.draw_legend(&rows, margin, top);
            top += legend_height + size * 0.2;
        }
        let spare = if outside && self.look.theme == Theme::Paper { legend_height } else { 0.0 };
        let bottom = self.look.height.map(|height| height - margin - spare);
        let (frames, end) = self.panels(figure, top, bottom, margin);
        let mut end = end;
        if inside && let Some(at) = self.room(&figure.panels[0], &frames[0], &legend) {
            let rows: Vec<Vec<&Entry>> = legend.iter().map(|entry| vec![entry]).collect();
            self.draw_legend(&rows, at.0, at.1);
            // The room that was kept below stays empty only where the height is given.
        } else if self.look.theme == Theme::Paper && outside {
            self.draw_legend(&rows, margin, end);
            end += legend_height;
        }
        end + margin
    }

    /// Draws panels below each other; returns their frames and where they end.
    fn panels(&mut self, figure: &Figure, top: f64, bottom: Option<f64>, margin: f64) -> (Vec<Frame>, f64) {
        let size = self.size();
        let upright = self.look.theme == Theme::Paper;
        let placed: Vec<(Placed, Placed)> = figure.panels.iter().map(scales).collect();
        let shared = |i: usize| figure.panels.get(i + 1).is_some_and(|next| next.x == figure.panels[i].x);
        // Heights besides the plots themselves.
        let head = |panel: &Panel| {
            let titled = !panel.title.is_empty() || (!upright && !panel.y.label.is_empty()) || cells(panel).is_some();
            if titled { size * 2.0 } else { size * 0.5 }
        };
        let foot = |i: usize| {
            let panel = &figure.panels[i];
            let label = if panel.x.label.is_empty() || shared(i) { 0.0 } else { size * 1.5 };
            size * 1.6 + label
        };
        let fixed: f64 = (0..figure.panels.len()).map(|i| head(&figure.panels[i]) + foot(i)).sum();
        let wanted: Vec<f64> = figure.panels.iter().map(|panel| self.natural(panel, figure.panels.len())).collect();
        let scale = bottom.map_or(1.0, |bottom| ((bottom - top - fixed) / wanted.iter().sum::<f64>()).max(0.05));
        // The labels of all panels share one margin, so that the plots are aligned.
        let most_label = self.look.width * 0.34;
        let mut left = margin;
        for (panel, (_, y)) in figure.panels.iter().zip(&placed) {
            let room = self.natural(panel, figure.panels.len()) * scale / (size * 1.2);
            let widest = ticks(&panel.y, y, room).iter().map(|(_, text)| width(text, self.small())).fold(0.0, f64::max);
            let label = if upright && !panel.y.label.is_empty() { size * 1.5 } else { 0.0 };
            left = left.max(margin + widest.min(most_label) + size * 0.6 + label);
        }
        let right = self.look.width - margin - size * 1.4;
        let (mut at, mut frames) = (top, Vec::new());
        for (i, (panel, (x, y))) in figure.panels.iter().zip(placed).enumerate() {
            at += head(panel);
            let height = wanted[i] * scale;
            let upside_down = panel.y.scale == Scale::Band;
            let (from, to) = if upside_down { (at, at + height) } else { (at + height, at) };
            let frame =
                Frame { left, right, top: at, bottom: at + height, x: x.between(left, right), y: y.between(from, to) };
            self.open("panel", || carried::panel(panel, &frame));
            if self.look.carrying {
                // For the script, which cuts off what lies outside when it zooms.
                let [wide, high] = [frame.right - frame.left, frame.bottom - frame.top].map(n);
                let (id, x, y) = (self.plain_id(), n(frame.left), n(frame.top));
                let _ = write!(
                    self.body,
                    "<clipPath id=\"{id}-clip-{i}\"><rect x=\"{x}\" y=\"{y}\" width=\"{wide}\" height=\"{high}\"/></clipPath>"
                );
            }
            self.axes(panel, &frame, upright, shared(i), margin, most_label);
            self.marks(panel, &frame);
            self.close();
            at += height + foot(i);
            frames.push(frame);
        }
        (frames, at)
    }

    /// The height of the plot of a panel where none is given.
    fn natural(&self, panel: &Panel, panels: usize) -> f64 {
        let rows = panel.y.bands.len() as f64;
        if panel.y.scale == Scale::Band {
            let least = match rows {
                rows if rows > 60.0 => 0.35,
                rows if rows > 24.0 && cells(panel).is_some() => 0.35,
                rows if rows > 16.0 => 1.25,
                _ => 1.9,
            };
            return (rows * self.size() * least).clamp(self.size() * 3.0, self.look.width * 0.6);
        }
        self.look.width * if panels > 1 { 0.2 } else { 0.44 }
    }

    fn text_upwards(&mut self, (x, y): (f64, f64), size: f64, text: &str) {
        let _ = write!(
            self.body,
            "<text transform=\"translate({} {}) rotate(-90)\" text-anchor=\"middle\" font-size=\"{}\" fill=\"{}\">{}</text>",
            n(x),
            n(y),
            n(size),
            self.ground.ink,
            svg(text)
        );
    }

    fn stroked(&mut self, path: &str, colour: &str, width: &str, more: &str) {
        let _ =
            write!(self.body, "<path d=\"{path}\" stroke=\"{colour}\" stroke-width=\"{width}\"{more} fill=\"none\"/>");
    }

    fn circle(&mut self, (x, y): (f64, f64), fill: &str, stroke: &str, width: f64) {
        let (x, y, radius, width) = (n(x), n(y), n(self.size() * 0.28), self.stroke(width));
        let _ = write!(
            self.body,
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{radius}\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"{width}\"/>"
        );
    }

    fn axes(&mut self, panel: &Panel, frame: &Frame, upright: bool, shared: bool, margin: f64, most_label: f64) {
        let size = self.size();
        let small = self.small();
        let Frame { left, right, top, bottom, x, y } = frame;
        let ([grid, axis, muted], label) =
            ([self.ground.grid, self.ground.axis, self.ground.muted], title(&panel.y, y));
        // What the panel shows, or the title of the upright axis, above it.
        let heading = heading(&panel.title, if upright { "" } else { &label });
        let mut room = right - margin;
        if let Some(series) = cells(panel) {
            room -= self.colour_bar(series, *right, top - size * 0.75);
        }
        if !heading.is_empty() {
            let text = fitted(&name(&heading), size, room - size);
            self.text(margin, top - size * 0.75, &text, Anchor::Start, muted, size);
        }
        if upright && !label.is_empty() {
            let text = fitted(&label, size, bottom - top + size * 2.0);
            self.text_upwards((margin + size * 0.8, (top + bottom) / 2.0), size, &text);
        }
        let most = (bottom - top) / (size * 1.2);
        let width_of_line = self.stroke(0.8);
        let mut lines = String::new();
        for (value, text) in ticks(&panel.y, y, most) {
            let at = y.at(value);
            if panel.y.scale != Scale::Band {
                let _ = write!(lines, "M{} {}H{}", n(*left), n(at), n(*right));
            }
            let text = fitted(&name(&text), small, most_label);
            self.text(left - size * 0.45, at + small * 0.35, &text, Anchor::End, muted, small);
        }
        let wide = if panel.x.scale == Scale::Band { 1.0 } else { size * 5.0 };
        let (level, mut last) = (panel.y.scale == Scale::Band, f64::NEG_INFINITY);
        self.open("ticks", String::new);
        for (value, text) in ticks(&panel.x, x, (right - left) / wide) {
            let at = x.at(value);
            if level && panel.x.scale != Scale::Band && cells(panel).is_none() {
                let _ = write!(lines, "M{} {}V{}", n(at), n(*top), n(*bottom));
            } else if panel.x.scale != Scale::Band {
                let _ = write!(lines, "M{} {}v{}", n(at), n(*bottom), n(size * 0.3));
            }
            // Few names are cut to their places; of many, some are left out.
            let few = panel.x.scale == Scale::Band && panel.x.bands.len() <= 12;
            let room = if few { x.band() - size * 0.5 } else { (right - left) / 2.0 };
            let text = fitted(&name(&text), small, room);
            let half = width(&text, small) / 2.0;
            // Texts that would touch are left out.
            if at - half > last {
                self.text(at, bottom + size * 1.2, &text, Anchor::Middle, muted, small);
                last = at + half + size * 0.4;
            }
        }
        self.close();
        self.stroked(&lines, grid, &width_of_line, "");
        let base = if level { format!("M{} {}V{}", n(*left), n(*top), n(*bottom)) } else { String::new() };
        let frame = format!("M{} {}H{}{base}", n(*left), n(*bottom), n(*right));
        self.stroked(&frame, axis, &self.stroke(1.0), "");
        if !shared && !panel.x.label.is_empty() {
            let text = fitted(&title(&panel.x, x), size, right - left);
            let colour = if upright { self.ground.ink } else { muted };
            self.text((left + right) / 2.0, bottom + size * 2.6, &text, Anchor::Middle, colour, size);
        }
    }

    fn marks(&mut self, panel: &Panel, frame: &Frame) {
        let groups = panel.series.iter().filter(|s| s.mark == Mark::Bar).count();
        let (mut group, mut sums) = (0, Vec::new());
        for (place, series) in panel.series.iter().enumerate() {
            let style = palette::of(&series.style, place);
            let table = self.table;
            self.open("series", || carried::series(series, &panel.series, table));
            match series.mark {
                Mark::Line | Mark::Step => self.line(series, frame, style),
                Mark::Point => self.points(series, frame, style),
                Mark::Bar => {
                    self.bars(panel, series, frame, style, group, groups);
                    group += 1;
                }
                Mark::Stack => self.stack(panel, series, frame, style, &mut sums),
                Mark::Area => self.area(series, frame, style),
                Mark::Cell => self.cells(panel, series, frame, style),
                Mark::Interval => self.intervals(series, frame, style),
                Mark::Text => self.texts(series, frame, style),
            }
            self.close();
        }
    }

    fn line(&mut self, series: &Series, frame: &Frame, style: Style) {
        let path = path(series, frame);
        let dashes = if style.dashes.is_empty() {
            String::new()
        } else {
            let scaled = style.dashes.split(' ').filter_map(|dash| dash.parse::<f64>().ok());
            let scaled: Vec<String> = scaled.map(|dash| n(dash * self.size() / 13.0)).collect();
            format!(" stroke-dasharray=\"{}\"", scaled.join(" "))
        };
        // Many lines that are only the ground for others are thin.
        let width = self.stroke(if series.style == "rest" { 0.6 } else { 1.8 });
        self.stroked(&path, self.colour(style), &width, &format!("{dashes} stroke-linejoin=\"round\""));
        // A point alone has no line.
        if series.points.iter().filter(|point| finite(point)).count() == 1 {
            self.points(series, frame, style);
        }
    }

    fn points(&mut self, series: &Series, frame: &Frame, style: Style) {
        let hollow = matches!(series.style.as_str(), "open" | "same");
        let fill = if hollow { self.ground.page } else { self.colour(style) };
        let stroke = if hollow { self.colour(style) } else { self.ground.ink };
        for point in series.points.iter().filter(|point| finite(point)) {
            let at = (frame.x.at(point[0]), frame.y.at(point[1]));
            self.circle(at, fill, stroke, if hollow { 1.4 } else { 0.7 });
        }
    }

    /// Rectangles of a series as one path.
    fn rectangles(&mut self, path: &str, style: Style, outline: bool) {
        if path.is_empty() {
            return;
        }
        let fill = self.fill(style);
        let stroke = if outline {
            format!(" stroke=\"{}\" stroke-width=\"{}\"", self.ground.ink, self.stroke(0.7))
        } else {
            String::new()
        };
        let _ = write!(self.body, "<path d=\"{path}\" fill=\"{fill}\"{stroke}/>");
    }

    fn bars(&mut self, panel: &Panel, series: &Series, frame: &Frame, style: Style, group: usize, groups: usize) {
        let (mut path, mut errors) = (String::new(), String::new());
        for point in series.points.iter().filter(|point| finite(point)) {
            if panel.y.scale == Scale::Band {
                let each = frame.y.band() * 0.76 / groups.max(1) as f64;
                let top = frame.y.at(point[1]) - frame.y.band() * 0.38 + each * group as f64;
                rectangle(&mut path, frame.x.at(0.0), top, frame.x.at(point[0]), top + each);
                continue;
            }
            let (from, to) = match (panel.x.scale, series.width) {
                (Scale::Band, _) => {
                    let each = frame.x.band() * 0.76 / groups.max(1) as f64;
                    let from = frame.x.at(point[0]) - frame.x.band() * 0.38 + each * group as f64;
                    (from, from + each)
                }
                (_, width) => (frame.x.at(point[0]), frame.x.at(point[0] + width.unwrap_or(1.0))),
            };
            rectangle(&mut path, from, frame.y.at(point[1]), to, frame.y.at(0.0));
            if let [_, _, low, high] = point[..] {
                let width = (self.size() * 0.5).min((to - from) * 0.6);
                whisker(&mut errors, (from + to) / 2.0, frame.y.at(low), frame.y.at(high), width);
            }
        }
        self.rectangles(&path, style, true);
        if !errors.is_empty() {
            let (ink, line) = (self.ground.ink, self.stroke(0.9));
            self.stroked(&errors, ink, &line, "");
        }
    }

    fn stack(&mut self, panel: &Panel, series: &Series, frame: &Frame, style: Style, sums: &mut Vec<(f64, f64)>) {
        let mut path = String::new();
        let level = panel.y.scale == Scale::Band;
        for point in series.points.iter().filter(|point| finite(point)) {
            let (key, value) = if level { (point[1], point[0]) } else { (point[0], point[1]) };
            let place = sums.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
                sums.push((key, 0.0));
                sums.len() - 1
            });
            let from = sums[place].1;
            sums[place].1 += value;
            if value == 0.0 {
                continue;
            }
            let to = sums[place].1;
            if level {
                let half = frame.y.band() * 0.36;
                let middle = frame.y.at(key);
                rectangle(&mut path, frame.x.at(from), middle - half, frame.x.at(to), middle + half);
            } else {
                let half = frame.x.band() * 0.36;
                let middle = frame.x.at(key);
                rectangle(&mut path, middle - half, frame.y.at(to), middle + half, frame.y.at(from));
            }
        }
        self.rectangles(&path, style, true);
    }

    fn area(&mut self, series: &Series, frame: &Frame, style: Style) {
        let points: Vec<&Vec<f64>> = series.points.iter().filter(|point| finite(point)).collect();
        if points.is_empty() {
            return;
        }
        let upper = points.iter().map(|p| (frame.x.at(p[0]), frame.y.at(p[2])));
        let lower = points.iter().rev().map(|p| (frame.x.at(p[0]), frame.y.at(p[1])));
        let path: Vec<String> = upper.chain(lower).map(|(x, y)| format!("{} {}", n(x), n(y))).collect();
        // Bands overlap: patterns would hide each other.
        let fill = self.colour(style);
        let _ = write!(self.body, "<path d=\"M{}z\" fill=\"{fill}\" fill-opacity=\"0.25\"/>", path.join("L"));
    }

    /// A heat map. Places are counted in cells and scaled: that takes half the bytes, and neighbours meet exactly.
    fn cells(&mut self, panel: &Panel, series: &Series, frame: &Frame, style: Style) {
        if series.value.is_none() {
            return self.patterned(panel, series, frame, style);
        }
        let (range, ramp) = (cell_range(series), palette::ramp(&series.style));
        let step_of = |point: &[f64]| cell_step(series, point[2], range);
        let width = series.width.unwrap_or(1.0);
        let mut paths: Vec<String> = vec![String::new(); STEPS];
        let (left, top) = (corner(&panel.x, &frame.x), corner(&panel.y, &frame.y));
        let most = (frame.x.high - frame.x.low) / width;
        let mut points = series.points.iter().filter(|point| finite(point)).peekable();
        while let Some(point) = points.next() {
            let step = step_of(point);
            let mut end = point[0] + width;
            // Equal neighbours are one rectangle.
            while let Some(next) = points.next_if(|next| next[1] == point[1] && next[0] == end && step_of(next) == step)
            {
                end = next[0] + width;
            }
            let (from, to) = ((point[0] - left) / width, ((end - left) / width).min(most));
            let _ = write!(paths[step], "M{} {}h{}", n(from), n(point[1] - top), n(to - from));
        }
        let scale = |axis: &Placed| (axis.to - axis.from) / (axis.high - axis.low);
        let exact = |value: f64| crate::scale::plain(value, 6).replace(',', "").replace('−', "-");
        // A row is a line one row wide; that takes half the bytes of rectangles.
        let _ = write!(
            self.body,
            "<g transform=\"translate({} {})scale({} {})\" shape-rendering=\"crispEdges\">",
            n(frame.x.from),
            n(frame.y.from + scale(&frame.y) / 2.0),
            exact(scale(&frame.x) * width),
            exact(scale(&frame.y))
        );
        for (step, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            let colour = ramp.colour(step, self.look.theme == Theme::Dark);
            let _ = write!(self.body, "<path d=\"{path}\" stroke=\"{colour}\"/>");
        }
        self.body.push_str("</g>");
    }

    /// Cells without a value have the paint of their style.
    fn patterned(&mut self, panel: &Panel, series: &Series, frame: &Frame, style: Style) {
        let (mut path, width) = (String::new(), series.width.unwrap_or(1.0));
        let half = |axis: &Axis| if axis.scale == Scale::Band { 0.5 } else { 0.0 };
        let (across, down) = (half(&panel.x), half(&panel.y));
        for point in series.points.iter().filter(|point| finite(point)) {
            let (from, top) = (point[0] - across, point[1] - down);
            rectangle(&mut path, frame.x.at(from), frame.y.at(top), frame.x.at(from + width), frame.y.at(top + 1.0));
        }
        self.rectangles(&path, style, true);
    }

    fn colour_bar(&mut self, series: &Series, right: f64, base: f64) -> f64 {
        let size = self.small();
        let (low, high) = cell_range(series);
        let axis = series.value.clone().unwrap_or_default();
        let placed = Placed::new(&axis.clone().within(low, high), None, false);
        let scale = if axis.scale == Scale::Log { Scale::Log } else { Scale::Linear };
        let ends = Axis { ticks: vec![low, high], scale, ..axis.clone() };
        let texts = ticks(&ends, &placed, 2.0);
        let (first, last) = (texts.first().map_or("", |t| &t.1), texts.last().map_or("", |t| &t.1));
        let name = title(&axis, &placed);
        let step = size * 0.55;
        let mut at = right - width(last, size);
        self.text(at, base, last, Anchor::Start, self.ground.muted, size);
        at -= size * 0.4 + step * STEPS as f64;
        let ramp = palette::ramp(&series.style);
        for i in 0..STEPS {
            let colour = ramp.colour(i, self.look.theme == Theme::Dark);
            let _ = write!(
                self.body,
                "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{colour}\"/>",
                n(at + step * i as f64),
                n(base - size * 0.75),
                n(step),
                n(size * 0.8)
            );
        }
        let text = format!("{name}  {first}");
        at -= size * 0.4 + width(&text, size);
        self.text(at, base, &text, Anchor::Start, self.ground.muted, size);
        right - at
    }

    fn intervals(&mut self, series: &Series, frame: &Frame, style: Style) {
        let mut path = String::new();
        let half = frame.y.band() * series.width.unwrap_or(0.8) / 2.0;
        for point in series.points.iter().filter(|point| finite(point)) {
            let (from, to) = (frame.x.at(point[1]), frame.x.at(point[2]));
            let middle = frame.y.at(point[0]);
            // What is too short to be seen is drawn as short as can be.
            rectangle(&mut path, from, middle - half, to.max(from + 0.3), middle + half);
        }
        self.rectangles(&path, style, false);
    }

    fn texts(&mut self, series: &Series, frame: &Frame, style: Style) {
        let size = self.small();
        for (point, text) in series.points.iter().zip(&series.labels).filter(|(point, _)| finite(point)) {
            let (x, y) = (frame.x.at(point[0]) + size * 0.6, frame.y.at(point[1]) + size * 0.35);
            let text = name(text);
            let colour = if series.style.is_empty() { self.ground.muted } else { self.colour(style) };
            if let Some(width) = series.width {
                self.text(frame.x.at(point[0] + width / 2.0), y, &text, Anchor::Middle, colour, size);
                continue;
            }
            let wide = width(&text, size);
            let (x, anchor) = if x + wide > frame.right { (x - size * 1.2, Anchor::End) } else { (x, Anchor::Start) };
            self.text(x, y, &text, anchor, colour, size);
        }
    }

    fn text(&mut self, x: f64, y: f64, text: &str, anchor: Anchor, colour: &str, size: f64) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let size = if size == self.size() { String::new() } else { format!(" font-size=\"{}\"", n(size)) };
        let fill = if colour == self.ground.ink { String::new() } else { format!(" fill=\"{colour}\"") };
        let _ = write!(self.body, "<text x=\"{}\" y=\"{}\"{anchor}{size}{fill}>{}</text>", n(x), n(y), svg(text));
    }

    fn colour(&self, style: Style) -> &'static str {
        if self.look.theme == Theme::Dark { style.dark } else { style.light }
    }

    fn fill(&mut self, style: Style) -> String {
        let colour = self.colour(style);
        if style.pattern == Pattern::Solid {
            return colour.into();
        }
        self.patterns.insert((colour, style.pattern));
        format!("url(#{})", self.pattern_id(colour, style.pattern))
    }

    /// The figure's name with letters, digits and dashes alone.
    fn plain_id(&self) -> String {
        self.id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
    }

    fn pattern_id(&self, colour: &str, pattern: Pattern) -> String {
        let plain = self.plain_id();
        format!("{plain}-{}-{}", &colour[1..], format!("{pattern:?}").to_lowercase())
    }

    fn defs(&self, out: &mut String) {
        if self.patterns.is_empty() {
            return;
        }
        out.push_str("<defs>");
        for (colour, pattern) in &self.patterns {
            let line = match pattern {
                Pattern::Solid => "",
                Pattern::Rising => "M-1 1L1-1M0 6L6 0M5 7L7 5",
                Pattern::Falling => "M-1 5L1 7M0 0L6 6M5-1L7 1",
                Pattern::Level => "M0 1.5H6M0 4.5H6",
                Pattern::Dots => "M1 1.5h1.4M4 4.5h1.4",
                Pattern::Crossed => "M0 0L6 6M0 6L6 0",
            };
            // Light lines on the two dark colours, dark lines on the others.
            let over = if matches!(*colour, "#0072b2" | "#000000") { "#fefefe" } else { "#111111" };
            let weight = if *pattern == Pattern::Dots { "1.4" } else { "0.9" };
            let _ = write!(
                out,
                "<pattern id=\"{}\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\"><rect width=\"6\" height=\"6\" fill=\"{colour}\"/><path d=\"{line}\" stroke=\"{over}\" stroke-width=\"{weight}\" fill=\"none\"/></pattern>",
                self.pattern_id(colour, *pattern)
            );
        }
        out.push_str("</defs>");
    }

    /// Entries of the legend: none where one series needs no name.
    fn legend(&self, figure: &Figure) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for panel in &figure.panels {
            for (place, series) in panel.series.iter().enumerate() {
                let ramp = series.mark == Mark::Cell && series.value.is_some();
                let shown = !ramp && series.mark != Mark::Text && !series.name.is_empty();
                if shown && !entries.iter().any(|entry| entry.text == series.name) {
                    let style = palette::of(&series.style, place);
                    let mark = series.mark;
                    let hollow = matches!(series.style.as_str(), "open" | "same");
                    entries.push(Entry { text: name(&series.name), style, mark, hollow });
                }
            }
        }
        // One line needs no name; cells without a value do.
        let told = entries.len() > 1 || entries.iter().any(|entry| entry.mark == Mark::Cell);
        if told { entries } else { Vec::new() }
    }

    fn legend_rows<'e>(&self, entries: &'e [Entry], room: f64) -> Vec<Vec<&'e Entry>> {
        let mut rows: Vec<Vec<&Entry>> = Vec::new();
        let mut used = f64::INFINITY;
        for entry in entries {
            let wide = self.entry_width(entry);
            if used + wide > room {
                rows.push(Vec::new());
                used = 0.0;
            }
            used += wide;
            if let Some(row) = rows.last_mut() {
                row.push(entry);
            }
        }
        rows
    }

    fn entry_width(&self, entry: &Entry) -> f64 {
        let size = self.small();
        width(&fitted(&entry.text, size, self.look.width * 0.6), size) + self.size() * 3.4
    }

    fn draw_legend(&mut self, rows: &[Vec<&Entry>], left: f64, top: f64) {
        let size = self.size();
        let small = self.small();
        let mut y = top;
        self.open("legend", || n(rows.len() as f64 * size * 1.5));
        for row in rows {
            y += size * 1.5;
            let mut x = left;
            for entry in row {
                let middle = y - small * 0.33;
                // The name, and the corner of a sign of two em by one.
                let corner = [n(x), n(middle - size * 0.5)];
                self.open("entry", || attribute(&json!([entry.text, corner[0], corner[1]])));
                match entry.mark {
                    Mark::Line | Mark::Step => {
                        let dashes = if entry.style.dashes.is_empty() {
                            String::new()
                        } else {
                            format!(" stroke-dasharray=\"{}\"", entry.style.dashes)
                        };
                        let path = format!("M{} {}h{}", n(x), n(middle), n(size * 1.9));
                        self.stroked(&path, self.colour(entry.style), &self.stroke(1.8), &dashes);
                    }
                    Mark::Point => {
                        let colour = self.colour(entry.style);
                        let fill = if entry.hollow { self.ground.page } else { colour };
                        self.circle((x + size * 0.95, middle), fill, colour, 1.4);
                    }
                    _ => {
                        let mut path = String::new();
                        rectangle(
                            &mut path,
                            x + size * 0.5,
                            middle - small * 0.42,
                            x + size * 1.9,
                            middle + small * 0.42,
                        );
                        self.rectangles(&path, entry.style, true);
                    }
                }
                let text = fitted(&entry.text, small, self.look.width * 0.6);
                self.text(x + size * 2.3, y, &text, Anchor::Start, self.ground.ink, small);
                self.close();
                x += self.entry_width(entry);
            }
        }
        self.close();
    }

    /// A corner of a panel in which a legend covers no mark.
    fn room(&self, panel: &Panel, frame: &Frame, legend: &[Entry]) -> Option<(f64, f64)> {
        let lines = panel.series.iter().all(|s| matches!(s.mark, Mark::Line | Mark::Step | Mark::Point));
        if !lines {
            return None;
        }
        let size = self.size();
        let wide = legend.iter().map(|entry| self.entry_width(entry)).fold(0.0, f64::max);
        let high = legend.len() as f64 * size * 1.5 + size * 0.6;
        let pad = size * 0.4;
        let places: Vec<(f64, f64)> = panel.series.iter().flat_map(|series| dense(series, frame)).collect();
        let corners = [
            (frame.left + pad, frame.top),
            (frame.right - wide, frame.top),
            (frame.right - wide, frame.bottom - high),
            (frame.left + pad, frame.bottom - high),
        ];
        let free = |(x, y): &(f64, f64)| {
            wide < frame.right - frame.left
                && !places.iter().any(|(px, py)| *px >= *x && *px <= x + wide && *py >= *y && *py <= y + high)
        };
        corners.into_iter().find(free)
    }
}

struct Entry {
    text: String,
    style: Style,
    mark: Mark,
    hollow: bool,
}
