//! The renderer's arguments: the only place where a user's strings get into a pod's command line.

use super::config_secret::CONFIG_KEY;
use crate::api::{IfExists, TaskSpec};
use crate::jobs::JobSettings;

/// The arguments of a task, behind which nothing of the operator's own follows. `folder` holds the config.
pub(super) fn arguments(spec: &TaskSpec, settings: &JobSettings, folder: &str) -> Vec<String> {
    let mut args = vec![
        format!("{folder}/{CONFIG_KEY}"),
        literal(&format!("--url={}", spec.chart_url())),
    ];
    if spec.plain_http {
        args.push("--plain-http=true".to_owned());
    }
    // A renderer with other exit codes is another program, which may not know the flag: there
    // it is only given when it was asked for.
    if !settings.permanent_exit_codes.is_empty() || spec.if_exists != IfExists::Fail {
        args.push(format!("--if-exists={}", spec.if_exists.as_str()));
    }
    args
}

/// Text that the kubelet passes on as it is: it expands `$(VAR)` in arguments, and `$$` stands for a `$`.
/// <https://kubernetes.io/docs/tasks/inject-data-application/define-command-argument-container/>
fn literal(text: &str) -> String {
    text.replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{settings, task};

    /// A tag of `$(REGISTRY_PASSWORD)` once printed the push Secret into an error message that the tenant reads.
    #[test]
    fn no_string_of_a_users_is_expanded() {
        let mut spec = task().spec;
        spec.tag = "$(REGISTRY_PASSWORD)$$".into();
        spec.repository = "$(REGISTRY_USERNAME)/a".into();
        spec.base_url = "h.example/$$(POD_NAME)".into();
        let args = arguments(&spec, &settings(), "/etc/renderer");
        let expected =
            "--url=oci://h.example/$$$$(POD_NAME)/$$(REGISTRY_USERNAME)/a:$$(REGISTRY_PASSWORD)$$$$";
        assert_eq!(args[1], expected);
        assert!(
            args.iter().all(|arg| !arg.replace("$$", "").contains('$')),
            "{args:?}"
        );
    }
}
