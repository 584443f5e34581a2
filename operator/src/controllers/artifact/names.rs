//! The names of an Artifact's objects.

use crate::names::{MAX_LABEL, fitted};

/// The maximum length of both numbers and the dash between them.
const MAX_NUMBERS: usize = 31;

/// The Job of an attempt.
pub(super) fn job_name(artifact: &str, generation: i64, attempt: i32) -> String {
    // The numbers stay readable in a name that is cut.
    fitted(&format!("{artifact}-g{generation}-{attempt}"))
}

/// Whether a name is that of one of the Artifact's Jobs, or may be: of a cut name only the beginning is known.
pub(super) fn is_job_of(artifact: &str, job: &str) -> bool {
    let numbers = job
        .strip_prefix(artifact)
        .and_then(|rest| rest.strip_prefix("-g"))
        .and_then(|rest| rest.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((generation, attempt)) = numbers {
        return is_number(generation) && is_number(attempt);
    }
    let Some((kept, hash)) = job.rsplit_once('-') else {
        return false;
    };
    let is_cut = hash.len() == 8 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
    let begins = format!("{artifact}-g");
    // A dash at the cut is dropped.
    let fits = begins.starts_with(kept) || kept.starts_with(&begins);
    is_cut && begins.len() + MAX_NUMBERS > MAX_LABEL && fits
}

/// The volume.
pub(super) fn workspace_name(artifact: &str) -> String {
    fitted(&format!("{artifact}-workspace"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_names_generation_and_attempt() {
        assert_eq!(job_name("whisper", 3, 2), "whisper-g3-2");
        assert_eq!(workspace_name("whisper"), "whisper-workspace");
        let long = "a".repeat(80);
        assert_eq!(job_name(&long, 1, 1).len(), 63);
        assert_ne!(job_name(&long, 1, 1), job_name(&long, 1, 2));
        assert_eq!(workspace_name(&long).len(), 63);
    }

    #[test]
    fn only_the_artifacts_own_jobs_are_recognised() {
        for length in [1, 40, 54, 55, 58, 59, 60, 63, 80, 200] {
            let name = "a".repeat(length);
            assert!(is_job_of(&name, &job_name(&name, 12, 3)), "{length}");
        }
        for other in [
            "whisper-g1",
            "whisper-gx-1",
            "whisper-g1-x",
            "whisper-workspace",
            "other-g1-1",
            "whisper",
        ] {
            assert!(!is_job_of("whisper", other), "{other}");
        }
    }
}
