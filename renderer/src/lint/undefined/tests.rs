use super::*;
use crate::chart::load;
use crate::engine::unit;
use crate::lint::lenient_values::prepare_as_found;

/// The findings in a chart with these templates; fatal ones have the prefix `!`.
fn found(values: &str, templates: &[(&str, &str)]) -> Vec<String> {
    let mut files = vec![
        (
            "Chart.yaml".to_owned(),
            b"apiVersion: v2\nname: c\nversion: 1.0.0\n".to_vec(),
        ),
        ("values.yaml".to_owned(), values.as_bytes().to_vec()),
    ];
    for (name, text) in templates {
        files.push((format!("templates/{name}"), text.as_bytes().to_vec()));
    }
    let chart = load::load_files(files).unwrap();
    let prepared = prepare_as_found(&chart, &Map::default()).unwrap();
    let program = Program::new(unit(&prepared.root)).unwrap();
    find(&program, &chart, &prepared.values)
        .into_iter()
        .map(|one| format!("{}{}", if one.is_fatal { "!" } else { "" }, one.path.join(".")))
        .collect()
}

#[test]
fn used_but_undefined_values_are_found() {
    let cases: [(&str, &str, &[&str]); 16] = [
        ("a: 1", "{{ .Values.a }}{{ .Values.b }}", &["b"]),
        ("a: 1", "{{ .Values.b | quote }}", &["b"]),
        ("a: 1", "{{ quote .Values.b }} {{ $.Values.c }}", &["b", "c"]),
        (
            "a: {x: 1}",
            "{{ .Values.a.y }}{{ .Values.b.y }}",
            &["a.y", "!b.y"],
        ),
        (
            "a: {x: 1}",
            "{{ with .Values.a }}{{ .x }}{{ .y }}{{ end }}",
            &["a.y"],
        ),
        ("a: {x: 1}", "{{ $v := .Values.a }}{{ $v.x }}{{ $v.y }}", &["a.y"]),
        ("a: 1", "{{ if .Values.b.c }}{{ end }}", &["!b.c"]),
        ("a: 1", "{{ default 1 .Values.b.c }}", &["!b.c"]),
        (
            "a: 1",
            "{{ range .Values.b }}{{ end }}{{ toYaml .Values.c | nindent 2 }}",
            &["c"],
        ),
        (
            "a: {x: 1}",
            "{{ (.Values.b).c }}{{ (.Values.a).y.z }}",
            &["!a.y.z"],
        ),
        (
            "a: {x: 1}",
            "{{ index .Values \"a\" \"x\" }}{{ index .Values.b \"x\" }}",
            &["b"],
        ),
        (
            "a: {x: 1}",
            "{{ $m := dict \"v\" .Values.a }}{{ $m.v.y }}",
            &["a.y"],
        ),
        (
            "a: 1",
            "{{ if .Values.a }}{{ .Values.b }}{{ else }}{{ .Values.c }}{{ end }}",
            &["b", "c"],
        ),
        (
            "a: 1",
            "{{ printf \"%s\" .Values.b }}{{ tpl .Values.c . }}",
            &["b", "c"],
        ),
        ("a: 1", "{{ .Values.global.x }}", &["!global.x"]),
        ("a: 1", "{{ $x := .Values.b }}{{ $x }}", &["b"]),
    ];
    for (values, text, expected) in cases {
        assert_eq!(found(values, &[("a.yaml", text)]), expected, "{text}");
    }
}

#[test]
fn guards_and_defaults_make_a_value_known() {
    let cases = [
        ("a: 1", "{{ .Values.b | default 1 }}{{ default 1 .Values.b }}"),
        (
            "a: 1",
            "{{ if .Values.b }}{{ .Values.b.c }}{{ .Values.b }}{{ end }}",
        ),
        (
            "a: 1",
            "{{ if and .Values.b .Values.b.c }}{{ .Values.b.c }}{{ end }}",
        ),
        ("a: 1", "{{ with .Values.b }}{{ .c }}{{ .c.d }}{{ end }}"),
        ("a: 1", "{{ if hasKey .Values \"b\" }}{{ .Values.b }}{{ end }}"),
        (
            "a: 1",
            "{{ if eq (toString .Values.b) \"x\" }}{{ .Values.b }}{{ end }}",
        ),
        (
            "a: 1",
            "{{ if not .Values.b }}{{ else }}{{ .Values.b.c }}{{ end }}",
        ),
        ("a: 1", "{{ .Values.b }}{{ required \"b!\" .Values.b }}"),
        (
            "a: 1",
            "{{ if not .Values.b }}{{ fail \"b\" }}{{ end }}{{ .Values.b }}",
        ),
        ("a: {}", "{{ .Values.a.b.c }}"),
        ("a: ~", "{{ .Values.a }}{{ .Values.a.b }}"),
        ("# b: 1\na: {}", "{{ .Values.b }}"),
        ("# -- something\n# x.b -- about b\na: {}", "{{ .Values.b }}"),
        ("global: {x: 1}", "{{ .Values.global.y }}"),
        ("a: 1", "{{ coalesce .Values.b .Values.c \"x\" }}"),
        ("a: 1", "{{ get .Values \"b\" }}{{ dig \"b\" \"c\" 1 .Values }}"),
        ("a: 1", "{{ $_ := set .Values \"b\" 1 }}{{ .Values.b }}"),
        (
            "a: {x: 1}",
            "{{ $_ := mergeOverwrite .Values.a (dict \"y\" 1) }}{{ .Values.a.y }}",
        ),
        ("a: 1", "{{ ternary .Values.b 1 true }}"),
        ("a: 1", "{{ range .Values.b }}{{ .c }}{{ $.Values.a }}{{ end }}"),
        ("a: 1", "{{ (.Values.b).c }}"),
        (
            "a: 1",
            "{{ include \"x\" (dict \"v\" .Values.b) }}{{ define \"x\" }}{{ .v.c }}{{ .w }}{{ end }}",
        ),
        (
            "a: 1",
            "{{ .Chart.Name }}{{ .Release.Nothing }}{{ .Files.Get \"x\" }}",
        ),
    ];
    for (values, text) in cases {
        assert_eq!(found(values, &[("a.yaml", text)]), [""; 0], "{text}");
    }
}

#[test]
fn included_templates_are_walked_with_their_dot_and_guards() {
    let helper = "{{ define \"h\" }}{{ .Values.b }}{{ end }}{{ define \"never\" }}{{ .Values.z }}{{ end }}\
                  {{ define \"ask\" }}{{ if .Values.c }}yes{{ end }}{{ end }}";
    let one = |text: &str| found("a: 1", &[("_h.tpl", helper), ("a.yaml", text)]);
    assert_eq!(one("{{ include \"h\" . }}"), ["b"]);
    assert_eq!(one("{{ template \"h\" $ }}"), ["b"]);
    assert_eq!(one("{{ include \"h\" .Values }}"), ["!Values.b"], "another dot");
    assert_eq!(one("{{ if .Values.b }}{{ include \"h\" . }}{{ end }}"), [""; 0]);
    assert_eq!(
        one("{{ if .Values.b }}{{ include \"h\" . }}{{ end }}{{ include \"h\" . }}"),
        ["b"],
        "one of two places is not guarded"
    );
    assert_eq!(
        one("{{ if include \"ask\" . }}{{ .Values.c.d }}{{ end }}"),
        [""; 0]
    );
    assert_eq!(one("{{ include \"nowhere\" . }}"), [""; 0]);
}

#[test]
fn a_template_that_includes_itself_ends() {
    let text = "{{ define \"r\" }}{{ .Values.b }}{{ include \"r\" (dict \"Values\" .Values \"n\" .) }}{{ end }}{{ include \"r\" . }}";
    assert_eq!(found("a: 1", &[("a.yaml", text)]), ["b"]);
}

#[test]
fn a_near_key_is_named() {
    let files = vec![
        (
            "Chart.yaml".to_owned(),
            b"apiVersion: v2\nname: c\nversion: 1.0.0\n".to_vec(),
        ),
        ("values.yaml".to_owned(), b"image: {repository: x}".to_vec()),
        (
            "templates/a.yaml".to_owned(),
            b"{{ .Values.image.repositry }}".to_vec(),
        ),
    ];
    let chart = load::load_files(files).unwrap();
    let prepared = prepare_as_found(&chart, &Map::default()).unwrap();
    let program = Program::new(unit(&prepared.root)).unwrap();
    let all = find(&program, &chart, &prepared.values);
    assert_eq!(all[0].near.as_deref(), Some("image.repository"));
    assert_eq!(all[0].location.position().column, 4);
}

/// A function without a row would be treated as if it accepted nil; a row without a function would have no effect.
#[test]
fn each_function_has_a_row_in_the_table_of_traits() {
    use crate::funcs::traits::TABLE;
    let functions: std::collections::BTreeSet<&str> = crate::engine::families()
        .into_iter()
        .flat_map(|(_, functions)| functions)
        .map(|function| function.name)
        .collect();
    let rows: Vec<&str> = TABLE.iter().map(|(name, _)| *name).collect();
    assert!(rows.is_sorted(), "the table is searched by halving");
    assert_eq!(rows, functions.into_iter().collect::<Vec<_>>());
}

/// Sprig has many functions under two names; once only one of the names was followed.
#[test]
fn both_names_of_a_function_are_followed() {
    use crate::funcs::traits::{TABLE, usage};
    for (name, found) in TABLE {
        let plain = name.strip_prefix("must").map(|rest| {
            let mut letters = rest.chars();
            let first = letters.next().map(|first| first.to_ascii_lowercase());
            first.into_iter().chain(letters).collect::<String>()
        });
        if let Some(plain) = plain.and_then(|plain| usage(&plain)) {
            assert_eq!(plain, *found, "{name}");
        }
    }
    assert_eq!(usage("trimall"), usage("trimAll"));
    assert_eq!(usage("nothing"), None);
}
