//! What is large is read and parsed on two threads, and comes to the same.

use solar_render::diag::Diagnostics;
use solar_render::engine::{ParsedChart, RenderRequest, RenderedChart};

/// Templates of one chart, each with so many bytes of a comment before it.
fn render(templates: &[String], padding: usize) -> Result<RenderedChart, Diagnostics> {
    let comment = format!("{{{{- /* {} */ -}}}}", "x".repeat(padding));
    let named = templates.iter().enumerate().map(|(index, text)| {
        let bytes = format!("{comment}{text}").into_bytes();
        (format!("templates/t{index:03}.yaml"), bytes)
    });
    let head = (
        "Chart.yaml".to_owned(),
        b"{apiVersion: v2, name: c, version: 1.0.0}".to_vec(),
    );
    let values = format!("# {}\ncolor: red\n", "x".repeat(4 * padding)).into_bytes();
    let files = [head, ("values.yaml".to_owned(), values)];
    ParsedChart::from_files(files.into_iter().chain(named).collect())?.render(&RenderRequest::new("r"))
}

/// Enough that both values and templates are worth a second thread.
const PADDING: usize = 32 << 10;

#[test]
fn of_many_definitions_the_same_counts() {
    let templates: Vec<String> = (0..64)
        .map(|index| format!(r#"{{{{ define "who" }}}}{index}{{{{ end }}}}v: {{{{ include "who" . }}}} {{{{ .Values.color }}}}"#))
        .collect();
    let small = render(&templates, 0).unwrap().texts;
    assert_eq!(small.len(), 64);
    for _ in 0..8 {
        assert_eq!(render(&templates, PADDING).unwrap().texts, small);
    }
}

#[test]
fn errors_are_reported_in_the_same_order() {
    let templates: Vec<String> = (0..64)
        .map(|index| {
            if index % 9 == 4 {
                format!("{{{{ no{index} }}}}")
            } else {
                "a: 1".to_owned()
            }
        })
        .collect();
    let messages = |padding| -> Vec<String> {
        let problem = render(&templates, padding).err().unwrap();
        problem.iter().map(|one| one.message.clone()).collect()
    };
    let small = messages(0);
    assert_eq!(small.len(), 7, "{small:?}");
    for _ in 0..8 {
        assert_eq!(messages(PADDING), small);
    }
}

#[test]
fn what_nests_too_deep_for_one_thread_is_parsed_on_another() {
    let deep = format!("v: {{{{ {}1{} }}}}", "(".repeat(900), ")".repeat(900));
    let mut templates = vec!["a: 1".to_owned(); 16];
    templates.extend([deep.clone(), deep]);
    assert_eq!(
        render(&templates, PADDING).unwrap().texts,
        render(&templates, 0).unwrap().texts
    );
}
