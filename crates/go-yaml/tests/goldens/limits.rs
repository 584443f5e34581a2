//! Each limit, reached.

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
    let blocks = |depth: usize| -> String { (0..depth).map(|level| " ".repeat(level) + "a:\n").collect() };
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
    assert!(error.contains("nearly all values come from aliases"), "{error}");

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
    assert!(error.contains("nearly all values come from aliases"), "{error}");
}

/// The first that Helm 4.3.1 refuses of each form; they were read up to two million values.
#[test]
fn as_many_values_come_from_aliases_as_in_helm() {
    let list = |length: usize| vec!["1"; length].join(",");
    let map = |length: usize| {
        (0..length)
            .map(|key| format!("k{key}: 1"))
            .collect::<Vec<_>>()
            .join(",")
    };
    let nested = format!("b: &b [{}]\nc: &c [{}]\nl:\n", list(30), vec!["*b"; 30].join(","));
    let cases = [
        (format!("b: &b [{}]\nl:\n", list(1000)), "- *b\n", 111),
        (format!("b: &b {{{}}}\nl:\n", map(1000)), "- {<<: *b}\n", 111),
        (format!("b: &b {{{}}}\nl:\n", map(500)), "- {<<: [*b, *b]}\n", 59),
        (
            format!("a: &a x\nb: &b {{{}}}\nl:\n", map(1000)),
            "- {*a : *b}\n",
            117,
        ),
        ("b: &b {x: 1, y: [1,2,3]}\nl:\n".to_owned(), "- *b\n", 89_893),
        (nested, "- *c\n", 7),
    ];
    for (head, item, first) in cases {
        let text = |count: usize| head.clone() + &item.repeat(count);
        assert_eq!(with(&text(first - 1), Limits::default()), "read", "{item}");
        let error = with(&text(first), Limits::default());
        assert!(
            error.contains("nearly all values come from aliases"),
            "{item} {error}"
        );
        // Each document counts for itself.
        let two = format!("{}---\n{}", text(first - 1), text(first - 1));
        let read = yaml::parse_all(&Source::new("t", two), Class::Values, &Limits::default());
        assert!(read.is_ok(), "{item}");
    }
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
