//! `compare`: a real Helm beside ours, over charts and their ci values.
//!
//! Each case runs Helm, then ours, then Helm again: a time that both of Helm's runs print is ours, too. As long as
//! something differs, Helm runs again, up to [`HELM_RUNS`] times: what is random may be equal by chance.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::args::compare::CompareArgs;
use super::compare_cases::{CompareCase, cases, check_values};
use super::compare_report::{ComparedCase, Located, document, text, total};
use super::context::{CommandOutcome, CommandResult, Context};
use super::csv;
use super::helm_program::HelmProgram;
use super::namespace::namespace;
use super::printer::to_stderr;
use super::progress::{CLEARED, bar};
use super::real_paths::with_real_location;
use super::remote_schemas::schema_store;
use super::request::merged_silently;
use super::signals::verb;
use crate::compare::locate::locate;
use crate::compare::{RenderRun, Verdict, hide_quoted, hide_secrets, judge};
use crate::diag::{Class, Diagnostic, Diagnostics, Result};
use crate::engine::capabilities::Capabilities;
use crate::engine::release::check_name;
use crate::engine::{ParsedChart, RenderRequest};
use crate::oci::ClientOptions;
use crate::report::comparison::CompareTotal;
use crate::values::schema_documents::SchemaStore;

/// How often Helm runs at most for one case: two equal results by chance are no surprise, ten are.
const HELM_RUNS: usize = 10;
/// No progress is drawn of what is done by then, and nothing is said of what is waited for.
pub(crate) const QUIET: Duration = Duration::from_secs(2);

/// `compare`
pub(crate) fn compare(args: &CompareArgs, context: &Context<'_>) -> CommandResult {
    match run(args, context) {
        Ok(done) => done,
        Err(problem) => CommandResult::One(Box::new(CommandOutcome::failed(problem))),
    }
}

fn run(args: &CompareArgs, context: &Context<'_>) -> Result<CommandResult> {
    check_values(args)?;
    check_arguments(args, context)?;
    context.signals.take_over();
    let found = HelmProgram::find(args.helm.as_deref(), context);
    ended_by_signal(context)?;
    let helm = found?;
    let (cases, _unpacked) = cases(args)?;
    let comparing = Comparing {
        args,
        context,
        helm: &helm,
        namespace: namespace(&args.namespace, context),
        schemas: schema_store(&args.schemas, ClientOptions::default(), false, context)?,
    };
    let compared = comparing.all(&cases);
    ended_by_signal(context)?;
    let compared = compared?;
    warn_of_refused(&compared, context);
    let total = total(&compared);
    let problem = problem(&total, &helm);
    Ok(CommandResult::Findings {
        json: document(&helm, &total, &compared),
        text: text(&helm, &total, &compared, context.printer.is_quiet()),
        problem,
    })
}

/// What both programs would refuse in every case: a values file that is missing, for example.
fn check_arguments(args: &CompareArgs, context: &Context<'_>) -> Result<()> {
    let api_versions = csv::fields("--api-versions", &args.cluster.api_versions)?;
    Capabilities::with(Some(&args.cluster.kube_version), &api_versions)?;
    check_name(&args.name)?;
    merged_silently(&args.values, &ClientOptions::default(), context)?;
    Ok(())
}

fn ended_by_signal(context: &Context<'_>) -> Result<()> {
    match context.signals.caught() {
        Some(class) => Err(Diagnostic::error(class, format!("{} by a signal", verb(class))).into()),
        None => Ok(()),
    }
}

fn problem(total: &CompareTotal, helm: &HelmProgram) -> Option<Diagnostics> {
    if total.both_refuse == total.cases {
        let message = "nothing could be compared: both programs refuse every case";
        return Some(Diagnostic::error(Class::Different, message).into());
    }
    if total.different == 0 {
        return None;
    }
    let message = format!(
        "{} of {} cases are not the same with Helm {}",
        total.different, total.cases, helm.version
    );
    let one = Diagnostic::error(Class::Different, message);
    let is_ours = helm.version == "v4.3" || helm.version.starts_with("v4.3.");
    Some(Diagnostics::from(match is_ours {
        true => one,
        false => one.hint("solar-render renders as Helm 4.3.1 does: compare with that one"),
    }))
}

/// A chart of which nothing could be compared.
fn warn_of_refused(compared: &[ComparedCase<'_>], context: &Context<'_>) {
    for chart in compared.chunk_by(|one, next| one.case.chart == next.case.chart) {
        let (Some(first), true) = (
            chart.first(),
            chart.iter().all(|one| one.verdict == Verdict::BothRefuse),
        ) else {
            continue;
        };
        let message = format!(
            "{}: both programs refuse it, so that nothing is compared",
            first.case.chart.display()
        );
        let said = first.helm_error.as_deref().unwrap_or_default();
        let said = said
            .lines()
            .find(|line| line.starts_with("Error: "))
            .or(said.lines().next());
        let one = Diagnostic::warning(Class::Chart, message);
        context.printer.warn(&match said {
            Some(line) => one.note(format!("Helm: {line}")),
            None => one,
        });
    }
}

/// What all cases share.
struct Comparing<'c> {
    args: &'c CompareArgs,
    context: &'c Context<'c>,
    helm: &'c HelmProgram,
    namespace: String,
    schemas: Arc<dyn SchemaStore>,
}

impl Comparing<'_> {
    /// Every case, as many at a time as there are processors.
    fn all<'k>(&self, cases: &'k [CompareCase]) -> Result<Vec<ComparedCase<'k>>> {
        let (next, done, failed) = (AtomicUsize::new(0), AtomicUsize::new(0), AtomicBool::new(false));
        let results: Mutex<Vec<(usize, Result<ComparedCase<'k>>)>> = Mutex::new(Vec::new());
        let begin = self.context.world.uptime();
        let shows = || {
            let late = self.context.world.uptime().saturating_sub(begin) > QUIET;
            self.context.printer.shows_progress() && late
        };
        let work = || {
            while !failed.load(Ordering::Relaxed) && self.context.signals.caught().is_none() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let Some(case) = cases.get(number) else { break };
                let result = self.one(case);
                failed.fetch_or(result.is_err(), Ordering::Relaxed);
                let count = done.fetch_add(1, Ordering::Relaxed) + 1;
                if shows() {
                    to_stderr(&bar(count, cases.len()));
                }
                results
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push((number, result));
            }
        };
        let threads = crate::parallel::processors().min(cases.len());
        std::thread::scope(|scope| {
            for _ in 1..threads {
                scope.spawn(work);
            }
            work();
        });
        if shows() {
            to_stderr(CLEARED);
        }
        let mut results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.sort_by_key(|(number, _)| *number);
        results.into_iter().map(|(_, result)| result).collect()
    }

    fn one<'k>(&self, case: &'k CompareCase) -> Result<ComparedCase<'k>> {
        let words = case.command_line(self.args, &self.namespace);
        let first = self.helm.run(&words, self.context)?;
        let own_words = self.args.schemas.words();
        let own_words = words.iter().take(1).chain(&own_words).chain(words.iter().skip(1));
        let ours = self.helm.run_own(own_words, self.context)?;
        let mut helm_time = first.time;
        let mut runs = vec![first.run];
        let judgment = loop {
            // One that hung would do so again.
            if runs.iter().any(|run| run.code.is_none()) {
                break judge(&runs, &ours.run);
            }
            let again = self.helm.run(&words, self.context)?;
            helm_time = helm_time.min(again.time);
            runs.push(again.run);
            let judgment = judge(&runs, &ours.run);
            let settled = matches!(judgment.verdict, Verdict::Same | Verdict::BothRefuse);
            if settled || runs.len() >= HELM_RUNS || self.context.signals.caught().is_some() {
                break judgment;
            }
        };
        let mut differences = judgment.differences;
        let origins = match differences.is_empty() {
            true => Vec::new(),
            false => self.locate(case, &differences),
        };
        if !self.args.show_secrets {
            let texts = runs.iter().map(|run| run.stdout.as_str());
            hide_secrets(
                &mut differences,
                &texts.chain([ours.run.stdout.as_str()]).collect::<Vec<_>>(),
            );
        }
        let refused = |run: &RenderRun| {
            let said = run.stderr.trim();
            (run.code != Some(0)).then(|| match self.args.show_secrets {
                true => said.to_owned(),
                false => hide_quoted(said),
            })
        };
        Ok(ComparedCase {
            case,
            verdict: judgment.verdict,
            masked: judgment.masked,
            differences: differences.into_iter().zip(origins).collect(),
            helm_runs: runs.len(),
            helm_time,
            time: ours.time,
            helm_error: runs.iter().find_map(refused),
            error: refused(&ours.run),
        })
    }

    /// The templates' lines; none for a chart that can't be rendered again.
    fn locate(&self, case: &CompareCase, differences: &[crate::compare::Difference]) -> Vec<Option<Located>> {
        let found = self.request(case).and_then(|request| {
            let chart = ParsedChart::load(&case.chart)?;
            Ok(locate(&chart, &request, differences))
        });
        let found = found.unwrap_or_else(|_| vec![None; differences.len()]);
        let moved = |place| with_real_location(place, &case.chart);
        let located = found.into_iter().map(|origin| {
            let origin = origin?;
            let trace = origin.trace.into_iter();
            Some(Located {
                place: moved(origin.location),
                trace: trace
                    .map(|(name, place)| (name.to_string(), moved(place)))
                    .collect(),
            })
        });
        located.collect()
    }

    fn request(&self, case: &CompareCase) -> Result<RenderRequest> {
        let args = self.args;
        let mut values = args.values.clone();
        values.values = case.values_flags(args);
        let (values, places) = merged_silently(&values, &ClientOptions::default(), self.context)?;
        let api_versions = csv::fields("--api-versions", &args.cluster.api_versions)?;
        let mut request = RenderRequest::new(&args.name);
        request.values = values;
        request.places = places;
        request.release.namespace.clone_from(&self.namespace);
        request.release.is_upgrade = args.is_upgrade;
        request.capabilities = Capabilities::with(Some(&args.cluster.kube_version), &api_versions)?;
        request.skip_schema = args.skip_schema_validation;
        request.schemas = Arc::clone(&self.schemas);
        Ok(request)
    }
}
