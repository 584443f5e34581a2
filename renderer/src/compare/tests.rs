use super::*;

/// What a chart of one template prints.
fn printed(text: &str) -> String {
    format!("---\n# Source: c/templates/a.yaml\n{text}\n")
}

fn rendered(text: &str) -> RenderRun {
    RenderRun {
        code: Some(0),
        stdout: printed(text),
        stderr: String::new(),
    }
}

fn judge(helm: &[RenderRun], ours: &RenderRun) -> Judgment {
    let output = OnceCell::new();
    let mut judge = Judge::new(&output, ours, &|| false);
    helm.iter().for_each(|run| judge.add(run.clone()));
    judge.judgment()
}

fn refused(code: Option<i32>) -> RenderRun {
    RenderRun {
        code,
        ..RenderRun::default()
    }
}

/// The lines that differ, Helm's behind `-` and ours behind `+`, and how many are masked.
fn shown(helm: &[&str], ours: &str) -> (Vec<String>, usize) {
    let runs: Vec<RenderRun> = helm.iter().map(|text| rendered(text)).collect();
    let judgment = judge(&runs, &rendered(ours));
    let marked = |one: &Difference| {
        let helm = one.helm.iter().map(|line| format!("-{line}"));
        helm.chain(one.ours.iter().map(|line| format!("+{line}")))
            .collect::<Vec<_>>()
    };
    let lines: Vec<String> = judgment.differences.iter().flat_map(marked).collect();
    let expected = if lines.is_empty() {
        Verdict::Same
    } else {
        Verdict::Different
    };
    assert_eq!(judgment.verdict, expected);
    (lines, judgment.masked)
}

#[test]
fn what_helms_own_runs_agree_on_must_be_the_same() {
    for (helm, ours, differing) in [
        ("a: 1", "a: 1", vec![]),
        ("a: 1", "a: 2", vec!["-a: 1", "+a: 2"]),
        ("a: 1\nb: 2", "a: 1", vec!["-b: 2"]),
        ("a: 1", "a: 1\nb: 2", vec!["+b: 2"]),
        ("a: 1 ", "a: 1", vec!["-a: 1 ", "+a: 1"]),
        ("a: 1\n\nb: 2", "a: 1\nb: 2", vec!["-"]),
        (
            "a: 1\nb: 2\nc: 3",
            "a: 1\nb: 3\nc: 4",
            vec!["-b: 2", "-c: 3", "+b: 3", "+c: 4"],
        ),
    ] {
        assert_eq!(
            shown(&[helm, helm], ours),
            (differing.into_iter().map(str::to_owned).collect(), 0),
            "{helm} {ours}"
        );
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn what_helms_own_runs_differ_in_is_masked_and_nothing_else() {
    let key = |begin: &str, lines: &[&str]| {
        format!(
            "a: 1\n{begin}: |\n  -----BEGIN\n  {}\n  -----END\nb: 2",
            lines.join("\n  ")
        )
    };
    let certificates = [key("k", &["MIIaaaa", "bbb"]), key("k", &["MIIcccc", "dd", "e"])];
    let certificates: Vec<&str> = certificates.iter().map(String::as_str).collect();
    for (helm, ours, expected) in [
        // A word is masked whole, however the two begin and end.
        (
            vec!["p: \"abc12x\"", "p: \"abd13x\""],
            "p: \"zzzzz\"",
            (vec![], 1),
        ),
        (
            vec!["p: abc12x", "p: abd13x"],
            "q: abc12x",
            (vec!["-p: abc12x", "+q: abc12x"], 0),
        ),
        (
            vec!["p: \"abc12x\"", "p: \"abd13x\""],
            "p: zzzzz",
            (vec!["-p: \"abc12x\"", "+p: zzzzz"], 0),
        ),
        // Go's monotonic clock, which only Helm prints, behind a time.
        (
            vec![
                "t: \"2026-11-23 11:22:35.5338 +0000 UTC m=+0.0726\"",
                "t: \"2026-11-23 11:22:35.6441 +0000 UTC m=+0.0731\"",
            ],
            "t: \"2026-11-23 11:22:35.5455 +0000 UTC\"",
            (vec![], 1),
        ),
        (
            vec!["t: a b c d m=+0.0726", "t: a b c d m=+0.0731"],
            "t: a b c d",
            (vec!["-t: a b c d m=+0.0726", "+t: a b c d"], 0),
        ),
        // Generated, but nothing came out.
        (
            vec!["p: \"abc12x\"", "p: \"abd13x\""],
            "p: \"\"",
            (vec!["-p: \"abc12x\"", "+p: \"\""], 0),
        ),
        (vec!["p: \"\"", "p: \"abd13x\""], "p: \"b\"", (vec![], 1)),
        // Of another length than it always has with Helm.
        (
            vec!["p: abcdefgh", "p: ijklmnop"],
            "p: abcdefghi",
            (vec!["-p: abcdefgh", "+p: abcdefghi"], 0),
        ),
        (vec!["p: abcdefgh", "p: ijklmnop"], "p: 1234567a", (vec![], 1)),
        (
            vec!["p: abcdefgh", "p: ijklmnop", "p: abcdefghi"],
            "p: abcdefghij",
            (vec![], 1),
        ),
        // Numbers have any length.
        (vec!["p: 12345678", "p: 12345679"], "p: 123456789", (vec![], 1)),
        // Times.
        (
            vec!["t: 2026-11-23T02:30:05Z", "t: 2026-11-23T02:30:06Z"],
            "t: 2026-11-23T02:31:00Z",
            (vec![], 1),
        ),
        // Of several words in a line those that differ, each by itself.
        (
            vec!["x: a b=c1 d2, e", "x: a b=c2 d3, e"],
            "x: a b=z z, e",
            (vec![], 1),
        ),
        (
            vec!["x: a b=c1 d2, e", "x: a b=c2 d3, e"],
            "x: a c=z z, e",
            (vec!["-x: a b=c1 d2, e", "+x: a c=z z, e"], 0),
        ),
        (
            vec!["x: a=q1w fixed b=e2r", "x: a=t3z fixed b=u4i"],
            "x: a=o5p fixes b=a6s",
            (vec!["-x: a=q1w fixed b=e2r", "+x: a=o5p fixes b=a6s"], 0),
        ),
        (
            vec!["h=1-a port=80, x=ab-s", "h=2-b port=80, x=cd-s"],
            "h=3-c port=81, x=ef-s",
            (vec!["-h=1-a port=80, x=ab-s", "+h=3-c port=81, x=ef-s"], 0),
        ),
        (
            vec!["h=1-a port=80, x=ab-s", "h=2-b port=80, x=cd-s"],
            "h=3-c port=80, x=ef-s",
            (vec![], 1),
        ),
        (
            vec!["[\"q\", \"keep\", \"w\"]", "[\"e\", \"keep\", \"r\"]"],
            "[\"t\", \"keep\", \"z\"]",
            (vec![], 1),
        ),
        (
            vec!["[\"q\", \"keep\", \"w\"]", "[\"e\", \"keep\", \"r\"]"],
            "[\"t\", \"lost\", \"z\"]",
            (vec!["-[\"q\", \"keep\", \"w\"]", "+[\"t\", \"lost\", \"z\"]"], 0),
        ),
        // In another number, too.
        (
            vec!["x: \"a b\" keep", "x: \"c\" keep"],
            "x: \"d e f\" keep",
            (vec![], 1),
        ),
        (
            vec!["x: \"a b\" keep", "x: \"c\" keep"],
            "x: \"d e f\" kept",
            (vec!["-x: \"a b\" keep", "+x: \"d e f\" kept"], 0),
        ),
        // Another order of the same words.
        (vec!["k: [a b c]", "k: [c a b]"], "k: [b c a]", (vec![], 1)),
        (
            vec!["k: [a b c]", "k: [c a b]"],
            "k: [a b d]",
            (vec!["-k: [a b c]", "+k: [a b d]"], 0),
        ),
        // Whole texts of other sizes.
        (
            certificates.clone(),
            &key("k", &["MIIffff", "g", "h", "i"]),
            (vec![], 4),
        ),
        (
            certificates.clone(),
            &key("l", &["MIIffff", "g", "h", "i"]),
            (vec!["-k: |", "+l: |"], 4),
        ),
        // The order of a map's keys.
        (
            vec!["k:\n- a\n- b\n- c", "k:\n- c\n- a\n- b"],
            "k:\n- b\n- c\n- a",
            (vec![], 3),
        ),
        (
            vec!["- a\n- b\n- c", "- c\n- a\n- b"],
            "- b\n- c\n- d",
            (vec!["-- a", "+- d"], 2),
        ),
        // Another order, and a generated word.
        (
            vec![
                "r: q1\nx: 1\nk:\n- a\n- b\n- c\nend",
                "r: q2\nx: 1\nk:\n- c\n- a\n- b\nend",
            ],
            "r: q3\nx: 1\nk:\n- b\n- c\n- a\nend",
            (vec![], 4),
        ),
        (
            vec!["r: q1\nk:\n- a\n- b\n- c\nend", "r: q2\nk:\n- c\n- a\n- b\nend"],
            "r: q3\nk:\n- a\n- c\nend",
            (vec!["-- b"], 1),
        ),
        (
            vec!["r: q1\nk:\n- a\n- b\n- c\nend", "r: q2\nk:\n- c\n- a\n- b\nend"],
            "r: q3\nk:\n- a\n- b\n- d\nend",
            (vec!["-- c", "+- d"], 1),
        ),
        // A third run shows what two did not.
        (vec!["n: 1", "n: 1", "n: 2"], "n: 3", (vec![], 1)),
    ] {
        let (lines, masked) = expected;
        assert_eq!(
            shown(&helm, ours),
            (lines.into_iter().map(str::to_owned).collect(), masked),
            "{helm:?} {ours}"
        );
    }
}

/// One missing line once made all the moved ones differences, and each of Helm's runs was compared with all before it.
#[test]
fn a_long_list_without_one_line_differs_in_that_line() {
    const LINES: usize = 3_000;
    let shuffled = |step: usize, left_out: usize| {
        let all = (0..LINES).filter(|number| *number != left_out);
        let mut all: Vec<String> = all
            .map(|number| format!("{:08} k{number:04}: v", number * step % 2_999))
            .collect();
        all.sort();
        let lines = all.iter().filter_map(|line| line.split_once(' '));
        let lines: Vec<String> = lines.map(|(_, line)| format!("  {line}")).collect();
        format!("data:\n{}\nend: 1", lines.join("\n"))
    };
    let helm: Vec<String> = (0..10).map(|run| shuffled(331 + 100 * run, LINES)).collect();
    let helm: Vec<&str> = helm.iter().map(String::as_str).collect();
    let (lines, masked) = shown(&helm, &shuffled(1_777, 1_234));
    assert_eq!(lines, ["-  k1234: v"]);
    assert!(masked > 2_900, "{masked}");
    // One that Helm doesn't have.
    let more = shuffled(1_777, LINES).replacen("k0007", "k9999: v\n  k0007", 1);
    assert_eq!(shown(&helm, &more).0, ["+  k9999: v"]);
    let other = shuffled(1_777, LINES).replacen("k0007", "k9999", 1);
    assert_eq!(shown(&helm, &other).0, ["-  k0007: v", "+  k9999: v"]);
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn documents_are_paired_by_template_then_text_then_object() {
    let document = |source: &str, text: &str| format!("---\n# Source: c/templates/{source}.yaml\n{text}\n");
    let object = |source: &str, name: &str, rest: &str| {
        document(source, &format!("kind: A\nmetadata: {{name: {name}}}\n{rest}"))
    };
    let judged = |helm: &[&str], ours: &str| {
        let run = |text: &str| RenderRun {
            code: Some(0),
            stdout: text.to_owned(),
            stderr: String::new(),
        };
        let helm: Vec<RenderRun> = helm.iter().map(|text| run(text)).collect();
        let found = judge(&helm, &run(ours)).differences;
        let found = found.iter().map(|one| {
            format!(
                "{} {} {} {}",
                one.kind.as_str(),
                one.source,
                one.document,
                one.object
            )
        });
        found.collect::<Vec<_>>()
    };
    let [a, b, other] = [
        object("x", "a", "v: 1"),
        object("x", "b", "v: 1"),
        object("x", "b", "v: 2"),
    ];
    let foreign = object("y", "a", "v: 1");
    let both = format!("{a}{b}");
    for (helm, ours, expected) in [
        (&both, &a, vec!["only-helm c/templates/x.yaml 1 A b"]),
        (&a, &both, vec!["only-ours c/templates/x.yaml 1 A b"]),
        (&both, &format!("{b}{a}"), vec!["order c/templates/x.yaml 0 A b"]),
        (
            &both,
            &format!("{other}{a}"),
            vec!["lines c/templates/x.yaml 0 A b"],
        ),
        (
            &format!("{a}{foreign}"),
            &both,
            vec![
                "only-helm c/templates/y.yaml 0 A a",
                "only-ours c/templates/x.yaml 1 A b",
            ],
        ),
        (
            &both,
            &format!("{a}\n{b}"),
            vec!["lines c/templates/x.yaml 0 A a"],
        ),
        (&both, &format!("\n{both}"), vec!["blanks  0 "]),
    ] {
        assert_eq!(judged(&[helm, helm], ours), expected, "{helm} {ours}");
    }
    // Between documents, also where something is masked.
    let generated = |word: &str| format!("{}{a}", object("x", "b", &format!("v: {word}")));
    let [first, second, own] = ["q1", "w2", "e3"].map(generated);
    assert!(judged(&[&first, &second], &own).is_empty());
    for (ours, expected) in [
        (own.replacen("---\n", "", 1), "blanks  0 "),
        (own.replacen("---\n", "--- \n", 1), "blanks  0 "),
        (
            own.replace("\n---\n", "\n---\n\n"),
            "blanks c/templates/x.yaml 0 ",
        ),
        (
            own.replace("\n---\n", "\n---\n---\n"),
            "blanks c/templates/x.yaml 0 ",
        ),
        (format!("{own}---\n"), "blanks c/templates/x.yaml 1 "),
    ] {
        assert_eq!(judged(&[&first, &second], &ours), [expected], "{ours}");
    }
    // What only some of Helm's runs print says nothing; nor does an order that differs between them.
    assert!(judged(&[&a, &both], &format!("{a}{other}")).is_empty());
    assert!(
        judged(
            &[&format!("{both}{foreign}"), &format!("{foreign}{both}")],
            &format!("{a}{foreign}{b}")
        )
        .is_empty()
    );
}

#[test]
fn refusals_are_compared_too() {
    use Verdict::{BothRefuse, HelmDidNotEnd, OnlyHelmRefuses, OnlyOursRefuses, Same};
    let yes = || rendered("a: 1");
    for (helm, ours, expected) in [
        ([refused(Some(1)), refused(Some(1))], refused(Some(1)), BothRefuse),
        ([refused(Some(1)), refused(Some(1))], yes(), OnlyHelmRefuses),
        ([yes(), yes()], refused(Some(1)), OnlyOursRefuses),
        ([yes(), yes()], yes(), Same),
        // An internal error of ours is no refusal.
        (
            [refused(Some(1)), refused(Some(1))],
            refused(Some(70)),
            OnlyOursRefuses,
        ),
        (
            [refused(Some(1)), refused(Some(1))],
            refused(None),
            OnlyOursRefuses,
        ),
        // Memory, time or output ran out: once both refused.
        ([refused(None), refused(None)], refused(Some(1)), HelmDidNotEnd),
        ([refused(Some(1)), refused(None)], refused(Some(1)), HelmDidNotEnd),
        ([refused(None), refused(None)], yes(), HelmDidNotEnd),
        ([yes(), refused(None)], refused(Some(1)), OnlyOursRefuses),
        ([yes(), refused(None)], yes(), Same),
        // A chart that fails at random.
        ([yes(), refused(Some(1))], refused(Some(1)), BothRefuse),
        ([refused(Some(1)), yes()], yes(), Same),
    ] {
        assert_eq!(judge(&helm, &ours).verdict, expected, "{helm:?} {ours:?}");
    }
}

fn hidden(text: &str, other: &str) -> Vec<String> {
    let runs = [rendered(text), rendered(text)];
    let mut differences = judge(&runs, &rendered(other)).differences;
    hide_secrets(&mut differences, &[&runs[0].stdout, &printed(other)]);
    let lines = differences
        .iter()
        .flat_map(|one| one.helm.iter().chain(&one.ours).cloned());
    lines.collect::<Vec<_>>()
}

fn secret(kind: &str, data: &str) -> String {
    format!("apiVersion: v1\nkind: {kind}\nmetadata:\n  name: a\ndata:\n{data}")
}

#[test]
fn secrets_show_their_keys_alone() {
    let [one, two] = ["  password: aHVudGVyMg==", "  password: b3RoZXI="];
    assert_eq!(
        hidden(&secret("Secret", one), &secret("Secret", two)),
        ["  password: (hidden)"; 2]
    );
    assert_eq!(
        hidden(&secret("ConfigMap", one), &secret("ConfigMap", two)),
        [one, two]
    );
    assert_eq!(
        hidden(&secret("SecretStore", one), &secret("SecretStore", two)),
        [one, two]
    );
    assert_eq!(
        hidden(&secret("Secret", one), &secret("ConfigMap", one)),
        ["kind: Secret", "kind: ConfigMap"]
    );
    // Lines of a text within a value.
    let [one, two] = ["  a.conf: |\n    user: hunter2", "  a.conf: |\n    hunter3"];
    assert_eq!(
        hidden(&secret("\"Secret\"", one), &secret("\"Secret\"", two)),
        ["    (hidden)"; 2]
    );
    // In one line, in JSON, in a list.
    for [one, two] in [
        [
            "{apiVersion: v1, kind: Secret, data: {a: aHVudGVyMg==}}",
            "{apiVersion: v1, kind: Secret, data: {a: b}}",
        ],
        [
            "{\"kind\":\"Secret\",\"data\":{\"a\":\"aHVudGVyMg==\"}}",
            "{\"kind\":\"Secret\",\"data\":{\"a\":\"b\"}}",
        ],
        [
            "kind: List\nitems:\n  - kind: Secret\n    data: {a: aHVudGVyMg==}",
            "kind: List\nitems:\n  - kind: Secret\n    data: {a: b}",
        ],
    ] {
        let lines = hidden(one, two).join("\n");
        assert!(lines.contains("(hidden)") && !lines.contains("aHVud"), "{lines}");
    }
}

#[test]
fn secrets_are_known_by_their_data_and_keys_too() {
    // However the kind is written, and when nothing can be read.
    for kind in [
        "&k Secret",
        "!!str Secret",
        "\"S\\u0065cret\"",
        ">-\n  Secret",
        "*a\n{Secret",
    ] {
        let [one, two] = ["  password: hunter2", "  password: b"];
        let lines = hidden(&secret(kind, one), &secret(kind, two)).join("\n");
        assert!(
            lines.contains("(hidden)") && !lines.contains("hunter2"),
            "{kind} {lines}"
        );
    }
    // Values that look like keys.
    for (one, two) in [
        (
            "{\n\"kind\":\"Secret\",\n\"data\":{\"a\":\n\"hunter2: x\"}}",
            "{\n\"kind\":\"Secret\",\n\"data\":{\"a\":\n\"b\"}}",
        ),
        (
            "kind: Secret\ndata:\n a: |\n  hunter2: x",
            "kind: Secret\ndata:\n a: |\n  b: x",
        ),
        (
            "kind: Secret # hunter2\nmetadata: {name: a}",
            "kind: Secret\nmetadata: {name: a}",
        ),
    ] {
        let lines = hidden(one, two).join("\n");
        assert!(
            lines.contains("(hidden)") && !lines.contains("hunter2"),
            "{lines}"
        );
    }
}

#[test]
fn messages_are_given_without_what_they_quote() {
    let more = "(--show-secrets shows the rest)";
    for (text, expected) in [
        ("Error: not today", "Error: not today".to_owned()),
        (
            "error: YAML parse error on b/templates/s.yaml: unexpected `:`\n --> b/templates/s.yaml:3:9\n  |\n3 |   a: {{ .Values.p }}\n  |  ^\n  = note: line 3 of what it renders to: `a: hunter2: x`",
            format!("error: YAML parse error on b/templates/s.yaml: unexpected `:`\n --> b/templates/s.yaml:3:9\n{more}"),
        ),
        (
            "error: b: at '/password': got string, want integer\n --> b/values.yaml:1:11\n  |\n1 | password: \"hunter2\"\n",
            format!("error: b: at '/password': got string, want integer\n --> b/values.yaml:1:11\n{more}"),
        ),
        (
            "Error: executing \"b/templates/s.yaml\" at <int>: can't parse \"hunt\\\"er2\", nor 'hunter's 2': line 3",
            "Error: executing \"b/templates/s.yaml\" at <int>: can't parse \"(hidden)\", nor '(hidden)': line 3".to_owned(),
        ),
        ("Error: cannot unmarshal !!str `hunter2", "Error: cannot unmarshal !!str `(hidden)".to_owned()),
        // Values without quotes were once shown.
        (
            "level=INFO msg=\"warning: cannot overwrite table with non table for c.s.a (map[password:hunter2])\"\nlevel=INFO msg=\"warning: destination for c.s.b is a table. Ignoring non-table value (hunter2)\"\nError: c/templates/a.yaml:1:16\n  executing \"c/templates/a.yaml\" at <.Values.pw>:\n    range can't iterate over hunter2",
            format!("Error: c/templates/a.yaml:1:16\n{more}"),
        ),
        (
            "warning: cannot overwrite table with non table for c.s.a (map[password:hunter2])\nwarning: c: hunter2\nerror: template: range can't iterate over hunter2, hunter2",
            format!("error: template: range can't iterate over (hidden)\n{more}"),
        ),
        ("WARNING: hunter2", more.to_owned()),
        (
            "Error: error calling genSignedCert: error parsing ip: hunter2",
            "Error: error calling genSignedCert: error parsing ip: (hidden)".to_owned(),
        ),
        (
            "Error: error calling eq: incompatible types for comparison: map[string]interface {} and string, map[a:hunter2 b:[1]]",
            "Error: error calling eq: incompatible types for comparison: map[string]interface {} and string, (hidden)".to_owned(),
        ),
        (
            "error: c: at '/pin': maximum: got 4711.5, want 99; wrong number of args for x: want 1 got 2",
            "error: c: at '/pin': maximum: got (hidden), want 99; wrong number of args for x: want 1 got 2".to_owned(),
        ),
        (
            "Error: json: cannot unmarshal number 4711 into Go value of type string",
            "Error: json: cannot unmarshal number (hidden) into Go value of type string".to_owned(),
        ),
        ("Error: a\n\nhunter2\nended: it was interrupted", format!("Error: a\nended: it was interrupted\n{more}")),
    ] {
        assert_eq!(hide_quoted(text), expected);
    }
}
