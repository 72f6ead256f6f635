//! The control socket (`--control`): orders as lines of JSON, each answered by a line.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::sync::mpsc::{Sender, channel};

use crate::message::Message;
use crate::order::refusal;
use crate::socket::Socket;

/// Longest line of an order, in bytes.
const LONGEST: u64 = 4096;
/// Bytes of a longer line that are read and dropped.
const MOST_DROPPED: u64 = 1 << 20;

/// Serves a connection until it ends.
pub(crate) fn serve(mut socket: Socket, drive: &Sender<Message>) -> io::Result<()> {
    let mut lines = BufReader::new(socket.copy()?);
    loop {
        let mut line = Vec::new();
        lines.by_ref().take(LONGEST).read_until(b'\n', &mut line)?;
        let whole = line.ends_with(b"\n");
        if line.is_empty() {
            return Ok(());
        }
        let answer = match serde_json::from_slice(&line) {
            Ok(order) => {
                let (to, from) = channel();
                let sent = drive.send(Message::Control(order, to)).is_ok();
                match from.recv() {
                    Ok(answer) if sent => answer,
                    _ => refusal("the server ends", "start it again"),
                }
            }
            Err(error) => refusal(
                &format!("this is no order: {error}"),
                "send a line such as {\"cmd\": \"stats\"}; the orders are stats, set, snapshot, restore and power_cut",
            ),
        };
        // In one piece: JSON is written in many.
        socket.write_all(format!("{answer}\n").as_bytes())?;
        if !whole {
            // The rest of a line that is too long would be read as orders. It is dropped, since the answer may be lost where a socket is
            // closed with unread bytes.
            lines.by_ref().take(MOST_DROPPED).skip_until(b'\n')?;
            return Ok(());
        }
    }
}
