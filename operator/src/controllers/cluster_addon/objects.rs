//! From a chart's archive to its objects: values merged, templates rendered, documents as JSON. Pure but for the
//! processor time it takes, so that it is run on a thread of its own.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde_json::Value;
use sha2::{Digest as _, Sha256};
use solar_render::diag::{Class, Diagnostic, Diagnostics};
use solar_render::engine::capabilities::{Capabilities, KubeVersion};
use solar_render::engine::manifest::Manifest;
use solar_render::engine::{Limits, ParsedChart, RenderRequest};
use solar_render::source::Source;
use solar_render::world::Fixed;
use solar_render::{value, yaml};

/// How long one rendering may take.
pub(super) const RENDER_TIME: Duration = Duration::from_secs(10);
/// How large the values of one rendering may become, in bytes.
pub(super) const RENDER_MEMORY: usize = 128 << 20;
/// How many objects a chart may have: all of them are in the status.
pub(super) const MAX_OBJECTS: usize = 2_000;
/// How large a chart's objects may be together, as JSON.
pub(super) const MAX_OBJECT_BYTES: usize = 64 << 20;
/// Helm's event of tests.
const TEST_HOOK: &str = "test";

/// The cluster that a chart is rendered for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RenderedFor {
    pub(super) kubernetes_version: String,
    /// `group/version` and `group/version/Kind`.
    pub(super) api_versions: Vec<String>,
}

/// One object of a chart.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ChartObject {
    pub(super) object: Value,
    /// The subcharts that its template is in, joined by `/`; empty for the chart itself.
    pub(super) chart_path: String,
    /// Whether it is of a `crds` folder.
    pub(super) is_crd_file: bool,
    /// Helm's hook, if it is one.
    pub(super) hook: Option<ChartHook>,
}

/// When a hook is due, and when it is deleted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChartHook {
    pub(super) events: Vec<&'static str>,
    pub(super) weight: i64,
    pub(super) delete_policies: Vec<String>,
}

/// A rendered chart.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RenderedObjects {
    /// In install order: those of `crds` folders first, hooks last.
    pub(super) objects: Vec<ChartObject>,
    /// The functions called whose results anyone can reproduce who knows the seed.
    pub(super) predictable: Vec<&'static str>,
}

/// The stack's values, with those of its template over them. Returns the request and the hash of all values.
///
/// # Errors
/// Class values: the template's text is no map.
pub(super) fn merge_values(
    (release, namespace): (&str, &str),
    values: &serde_json::Map<String, Value>,
    templated: &str,
) -> Result<(RenderRequest, String), Diagnostics> {
    let request = RenderRequest::new(release).namespace(namespace);
    let request = request.values("spec.values", values)?;
    let request = if templated.trim().is_empty() {
        request
    } else {
        request.values_yaml("spec.valuesTemplate", templated)?
    };
    let text = value::Value::Map(request.values.clone()).to_json();
    Ok((request, hex(&Sha256::digest(text.as_bytes()))))
}

/// Lower-case hex.
pub(super) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for byte in bytes {
        // Writing to a String can't fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Renders a chart's archive. The result is a function of archive, request, cluster, seed, and the time that templates
/// see.
///
/// # Errors
/// Of the chart, the values or a template; more than [`MAX_OBJECTS`].
pub(super) fn render(
    archive: &[u8],
    request: &RenderRequest,
    cluster: &RenderedFor,
    (seed, clock): (u64, SystemTime),
) -> Result<RenderedObjects, Diagnostics> {
    let mut request = request.clone();
    let version = KubeVersion::parse(&cluster.kubernetes_version)
        .map_err(|reason| Diagnostic::error(Class::Usage, reason))?;
    request.capabilities = Capabilities {
        kube_version: version,
        api_versions: cluster.api_versions.clone(),
    };
    request.seed = Some(seed);
    request.world = Arc::new(Fixed {
        now: clock,
        ..Fixed::default()
    });
    request.limits = Limits::default();
    request.limits.memory = RENDER_MEMORY;
    request.limits.time = RENDER_TIME;
    let chart = ParsedChart::from_archive("the chart", archive)?;
    let rendered = chart.render(&request)?;
    let predictable = rendered.predictable.clone();
    let mut all = Collected::default();
    for crd in &rendered.crds {
        let source = Source::new(crd.name.as_str(), crd.body.text().into_owned());
        for node in yaml::parse_all(&source, Class::Chart, &yaml::Limits::default())? {
            all.add(&crd.name, &node.into_value(), (true, None))?;
        }
    }
    let manifests = chart.manifests(&request, rendered.texts, false)?;
    for manifest in &manifests.manifests {
        all.add(&manifest.source, &manifest.object(), (false, None))?;
    }
    let mut hooks: Vec<&Manifest> = manifests.hooks.iter().filter(|hook| !hook.is_test()).collect();
    // As in Helm: by weight, then as objects are installed.
    hooks.sort_by_key(|hook| hook.hook.as_ref().map_or(0, |hook| hook.weight));
    for manifest in hooks {
        let hook = manifest.hook.as_ref().map(|hook| ChartHook {
            events: hook
                .events
                .iter()
                .copied()
                .filter(|event| *event != TEST_HOOK)
                .collect(),
            weight: hook.weight,
            delete_policies: hook.delete_policies.clone(),
        });
        all.add(&manifest.source, &manifest.object(), (false, hook))?;
    }
    Ok(RenderedObjects {
        objects: all.objects,
        predictable,
    })
}

/// Objects within the limits.
#[derive(Default)]
struct Collected {
    objects: Vec<ChartObject>,
    bytes: usize,
}

impl Collected {
    /// A document: one object, those of a list, or none.
    fn add(
        &mut self,
        source: &str,
        document: &value::Value,
        (is_crd_file, hook): (bool, Option<ChartHook>),
    ) -> Result<(), Diagnostics> {
        let text = document.to_json();
        self.bytes = self.bytes.saturating_add(text.len());
        if self.bytes > MAX_OBJECT_BYTES {
            return refuse(format!(
                "the chart's objects are larger than {MAX_OBJECT_BYTES} bytes"
            ));
        }
        let object: Value = serde_json::from_str(&text)
            .map_err(|error| Diagnostic::error(Class::Internal, format!("{source}: {error}")))?;
        if object.is_null() {
            return Ok(());
        }
        let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or("");
        let is_list = text("/kind").ends_with("List");
        if let Some(items) = object.get("items").and_then(Value::as_array).filter(|_| is_list) {
            for item in items {
                self.push(source, item.clone(), is_crd_file, hook.clone())?;
            }
            return Ok(());
        }
        self.push(source, object, is_crd_file, hook)
    }

    fn push(
        &mut self,
        source: &str,
        object: Value,
        is_crd_file: bool,
        hook: Option<ChartHook>,
    ) -> Result<(), Diagnostics> {
        for field in ["/apiVersion", "/kind", "/metadata/name"] {
            let text = object.pointer(field).and_then(Value::as_str).unwrap_or("");
            if text.is_empty() {
                let field = field.trim_start_matches('/').replace('/', ".");
                return refuse(format!("{source}: an object has no {field}"));
            }
        }
        if self.objects.len() == MAX_OBJECTS {
            return refuse(format!("the chart has more than {MAX_OBJECTS} objects"));
        }
        self.objects.push(ChartObject {
            object,
            chart_path: chart_path(source),
            is_crd_file,
            hook,
        });
        Ok(())
    }
}

fn refuse(message: String) -> Result<(), Diagnostics> {
    Err(Diagnostic::error(Class::Template, message).into())
}

/// The subcharts in a template's full name, `shop/charts/a/charts/b/templates/x.yaml`: `a/b`.
fn chart_path(source: &str) -> String {
    let mut names = Vec::new();
    let mut rest = source.split_once('/').map_or("", |(_, rest)| rest);
    while let Some((name, inner)) = rest
        .strip_prefix("charts/")
        .and_then(|inner| inner.split_once('/'))
    {
        names.push(name);
        rest = inner;
    }
    names.join("/")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::json;
    use solar_render::package::artifact::BlobContent;
    use solar_render::package::{Packer, Stamp};

    /// An archive of a chart in memory.
    pub(crate) fn archive(files: &[(&str, &str)]) -> Vec<u8> {
        let files = files
            .iter()
            .map(|(path, text)| ((*path).to_owned(), text.as_bytes().to_vec()))
            .collect();
        let chart = solar_render::chart::Chart::from_files(files).expect("a chart");
        let artifact = Packer::new(1)
            .pack(Arc::new(chart), Stamp::default())
            .expect("an archive");
        match &artifact.layer().expect("a layer").content {
            BlobContent::Memory(bytes) => bytes.to_vec(),
            _ => panic!("it is small"),
        }
    }

    fn cluster() -> RenderedFor {
        RenderedFor {
            kubernetes_version: "v1.33.2".to_owned(),
            api_versions: vec!["v1".to_owned(), "example.com/v1/Widget".to_owned()],
        }
    }

    fn rendered(template: &str, values: &str) -> Result<RenderedObjects, Diagnostics> {
        let archive = archive(&[
            ("Chart.yaml", "{apiVersion: v2, name: shop, version: 1.0.0}"),
            ("templates/a.yaml", template),
        ]);
        let (request, _) = merge_values(("shop", "apps"), &serde_json::Map::new(), values)?;
        let clock = SystemTime::UNIX_EPOCH + Duration::from_secs(1_785_000_000);
        render(&archive, &request, &cluster(), (0, clock))
    }

    #[test]
    fn values_of_the_template_are_merged_over_the_stacks() {
        let values = json!({"a": {"b": 1, "c": 2}, "d": [1]});
        let values = values.as_object().expect("a map");
        let (request, hash) = merge_values(("r", "n"), values, "a: {b: 3}\nd: null\n").expect("values");
        let merged = value::Value::Map(request.values).to_json();
        assert_eq!(merged, r#"{"a":{"b":3,"c":2},"d":null}"#);
        let (_, same) = merge_values(("r", "n"), values, "{d: null, a: {b: 3}}").expect("values");
        let (_, other) = merge_values(("r", "n"), values, "").expect("values");
        assert!(hash == same && hash != other);
        let problem = merge_values(("r", "n"), values, "- a").expect_err("no map");
        assert!(problem.to_string().contains("spec.valuesTemplate"), "{problem}");
    }

    #[test]
    fn a_chart_is_rendered_for_its_cluster() {
        let template = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  v: {{ .Capabilities.KubeVersion }}\n  has: {{ .Capabilities.APIVersions.Has \"example.com/v1/Widget\" | quote }}\n  not: {{ .Capabilities.APIVersions.Has \"apps/v1\" | quote }}\n  in: {{ .Release.Namespace }}\n  now: {{ now | date \"2006\" | quote }}\n";
        let found = rendered(template, "").expect("objects");
        let data = json!({"v": "v1.33.2", "has": "true", "not": "false", "in": "apps", "now": "2026"});
        assert_eq!(found.objects[0].object["data"], data);
    }

    #[test]
    fn lists_are_taken_apart_tests_left_out_and_hooks_sorted() {
        let template = "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: one}}\n- {apiVersion: v1, kind: ConfigMap, metadata: {name: two}}\n---\n# nothing\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: late, annotations: {helm.sh/hook: post-install, helm.sh/hook-weight: \"5\"}}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: test, annotations: {helm.sh/hook: test}}\n---\napiVersion: batch/v1\nkind: Job\nmetadata: {name: early, annotations: {helm.sh/hook: \"post-install,post-upgrade\", helm.sh/hook-weight: \"-5\"}}\n";
        let found = rendered(template, "").expect("objects");
        let names: Vec<&str> = found
            .objects
            .iter()
            .filter_map(|one| one.object["metadata"]["name"].as_str())
            .collect();
        assert_eq!(names, ["one", "two", "early", "late"]);
        let events = &found.objects[2].hook.as_ref().expect("a hook").events;
        assert_eq!(events, &["post-install", "post-upgrade"]);
    }

    #[test]
    fn limits_end_a_rendering() {
        let many = "{{ range until 2001 }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: a{{ . }}}\n{{ end }}";
        let table = [
            (many, "more than 2000 objects"),
            (
                "apiVersion: v1\nkind: ConfigMap\nmetadata: {generateName: a}",
                "metadata.name",
            ),
            (
                "{{ $a := \"x\" }}{{ range until 60 }}{{ $a = print $a $a }}{{ end }}",
                "memory",
            ),
        ];
        for (template, expected) in table {
            let problem = rendered(template, "").expect_err(expected);
            assert!(problem.to_string().contains(expected), "{problem}");
        }
    }

    #[test]
    fn a_templates_subcharts_are_in_its_name() {
        let table = [
            ("shop/templates/a.yaml", ""),
            ("shop/crds/a.yaml", ""),
            ("shop/charts/a/templates/x.yaml", "a"),
            ("shop/charts/a/charts/b/crds/x.yaml", "a/b"),
        ];
        for (source, expected) in table {
            assert_eq!(chart_path(source), expected);
        }
    }
}
