//! Mistakes in the structure of a text: Go reports where it noticed them, and the other location is named too.

use solar_render::value::Value;

use crate::support::render_within;

#[test]
fn a_block_without_an_end_is_named_with_its_line() {
    let cases = [
        (
            "a: 1\n{{ if .x }}\n{{ range .y }}{{ end }}\nb: 2\n",
            "{{ if .x }}",
            2,
        ),
        (
            "{{ if 1 }}\n{{ with 2 }}\n{{ else }}\nb\n{{ end }}\n",
            "{{ if 1 }}",
            1,
        ),
        (
            "{{ if 1 }}\n{{ else if 2 }}\n{{ range 3 }}\n{{ end }}",
            "{{ if 1 }}",
            1,
        ),
        (
            "\n\n{{- define \"a\" }}\n{{ if 1 }}{{ end }}",
            "{{- define \"a\" }}",
            3,
        ),
        (
            "{{ range 1 }}{{ end }}\n{{ block \"a\" . }}\n",
            "{{ block \"a\" . }}",
            2,
        ),
    ];
    for (text, opening, line) in cases {
        let problem = render_within(text, &Value::empty_map(), 1000).unwrap_err();
        let one = problem.iter().next().unwrap();
        assert_eq!(one.message, "unexpected EOF", "{text}");
        let (what, location) = one.trace.first().unwrap();
        assert!(what.contains(opening), "{text}: {what}");
        assert_eq!(location.as_ref().unwrap().position().line, line, "{text}");
    }
}

/// Each with the line of the error, its label, and the note with its location.
#[test]
fn an_end_without_a_block_and_a_second_definition_name_both_lines() {
    let cases = [
        (
            "a: 1\n{{ if true }}\nb: 1\n{{ end }}\nc: 2\n{{ end }}\n",
            "unexpected {{end}}",
            (6, Some("no block is open here")),
            Some(("the last block before it, `{{ if true }}` of line 2, ended", 4)),
        ),
        (
            "a: 1\n{{ else }}\n",
            "unexpected {{else}}",
            (2, Some("no block is open here")),
            None,
        ),
        (
            "{{ define \"a\" }}{{ range 3 }}{{ end }}\n{{ end }}\n{{- end }}\n",
            "unexpected {{end}}",
            (3, Some("no block is open here")),
            Some((
                "the last block before it, `{{ define \"a\" }}` of line 1, ended",
                2,
            )),
        ),
        (
            "{{ if 1 }}\n{{ else }}\n{{ else }}\n{{ end }}\n",
            "expected end; found {{else}}",
            (3, None),
            Some(("the block has an `else` already,", 2)),
        ),
        (
            "\n{{ define \"a\" }}\n{{ else }}\n{{ end }}\n",
            "unexpected {{else}} in define clause",
            (3, None),
            Some(("`{{ define \"a\" }}` takes no `else`: it was opened", 2)),
        ),
        (
            "{{ define \"a\" }}1{{ end }}\n{{ define \"a\" }}\n2{{ end }}\n",
            "template: multiple definition of template \"a\"",
            (2, Some("defined again here")),
            Some(("it is first defined", 1)),
        ),
        (
            "\n{{ block \"a\" . }}1{{ end }}\n{{ block \"a\" . }}2{{ end }}\n",
            "template: multiple definition of template \"a\"",
            (3, Some("defined again here")),
            Some(("it is first defined", 2)),
        ),
    ];
    for (text, message, (line, label), note) in cases {
        let problem = render_within(text, &Value::empty_map(), 1000).unwrap_err();
        let one = problem.iter().next().unwrap();
        assert_eq!(one.message, message, "{text}");
        assert_eq!(one.location.as_ref().unwrap().position().line, line, "{text}");
        assert_eq!(one.label.as_deref(), label, "{text}");
        let found = one.trace.first();
        let found = found.map(|(what, at)| (what.as_str(), at.as_ref().unwrap().position().line));
        assert_eq!(found, note, "{text}");
    }
}

/// It once gave 18 notes that were all the same.
#[test]
fn templates_that_include_each_other_are_shown_once_round() {
    let text = "{{ define \"a\" }}{{ include \"b\" . }}{{ end }}\n\
                {{ define \"b\" }}{{ include \"a\" . }}{{ end }}\nx: {{ include \"a\" . }}\n";
    let problem = render_within(text, &Value::empty_map(), 1_000_000).unwrap_err();
    let one = problem.iter().next().unwrap();
    let notes: Vec<&str> = one.trace.iter().map(|(what, _)| what.as_str()).collect();
    assert_eq!(notes.len(), 4, "{notes:#?}");
    assert_eq!(notes[2].split(", ").next(), Some("a → b → a"), "{notes:#?}");
    assert!(
        notes[2].ends_with(" deep") && notes[2].contains(",0"),
        "{notes:#?}"
    );
    assert!(notes[3].starts_with("from include \"a\" . in "), "{notes:#?}");
}
