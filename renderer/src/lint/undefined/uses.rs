//! What functions do with nothing.

/// Whether a function makes text or a mistake of nothing: what it gets is used, and should be
/// there. All others are taken to know what to do about nothing.
pub(super) fn uses(function: &str) -> bool {
    matches!(
        function,
        "quote"
            | "squote"
            | "print"
            | "println"
            | "printf"
            | "html"
            | "js"
            | "urlquery"
            | "toString"
            | "toYaml"
            | "mustToYaml"
            | "toYamlPretty"
            | "toJson"
            | "mustToJson"
            | "toPrettyJson"
            | "toRawJson"
            | "toToml"
            | "indent"
            | "nindent"
            | "trunc"
            | "trim"
            | "trimAll"
            | "trimPrefix"
            | "trimSuffix"
            | "lower"
            | "upper"
            | "title"
            | "replace"
            | "b64enc"
            | "b32enc"
            | "b64dec"
            | "sha1sum"
            | "sha256sum"
            | "sha512sum"
            | "adler32sum"
            | "nospace"
            | "camelcase"
            | "kebabcase"
            | "snakecase"
            | "abbrev"
            | "substr"
            | "repeat"
            | "cat"
            | "tpl"
            | "htpasswd"
            | "bcrypt"
            | "splitList"
            | "split"
            | "semver"
            | "semverCompare"
            | "regexReplaceAll"
            | "regexReplaceAllLiteral"
            | "regexMatch"
            | "regexFind"
    )
}

/// Whether a function only looks: what it is given is a guard, not a use.
pub(super) fn asks(function: &str) -> bool {
    matches!(function, "required" | "mustRequired")
}

/// Whether a function writes into its first argument.
pub(super) fn writes(function: &str) -> bool {
    matches!(
        function,
        "set" | "merge" | "mustMerge" | "mergeOverwrite" | "mustMergeOverwrite"
    )
}
