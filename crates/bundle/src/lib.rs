//! A study with its records, tables and figures in one file that reviewers can check offline.
//!
//! | question | module |
//! | --- | --- |
//! | What may a path inside be, and where do the files of a study go? | [`paths`] |
//! | What does a bundle say of itself? | [`manifest`] |
//! | How does the file guard each of its bits? | [`seal`] |
//! | How is the archive written and read? | [`pack`], [`unpack`] |
//! | Which files does a study name, and where are its traces? | [`named`], [`traces`] |
//! | Which policies written in Python do its runs have, and what runs them? | [`policies`], [`code`] |
//! | How is one made? | [`make`] over [`figures`] and [`words`] |
//! | How is one checked? | [`verify`] over [`choose`] and [`compare`] |

#![deny(clippy::print_stdout, clippy::print_stderr, clippy::exit)]

pub mod choose;
pub mod code;
pub mod compare;
pub mod figures;
pub mod make;
pub mod manifest;
pub mod named;
pub mod pack;
pub mod paths;
pub mod policies;
pub mod seal;
pub mod traces;
pub mod unpack;
pub mod verify;
pub mod words;
