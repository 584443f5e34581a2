//! How common mistakes are explained.

use super::*;

#[test]
fn common_mistakes_are_explained() {
    let texts = [
        "a: b: c",
        "a:\n\t- b",
        "\ta: 1",
        "a: \"x\nb: 1\n",
        "a: 'it's'\n",
        "image: {{ .Values.image }}",
        "{{ if .x }}\na: 1\n",
        "a: *nope",
        "x: &defaults 1\na: *default",
        "a: @x",
        "a: %x",
        "a: \"\\d\"",
        "a: \"\\uZZ\"",
        "a: \u{7}",
        "a: 1\n b: 2",
        "a: 1\nb\nc: 3",
        "a:\n  - 1\n - 2",
        "a: [1, 2",
        "a: {b: 1",
        "a: [1 2]",
        "a: !!int x",
        "a: .inf",
        "? [a]\n: b",
        "null: a",
        "a: - b",
        "a: |x\n  y",
        "<<: 1",
        "%FOO\n---\na: 1",
        "%YAML 1.2\n---\na: 1",
        "a: 1\n---\nb: [\n",
        "x\n}",
    ];
    let mut all = String::new();
    for text in texts {
        let source = Source::new("t", text);
        let result = yaml::parse_all(&source, Class::Config, &Limits::default());
        all += &format!("{text:?}\n");
        match result {
            Ok(nodes) => all += &format!("  read: {}\n", nodes.len()),
            Err(error) => {
                let error = Diagnostic::from(error);
                let span = error.location.as_ref().unwrap().span;
                all += &format!("  {error} [{}]\n", source.slice(span).escape_debug());
                for hint in error.hints {
                    all += &format!("  hint: {hint}\n");
                }
            }
        }
    }
    insta::assert_snapshot!(all);
}
