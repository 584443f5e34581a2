//! The grammar of `--set`, compared with Helm 4.3.1's results, recorded by `testdata/values/oracle`; and with arbitrary
//! texts.

use proptest::prelude::*;

use super::set::{MAX_NESTING, Meaning, PaddingBudget, set};
use crate::diag::{Class, Result};
use crate::source::Source;
use crate::value::{Map, Number, Value};
use crate::yaml;

const CASES: &str = include_str!("../../../testdata/values/set.in.json");
const RECORDED: &str = include_str!("../../../testdata/values/set.out.json");

fn read(text: &str) -> Value {
    let node = yaml::parse_json(&Source::new("t", text), &yaml::Limits::default());
    node.expect("the file is JSON").into_value()
}

fn list(value: &Value) -> &[Value] {
    match value {
        Value::List(items) => items,
        _ => &[],
    }
}

fn field<'v>(case: &'v Value, name: &str) -> &'v str {
    let map = case.as_map().expect("a case is a map");
    map.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// JSON that distinguishes integers and floats: `int(1)`, `float(1)`.
fn typed(value: &Value) -> Value {
    match value {
        Value::Number(Number::Float(value)) => Value::from(format!("float({value})")),
        Value::Number(value) => Value::from(format!("int({value})")),
        Value::List(items) => Value::List(items.iter().map(typed).collect()),
        Value::Map(map) => Value::Map(map.iter().map(|(key, item)| (key.clone(), typed(item))).collect()),
        other => other.clone(),
    }
}

fn apply(flag: &str, text: &str, values: &mut Map) -> Result<()> {
    let mut file = |path: &str| Ok(format!("<{path}>"));
    let meaning = match flag {
        "--set" => Meaning::Typed,
        "--set-string" => Meaning::Text,
        "--set-json" => Meaning::Json,
        "--set-file" => Meaning::File(&mut file),
        _ => Meaning::Literal,
    };
    set(text, meaning, values, &mut PaddingBudget::default())
}

#[test]
fn each_text_has_the_result_of_helm() {
    let (cases, recorded) = (read(CASES), read(RECORDED));
    assert_eq!(list(&cases).len(), list(&recorded).len());
    let mut wrong = Vec::new();
    for (case, recorded) in list(&cases).iter().zip(list(&recorded)) {
        let (flag, text, base) = (field(case, "flag"), field(case, "text"), field(case, "base"));
        let mut values = match super::set::floats(read(if base.is_empty() { "{}" } else { base })) {
            Some(Value::Map(map)) => map,
            _ => Map::default(),
        };
        let found = match apply(flag, text, &mut values) {
            Ok(()) => typed(&Value::Map(values)).to_json(),
            Err(problem) => {
                let message = &problem.iter().next().expect("an error").message;
                match message.strip_prefix(&format!("failed parsing {flag} data: ")) {
                    Some(rest) => format!("error: {rest}"),
                    None => "error".to_owned(),
                }
            }
        };
        let wanted = recorded.as_str().unwrap_or_default();
        let wanted = if flag == "--set-json" && wanted.starts_with("error") {
            "error"
        } else {
            wanted
        };
        if found != wanted {
            wrong.push(format!(
                "{flag} {text:?} over {base}\n  helm: {wanted}\n  here: {found}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn errors_have_a_position_in_the_text() {
    let mut values = Map::default();
    let problem = apply("--set", "a=1,b.c[x]=2", &mut values).unwrap_err();
    let one = problem.iter().next().expect("an error");
    assert_eq!(one.class, Class::Values);
    let place = one.location.clone().expect("a place");
    assert_eq!(place.source.name(), "--set");
    assert_eq!(place.source.slice(place.span), "x]");
}

#[test]
fn nesting_and_padding_have_limits() {
    let mut values = Map::default();
    let deep = |count| format!("a{}=1", "[0]".repeat(count));
    assert!(apply("--set", &deep(MAX_NESTING), &mut values).is_ok());
    let problem = apply("--set", &deep(MAX_NESTING + 1), &mut Map::default()).unwrap_err();
    assert!(problem.to_string().contains("nest deeper"), "{problem}");
    let wide = format!("a{}=1", "[65536]".repeat(40));
    let problem = apply("--set", &wide, &mut Map::default()).unwrap_err();
    assert!(problem.to_string().contains("items in all"), "{problem}");
    let long = "a[0].".repeat(20_000);
    assert!(apply("--set", &long, &mut Map::default()).is_err());
}

proptest! {
    #[test]
    fn any_text_gives_values_or_an_error_with_a_position(
        text in "([ab01.,=\\[\\]{}\\\\\" -]|true|null|\\PC){0,24}",
        flag in prop::sample::select(vec!["--set", "--set-string", "--set-json", "--set-file", "--set-literal"]),
        filled in any::<bool>(),
    ) {
        let mut values = Map::default();
        if filled {
            apply("--set-json", r#"a={"a":[1,{"b":null}],"b":"x"},b=[[1],{},null]"#, &mut values).unwrap();
        }
        if let Err(problem) = apply(flag, &text, &mut values) {
            for one in problem.iter() {
                prop_assert!(one.location.is_some(), "{one}");
            }
        }
    }
}
