//! Figures as plain values, and their one renderer.
//!
//! A [`figure::Figure`] holds marks, scales, units, notes and a table. [`svg::draw`] turns it into SVG that needs no style sheet and
//! no script, [`figure::Figure::json`] and [`figure::Figure::csv`] into data for other tools. The same value gives the same bytes on
//! every machine. Nothing here reads or writes a file.
//!
//! ```
//! use ssdlab_figures::figure::{Axis, Figure, Mark, Panel, Scale, Series, Unit};
//! use ssdlab_figures::svg::{Look, draw};
//!
//! let latency = Axis::new("latency", Unit::Nanoseconds, Scale::Log);
//! let panel = Panel {
//!     x: Axis::new("requests", Unit::One, Scale::Linear),
//!     y: latency,
//!     series: vec![Series::new("read", Mark::Line, vec![vec![1.0, 55_120.0], vec![2.0, 110_240.0]])],
//!     ..Panel::default()
//! };
//! let figure = Figure { id: "example".into(), panels: vec![panel], ..Figure::default() };
//! assert!(draw(&figure, &Look::default()).starts_with("<svg xmlns="));
//! ```
//!
//! | question | module |
//! | --- | --- |
//! | What is in a figure? | [`figure`] |
//! | How does text from a file get into HTML, SVG and scripts? | [`escape`] |
//! | Which colour and pattern has a cause? | [`palette`] |
//! | How wide is a text? | [`font`] |
//! | Where are ticks, and how are they labelled? | [`scale`] |
//! | How is it drawn? | [`svg`] |

mod carried;
pub mod escape;
pub mod figure;
pub mod font;
pub mod palette;
pub mod scale;
mod shape;
pub mod svg;
