//! Many runs, and the figures that compare them.

pub mod axes;
pub mod comparison;
pub mod figures;
pub mod points;
pub mod student;
pub mod tenants;
pub mod text;
