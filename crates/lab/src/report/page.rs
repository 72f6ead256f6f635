//! The report: one page that needs nothing but itself.

use crate::error::Result;
use crate::report::inputs::Inputs;

/// How a page looks.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Without scripts.
    pub lite: bool,
}

/// A page, and what was left out of it.
pub struct Written {
    /// Its bytes.
    pub html: String,
    /// What was left out to keep it small.
    pub remarks: Vec<String>,
}

/// Writes the page.
///
/// # Errors
/// None yet.
pub fn write(_inputs: &Inputs, _page: &Page) -> Result<Written> {
    Ok(Written { html: String::new(), remarks: Vec::new() })
}
