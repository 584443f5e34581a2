//! What is to be rendered, from the flags that `template`, `images` and `lint` share.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use super::args::limits::LimitFlags;
use super::args::rendering::{ClusterFlags, ReleaseFlags, ValueFlags};
use super::context::Context;
use super::csv;
use super::namespace::namespace;
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::capabilities::Capabilities;
use crate::engine::release::{DEFAULT_NAME, Release, check_name, name_from_template};
use crate::engine::{Limits, RenderRequest};
use crate::value::Map;
use crate::values::ValueOrigins;
use crate::values::options::ValuesOptions;
use crate::values::schema_documents::NoSchemas;
use crate::world::{Fixed, System, World};

/// What --frozen's clock shows, in seconds: 1980, as in archives.
const FROZEN_CLOCK: u64 = 315_532_800;
/// What --frozen's randomness grows from.
const FROZEN_SEED: u64 = 0;

/// As [`request`], from the flags that other commands have, too; schemas are looked at.
pub(crate) fn request_of(
    words: &[String],
    values: &ValueFlags,
    release: &ReleaseFlags,
    cluster: &ClusterFlags,
    frozen: bool,
    limits: &LimitFlags,
    context: &Context<'_>,
) -> Result<(PathBuf, RenderRequest)> {
    let api_versions = csv::fields("--api-versions", &cluster.api_versions)?;
    let capabilities = Capabilities::with(Some(&cluster.kube_version), &api_versions)?;
    let (world, seed): (Arc<dyn World>, _) = if frozen {
        let frozen = Fixed {
            now: SystemTime::UNIX_EPOCH + Duration::from_secs(FROZEN_CLOCK),
            ..Fixed::default()
        };
        (Arc::new(frozen), Some(FROZEN_SEED))
    } else {
        (Arc::new(System), None)
    };
    let (name, chart) = name_and_chart(words, release, &world, (seed, &limits.limits()))?;
    let (values, places) = merged(values, context)?;
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
        skip_schema: false,
        schemas: Arc::new(NoSchemas),
        world,
        seed,
        lint: false,
        limits: limits.limits(),
    };
    Ok((PathBuf::from(chart), request))
}

/// The values of all flags together, and where they stand.
pub(crate) fn merged(values: &ValueFlags, context: &Context<'_>) -> Result<(Map, ValueOrigins)> {
    let options = ValuesOptions {
        files: csv::fields("--values", &values.values)?,
        json: values.set_json.clone(),
        typed: values.set.clone(),
        text: values.set_string.clone(),
        from_file: values.set_file.clone(),
        literal: values.set_literal.clone(),
    };
    let (values, places) = options.merge(&mut std::io::stdin())?;
    for warning in places.warnings() {
        context.printer.warn(&warning);
    }
    Ok((values, places))
}

/// The name is given, made by a template, or Helm's.
fn name_and_chart<'a>(
    words: &'a [String],
    release: &ReleaseFlags,
    world: &Arc<dyn World>,
    (seed, limits): (Option<u64>, &Limits),
) -> Result<(String, &'a str)> {
    let usage = |message: String| Err(Diagnostics::from(Diagnostic::error(Class::Usage, message)));
    match words {
        [_, _] if release.generate_name => {
            usage("cannot set --generate-name and also specify a name".to_owned())
        }
        [_, _] if !release.name_template.is_empty() => {
            usage("cannot set --name-template and also specify a name".to_owned())
        }
        [name, chart] => Ok((name.clone(), chart)),
        [chart] if !release.name_template.is_empty() => {
            let name = name_from_template(&release.name_template, world, seed, limits)?;
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
