//! `--watch` of `template` and `test`: what is written to a file is waited for by reading what is printed.

use std::fs;
use std::io::{BufRead, BufReader, Read as _};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};

use crate::command;
use crate::dependency::chart;

/// A chart in a folder, and a program that watches it.
struct Watching {
    folder: tempfile::TempDir,
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let shop = folder.path().join("shop");
    chart(&shop, "shop", "1.0.0", &[]);
    fs::write(shop.join("values.yaml"), "color: red\n").unwrap();
    fs::write(
        shop.join("templates/x.yaml"),
        "color: {{ .Values.color }}\nend: true\n",
    )
    .unwrap();
    folder
}

impl Watching {
    fn start(folder: tempfile::TempDir, line: &str) -> Self {
        let mut command = command();
        command.args(line.split(' ')).current_dir(folder.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        Self {
            stdout: BufReader::new(child.stdout.take().unwrap()),
            stderr: BufReader::new(child.stderr.take().unwrap()),
            folder,
            child,
        }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    /// As editors do: a new file gets the name.
    fn write(&self, path: &str, text: &str) {
        let new = self.at("new");
        fs::write(&new, text).unwrap();
        fs::rename(new, self.at(path)).unwrap();
    }

    /// The lines of standard output up to one that contains a text.
    fn printed_until(&mut self, end: &str) -> String {
        until(&mut self.stdout, end)
    }

    /// The same of standard error.
    fn reported_until(&mut self, end: &str) -> String {
        until(&mut self.stderr, end)
    }

    /// Sends a signal: the exit code, and what was still printed.
    fn end(mut self, signal: &str) -> (i32, String) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args([signal, &id])
                .status()
                .unwrap()
                .success()
        );
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap().code().unwrap(), rest)
    }
}

fn until(lines: &mut impl BufRead, end: &str) -> String {
    let mut all = String::new();
    loop {
        let before = all.len();
        assert_ne!(
            lines.read_line(&mut all).unwrap(),
            0,
            "{end} was never printed:\n{all}"
        );
        if all[before..].contains(end) {
            return all;
        }
    }
}

#[test]
fn template_prints_the_output_and_then_what_is_different() {
    let mut watching = Watching::start(folder(), "template r shop -f prod.yaml --watch");
    // A file that is missing is an error, and may come.
    watching.reported_until("prod.yaml");
    watching.write("prod.yaml", "");
    assert_eq!(
        watching.printed_until("end"),
        "---\n# Source: shop/templates/x.yaml\ncolor: red\nend: true\n"
    );
    watching.write("shop/values.yaml", "color: blue\n");
    assert_eq!(
        watching.printed_until("end"),
        "@@ shop/templates/x.yaml @@\n- color: red\n+ color: blue\n  end: true\n"
    );
    watching.reported_until("rendered again: the output of 1 template is another");
    watching.write("prod.yaml", "color: green\n");
    assert!(
        watching
            .printed_until("end")
            .contains("- color: blue\n+ color: green\n")
    );
    // A mistake is shown; the next output is compared with the last one that there was.
    fs::write(
        watching.at("shop/templates/x.yaml"),
        "color: {{ .Values.color | nothing }}\n",
    )
    .unwrap();
    watching.reported_until("function \"nothing\" not defined");
    watching.reported_until("not rendered: the last output stays");
    fs::write(
        watching.at("shop/templates/x.yaml"),
        "color: {{ .Values.color }}!\nend: true\n",
    )
    .unwrap();
    assert!(
        watching
            .printed_until("end")
            .contains("- color: green\n+ color: green!\n")
    );
    // A template that comes, in a folder that comes, and goes.
    fs::create_dir(watching.at("shop/templates/more")).unwrap();
    watching.write("shop/templates/more/y.yaml", "more: 1\n");
    assert_eq!(
        watching.printed_until("more: 1"),
        "@@ shop/templates/more/y.yaml @@\n+ more: 1\n"
    );
    fs::remove_dir_all(watching.at("shop/templates/more")).unwrap();
    assert_eq!(
        watching.printed_until("more: 1"),
        "@@ shop/templates/more/y.yaml @@\n- more: 1\n"
    );
    watching.write("shop/README.md", "nothing\n");
    watching.reported_until("rendered again: the same output");
    let (code, rest) = watching.end("-INT");
    assert_eq!((code, &*rest), (0, ""));
}

#[test]
fn template_follows_links_and_reads_objects_again() {
    let folder = folder();
    std::os::unix::fs::symlink("shop", folder.path().join("link")).unwrap();
    let template = "found: {{ (lookup \"v1\" \"Secret\" \"\" \"a\").data | toJson }}\n";
    fs::write(folder.path().join("shop/templates/x.yaml"), template).unwrap();
    fs::write(folder.path().join("objects.yaml"), "").unwrap();
    let mut watching = Watching::start(folder, "template r link --watch --lookup-file objects.yaml");
    assert!(watching.printed_until("found").ends_with("found: null\n"));
    watching.write(
        "objects.yaml",
        "{apiVersion: v1, kind: Secret, metadata: {name: a}, data: {x: eA==}}\n",
    );
    assert!(
        watching
            .printed_until("+ found")
            .ends_with("+ found: {\"x\":\"eA==\"}\n")
    );
    watching.write("shop/templates/x.yaml", "found: 1\n");
    assert!(watching.printed_until("+ found").ends_with("+ found: 1\n"));
    let (code, rest) = watching.end("-TERM");
    assert!(
        code == 143 && rest.contains("terminated by a signal"),
        "{code} {rest}"
    );
}

#[test]
fn watching_ends_when_nobody_reads() {
    let mut watching = Watching::start(folder(), "template r shop --watch");
    watching.printed_until("end");
    let Watching {
        folder,
        mut child,
        stdout,
        ..
    } = watching;
    drop(stdout);
    fs::write(folder.path().join("shop/values.yaml"), "color: blue\n").unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_config_s_blueprint_is_watched() {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    fs::create_dir_all(at("blueprint/templates")).unwrap();
    fs::write(at("blueprint/templates/x.yaml.jinja"), "end: << input.name >>\n").unwrap();
    fs::write(
        at("blueprint/Chart.yaml"),
        "apiVersion: v2\nname: demo\nversion: 1.0.0\n",
    )
    .unwrap();
    let config = "type: blueprint\nblueprint:\n  path: ./blueprint\n  chart: {name: demo, version: 1.0.0}\n  input: {name: one}\n";
    fs::write(at("demo.yaml"), config).unwrap();
    let mut watching = Watching::start(folder, "template r demo.yaml --watch");
    assert!(watching.printed_until("end").ends_with("end: one\n"));
    watching.write("blueprint/templates/x.yaml.jinja", "end: two\n");
    assert!(watching.printed_until("+ end").ends_with("+ end: two\n"));
    assert_eq!(watching.end("-INT").0, 0);
}

#[test]
fn test_prints_the_report_and_then_what_fails_and_passes_again() {
    let folder = folder();
    fs::create_dir(folder.path().join("shop/tests")).unwrap();
    let suite = "\
suite: colors
values: [../../shared.yaml]
tests:
- it: is red
  template: x.yaml
  asserts: [{equal: {path: color, value: red}}]
- it: is the same
  template: x.yaml
  asserts: [{matchSnapshot: {path: end}}]
";
    fs::write(folder.path().join("shop/tests/a_test.yaml"), suite).unwrap();
    fs::write(folder.path().join("shared.yaml"), "other: 1\n").unwrap();
    let mut watching = Watching::start(folder, "test shop --watch");
    let first = watching.printed_until("2 tests");
    assert_eq!(
        first,
        "PASS  colors shop/tests/a_test.yaml\n1 suite, 2 tests: 2 passed; snapshots: 1 new\n"
    );
    // A values file of a suite, outside of the chart.
    watching.write("shared.yaml", "color: blue\n");
    let failed = watching.printed_until("2 tests");
    assert!(
        failed.contains("failed: is red") && failed.contains("1 passed, 1 failed"),
        "{failed}"
    );
    watching.write("shared.yaml", "color: red\n");
    let again = watching.printed_until("2 tests");
    assert_eq!(
        again,
        "PASS  shop/tests/a_test.yaml\n  passes again: is red\n1 suite, 2 tests: 2 passed; snapshots: 1 same\n"
    );
    watching.write("shop/tests/a_test.yaml", "tests: 1\n");
    watching.reported_until("not run: the last results stay");
    watching.write("shop/tests/a_test.yaml", suite);
    watching.printed_until("2 tests: 2 passed");
    assert_eq!(watching.end("-INT"), (0, String::new()));
}

#[test]
fn what_can_t_be_watched_is_refused() {
    let folder = folder();
    for (line, message) in [
        ("template r shop --watch -f -", "standard input is read once"),
        (
            "template r shop --watch --lookup-file -",
            "standard input is read once",
        ),
        ("test shop --watch --values -", "standard input is read once"),
        (
            "template r oci://example.com/charts/shop --watch",
            "--watch watches files",
        ),
        (
            "template r shop --repo https://example.com --watch",
            "--watch watches files",
        ),
        ("template r shop --watch -o json", "--watch prints text"),
        ("test shop --watch -o json", "--watch prints text"),
        ("test shop --watch -o junit", "--watch prints text"),
        ("template r shop --watch --output-dir out", "cannot be used with"),
    ] {
        let mut command = command();
        let run = crate::Run::of(command.args(line.split(' ')).current_dir(folder.path()));
        assert!(
            run.code == 2 && run.stderr.contains(message),
            "{line}: {} {}",
            run.code,
            run.stderr
        );
    }
}
