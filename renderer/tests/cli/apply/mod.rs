//! `apply` with a real API server.

mod connection;
mod dry_run;
mod real;
mod servers_that_fail;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use serde_json::Value;
use testbed::{Cluster, ClusterSetup};

use super::{Run, command};

static CLUSTER: LazyLock<Cluster> = LazyLock::new(|| Cluster::start(&ClusterSetup::default()));

const SERVICE: &str = "\
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector: {app: shop}
  ports:
  - name: web
    port: {{ .Values.port }}
";

/// A chart's folder, and a namespace of its own in the cluster.
struct Space {
    folder: tempfile::TempDir,
    namespace: String,
}

impl Space {
    /// A namespace with this name, and a chart with these files and `port: 80` as values.
    fn new(namespace: &str, files: &[(&str, &str)]) -> Self {
        CLUSTER.kubectl(&["create", "namespace", namespace]);
        Self::without_namespace(namespace, files)
    }

    fn without_namespace(namespace: &str, files: &[(&str, &str)]) -> Self {
        let space = Self {
            folder: tempfile::tempdir().unwrap(),
            namespace: namespace.to_owned(),
        };
        space.write("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}\n");
        space.write("values.yaml", "port: 80\n");
        for (path, text) in files {
            space.write(path, text);
        }
        space
    }

    fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.folder.path().join("shop").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn command(&self, flags: &[&str]) -> Command {
        self.command_as(CLUSTER.kubeconfig(), flags)
    }

    fn command_as(&self, kubeconfig: &Path, flags: &[&str]) -> Command {
        let mut command = command();
        command
            .current_dir(self.folder.path())
            .args(["apply", "shop", "--release-name", "shop", "-n", &self.namespace])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(flags);
        command
    }

    fn run(&self, flags: &[&str]) -> Run {
        Run::of(&mut self.command(flags))
    }

    /// Applies, which must succeed.
    fn applied(&self, flags: &[&str]) -> String {
        let run = self.run(flags);
        assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
        run.stdout
    }

    /// Would change something: exit code and output of a dry run with `--exit-code`.
    fn dry(&self, flags: &[&str]) -> Run {
        self.run(&[&["--dry-run", "--exit-code"], flags].concat())
    }

    fn kubectl(&self, arguments: &[&str]) -> String {
        CLUSTER.kubectl(&[&["-n", &self.namespace], arguments].concat())
    }

    fn get(&self, kind: &str, name: &str) -> Option<Value> {
        let text = self.kubectl(&["get", kind, name, "-o", "json", "--ignore-not-found"]);
        (!text.trim().is_empty()).then(|| serde_json::from_str(&text).unwrap())
    }
}
