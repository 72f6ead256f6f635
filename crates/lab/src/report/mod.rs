//! Reports and figures: from the files of runs to one page, or to one figure.
//!
//! [`inputs`] reads results and joins those of one run, [`charts`] turns them into figures, [`page`] into a page that needs nothing
//! but itself.

pub mod causes;
pub mod charts;
pub mod design;
pub mod explain;
pub mod histogram;
pub mod inputs;
pub mod json;
pub mod page;
pub mod product;
pub mod rank;
pub mod sound;
pub mod summaries;
pub mod sweep;
pub mod table;
pub mod timeline;
pub mod told;
pub mod whatif;
pub mod words;
pub mod worked;
