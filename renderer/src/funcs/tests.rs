//! A few cases of each family, with the results of Helm 4.3.1; the goldens have all.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Context, FAMILIES, MAX_ITEMS};
use crate::template::{Call, FuncError, List, ListType, Map, Str, Val};
use crate::world::System;

fn context() -> Context {
    Context::new(Arc::new(System), None, false)
}

fn call(name: &str, args: &[Val]) -> Result<Val, FuncError> {
    let found = FAMILIES
        .iter()
        .flat_map(|(_, table)| *table)
        .find(|func| func.name == name);
    let context = &mut context();
    (found.expect(name).call)(&mut Call { args, context })
}

fn text(name: &str, args: &[Val]) -> String {
    match call(name, args) {
        Ok(Val::Str(text)) => text.to_string(),
        Ok(other) => format!("{other:?}"),
        Err(fault) => format!("error: {}", fault.message),
    }
}

fn s(text: &str) -> Val {
    Val::str(text)
}

fn n(number: i64) -> Val {
    Val::int(number)
}

#[test]
fn every_name_exists_once() {
    let names: Vec<&str> = FAMILIES
        .iter()
        .flat_map(|(_, table)| *table)
        .map(|func| func.name)
        .collect();
    let unique: BTreeSet<&str> = names.iter().copied().collect();
    assert_eq!(names.len(), unique.len());
}

#[test]
fn strings_are_cut_by_bytes() {
    let cut = call("trunc", &[n(2), s("aé")]).expect("a text");
    assert_eq!(cut.as_str().map(Str::as_bytes), Some(&b"a\xc3"[..]));
    assert_eq!(text("trunc", &[n(-2), s("abc")]), "bc");
    assert_eq!(text("substr", &[n(1), n(-1), s("abc")]), "bc");
    assert_eq!(
        text("substr", &[n(-1), n(5), s("abc")]),
        "error: runtime error: slice bounds out of range [:5] with length 3"
    );
    assert_eq!(
        text("abbrevboth", &[n(5), n(10), s("1234 5678 9123")]),
        "...5678..."
    );
}

#[test]
fn case_functions_follow_xstrings() {
    let cases = [
        ("camelcase", "http_server-x", "HttpServerX"),
        ("camelcase", "__", "___"),
        ("snakecase", "HTTPServer2xx", "http_server_2xx"),
        ("kebabcase", "Bld4Floor3rd", "bld4-floor-3rd"),
        ("title", "hello wörld-x", "Hello Wörld-X"),
        ("untitle", "Hello World", "hello world"),
        ("swapcase", "This Is a.Test", "tHIS iS A.tEST"),
        ("initials", "First Try", "FT"),
        ("nospace", " é x ", "Ã©x"),
    ];
    for (name, from, to) in cases {
        assert_eq!(text(name, &[s(from)]), to, "{name} {from}");
    }
}

#[test]
fn numbers_convert_by_the_rules_of_cast() {
    for (from, to) in [("010", 8), ("7.00", 7), ("7.5", 0), ("0x1F", 31), ("x", 0)] {
        let converted = call("int64", &[s(from)]).expect("a number").as_int();
        assert_eq!(converted.map(|(number, _)| number), Some(to), "{from}");
    }
    let float = |name, args: &[Val]| match call(name, args) {
        Ok(Val::Float(value)) => value.to_string(),
        other => format!("{other:?}"),
    };
    assert_eq!(float("addf", &[Val::Float(0.1), Val::Float(0.2)]), "0.3");
    assert_eq!(float("divf", &[n(2), n(3)]), "0.6666666666666667");
    assert_eq!(float("round", &[Val::Float(-2.5), n(0)]), "-3");
    assert_eq!(
        text("div", &[n(1), n(0)]),
        "error: runtime error: integer divide by zero"
    );
    assert_eq!(text("seq", &[n(5), n(-2), n(0)]), "5 3 1");
}

#[test]
fn lists_beyond_the_limit_are_refused() {
    let most = i64::try_from(MAX_ITEMS).expect("it fits");
    assert!(call("until", &[n(most)]).is_ok());
    assert!(text("until", &[n(most + 1)]).starts_with("error: the result would have"));
    assert!(text("seq", &[n(i64::MAX - 1)]).starts_with("error: the result would have"));
    assert!(text("repeat", &[n(i64::MAX), s("ab")]).starts_with("error: the result would be"));
    assert!(text("indent", &[n(i64::MAX), s("a\nb")]).starts_with("error: the result would be"));
    assert!(
        text(
            "wrapWith",
            &[n(1), s(&"x".repeat(1 << 20)), s(&"y".repeat(1 << 10))]
        )
        .starts_with("error")
    );
}

#[test]
fn the_rest_of_nothing_is_gos_nil_slice() {
    let empty = Val::list(Vec::new());
    for name in ["rest", "initial", "concat"] {
        let nil = call(name, std::slice::from_ref(&empty)).expect(name);
        assert!(nil.as_list().is_some_and(List::is_nil), "{name}");
        assert_eq!(nil.to_data(), Ok(crate::value::Value::Null), "{name}");
    }
    assert_eq!(
        text("first", &[Val::Nil]),
        format!("error: {}", super::args::NIL_POINTER)
    );
    assert_eq!(
        text("first", &[s("x")]),
        "error: Cannot find first on type string"
    );
}

#[test]
fn a_merge_is_in_place_and_shares_what_was_missing() {
    let map = |entries: &[(&str, Val)]| entries.iter().cloned().collect::<Map>();
    let inner = map(&[("y", n(1))]);
    let target = map(&[("a", n(0)), ("m", Val::Map(map(&[("k", n(1))])))]);
    let source = map(&[
        ("a", n(7)),
        ("x", Val::Map(inner.clone())),
        ("m", Val::Map(map(&[("k", n(2)), ("l", Val::Nil)]))),
    ]);
    call("merge", &[Val::Map(target.clone()), Val::Map(source)]).expect("a map");
    assert_eq!(
        target.get("a").and_then(|value| value.as_int()).map(|(a, _)| a),
        Some(7)
    );
    assert!(
        target
            .get("x")
            .and_then(|value| value.as_map().cloned())
            .is_some_and(|x| x.is_same(&inner))
    );
    let nested = target
        .get("m")
        .and_then(|value| value.as_map().cloned())
        .expect("a map");
    assert_eq!(
        nested.get("k").and_then(|value| value.as_int()).map(|(k, _)| k),
        Some(1)
    );
    assert!(!nested.contains("l"));
}

#[test]
fn cyclic_maps_are_an_error() {
    let (a, b) = (Map::default(), Map::default());
    for map in [&a, &b] {
        map.set("self", Val::Map(map.clone()));
    }
    let both = [Val::Map(a.clone()), Val::Map(b.clone())];
    assert!(matches!(call("deepEqual", &both), Ok(Val::Bool(true))));
    for name in ["merge", "mustMergeOverwrite"] {
        assert!(text(name, &both).contains("holds itself"), "{name}");
    }
    assert!(text("deepCopy", &both[..1]).contains("holds itself"));
    a.remove("self");
    b.remove("self");
}

#[test]
fn regular_expressions_follow_re2() {
    let cases = [
        ("a(x*)b", "-ab-axxb-", "${1}W", "-W-xxW-"),
        ("a(x*)b", "-ab-axxb-", "$1W", "---"),
        ("(?P<n>a)", "a", "<$n$$>", "<a$>"),
        (r"\d+", "a1٣", "X", "aX٣"),
        (r"\bw", "éw", "X", "éX"),
        ("(?U)a+", "aaa", "X", "XXX"),
        (r"\Qa.b\E", "a.b axb", "X", "X axb"),
        ("[a&&b]", "a&b", "X", "XXX"),
        (
            "(",
            "",
            "",
            "error: regexp: Compile(`(`): error parsing regexp: missing closing ): `(`",
        ),
        (
            "a**",
            "",
            "",
            "error: regexp: Compile(`a**`): error parsing regexp: invalid nested repetition operator: `**`",
        ),
        (
            r"(?=a)",
            "",
            "",
            "error: regexp: Compile(`(?=a)`): error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
        ),
    ];
    for (pattern, from, by, to) in cases {
        assert_eq!(
            text("regexReplaceAll", &[s(pattern), s(from), s(by)]),
            to,
            "{pattern}"
        );
    }
    let none = call("regexFindAll", &[s("q"), s("abc"), n(-1)]).expect("a list");
    assert!(
        none.as_list()
            .is_some_and(|list| list.is_nil() && list.kind() == ListType::Strings)
    );
}

#[test]
fn urls_go_round() {
    for url in ["https://u:p%20w@h:80/p/a?q=1#f", "mailto:a@b.c", "//h/p", "./a:b"] {
        let parsed = call("urlParse", &[s(url)]).expect(url);
        assert_eq!(text("urlJoin", &[parsed]), url);
    }
    assert_eq!(
        text("urlParse", &[s("http://a b/")]),
        "error: unable to parse url: parse \"http://a b/\": invalid character \" \" in host name"
    );
}

/// Each match once scanned the whole text, which took minutes.
#[test]
fn two_million_matches_take_one_pass_over_the_text() {
    const MATCHES: usize = 2_000_000;
    let many = s(&"ab".repeat(MATCHES));
    let replaced = text("regexReplaceAll", &[s("a(b)"), many, s("$1")]);
    assert!(replaced == "b".repeat(MATCHES));
    let found = call("regexFindAll", &[s("a"), s(&"ab".repeat(MAX_ITEMS)), n(-1)]);
    assert_eq!(
        found.expect("a list").as_list().map(|list| list.len()),
        Some(MAX_ITEMS)
    );
}

#[test]
fn a_world_without_randomness_makes_no_secrets() {
    let mut context = Context::new(Arc::new(crate::world::Fixed::default()), None, false);
    let args = &[Val::int(8)];
    let context = &mut context;
    let mut all = FAMILIES.iter().flat_map(|(_, table)| *table);
    let func = all.find(|func| func.name == "randAlphaNum").unwrap();
    let fault = (func.call)(&mut Call { args, context }).unwrap_err();
    assert_eq!(
        fault.message,
        "there is no source of random bytes here; set a seed"
    );
}
