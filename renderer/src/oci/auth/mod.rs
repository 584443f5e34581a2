//! Authentication: challenges of registries, and the credentials that answer them.
//!
//! Nothing here sends a request to a registry; [`client`](super::client) does.

pub(in crate::oci) mod challenge;
pub mod credentials;
pub(in crate::oci) mod helper;
pub(in crate::oci) mod json_file;
