//! Text that Helm may take for a template.

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
