//! The push policy as a pure function, and the result of a push.

use crate::oci::push::equivalence::Equivalent;
use crate::oci::sign::CosignSigner;
use crate::package::artifact::Artifact;
use crate::reference::{Digest, Tag};
use crate::report::Outcome;

/// The policy if the destination has another digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum IfExists {
    /// Fail: a version, once published, does not change.
    #[default]
    Fail,
    /// Replace it with ours.
    Replace,
    /// Keep it; that is a success.
    Skip,
}

/// The options of a push.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct PushOptions {
    /// The policy if the destination has another digest.
    pub if_exists: IfExists,
    /// Fail before anything is sent unless the chart has this digest.
    pub expect_digest: Option<Digest>,
    /// Additional tags in the same repository or layout, by the same policy. Archives have none.
    pub tags: Vec<Tag>,
    /// Tags that always move to the chart, as `latest` or `1.2`.
    pub moved_tags: Vec<Tag>,
    /// Only a manifest with the same digest counts as unchanged, as for copies; an equivalent chart that another tool
    /// has pushed does not.
    pub exact: bool,
    /// Send nothing, and report what would be done.
    pub check: bool,
    /// Sign the tag's manifest afterwards, unless it is another chart. Registries only.
    pub signer: Option<CosignSigner>,
}

/// The result of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pushed {
    /// Created, unchanged, replaced or skipped.
    pub outcome: Outcome,
    /// The chart's reference, as in the report.
    pub reference: String,
    /// With `replaced` and `skipped`, the other digest that the tag had or has. `None` for archives, which have no
    /// manifest.
    pub existing_digest: Option<Digest>,
    /// The results of the additional tags, in the requested order.
    pub tags: Vec<TagResult>,
    /// Signed or unchanged, if a signature was requested.
    pub signature: Option<Outcome>,
    /// With `unchanged`: the existing manifest, if it is the same chart with another digest.
    pub equivalent: Option<Box<Equivalent>>,
}

/// The result for one of several tags.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct TagResult {
    /// The tag.
    pub tag: Tag,
    /// Created, unchanged, replaced or skipped.
    pub outcome: Outcome,
    /// The other digest that the tag had or has.
    pub existing_digest: Option<Digest>,
}

/// The plan for a tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::oci) enum Plan {
    /// Send, with this outcome.
    Send(Outcome),
    /// Nothing to send, with this outcome.
    Done(Outcome),
    /// Refuse.
    Conflict,
}

/// The policy. `same`: whether the existing digest is ours; `None`: the tag doesn't exist.
pub(in crate::oci) fn plan(same: Option<bool>, if_exists: IfExists) -> Plan {
    match (same, if_exists) {
        (None, _) => Plan::Send(Outcome::Created),
        (Some(true), _) => Plan::Done(Outcome::Unchanged),
        (Some(false), IfExists::Fail) => Plan::Conflict,
        (Some(false), IfExists::Replace) => Plan::Send(Outcome::Replaced),
        (Some(false), IfExists::Skip) => Plan::Done(Outcome::Skipped),
    }
}

/// The tags to set, each with its policy: the chart's own first, without duplicates. For a tag that is given twice,
/// moving takes precedence.
pub(in crate::oci) fn all_tags<'t>(own: &'t Tag, options: &'t PushOptions) -> Vec<(&'t Tag, IfExists)> {
    let moves = |tag: &Tag| options.moved_tags.contains(tag);
    let mut all = vec![(own, options.if_exists)];
    for tag in options.tags.iter().chain(&options.moved_tags) {
        if all.iter().any(|(known, _)| *known == tag) {
            continue;
        }
        let if_exists = if moves(tag) {
            IfExists::Replace
        } else {
            options.if_exists
        };
        all.push((tag, if_exists));
    }
    all
}

/// Whether a tag is the chart's version, which does not move.
pub(in crate::oci) fn is_version(artifact: &Artifact, tag: &Tag) -> bool {
    Tag::from_version(&artifact.version).is_ok_and(|version| version == *tag)
}

/// The chart's own tag and the others, as a push reports them.
pub(in crate::oci) fn pushed(reference: String, list: Vec<TagResult>) -> Option<Pushed> {
    let mut list = list.into_iter();
    let own = list.next()?;
    Some(Pushed {
        outcome: own.outcome,
        reference,
        existing_digest: own.existing_digest,
        tags: list.collect(),
        signature: None,
        equivalent: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_that_move_are_replaced_and_none_comes_twice() {
        let tag = |text: &str| text.parse::<Tag>().unwrap();
        let options = PushOptions {
            tags: vec![tag("stable"), tag("1.0.0"), tag("latest"), tag("stable")],
            moved_tags: vec![tag("latest"), tag("1")],
            ..PushOptions::default()
        };
        let own = tag("1.0.0");
        let all = all_tags(&own, &options);
        let shown: Vec<_> = all.iter().map(|(tag, policy)| (tag.as_str(), *policy)).collect();
        let expected = [
            ("1.0.0", IfExists::Fail),
            ("stable", IfExists::Fail),
            ("latest", IfExists::Replace),
            ("1", IfExists::Replace),
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn the_policy_decides_for_all_states_and_options() {
        use IfExists::{Fail, Replace, Skip};
        let table = [
            (None, Fail, Plan::Send(Outcome::Created)),
            (None, Replace, Plan::Send(Outcome::Created)),
            (None, Skip, Plan::Send(Outcome::Created)),
            (Some(true), Fail, Plan::Done(Outcome::Unchanged)),
            (Some(true), Replace, Plan::Done(Outcome::Unchanged)),
            (Some(true), Skip, Plan::Done(Outcome::Unchanged)),
            (Some(false), Fail, Plan::Conflict),
            (Some(false), Replace, Plan::Send(Outcome::Replaced)),
            (Some(false), Skip, Plan::Done(Outcome::Skipped)),
        ];
        for (same, if_exists, expected) in table {
            assert_eq!(plan(same, if_exists), expected, "{same:?} {if_exists:?}");
        }
    }
}
