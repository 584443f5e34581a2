//! Configs by hand: the corners that the design names.

use solar_render::config::{self, MAX_USERDATA_KEY};
use solar_render::source::Source;
use solar_render::value::{Value, write_json_string};

use crate::expected::{self, Release, Resource};
use crate::generate::TRAPS;
use crate::{canonical, digest, objects, render, through_helm};

fn release_config(component: &str, tag: &str, rest: &str) -> String {
    format!(
        "type: release
release:
  chart: {{name: c, version: 1.0.0}}
  input:
    component: {{name: {component}}}
    resources: {{app: {{repository: h/p, tag: \"{tag}\"}}}}
    entrypoint: {{resourceName: app, type: helm}}
{rest}"
    )
}

fn meant(component: &str, tag: &str) -> Release {
    Release {
        component: component.to_owned(),
        entrypoint: Resource {
            repository: "h/p".into(),
            tag: tag.into(),
            ..Resource::default()
        },
        target_namespace: String::new(),
        values: Value::empty_map(),
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn names_are_cut_at_53_and_labels_at_63() {
    for length in [1, 48, 49, 50, 52, 53, 54, 62, 63, 64, 200] {
        let component = "x".repeat(length);
        let got = through_helm(&release_config(&component, "1", ""), "rel", &[]);
        assert_eq!(got, expected::release(&meant(&component, "1"), "rel"), "{length}");
    }
    // "rel-" and 38 more is where a name of over 53 is cut, 52 where a label is.
    for component in [
        format!("{}-.-{}", "x".repeat(36), "y".repeat(30)).replace("-.-", "-1."),
        format!("{}.a--b.{}", "x".repeat(33), "y".repeat(30)),
        format!("{}-{}", "x".repeat(51), "y".repeat(30)),
    ] {
        let got = through_helm(&release_config(&component, "1", ""), "rel", &[]);
        assert_eq!(
            got,
            expected::release(&meant(&component, "1"), "rel"),
            "{component}"
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_tag_with_an_at_is_a_digest() {
    let tag = format!("@sha256:{}", "0".repeat(64));
    let got = through_helm(&release_config("a", &tag, ""), "rel", &[]);
    assert_eq!(got, expected::release(&meant("a", &tag), "rel"));
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn all_traps_at_once_are_data() {
    let entries = TRAPS.iter().map(|trap| (*trap, Value::from(*trap)));
    let values = Value::Map(entries.collect());
    let flow = solar_render::yaml::write_flow(&values, false);
    let config = release_config("a", "1", &format!("  values: {flow}\n"));
    let meant = Release {
        values: canonical(values),
        ..meant("a", "1")
    };
    assert_eq!(
        through_helm(&config, "rel", &[]),
        expected::release(&meant, "rel")
    );
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn values_are_read_as_helm_reads_yaml() {
    let values =
        "  values: {a: yes, b: 0777, c: 1e3, d: ~, e: on, f: 12:30:00, g: 2001-01-01, h: 08, yes: 1, 1: 2}\n";
    let got = through_helm(&release_config("a", "1", values), "rel", &[]);
    let json = r#"{"a":true,"b":511,"c":1000,"d":null,"e":true,"f":"12:30:00","g":"2001-01-01","h":"08","true":1,"1":2}"#;
    let [values] = objects(json).try_into().unwrap();
    // 08 is no octal number; go-yaml reads it as a float.
    let Value::Map(mut values) = values else {
        panic!("a map")
    };
    values.insert("h", canonical(Value::from(8)));
    let meant = Release {
        values: Value::Map(values),
        ..meant("a", "1")
    };
    assert_eq!(got, expected::release(&meant, "rel"));
}

/// What follows a block text in a template may be trimmed; Helm trims the end of each object.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn trailing_line_breaks_are_kept() {
    for text in ["a\n", "a\n\n", "a\n\n\n", "\n", "\n\n", "a\nb\n\n\n", " a\n\n"] {
        let values = Value::Map([("z", Value::from(text))].into_iter().collect());
        let config = release_config("a", "1", &format!("  values: {}\n", values.to_json()));
        let meant = Release {
            values: canonical(values.clone()),
            ..meant("a", "1")
        };
        assert_eq!(
            through_helm(&config, "rel", &[]),
            expected::release(&meant, "rel"),
            "{text:?}"
        );
        let config = format!(
            "type: bootstrap\nbootstrap:\n  chart: {{name: c, version: 1.0.0}}\n  input:\n    releases: {{a: {{repository: h/p, tag: '1'}}}}\n    userdata: {}\n",
            values.to_json()
        );
        let resource = Resource {
            repository: "h/p".into(),
            tag: "1".into(),
            ..Resource::default()
        };
        let expected = expected::bootstrap(&[("a".to_owned(), resource)], &values, "rel");
        assert_eq!(through_helm(&config, "rel", &[]), expected, "{text:?}");
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn a_values_template_stays_text() {
    for template in TRAPS
        .iter()
        .filter(|text| text.len() > 3 && !text.trim().is_empty())
    {
        let mut meant = meant("a", "1");
        meant.entrypoint.values_template = Some((*template).to_owned());
        let literal = Value::from(*template).to_json();
        let config = release_config("a", "1", "").replace(
            "tag: \"1\"",
            &format!("tag: \"1\", helm: {{valuesTemplate: {literal}}}"),
        );
        // One rendering a template would be slow; the digest shows that the text arrived, a few are rendered.
        assert_ne!(
            digest(&config),
            digest(&release_config("a", "1", "")),
            "{template}"
        );
        if template.contains("{{") || template.contains('\n') {
            assert_eq!(
                through_helm(&config, "rel", &[]),
                expected::release(&meant, "rel"),
                "{template}"
            );
        }
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn the_chart_refuses_what_the_renderer_would_refuse() {
    let chart = render(&release_config("a", "1", ""));
    let home = tempfile::tempdir().unwrap();
    for (path, bytes) in chart {
        let path = home.path().join("chart").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    for (set, sentence) in [
        (
            "entrypoint.resourceName=other",
            "the entrypoint names the resource \\\"other\\\", which is not among the resources",
        ),
        (
            "resources.app.tag=",
            "the tag of the resource \\\"app\\\" is empty",
        ),
        (
            "resources.app.repository=",
            "the repository of the resource \\\"app\\\" is empty",
        ),
        ("component.name=", "component.name is empty"),
        ("resources=null", "is not among the resources"),
    ] {
        let mut helm = testbed::Tool::Helm.command(home.path());
        let output = helm
            .args(["template", "rel", "chart", "--set", set])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        let plain = sentence.replace("\\\"", "\"");
        assert!(
            !output.status.success() && (said.contains(&plain) || said.contains(sentence)),
            "{set}: {said}"
        );
    }
}

#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn nulls_of_userdata_survive_and_give_way_to_overrides() {
    let config = "type: bootstrap
bootstrap:
  chart: {name: c, version: 1.0.0}
  input:
    releases: {a: {repository: h/p, tag: 1.0.0}}
    userdata: {a: null, b: {c: null, d: 1}, e: [null, {f: null}], '{{`': null}
";
    let userdata = |objects: Vec<Value>| {
        let release = objects.into_iter().next().unwrap();
        let path = ["spec", "values", "userdata"];
        path.iter().fold(release, |value, key| {
            value.as_map().unwrap().get(key).unwrap().clone()
        })
    };
    let [expected] = objects(r#"{"a":null,"b":{"c":null,"d":1},"e":[null,{"f":null}],"{{`":null}"#)
        .try_into()
        .unwrap();
    assert_eq!(userdata(through_helm(config, "rel", &[])), expected);
    let overridden = through_helm(
        config,
        "rel",
        &["--set", "userdata.a=0,userdata.b.c=false,userdata.g=2"],
    );
    let [expected] = objects(r#"{"a":0,"b":{"c":false,"d":1},"e":[null,{"f":null}],"g":2,"{{`":null}"#)
        .try_into()
        .unwrap();
    assert_eq!(userdata(overridden), expected);
}

/// Helm could not read the chart: of a longer key, YAML takes no value.
#[test]
#[ignore = "needs servers or peers: .ci/test runs it"]
fn keys_of_userdata_are_as_long_as_helm_reads_them() {
    let config = |key: &str| {
        let mut json = String::new();
        write_json_string(key, &mut json);
        let json = json.replace('\u{7f}', "\\u007f").replace('\u{feff}', "\\ufeff");
        format!(
            "type: bootstrap
bootstrap:
  chart: {{name: c, version: 1.0.0}}
  input:
    releases: {{a: {{repository: h/p, tag: 1.0.0}}}}
    userdata: {{a: [{{? {json} : 1}}]}}
"
        )
    };
    // What one character takes in JSON.
    for (character, width) in [
        ('k', 1),
        ('é', 1),
        ('"', 2),
        ('<', 6),
        ('\u{7f}', 6),
        ('\u{feff}', 6),
    ] {
        let most = (MAX_USERDATA_KEY - 2) / width;
        let longest = character.to_string().repeat(most);
        let objects = through_helm(&config(&longest), "rel", &[]);
        assert!(
            format!("{objects:?}").contains(&format!("{longest:?}: ")),
            "{character:?}"
        );
        let longer = Source::new("config.yaml", config(&format!("{longest}{}", "k".repeat(width))));
        let problem = config::parse(&longer).unwrap_err().to_string();
        assert!(
            problem.starts_with("config.yaml:6:23: a key of userdata has 10"),
            "{problem}"
        );
    }
}

/// Recorded from a real API server: see the folder's README.
#[test]
fn a_config_that_went_through_an_api_server_has_the_same_digest() {
    let written = include_str!("../../../testdata/apiserver/config.yaml");
    let returned = include_str!("../../../testdata/apiserver/config.json");
    assert_eq!(digest(written), digest(returned));
}
