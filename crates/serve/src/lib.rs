//! A simulated SSD as a block device: an NBD server whose replies leave when the simulated drive would have completed the request.
//!
//! Data is kept for real, in memory or in a file; the simulator decides only *when*. One thread owns the drive and the clock. Each
//! client has two: one reads its requests, one writes its replies, so a client that does not read them delays nobody else.
//!
//! Every session is recorded. At its end the recording is replayed by the library that `ssdlab run` uses, which writes the results,
//! and the latencies of both are compared to the nanosecond.
//!
//! The protocol is that of <https://github.com/NetworkBlockDevice/nbd/blob/master/doc/proto.md>: fixed newstyle handshake, simple
//! replies.

mod budget;
mod client;
mod clock;
mod connections;
mod control;
mod data;
mod drive;
mod effects;
mod handshake;
mod lag;
mod message;
mod order;
mod record;
mod server;
mod socket;
pub mod wire;

pub use clock::Speed;
pub use handshake::handshake;
pub use lag::Lag;
pub use server::{Served, Server, Settings, Stopper};
pub use socket::Address;
