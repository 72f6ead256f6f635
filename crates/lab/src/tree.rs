//! Configurations, summaries and other plain data as JSON. Other crates take the first two from here, so that this is compiled once.

use serde::Serialize;
use serde_json::Value;
use ssdlab_sim::Config;
use ssdlab_sim::report::Summary;

/// A configuration: every section with every key.
pub fn config(config: &Config) -> Value {
    serde_json::to_value(config).expect("a configuration is plain data")
}

/// A summary: the contract `ssdlab.summary/1`.
pub fn summary(summary: &Summary) -> Value {
    serde_json::to_value(summary).expect("a summary is plain data")
}

/// Plain data as the bytes of a JSON file.
pub fn json(data: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(data).expect("plain data");
    text.push('\n');
    text
}
