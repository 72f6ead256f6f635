//! A device under study: it goes on under another configuration (`change`, `former`), puts off what it would do (`postpone`), is watched (`watch`), tells a store of data
//! what happens to versions (`versions`), and says how much memory it takes (`footprint`).

pub(in crate::engine) mod change;
pub(in crate::engine) mod footprint;
pub(in crate::engine) mod former;
pub(in crate::engine) mod postpone;
pub(in crate::engine) mod versions;
pub(in crate::engine) mod watch;
