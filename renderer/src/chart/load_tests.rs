//! Loading for rendering: how files are classified, and what is refused.

use std::sync::Arc;

use super::*;

/// Files, and the expected error.
type Refused<'c> = (&'c [(&'c str, &'c [u8])], &'c str);

fn head(name: &str) -> Vec<u8> {
    format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n").into_bytes()
}

fn memory(files: &[(&str, &[u8])]) -> Result<Arc<Loaded>> {
    load_files(
        files
            .iter()
            .map(|(path, bytes)| ((*path).to_owned(), bytes.to_vec()))
            .collect(),
    )
}

fn tgz(files: &[(&str, &[u8])]) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(encoder);
    for (path, bytes) in files {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive
            .append_data(&mut header, format!("top/{path}"), *bytes)
            .unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

fn names(loaded: &Loaded) -> Vec<&str> {
    loaded.files.iter().map(|(name, _)| name.as_str()).collect()
}

fn message(result: Result<Arc<Loaded>>) -> String {
    result.unwrap_err().iter().next().unwrap().message.clone()
}

#[test]
fn a_loaded_chart_can_be_shared_between_threads() {
    fn shareable<T: Send + Sync>() {}
    shareable::<Loaded>();
}

/// A folder with every kind of file of a chart.
fn write_all(folder: &Path) {
    let leaf = tgz(&[("Chart.yaml", &head("leaf")), ("values.yaml", b"a: 1\n")]);
    let inner = tgz(&[("Chart.yaml", &head("inner")), ("charts/leaf-1.0.0.tgz", &leaf)]);
    let files: &[(&str, &[u8])] = &[
        (
            "Chart.yaml",
            b"\xef\xbb\xbfapiVersion: v1\nname: root\nversion: 1.0.0\n",
        ),
        (
            "requirements.yaml",
            b"dependencies: [{name: sub, version: 1.0.0}]\n",
        ),
        ("values.yaml", b"\xef\xbb\xbfk: 1\n---\nm: 0777\n"),
        ("values.schema.json", b"{}"),
        (".helmignore", b"*.bak\n"),
        ("x.bak", b"no"),
        ("templates/a/x.yaml", b"x"),
        ("templates/a.yaml", b"\xef\xbb\xbfa"),
        ("templates/latin.tpl", b"\xe9"),
        ("templates/.hidden", b"no"),
        ("crds/b.yaml", b"b"),
        ("crds/a/c.JSON", b"{}"),
        ("crds/README.md", b"no"),
        ("charts/sub/Chart.yaml", &head("sub")),
        ("charts/sub/.helmignore", b"kept.txt\n"),
        ("charts/sub/kept.txt", b"k"),
        ("charts/sub/charts/_no/Chart.yaml", b"no"),
        ("charts/inner-1.0.0.tgz", &inner),
        ("charts/inner-1.0.0.tgz.prov", b"p"),
        ("charts/.no", b"no"),
        ("charts/_no/Chart.yaml", b"no"),
    ];
    for (path, bytes) in files {
        let path = folder.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
}

#[test]
fn a_folder_is_loaded_as_in_helm() {
    let folder = tempfile::tempdir().unwrap();
    write_all(folder.path());
    let root = load(folder.path()).unwrap();
    let templates: Vec<(&str, &str)> = root
        .templates
        .iter()
        .map(|one| (one.name.as_str(), one.source.text()))
        .collect();
    let expected = [
        ("templates/a/x.yaml", "x"),
        ("templates/a.yaml", "a"),
        ("templates/latin.tpl", "\u{fffd}"),
    ];
    assert_eq!(templates, expected);
    let files = [
        ".helmignore",
        "charts/inner-1.0.0.tgz.prov",
        "crds/README.md",
        "crds/a/c.JSON",
        "crds/b.yaml",
        "requirements.yaml",
    ];
    assert_eq!(names(&root), files);
    assert_eq!(
        root.crds().map(|(name, _)| name).collect::<Vec<_>>(),
        ["crds/a/c.JSON", "crds/b.yaml"]
    );
    assert_eq!(
        format!("{:?}", root.values),
        "Map({\"k\": Number(Float(1.0)), \"m\": Number(Float(511.0))})"
    );
    assert_eq!(root.details.dependencies()[0].name, "sub");
    assert!(root.schema.is_some() && root.warnings.is_empty());
    let subcharts: Vec<&str> = root.dependencies.iter().map(|chart| chart.name()).collect();
    assert_eq!(subcharts, ["inner", "sub"]);
    assert_eq!(root.dependencies[0].dependencies[0].values.len(), 1);
    assert_eq!(names(&root.dependencies[1]), [".helmignore", "kept.txt"]);
}

#[test]
fn texts_that_subcharts_share_are_kept_once() {
    let sub = |name: &str| head(name);
    let loaded = memory(&[
        ("Chart.yaml", &head("root")),
        ("charts/a/Chart.yaml", &sub("one")),
        ("charts/a/templates/t.yaml", b"same"),
        ("charts/a/values.yaml", b"v: 1\n"),
        ("charts/b/Chart.yaml", &sub("two")),
        ("charts/b/templates/t.yaml", b"same"),
        ("charts/b/values.yaml", b"v: 1\n"),
    ])
    .unwrap();
    let (a, b) = (&loaded.dependencies[0], &loaded.dependencies[1]);
    assert!(Arc::ptr_eq(&a.templates[0].source, &b.templates[0].source));
    assert!(Arc::ptr_eq(&a.values, &b.values));
    assert!(!Arc::ptr_eq(&a.details, &b.details));
}

#[test]
fn invalid_charts_are_refused_with_their_location() {
    let chart = head("root");
    let cases: &[Refused<'_>] = &[
        (
            &[("values.yaml", b"")],
            "the chart is not a chart: it has no Chart.yaml",
        ),
        (
            &[("Chart.yaml", &chart), ("charts/README.md", b"")],
            "charts/README.md is not a chart: it has no Chart.yaml",
        ),
        (
            &[("Chart.yaml", &chart), ("charts/x.tgz", b"no")],
            "charts/x.tgz can't be read as a .tgz",
        ),
        (
            &[("Chart.yaml", &chart), ("charts/x.tgz/Chart.yaml", &chart)],
            "charts/x.tgz is not a chart archive: it is a folder",
        ),
        (
            &[("Chart.yaml", &chart), ("values.yaml", b"[]")],
            "values.yaml must hold a map, not a list",
        ),
        (&[("Chart.yaml", &chart), ("Chart.lock", b"{")], ""),
    ];
    for (files, expected) in cases {
        let message = message(memory(files));
        assert!(message.starts_with(expected), "{message}");
    }
    assert!(message(load(Path::new("/no/such/chart"))).contains("does not exist"));
}

#[test]
fn charts_in_charts_have_a_limit() {
    let deep = |depth: usize| {
        let mut files = vec![("Chart.yaml".to_owned(), head("c"))];
        for level in 1..=depth {
            files.push((format!("{}Chart.yaml", "charts/c/".repeat(level)), head("c")));
        }
        load_files(files)
    };
    assert!(deep(MAX_SUBCHART_DEPTH).is_ok());
    assert!(message(deep(MAX_SUBCHART_DEPTH + 1)).contains("nested charts"));
}

#[test]
fn mistakes_of_several_subcharts_are_reported_together() {
    let found = memory(&[
        ("Chart.yaml", &head("root")),
        ("values.yaml", b"a: [\n"),
        ("charts/a/Chart.yaml", b"name: a\n"),
        ("charts/b/Chart.yaml", &head("b")),
        ("charts/b/values.yaml", b"text"),
    ]);
    assert!(found.unwrap_err().iter().count() >= 3);
}

#[test]
fn errors_of_a_large_values_file_and_of_other_files_are_reported_together() {
    let values = format!("# {}\na: [\n", "x".repeat(SHARED_BYTES));
    let problem = memory(&[
        ("Chart.yaml", &head("root")),
        ("values.yaml", values.as_bytes()),
        ("Chart.lock", b"a: [\n"),
        ("charts/inner/Chart.yaml", b"name: [\n"),
    ])
    .unwrap_err();
    let places: Vec<String> = problem
        .iter()
        .map(|one| one.location.as_ref().unwrap().source.name().to_owned())
        .collect();
    assert_eq!(places, ["values.yaml", "Chart.lock", "charts/inner/Chart.yaml"]);
}

/// They were refused, and Helm renders and packages them.
#[test]
fn a_subchart_may_have_any_api_version() {
    let chart = |name: &str, version: &str| {
        format!("apiVersion: {version}\nname: {name}\nversion: 1.0.0\n").into_bytes()
    };
    let folder = tempfile::tempdir().unwrap();
    let write = |path: &str, bytes: &[u8]| {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    };
    write("Chart.yaml", &chart("root", "v2"));
    write("charts/a/Chart.yaml", &chart("a", "v3"));
    write("charts/b-1.0.0.tgz", &tgz(&[("Chart.yaml", &chart("b", "1"))]));
    let root = load(folder.path()).unwrap();
    let versions = root
        .dependencies
        .iter()
        .map(|one| one.details.api_version.as_str());
    assert_eq!(versions.collect::<Vec<_>>(), ["v3", "1"]);
    crate::chart::folder::load(folder.path()).unwrap();
    write("Chart.yaml", &chart("root", "v3"));
    assert_eq!(message(load(folder.path())), "apiVersion `v3` is unknown to Helm");
}
