//! Who we are: what a registry's challenge asks for, and the credentials that answer it.
//!
//! Nothing here sends a request to a registry; [`client`](super::client) does, with what is found here.

pub(in crate::oci) mod challenge;
pub mod credentials;
pub(in crate::oci) mod helper;
pub(in crate::oci) mod json_file;
pub(in crate::oci) mod secret;
