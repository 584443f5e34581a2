//! `compare`: a real Helm beside ours, over charts and their ci values.
//!
//! Each case runs Helm, then ours, then Helm again: a time that both of Helm's runs print is ours, too. As long as
//! something differs, Helm runs again, up to [`HELM_RUNS`] times: what is random may be equal by chance.

use std::cell::OnceCell;
use std::ffi::OsString;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::args::compare::CompareArgs;
use super::child_process::TimedRun;
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
use crate::compare::{Judge, Judgment, RenderRun, Verdict, hide_quoted, hide_secrets};
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
    let (cases, _fetched) = cases(args, context)?;
    let comparing = Comparing {
        args,
        context,
        helm: &helm,
        namespace: namespace(&args.input.release.namespace, context),
        schemas: schema_store(&args.input.schemas, ClientOptions::default(), false, context)?,
    };
    let compared = comparing.all(&cases)?;
    if compared.is_empty() {
        ended_by_signal(context)?;
    }
    let total = total(&compared);
    let problem = match context.signals.caught() {
        Some(class) => Some(incomplete(class, compared.len(), cases.len()).into()),
        None => {
            warn_of_refused(&compared, context);
            problem(&total, &helm)
        }
    };
    Ok(CommandResult::Findings {
        json: document(&helm, &total, &compared, compared.len() < cases.len()),
        text: text(&helm, &total, &compared, context.printer.is_quiet()),
        problem,
    })
}

/// What both programs would refuse in every case: a values file that is missing, for example.
fn check_arguments(args: &CompareArgs, context: &Context<'_>) -> Result<()> {
    let api_versions = csv::fields("--api-versions", &args.input.cluster.api_versions)?;
    Capabilities::with(Some(&args.input.cluster.kube_version), &api_versions)?;
    check_name(&args.name)?;
    check_values_files(args)?;
    merged_silently(&args.input.values, &ClientOptions::default(), context)?;
    Ok(())
}

/// A values file that does not exist is a mistake of the command line; what its text is, every case would say.
fn check_values_files(args: &CompareArgs) -> Result<()> {
    for file in csv::fields("--values", &args.input.values.values)? {
        let is_missing = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        let missing = std::fs::metadata(&file).err().filter(is_missing);
        if missing.is_some() && !file.contains("://") {
            let message = format!("--values: there is no file {file}");
            return Err(Diagnostic::error(Class::Usage, message).into());
        }
    }
    Ok(())
}

fn ended_by_signal(context: &Context<'_>) -> Result<()> {
    match context.signals.caught() {
        Some(class) => Err(Diagnostic::error(class, format!("{} by a signal", verb(class))).into()),
        None => Ok(()),
    }
}

/// What ended before a signal is a result, but not of all cases.
fn incomplete(class: Class, compared: usize, cases: usize) -> Diagnostic {
    let verb = verb(class);
    Diagnostic::error(
        class,
        format!("{verb} by a signal: the result is incomplete, {compared} of {cases} cases were compared"),
    )
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
    for chart in compared.chunk_by(|one, next| one.case.name == next.case.name) {
        let (Some(first), true) = (
            chart.first(),
            chart.iter().all(|one| one.verdict == Verdict::BothRefuse),
        ) else {
            continue;
        };
        let message = format!(
            "{}: both programs refuse it, so that nothing is compared",
            first.case.name
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

/// Helm's runs of one case.
struct HelmRuns<'t> {
    judge: Judge<'t>,
    count: usize,
    /// Of the fastest.
    time: Duration,
    /// The messages of the first that did not render.
    error: Option<String>,
    has_not_ended: bool,
    shows_secrets: bool,
}

impl<'t> HelmRuns<'t> {
    fn new(judge: Judge<'t>, shows_secrets: bool) -> Self {
        Self {
            judge,
            count: 0,
            time: Duration::MAX,
            error: None,
            has_not_ended: false,
            shows_secrets,
        }
    }

    fn add(&mut self, TimedRun { run, time }: TimedRun) {
        self.count += 1;
        self.time = self.time.min(time);
        self.has_not_ended |= run.code.is_none();
        self.error = self.error.take().or_else(|| refusal(&run, self.shows_secrets));
        self.judge.add(run);
    }
}

/// The messages of a run that did not render.
fn refusal(run: &RenderRun, shows_secrets: bool) -> Option<String> {
    let said = run.stderr.trim();
    (run.code != Some(0)).then(|| match shows_secrets {
        true => said.to_owned(),
        false => hide_quoted(said),
    })
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
                // A signal has ended the programs of this case.
                if self.context.signals.caught().is_some() {
                    break;
                }
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
        let own_words = self.args.input.schemas.words();
        let own_words = words.iter().take(1).chain(&own_words).chain(words.iter().skip(1));
        let ours = self.helm.run_own(own_words, self.context)?;
        let output = OnceCell::new();
        let is_cancelled = || self.context.signals.caught().is_some();
        let judge = Judge::new(&output, &ours.run, &is_cancelled);
        let mut helm = HelmRuns::new(judge, self.args.show_secrets);
        helm.add(first);
        let judgment = self.settle(&mut helm, &words)?;
        let mut differences = judgment.differences;
        let origins = match differences.is_empty() {
            true => Vec::new(),
            false => self.locate(case, &differences),
        };
        if !self.args.show_secrets {
            // All lines that are shown are of these two.
            let texts = output.get().map_or("", String::as_str);
            hide_secrets(&mut differences, &[texts, &ours.run.stdout]);
        }
        Ok(ComparedCase {
            case,
            verdict: judgment.verdict,
            masked: judgment.masked,
            differences: differences.into_iter().zip(origins).collect(),
            helm_runs: helm.count,
            helm_time: helm.time,
            time: ours.time,
            helm_error: helm.error,
            error: refusal(&ours.run, self.args.show_secrets),
        })
    }

    /// Runs Helm again until there is a verdict that no further run changes.
    fn settle(&self, helm: &mut HelmRuns<'_>, words: &[OsString]) -> Result<Judgment> {
        loop {
            // One that hung would do so again.
            if helm.has_not_ended {
                return Ok(helm.judge.judgment());
            }
            helm.add(self.helm.run(words, self.context)?);
            let judgment = helm.judge.judgment();
            let settled = matches!(judgment.verdict, Verdict::Same | Verdict::BothRefuse);
            if settled || helm.count >= HELM_RUNS || self.context.signals.caught().is_some() {
                return Ok(judgment);
            }
        }
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
        let mut values = args.input.values.clone();
        values.values = case.values_flags(args);
        let (values, places) = merged_silently(&values, &ClientOptions::default(), self.context)?;
        let api_versions = csv::fields("--api-versions", &args.input.cluster.api_versions)?;
        let mut request = RenderRequest::new(&args.name);
        request.values = values;
        request.places = places;
        request.release.namespace.clone_from(&self.namespace);
        request.release.is_upgrade = args.input.release.is_upgrade;
        request.capabilities = Capabilities::with(Some(&args.input.cluster.kube_version), &api_versions)?;
        request.skip_schema = args.input.skip_schema_validation;
        request.schemas = Arc::clone(&self.schemas);
        Ok(request)
    }
}
