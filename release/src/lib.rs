//! What a release is made of beside the programs, their archives and packages: container images as an OCI layout, the
//! predicate of the provenance, and the Homebrew formula. Never shipped.
//!
//! Everything is a pure function of files and names: the same input gives the same bytes. `release/pack` calls the
//! program; the test bed takes the images for its nodes.

pub mod formula;
pub mod image;
pub mod layout;
pub mod provenance;
pub mod tree;
