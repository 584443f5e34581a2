//! Helm's commands that are not supported: why, and what to use instead.

use crate::diag::{Class, Diagnostic};

const NO_CLUSTER: &str = "solar-render never contacts a cluster";
const NO_RELEASES: &str = "solar-render never contacts a cluster, and so knows no releases";
const INSTALL: &str =
    "`solar-render template NAME CHART | kubectl apply -f -`, a HelmRelease of Flux, or `helm install`";
const RELEASES: &str = "`helm` and Flux keep releases";

/// A command's name, why it is not here, and the way.
const COMMANDS: &[(&str, &str, &str)] = &[
    ("install", NO_CLUSTER, INSTALL),
    ("upgrade", NO_CLUSTER, INSTALL),
    (
        "uninstall",
        NO_RELEASES,
        "`solar-render template NAME CHART | kubectl delete -f -`, or `helm uninstall`",
    ),
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
        "`solar-render template NAME CHART | kubectl diff -f -`",
    ),
    ("create", "starter charts are not made here", "`helm create NAME`"),
    (
        "plugin",
        "there are no plugins: output can be piped",
        "`helm plugin` manages Helm's",
    ),
    (
        "search",
        "no index of repositories is kept",
        "`solar-render tags oci://HOST/PATH` lists a chart's versions",
    ),
    (
        "env",
        "each flag's help names its environment variable",
        "`solar-render template --help`",
    ),
    (
        "repo",
        "no list of repositories is kept here",
        "`--repo URL`, or `helm repo add`, whose list is read",
    ),
    (
        "registry",
        "its commands are commands here",
        "`solar-render login HOST` and `solar-render logout HOST`",
    ),
];

/// Why a command of Helm's is not here.
pub(crate) fn elsewhere(word: &str) -> Option<Diagnostic> {
    let (name, why, way) = COMMANDS.iter().find(|(name, ..)| *name == word)?;
    let one = Diagnostic::error(Class::Usage, format!("there is no command `{name}`"));
    Some(one.note(*why).hint(*way))
}
