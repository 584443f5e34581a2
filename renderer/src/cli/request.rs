//! Builds the request of a rendering from the flags that `template`, `images` and `lint` share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::args::registry::RegistryFlags;
use super::args::rendering::{HookFlags, ReleaseNameFlags, RenderFlags, RenderInputFlags, ValueFlags};
use super::context::Context;
use super::csv;
use super::lookup_files::lookup_objects;
use super::namespace::namespace;
use super::remote_schemas::schema_store;
use super::remote_values::{remote_values, web_options};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::capabilities::Capabilities;
use crate::engine::manifest::ManifestFilter;
use crate::engine::release::{DEFAULT_NAME, Release, check_name, name_from_template};
use crate::engine::{ChartVersions, Limits, RenderRequest};
use crate::oci::ClientOptions;
use crate::value::Map;
use crate::values::ValueOrigins;
use crate::values::options::ValuesOptions;
use crate::world::{Fixed, System, World};

/// The time with --frozen, in seconds: 1980, as in archives.
const FROZEN_CLOCK: u64 = 315_532_800;
/// The seed of --frozen.
const FROZEN_SEED: u64 = 0;

/// The chart and the request of a rendering.
pub(crate) fn request_of(
    flags: &RenderFlags,
    registry: &RegistryFlags,
    context: &Context<'_>,
) -> Result<(PathBuf, RenderRequest)> {
    let RenderFlags {
        name_and_chart: words,
        frozen,
        input,
        lookup,
        name,
        limits,
    } = flags;
    let RenderInputFlags {
        skip_schema_validation,
        schemas,
        values,
        release,
        cluster,
    } = input;
    let api_versions = csv::fields("--api-versions", &cluster.api_versions)?;
    let capabilities = Capabilities::with(Some(&cluster.kube_version), &api_versions)?;
    let (world, seed): (Arc<dyn World>, _) = if *frozen {
        let (world, seed) = frozen_world();
        (world, Some(seed))
    } else {
        (Arc::new(System), None)
    };
    let (name, chart) = name_and_chart(words, name, &world, (seed, &limits.limits()))?;
    let cluster = lookup_objects(lookup, &[values], &capabilities, context)?;
    let (values, places) = merged(values, &web_options(registry), context)?;
    check_name(&name)?;
    let request = RenderRequest {
        values,
        places,
        release: Release {
            name,
            namespace: namespace(&release.namespace, context),
            is_upgrade: release.is_upgrade,
            revision: 1,
        },
        capabilities,
        skip_schema: *skip_schema_validation,
        schemas: schema_store(schemas, web_options(registry), *frozen, context)?,
        world,
        seed,
        seeded: Arc::clone(&context.seeded),
        lint: false,
        limits: limits.limits(),
        cluster,
        only: None,
        chart_versions: ChartVersions::default(),
    };
    Ok((PathBuf::from(chart), request))
}

/// The clock and the seed of `--frozen`.
pub(crate) fn frozen_world() -> (Arc<dyn World>, u64) {
    let frozen = Fixed {
        now: SystemTime::UNIX_EPOCH + Duration::from_secs(FROZEN_CLOCK),
        ..Fixed::default()
    };
    (Arc::new(frozen), FROZEN_SEED)
}

/// A request for a rendering as with `--frozen`: what it generates is the same in every run.
pub(crate) fn frozen_request(release: &str, context: &Context<'_>) -> RenderRequest {
    let (world, seed) = frozen_world();
    RenderRequest {
        world,
        seed: Some(seed),
        seeded: Arc::clone(&context.seeded),
        ..RenderRequest::new(release)
    }
}

/// Which hooks are printed.
pub(crate) fn filter(flags: HookFlags) -> ManifestFilter {
    let HookFlags { no_hooks, skip_tests } = flags;
    ManifestFilter { no_hooks, skip_tests }
}

/// The values of all flags, merged, and where each was set.
pub(crate) fn merged(
    values: &ValueFlags,
    client: &ClientOptions,
    context: &Context<'_>,
) -> Result<(Map, ValueOrigins)> {
    let (values, places) = merged_silently(values, client, context)?;
    for warning in places.warnings() {
        context.printer.warn(&warning);
    }
    Ok((values, places))
}

/// As [`merged`], without warnings.
pub(crate) fn merged_silently(
    values: &ValueFlags,
    client: &ClientOptions,
    context: &Context<'_>,
) -> Result<(Map, ValueOrigins)> {
    let options = ValuesOptions {
        files: csv::fields("--values", &values.values)?,
        json: values.set_json.clone(),
        typed: values.set.clone(),
        text: values.set_string.clone(),
        from_file: values.set_file.clone(),
        literal: values.set_literal.clone(),
    };
    let fetch = |url: &str| remote_values(url, client, context);
    options.merge_fetching(&mut context.values_input.reader(), &fetch)
}

/// The name is given, rendered by a template, or Helm's default.
fn name_and_chart<'a>(
    words: &'a [String],
    flags: &ReleaseNameFlags,
    world: &Arc<dyn World>,
    (seed, limits): (Option<u64>, &Limits),
) -> Result<(String, &'a str)> {
    let usage = |message: String| Err(Diagnostics::from(Diagnostic::error(Class::Usage, message)));
    match words {
        [_, _] if flags.generate_name => {
            usage("cannot set --generate-name and also specify a name".to_owned())
        }
        [_, _] if !flags.name_template.is_empty() => {
            usage("cannot set --name-template and also specify a name".to_owned())
        }
        [name, chart] => Ok((name.clone(), chart)),
        [chart] if !flags.name_template.is_empty() => {
            let name = name_from_template(&flags.name_template, world, seed, limits)?;
            Ok((name, chart))
        }
        [chart] => Ok((DEFAULT_NAME.to_owned(), chart)),
        more => {
            let rest = more.get(2..).unwrap_or_default().join(", ");
            usage(format!(
                "expected at most two arguments, unexpected arguments: {rest}"
            ))
        }
    }
}
