//! Blocks without an end, which Go reports at the end of the text.

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
