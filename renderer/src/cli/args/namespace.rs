//! The flags for the release's namespace.

use std::path::PathBuf;

use clap::{Args, ValueHint};

/// The namespace, or where it is found.
#[derive(Args, Debug, Clone, Default)]
pub(crate) struct NamespaceFlags {
    /// The release's namespace; else HELM_NAMESPACE, else that of the kubeconfig's context, else `default`
    #[arg(short = 'n', long, value_name = "NAME")]
    pub(crate) namespace: Option<String>,
    /// The kubeconfig whose context has the namespace; else KUBECONFIG, else ~/.kube/config
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context, for its namespace; else HELM_KUBECONTEXT, else the current one
    #[arg(long, alias = "context", value_name = "NAME")]
    pub(crate) kube_context: Option<String>,
}
