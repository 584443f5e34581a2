//! The Homebrew formula of `solar-render`.
//!
//! An archive's files are laid out as below a prefix (`bin`, `share`), so the formula installs them as they are.

use std::fmt::Write as _;

/// An archive of the release.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Archive {
    /// The target that its program runs on.
    pub target: String,
    /// Where it is downloaded.
    pub url: String,
    /// Its SHA-256 in hex.
    pub sha256: String,
}

/// Targets as Homebrew has them: `on_macos` or `on_linux`, and `on_arm` or `on_intel`.
const PLATFORMS: [(&str, &str, &str); 4] = [
    ("aarch64-apple-darwin", "macos", "arm"),
    ("x86_64-apple-darwin", "macos", "intel"),
    ("aarch64-unknown-linux-musl", "linux", "arm"),
    ("x86_64-unknown-linux-gnu", "linux", "intel"),
];

/// The formula. Archives of targets that Homebrew does not run on are left out.
pub fn formula(home: &str, version: &str, archives: &[Archive]) -> String {
    let mut text = format!(
        "class SolarRender < Formula\n  desc \"Config to OCI Helm chart: render, package, digest, push\"\n  \
         homepage \"{home}\"\n  version \"{version}\"\n  license \"Apache-2.0\"\n"
    );
    for system in ["macos", "linux"] {
        let of_system: Vec<_> = PLATFORMS
            .iter()
            .filter(|(_, name, _)| *name == system)
            .filter_map(|(target, _, processor)| {
                let archive = archives.iter().find(|archive| archive.target == *target)?;
                Some((processor, archive))
            })
            .collect();
        if of_system.is_empty() {
            continue;
        }
        let _ = write!(text, "\n  on_{system} do\n");
        for (processor, archive) in of_system {
            let _ = write!(
                text,
                "    on_{processor} do\n      url \"{}\"\n      sha256 \"{}\"\n    end\n",
                archive.url, archive.sha256
            );
        }
        text.push_str("  end\n");
    }
    text.push_str(
        "\n  def install\n    bin.install Dir[\"bin/*\"]\n    man1.install Dir[\"share/man/man1/*\"]\n    \
         bash_completion.install \"share/bash-completion/completions/solar-render\"\n    \
         zsh_completion.install \"share/zsh/site-functions/_solar-render\"\n    \
         fish_completion.install \"share/fish/vendor_completions.d/solar-render.fish\"\n  end\n\n  \
         test do\n    assert_match version.to_s, shell_output(\"#{bin}/solar-render version\")\n  end\nend\n",
    );
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn archive(target: &str) -> Archive {
        Archive {
            target: target.to_owned(),
            url: format!("https://example.com/{target}.tar.gz"),
            sha256: "ab".repeat(32),
        }
    }

    #[test]
    fn each_platform_that_was_built_has_its_archive_and_no_other_has_a_block() {
        let archives = [
            archive("x86_64-unknown-linux-gnu"),
            archive("aarch64-unknown-linux-musl"),
        ];
        let text = formula("https://example.com/solar", "1.0.0", &archives);
        let linux = text.find("on_linux do").unwrap();
        for (processor, target) in [
            ("arm", "aarch64-unknown-linux-musl"),
            ("intel", "x86_64-unknown-linux-gnu"),
        ] {
            let block = text[linux..].find(&format!("on_{processor} do")).unwrap() + linux;
            let url = format!(
                "url \"https://example.com/{target}.tar.gz\"\n      sha256 \"{}\"",
                "ab".repeat(32)
            );
            let end = text[block..].find("end\n").unwrap() + block;
            assert!(text[block..end].contains(&url), "{text}");
        }
        assert!(!text.contains("on_macos"), "{text}");
        // `do … end`, `def … end` and `class … end` are balanced.
        let opened = text.matches(" do\n").count() + text.matches("def ").count() + 1;
        assert_eq!(text.lines().filter(|line| line.trim() == "end").count(), opened);
    }
}
