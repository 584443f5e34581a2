//! `show`: the content of a chart, as `helm show` prints it.

use super::args::show::{ShowArgs, ShowPart};
use super::context::{CommandOutcome, CommandResult, Context};
use super::json_path;
use crate::chart::load::Loaded;
use crate::diag::{Class, Result};
use crate::fsio;
use crate::report;
use crate::report::documents::{AnyValue, CrdEntry, Document as _, ShowDocument};
use crate::value::Value;
use crate::yaml;

/// The names of a README, in any case.
const READMES: [&str; 3] = ["readme.md", "readme.txt", "readme"];

/// `show`
pub(crate) fn show(args: &ShowArgs, context: &Context<'_>) -> CommandResult {
    match run(&args.part, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn run(part: &ShowPart, context: &Context<'_>) -> Result<CommandResult> {
    let args = match part {
        ShowPart::All(args) | ShowPart::Chart(args) | ShowPart::Crds(args) | ShowPart::Readme(args) => args,
        ShowPart::Values(values) => &values.chart,
    };
    let chart = super::fetch::load(&args.chart, &args.fetch, context)?;
    for warning in chart.all_warnings() {
        context.printer.warn(warning);
    }
    if let ShowPart::Values(values) = part
        && !values.jsonpath.is_empty()
    {
        let values_map = Value::Map((*chart.values).clone());
        let text = json_path::print(&values.jsonpath, &values_map)?;
        let json = report::text_to_json(&[("text", &text)]);
        return Ok(CommandResult::Document { json, text });
    }
    let all = matches!(part, ShowPart::All(_));
    let mut text = String::new();
    let mut document = ShowDocument::default();
    if all || matches!(part, ShowPart::Chart(_)) {
        let metadata = chart.metadata.value()?;
        text.push_str(&format!("{}\n", yaml::write(&metadata)));
        document.chart = Some(AnyValue(metadata));
    }
    if all || matches!(part, ShowPart::Values(_)) {
        if let Some(source) = &chart.values_source {
            text.push_str(&format!("{}{}\n", separator(all), source.text()));
        }
        document.values = Some(AnyValue(Value::Map((*chart.values).clone())));
    }
    if all || matches!(part, ShowPart::Readme(_)) {
        let readme = readme(&chart)?;
        if let Some(readme) = &readme {
            text.push_str(&format!("{}{readme}\n", separator(all)));
        }
        document.readme = Some(readme);
    }
    if all || matches!(part, ShowPart::Crds(_)) {
        let crds = crds(&chart, &chart.details.name)?;
        for (_, crd) in &crds {
            text.push_str(&format!("{}{crd}\n", separator(!crd.starts_with("---"))));
        }
        let entries = crds.into_iter().map(|(path, content)| CrdEntry { path, content });
        document.crds = Some(entries.collect());
    }
    Ok(CommandResult::Document {
        json: document.to_json(),
        text,
    })
}

fn separator(wanted: bool) -> &'static str {
    if wanted { "---\n" } else { "" }
}

fn readme(chart: &Loaded) -> Result<Option<String>> {
    let known = |name: &str| READMES.iter().any(|readme| name.eq_ignore_ascii_case(readme));
    let found = chart.files.iter().find(|(name, _)| known(name));
    let bytes = found.map(|(_, body)| body.read()).transpose()?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(bytes).into_owned()))
}

/// Path and content of the CRDs of the chart and all its subcharts, enabled or not.
fn crds(chart: &Loaded, path: &str) -> Result<Vec<(String, String)>> {
    let mut all = Vec::new();
    for (name, body) in chart.crds() {
        let path = format!("{path}/{name}");
        fsio::check_text(&path, body.read()?, Class::Chart)?;
        all.push((path, body.text().into_owned()));
    }
    for sub in &chart.dependencies {
        all.extend(crds(sub, &format!("{path}/charts/{}", sub.name()))?);
    }
    Ok(all)
}
