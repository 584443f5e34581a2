//! The renderer's arguments: the only code that puts a user's strings into a pod's command line.

use super::config_secret::CONFIG_KEY;
use super::job::{SIGN_KEY, SIGN_KEY_PASSWORD};
use crate::api::{IfExists, TaskSpec};
use crate::jobs::JobSettings;
use crate::jobs::pod::literal;

/// The mount paths of a Job's files.
#[derive(Debug, Clone, Copy)]
pub(super) struct Folders {
    /// The config.
    pub(super) config: &'static str,
    /// The signing key and its password.
    pub(super) sign_key: &'static str,
}

/// The arguments of a task. No argument of the operator follows them.
pub(super) fn arguments(spec: &TaskSpec, settings: &JobSettings, folders: Folders) -> Vec<String> {
    let Folders { config, sign_key } = folders;
    let mut args = vec![
        format!("{config}/{CONFIG_KEY}"),
        literal(&format!("--url={}", spec.chart_url())),
    ];
    if spec.plain_http {
        args.push("--plain-http=true".to_owned());
    }
    // A renderer with other exit codes is another program, which may not have the flag: it gets the flag only if the
    // task sets the field.
    if !settings.permanent_exit_codes.is_empty() || spec.if_exists != IfExists::Fail {
        args.push(format!("--if-exists={}", spec.if_exists.as_str()));
    }
    if let Some(digest) = &spec.expected_digest {
        args.push(literal(&format!("--expect-digest={digest}")));
    }
    if spec.sign_key_secret_ref.is_some() {
        args.push(format!("--sign-by={sign_key}/{SIGN_KEY}"));
        args.push(format!("--key-password-file={sign_key}/{SIGN_KEY_PASSWORD}"));
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::LocalReference;
    use crate::tests::{settings, task};

    const FOLDERS: Folders = Folders {
        config: "/etc/renderer",
        sign_key: "/etc/key",
    };

    #[test]
    fn a_key_and_a_digest_are_passed_on() {
        let mut spec = task().spec;
        assert_eq!(arguments(&spec, &settings(), FOLDERS).len(), 3);
        spec.expected_digest = Some("sha256:$(POD_NAME)".into());
        spec.sign_key_secret_ref = Some(LocalReference { name: "key".into() });
        assert_eq!(
            arguments(&spec, &settings(), FOLDERS)[3..],
            [
                "--expect-digest=sha256:$$(POD_NAME)",
                "--sign-by=/etc/key/cosign.key",
                "--key-password-file=/etc/key/cosign.password",
            ]
        );
    }

    /// A tag of `$(REGISTRY_PASSWORD)` once printed the push Secret into an error message that the tenant could read.
    #[test]
    fn no_users_string_is_expanded() {
        let mut spec = task().spec;
        spec.tag = "$(REGISTRY_PASSWORD)$$".into();
        spec.repository = "$(REGISTRY_USERNAME)/a".into();
        spec.base_url = "h.example/$$(POD_NAME)".into();
        let args = arguments(&spec, &settings(), FOLDERS);
        let expected =
            "--url=oci://h.example/$$$$(POD_NAME)/$$(REGISTRY_USERNAME)/a:$$(REGISTRY_PASSWORD)$$$$";
        assert_eq!(args[1], expected);
        assert!(
            args.iter().all(|arg| !arg.replace("$$", "").contains('$')),
            "{args:?}"
        );
    }
}
