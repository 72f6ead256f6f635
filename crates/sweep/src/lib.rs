//! Design-space exploration that survives kills: a study names points, a store remembers runs by their keys, and everything else
//! is scheduling.
//!
//! | question | module |
//! | --- | --- |
//! | What does a study file say? | [`study`] over [`text`], [`axis`] and [`draw`] |
//! | Which points and runs are there, and what is the key of a run? | [`points`], [`key`] |
//! | What does a store have? | [`store`], written through [`disk`]; [`status`] |
//! | What will it cost? | [`cost`] |
//! | Who runs what? | [`shards`], [`execute`]; one run is [`job`], [`attempt`]; as a text for other processes, [`task`] |
//! | How do processes share filled devices? | [`fillings`] |
//! | Which results are there? | [`table`] over [`figures`] |
//! | What do many volumes say together? | [`fleet`] |
//! | Are they right, and which may go? | [`verify`], [`clean`] |
//! | What do results of several runs sum to, and how is a trace divided by volume? | [`merge`], [`split`] |

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod attempt;
pub mod axis;
pub mod clean;
pub mod cost;
pub mod disk;
pub mod draw;
pub mod execute;
pub mod figures;
pub mod fillings;
pub mod fleet;
pub mod job;
pub mod keep;
pub mod key;
pub mod merge;
pub mod plan;
pub mod points;
pub mod schema;
pub mod shards;
pub mod split;
pub mod status;
pub mod store;
pub mod study;
pub mod submit;
pub mod table;
pub mod task;
pub mod text;
pub mod verify;
