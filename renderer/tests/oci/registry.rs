//! The push policy against real registries, as real clients see it.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use solar_render::diag::Class;
use solar_render::oci::{IfExists, PushOptions, push, resolve};
use solar_render::package::artifact::{Artifact, ArtifactBlob, BlobContent, BlobSource};
use solar_render::reference::Digest;
use solar_render::report::Outcome;
use testbed::{Registry, Response, Server, Setup, Tool, forward, run};

use crate::support::*;

/// A recorder in front of a real registry.
fn recorded(registry: &Registry) -> Server {
    let upstream = registry.host().to_owned();
    Server::start(move |request| forward(request, &upstream).into())
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn created_then_unchanged_with_one_request_then_conflict_replace_and_skip() {
    let registry = Registry::start();
    let recorder = recorded(&registry);
    let target = format!("oci://{}/charts", recorder.host());
    let (first, second) = (chart("app", "1.0.0+b", "one"), chart("app", "1.0.0+b", "two"));

    let created = send(&first, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(created.outcome, Outcome::Created);
    assert_eq!(
        created.reference,
        format!("{}/charts/app:1.0.0_b", recorder.host())
    );
    assert_eq!(created.existing_digest, None);
    assert_eq!(registry.crane_digest("charts/app:1.0.0_b"), first.digest.as_str());
    // HEAD, a HEAD, POST and PUT for each of two blobs, PUT, HEAD.
    assert_eq!(recorder.lines().len(), 9, "{:?}", recorder.lines());

    let before = recorder.lines().len();
    let again = send(&first, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!((again.outcome, again.existing_digest), (Outcome::Unchanged, None));
    assert_eq!(
        recorder.lines()[before..],
        ["HEAD /v2/charts/app/manifests/1.0.0_b"]
    );

    let before = recorder.lines().len();
    let conflict = send(&second, &target, IfExists::Fail, &plain()).unwrap_err();
    assert_eq!(conflict.class(), Class::Conflict);
    assert_eq!(conflict.existing_digest(), Some(&first.digest));
    assert!(
        words(&conflict).contains("--if-exists replace"),
        "{}",
        words(&conflict)
    );
    assert!(words(&conflict).contains(first.digest.as_str()));
    let skipped = send(&second, &target, IfExists::Skip, &plain()).unwrap();
    assert_eq!(skipped.outcome, Outcome::Skipped);
    assert_eq!(skipped.existing_digest, Some(first.digest.clone()));
    // Nothing but the manifest is read: with other metadata it is another chart.
    let read = ["HEAD", "GET"].map(|method| format!("{method} /v2/charts/app/manifests/1.0.0_b"));
    assert_eq!(recorder.lines()[before..], [read.clone(), read].concat());
    assert_eq!(registry.crane_digest("charts/app:1.0.0_b"), first.digest.as_str());

    let replaced = send(&second, &target, IfExists::Replace, &plain()).unwrap();
    assert_eq!(replaced.outcome, Outcome::Replaced);
    assert_eq!(replaced.existing_digest, Some(first.digest));
    assert_eq!(
        registry.crane_digest("charts/app:1.0.0_b"),
        second.digest.as_str()
    );
}

#[test]
fn an_unexpected_digest_fails_before_any_request() {
    let server = Server::start(|_| Response::status(500).into());
    let artifact = chart("app", "1.0.0", "one");
    let target = format!("oci://{}/charts", server.host()).parse().unwrap();
    let destination = resolve(&target, &artifact, false).unwrap();
    let mut options = PushOptions::default();
    options.expect_digest = Some(Digest::from_sha256(&[7; 32]));
    let failure = push(
        &artifact,
        &destination,
        &options,
        &plain(),
        &world(&[]),
        &Trace::default(),
    )
    .unwrap_err();
    assert_eq!(failure.class(), Class::Digest);
    assert!(server.requests().is_empty());
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn blobs_that_are_there_are_not_sent_again() {
    let registry = Registry::start();
    let recorder = recorded(&registry);
    let target = format!("oci://{}/charts", recorder.host());
    let first = chart("app", "1.0.0", "one");
    send(&first, &target, IfExists::Fail, &plain()).unwrap();
    // Another manifest over the same blobs.
    let mut blobs = first.blobs.clone();
    blobs.push(blob(Artifact::PROVENANCE_TYPE, b"provenance"));
    let second = artifact("app", "2.0.0", blobs);
    let before = recorder.count("PUT");
    send(&second, &format!("{target}/app:2.0.0"), IfExists::Fail, &plain()).unwrap();
    assert_eq!(
        recorder.count("PUT") - before,
        2,
        "the provenance and the manifest"
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn helm_skopeo_and_crane_read_what_was_pushed_to_both_versions() {
    for version_2 in [false, true] {
        let registry = Registry::with(&Setup {
            version_2,
            ..Setup::default()
        });
        let artifact = chart("app", "1.0.0", "one");
        let target = format!("oci://{}/charts", registry.host());
        send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
        let digest = artifact.digest.as_str();
        assert_eq!(registry.crane_digest("charts/app:1.0.0"), digest);
        let home = registry.home();
        let url = format!("docker://{}/charts/app:1.0.0", registry.host());
        let raw = run(Tool::Skopeo
            .command(home)
            .args(["inspect", "--tls-verify=false", "--raw", &url]));
        assert_eq!(
            raw.as_bytes(),
            artifact.manifest,
            "the manifest arrived byte for byte"
        );
        let chart = format!("{target}/app");
        let said = run(Tool::Helm.command(home).args([
            "pull",
            &chart,
            "--version",
            "1.0.0",
            "--plain-http",
            "-d",
            ".",
        ]));
        let pulled = std::fs::read(home.join("app-1.0.0.tgz")).unwrap();
        assert_eq!(sha256(&pulled), artifact.layer().unwrap().digest, "{said}");
        let rendered = run(Tool::Helm.command(home).args(["template", "x", "app-1.0.0.tgz"]));
        assert!(rendered.contains("a: 1"), "{rendered}");
    }
}

/// Writes the same bytes each time, in odd pieces, and counts how often.
struct Pattern {
    size: usize,
    runs: AtomicUsize,
}

impl Pattern {
    fn bytes(&self) -> impl Iterator<Item = Vec<u8>> + '_ {
        (0..self.size).step_by(100_003).map(|start| {
            let end = (start + 100_003).min(self.size);
            (start..end)
                .map(|at| u8::try_from(at % 251).unwrap_or(0))
                .collect()
        })
    }
}

impl BlobSource for Pattern {
    fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        self.runs.fetch_add(1, Ordering::SeqCst);
        self.bytes().try_for_each(|piece| out.write_all(&piece))
    }
}

fn streamed(size: usize, promised: u64) -> (Artifact, Arc<Pattern>) {
    let source = Arc::new(Pattern {
        size,
        runs: AtomicUsize::new(0),
    });
    let whole: Vec<u8> = source.bytes().flatten().collect();
    let layer = ArtifactBlob {
        media_type: Artifact::LAYER_TYPE,
        digest: sha256(&whole),
        size: promised,
        content: BlobContent::Stream(Arc::clone(&source) as Arc<dyn BlobSource>),
    };
    let blobs = vec![blob(Artifact::CONFIG_TYPE, b"{}"), layer];
    (artifact("big", "1.0.0", blobs), source)
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_streamed_layer_is_made_once_for_the_put_and_arrives_whole() {
    let registry = Registry::start();
    let recorder = recorded(&registry);
    let size = 5_000_001;
    let (artifact, source) = streamed(size, size as u64);
    let target = format!("oci://{}", recorder.host());
    send(&artifact, &target, IfExists::Fail, &plain()).unwrap();
    assert_eq!(registry.crane_digest("big:1.0.0"), artifact.digest.as_str());
    assert_eq!(source.runs.load(Ordering::SeqCst), 1);
    let requests = recorder.requests();
    let put = requests
        .iter()
        .find(|request| request.body.len() == size)
        .unwrap();
    assert_eq!(put.method, "PUT");
    assert_eq!(put.header("content-length"), Some(size.to_string().as_str()));
    assert_eq!(put.header("transfer-encoding"), None);
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_source_that_changed_is_our_own_disks_fault_and_no_tag_appears() {
    for promised in [4_000_000, 6_000_000] {
        let registry = Registry::start();
        let (artifact, source) = streamed(5_000_000, promised);
        let target = format!("oci://{}", registry.host());
        let failure = send(&artifact, &target, IfExists::Fail, &plain()).unwrap_err();
        assert_eq!(failure.class(), Class::Io, "{}", words(&failure));
        assert!(
            words(&failure).contains("its size has changed"),
            "{}",
            words(&failure)
        );
        assert_eq!(
            source.runs.load(Ordering::SeqCst),
            1,
            "trying again would not help"
        );
        let other = chart("big", "1.0.0", "small");
        let pushed = send(&other, &target, IfExists::Fail, &plain()).unwrap();
        assert_eq!(pushed.outcome, Outcome::Created);
    }
}

/// Remembers what it hears of blobs.
#[derive(Default)]
struct Heard(std::sync::Mutex<Vec<String>>);

impl solar_render::oci::Progress for Heard {
    fn blob_started(&self, _digest: &Digest, size: u64) {
        self.0.lock().unwrap().push(format!("started {size}"));
    }

    fn blob_done(&self, _digest: &Digest, sent: bool) {
        self.0.lock().unwrap().push(format!("done {sent}"));
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_large_layer_is_sent_in_chunks_and_progress_is_reported() {
    let registry = Registry::start();
    let mut state = 1_u32;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    })
    .take(1_000_000)
    .collect();
    let artifact = with_layer("app", "1.0.0", "x", &noise, Some("provenance"));
    let layer = artifact.layer().unwrap().size;
    assert!(layer > 500_000);
    let target = format!("oci://{}", registry.host()).parse().unwrap();
    let destination = resolve(&target, &artifact, false).unwrap();
    let heard = Heard::default();
    let options = PushOptions::default();
    push(&artifact, &destination, &options, &plain(), &world(&[]), &heard).unwrap();
    assert_eq!(registry.crane_digest("app:1.0.0"), artifact.digest.as_str());
    let heard = heard.0.into_inner().unwrap();
    assert!(heard.contains(&format!("started {layer}")), "{heard:?}");
    assert_eq!(heard.iter().filter(|line| *line == "done true").count(), 3);
    // Helm sees the provenance that came along.
    let chart = format!("oci://{}/app", registry.host());
    run(Tool::Helm.command(registry.home()).args([
        "pull",
        &chart,
        "--version",
        "1.0.0",
        "--plain-http",
        "--prov",
        "-d",
        ".",
    ]));
    let text = std::fs::read_to_string(registry.home().join("app-1.0.0.tgz.prov")).unwrap();
    assert_eq!(text, "provenance");
}
