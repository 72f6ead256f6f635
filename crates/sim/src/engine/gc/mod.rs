//! GC: planes are due (`claims`), victims are chosen (`victims`) and collected (`collect`, `jobs`, `copies`, `single`), also to other planes (`abroad`);
//! what else planes do goes beside (`beside`). Dies are collected in idle time (`idle`), collections make way for the host (`preempt`), and copies inside a die are
//! limited and counted (`copyback`).

pub(in crate::engine) mod abroad;
pub(in crate::engine) mod beside;
pub(in crate::engine) mod claims;
pub(in crate::engine) mod collect;
pub(in crate::engine) mod copies;
pub(in crate::engine) mod copyback;
pub(in crate::engine) mod idle;
pub(in crate::engine) mod jobs;
pub(in crate::engine) mod preempt;
pub(in crate::engine) mod single;
pub(in crate::engine) mod victims;
