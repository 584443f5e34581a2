//! Helm's commands that are not supported: why, and what to use instead.

use crate::diag::{Class, Diagnostic};

const NO_CLUSTER: &str = "solar-render keeps no releases in clusters";
const NO_RELEASES: &str = NO_CLUSTER;
const INSTALL: &str =
    "`solar-render apply CHART`, which keeps no release, a HelmRelease of Flux, or `helm install`";
const UNINSTALL: &str = "`solar-render template NAME CHART | kubectl delete -f -`, or `helm uninstall`";
const RELEASES: &str = "`helm` and Flux keep releases";

/// A command's name, why it is not supported, and the alternative.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("install", NO_CLUSTER, INSTALL),
    ("upgrade", NO_CLUSTER, INSTALL),
    ("uninstall", NO_RELEASES, UNINSTALL),
    ("delete", NO_RELEASES, UNINSTALL),
    ("del", NO_RELEASES, UNINSTALL),
    ("un", NO_RELEASES, UNINSTALL),
    ("hist", NO_RELEASES, RELEASES),
    ("rollback", NO_RELEASES, RELEASES),
    ("status", NO_RELEASES, RELEASES),
    ("history", NO_RELEASES, RELEASES),
    ("get", NO_RELEASES, RELEASES),
    (
        "list",
        NO_RELEASES,
        "`solar-render tags oci://HOST/PATH` lists a chart's versions; `helm list` lists releases",
    ),
    (
        "ls",
        NO_RELEASES,
        "`solar-render tags oci://HOST/PATH` lists a chart's versions; `helm list` lists releases",
    ),
    ("test", NO_CLUSTER, "`helm test` runs the tests of a release"),
    (
        "diff",
        NO_CLUSTER,
        "`solar-render apply CHART --dry-run`, or `solar-render diff` between charts",
    ),
    (
        "plugin",
        "there are no plugins: output can be piped",
        "`helm plugin` manages Helm's",
    ),
    (
        "search hub",
        "solar-render does not search Artifact Hub",
        "https://artifacthub.io searches it; `solar-render search repo` the repositories that were added",
    ),
];

/// The error for an unsupported command of Helm.
pub(crate) fn elsewhere(word: &str) -> Option<Diagnostic> {
    let (name, why, way) = COMMANDS.iter().find(|(name, ..)| *name == word)?;
    let one = Diagnostic::error(Class::Usage, format!("there is no command `{name}`"));
    Some(one.note(*why).hint(*way))
}
