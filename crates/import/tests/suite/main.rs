//! Files of other simulators: every key, and that what they become runs.

mod import;
mod import_keys;
