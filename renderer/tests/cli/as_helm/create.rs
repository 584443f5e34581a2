//! `create`.

use std::fs;

use crate::dependency::chart;
use crate::{Run, command};

#[test]
fn a_new_chart_lints_clean_and_renders_with_every_switch_on() {
    let folder = tempfile::tempdir().unwrap();
    let run = |words: &[&str]| Run::of(command().current_dir(folder.path()).args(words));
    for name in ["shop", "Odd_Name.2"] {
        let path = format!("deep/{name}");
        assert_eq!(run(&["create", &path]).stdout, format!("Creating {path}\n"));
        let lint = run(&["lint", &path, "--strict"]);
        assert_eq!((lint.code, lint.stderr.as_str()), (0, ""), "{}", lint.stdout);
        let all = "ingress.enabled=true,autoscaling.enabled=true,resources.requests.cpu=1,podLabels.a=b,image.tag=x,ingress.className=c,ingress.tls[0].secretName=s,serviceAccount.annotations.a=b,volumes[0].name=v,nodeSelector.a=b";
        let document = run(&["template", "r", &path, "--set", all, "-o", "json"]).json();
        let kinds: Vec<&str> = document["objects"]
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["object"]["kind"].as_str().unwrap())
            .collect();
        let expected = [
            "ServiceAccount",
            "Service",
            "Deployment",
            "HorizontalPodAutoscaler",
            "Ingress",
            "Pod",
        ];
        assert_eq!(kinds, expected);
    }
    let again = run(&["create", "deep/shop"]);
    assert!(
        again.code == 0 && again.stderr.contains("already exists"),
        "{}",
        again.stderr
    );
    for bad in ["x y", "..", "/"] {
        let refused = run(&["create", bad]);
        assert!(
            refused.code == 2 && refused.stderr.contains("is no name for a chart"),
            "{bad}: {}",
            refused.stderr
        );
    }
}

#[test]
fn a_starter_is_copied_with_the_charts_name_in_it() {
    let folder = tempfile::tempdir().unwrap();
    let starter = folder.path().join("data/starters/mine");
    chart(&starter, "starter", "7.0.0", &[]);
    fs::write(starter.join("templates/a.yaml"), "a: <CHARTNAME>\n").unwrap();
    fs::write(starter.join("values.yaml"), "own: <CHARTNAME>\n").unwrap();
    let run = |words: &[&str]| {
        let mut command = command();
        Run::of(
            command
                .env("HELM_DATA_HOME", folder.path().join("data"))
                .current_dir(folder.path())
                .args(words),
        )
    };
    for (name, at) in [("one", "mine"), ("two", starter.to_str().unwrap())] {
        assert_eq!(run(&["create", name, "--starter", at]).code, 0);
        let read = |path: &str| fs::read_to_string(folder.path().join(name).join(path)).unwrap();
        assert_eq!(read("templates/a.yaml"), format!("a: {name}\n"));
        assert_eq!(read("values.yaml"), format!("own: {name}\n"));
        assert!(
            read("Chart.yaml").contains(&format!("name: \"{name}\"")),
            "{}",
            read("Chart.yaml")
        );
    }
    assert_eq!(run(&["create", "three", "-p", "nope"]).code, 1);
}
