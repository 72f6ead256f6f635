//! All external tests of the simulator, one module per subject, in one program: it links once, and its tests share the cores.
//! `cargo test -p ssdlab-sim --test suite worlds::` runs one module.

mod attribution;
mod brr;
mod cache;
mod combinations;
mod common;
mod determinism;
mod die_queue;
mod dpr;
mod failures;
mod fastgc;
mod formulas;
mod fusing;
mod gc_timing;
mod idle_chip;
mod idle_time;
mod instructions;
mod layers;
mod measuring;
mod model;
mod next_free;
mod noc;
mod observe;
mod pagc;
mod partial;
mod power;
mod queueing;
mod recordings;
mod scattered;
mod semantics;
mod super_page;
mod theory;
mod timing;
mod uncorrectable;
mod watching;
mod worlds;
