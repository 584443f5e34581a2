//! The predicate of a release's provenance: [SLSA's, version 1](https://slsa.dev/spec/v1.0/provenance).
//!
//! It says what was built from which commit, by which compiler, and who says so. There is no time in it: two builds of
//! a commit give the same predicate. `solar-render sign --predicate` makes the statement of it, with the digests of the
//! files that it is about, and signs that.

use serde_json::{Value, json};

/// Its type.
pub const PREDICATE_TYPE: &str = "https://slsa.dev/provenance/v1";

/// What is known of a build.
#[derive(Debug, Clone)]
pub struct Build {
    /// Where the project is: the URL of its repository.
    pub home: String,
    /// The whole hash of the commit.
    pub commit: String,
    /// The version of the release.
    pub version: String,
    /// The targets that programs were compiled for.
    pub targets: Vec<String>,
    /// Name and version of what compiled them.
    pub tools: Vec<(String, String)>,
    /// The URI of who ran the build: a workflow, or a person's machine.
    pub builder: String,
}

/// The predicate.
pub fn predicate(build: &Build) -> Value {
    let tools: serde_json::Map<String, Value> = build
        .tools
        .iter()
        .map(|(name, version)| (name.clone(), json!(version)))
        .collect();
    json!({
        "buildDefinition": {
            "buildType": format!("{}/release/build@v1", build.home),
            "externalParameters": {"version": build.version, "targets": build.targets},
            "internalParameters": {"tools": tools},
            "resolvedDependencies": [{
                "uri": format!("git+{}", build.home),
                "digest": {"gitCommit": build.commit},
            }],
        },
        "runDetails": {"builder": {"id": build.builder}},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_predicate_has_what_slsa_requires() {
        let build = Build {
            home: "https://example.com/solar".to_owned(),
            commit: "0".repeat(40),
            version: "1.0.0".to_owned(),
            targets: vec!["x86_64-unknown-linux-gnu".to_owned()],
            tools: vec![("rustc".to_owned(), "1.95.0".to_owned())],
            builder: "https://example.com/builder".to_owned(),
        };
        let found = predicate(&build);
        let definition = &found["buildDefinition"];
        assert_eq!(
            definition["buildType"],
            "https://example.com/solar/release/build@v1"
        );
        assert_eq!(definition["externalParameters"]["version"], "1.0.0");
        assert_eq!(definition["internalParameters"]["tools"]["rustc"], "1.95.0");
        assert_eq!(
            definition["resolvedDependencies"][0]["digest"]["gitCommit"],
            "0".repeat(40)
        );
        assert_eq!(
            found["runDetails"]["builder"]["id"],
            "https://example.com/builder"
        );
    }
}
