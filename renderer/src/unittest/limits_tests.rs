//! Each limit of suites is reached, and says so.

use std::fs;

use super::regex::GoRegex;
use super::{DiscoverOptions, Discovered, MAX_FILTER_DEPTH, MAX_FOUND, MAX_SUITE_FILES, Path};
use crate::value::Value;

#[test]
fn a_path_selects_no_more_than_a_million_values() {
    let list = |count: usize, item: Value| Value::List(vec![item; count]);
    let path = Path::parse("$[*][*]").unwrap();
    let just = list(999, list(1000, Value::Null));
    assert_eq!(path.find(&just).unwrap().len(), 999_000);
    let more = list(1000, list(1000, Value::Null));
    let refused = path.find(&more).unwrap_err();
    assert_eq!(
        refused.message,
        format!("the path selects more than {MAX_FOUND} values")
    );
}

#[test]
fn filters_nest_sixty_four_deep() {
    let negated = |depth: usize| format!("$[?({}@.a)]", "!".repeat(depth));
    let bracketed = |depth: usize| format!("$[?({}@.a{})]", "(".repeat(depth), ")".repeat(depth));
    for nested in [negated, bracketed] {
        assert!(Path::parse(&nested(MAX_FILTER_DEPTH / 2)).is_ok());
        let refused = Path::parse(&nested(MAX_FILTER_DEPTH + 1)).unwrap_err();
        assert_eq!(
            refused.message,
            format!("filters nest at most {MAX_FILTER_DEPTH} deep")
        );
    }
}

#[test]
fn an_expression_that_takes_too_much_memory_is_refused() {
    assert!(GoRegex::new("(a{100}){10}").is_ok());
    assert!(GoRegex::new(r"(\pL{1000}){1000}").is_err());
}

#[test]
fn a_chart_has_no_more_than_ten_thousand_suite_files() {
    let folder = tempfile::tempdir().unwrap();
    let tests = folder.path().join("tests");
    fs::create_dir(&tests).unwrap();
    let chart = "apiVersion: v2\nname: shop\nversion: 1.0.0\n";
    fs::write(folder.path().join("Chart.yaml"), chart).unwrap();
    for number in 0..=MAX_SUITE_FILES {
        fs::write(tests.join(format!("{number}_test.yaml")), "").unwrap();
    }
    let options = DiscoverOptions {
        files: vec![super::SUITE_FILES.to_owned()],
        with_subcharts: false,
        is_strict: false,
        values: std::sync::Arc::default(),
    };
    let refused = Discovered::default().add(folder.path(), &options).unwrap_err();
    assert!(
        refused.to_string().contains("more than 10000 suite files"),
        "{refused}"
    );
}
