//! Page types and the variation of array times: what follows from their keys, and their rules.

use super::error::refuse;
use super::{Config, ConfigError, PageOrder, Programming};
use crate::device::timing::WORD_LINE;
use crate::units::Ppm;

/// Most page types of a word line whose pages have names.
const MOST_NAMED: u32 = 4;
/// Largest standard deviation of layers: the factor of every layer stays above 0.
const MOST_LAYER: Ppm = Ppm(700_000);

impl Config {
    /// Number of page types: the least that distinguishes all entries of `timing.read` and `timing.program`, and the pages of a
    /// one-shot program.
    pub fn page_types(&self) -> u32 {
        let one_shot = if self.wear.programming == Programming::OneShot { WORD_LINE } else { 1 };
        let counts = [self.timing.read.types().len(), self.timing.program.types().len(), one_shot];
        let types = counts.into_iter().fold(1u64, |all, count| lcm(all, count as u64));
        types.min(u64::from(self.geometry.pages_per_block)) as u32
    }

    /// Names of the page types, in their order.
    pub fn page_type_names(&self) -> Vec<String> {
        let types = self.page_types();
        let names: &[&str] = match (self.geometry.page_order, types) {
            (PageOrder::Cyclic, _) => return (0..types).map(|kind| kind.to_string()).collect(),
            (_, 2) => &["LSB", "MSB"],
            _ => &["LSB", "CSB", "MSB", "TSB"],
        };
        names.iter().take(types as usize).map(ToString::to_string).collect()
    }

    /// Whether results are also given by page type.
    pub fn reports_page_types(&self) -> bool {
        self.geometry.page_order != PageOrder::Cyclic || self.timing.variation.exists()
    }

    /// Checks page types and variation, after the lists of times.
    pub(super) fn check_pages(&self) -> Result<(), ConfigError> {
        let (order, layer) = (self.geometry.page_order, self.timing.variation.layer);
        if layer > MOST_LAYER {
            let least = 1.0 - layer.as_f64() * std::f64::consts::SQRT_2;
            let message =
                format!("the fastest layer would take 1 - {} x sqrt(2) = {least:.3} times as long", layer.as_f64());
            return refuse("timing.variation.layer", message, "use at most 0.7");
        }
        if order == PageOrder::Cyclic {
            return Ok(());
        }
        let (key, types, pages) = ("geometry.page_order", self.page_types(), self.geometry.pages_per_block);
        for (list, times) in [("timing.read", &self.timing.read), ("timing.program", &self.timing.program)] {
            let count = times.types().len() as u32;
            if count > 1 && count != types || types > MOST_NAMED {
                let message = format!("{count} times by page type, but word lines have {types} pages");
                let help = "list 1 time, or one for each of 2, 3 or 4 pages of a word line; or use geometry.page_order = \"cyclic\"";
                return refuse(list, message, help);
            }
        }
        if order == PageOrder::Shadow {
            if !pages.is_multiple_of(types) {
                let message = format!("{pages} pages per block are not whole word lines of {types}");
                return refuse(
                    key,
                    message,
                    format!("use geometry.pages_per_block = a multiple of {types}, or \"wordline\""),
                );
            }
            if self.wear.programming == Programming::OneShot {
                let message = "one-shot programming programs the pages of a word line together".to_string();
                return refuse(key, message, "use \"wordline\", or wear.programming = \"page\"");
            }
        }
        Ok(())
    }
}

/// Least common multiple of two counts above 0.
fn lcm(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x * b
}
