//! What goes from clients to the drive, and back.

use std::sync::mpsc::Sender;
use std::time::Instant;

use serde_json::Value as Json;

use crate::order::Order;
use crate::wire::{Command, Errno};

/// A request of a client that the drive is to serve.
#[derive(Debug)]
pub(crate) struct Asked {
    pub(crate) command: Command,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    pub(crate) fua: bool,
    pub(crate) data: Vec<u8>,
    /// The era of its connection ([`crate::connections::Connections::era`]).
    pub(crate) era: u64,
    pub(crate) back: Return,
}

/// A message to the thread of the drive.
#[derive(Debug)]
pub(crate) enum Message {
    /// Serve a request.
    Request(Asked),
    /// Finish what is there, without waiting for the clock, and end when all clients have left.
    Stop,
    /// Do as told, and answer.
    Control(Order, Sender<Json>),
}

/// A reply on its way to its client.
pub(crate) struct Reply {
    pub(crate) cookie: u64,
    pub(crate) error: Option<Errno>,
    pub(crate) data: Vec<u8>,
    /// Whether earlier writes are to be on the file first.
    pub(crate) syncs: bool,
    /// When it is to leave, if replies wait for their time.
    pub(crate) due: Option<Instant>,
    /// What it gives back to the client's budget.
    pub(crate) budget_bytes: u64,
}

/// Where the reply of a request goes.
#[derive(Debug)]
pub(crate) struct Return {
    pub(crate) cookie: u64,
    pub(crate) budget_bytes: u64,
    pub(crate) to: Sender<Reply>,
}

impl Return {
    /// Sends the reply. A client that has left gets none.
    pub(crate) fn send(self, error: Option<Errno>, data: Vec<u8>, syncs: bool, due: Option<Instant>) {
        let Return { cookie, budget_bytes, to } = self;
        let _ = to.send(Reply { cookie, error, data, syncs, due, budget_bytes });
    }
}
