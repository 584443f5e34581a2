//! Tokens of the language in any order, with every function: the result is output or a diagnostic with a position.

use proptest::prelude::*;
use solar_render::engine::functions;
use solar_render::value::Value;

use crate::support::render_within;

const WORDS: &[&str] = &[
    "{{",
    "}}",
    "{{-",
    "-}}",
    " ",
    "\n",
    "text",
    "if ",
    "else ",
    "end",
    "range ",
    "with ",
    "define \"a\"",
    "template \"a\" ",
    "block \"b\" ",
    "break",
    "continue",
    "include \"a\" ",
    "tpl ",
    "$x := ",
    "$x",
    "$",
    ".",
    ".Values",
    ".Values.a",
    ".Values.b.c",
    ".a",
    "|",
    "(",
    ")",
    "\"s\"",
    "`r`",
    "'c'",
    "1",
    "-1",
    "0x1p4",
    "1e9",
    "1i",
    "nil",
    "true",
    ",",
    "/* c */",
    "\"%v %d %s\"",
    "\"\\xff\"",
    "é",
    "=",
    ":=",
    "\"",
    "9223372036854775807",
    "(list 1 \"a\" nil)",
    "(dict \"k\" 1)",
];

fn word() -> impl Strategy<Value = String> {
    let names: Vec<&'static str> = functions()
        .names()
        // Keys of 4096 bits and the like: right, and slow.
        .filter(|name| {
            !name.starts_with("gen")
                && !matches!(
                    *name,
                    "bcrypt" | "htpasswd" | "derivePassword" | "buildCustomCert"
                )
        })
        .collect();
    prop_oneof![
        3 => prop::sample::select(WORDS).prop_map(str::to_owned),
        1 => prop::sample::select(names).prop_map(|name| format!("{name} ")),
    ]
}

/// Calls that parse, mostly: functions with arguments of any kind.
fn call() -> impl Strategy<Value = String> {
    let argument = prop::sample::select(vec![
        "1",
        "-1",
        "0",
        "1.5",
        "\"\"",
        "\"abc\"",
        "\"é\"",
        "\"1.2.3\"",
        "\"a: b\"",
        "nil",
        "true",
        ".Values.a",
        ".Values.b",
        ".Values.none",
        "(list)",
        "(list 1 2 \"x\")",
        "(dict)",
        "(dict \"a\" (list nil))",
        "9223372036854775807",
        "-9223372036854775808",
        "1e300",
        "\"%d\"",
        "\"[\"",
        "(now)",
        "\"\\xff\"",
        "\"2006-01-02\"",
        "\"UTC\"",
        "(list (dict \"a\" 1))",
        "(int64 3)",
    ]);
    (word(), prop::collection::vec(argument, 0..5))
        .prop_map(|(name, arguments)| format!("{{{{ {name} {} }}}}", arguments.join(" ")))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2500))]

    #[test]
    fn any_words(words in prop::collection::vec(word(), 0..24)) {
        check(&words.concat())?;
    }

    #[test]
    fn any_call(text in call()) {
        check(&text)?;
    }

    #[test]
    fn any_text(text in "(\\{\\{|\\}\\}|\\PC|\n){0,60}") {
        check(&text)?;
    }
}

fn check(text: &str) -> Result<(), TestCaseError> {
    let values: Value = [
        ("a".to_owned(), Value::from("text")),
        ("b".to_owned(), Value::List(vec![Value::from(1), Value::Null])),
    ]
    .into_iter()
    .collect::<solar_render::value::Map>()
    .into();
    if let Err(problem) = render_within(text, &values, 100_000) {
        for one in problem.iter() {
            prop_assert!(one.location.is_some() || one.message.contains("UTF-8"), "{one}");
        }
    }
    Ok(())
}
