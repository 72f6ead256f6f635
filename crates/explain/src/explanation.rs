//! The result as a whole.

use ssdlab_lab::run::RunOutcome;

use crate::method::Findings;
use crate::tries::{Refused, Tried};
use crate::watch::Known;

/// The explanation.
pub struct Explained {
    /// What the requests say.
    pub findings: Findings,
    /// What is known beside them; nothing if they are rows of a file.
    pub known: Option<Known>,
    /// Changes that were tried, the best first.
    pub tried: Vec<Tried>,
    /// Changes that a rule refuses, or whose runs can't be made.
    pub refused: Vec<Refused>,
    /// At most three sentences.
    pub verdict: String,
    /// The run; nothing if its rows came from a file.
    pub done: Option<RunOutcome>,
}
