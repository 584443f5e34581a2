//! Spans, documents and types of what is read.

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

/// Go counts characters; bytes were counted here.
#[test]
fn a_key_has_at_most_1024_characters() {
    let limits = yaml::Limits::default();
    for character in ["k", "é", "日", "😀"] {
        for (letters, is_read) in [(1022, true), (1023, false)] {
            let text = format!("{{\"{}\": 1}}", character.repeat(letters));
            // JSON is read by another reader.
            let text = format!("a: {text}\n");
            let read = yaml::parse(&Source::new("t", text), Class::Values, &limits);
            assert_eq!(read.is_ok(), is_read, "{character} {letters}");
        }
    }
}
