//! A cluster that a chart is compared with or applied to.
//!
//! In: the files of a kubeconfig, and objects. Out: what the cluster is and serves, what templates look up in it, and
//! what became of the objects. [`kubeconfig`] and [`credentials`] find the server and who asks; [`client`] sends
//! requests over the registry client's connections; [`served`] is what discovery says; [`objects`] are a chart's, in
//! their order; [`dry_run`] compares, `solar_server_side_apply` applies.
//!
//! It knows nothing of arguments and of how results are printed. What a Secret holds is in no error.

pub(crate) mod client;
pub(crate) mod credentials;
pub(crate) mod dry_run;
pub(crate) mod error;
pub(crate) mod kubeconfig;
pub(crate) mod lookup;
pub(crate) mod objects;
pub(crate) mod served;
