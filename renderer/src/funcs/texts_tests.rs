//! Data, encodings, dates, randomness, ciphers and certificates: results of Helm 4.3.1, and results that a seed makes
//! reproducible.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use super::{Context, FAMILIES};
use crate::template::{Call, FuncError, IntType, Val};
use crate::world::Fixed;

fn context(seed: Option<u64>) -> Context {
    let world = Fixed {
        now: UNIX_EPOCH + Duration::from_secs(1_700_000_000),
        ..Fixed::default()
    };
    Context::new(Arc::new(world), seed, false)
}

fn call_in(context: &mut Context, name: &str, args: &[Val]) -> Result<Val, FuncError> {
    let mut all = FAMILIES.iter().flat_map(|(_, table)| *table);
    let found = all.find(|func| func.name == name);
    (found.expect(name).call)(&mut Call { args, context })
}

fn text(name: &str, args: &[Val]) -> String {
    match call_in(&mut context(Some(1)), name, args) {
        Ok(value) => crate::template::print::sprint(&value).to_string(),
        Err(fault) => format!("error: {}", fault.message),
    }
}

fn s(text: &str) -> Val {
    Val::str(text)
}

fn map(entries: &[(&str, Val)]) -> Val {
    Val::from_entries(entries.iter().cloned())
}

fn date(layout: &str, value: &str) -> Val {
    call_in(&mut context(None), "mustToDate", &[s(layout), s(value)]).expect("a date")
}

#[test]
fn yaml_is_written_as_by_helms_functions() {
    let value = map(&[
        ("a10", Val::Float(1e6)),
        ("a9", Val::Nil),
        ("list", Val::list(vec![Val::int(1), Val::list(vec![s("a: b")])])),
        ("yes", s("no")),
        ("text", s("a\nb\n")),
        ("took", Val::Int(3_600_000_000_000, IntType::Duration)),
    ]);
    let plain = "a9: null\na10: 1000000\nlist:\n- 1\n- - 'a: b'\ntext: |\n  a\n  b\ntook: 3600000000000\n\"yes\": \"no\"";
    assert_eq!(text("toYaml", std::slice::from_ref(&value)), plain);
    let pretty =
        "a9: null\na10: 1e+06\nlist:\n  - 1\n  - - 'a: b'\ntext: |\n  a\n  b\ntook: 1h0m0s\n\"yes\": \"no\"";
    assert_eq!(text("toYamlPretty", &[value]), pretty);
}

#[test]
fn values_that_go_yaml_refuses_are_empty_or_a_failure() {
    let value = map(&[("a", s("x\u{7f}"))]);
    assert_eq!(text("toYaml", std::slice::from_ref(&value)), "");
    let refused = "error: yaml: control characters are not allowed";
    assert_eq!(text("mustToYaml", &[value]), refused);
    let long = map(&[("k".repeat(1_023).as_str(), Val::Nil)]);
    let lost = "error: yaml: did not find expected ',' or '}'";
    assert_eq!(text("mustToYaml", &[long]), lost);
    let broken = map(&[("<<", s("a \u{85} \u{85} b"))]);
    assert_eq!(text("mustToYaml", &[broken]), "<<: |-\n  a\n  b");
}

/// On a stack as large as renderings have.
#[test]
fn a_cyclic_map_is_an_error() {
    let check = || {
        let map = crate::template::Map::default();
        map.set("a", Val::Map(map.clone()));
        let cycle = "error: json: unsupported value: encountered a cycle via map[string]interface {}";
        assert_eq!(text("toYaml", &[Val::Map(map.clone())]), "");
        assert_eq!(text("mustToJson", &[Val::Map(map.clone())]), cycle);
        assert_eq!(text("toPrettyJson", &[Val::Map(map.clone())]), "");
        assert!(text("mustToToml", &[Val::Map(map.clone())]).starts_with("error: "));
        map.remove("a");
    };
    let thread = std::thread::Builder::new().stack_size(crate::template::STACK_BYTES);
    thread.spawn(check).expect("a thread").join().expect("no panic");
}

#[test]
fn json_is_written_as_go_writes_it() {
    let value = map(&[("a<b", Val::list(vec![s("\u{2028}\u{1}"), Val::Float(1e21)]))]);
    let compact = r#"{"a\u003cb":["\u2028\u0001",1e+21]}"#;
    assert_eq!(text("toJson", std::slice::from_ref(&value)), compact);
    let raw = r#"{"a<b":["\u2028\u0001",1e+21]}"#;
    assert_eq!(text("toRawJson", std::slice::from_ref(&value)), raw);
    let pretty = "{\n  \"a\\u003cb\": [\n    \"\\u2028\\u0001\",\n    1e+21\n  ]\n}";
    assert_eq!(text("toPrettyJson", &[value]), pretty);
}

#[test]
fn invalid_json_has_gos_messages() {
    let cases = [
        ("", "unexpected end of JSON input"),
        (
            "{a:1}",
            "invalid character 'a' looking for beginning of object key string",
        ),
        ("nul", "invalid character ' ' in literal null (expecting 'l')"),
        ("01", "invalid character '1' after top-level value"),
        ("é", "invalid character 'Ã' looking for beginning of value"),
        (
            "[1]",
            "json: cannot unmarshal array into Go value of type map[string]interface {}",
        ),
    ];
    for (json, words) in cases {
        assert_eq!(text("fromJson", &[s(json)]), format!("map[Error:{words}]"));
    }
}

#[test]
fn invalid_yaml_has_gos_messages() {
    let cases = [
        ("a: b: c", "mapping values are not allowed in this context"),
        ("a: [1", "line 1: did not find expected ',' or ']'"),
        ("a: b\nc", "line 3: could not find expected ':'"),
        ("a: *x", "unknown anchor 'x' referenced"),
    ];
    for (yaml, words) in cases {
        let expected = format!("map[Error:error converting YAML to JSON: yaml: {words}]");
        assert_eq!(text("fromYaml", &[s(yaml)]), expected);
    }
}

#[test]
fn toml_has_plain_values_before_tables() {
    let inner = map(&[("b", Val::Float(100_000.0)), ("n", Val::Nil)]);
    let value = map(&[
        ("a", map(&[("c d", Val::list(vec![inner.clone()]))])),
        ("l", Val::list(vec![inner, Val::int(2)])),
        ("z", s("\u{7f}\"")),
    ]);
    let expected =
        "l = [{b = 100000.0, }, 2]\nz = \"\\u007f\\\"\"\n\n[a]\n\n  [[a.\"c d\"]]\n    b = 100000.0\n";
    assert_eq!(text("toToml", &[value]), expected);
}

#[test]
fn encoding_errors_have_the_position() {
    for (base64, expected) in [
        ("Zm9v\nZg==", "foof"),
        ("Zg", "illegal base64 data at input byte 0"),
        ("Zg==x", "illegal base64 data at input byte 4"),
    ] {
        assert_eq!(text("b64dec", &[s(base64)]), expected);
    }
    assert_eq!(text("b32enc", &[s("foob")]), "MZXW6YQ=");
    assert_eq!(text("b32dec", &[s("MZXW6YQ=")]), "foob");
}

#[test]
fn dates_follow_gos_layouts_and_zones() {
    let time = date("2006-01-02T15:04:05.999Z07:00", "2023-07-04T13:08:09.120+02:00");
    let format = |layout: &str, zone: &str| text("dateInZone", &[s(layout), time.clone(), s(zone)]);
    assert_eq!(
        format("Mon Jan _2 3:04:05.000 PM 2006 -0700 MST 002", "America/New_York"),
        "Tue Jul  4 7:08:09.120 AM 2023 -0400 EDT 185"
    );
    assert_eq!(format("Month Z07:00 .999", "europe/berlin"), "Month Z .12");
    assert_eq!(
        text("toJson", std::slice::from_ref(&time)),
        "\"2023-07-04T13:08:09.12+02:00\""
    );
    let wrong = "error: parsing time \"2020-02-30\": day out of range";
    assert_eq!(text("mustToDate", &[s("2006-01-02"), s("2020-02-30")]), wrong);
    assert_eq!(text("unixEpoch", &[time]), "1688468889");
}

#[test]
fn durations_are_read_and_rounded_as_in_go() {
    assert_eq!(text("mustToDuration", &[s("1h2m3.5s")]), "1h2m3.5s");
    assert_eq!(text("mustToDuration", &[s("2.5")]), "2.5s");
    assert_eq!(
        text("mustToDuration", &[s("x")]),
        "error: could not parse duration \"x\""
    );
    assert_eq!(text("durationRoundTo", &[s("-2h15m"), s("30m")]), "-2h30m0s");
    assert_eq!(text("durationRound", &[s("2400h10m5s")]), "3mo");
}

#[test]
fn ciphers_round_trip_and_passwords_are_derived() {
    let secret = text("encryptAES", &[s("key"), s("plain é")]);
    assert_eq!(text("decryptAES", &[s("key"), Val::str(secret)]), "plain é");
    let args = [Val::Uint(1, crate::template::UintType::Uint32)]
        .into_iter()
        .chain(["long", "password", "user", "example.com"].map(s));
    let args: Vec<Val> = args.collect();
    assert_eq!(text("derivePassword", &args), "ZedaFaxcZaso9*");
    let hash = text("bcrypt", &[s("secret")]);
    assert!(bcrypt::verify("secret", &hash).expect("a hash"), "{hash}");
}

#[test]
fn a_seed_gives_the_same_bytes_in_every_run() {
    let run = |name: &str, args: &[Val]| {
        let mut context = context(Some(7));
        let value = call_in(&mut context, name, args).expect(name);
        assert!(context.impure.contains(name) && context.predictable.contains(name));
        call_in(&mut context, "toJson", &[value])
            .expect("a text")
            .as_str()
            .map(ToString::to_string)
    };
    let cases: [(&str, &[Val]); 7] = [
        ("randAlphaNum", &[Val::int(20)]),
        ("uuidv4", &[]),
        ("shuffle", &[s("abcdefghij")]),
        ("bcrypt", &[s("x")]),
        ("encryptAES", &[s("k"), s("x")]),
        ("genPrivateKey", &[s("ecdsa")]),
        ("genPrivateKey", &[s("ed25519")]),
    ];
    for (name, args) in cases {
        assert_eq!(run(name, args), run(name, args), "{name}");
    }
    let authority = |kind: &str| {
        let mut context = context(Some(9));
        let key = call_in(&mut context, "genPrivateKey", &[s(kind)]).expect("a key");
        let ca = call_in(&mut context, "genCAWithKey", &[s("ca"), Val::int(1), key]).expect("an authority");
        call_in(&mut context, "toJson", &[ca])
            .expect("a text")
            .as_str()
            .map(ToString::to_string)
    };
    for kind in ["ecdsa", "ed25519"] {
        assert_eq!(authority(kind), authority(kind), "{kind}");
    }
}
