//! The simulator core.
