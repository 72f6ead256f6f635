//! Words of a paper.

use serde::Deserialize;

/// The words of a paper: a section and a sentence of it; both empty where a figure or a table says enough.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Source {
    pub(crate) section: &'static str,
    pub(crate) sentence: &'static str,
}
