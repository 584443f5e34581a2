//! Several who sign the same chart in the same moment, where the list of signatures is a tag that each of them
//! reads and writes.

use std::sync::{Arc, Barrier};

use solar_render::oci::{
    CosignSigner, IfExists, Secret, SignatureFormat, SigningKey, Silent, VerifyingKey, sign, verify,
};
use solar_render::reference::Locator;
use solar_render::world::System;
use testbed::{Registry, Setup};

use crate::support::{chart, plain, send};

const SIGNERS: usize = 6;

fn key() -> (Arc<SigningKey>, VerifyingKey) {
    let password = Secret::new("pw");
    let pair = SigningKey::generate(&password).unwrap();
    let key = SigningKey::load(pair.private.expose().as_bytes(), &password).unwrap();
    let public = key.public().clone();
    (Arc::new(key), public)
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn no_signature_is_lost_when_many_sign_at_once() {
    let keys: Vec<_> = (0..SIGNERS).map(|_| key()).collect();
    let client = plain();
    for version_2 in [false, true] {
        let registry = Registry::with(&Setup {
            version_2,
            ..Setup::default()
        });
        for (form, version) in [
            (SignatureFormat::Bundle, "1.0.0"),
            (SignatureFormat::Simple, "2.0.0"),
        ] {
            let base = format!("oci://{}/signed", registry.host());
            send(&chart("app", version, ""), &base, IfExists::Fail, &plain()).unwrap();
            let locator: Locator = format!("{base}/app:{version}").parse().unwrap();
            let ready = Barrier::new(SIGNERS);
            std::thread::scope(|scope| {
                for (key, _) in &keys {
                    scope.spawn(|| {
                        let key = Arc::clone(key);
                        let signer = CosignSigner { key, form };
                        ready.wait();
                        sign(&locator, &signer, None, &client, &System, &Silent).unwrap();
                    });
                }
            });
            for (number, (_, public)) in keys.iter().enumerate() {
                let verified = verify(&locator, public, None, &client, &System, &Silent);
                assert!(
                    verified.is_ok(),
                    "{number} {form:?}, version 2 {version_2}: {verified:?}"
                );
            }
        }
    }
}
