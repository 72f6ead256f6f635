//! Many runs, and what they are compared by.

pub mod axes;
pub mod comparison;
pub mod figures;
pub mod points;
pub mod student;
