use super::*;
use crate::chart::load;
use crate::value::Value;
use crate::yaml;

fn chart(values: &str, files: &[(&str, &str)]) -> std::sync::Arc<Loaded> {
    let mut all = vec![
        (
            "Chart.yaml".to_owned(),
            b"apiVersion: v2\nname: c\nversion: 1.0.0\n".to_vec(),
        ),
        ("values.yaml".to_owned(), values.as_bytes().to_vec()),
    ];
    for (name, text) in files {
        all.retain(|(known, _)| known != name);
        all.push(((*name).to_owned(), text.as_bytes().to_vec()));
    }
    load::load_files(all).unwrap()
}

fn map(text: &str) -> Map {
    let source = crate::source::Source::new("given", text);
    match yaml::parse(&source, crate::diag::Class::Values, &yaml::Limits::default())
        .unwrap()
        .into_value()
    {
        Value::Map(map) => map,
        other => panic!("{other:?}"),
    }
}

/// The unread keys of given values.
fn unread(given: &str, files: &[(&str, &str)]) -> Vec<String> {
    let given = map(given);
    let chart = chart("", files);
    let reads = ValueReads::of(&chart, &[&given]).unwrap();
    reads
        .unread(&given)
        .into_iter()
        .map(|one| one.path.join("."))
        .collect()
}

fn in_template(given: &str, text: &str) -> Vec<String> {
    unread(given, &[("templates/a.yaml", text)])
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn keys_that_nothing_reads_are_found() {
    let cases: &[(&str, &str, &[&str])] = &[
        ("a: 1\nb: 2", "{{ .Values.a }}", &["b"]),
        ("a: {x: 1, w: 2}", "{{ .Values.a.x }}", &["a.w"]),
        ("a: {x: 1, w: {z: 2}}", "{{ .Values.a.x }}", &["a.w"]),
        (
            "a: {x: 1, w: 2}",
            "{{ with .Values.a }}{{ .x }}{{ end }}",
            &["a.w"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ if .Values.a }}{{ .Values.a.x }}{{ end }}",
            &["a.w"],
        ),
        ("a: {x: 1, w: 2}", "{{ $v := .Values.a }}{{ $v.x }}", &["a.w"]),
        (
            "a: {x: 1, w: 2}",
            "{{ range .Values.list }}{{ $.Values.a.x }}{{ end }}",
            &["a.w"],
        ),
        (
            "a: [{x: 1}, {w: 2}]",
            "{{ range .Values.a }}{{ .x }}{{ end }}",
            &["a.1.w"],
        ),
        (
            "a: {k: {x: 1, w: 2}}",
            "{{ range $k, $v := .Values.a }}{{ $v.x }}{{ end }}",
            &["a.k.w"],
        ),
        ("a: {x: 1, w: 2}", "{{ index .Values \"a\" \"x\" }}", &["a.w"]),
        ("a: {x: 1, w: 2}", "{{ get .Values.a \"x\" }}", &["a.w"]),
        (
            "a: {x: 1, w: 2}",
            "{{ if hasKey .Values.a \"x\" }}1{{ end }}",
            &["a.w"],
        ),
        (
            "a: {x: {z: 1}, w: 2}",
            "{{ dig \"a\" \"x\" \"z\" 1 .Values }}",
            &["a.w"],
        ),
        ("a: {x: 1, w: 2}", "{{ (default dict .Values.a).x }}", &["a.w"]),
        ("a: {x: 1, w: 2}", "{{ (.Values.a | default dict).x }}", &["a.w"]),
        (
            "a: {x: 1, w: 2}",
            "{{ (ternary .Values.a .Values.b true).x }}",
            &["a.w"],
        ),
        ("a: {x: 1, w: 2}", "{{ (deepCopy .Values.a).x }}", &["a.w"]),
        ("a: {x: 1, w: 2}", "{{ (first (list .Values.a)).x }}", &["a.w"]),
        (
            "a: {x: 1, w: 2}",
            "{{ range pluck \"a\" .Values }}{{ .x }}{{ end }}",
            &["a.w"],
        ),
        ("a: {x: 1, w: 2}", "{{ (pick .Values \"a\").a.x }}", &["a.w"]),
        (
            "a: {x: 1, w: 2}",
            "{{ $l := list }}{{ $l = append $l .Values.a }}{{ range $l }}{{ .x }}{{ end }}",
            &["a.w"],
        ),
        (
            "a: {x: 1, w: 2}\nb: {z: 3}",
            "{{ $m := merge (dict) .Values.a }}{{ $m.x }}{{ .Values.b.z }}",
            &["a.w"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ $d := dict \"v\" .Values.a }}{{ $d.v.x }}",
            &["a.w"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ $d := dict }}{{ $_ := set $d \"v\" .Values.a }}{{ $d.v.x }}",
            &["a.w"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ $_ := set $ \"shared\" .Values.a }}{{ $.shared.x }}",
            &["a.w"],
        ),
        (
            "b: {x: 1, w: 2}",
            "{{ $_ := set .Values \"a\" .Values.b }}{{ .Values.a.x }}",
            &["b.w"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ include \"t\" .Values.a }}{{ define \"t\" }}{{ .x }}{{ end }}",
            &["a.w"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ template \"t\" (dict \"v\" .Values.a) }}{{ define \"t\" }}{{ .v.x }}{{ end }}",
            &["a.w"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ include \"t\" (list $ .Values.a) }}{{ define \"t\" }}{{ (index . 1).x }}{{ (index . 0).Values.b }}{{ end }}",
            &["a.w"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ range list \"x\" \"z\" }}{{ get $.Values.a . }}{{ end }}",
            &["a.w"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ range $k, $v := dict \"x\" 1 }}{{ index $.Values.a $k }}{{ end }}",
            &["a.w"],
        ),
        ("a: 1\nb: 2", "{{ tpl \"{{ .Values.a }}\" . }}", &["b"]),
        (
            "a: \"{{ .Values.b }}\"\nb: 2\nc: 3",
            "{{ tpl .Values.a . }}",
            &["c"],
        ),
        ("a: 1", "nothing", &["a"]),
        (
            "a: {x: 1, w: 2}",
            "{{ include (printf \"%s.t\" .Chart.Name) .Values.a }}{{ define \"c.t\" }}{{ .x }}{{ end }}",
            &["a.w"],
        ),
        (
            "a: 1\nb: 2",
            "{{ include (print $.Template.BasePath \"/a.yaml\") . }}{{ .Values.a }}",
            &["b"],
        ),
        (
            "a: {x: 1, w: 2}",
            "{{ if and .Values.a .Values.a.x }}1{{ end }}",
            &["a.w"],
        ),
    ];
    for (given, text, expected) in cases {
        assert_eq!(in_template(given, text), *expected, "{text}");
    }
}

#[test]
fn what_may_be_read_counts_as_read() {
    let cases = [
        ("a: {x: 1}", "{{ toYaml .Values.a }}"),
        ("a: {x: 1}", "{{ .Values.a | toYaml | nindent 2 }}"),
        ("a: {x: 1}", "{{ range $k, $v := .Values.a }}{{ $k }}{{ end }}"),
        ("a: {x: 1}", "{{ range $k, $v := .Values.a }}{{ $v }}{{ end }}"),
        ("a: {x: {z: 1}}", "{{ index .Values.a (lower \"X\") }}"),
        ("a: {x: 1}", "{{ if .Values.a }}1{{ end }}"),
        ("a: {x: 1}", "{{ $v := .Values.a }}"),
        ("a: {x: 1}", "{{ .Values | toJson | sha256sum }}"),
        ("a: {x: 1}", "{{ toYaml $ }}"),
        ("a: {x: 1}", "{{ .Values.AsMap }}"),
        ("a: {x: 1}", "{{ .Files.Get .Values.a }}"),
        ("a: {x: 1}", "{{ include \"missing\" .Values.a }}"),
        (
            "a: {x: 1}",
            "{{ include (lower \"T\") (dict \"v\" .Values.a) }}{{ define \"t\" }}{{ .v.y }}{{ end }}",
        ),
        (
            "a: {x: 1}",
            "{{ $v := dict }}{{ range list 1 }}{{ $v = $.Values.a }}{{ end }}{{ $v.x }}",
        ),
        (
            "a: {x: 1}",
            "{{ $v := dict }}{{ range list 1 }}{{ toYaml $v }}{{ $v = $.Values.a }}{{ end }}",
        ),
        ("a: {x: 1}", "{{ toYaml (merge (dict) .Values.a) }}"),
        ("a: {x: 1}", "{{ toYaml (list .Values.a) }}"),
        (
            "a: {x: 1}\nb: {x: 2}",
            "{{ $_ := merge .Values.a .Values.b }}{{ .Values.a.x }}",
        ),
        (
            "a: {x: 1}",
            "{{ range concat (list) (list .Values.a) }}{{ .x }}{{ end }}",
        ),
        (
            "a: {x: 1}",
            "{{ include \"late\" . }}{{ define \"late\" }}{{ toYaml $.shared }}{{ end }}{{ $_ := set $ \"shared\" .Values.a }}",
        ),
        ("a: {x: 1}", "{{ omit .Values.a \"y\" | toYaml }}"),
        ("a: {x: 1}", "{{ toYaml (values .Values.a) }}"),
        ("a: {x: 1}", "{{ range keys .Values.a }}{{ . }}{{ end }}"),
        ("a: {x: 1}", "{{ eq (toString .Values.a) \"x\" }}"),
        (
            "a: \"{{ if }} .Values.b.c }}\"\nb: {c: 1}",
            "{{ tpl .Values.a . }}",
        ),
        (
            "a: [[{x: 1}]]",
            "{{ range .Values.a }}{{ range . }}{{ .x }}{{ end }}{{ end }}",
        ),
        ("a: {x: 1}", "{{ unclosed"),
    ];
    for (given, text) in cases {
        let files = [("templates/a.yaml", text)];
        assert_eq!(unread(given, &files), [""; 0], "{text}");
    }
}

const PARENT: &str = "apiVersion: v2\nname: c\nversion: 1.0.0\ndependencies:\n\
    - {name: sub, version: 1.0.0, alias: one, condition: one.enabled, tags: [extra]}\n\
    - {name: sub, version: 1.0.0, alias: two, import-values: [{child: out, parent: imported}]}\n\
    - {name: gone, version: 1.0.0}\n";
const SUB: &str = "apiVersion: v2\nname: sub\nversion: 1.0.0\n";

#[test]
fn the_values_of_subcharts_are_below_their_names() {
    let files = [
        ("Chart.yaml", PARENT),
        (
            "templates/a.yaml",
            "{{ .Values.imported.key }}{{ .Values.two.fromParent }}",
        ),
        ("charts/sub/Chart.yaml", SUB),
        (
            "charts/sub/templates/b.yaml",
            "{{ .Values.port }}{{ .Values.global.region }}{{ .Values.out.key }}",
        ),
    ];
    let given = "one: {enabled: false, port: 1, prot: 2, global: {region: x}}\n\
        two: {enabled: true, port: 1, fromParent: 2, out: {key: 1, kye: 2}}\n\
        tags: {extra: true, other: false}\nglobal: {region: x, regoin: y, shared: z}\n\
        gone: {any: 1}\nimported: {key: 1}\n";
    assert_eq!(
        unread(given, &files),
        [
            "global.regoin",
            "one.prot",
            "tags.other",
            "two.enabled",
            "two.out.kye"
        ]
    );
}

#[test]
fn a_similar_key_or_one_with_the_same_name_is_suggested() {
    let chart = chart(
        "",
        &[(
            "templates/a.yaml",
            "{{ .Values.image.tag }}{{ .Values.replicaCount }}",
        )],
    );
    for (given, near) in [
        ("replicaCuont: 1", Some("replicaCount")),
        ("image: {tga: 1}", Some("image.tag")),
        ("tag: 1", Some("image.tag")),
        ("somethingElse: 1", None),
    ] {
        let given = map(given);
        let unread = ValueReads::of(&chart, &[&given]).unwrap().unread(&given);
        let near = near.map(str::to_owned);
        assert_eq!(
            unread.iter().map(|one| one.near.clone()).collect::<Vec<_>>(),
            [near],
            "{given:?}"
        );
    }
}

#[test]
fn a_template_that_includes_itself_ends() {
    let text = "{{ define \"r\" }}{{ include \"r\" (dict \"v\" .v.next \"w\" .) }}{{ .v.x }}{{ end }}\
                {{ include \"r\" (dict \"v\" .Values.a) }}";
    assert_eq!(in_template("a: {next: {next: {x: 1}}}\nb: 1", text), ["b"]);
    let text = "{{ define \"r\" }}{{ include \"r\" .next }}{{ end }}{{ include \"r\" .Values.a }}";
    // The path grows until it is as long as paths may be; what is beside it is not read.
    assert_eq!(
        in_template("a: {next: {next: {}}, other: 1}\nb: 1", text),
        ["a.other", "b"]
    );
}

#[test]
fn what_is_included_too_deeply_counts_as_read() {
    let mut text = String::from("{{ include \"t0\" .Values }}");
    for depth in 0..walk::MAX_DEPTH + 1 {
        text.push_str(&format!(
            "{{{{ define \"t{depth}\" }}}}{{{{ include \"t{}\" . }}}}{{{{ end }}}}",
            depth + 1
        ));
    }
    text.push_str(&format!(
        "{{{{ define \"t{}\" }}}}{{{{ .a }}}}{{{{ end }}}}",
        walk::MAX_DEPTH + 1
    ));
    assert_eq!(in_template("a: 1\nb: 1", &text), [""; 0]);
}

/// A template in which each walk moves a value on by one of so many entries.
fn chain(length: usize) -> String {
    let mut text = String::new();
    for number in 0..length {
        text.push_str(&format!("{{{{ $_ := set $ \"k{number}\" $.k{} }}}}", number + 1));
    }
    text + &format!("{{{{ $_ := set $ \"k{length}\" .Values.a }}}}{{{{ $.k0.x }}}}")
}

#[test]
fn what_is_still_written_after_so_many_rounds_makes_all_values_read() {
    let given = "a: {x: 1, w: 2}\nb: 1";
    assert_eq!(in_template(given, &chain(walk::MAX_ROUNDS / 2)), ["a.w", "b"]);
    assert_eq!(in_template(given, &chain(walk::MAX_ROUNDS * 2)), [""; 0]);
}

#[test]
fn variables_that_change_in_more_turns_than_are_walked_are_read() {
    let text = |length: usize| {
        let mut text = String::new();
        for number in 0..length {
            text.push_str(&format!("{{{{ $v{number} := dict }}}}"));
        }
        text.push_str("{{ range .Values.list }}");
        for number in 1..length {
            text.push_str(&format!("{{{{ $v{} = $v{number} }}}}", number - 1));
        }
        text + &format!(
            "{{{{ $v{} = $.Values.a }}}}{{{{ end }}}}{{{{ $v0.x }}}}",
            length - 1
        )
    };
    let given = "a: {x: 1, w: 2}\nb: 1";
    assert_eq!(in_template(given, &text(walk::MAX_TURNS - 2)), ["a.w", "b"]);
    // No longer followed to `.x`, so all of it is read.
    assert_eq!(in_template(given, &text(walk::MAX_TURNS * 2)), ["b"]);
}

#[test]
fn after_so_many_steps_all_values_count_as_read() {
    let chart = chart("", &[("templates/a.yaml", &"{{ .Values.a }}".repeat(20))]);
    let charts = ChartTree::of(&chart, &[]);
    let unread = |steps| walk::walk(&charts, steps)[0].unread(&map("b: 1")).len();
    assert_eq!((unread(100), unread(10)), (1, 0));
}

#[test]
fn texts_are_followed_up_to_their_limits() {
    let template = "{{ tpl (.Files.Get \"f.txt\") . }}{{ .Values.a }}";
    let file = |padding: usize| format!("{{{{ .Values.b }}}}{}", "x".repeat(padding));
    let of = |text: &str| unread("b: 1", &[("templates/a.yaml", template), ("f.txt", text)]);
    assert_eq!(of(&file(10)), [""; 0]);
    // A larger file counts as data.
    assert_eq!(of(&file(chart_tree::MAX_FILE)), ["b"]);

    // A path that is computed may be any that is written in the values, if it is not too long.
    let key = |length: usize| format!("a.{}", "x".repeat(length - 2));
    let computed = "{{ $at := .Values }}{{ $value := \"\" }}{{ range splitList \".\" (lower .Values.path) }}\
                    {{ $value = index $at . }}{{ $at = $value }}{{ end }}{{ $value }}{{ .Values.a.other }}";
    let of = |key: &str| {
        let given = format!("path: {key}\na: {{{}: 1, typo: 2}}", &key[2..]);
        in_template(&given, computed)
    };
    assert_eq!(of(&key(20)), ["a.typo"]);
    let long = key(chart_tree::MAX_KEY_PATH + 1);
    assert_eq!(of(&long), ["a.typo".to_owned(), long.clone()]);
}
