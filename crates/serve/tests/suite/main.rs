//! Tests of the server, through its socket: this suite's own client, and real ones.
#![allow(missing_docs)]

mod bench;
mod control;
mod data;
mod layers;
mod nbd;
mod protocol;
mod real;
mod times;
