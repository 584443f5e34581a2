//! YAML against what Helm 4.3.1's library made of the same inputs, and against itself.

#![allow(clippy::unwrap_used, reason = "helpers of tests, outside of any")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use proptest::prelude::*;
use solar_diagnostics::diag::{Class, Diagnostic};
use solar_diagnostics::source::Source;
use solar_diagnostics::value::{Map, Number, Value};
use solar_go_yaml::{self as yaml, Kind, Limits, Node, Options};

fn read(text: &str) -> yaml::Result<Node> {
    yaml::parse(&Source::new("t.yaml", text), Class::Config, &Limits::default())
}

fn data(text: &str) -> Value {
    read(text).unwrap().to_value()
}

/// Numbers in their one form: a float without a fraction comes back as an integer.
fn canonical(value: Value) -> Value {
    match value {
        Value::Number(number) => Value::Number(number.canonical()),
        Value::List(items) => Value::List(items.into_iter().map(canonical).collect()),
        Value::Map(map) => Value::Map(
            map.into_iter()
                .map(|(key, item)| (key, canonical(item)))
                .collect(),
        ),
        other => other,
    }
}

mod goldens {
    use super::*;

    fn folder(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../testdata/yaml")
            .join(name)
    }

    /// The inputs are JSON, which is YAML too, and so read by what is being tested.
    fn pairs(path: &str) -> Vec<(Value, Option<String>)> {
        let load = |suffix: &str| std::fs::read_to_string(folder(&format!("{path}.{suffix}.json"))).unwrap();
        let inputs = read(&load("in")).unwrap();
        let outputs: Vec<Option<String>> = serde_json::from_str(&load("out")).unwrap();
        assert_eq!(inputs.items().len(), outputs.len());
        inputs.items().iter().map(Node::to_value).zip(outputs).collect()
    }

    /// Texts that Helm reads otherwise, each for a reason.
    const READ_DEPARTURES: [(&str, &str); 4] = [
        ("{\"a\":\"\\/\"}", "JSON's `\\/` is an escape"),
        ("\"\\ud83d\\ude00\"", "JSON's surrogate pairs are one character"),
        ("{}1e3<<: *aa:b`", "garbage after the document is an error"),
        (
            "[\t]true!? a::bword: val0777",
            "garbage after the document is an error",
        ),
    ];

    fn agrees_with_helm(path: &str) {
        let mut wrong = Vec::new();
        for (input, expected) in pairs(path) {
            let text = input.as_str().unwrap();
            let got = read(text).map(|node| node.to_value().to_json());
            let same = match (&expected, &got) {
                // Go writes what is not UTF-8 as an escape.
                (Some(expected), Ok(got)) => expected.replace("\\ufffd", "\u{fffd}") == *got,
                (None, Err(_)) => true,
                _ => false,
            };
            if !same && !READ_DEPARTURES.iter().any(|(departure, _)| *departure == text) {
                wrong.push(format!("{text:?}: Helm {expected:?}, here {got:?}"));
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn scalars_are_read_as_helm_reads_them() {
        agrees_with_helm("read/scalars");
    }

    #[test]
    fn structures_are_read_as_helm_reads_them() {
        agrees_with_helm("read/structures");
    }

    #[test]
    fn random_texts_are_read_as_helm_reads_them() {
        agrees_with_helm("read/random");
    }

    fn written_as_helm_writes(path: &str) {
        let mut wrong = Vec::new();
        for (value, expected) in pairs(path) {
            let text = yaml::write(&value);
            // What Helm can't write has tests of its own.
            if expected.is_some_and(|expected| expected != text) {
                wrong.push(format!("{} gives\n{text}", value.to_json()));
            }
            assert_eq!(canonical(data(&text)), canonical(value), "{text}");
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn texts_are_written_as_helm_writes_them() {
        written_as_helm_writes("write/texts");
    }

    #[test]
    fn trees_are_written_as_helm_writes_them() {
        written_as_helm_writes("write/trees");
    }

    /// What `helm template` printed: values files, `toYaml` and `fromYaml` take the same path.
    #[test]
    fn the_path_through_helm_template_is_the_same() {
        let values = std::fs::read_to_string(folder("helm/values.yaml")).unwrap();
        let printed = std::fs::read_to_string(folder("helm/printed.yaml")).unwrap();
        assert_eq!(yaml::write(&data(&values)), printed);
    }
}

mod departures {
    use super::*;

    #[test]
    fn what_helm_fails_on_is_written_in_double_quotes() {
        let cases = [
            ("a\u{7f}b", "\"a\\x7Fb\"\n"),
            ("a\u{85}b", "\"a\\Nb\"\n"),
            ("a\u{9f}", "\"a\\x9F\"\n"),
            ("\u{fffe}\u{ffff}", "\"\\uFFFE\\uFFFF\"\n"),
        ];
        for (text, expected) in cases {
            assert_eq!(yaml::write(&text.into()), expected);
            assert_eq!(data(expected), text.into());
        }
    }

    #[test]
    fn the_key_of_a_merge_is_quoted() {
        let value: Value = Map::from_iter([("<<", Value::from("<<"))]).into();
        assert_eq!(yaml::write(&value), "\"<<\": <<\n");
    }

    #[test]
    fn keys_beyond_what_helm_can_write_come_back() {
        let value: Value = Map::from_iter([("k".repeat(5000), Value::from(1))]).into();
        assert_eq!(data(&yaml::write(&value)), value);
        assert_eq!(data(&yaml::write_flow(&value, true)), value);
    }

    #[test]
    fn json_is_read_as_json() {
        let text = r#"{"pair": "\uD83D\uDE00", "slash": "\/", "tab": "\t", "nested": {"a":[1,2.5,-3e2]}}"#;
        let node = read(text).unwrap();
        assert_eq!(node.get("pair").unwrap().as_str(), Some("😀"));
        assert_eq!(node.get("slash").unwrap().as_str(), Some("/"));
        assert!(read(r#""\uD83D""#).is_err());
        assert!(read(r#""\uD83Dx""#).is_err());
        assert!(read(r#""\uD83D\u0041""#).is_err());
    }

    #[test]
    fn numbers_beyond_json_become_null() {
        assert_eq!(yaml::write(&Value::Number(Number::Float(f64::NAN))), "null\n");
    }
}

mod reading {
    use super::*;

    fn source_of<'a>(source: &'a Arc<Source>, node: &Node) -> &'a str {
        source.slice(node.span)
    }

    #[test]
    fn every_node_knows_where_it_stands() {
        let text = "é: &a !!int 12\nlist:\n- 'q'\n- {b: [c, d], e: }\nblock: |\n  x\n\nalias: *a\nempty:\n";
        let source = Source::new("t", text);
        let root = yaml::parse(&source, Class::Config, &Limits::default()).unwrap();
        let at = |key: &str| source_of(&source, root.get(key).unwrap());
        assert_eq!(at("é"), "12");
        assert_eq!(at("list"), "- 'q'\n- {b: [c, d], e: }");
        assert_eq!(at("block"), "|\n  x");
        assert_eq!(at("alias"), "12");
        assert_eq!(at("empty"), "");
        let list = root.get("list").unwrap();
        assert_eq!(source_of(&source, &list.items()[0]), "'q'");
        assert_eq!(source_of(&source, list.items()[1].get("b").unwrap()), "[c, d]");
        let entry = &root.entries()[1];
        assert_eq!(source.slice(entry.key_span), "list");
        assert_eq!(source.position(entry.key_span.start).line, 2);
    }

    #[test]
    fn digits_beyond_uint64_can_be_found_in_the_text() {
        let source = Source::new("t", "\u{feff}num: 123456789012345678901234567890\n");
        let root = yaml::parse(&source, Class::Config, &Limits::default()).unwrap();
        let node = root.get("num").unwrap();
        assert_eq!(node.kind, Kind::Number(Number::Float(1.234_567_890_123_456_8e29)));
        assert_eq!(source.slice(node.span), "123456789012345678901234567890");
    }

    #[test]
    fn the_last_duplicate_wins_and_there_is_a_warning() {
        let source = Source::new("t", "a: 1\nb: 2\na: 3\nc: &c {x: 1}\nd: {<<: *c, x: 2}\n");
        let document = yaml::parse_document(&source, Class::Values, &Limits::default()).unwrap();
        let keys: Vec<&str> = document
            .root
            .entries()
            .iter()
            .map(|entry| entry.key.as_str())
            .collect();
        assert_eq!(keys, ["b", "a", "c", "d"]);
        let warnings: Vec<String> = document
            .duplicates
            .iter()
            .map(|one| one.to_diagnostic(Class::Config).to_string())
            .collect();
        assert_eq!(
            warnings,
            ["t:3:1: duplicate key `a`"],
            "overriding a merged key is meant"
        );
    }

    #[test]
    fn the_first_document_counts_and_all_can_be_had() {
        let text = "a: 1\n---\nb: 2\n...\n---\n";
        assert_eq!(data(text), data("a: 1"));
        let all = yaml::parse_all(&Source::new("t", text), Class::Config, &Limits::default()).unwrap();
        let all: Vec<Value> = all.iter().map(Node::to_value).collect();
        assert_eq!(all, [data("a: 1"), data("b: 2"), Value::Null]);
        assert_eq!(data(""), Value::Null);
        assert!(
            yaml::parse_all(&Source::new("t", ""), Class::Config, &Limits::default())
                .unwrap()
                .is_empty()
        );
    }
}

mod limits {
    use super::*;

    fn with(text: &str, limits: Limits) -> String {
        match yaml::parse(&Source::new("t", text), Class::Config, &limits) {
            Ok(_) => "read".to_owned(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn a_long_text_is_refused_before_it_is_looked_at() {
        let limits = Limits {
            bytes: 10,
            ..Limits::default()
        };
        assert_eq!(with("a: 1\nb: 2\n", limits), "read");
        assert_eq!(
            with("a: 1\nb: 2\n\0", limits),
            "t:1:1: the text has 11 bytes, and the limit is 10"
        );
    }

    #[test]
    fn depth_is_limited_in_every_kind_of_nesting() {
        let deepest = Limits::default().depth;
        let flow = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
        let maps = |depth: usize| "{a: ".repeat(depth) + &"}".repeat(depth);
        let lists = |depth: usize| "- ".repeat(depth) + "a";
        let blocks =
            |depth: usize| -> String { (0..depth).map(|level| " ".repeat(level) + "a:\n").collect() };
        let kinds: [&dyn Fn(usize) -> String; 4] = [&flow, &maps, &lists, &blocks];
        for text in kinds {
            assert_eq!(with(&text(deepest), Limits::default()), "read");
            for more in [deepest + 1, 4000] {
                let error = with(&text(more), Limits::default());
                assert!(error.contains("nest more than 1000 deep"), "{error}");
            }
        }
    }

    #[test]
    fn aliases_count_as_what_they_stand_for() {
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let items = vec![format!("*a{}", level - 1); 10].join(", ");
            bomb += &format!("a{level}: &a{level} [{items}]\n");
        }
        let error = with(&bomb, Limits::default());
        assert!(
            error.ends_with("the text holds more than 2000000 values"),
            "{error}"
        );

        let mut deep = format!("a0: &a0 {}{}\n", "[".repeat(600), "]".repeat(600));
        deep += &format!("a1: {}*a0{}\n", "[".repeat(600), "]".repeat(600));
        let error = with(&deep, Limits::default());
        assert!(error.contains("nest more than 1000 deep"), "{error}");

        let mut merges = "m0: &m0 {}\n".to_owned();
        for level in 1..40 {
            let below = level - 1;
            merges += &format!("m{level}: &m{level} {{<<: [*m{below}, *m{below}]}}\n");
        }
        let error = with(&merges, Limits::default());
        assert!(
            error.ends_with("the text holds more than 2000000 values"),
            "{error}"
        );
    }

    #[test]
    fn many_values_are_refused() {
        let limits = Limits {
            nodes: 4,
            ..Limits::default()
        };
        assert_eq!(with("[1, 2, 3]", limits), "read");
        assert_eq!(
            with("[1, 2, 3, 4]", limits),
            "t:1:11: the text holds more than 4 values"
        );
    }

    #[test]
    fn recursion_through_aliases_is_refused() {
        for text in ["&a [*a]", "a: &a {b: *a}", "&a {<<: *a}", "&a [&b [*a], *b]"] {
            assert!(
                with(text, Limits::default()).contains("contains itself"),
                "{text}"
            );
        }
    }
}

mod template_safe {
    use super::*;

    #[test]
    fn braces_never_meet() {
        let options = Options {
            template_safe: true,
            indent: 0,
            ..Options::default()
        };
        let value: Value = Map::from_iter([
            ("{{ a }}", Value::from("{{ .Values.x }}")),
            ("b", Value::from("{{\n}}\n")),
            ("c", Value::empty_map()),
            ("d", Value::from("{")),
        ])
        .into();
        let text = yaml::write_with(&value, &options);
        assert_eq!(
            text,
            "\"\\x7b\\x7b a \\x7d\\x7d\": \"\\x7b\\x7b .Values.x \\x7d\\x7d\"\nb: \"\\x7b\\x7b\\n\\x7d\\x7d\\n\"\nc: {}\nd: '{'\n"
        );
        assert_eq!(data(&text), value);
        let nested: Value =
            Map::from_iter([("a", Value::from(Map::from_iter([("b", Value::empty_map())])))]).into();
        assert_eq!(yaml::write_flow(&nested, true), "{\"a\": {\"b\": {} } }");
        assert_eq!(yaml::write_flow(&nested, false), "{\"a\": {\"b\": {}}}");
    }

    #[test]
    fn a_margin_stands_before_each_line() {
        let options = Options {
            template_safe: false,
            indent: 4,
            ..Options::default()
        };
        let value: Value = Map::from_iter([
            ("a", Value::from("x\n\n  y\n")),
            ("b", Value::List(vec![1.into()])),
        ])
        .into();
        assert_eq!(
            yaml::write_with(&value, &options),
            "    a: |\n      x\n\n        y\n    b:\n    - 1\n"
        );
    }
}

mod properties {
    use super::*;

    /// What YAML minds, and some words between.
    const PIECES: &[&str] = &[
        "a",
        "b",
        "word",
        " ",
        "  ",
        "\n",
        "\n\n",
        "\t",
        ": ",
        ":",
        "#",
        " #",
        "- ",
        "-",
        "?",
        "'",
        "\"",
        "\\",
        "{",
        "}",
        "{{",
        "}}",
        "[",
        "]",
        ",",
        "&",
        "*",
        "!",
        "|",
        ">",
        "%",
        "@",
        "`",
        "=",
        "<<",
        "---",
        "...",
        "yes",
        "null",
        "~",
        "12",
        "0x1F",
        "1e3",
        ".5",
        "12:30",
        "2001-01-01",
        "\r",
        "\r\n",
        "\u{85}",
        "\u{2028}",
        "\u{2029}",
        "\u{feff}",
        "\u{fffe}",
        "\u{7f}",
        "\0",
        "é",
        "日本",
        "😀",
        "\u{a0}",
    ];

    fn text() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            proptest::sample::select(PIECES).prop_map(str::to_owned),
            any::<char>().prop_map(String::from),
            "[a-z ]{0,60}",
        ];
        proptest::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
    }

    fn value() -> impl Strategy<Value = Value> {
        let number = prop_oneof![
            any::<i64>().prop_map(Number::Int),
            (1_u64 << 63..).prop_map(Number::Uint),
            any::<f64>()
                .prop_filter("finite", |value| value.is_finite())
                .prop_map(Number::Float),
        ];
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::Bool),
            number.prop_map(Value::Number),
            text().prop_map(Value::String),
        ];
        leaf.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::List),
                proptest::collection::btree_map(text(), inner, 0..5)
                    .prop_map(|map| Value::Map(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn what_is_written_comes_back(value in value(), indent in 0_usize..5) {
            let expected = canonical(value.clone());
            prop_assert_eq!(canonical(data(&yaml::write(&value))), expected.clone());
            for template_safe in [false, true] {
                let block = yaml::write_with(&value, &Options { template_safe, indent, ..Options::default() });
                let flow = yaml::write_flow(&value, template_safe);
                prop_assert!(!flow.contains('\n'));
                for text in [block, flow] {
                    prop_assert_eq!(canonical(data(&text)), expected.clone(), "{}", text);
                    prop_assert!(!template_safe || !text.contains("{{") && !text.contains("}}"), "{}", text);
                }
            }
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>()) {
            let _ = read(&text);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&String::from_utf8_lossy(&bytes));
        }

        #[test]
        fn nothing_like_yaml_makes_it_panic(pieces in proptest::collection::vec(text(), 0..8)) {
            let text = pieces.join("\n");
            let source = Source::new("t", text.as_str());
            let limits = Limits { bytes: 1 << 20, depth: 50, nodes: 1000 };
            match yaml::parse_all(&source, Class::Config, &limits) {
                Ok(nodes) => for node in nodes { inside(&source, &node) },
                Err(error) => {
                    let span = error.location().unwrap().span;
                    prop_assert!(span.start <= span.end && span.end as usize <= text.len(), "{error}");
                }
            }
        }
    }

    fn inside(source: &Source, node: &Node) {
        assert!(node.span.start <= node.span.end && node.span.end as usize <= source.text().len());
        node.items().iter().for_each(|item| inside(source, item));
        node.entries()
            .iter()
            .for_each(|entry| inside(source, &entry.value));
    }
}

mod mistakes {
    use super::*;

    #[test]
    fn common_mistakes_are_explained() {
        let texts = [
            "a: b: c",
            "a:\n\t- b",
            "\ta: 1",
            "a: \"x\nb: 1\n",
            "a: 'it's'\n",
            "image: {{ .Values.image }}",
            "{{ if .x }}\na: 1\n",
            "a: *nope",
            "x: &defaults 1\na: *default",
            "a: @x",
            "a: %x",
            "a: \"\\d\"",
            "a: \"\\uZZ\"",
            "a: \u{7}",
            "a: 1\n b: 2",
            "a: 1\nb\nc: 3",
            "a:\n  - 1\n - 2",
            "a: [1, 2",
            "a: {b: 1",
            "a: [1 2]",
            "a: !!int x",
            "a: .inf",
            "? [a]\n: b",
            "null: a",
            "a: - b",
            "a: |x\n  y",
            "<<: 1",
            "%FOO\n---\na: 1",
            "%YAML 1.2\n---\na: 1",
            "a: 1\n---\nb: [\n",
            "x\n}",
        ];
        let mut all = String::new();
        for text in texts {
            let source = Source::new("t", text);
            let result = yaml::parse_all(&source, Class::Config, &Limits::default());
            all += &format!("{text:?}\n");
            match result {
                Ok(nodes) => all += &format!("  read: {}\n", nodes.len()),
                Err(error) => {
                    let error = Diagnostic::from(error);
                    let span = error.location.as_ref().unwrap().span;
                    all += &format!("  {error} [{}]\n", source.slice(span).escape_debug());
                    for hint in error.hints {
                        all += &format!("  hint: {hint}\n");
                    }
                }
            }
        }
        insta::assert_snapshot!(all);
    }
}
