//! Capsules of the Arrow C stream interface.
