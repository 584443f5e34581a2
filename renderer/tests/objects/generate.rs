//! Random configs full of what YAML, Helm and Jinja might take for something else.

use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use proptest::test_runner::{Config, FileFailurePersistence, TestRunner};
use solar_render::value::{Map, Number, Value};

use crate::expected::{self, Release, Resource, map};
use crate::{canonical, digest, through_helm};

/// Texts that are more than text to some reader on the way.
pub(crate) const TRAPS: &[&str] = &[
    "",
    " ",
    "yes",
    "no",
    "on",
    "off",
    "y",
    "n",
    "true",
    "null",
    "~",
    "0777",
    "0o17",
    "0x1F",
    "0b11",
    "1e3",
    "1_000",
    "+1",
    "-0",
    ".5",
    "5.",
    ".inf",
    ".nan",
    "12:30:00",
    "2001-01-01",
    "2001-12-14t21:59:43.10-05:00",
    "007",
    "08",
    "1.10",
    "a: b",
    "a #b",
    "# a",
    "- a",
    "-",
    "? a",
    ": a",
    "{a: b}",
    "[a]",
    "&a",
    "*a",
    "!a",
    "!!str a",
    "|",
    ">",
    "%a",
    "@a",
    "`a`",
    "'",
    "\"",
    "a'b\"c",
    "\\",
    "\\n",
    "a\nb",
    "a\n",
    "\na",
    "a\n\nb\n",
    "\n",
    " a",
    "a ",
    "a\tb",
    "\ta",
    "a\r\nb",
    "\r",
    "{{ x }}",
    "{{",
    "}}",
    "{{- x -}}",
    "{{/* x */}}",
    "{{{",
    "{",
    "}",
    "<< x >>",
    "<% x %>",
    "<# x #>",
    "<<",
    "<%",
    "=",
    "---",
    "...",
    "--- a",
    "\u{0}",
    "\u{1}",
    "\u{7f}",
    "\u{80}",
    "a\u{85}b",
    "\u{2028}",
    "\u{2029}",
    "\u{feff}",
    "\u{fffd}",
    "\u{ffff}",
    "é",
    "日本語",
    "😀",
    "\u{200b}",
    "a\u{301}",
    "$x",
    "${x}",
    "$(x)",
    "<b>&amp;</b>",
    "//",
    "/* x */",
    "a: |\n  b\n",
    "  a\n b\n",
    "a\n  b\n c",
    "key: {{ .Values.x }}\n# {{ end }}\n",
];

fn text() -> impl Strategy<Value = String> {
    let trap = prop::sample::select(TRAPS).prop_map(str::to_owned);
    let long = (prop::sample::select(TRAPS), 20_usize..60)
        .prop_map(|(trap, count)| format!("{trap} ").repeat(count));
    let joined = vec(prop::sample::select(TRAPS), 2..4).prop_map(|parts| parts.concat());
    prop_oneof![8 => trap, 1 => long, 3 => joined, 2 => any::<String>(), 2 => "[a-z]{1,8}"]
}

fn number() -> impl Strategy<Value = Number> {
    const EXACT: i64 = 1 << 53;
    let integer = (-EXACT..EXACT).prop_map(Number::Int);
    let small = (-1000_i64..1000).prop_map(Number::Int);
    let float = any::<f64>()
        .prop_filter("JSON has no others", |value| value.is_finite())
        .prop_map(Number::Float);
    prop_oneof![integer, small, float].prop_map(Number::canonical)
}

/// Any data: what the config gives is what must come out.
fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        6 => text().prop_map(Value::String),
        2 => number().prop_map(Value::Number),
        1 => any::<bool>().prop_map(Value::Bool),
        1 => Just(Value::Null),
    ];
    leaf.prop_recursive(3, 24, 5, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(Value::List),
            btree_map(text(), inner, 0..4).prop_map(|map| Value::Map(map.into_iter().collect())),
        ]
    })
}

fn data_map() -> impl Strategy<Value = Value> {
    btree_map(text(), data(), 0..6).prop_map(|map| Value::Map(map.into_iter().collect()))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?",
        "[a-z]([a-z0-9.-]{40,70}[a-z0-9])".prop_filter("parts end in letters", |name| {
            name.split('.')
                .all(|part| !part.is_empty() && !part.starts_with('-') && !part.ends_with('-'))
        }),
    ]
}

fn resource() -> impl Strategy<Value = Resource> {
    let tag = prop_oneof![
        "[0-9]\\.[0-9]\\.[0-9]",
        prop::sample::select(vec!["yes", "0777", "1e3", "1.10", "null", "_", "2001-01-01"])
            .prop_map(str::to_owned),
        Just(format!("@sha256:{}", "0123456789abcdef".repeat(4))),
    ];
    let secret =
        prop::option::of(prop::sample::select(vec!["regcred", "1e3", "yes", "123"]).prop_map(str::to_owned));
    let template = prop::option::of(text().prop_filter("an empty template is none", |text| !text.is_empty()));
    (
        "[a-z]{1,8}(:5000)?/[a-z]{1,8}(/[a-z]{1,8})?",
        tag,
        any::<bool>(),
        secret,
        template,
    )
        .prop_map(
            |(repository, tag, insecure, pull_secret, values_template)| Resource {
                repository,
                tag,
                insecure,
                // Draws no random numbers, so that the seed still generates the same cases.
                verify_secret: pull_secret.clone().filter(|_| insecure),
                pull_secret,
                values_template,
            },
        )
}

fn resource_value(resource: &Resource) -> Value {
    let mut fields = Map::from_iter([
        ("repository", Value::from(resource.repository.as_str())),
        ("tag", Value::from(resource.tag.as_str())),
        ("insecure", Value::Bool(resource.insecure)),
    ]);
    if let Some(secret) = &resource.pull_secret {
        fields.insert("pullSecretName", Value::from(secret.as_str()));
    }
    if let Some(secret) = &resource.verify_secret {
        let secret = map([("name", Value::from(secret.as_str()))]);
        fields.insert("verify", map([("secretRef", secret)]));
    }
    if let Some(template) = &resource.values_template {
        fields.insert("helm", map([("valuesTemplate", Value::from(template.as_str()))]));
    }
    Value::Map(fields)
}

fn chart(description: &str, app_version: &str) -> Value {
    map([
        ("name", Value::from("chart")),
        ("version", Value::from("1.0.0")),
        ("description", Value::from(description)),
        ("appVersion", Value::from(app_version)),
    ])
}

/// A property with few cases, since each asks Helm; the seed is fixed, so that CI's word holds.
fn runner(cases: u32) -> TestRunner {
    let config = Config {
        cases,
        failure_persistence: None::<Box<FileFailurePersistence>>.map(|one| one as _),
        ..Config::default()
    };
    TestRunner::new_with_rng(
        config,
        proptest::test_runner::TestRng::deterministic_rng(Default::default()),
    )
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_random_release_comes_out_of_helm_as_it_went_in() {
    let namespace = prop_oneof![Just(String::new()), "[a-z]([a-z0-9-]{0,30}[a-z0-9])?"];
    let keys = prop_oneof![
        text().prop_filter("a name is not empty", |text| !text.is_empty()),
        name()
    ];
    let input = (
        name(),
        keys,
        resource(),
        namespace,
        data_map(),
        text(),
        text(),
        "[a-z][a-z0-9-]{0,20}[a-z0-9]",
    );
    let check =
        |(component, key, entrypoint, namespace, values, description, app_version, helm_release): (
            String,
            String,
            Resource,
            String,
            Value,
            String,
            String,
            String,
        )| {
            let resources = Value::Map(Map::from_iter([(key.as_str(), resource_value(&entrypoint))]));
            let input = map([
                ("component", map([("name", Value::from(component.as_str()))])),
                ("resources", resources),
                (
                    "entrypoint",
                    map([
                        ("resourceName", Value::from(key.as_str())),
                        ("type", Value::from("helm")),
                    ]),
                ),
            ]);
            let release = map([
                ("chart", chart(&description, &app_version)),
                ("input", input),
                ("targetNamespace", Value::from(namespace.as_str())),
                ("values", values.clone()),
            ]);
            let config = map([("type", Value::from("release")), ("release", release)]);
            let (json, block) = (config.to_json(), solar_render::yaml::write(&config));
            prop_assert_eq!(digest(&json), digest(&block), "JSON and YAML of one config");
            let meant = Release {
                component,
                entrypoint,
                target_namespace: namespace,
                values: canonical(values),
            };
            prop_assert_eq!(
                through_helm(&json, &helm_release, &[]),
                expected::release(&meant, &helm_release)
            );
            Ok(())
        };
    runner(80)
        .run(&input, check)
        .unwrap_or_else(|problem| panic!("{problem}"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_random_bootstrap_comes_out_of_helm_as_it_went_in() {
    let releases = btree_map(
        name(),
        resource().prop_filter("a range, no digest", |one| !one.tag.starts_with('@')),
        0..4,
    );
    let input = (releases, data_map(), text(), "[a-z][a-z0-9-]{0,20}[a-z0-9]");
    let check = |(releases, userdata, description, helm_release): (
        std::collections::BTreeMap<String, Resource>,
        Value,
        String,
        String,
    )| {
        let releases: Vec<(String, Resource)> = releases
            .into_iter()
            .map(|(key, one)| {
                let tag = if one.tag.contains(|c: char| c.is_ascii_alphanumeric()) {
                    one.tag
                } else {
                    "1".into()
                };
                (
                    key,
                    Resource {
                        values_template: None,
                        tag,
                        ..one
                    },
                )
            })
            .collect();
        let entries = releases
            .iter()
            .map(|(key, one)| (key.as_str(), resource_value(one)));
        let input = map([
            ("releases", Value::Map(entries.collect())),
            ("userdata", userdata.clone()),
        ]);
        let bootstrap = map([("chart", chart(&description, "")), ("input", input)]);
        let config = map([("type", Value::from("bootstrap")), ("bootstrap", bootstrap)]);
        let expected = expected::bootstrap(&releases, &userdata, &helm_release);
        prop_assert_eq!(through_helm(&config.to_json(), &helm_release, &[]), expected);
        Ok(())
    };
    runner(60)
        .run(&input, check)
        .unwrap_or_else(|problem| panic!("{problem}"));
}
