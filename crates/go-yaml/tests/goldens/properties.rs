//! What holds of every text, on generated ones.

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
