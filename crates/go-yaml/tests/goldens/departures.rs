//! Where we differ from Helm on purpose.

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
