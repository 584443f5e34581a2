//! Schemas of charts: compared with Helm 4.3.1's messages, recorded by `testdata/values/schema.py`.

use super::options::load;
use super::schema::{Level, validate, validate_with};
use super::schema_documents::{SchemaStore, Unread};
use super::schema_messages::MAX_LISTED;
use crate::diag::Class;
use crate::source::Source;
use crate::value::Map;
use crate::yaml;

const CASES: &str = include_str!("../../../testdata/values/schema.json");

fn check(schema: &str, values: &str) -> Vec<String> {
    let values = load(&Source::new("values.yaml", values)).expect("values");
    let schema = Source::new("values.schema.json", schema);
    let level = Level {
        chart: "c",
        schema: Some(&schema),
        children: Vec::new(),
    };
    match validate(&level, &values, &|_| None) {
        Ok(()) => Vec::new(),
        Err(found) => found
            .listed
            .into_iter()
            .flat_map(|one| std::iter::once(one.message).chain(one.causes))
            .collect(),
    }
}

#[test]
fn each_case_has_helms_result_and_message() {
    let cases = yaml::parse_json(&Source::new("t", CASES), &yaml::Limits::default()).expect("JSON");
    let mut wrong = Vec::new();
    for case in cases.items() {
        let field = |name| case.get(name).and_then(yaml::Node::as_str).unwrap_or_default();
        let (schema, values, helm) = (field("schema"), field("values"), field("helm"));
        let found = check(schema, values);
        // `regex` and references have messages of our own.
        let same = match field("words") {
            "own" => helm.is_empty() == found.is_empty(),
            _ => {
                let mut lines: Vec<&str> = helm
                    .lines()
                    .map(|line| line.trim_start_matches([' ', '-']))
                    .collect();
                let mut found: Vec<&str> = found.iter().map(String::as_str).collect();
                lines.sort_unstable();
                found.sort_unstable();
                lines == found
            }
        };
        if !same {
            wrong.push(format!("{schema}\n{values}\n  helm: {helm:?}\n  here: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn subcharts_are_checked_with_their_own_part() {
    let values = load(&Source::new("v", "sub: {k: x}\nodd: 1\n")).expect("values");
    let schema = Source::new("s", r#"{"properties":{"k":{"type":"integer"}}}"#);
    let child = |chart| Level {
        chart,
        schema: Some(&schema),
        children: Vec::new(),
    };
    let level = Level {
        chart: "top",
        schema: None,
        children: vec![child("sub"), child("odd"), child("absent")],
    };
    let source = Source::new("v", "sub: {k: x}\n");
    let locate = |path: &[String]| {
        let at = crate::source::Location::new(&source, crate::source::Span::new(9, 10));
        (path == ["sub", "k"]).then_some(at)
    };
    let problem = crate::diag::Diagnostics::from(validate(&level, &values, &locate).unwrap_err());
    assert_eq!(problem.class(), Class::Values);
    let lines: Vec<String> = problem.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "values don't meet the specifications of the schema(s) in the following chart(s): sub, odd",
            "v:1:10: sub: at '/k': got string, want integer",
            "odd: invalid type for values: expected object (map), got float64",
        ]
    );
}

#[test]
fn nothing_is_fetched_or_read_for_a_schema() {
    for (target, word) in [
        ("https://example.org/x.json", "fetched"),
        ("other.json", "not read"),
        ("file:///etc/passwd", "not read"),
    ] {
        let found = check(
            &format!(r#"{{"properties":{{"a":{{"$ref":"{target}"}}}}}}"#),
            "a: 1",
        );
        assert!(found.iter().any(|line| line.contains(word)), "{found:?}");
    }
}

#[test]
fn deep_values_and_schemas_end() {
    let nested = format!("{}1{}", "{a: ".repeat(900), "}".repeat(900));
    assert!(check(r##"{"properties":{"a":{"$ref":"#"}}}"##, &nested).is_empty());
    let deep = format!(
        "{}{{}}{}",
        r#"{"properties":{"a":"#.repeat(50_000),
        "}}".repeat(50_000)
    );
    assert!(!check(&deep, "a: 1").is_empty());
    let level = Level {
        chart: "c",
        schema: None,
        children: Vec::new(),
    };
    assert!(validate(&level, &Map::default(), &|_| None).is_ok());
}

/// 50,000 violations once took more than 3 GiB.
#[test]
fn many_violations_are_counted_and_the_first_are_listed() {
    let numbers: String = (0..50_000)
        .map(|number| format!("k{number}: {number}\n"))
        .collect();
    let found = check(r#"{"additionalProperties":{"type":"string"}}"#, &numbers);
    assert_eq!(found.len(), MAX_LISTED + 1);
    assert_eq!(
        found.first().map(String::as_str),
        Some("at '/k0': got number, want string")
    );
    assert_eq!(
        found.last().map(String::as_str),
        Some("49900 more violations are not listed")
    );
    let any = format!(
        r#"{{"anyOf":[{}]}}"#,
        vec![r#"{"required":["x"]}"#; 250].join(",")
    );
    let found = check(&any, "a: 1");
    assert_eq!(
        found.last().map(String::as_str),
        Some("150 more causes are not listed")
    );
}

/// Such a schema was once validated endlessly.
#[test]
fn a_schema_that_takes_too_many_steps_is_refused() {
    let level = |level: usize| {
        let next = format!(r##"{{"$ref":"#/$defs/l{}"}}"##, level + 1);
        format!(r#""l{level}":{{"anyOf":[{}]}}"#, [next.as_str(); 6].join(","))
    };
    let levels: Vec<String> = (0..20).map(level).collect();
    for keyword in ["unevaluatedProperties", "additionalProperties"] {
        let schema = format!(
            r##"{{"$ref":"#/$defs/l0","{keyword}":false,"$defs":{{{},"l20":{{"required":["x"]}}}}}}"##,
            levels.join(",")
        );
        let found = check(&schema, "a: 1");
        assert!(
            found.iter().any(|line| line.contains("steps")),
            "{keyword}: {found:?}"
        );
    }
}

/// Such patterns once took 709 MiB.
#[test]
fn many_patterns_that_repeat_share_a_bound() {
    let patterns = |count: usize| {
        let one = |number: usize| format!(r#""^(a|b{number}){{900}}$":{{"type":"string"}}"#);
        let all: Vec<String> = (0..count).map(one).collect();
        format!(r#"{{"patternProperties":{{{}}}}}"#, all.join(","))
    };
    assert!(check(&patterns(10), "a: 1").is_empty());
    let found = check(&patterns(2_000), "a: 1");
    assert!(found.iter().any(|line| line.contains("too large")), "{found:?}");
}

/// Each was once compiled into megabytes of automata over the bytes of UTF-8: four seconds, and too large for the bound.
#[test]
fn classes_of_letters_may_be_repeated() {
    let one = |number: usize| format!(r#""k{number}":{{"pattern":"^\\pL{{1,3{number:02}}}$"}}"#);
    let all: Vec<String> = (0..20).map(one).collect();
    let schema = format!(r#"{{"properties":{{{}}}}}"#, all.join(","));
    let values = |length: usize| {
        let all = (0..20).map(|number| format!("k{number}: {}\n", "\u{e9}".repeat(length)));
        all.collect::<String>()
    };
    assert!(check(&schema, &values(300)).is_empty());
    let found = check(&schema, &values(319));
    assert_eq!(found.len(), 19, "{found:?}");
    assert!(
        found.iter().all(|line| line.contains("does not match pattern")),
        "{found:?}"
    );
}

/// They too once took seconds.
#[test]
fn names_may_be_of_repeated_letters() {
    let one = |number: usize| format!(r#""^\\pL{{2,3{number:02}}}$":{{"maxLength":{number}}}"#);
    let all: Vec<String> = (0..20).map(one).collect();
    for draft in ["draft-07/schema#", "draft/2020-12/schema"] {
        let schema = format!(
            r#"{{"$schema":"http://json-schema.org/{draft}","properties":{{"m":{{"patternProperties":{{{}}},"additionalProperties":false}}}}}}"#,
            all.join(",")
        );
        assert!(check(&schema, "m: {\u{e9}t: ''}").is_empty(), "{draft}");
        let found = check(&schema, "m: {\u{e9}t: long, '\u{e9}-t': '', \u{e9}: ''}");
        assert_eq!(found.len(), 5, "{draft}: {found:?}");
        assert!(
            found.iter().any(|line| line.contains("additional properties")),
            "{found:?}"
        );
    }
}

#[test]
fn a_pattern_above_the_bound_is_named_when_a_value_meets_it() {
    let one = |number: usize| format!(r#""k{number}":{{"pattern":"^(a|b{number}){{900}}$"}}"#);
    let all: Vec<String> = (0..2_000).map(one).collect();
    let schema = format!(r#"{{"properties":{{{}}}}}"#, all.join(","));
    assert!(check(&schema, "other: a").is_empty());
    let found = check(&schema, "k7: a");
    let expected =
        "at '/k7': '^(a|b7){900}$' is not a regular expression: error parsing regexp: expression too large";
    assert!(
        matches!(&found[..], [line] if line.contains(expected)),
        "{found:?}"
    );
}

/// These once had the schema library's own message: "not present in a registry and retrieving it failed".
#[test]
fn an_unresolved_reference_is_explained() {
    let cases = [
        (
            r#"{"$ref":"https://example.com/x.json"}"#,
            "it refers to https://example.com/x.json, and nothing is fetched for a schema: put what is referred to into \
             its `$defs`, or in a folder for --schema-location, or fetch it with --allow-remote-schemas",
        ),
        (
            r#"{"$ref":"other.json"}"#,
            "it refers to file:///other.json, and files are not read for a schema: put what is referred to into its `$defs`",
        ),
        (
            r##"{"$ref":"#/$defs/none"}"##,
            "a `$ref` points to /$defs/none, which does not exist in the schema it refers to",
        ),
        (
            r##"{"$ref":"#none"}"##,
            "a `$ref` points to the anchor \"none\", which no `$anchor` or `$id` defines",
        ),
        (
            r##"{"$ref":"#/x/%ff"}"##,
            "a `$ref` points to /x/%ff, whose `%` sequences are not UTF-8",
        ),
        (
            r##"{"allOf":[true],"$ref":"#/allOf/x"}"##,
            "a `$ref` points to /allOf/x, where \"x\" is not an index of a list",
        ),
        (
            r#"{"$schema":"https://example.com/my"}"#,
            "its `$schema` is https://example.com/my, which is not a known draft (4, 6, 7, 2019-09 and 2020-12 are): \
             name one of these, or put that schema in a folder for --schema-location",
        ),
    ];
    for (schema, reason) in cases {
        let expected = format!("at '': values.schema.json can't be used: {reason}");
        let found = check(schema, "a: 1");
        assert!(
            found.len() == 1 && expected.ends_with(&found[0]),
            "{schema}\n{found:?}"
        );
    }
}

/// The mistakes of a schema, with their places in it.
fn mistakes_of(schema: &str) -> Vec<String> {
    let values = load(&Source::new("v", "a: 1")).expect("values");
    let schema = Source::new("s", schema);
    let level = Level {
        chart: "c",
        schema: Some(&schema),
        children: Vec::new(),
    };
    let problem = crate::diag::Diagnostics::from(validate(&level, &values, &|_| None).unwrap_err());
    let lines = problem.iter().skip(1).map(ToString::to_string);
    lines
        .map(|line| line.replace("c: values.schema.json ", ""))
        .collect()
}

/// Of a schema's own mistakes only the first was listed, without a line.
#[test]
fn each_mistake_of_a_schema_has_its_place_in_it() {
    let draft_7 = r#""$schema":"http://json-schema.org/draft-07/schema#""#;
    let cases = [
        (
            "{\"type\":\"objekt\",\n\"properties\":{\n\"a\":{\"minLength\":\"x\"},\n\"b\":{\"required\":[1]}}}".to_owned(),
            vec![
                "s:3:18: is not a schema: at '/properties/a/minLength': got string, want integer",
                "s:4:18: is not a schema: at '/properties/b/required/0': got number, want string",
                "s:1:9: is not a schema: at '/type': 'anyOf' failed",
            ],
        ),
        (
            format!("{{{draft_7},\n\"pattern\":\"a(\",\n\"patternProperties\":{{\"(?i)x\":{{\"minItems\":-1}},\"[\":{{}}}}}}"),
            vec![
                "s:3:42: is not a schema: at '/patternProperties/(?i)x/minItems': minimum: got -1, want 0",
                "s:3:46: is not a schema: '[' is not a regular expression: error parsing regexp: missing closing ]: `[`",
                "s:2:11: is not a schema: 'a(' is not a regular expression: error parsing regexp: missing closing ): `a(`",
            ],
        ),
        (
            "{\"type\":\n \"object\",}".to_owned(),
            vec!["s:2:11: is not JSON: trailing comma"],
        ),
        ("{".to_owned(), vec!["s:1:1: is not JSON: EOF while parsing an object"]),
        (
            "{\"allOf\":[true],\n\"properties\":{\"a\":{\"$ref\":\"#/x%20y\"}}}".to_owned(),
            vec![
                "s:2:27: can't be used: a `$ref` points to /x%20y, which does not exist in the schema it refers to",
            ],
        ),
        (
            "{\"properties\":{\"a\":\n{\"$ref\":\"x/other.json#/a\"}}}".to_owned(),
            vec![
                "s:2:9: can't be used: it refers to file:///x/other.json, and files are not read for a schema: put what \
                 is referred to into its `$defs`",
            ],
        ),
    ];
    for (schema, expected) in cases {
        let lines = mistakes_of(&schema);
        assert_eq!(lines, expected, "{schema}");
    }
}

#[test]
fn what_is_too_much_is_shown_and_not_what_it_is_in() {
    let values = Source::new("v", "a: {b: 1}\nc: 2\n");
    let schema = Source::new(
        "s",
        r#"{"properties":{"a":{"additionalProperties":false}},"additionalProperties":false}"#,
    );
    let level = Level {
        chart: "c",
        schema: Some(&schema),
        children: Vec::new(),
    };
    let origins = super::ValueOrigins::default();
    let search = origins.search();
    let locate = |path: &[String]| search.find(path, &[(0, &values)]);
    let problem = validate(&level, &load(&values).expect("values"), &locate).unwrap_err();
    let problem = crate::diag::Diagnostics::from(problem);
    let lines: Vec<String> = problem.iter().skip(1).map(ToString::to_string).collect();
    let expected = [
        "v:1:8: c: at '/a': additional properties 'b' not allowed",
        "v:2:4: c: at '': additional properties 'c' not allowed",
    ];
    assert_eq!(lines, expected);
}

/// Helm has the schemas of all drafts, whatever the schema's own is.
#[test]
fn a_schema_may_refer_to_that_of_any_draft() {
    for draft in [
        "draft-04/schema#",
        "draft-06/schema#",
        "draft-07/schema#",
        "draft-07/schema",
    ] {
        let schema = format!(r#"{{"properties":{{"a":{{"$ref":"http://json-schema.org/{draft}"}}}}}}"#);
        assert_eq!(check(&schema, "a: {type: object}"), [""; 0], "{draft}");
        assert!(!check(&schema, "a: {type: 1}").is_empty(), "{draft}");
    }
}

#[derive(Debug)]
struct Unreachable;

impl SchemaStore for Unreachable {
    fn read(&self, _: &url::Url) -> Result<Option<Vec<u8>>, Unread> {
        Err(Unread {
            class: Class::Network,
            reason: "no answer".to_owned(),
        })
    }
}

/// Its exit code was once that of wrong values, and no line was named.
#[test]
fn a_schema_that_no_server_answers_for_is_a_failure_of_the_network() {
    let schema = Source::new("s", "{\n\"$ref\":\"https://h.example/x.json\"}");
    let level = Level {
        chart: "c",
        schema: Some(&schema),
        children: Vec::new(),
    };
    let found = validate_with(&level, &Map::default(), &|_| None, &Unreachable).unwrap_err();
    let problem = crate::diag::Diagnostics::from(found);
    assert_eq!(problem.class(), Class::Network);
    let last = problem.iter().last().map(ToString::to_string);
    let expected = "s:2:8: c: values.schema.json refers to https://h.example/x.json: no answer";
    assert_eq!(last.as_deref(), Some(expected));
}

/// They were once refused; recorded from Helm.
#[test]
fn lone_surrogates_of_a_schema_are_replaced() {
    for (schema, expected) in [
        (
            r#"{"title":"\ud800x","properties":{"b":{"maximum":1.5,"const":"\ud800"}}}"#,
            vec![],
        ),
        (
            r#"{"properties":{"b":{"enum":["x\udc00"]}}}"#,
            vec!["at '/b': value must be 'x\u{fffd}'"],
        ),
        (
            r#"{"required":["\ud800"]}"#,
            vec!["at '': missing property '\u{fffd}'"],
        ),
    ] {
        assert_eq!(check(schema, "b: \"\u{fffd}\""), expected, "{schema}");
    }
    for (opened, closed) in [(r#"{"not":"#, "}"), (r#"{"allOf":["#, "]}")] {
        let deep = format!(
            "{}{}{}",
            opened.repeat(200),
            r#"{"title":"\ud800"}"#,
            closed.repeat(200)
        );
        let found = check(&deep, "b: 1");
        assert!(found[0].contains("is not JSON"), "{found:?}");
    }
}

/// Answers for one URL.
#[derive(Debug)]
struct OneSchema(&'static str, &'static str);

impl SchemaStore for OneSchema {
    fn read(&self, url: &url::Url) -> Result<Option<Vec<u8>>, Unread> {
        Ok((url.as_str() == self.0).then(|| self.1.as_bytes().to_vec()))
    }
}

fn check_with(schema: &str, values: &str, store: &dyn SchemaStore) -> Vec<String> {
    let schema = Source::new("s", schema);
    let level = Level {
        chart: "c",
        schema: Some(&schema),
        children: Vec::new(),
    };
    let values = load(&Source::new("values.yaml", values)).expect("values");
    match validate_with(&level, &values, &|_| None, store) {
        Ok(_) => Vec::new(),
        Err(found) => {
            let problem = crate::diag::Diagnostics::from(found);
            problem.iter().map(ToString::to_string).collect()
        }
    }
}

/// All of that server was once taken for a draft, and never read.
#[test]
fn a_schema_on_the_drafts_server_that_is_no_draft_is_read() {
    let url = "https://json-schema.org/learn/examples/address.schema.json";
    let store = OneSchema(url, r#"{"properties":{"city":{"type":"string"}}}"#);
    let schema = format!("{{\"$ref\":\"{url}\"}}");
    assert_eq!(check_with(&schema, "city: Bonn", &store), [""; 0]);
    let found = check_with(&schema, "city: 1", &store);
    assert!(
        found.iter().any(|one| one.contains("got number, want string")),
        "{found:?}"
    );
}

/// Only their last names were once compared.
#[test]
fn a_missing_schema_is_found_where_its_own_url_is_written() {
    let store = OneSchema("https://a.example/one/x.json", "{}");
    let schema = |missing: &str| {
        format!(
            "{{\"$id\":\"https://b.example/two/home.json\",\n\"properties\":{{\n\
             \"a\":{{\"$ref\":\"https://a.example/one/x.json\"}},\n\
             \"b\":{{\"$ref\":\"{missing}\"}}}}}}"
        )
    };
    for missing in [
        "https://b.example/two/x.json",
        "HTTPS://B.example/two/x.json#/a",
        "x.json",
        "./x.json#/a",
    ] {
        let found = check_with(&schema(missing), "a: 1", &store);
        assert!(
            found.iter().any(|one| one.starts_with("s:4:13: ")),
            "{missing} {found:?}"
        );
    }
}

/// Each of a draft's vocabularies once listed it.
#[test]
fn a_mistake_is_listed_once() {
    let cases = [
        ("[]", "is not a schema: at '': got array, want boolean or object"),
        ("null", "is not a schema: at '': got null, want boolean or object"),
        (
            r#"{"properties":{"a":null}}"#,
            "s:1:16: is not a schema: at '/properties/a': got null, want boolean or object",
        ),
        (
            r#"{"properties":{"c":{"items":[{}]}}}"#,
            "s:1:21: is not a schema: at '/properties/c/items': got array, want boolean or object",
        ),
    ];
    for (schema, expected) in cases {
        assert_eq!(mistakes_of(schema), [expected], "{schema}");
    }
}
