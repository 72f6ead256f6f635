//! Figures and pages against kept ones and against the numbers they are made of.

#[path = "../../../lab/tests/suite/common.rs"]
mod common;
mod reports;
mod studies;

use common::{run, tiny};
